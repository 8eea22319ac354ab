package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/strict"
)

// MaxLineBytes is the longest line that is read. A Bind of 65,536 members takes
// some 6 MB.
const MaxLineBytes = 64 << 20

// version is the version of the journal's format, as the first line has it. Journals of version 1
// did not say it.
const version = 2

// An Entry is one line behind the first, or one record of a log. Exactly one of Event, Pass, Order
// and State is set.
type Entry struct {
	// Line counts from 1; 0 for a record of a log.
	Line int
	// Position is the one behind it.
	Position Position
	// Now is the instant of an event or a pass.
	Now   berth.Time
	Event berth.Event
	// Pass, and how many orders it gave, with the sum of their JSON, a line each.
	Pass   bool
	Orders int
	Digest Sum
	// Order is in files alone.
	Order berth.Order
	// Text is the JSON of the order as it is written, for comparing bytes.
	Text []byte
	// State is that of the core, in logs alone: orders of earlier passes are handed on.
	State *Sum
}

// A Reader reads a journal line by line. It is strict: a field it does not know,
// one too many or one too few is an error, because an event that is half understood
// is worse than none.
type Reader struct {
	in     *bufio.Reader
	line   int
	record uint64 // instead of the line, where a log is read
	buffer []byte // the line
	body   []byte // what it says, within the buffer
	at     Position
	head   envelope // the first line
	config berth.Config
}

// NewReader reads the first line.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{in: bufio.NewReaderSize(r, 1<<16)}
	text, err := in.nextLine()
	if errors.Is(err, io.EOF) {
		in.line = 1
		return nil, in.malformed("", "the journal is empty; its first line is the configuration", nil)
	}
	if err != nil {
		return nil, err
	}
	in.at.Sum = sumOf(0, text)
	w, err := in.decode(text)
	if err != nil {
		return nil, err
	}
	switch {
	case w.Config == nil || w.fields() > 2 || w.fields() == 2 && w.Version == nil:
		return nil, in.malformed("config", "the first line is the version and the configuration, and nothing else", nil)
	case w.Version == nil:
		return nil, in.unknownVersion("is missing: the journal is older than version 2")
	case *w.Version != version:
		return nil, in.unknownVersion(fmt.Sprintf("is %d, not %d", *w.Version, version))
	}
	if in.config, err = berth.DecodeConfig(w.Config); err != nil {
		return nil, in.malformed("config", "", err)
	}
	in.head = *w
	return in, nil
}

// Config is the configuration of the core that the journal is about, without what is no data: Gain
// and Scorer.
func (r *Reader) Config() berth.Config { return r.config }

// Next reads a line. It returns io.EOF behind the last one, and an *Error about a
// line that is malformed, or is not what was written behind the one before ([ErrDamaged]); the next
// call goes on with the line after it.
func (r *Reader) Next() (Entry, error) {
	e, err := r.next()
	if err == nil && e.Text != nil {
		e, err = r.readOrder(e)
	}
	return e, err
}

// next is Next that leaves an order as it is written, in the buffer of the line.
func (r *Reader) next() (Entry, error) {
	text, err := r.nextLine()
	if err != nil {
		return Entry{}, err
	}
	return r.readLine(text)
}

// readLine reads a line that is in the buffer, and writes into it.
func (r *Reader) readLine(line []byte) (Entry, error) {
	body, at, bad := r.at.follow(line)
	r.at = at
	if bad != nil {
		bad.Line, bad.Record = r.line, r.record
		return Entry{}, bad
	}
	r.body = line[len(line)-len(body)-1:]
	r.body[0] = '{' // the comma before the body: the body is an object by itself
	if e, ok := r.readAsWritten(r.body); ok {
		return e, nil
	}
	return r.readAny(r.body)
}

// readOrder decodes the order of the line, and gives it a text of its own.
func (r *Reader) readOrder(e Entry) (Entry, error) {
	order, err := berth.DecodeOrder(e.Text)
	if err != nil { // it is none, or something stands beside it
		if e, err = r.readAny(r.body); err != nil {
			return Entry{}, err
		}
		if order, err = berth.DecodeOrder(e.Text); err != nil {
			return Entry{}, r.malformed("order", "", err)
		}
	}
	e.Order, e.Text = order, bytes.Clone(e.Text)
	return e, nil
}

// readAsWritten reads a line as a Writer writes it. Whatever else is a line, or is none, is for
// readAny.
func (r *Reader) readAsWritten(text []byte) (Entry, bool) {
	e := Entry{Line: r.line, Position: r.at}
	if rest, ok := between(text, `{"order":`); ok {
		e.Text = rest
		return e, rest[0] == '{' && rest[len(rest)-1] == '}'
	}
	rest, ok := between(text, `{"now":`)
	if !ok {
		return e, false
	}
	digits, rest, _ := bytes.Cut(rest, []byte(","))
	now, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || string(digits) != strconv.FormatInt(now, 10) {
		return e, false
	}
	e.Now = berth.Time(now)
	if body, ok := bytes.CutPrefix(rest, []byte(`"event":`)); ok {
		e.Event, err = berth.DecodeEvent(body)
		return e, err == nil
	}
	return readPassAsWritten(e, rest)
}

// readPassAsWritten reads what a Writer writes of a pass behind the instant.
func readPassAsWritten(e Entry, rest []byte) (Entry, bool) {
	rest, ok := bytes.CutPrefix(rest, []byte(`"pass":true,"orders":`))
	if !ok {
		return e, false
	}
	digits, rest, _ := bytes.Cut(rest, []byte(`,"digest":"`))
	orders, err := strconv.Atoi(string(digits))
	if err != nil || string(digits) != strconv.Itoa(orders) || len(rest) != sumDigits+1 || rest[sumDigits] != '"' {
		return e, false
	}
	e.Pass, e.Orders = true, orders
	return e, e.Digest.UnmarshalText(rest[:sumDigits]) == nil
}

// between is what stands between the head of a line and the brace at its end.
func between(text []byte, head string) ([]byte, bool) {
	if len(text) < len(head)+2 || string(text[:len(head)]) != head || text[len(text)-1] != '}' {
		return nil, false
	}
	return text[len(head) : len(text)-1], true
}

// readAny reads any line, and says what is wrong with one that is none.
func (r *Reader) readAny(text []byte) (Entry, error) {
	w, err := r.decode(text)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Line: r.line, Position: r.at}
	switch fields := w.fields(); {
	case w.Order != nil && fields == 1:
		e.Text = w.Order
	case w.Event != nil && w.Now != nil && fields == 2:
		e.Now = *w.Now
		e.Event, err = berth.DecodeEvent(w.Event)
		if err != nil {
			return Entry{}, r.malformed("event", "", err)
		}
	case w.Pass != nil && w.Now != nil && w.Orders != nil && w.Digest != nil && fields == 4:
		e.Now, e.Pass, e.Orders, e.Digest = *w.Now, true, *w.Orders, *w.Digest
		if !*w.Pass {
			return Entry{}, r.malformed("pass", "is false", nil)
		}
	case w.State != nil && fields == 1:
		e.State = w.State
	default:
		return Entry{}, r.malformed("", "is none of an event (now, event), a pass (now, pass, orders, digest), an order (order) and a state (state)", nil)
	}
	return e, nil
}

// envelope is what any line may have.
type envelope struct {
	Version *int            `json:"version"`
	Config  json.RawMessage `json:"config"`
	Scorer  string          `json:"scorer"`
	OwnGain bool            `json:"ownGain"`
	Now     *berth.Time     `json:"now"`
	Event   json.RawMessage `json:"event"`
	Pass    *bool           `json:"pass"`
	Orders  *int            `json:"orders"`
	Digest  *Sum            `json:"digest"`
	Order   json.RawMessage `json:"order"`
	State   *Sum            `json:"state"`
}

// fields counts those that are there.
func (w *envelope) fields() int {
	n := 0
	for _, there := range []bool{
		w.Version != nil, w.Config != nil, w.Now != nil, w.Event != nil, w.Pass != nil,
		w.Orders != nil, w.Digest != nil, w.Order != nil, w.State != nil,
	} {
		if there {
			n++
		}
	}
	return n
}

var envelopeForm = strict.FormOf[envelope](strict.Readings{})

func (r *Reader) decode(text []byte) (*envelope, error) {
	w, err := envelopeForm.Unmarshal(text)
	if err != nil {
		e := &Error{Line: r.line, Record: r.record, Kind: ErrMalformed, Err: err}
		e.Field, e.Reason = strict.Describe(err, func(own *berth.Error) string { return own.Reason })
		return nil, e
	}
	return w, nil
}

// nextLine returns the next line without its end, until it is called again. A line that is too
// long is read past, and not kept.
func (r *Reader) nextLine() ([]byte, error) {
	text := r.buffer[:0]
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		long = long || len(text)+len(part) > MaxLineBytes
		if !long {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		r.line++
		switch {
		case err != nil:
			return nil, &Error{Line: r.line, Kind: ErrTruncated, Reason: "the last line has no end"}
		case long:
			return nil, r.malformed("", fmt.Sprintf("is longer than %d bytes", MaxLineBytes), nil)
		}
		r.buffer = text[:len(text)-1]
		return r.buffer, nil
	}
}

func (r *Reader) unknownVersion(reason string) *Error {
	return &Error{Line: r.line, Field: "version", Reason: reason, Kind: ErrVersion}
}

// malformed builds the error about the current line. Where the package berth said
// what is wrong, field and reason are taken from there.
func (r *Reader) malformed(field, reason string, err error) *Error {
	e := &Error{Line: r.line, Record: r.record, Field: field, Reason: reason, Kind: ErrMalformed, Err: err}
	return e.explain(err)
}

// explain adds the field and the reason of a refusal by package berth.
func (e *Error) explain(err error) *Error {
	var said *berth.Error
	if !errors.As(err, &said) {
		if e.Reason == "" && err != nil {
			e.Reason = err.Error()
		}
		return e
	}
	e.Field = errtext.Path(e.Field, said.Field)
	if e.Reason != "" {
		e.Reason += ": "
	}
	e.Reason += said.Reason
	return e
}
