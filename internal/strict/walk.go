package strict

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/berth-sched/berth/internal/errtext"
)

// A walker goes through a text that is JSON beside the type that it is decoded to. encoding/json
// takes doubled and wrongly cased keys and broken UTF-8 as they come, and does not say in which
// element of a list it found what it refuses, or in which field a type refused its own text.
type walker struct {
	text  []byte
	at    int
	types map[reflect.Type]fields
	// complete: what may not be left out must be there.
	complete bool
	// mistyped: a value is not of its type, and is looked for.
	mistyped bool
}

// value walks the next value. What a json.RawMessage takes is decoded later, and looked at then.
// A type that reads its own JSON leaves open what keys its objects have; none is doubled there
// either.
func (w *walker) value(t reflect.Type) *Error {
	w.blanks()
	start := w.at
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	inside := t
	if t != nil && readsItself(t) {
		inside = nil
	}
	var err *Error
	switch first := w.text[w.at]; {
	case t == reflect.TypeFor[json.RawMessage]():
		w.skip()
	case first == '{':
		err = w.object(inside)
	case first == '[':
		err = w.list(inside)
	case first == '"':
		err = w.utf8(w.skipString())
	default:
		w.skipLiteral()
	}
	if err == nil && w.mistyped && t != nil {
		err = refused(w.text[start:w.at], t)
	}
	return err
}

// readsItself reports whether a type reads its own text.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// refused says why a value cannot be of a type. All inside it can.
func refused(text []byte, t reflect.Type) *Error {
	err := json.Unmarshal(text, reflect.New(t).Interface())
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mistyped):
		return &Error{Reason: "cannot be a JSON " + errtext.Clip(mistyped.Value)}
	}
	return &Error{Reason: err.Error(), Err: err}
}

func (w *walker) object(t reflect.Type) *Error {
	var known fields
	var element reflect.Type
	isStruct, isMap := t != nil && t.Kind() == reflect.Struct, t != nil && t.Kind() == reflect.Map
	if isStruct {
		known = w.fieldsOf(t)
	} else if isMap {
		element = t.Elem()
	}
	seen := make([]bool, len(known))
	var others map[string]bool
	for w.at++; w.more('}'); {
		quoted := w.skipString()
		key := unquote(quoted)
		path := keyPath(key, isMap && element != reflect.TypeFor[json.RawMessage]())
		if err := w.utf8(quoted); err != nil {
			return err.in(path)
		}
		doubled, optional := false, false
		if i := known.index(key); i >= 0 {
			element, optional, doubled, seen[i] = known[i].of, known[i].optional, seen[i], true
		} else if isStruct {
			return &Error{Field: path, Reason: UnknownField + known.suggestion(key)}
		} else {
			if others == nil {
				others = map[string]bool{}
			}
			doubled, others[key] = others[key], true
		}
		if doubled {
			return &Error{Field: path, Reason: "comes twice"}
		}
		w.blanks()
		w.at++ // the colon
		if err := w.present(element, optional); err != nil {
			return err.in(path)
		}
	}
	return w.missing(known, seen)
}

// present walks the next value. Null, which encoding/json takes for any value and passes over,
// leaves out what it stands for.
func (w *walker) present(t reflect.Type, optional bool) *Error {
	w.blanks()
	if w.complete && !optional && t != nil && !takesNull(t) && w.text[w.at] == 'n' {
		return &Error{Reason: "is null"}
	}
	return w.value(t)
}

// missing refuses an object that leaves out a field, of which it names the first.
func (w *walker) missing(known fields, seen []bool) *Error {
	for i := range known {
		if w.complete && !seen[i] && !known[i].optional {
			return &Error{Field: known[i].name, Reason: "is missing"}
		}
	}
	return nil
}

func (w *walker) list(t reflect.Type) *Error {
	var element reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		element = t.Elem()
	}
	i := 0
	for w.at++; w.more(']'); i++ {
		if err := w.present(element, false); err != nil {
			return err.in(errtext.Index("", i))
		}
	}
	return nil
}

// more reports whether the object or list goes on, and steps over what is between two elements,
// or over its end.
func (w *walker) more(end byte) bool {
	w.blanks()
	if w.text[w.at] == ',' {
		w.at++
		w.blanks()
	}
	if w.text[w.at] == end {
		w.at++
		return false
	}
	return true
}

func (w *walker) blanks() {
	for w.at < len(w.text) && (w.text[w.at] == ' ' || w.text[w.at] == '\n' || w.text[w.at] == '\t' || w.text[w.at] == '\r') {
		w.at++
	}
}

// skipString steps over a string and returns it with its quotes.
func (w *walker) skipString() []byte {
	start := w.at
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.text[start:w.at]
}

// skip steps over a value of any kind.
func (w *walker) skip() {
	depth := 0
	for {
		switch w.text[w.at] {
		case '"':
			w.skipString()
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ',', ':', ' ', '\n', '\t', '\r':
			w.at++
		default:
			w.skipLiteral()
		}
		if depth == 0 {
			return
		}
	}
}

// skipLiteral steps over a number, true, false or null.
func (w *walker) skipLiteral() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return
		}
		w.at++
	}
}

func (w *walker) utf8(raw []byte) *Error {
	if utf8.Valid(raw) {
		return nil
	}
	return &Error{Reason: fmt.Sprintf("is not UTF-8 at byte %d", w.at)}
}

// unquote is the string that JSON means. An escape is rare in a key.
func unquote(raw []byte) string {
	for _, c := range raw {
		if c == '\\' {
			var key string
			_ = json.Unmarshal(raw, &key) // cannot fail: the text is JSON
			return key
		}
	}
	return string(raw[1 : len(raw)-1])
}

// keyPath is the step of a path that a key is: a field's name, or in brackets where any key will
// do.
func keyPath(key string, free bool) string {
	quoted := strconv.Quote(errtext.Short(key))
	if free {
		return "[" + quoted + "]"
	}
	return quoted[1 : len(quoted)-1]
}

// in prefixes the path. A path that is long already says enough of where.
func (e *Error) in(prefix string) *Error {
	if len(e.Field) < 4*errtext.MostQuoted {
		e.Field = errtext.Path(prefix, e.Field)
	}
	return e
}
