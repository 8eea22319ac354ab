package strict

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Pen writes values of one type as json.Marshal does that is given a pointer, byte for byte. Like
// a Form it looks at the type once. What it has no way of its own for json.Marshal writes: numbers
// with fractions, arrays, interfaces, texts with escapes.
type Pen[T any] struct {
	write writing
	// list has the fields, if it is of a struct that has a way of its own.
	list []written
}

// A writing appends a value, which is addressable.
type writing func([]byte, reflect.Value) ([]byte, error)

// PenOf makes the pen of a type, with those of types that others had made in their writings.
func PenOf[T any](known Writings) *Pen[T] {
	t := reflect.TypeFor[T]()
	p := &Pen[T]{write: known.of(t)}
	if t.Kind() == reflect.Struct {
		p.list, _ = known.fields(t, map[string]bool{})
	}
	return p
}

// Append appends the JSON of a value. The error is that of json.Marshal.
func (p *Pen[T]) Append(b []byte, v *T) ([]byte, error) {
	written, err := p.write(b, reflect.ValueOf(v).Elem())
	if err == nil {
		return written, nil
	}
	_, err = json.Marshal(v)
	return b, err
}

// Writings are those of types, so that each is looked at once.
type Writings map[reflect.Type]*writing

// of is the writing of a type. A type that has itself within is being looked at when it is met
// again.
func (m Writings) of(t reflect.Type) writing {
	w := m[t]
	switch {
	case w == nil:
		w = new(writing)
		m[t] = w
		*w = m.make(t)
	case *w == nil:
		return func(b []byte, v reflect.Value) ([]byte, error) { return (*w)(b, v) }
	}
	return *w
}

func (m Writings) make(t reflect.Type) writing {
	p := reflect.PointerTo(t)
	switch marshaler, text := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](); {
	case t.Kind() == reflect.Pointer:
		return m.pointer(t)
	case t == reflect.TypeFor[json.RawMessage]():
		return writeOwnJSON
	case t.Implements(marshaler) && t.Kind() != reflect.Interface:
		return writeOwnJSON
	case p.Implements(marshaler):
		return writeAny
	case t.Implements(text) && t.Kind() != reflect.Interface:
		return writeOwnText
	case p.Implements(text):
		return writeAny
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return appendString(b, v.String()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(b, v.Uint(), 10), nil }
	case reflect.Slice:
		if isList(t) {
			return m.slice(t)
		}
	case reflect.Map:
		if k := t.Key(); k.Kind() == reflect.String && !k.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return m.mapping(t)
		}
	case reflect.Struct:
		return m.structure(t)
	}
	return writeAny
}

// isList reports whether a type is written as the list of its elements. Bytes are base64.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !writesItself(t)
}

func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// writeAny leaves a value to json.Marshal.
func writeAny(b []byte, v reflect.Value) ([]byte, error) {
	text, err := json.Marshal(v.Addr().Interface())
	return append(b, text...), err
}

func (m Writings) pointer(t reflect.Type) writing {
	write := m.of(t.Elem())
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return write(b, v.Elem())
	}
}

func (m Writings) slice(t reflect.Type) writing {
	write := m.of(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = write(b, v.Index(i)); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	}
}

func (m Writings) mapping(t reflect.Type) writing {
	write := m.of(t.Elem())
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		b = append(b, '{')
		value := reflect.New(t.Elem()).Elem()
		for i, key := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, key.String()), ':')
			value.Set(v.MapIndex(key))
			if b, err = write(b, value); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

// A written field of a struct. That of one that is embedded has the fields of that instead of a
// name: they stand in its place.
type written struct {
	at    int
	name  []byte // with quotes and colon, behind a comma
	write writing
	omits func(reflect.Value) bool // nil: it is written whatever it is
	parts []written
	// element is how one of a list is written; nil: it is no list, or writes itself.
	element writing
}

func (m Writings) structure(t reflect.Type) writing {
	names := map[string]bool{}
	list, ok := m.fields(t, names)
	if !ok {
		return writeAny
	}
	return func(b []byte, v reflect.Value) ([]byte, error) {
		b = append(b, '{')
		b, err := appendWritten(b, len(b), v, list)
		return append(b, '}'), err
	}
}

// appendWritten appends the fields of a struct to what begins with those before it.
func appendWritten(b []byte, start int, v reflect.Value, list []written) (_ []byte, err error) {
	for i := range list {
		f := &list[i]
		field := v.Field(f.at)
		switch {
		case f.omits != nil && f.omits(field):
			continue
		case f.name == nil:
			b, err = appendWritten(b, start, field, f.parts)
		case len(b) == start:
			b, err = f.write(append(b, f.name[1:]...), field)
		default:
			b, err = f.write(append(b, f.name...), field)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// fields lists those of a struct as appendFields does. False: it has one of a sort for which there
// is no pen, or one of a name that another has.
func (m Writings) fields(t reflect.Type, names map[string]bool) (list []written, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, embeds := nameOf(&f)
		tag := strings.Split(f.Tag.Get("json"), ",")[1:]
		switch {
		case embeds:
			parts, ok := m.fields(f.Type, names)
			if !ok {
				return nil, false
			}
			part := written{at: i, parts: parts}
			if !slices.ContainsFunc(parts, func(p written) bool { return p.omits == nil }) {
				part.omits = reflect.Value.IsZero // of what is zero nothing is written
			}
			list = append(list, part)
		case name != "":
			if f.Anonymous || slices.Contains(tag, "string") || names[name] {
				return nil, false
			}
			names[name] = true
			omits, ok := omitting(f.Type, slices.Contains(tag, "omitempty"), slices.Contains(tag, "omitzero"))
			if !ok {
				return nil, false
			}
			w := written{at: i, name: append(appendString([]byte{','}, name), ':'), write: m.of(f.Type), omits: omits}
			if isList(f.Type) {
				w.element = m.of(f.Type.Elem())
			}
			list = append(list, w)
		}
	}
	return list, true
}

// omitting says which values of a field are left out; nil: none are.
func omitting(t reflect.Type, empty, zero bool) (omits func(reflect.Value) bool, ok bool) {
	if zeroer := reflect.TypeFor[interface{ IsZero() bool }](); zero && reflect.PointerTo(t).Implements(zeroer) {
		return nil, false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		if empty {
			return func(v reflect.Value) bool { return v.Len() == 0 }, true
		}
	case reflect.Struct:
		empty = false
	case reflect.Array, reflect.Interface:
		return nil, false
	}
	if empty || zero {
		return reflect.Value.IsZero, true
	}
	return nil, true
}

func writeOwnJSON(b []byte, v reflect.Value) ([]byte, error) {
	text, err := v.Addr().Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return b, err
	}
	if isNumber(text) || isNumbers(text) {
		return append(b, text...), nil
	}
	whole, err := json.Marshal(json.RawMessage(text))
	return append(b, whole...), err
}

// isNumber reports whether a text is a number in digits.
func isNumber(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	return len(digits) > 0 && (len(digits) == 1 || digits[0] != '0') && !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

// isNumbers reports whether a text is a list of such.
func isNumbers(text []byte) bool {
	list, begins := bytes.CutPrefix(text, []byte("["))
	list, ends := bytes.CutSuffix(list, []byte("]"))
	for more := len(list) > 0; more && ends; {
		var number []byte
		number, list, more = bytes.Cut(list, []byte(","))
		ends = isNumber(number)
	}
	return begins && ends
}

func writeOwnText(b []byte, v reflect.Value) ([]byte, error) {
	text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return b, err
	}
	return appendString(b, text), nil
}

// appendString appends a string in quotes.
func appendString[S string | []byte](b []byte, s S) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf-1 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(string(s)) // a string has its JSON
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
