// Package strict decodes JSON that has to be exactly what it is to be: one value, nothing after
// it, each key known, once, and written as its field is.
package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
)

// UnknownField begins the reason for which a field is refused that nobody knows.
const UnknownField = "is not a known field"

// An Error says where a JSON text is not what it has to be, and why. Neither quotes more of the
// text than some words of it.
type Error struct {
	// Field is the whole path, such as groups[0].claim.gpu; empty: the text as such.
	Field, Reason string
	// TooLarge: the value would take more memory than its text may fill.
	TooLarge bool
	// Err is what a type said that reads its own text; nil otherwise.
	Err error
}

func (e *Error) Error() string { return errtext.Join(e.Field, e.Reason) }

func (e *Error) Unwrap() error { return e.Err }

// Unmarshal is json.Unmarshal that refuses, with an *Error, keys that are unknown, doubled or
// wrongly cased, and bytes that are not UTF-8. The value is then of no use. Cost: O(len(b)),
// some 1.5 times that of json.Unmarshal. Memory is not bounded: texts from outside are for a Form.
func Unmarshal(b []byte, v any) error { return unmarshal(b, v, false, 0) }

// unmarshal is Unmarshal; complete: with fields that must be there, see CompleteFormOf; over: from
// there on the value took more memory than it may, 0: it did not. Nothing is decoded before the
// text was looked at, which takes little memory.
func unmarshal(b []byte, v any, complete bool, over int) error {
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(b, &syntaxAlone{}), &syntax) {
		return &Error{Reason: describe(syntax, len(b))}
	}
	w := walker{text: b, types: map[reflect.Type]fields{}, complete: complete, over: over}
	if refusal := w.present(reflect.TypeOf(v).Elem(), false); refusal != nil {
		refusal.Field = errtext.Clip(refusal.Field)
		return refusal
	}
	if err := json.Unmarshal(b, v); err != nil {
		return &Error{Reason: errtext.Clip(err.Error()), Err: err}
	}
	return nil
}

// syntaxAlone takes any JSON, and nothing of it.
type syntaxAlone struct{}

func (*syntaxAlone) UnmarshalJSON([]byte) error { return nil }

// describe says what is no JSON. The text of a syntax error quotes one character.
func describe(err *json.SyntaxError, length int) string {
	switch text := err.Error(); {
	case err.Offset >= int64(length) && strings.HasPrefix(text, "unexpected end"):
		return "ends before the JSON does"
	case strings.HasSuffix(text, "after top-level value"):
		return "has something after its end"
	default:
		return fmt.Sprintf("is not JSON at byte %d: %v", err.Offset, err)
	}
}

// IsTooLarge reports whether an error of a Form refuses a value that would take too much memory.
func IsTooLarge(err error) bool {
	refusal, ok := errors.AsType[*Error](err)
	return ok && refusal.TooLarge
}

// Describe says of an error of Unmarshal which field it is about, if it is about one, and what
// is wrong. A type that refuses its own text does so with an E, and its reason alone is said.
func Describe[E error](err error, reasonOf func(E) string) (field, reason string) {
	var refusal *Error
	if errors.As(err, &refusal) {
		field, reason = refusal.Field, refusal.Reason
	} else {
		reason = errtext.Clip(err.Error())
	}
	var own E
	if errors.As(err, &own) {
		reason = reasonOf(own)
	}
	return field, reason
}
