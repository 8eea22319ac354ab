package core_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// A tampering puts a text in the place of a part of another.
type tampering struct {
	path       string
	start, end int
	with       string
}

func (e *tampering) of(text []byte) []byte {
	return slices.Concat(text[:e.start], []byte(e.with), text[e.end:])
}

func (e *tampering) describe(text []byte) string {
	return fmt.Sprintf("%s: %.60s becomes %.60s", e.path, text[e.start:e.end], e.with)
}

// tamperings lists what makes another text of a snapshot in one place: every number becomes each of
// its extremes, every name each other one, and what is left out is put in.
func tamperings(snapshot []byte) []tampering {
	tm := &tamperer{text: snapshot, names: map[string][]string{}}
	of := reflect.TypeFor[record.Snapshot]()
	tm.value(0, "", of) // learns the names
	for _, list := range tm.names {
		slices.Sort(list)
	}
	tm.list = nil
	tm.value(0, "", of)
	return tm.list
}

// A tamperer walks through a text that the core wrote, which has no blanks, beside the type that
// it is read as.
type tamperer struct {
	text  []byte
	names map[string][]string // by what they are names of
	list  []tampering
}

// put replaces a part of the text.
func (tm *tamperer) put(path string, start, end int, with string) {
	if string(tm.text[start:end]) != with {
		tm.list = append(tm.list, tampering{path, start, end, with})
	}
}

// extremes of numbers of 32 and 64 bits, and their neighbours.
var extremes = []int64{0, 1, 2, -1, 1000, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32, 1 << 43, 1 << 62, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}

// value tampers with the value that begins at a place, and returns where it ends.
func (tm *tamperer) value(at int, path string, t reflect.Type) int {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		t = orderOf(tm.text[at:])
	}
	switch c := tm.text[at]; c {
	case '{':
		return tm.object(at, path, t)
	case '[':
		return tm.elements(at, path, t)
	case '"':
		end := at + 1
		for ; tm.text[end] != '"'; end++ {
			if tm.text[end] == '\\' {
				end++
			}
		}
		tm.string(at, end+1, path, t)
		return end + 1
	}
	end := at
	for end < len(tm.text) && !strings.ContainsRune(",]}", rune(tm.text[end])) {
		end++
	}
	switch text := string(tm.text[at:end]); text {
	case "true":
		tm.put(path, at, end, "false")
	case "false":
		tm.put(path, at, end, "true")
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			break // an unsigned one, larger than that
		}
		for _, x := range slices.Concat(extremes, []int64{n - 1, n + 1}) {
			tm.put(path, at, end, strconv.FormatInt(x, 10))
		}
		tm.put(path, at, end, strconv.FormatUint(math.MaxUint64, 10))
	}
	return end
}

// orderOf is the type of a saved order: a struct with a field for its kind.
func orderOf(text []byte) reflect.Type {
	kind, _, _ := strings.Cut(string(text[2:]), `"`)
	for _, o := range []berth.Order{berth.Bind{}, berth.Release{}, berth.RequestCheckpoint{}} {
		if o.Kind() == kind {
			return reflect.StructOf([]reflect.StructField{{Name: "Order", Type: reflect.TypeOf(o), Tag: reflect.StructTag(`json:"` + kind + `"`)}})
		}
	}
	return nil
}

func (tm *tamperer) object(start int, path string, t reflect.Type) int {
	there := map[string]bool{}
	at := start + 1
	for tm.text[at] != '}' {
		from := at
		if tm.text[at] == ',' {
			at++
		}
		length := bytes.IndexByte(tm.text[at+1:], '"')
		key := string(tm.text[at+1 : at+1+length])
		there[key] = true
		at = tm.value(at+length+3, strings.TrimPrefix(path+"."+key, "."), fieldOf(t, key))
		switch {
		case from > start+1:
			tm.put(path, from, at, "")
		case tm.text[at] == ',':
			tm.put(path, from, at+1, "")
		default:
			tm.put(path, from, at, "")
		}
	}
	comma := ","
	if len(there) == 0 {
		comma = ""
	}
	for name, field := range fieldsOf(t) {
		if there[name] {
			continue
		}
		for _, v := range tm.like(name, field) {
			tm.put(path+"."+name, at, at, comma+`"`+name+`":`+v)
		}
	}
	return at + 1
}

func (tm *tamperer) elements(start int, path string, t reflect.Type) int {
	var of reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		of = t.Elem()
	}
	type span struct{ from, to int }
	var elements []span
	at := start + 1
	for tm.text[at] != ']' {
		if tm.text[at] == ',' {
			at++
		}
		end := tm.value(at, fmt.Sprintf("%s[%d]", path, len(elements)), of)
		elements = append(elements, span{at, end})
		at = end
	}
	tm.put(path, start, at+1, "[]")
	for i, e := range elements {
		one := string(tm.text[e.from:e.to])
		here := fmt.Sprintf("%s[%d]", path, i)
		tm.put(here, e.to, e.to, ","+one)
		if i > 0 {
			before := elements[i-1]
			tm.put(here, before.to, e.to, "")
			tm.put(here, before.from, e.to, one+","+string(tm.text[before.from:before.to]))
		}
	}
	if of != nil && len(elements) == 0 {
		for _, v := range tm.like(path[strings.LastIndexByte(path, '.')+1:], of) {
			tm.put(path, at, at, v)
		}
	}
	return at + 1
}

// nameOf is what a string under a key is the name of.
func nameOf(path string) string {
	path = strings.TrimRight(path, "[]0123456789")
	key := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case key == "id" && strings.HasPrefix(path, "nodes"), key == "nodes", key == "avoid":
		return "node"
	case key == "id" && strings.HasPrefix(path, "jobs"):
		return "job"
	case key == "parent", key == "name" && strings.HasPrefix(path, "queues"):
		return "queue"
	case key == "name" && strings.Contains(path, "groups"):
		return "group"
	}
	return key
}

func (tm *tamperer) string(start, end int, path string, t reflect.Type) {
	key := nameOf(path)
	text := string(tm.text[start:end])
	if !slices.Contains(tm.names[key], text) {
		tm.names[key] = append(tm.names[key], text)
	}
	others := []string{`"nowhere"`, `""`}
	others = append(append(others, tm.names[key]...), wordsOf(t)...)
	if key == "state" {
		others = append(others, `"binding"`, `"running"`, `"failed"`, `"lost"`, `"stopping"`)
	}
	for _, other := range others {
		tm.put(path, start, end, other)
	}
}

// wordsOf are the words of an enumeration, and spans and instants at their extremes.
func wordsOf(t reflect.Type) (words []string) {
	switch {
	case t == nil:
		return nil
	case t == reflect.TypeFor[berth.Duration]():
		return []string{`"0s"`, `"1ms"`, `"-1ms"`, `"off"`, `"2562047h47m16.854s"`, `"-2562047h47m16.854s"`}
	case t == reflect.TypeFor[berth.CauseCode]():
		return []string{`"fits"`, `"resumed"`, `"victims-gone"`, `"backfilled"`, `"moved"`, `"preempted"`}
	}
	marshaler := reflect.TypeFor[encoding.TextMarshaler]()
	if t.Kind() != reflect.Uint8 || !t.Implements(marshaler) {
		return nil
	}
	for n := range uint64(16) {
		v := reflect.New(t).Elem()
		v.SetUint(n)
		if b, err := v.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
			words = append(words, strconv.Quote(string(b)))
		}
	}
	return words
}

// like are values of a type that was left out.
func (tm *tamperer) like(name string, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[berth.GPUSet]() {
		return []string{`[]`, `[0]`, `[63]`}
	}
	if words := wordsOf(t); words != nil {
		return words
	}
	switch t.Kind() {
	case reflect.Bool:
		return []string{"true"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64, reflect.Uint32:
		var list []string
		for _, n := range extremes {
			if n >= 0 || t.Kind() != reflect.Uint64 {
				list = append(list, strconv.FormatInt(n, 10))
			}
		}
		return list
	case reflect.String:
		return append([]string{`"nowhere"`}, tm.names[nameOf(name)]...)
	case reflect.Slice:
		list := []string{"[]"}
		for _, v := range tm.like(name, t.Elem()) {
			list = append(list, "["+v+"]")
		}
		return list
	case reflect.Struct:
		list := []string{"{}"}
		// One with all fields, as far as names go, and then with each of the others beside.
		for i := range 3 {
			text := "{"
			for key, field := range fieldsOf(t) {
				if field.Kind() == reflect.Pointer || field.Kind() == reflect.Struct && field.NumField() > 6 {
					continue
				}
				values := tm.like(key, field)
				if len(text) > 1 {
					text += ","
				}
				text += `"` + key + `":` + values[min(i, len(values)-1)]
			}
			list = append(list, text+"}")
		}
		return list
	}
	return []string{"null"}
}

// fieldsOf goes through the fields of a struct, those of what is embedded among them, by their
// names in JSON.
func fieldsOf(t reflect.Type) func(func(string, reflect.Type) bool) {
	return func(yield func(string, reflect.Type) bool) {
		if t == nil || t.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "" && name != "-" && !yield(name, f.Type) {
				return
			}
		}
	}
}

// fieldOf is the type of a field of a struct, or of a value of a map; nil: it is not known.
func fieldOf(t reflect.Type, key string) reflect.Type {
	if t != nil && t.Kind() == reflect.Map {
		return t.Elem()
	}
	for name, of := range fieldsOf(t) {
		if name == key {
			return of
		}
	}
	return nil
}
