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
	out        *bufio.Writer
	at         Position
	line, body []byte
	counts     Counts
	err        error
}

// NewWriter begins a journal of a core with its configuration, as Core.Config
// returns it. Of Gain and Scorer it has that there is one, and the name.
func NewWriter(w io.Writer, config berth.Config) (*Writer, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	head := append([]byte(`{"version":`+strconv.Itoa(version)+`,"config":`), text...)
	if name := scorerName(config); name != "" {
		head = append(head, `,"scorer":`+strconv.Quote(name)...)
	}
	if config.Gain != nil {
		head = append(head, `,"ownGain":true`...)
	}
	head = append(head, '}')
	out := &Writer{out: bufio.NewWriterSize(w, 1<<16), at: Position{Sum: sumOf(0, head)}}
	out.write(head)
	return out, out.err
}

// Applied writes an event that the core was told, given what Apply answered. A
// refused one is left out.
func (w *Writer) Applied(now berth.Time, e berth.Event, refusal error) {
	if refusal != nil || w.err != nil {
		return
	}
	if w.body, w.err = eventBody(w.body[:0], now, e); w.err == nil {
		w.counts.Events++
		w.put()
	}
}

// Scheduled writes a pass and the orders it gave.
func (w *Writer) Scheduled(now berth.Time, orders []berth.Order) {
	if w.err != nil {
		return
	}
	var digest Sum
	texts := make([][]byte, len(orders))
	for i, order := range orders {
		if texts[i], w.err = berth.EncodeOrder(order); w.err != nil {
			return
		}
		digest = digest.with(texts[i])
	}
	w.counts.Passes++
	w.body = passBody(w.body[:0], now, len(orders), digest)
	w.put()
	for _, text := range texts {
		w.counts.Orders++
		w.body = orderBody(w.body[:0], text)
		w.put()
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

// put writes the line of the body.
func (w *Writer) put() {
	w.line, w.at = w.at.appendLine(w.line[:0], w.body)
	w.write(w.line)
}

func (w *Writer) write(line []byte) {
	if _, err := w.out.Write(line); err != nil && w.err == nil {
		w.err = err
	}
	if err := w.out.WriteByte('\n'); err != nil && w.err == nil {
		w.err = err
	}
}
