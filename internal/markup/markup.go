// Package markup walks through XML that comes from outside, at a bounded cost, and says where each
// part of it stands.
package markup

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
)

// What a text may have: elements, those that stand in each other, and attributes of one. A topology
// of the largest machines has some 10,000 elements, and 64 GPUs with all their clocks 200,000.
const (
	MostElements   = 1 << 18
	MostDepth      = 100
	MostAttributes = 64
)

// A Place is where something begins; both count from 1.
type Place struct{ Line, Column int }

// An Element is the beginning of one. No attribute is there twice.
type Element struct {
	Place
	Name       string
	Attributes []xml.Attr
}

// Attribute is the value of an attribute, and whether it is there.
func (e Element) Attribute(name string) (string, bool) {
	for _, a := range e.Attributes {
		if NameOf(a.Name) == name {
			return a.Value, true
		}
	}
	return "", false
}

// NameOf is a name as it stands in the text, with the prefix of a name space, of which the formats
// here have none.
func NameOf(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}

// A Handler takes the parts of a text in their order. Its errors end the walk.
type Handler interface {
	// Begin takes the beginning of an element. After ErrPassOver nothing in the element is told,
	// nor its end.
	Begin(Element) error
	// Text takes a part of the text in the innermost element, or outside of all, that is not blank.
	Text(at Place, text string) error
	// End takes the end of the innermost element.
	End(Place) error
}

// ErrPassOver is what a Handler answers about an element that it does not look into.
var ErrPassOver = errors.New("pass over")

// An Error is why a text is no XML, or more than its bounds allow.
type Error struct {
	Place
	Reason   string
	TooLarge bool
}

func (e *Error) Error() string { return errtext.Join(errtext.Place("", e.Line, e.Column), e.Reason) }

// Walk tells a Handler what is in a text. The error is an *Error, or what the Handler answered.
// O(length of the text), and at most some 20 bytes allocated for each byte of it.
//
// It takes the raw tokens of encoding/xml and pairs ends with beginnings by itself: the decoder
// allocates twice as much for its own pairing, and for name spaces, of which there are none here.
func Walk(text string, to Handler) error {
	w := walker{decoder: xml.NewDecoder(strings.NewReader(text)), to: to, over: -1}
	for {
		w.at.Line, w.at.Column = w.decoder.InputPos()
		token, err := w.decoder.RawToken()
		if err == nil {
			err = w.take(token)
		} else {
			err = w.stopped(err)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type walker struct {
	decoder *xml.Decoder
	to      Handler
	at      Place
	open    []string // the names of elements that have not ended
	over    int      // how many are open around what is passed over; -1: nothing is
	count   int
}

func (w *walker) refuse(tooLarge bool, format string, of ...any) error {
	return &Error{Place: w.at, Reason: fmt.Sprintf(format, of...), TooLarge: tooLarge}
}

// stopped is the error of a decoder that stopped; io.EOF where a text ends as it should.
func (w *walker) stopped(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case err == io.EOF && len(w.open) == 0:
		return io.EOF
	case err == io.EOF:
		return w.refuse(false, "the text ends within %s", errtext.Short(w.open[len(w.open)-1]))
	case errors.As(err, &syntax):
		return &Error{Place: Place{Line: syntax.Line}, Reason: "XML: " + errtext.Clip(syntax.Msg)}
	}
	return w.refuse(false, "%s", errtext.Clip(err.Error()))
}

func (w *walker) take(token xml.Token) error {
	switch token := token.(type) {
	case xml.StartElement:
		return w.begin(token)
	case xml.EndElement:
		return w.end(NameOf(token.Name))
	case xml.CharData:
		if text := strings.TrimSpace(string(token)); text != "" && w.over < 0 {
			return w.to.Text(w.at, text)
		}
	}
	return nil
}

func (w *walker) begin(token xml.StartElement) error {
	name := NameOf(token.Name)
	switch w.count++; {
	case w.count > MostElements:
		return w.refuse(true, "more than %d elements", MostElements)
	case len(w.open) == MostDepth:
		return w.refuse(true, "more than %d elements in each other", MostDepth)
	case len(token.Attr) > MostAttributes:
		return w.refuse(true, "more than %d attributes of %s", MostAttributes, errtext.Short(name))
	}
	for i, a := range token.Attr {
		if slices.ContainsFunc(token.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
			return w.refuse(false, "%s has the attribute %s twice", errtext.Short(name), errtext.Short(NameOf(a.Name)))
		}
	}
	if w.over < 0 {
		switch err := w.to.Begin(Element{Place: w.at, Name: name, Attributes: token.Attr}); {
		case errors.Is(err, ErrPassOver):
			w.over = len(w.open)
		case err != nil:
			return err
		}
	}
	w.open = append(w.open, name)
	return nil
}

func (w *walker) end(name string) error {
	last := len(w.open) - 1
	switch {
	case last < 0:
		return w.refuse(false, "the end of %s, which has no beginning", errtext.Short(name))
	case w.open[last] != name:
		return w.refuse(false, "the end of %s, within %s", errtext.Short(name), errtext.Short(w.open[last]))
	}
	w.open = w.open[:last]
	switch {
	case w.over < 0:
		return w.to.End(w.at)
	case w.over == last:
		w.over = -1
	}
	return nil
}
