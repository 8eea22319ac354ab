package strict

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/jsontext"
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
	// over is where a value ends that takes more memory than it may, or within; 0: none does.
	over int
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
	switch {
	case err != nil:
		return err
	case w.over > 0 && w.at >= w.over:
		return &Error{Reason: fmt.Sprintf("comes to more than the text may fill in memory: %d bytes, and %d for each of its own", FreeBytes, BytesPerByte), TooLarge: true}
	case t != nil && t != reflect.TypeFor[json.RawMessage]() && !isOf(w.text[start:w.at], t):
		return refused(w.text[start:w.at], t)
	}
	return nil
}

// isOf reports whether a value can be of a type, as all inside it can. False: it may be, if the
// type is a rare one.
func isOf(text []byte, t reflect.Type) bool {
	first := text[0]
	if readsItself(t) {
		v := reflect.New(t).Interface()
		if own, ok := v.(json.Unmarshaler); ok {
			return own.UnmarshalJSON(text) == nil
		}
		return first == 'n' || first == '"' && v.(encoding.TextUnmarshaler).UnmarshalText([]byte(unquote(text))) == nil
	}
	if first == 'n' {
		return true
	}
	switch t.Kind() {
	case reflect.Bool:
		return first == 't' || first == 'f'
	case reflect.String:
		return first == '"'
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil && !reflect.Zero(t).OverflowInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(string(text), 10, 64)
		return err == nil && !reflect.Zero(t).OverflowUint(n)
	case reflect.Slice:
		return first == '['
	case reflect.Map:
		return first == '{' && t.Key().Kind() == reflect.String && !readsItself(t.Key())
	case reflect.Struct:
		return first == '{'
	}
	return false
}

// readsItself reports whether a type reads its own text.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// refused says why a value cannot be of a type, if it cannot. All inside it can.
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
	var few [128]bool
	seen := few[:min(len(known), len(few))]
	if len(known) > len(few) {
		seen = make([]bool, len(known))
	}
	free := isMap && element != reflect.TypeFor[json.RawMessage]()
	var others []string
	for w.at++; w.more('}'); {
		quoted := w.skipString()
		err, optional := w.utf8(quoted), false
		switch i := known.indexOf(quoted); {
		case err != nil:
		case i >= 0 && seen[i]:
			err = &Error{Reason: comesTwice}
		case i >= 0:
			element, optional, seen[i] = known[i].of, known[i].optional, true
		case isStruct:
			err = &Error{Reason: UnknownField + known.suggestion(unquote(quoted))}
		default:
			if len(others) == cap(others) {
				others = slices.Grow(others, len(others)+1) // a long list would grow by less, and copy more
			}
			others = append(others, unquote(quoted))
		}
		if err == nil {
			w.blanks()
			w.at++ // the colon
			err = w.present(element, optional)
		}
		if err != nil {
			return err.in(keyPath(unquote(quoted), free))
		}
	}
	if key, twice := doubled(others); twice {
		return &Error{Field: keyPath(key, free), Reason: comesTwice}
	}
	return w.missing(known, seen)
}

const comesTwice = "comes twice"

// doubled finds a key that comes twice, and changes their order. A set of those that came would
// take some 100 bytes for each.
func doubled(keys []string) (key string, twice bool) {
	slices.Sort(keys)
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return keys[i], true
		}
	}
	return "", false
}

// indexOf is the index of the field of a key as it is written, with quotes; -1: there is none.
func (known fields) indexOf(quoted []byte) int {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return known.index(unquote(quoted))
	}
	for i := range known {
		if known[i].name == string(quoted[1:len(quoted)-1]) {
			return i
		}
	}
	return -1
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

// unquote is the string that JSON means.
func unquote(quoted []byte) string {
	raw := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw, _ = jsontext.Unescape(raw, true) // it is JSON
	}
	return string(raw)
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
