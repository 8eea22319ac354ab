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
	// Err is what a type said that reads its own text; nil otherwise.
	Err error
}

func (e *Error) Error() string { return errtext.Join(e.Field, e.Reason) }

func (e *Error) Unwrap() error { return e.Err }

// Unmarshal is json.Unmarshal that refuses, with an *Error, keys that are unknown, doubled or
// wrongly cased, and bytes that are not UTF-8. The value is then of no use. Cost: O(len(b)),
// some 1.5 times that of json.Unmarshal.
func Unmarshal(b []byte, v any) error { return unmarshal(b, v, false) }

// unmarshal is Unmarshal; complete: with fields that must be there, see CompleteFormOf.
func unmarshal(b []byte, v any, complete bool) error {
	err := json.Unmarshal(b, v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &Error{Reason: describe(syntax, len(b))}
	}
	w := walker{text: b, types: map[reflect.Type]fields{}, complete: complete, mistyped: err != nil}
	if refusal := w.present(reflect.TypeOf(v).Elem(), false); refusal != nil {
		refusal.Field = errtext.Clip(refusal.Field)
		return refusal
	}
	if err != nil {
		return &Error{Reason: errtext.Clip(err.Error()), Err: err}
	}
	return nil
}

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
