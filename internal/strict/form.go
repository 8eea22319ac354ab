package strict

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Form reads texts of one type in a single pass. It looks at the type once, where it is made;
// Unmarshal looks at it each time, and goes over the text three times.
//
// A Form knows what is right and not what is wrong: a text that it does not take is read again by
// Unmarshal, which says what is wrong with it. So both take the same texts to mean the same, and
// Unmarshal is what a Form is tested against. What is right but rare may go that way too.
type Form[T any] struct{ read reading }

// A reading reads the next value of a text, and reports whether it did. The value is zero before.
type reading func(*source, reflect.Value) bool

// FormOf makes the form of a type, with those of types that others had made in their readings. A
// type that has what no form reads is read by Unmarshal alone: numbers with fractions, arrays,
// interfaces, fields of one name in two embedded structs. O(types within).
func FormOf[T any](known Readings) *Form[T] { return &Form[T]{known.of(reflect.TypeFor[T]())} }

// Unmarshal reads a text as the function Unmarshal does. Cost: O(len(b)), some 1/20 of that.
func (f *Form[T]) Unmarshal(b []byte) (*T, error) {
	if v, ok := f.Plain(b); ok {
		return v, nil
	}
	v := new(T)
	return v, Unmarshal(b, v)
}

// Plain is Unmarshal without a word about what is wrong: false: it may be wrong, or rare.
func (f *Form[T]) Plain(b []byte) (*T, bool) {
	v, s := new(T), &source{text: b}
	if len(b) > longText {
		s.words = make([]string, 256)
	}
	ok := f.read(s, reflect.ValueOf(v).Elem())
	return v, ok && s.peek() == 0 && s.at == len(b)
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
		return readOwnText
	}
	switch t.Kind() {
	case reflect.Bool:
		return readBool
	case reflect.String:
		return readString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return readUint
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
		return m.structure(t)
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
		p := reflect.New(to)
		v.Set(p)
		return read(s, p.Elem())
	}
}

func (m Readings) slice(t reflect.Type) reading {
	kind := len(m) // of slices of this type alone
	read := m.of(t.Elem())
	return func(s *source, v reflect.Value) bool {
		if !s.take('[') {
			return false
		}
		n, start := 0, s.at
		for ; s.more(n > 0, ']'); n++ {
			if n == v.Cap() {
				v.Grow(s.room(n, start, kind))
			}
			v.SetLen(n + 1)
			if !read(s, v.Index(n)) {
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
	read := m.of(t.Elem())
	return func(s *source, v reflect.Value) bool {
		if !s.take('{') {
			return false
		}
		v.Set(reflect.MakeMap(t))
		for n := 0; s.more(n > 0, '}'); n++ {
			quoted, ok := s.key()
			if !ok {
				return false
			}
			key, value := reflect.ValueOf(string(quoted)).Convert(t.Key()), reflect.New(t.Elem()).Elem()
			if v.MapIndex(key).IsValid() || !read(s, value) {
				return false
			}
			v.SetMapIndex(key, value)
		}
		return s.take('}')
	}
}

// An entry is a field of a struct, or of one that is embedded in it.
type entry struct {
	name  string
	key   string // the name as it is written, with quotes and colon
	index []int
	read  reading
}

func (m Readings) structure(t reflect.Type) reading {
	list, ok := m.entries(nil, t, nil)
	names := map[string]bool{}
	for i := range list {
		ok = ok && !names[list[i].name]
		names[list[i].name] = true
	}
	if !ok || len(list) > 128 {
		return func(*source, reflect.Value) bool { return false }
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
			if !list[at].read(s, field) {
				return false
			}
			next = at + 1
		}
		return s.take('}')
	}
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
			list = append(list, entry{name, strconv.Quote(name) + ":", index, m.of(f.Type)})
		}
	}
	return list, true
}

// A source is a text that is being read.
type source struct {
	text []byte
	at   int
	read map[shared]reflect.Value
	// lengths has, for lists of some kinds, that of the last one that was read, if it was short. Others
	// may have the place of a kind: it is a guess.
	lengths [16]uint8
	// words are some that came before, in a long text: most are there many times.
	words []string
}

// room is for how many more elements a list of a kind makes room when it has so many, and began at
// start. The first time it is for as many as the last one had, if those were few. A long list is for
// as many as the rest of the text has if they are as long, but no more than thrice those that came.
// So most lists are copied few times, and a text that is none takes little more room than what it
// began with.
func (s *source) room(n, start, kind int) int {
	switch {
	case n == 0:
		return max(1, int(s.lengths[kind%len(s.lengths)]))
	case n < 64:
		return 1
	}
	return min(3*n, 1+(len(s.text)-s.at)/((s.at-start)/n)*17/16)
}

// fewElements is the length of the longest list that the next one of its kind makes room for.
const fewElements = 8

// peek steps over blanks, and is the next byte; 0: the text is at its end.
func (s *source) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// take steps over a byte, if it comes next.
func (s *source) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// more reports whether a list goes on, and steps over the comma before what follows. What is no
// comma is found by what reads on.
func (s *source) more(comma bool, end byte) bool {
	c := s.peek()
	if c == end || comma && c != ',' {
		return false
	}
	if comma {
		s.at++
	}
	return true
}

// word steps over a word, if it comes next.
func (s *source) word(w string) bool {
	if s.peek() == 0 || len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// key reads a key and its colon.
func (s *source) key() ([]byte, bool) {
	key, ok := s.str()
	return key, ok && s.take(':')
}

// str reads a string that has no escapes.
func (s *source) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start, ascii := s.at, true
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			found := s.text[start : s.at-1]
			return found, ascii || utf8.Valid(found)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// number steps over a whole number, and is its digits with the sign.
func (s *source) number() ([]byte, bool) {
	s.peek()
	start := s.at
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	first := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	if digits := s.at - first; digits == 0 || digits > 1 && s.text[first] == '0' {
		return nil, false
	}
	if s.at < len(s.text) {
		if c := s.text[s.at]; c == '.' || c == 'e' || c == 'E' {
			return nil, false
		}
	}
	return s.text[start:s.at], true
}

// value steps over a value of any kind, and is its text: it may not be JSON.
func (s *source) value() []byte {
	s.peek()
	start, depth := s.at, 0
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
				if s.text[s.at] == '\\' {
					s.at++
				}
			}
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return bytes.TrimRight(s.text[start:s.at], blanks)
		}
	}
	s.at = len(s.text)
	return bytes.TrimRight(s.text[start:], blanks)
}

// blanks are what may stand between what has a meaning.
const blanks = " \n\t\r"

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
	return ok
}

// longText is the length from which on a text keeps the words that it is made of.
const longText = 1 << 16

// shared is a text as a string: as the one before it in its place, if that is the same.
func (s *source) shared(text []byte) string {
	if len(s.words) == 0 || len(text) == 0 {
		return string(text)
	}
	place := (len(text)*31 + int(text[0])*7 + int(text[len(text)-1])) % len(s.words)
	if s.words[place] != string(text) {
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

// small is the number of some digits without a sign; false: there are others, or too many to fit for
// certain.
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
	case c == 'n' || c == '{':
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
