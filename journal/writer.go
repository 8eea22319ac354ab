package journal

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"github.com/berth-sched/berth"
)

// Counts says how much a journal holds.
type Counts struct {
	Events int
	Passes int
	Orders int
}

// A Writer writes a journal. An error sticks: after the first one nothing more
// is written, and Flush returns it. So the calls in between need no check.
type Writer struct {
	out    *bufio.Writer
	line   []byte
	counts Counts
	err    error
}

// NewWriter begins a journal of a core with its configuration, as Core.Config
// returns it.
func NewWriter(w io.Writer, config berth.Config) (*Writer, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	out := &Writer{out: bufio.NewWriterSize(w, 1<<16)}
	out.put(`{"version":`+strconv.Itoa(version)+`,"config":`, text)
	return out, out.err
}

// Applied writes an event that the core was told, given what Apply answered. A
// refused one is left out.
func (w *Writer) Applied(now berth.Time, e berth.Event, refusal error) {
	if refusal != nil || w.err != nil {
		return
	}
	text, err := berth.EncodeEvent(e)
	if err != nil {
		w.err = err
		return
	}
	w.counts.Events++
	w.put(`{"now":`+strconv.FormatInt(int64(now), 10)+`,"event":`, text)
}

// Scheduled writes a pass and the orders it gave.
func (w *Writer) Scheduled(now berth.Time, orders []berth.Order) {
	if w.err != nil {
		return
	}
	w.counts.Passes++
	w.put(`{"now":`+strconv.FormatInt(int64(now), 10)+`,"pass":`, []byte("true"))
	for _, a := range orders {
		text, err := berth.EncodeOrder(a)
		if err != nil {
			w.err = err
			return
		}
		w.counts.Orders++
		w.put(`{"order":`, text)
	}
}

// Counts says how much was written so far.
func (w *Writer) Counts() Counts { return w.counts }

// Flush hands everything to the underlying writer, and returns the first error
// there was.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.err
}

// put writes one line. Its head is the object up to the value of its last field.
func (w *Writer) put(head string, value []byte) {
	w.line = append(append(append(w.line[:0], head...), value...), '}', '\n')
	if _, err := w.out.Write(w.line); err != nil && w.err == nil {
		w.err = err
	}
}
