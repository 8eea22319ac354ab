package strict

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// A Form reads texts of one type in a single pass. It looks at the type once, where it is made;
// Unmarshal looks at it each time, and goes over the text three times.
//
// A Form knows what is right and not what is wrong: a text that it does not take is read again by
// Unmarshal, which says what is wrong with it. So both take the same texts to mean the same, and
// Unmarshal is what a Form is tested against. Of types that have nothing rare a Form reads all that
// is right, and bounds the memory that it takes: see FreeBytes.
type Form[T any] struct {
	read reading
	// complete: see CompleteFormOf.
	complete bool
}

// A reading reads the next value of a text, and reports whether it did. The value is zero before.
type reading func(*source, reflect.Value) bool

// FormOf makes the form of a type, with those of types that others had made in their readings. A
// type that has what no form reads is read by Unmarshal alone: numbers with fractions, arrays,
// interfaces, fields of one name that are embedded as deeply, and types that read objects by
// themselves. O(types within).
func FormOf[T any](known Readings) *Form[T] { return &Form[T]{read: known.of(reflect.TypeFor[T]())} }

// CompleteFormOf is FormOf for texts that say all that there is to say: each field is there, at any
// depth, but for those with omitempty or omitzero in their tags, which are left out where they are
// empty. Otherwise a number that was forgotten would be read as 0, the first of its kind. Null,
// where it is not how nil is written, is no value either.
func CompleteFormOf[T any](known Readings) *Form[T] {
	form := FormOf[T](known)
	form.complete = true
	return form
}

// Unmarshal reads a text as the function Unmarshal does. Cost: O(len(b)), some 1/20 of that.
func (f *Form[T]) Unmarshal(b []byte) (*T, error) {
	v, s, ok := f.plain(b)
	if ok {
		return v, nil
	}
	return f.explain(s)
}

// UnmarshalOne is Unmarshal for a text that may be something else than one value: false.
func (f *Form[T]) UnmarshalOne(b []byte) (v *T, one bool, err error) {
	v, s, ok := f.plain(b)
	if ok {
		return v, true, nil
	}
	if !json.Valid(b) {
		return nil, false, nil
	}
	v, err = f.explain(s)
	return v, true, err
}

// Plain is Unmarshal without a word about what is wrong: false: it may be wrong, or rare.
func (f *Form[T]) Plain(b []byte) (*T, bool) {
	v, _, ok := f.plain(b)
	return v, ok
}

func (f *Form[T]) plain(b []byte) (*T, *source, bool) {
	v, s := new(T), newSource(b, f.complete)
	ok := s.present(f.read, reflect.ValueOf(v).Elem(), false) && s.peek() == 0 && s.at == len(b)
	return v, s, ok
}

// explain says what is wrong with a text that could not be read, or reads what is rare.
func (f *Form[T]) explain(s *source) (*T, error) {
	over := 0
	if s.left < 0 {
		over = max(s.over, 1)
	}
	v := new(T)
	return v, unmarshal(s.text, v, f.complete, over)
}

// present reads the next value where null may stand for none: see walker.present.
func (s *source) present(read reading, v reflect.Value, optional bool) bool {
	if s.complete && !optional && s.peek() == 'n' && !takesNull(v.Type()) {
		return false
	}
	return read(s, v)
}

// Single takes apart the text of an object with one key, as a sum is written. The body goes to the
// brace at the end, and is one value if it can be read as one. False: it is no such text, or a rare
// one.
func Single(b []byte) (key, body []byte, ok bool) {
	s := &source{text: b}
	if !s.take('{') {
		return nil, nil, false
	}
	s.peek()
	key, ok = s.key()
	if end := len(b) - 1; ok && s.at < end && b[end] == '}' {
		return key, b[s.at:end], true
	}
	return nil, nil, false
}

// Readings are those of types, so that each is looked at once.
type Readings map[reflect.Type]*reading

// of is the reading of a type. A type that has itself within is being looked at when it is met
// again.
func (m Readings) of(t reflect.Type) reading {
	r := m[t]
	switch {
	case r == nil:
		r = new(reading)
		m[t] = r
		*r = m.make(t)
	case *r == nil:
		return func(s *source, v reflect.Value) bool { return (*r)(s, v) }
	}
	return *r
}

func (m Readings) make(t reflect.Type) reading {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return readRaw
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return readOwnJSON
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return orNull(readOwnText)
	}
	switch t.Kind() {
	case reflect.Bool:
		return orNull(readBool)
	case reflect.String:
		return orNull(readString)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return orNull(readInt)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return orNull(readUint)
	case reflect.Pointer:
		return orNull(m.pointer(t))
	case reflect.Slice:
		switch e := t.Elem(); {
		case e == reflect.TypeFor[byte]():
			return orNull(readBytes)
		case e.Kind() != reflect.Uint8: // named bytes are rare
			return orNull(m.slice(t))
		}
	case reflect.Map:
		if k := t.Key(); k.Kind() == reflect.String && !readsItself(k) {
			return orNull(m.mapping(t))
		}
	case reflect.Struct:
		return orNull(m.structure(t))
	}
	return func(*source, reflect.Value) bool { return false }
}

// orNull is for values for which null stands as well, and leaves them zero.
func orNull(r reading) reading {
	return func(s *source, v reflect.Value) bool {
		if s.peek() == 'n' {
			return s.word("null")
		}
		return r(s, v)
	}
}

func (m Readings) pointer(t reflect.Type) reading {
	to := t.Elem()
	read := m.of(to)
	return func(s *source, v reflect.Value) bool {
		if !s.spend(int(to.Size())) {
			return false
		}
		p := reflect.New(to)
		v.Set(p)
		return read(s, p.Elem())
	}
}

func (m Readings) slice(t reflect.Type) reading {
	kind := len(m) // of slices of this type alone
	read, size := m.of(t.Elem()), int(t.Elem().Size())
	return func(s *source, v reflect.Value) bool {
		if !s.take('[') {
			return false
		}
		n, start := 0, s.at
		for ; s.more(n > 0, ']'); n++ {
			if n == v.Cap() {
				more := s.room(n, start, kind)
				if !s.spend((n + more) * size) { // it is copied
					return false
				}
				v.Grow(more)
			}
			v.SetLen(n + 1)
			if !s.present(read, v.Index(n), false) {
				return false
			}
		}
		if n == 0 {
			v.Set(reflect.MakeSlice(t, 0, 0))
		}
		if s.lengths[kind%len(s.lengths)] = 0; n <= fewElements {
			s.lengths[kind%len(s.lengths)] = uint8(n)
		}
		return s.take(']')
	}
}

func (m Readings) mapping(t reflect.Type) reading {
	read, size := m.of(t.Elem()), int(t.Key().Size()+t.Elem().Size())+1
	return func(s *source, v reflect.Value) bool {
		if !s.take('{') {
			return false
		}
		if !s.spend(mapBytes) {
			return false
		}
		v.Set(reflect.MakeMap(t))
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		for n := 0; s.more(n > 0, '}'); n++ {
			text, ok := s.key()
			entries := 3 // a third is empty while it grows, and it is copied
			switch {
			case n == 0:
				entries = 8
			case n < 8:
				entries = 0
			}
			if !ok || !s.spend(entries*size+len(text)) {
				return false
			}
			key.SetString(string(text))
			value.SetZero()
			if v.MapIndex(key).IsValid() || !s.present(read, value, false) {
				return false
			}
			v.SetMapIndex(key, value)
		}
		return s.take('}')
	}
}

// mapBytes is what an empty map takes; it makes room for 8 entries with the first.
const mapBytes = 48

// An entry is a field of a struct, or of one that is embedded in it.
type entry struct {
	name  string
	key   string // the name as it is written, with quotes and colon
	index []int
	read  reading
	// optional: see field.
	optional bool
}

func (m Readings) structure(t reflect.Type) reading {
	list, ok := m.entries(nil, t, nil)
	list, one := nearest(list)
	if !ok || !one || len(list) > 128 {
		return func(*source, reflect.Value) bool { return false }
	}
	var required [2]uint64
	for i := range list {
		if !list[i].optional {
			required[i/64] |= 1 << (i % 64)
		}
	}
	return func(s *source, v reflect.Value) bool {
		if !s.take('{') {
			return false
		}
		var seen [2]uint64
		next := 0 // fields mostly come in the order of their declaration
		for n := 0; s.more(n > 0, '}'); n++ {
			at := s.entry(list, next)
			if at < 0 || seen[at/64]&(1<<(at%64)) != 0 {
				return false
			}
			seen[at/64] |= 1 << (at % 64)
			field := v
			for _, i := range list[at].index {
				field = field.Field(i)
			}
			if !s.present(list[at].read, field, list[at].optional) {
				return false
			}
			next = at + 1
		}
		if s.complete && (required[0]&^seen[0] != 0 || required[1]&^seen[1] != 0) {
			return false
		}
		return s.take('}')
	}
}

// nearest leaves out entries of a name that one has which is embedded less deeply, as encoding/json
// does. False: two have one name and are as deep.
func nearest(all []entry) (list []entry, one bool) {
	one = true
	for i := range all {
		deeper := false
		for j := range all {
			if i != j && all[i].name == all[j].name {
				deeper = deeper || len(all[j].index) < len(all[i].index)
				one = one && len(all[j].index) != len(all[i].index)
			}
		}
		if !deeper {
			list = append(list, all[i])
		}
	}
	return list, one
}

// entry is the entry of the next key, which it steps over with its colon: mostly the one that is
// expected; -1: there is none.
func (s *source) entry(list []entry, expected int) int {
	if expected < len(list) && s.word(list[expected].key) {
		return expected
	}
	key, ok := s.key()
	if !ok {
		return -1
	}
	return find(list, expected, key)
}

// find is the entry of a key, looked for from one on; -1: there is none.
func find(list []entry, from int, key []byte) int {
	for i := from; i < len(list); i++ {
		if list[i].name == string(key) {
			return i
		}
	}
	for i := range from {
		if list[i].name == string(key) {
			return i
		}
	}
	return -1
}

// entries lists the fields of a struct as appendFields does, with where they stand. False: it has
// one of a sort that no form reads.
func (m Readings) entries(list []entry, t reflect.Type, path []int) ([]entry, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, embeds := nameOf(&f)
		index := append(path[:len(path):len(path)], i)
		switch {
		case embeds:
			var ok bool
			if list, ok = m.entries(list, f.Type, index); !ok {
				return nil, false
			}
		case name != "":
			if f.Anonymous || strings.Contains(f.Tag.Get("json"), ",string") {
				return nil, false
			}
			list = append(list, entry{name, strconv.Quote(name) + ":", index, m.of(f.Type), isOptional(&f)})
		}
	}
	return list, true
}

func readBool(s *source, v reflect.Value) bool {
	if s.peek() == 't' {
		v.SetBool(true)
		return s.word("true")
	}
	return s.word("false")
}

func readString(s *source, v reflect.Value) bool {
	text, ok := s.str()
	v.SetString(s.shared(text))
	return ok && s.left >= 0
}

// longText is the length from which on a text keeps the words that it is made of.
const longText = 1 << 16

// shared is a text as a string: as the one before it in its place, if that is the same.
func (s *source) shared(text []byte) string {
	if len(s.words) == 0 || len(text) == 0 {
		s.spend(len(text))
		return string(text)
	}
	place := (len(text)*31 + int(text[0])*7 + int(text[len(text)-1])) % len(s.words)
	if s.words[place] != string(text) {
		s.spend(len(text))
		s.words[place] = string(text)
	}
	return s.words[place]
}

func readInt(s *source, v reflect.Value) bool {
	digits, ok := s.number()
	n, whole := small(digits)
	if !whole {
		var err error
		n, err = strconv.ParseInt(string(digits), 10, 64)
		ok = ok && err == nil
	}
	v.SetInt(n)
	return ok && !v.OverflowInt(n)
}

func readUint(s *source, v reflect.Value) bool {
	digits, ok := s.number()
	small, whole := small(digits)
	n := uint64(small)
	if !whole {
		var err error
		n, err = strconv.ParseUint(string(digits), 10, 64)
		ok = ok && err == nil
	}
	v.SetUint(n)
	return ok && !v.OverflowUint(n)
}

// small is the number that digits without a sign make; false: they are no such digits, or may be
// too many for it.
func small(digits []byte) (n int64, ok bool) {
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '-' {
		return 0, false
	}
	for _, c := range digits {
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// readBytes reads bytes, which are written to the base of 64.
func readBytes(s *source, v reflect.Value) bool {
	text, ok := s.str()
	bytes, err := base64.StdEncoding.DecodeString(string(text))
	v.SetBytes(bytes)
	return ok && err == nil
}

// readRaw takes over a value that is decoded later.
func readRaw(s *source, v reflect.Value) bool {
	raw := s.value()
	if !s.spend(len(raw)) {
		return false
	}
	v.SetBytes(append([]byte(nil), raw...))
	return json.Valid(raw)
}

// readOwnText reads a value of a type that reads its own text.
func readOwnText(s *source, v reflect.Value) bool {
	text, ok := s.str()
	return ok && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) == nil
}

// readOwnJSON reads a number, a string or a list of such, which a type reads by itself.
func readOwnJSON(s *source, v reflect.Value) bool {
	switch c := s.peek(); {
	case c == 'n':
		return s.word("null") && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte("null")) == nil
	case c == '{':
		return false
	case c == '[':
		raw := s.value()
		return json.Valid(raw) && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) == nil
	case c == '"':
		start := s.at
		_, ok := s.str()
		return ok && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(s.text[start:s.at]) == nil
	default:
		digits, ok := s.number()
		return ok && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(digits) == nil
	}
}
