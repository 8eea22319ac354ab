package hostile

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Text is JSON of a type in which one list or map, at Path, has many short elements.
type Text struct{ Path, JSON string }

// Texts makes texts of some length for each list and each map within a type, at any depth: of the
// shortest elements of their types, of null and of objects that are empty, and of those that end in
// something else. All else in a text is the least that has to be there.
func Texts(t reflect.Type, length int) []Text { return (&writer{length: length}).texts(t, "") }

type writer struct {
	length int
	within []reflect.Type
}

func (w *writer) texts(t reflect.Type, path string) (list []Text) {
	if slices.Contains(w.within, t) || readsItself(t) {
		return nil
	}
	w.within = append(w.within, t)
	defer func() { w.within = w.within[:len(w.within)-1] }()
	switch t.Kind() {
	case reflect.Pointer:
		return w.texts(t.Elem(), path)
	case reflect.Struct:
		fields := fieldsOf(t)
		for i := range fields {
			for _, inner := range w.texts(fields[i].of, path+"."+fields[i].name) {
				list = append(list, Text{inner.Path, object(fields, i, inner.JSON)})
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for _, element := range []string{shortest(t.Elem()), "null", "{}", "0", `"a"`} {
			many := List("[", element, w.length/(len(element)+1), "")
			list = append(list, Text{path + "[]", many + "]"}, Text{path + "[]…", many + `,"` + strings.Repeat(`\n`, 8) + `"]`})
		}
		for _, inner := range w.texts(t.Elem(), path+"[0]") {
			list = append(list, Text{inner.Path, "[" + inner.JSON + "]"})
		}
	case reflect.Map:
		for _, element := range []string{shortest(t.Elem()), "null", "{}", "0"} {
			var many strings.Builder
			for i := range w.length / (len(element) + 6) {
				fmt.Fprintf(&many, `,"%x":%s`, i, element)
			}
			list = append(list, Text{path + "{}", "{" + many.String()[1:] + "}"}, Text{path + "{}…", "{" + many.String()[1:] + `,"\u0030":0}`})
		}
		for _, inner := range w.texts(t.Elem(), path+".a") {
			list = append(list, Text{inner.Path, `{"a":` + inner.JSON + "}"})
		}
	}
	return list
}

// A field of a struct, as JSON has it.
type field struct {
	name     string
	of       reflect.Type
	required bool
}

func fieldsOf(t reflect.Type) (list []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && f.Anonymous:
			list = append(list, fieldsOf(f.Type)...)
		default:
			list = append(list, field{name, f.Type, !strings.Contains(options, "omit")})
		}
	}
	return list
}

// object is an object with the fields that it has to have, and one with a value.
func object(fields []field, one int, value string) string {
	var parts []string
	for i := range fields {
		switch {
		case i == one:
			parts = append(parts, `"`+fields[i].name+`":`+value)
		case fields[i].required:
			parts = append(parts, `"`+fields[i].name+`":`+shortest(fields[i].of))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// shortest is the shortest value of a type, or nearly.
func shortest(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "0"
	case readsItself(t):
		v := reflect.New(t).Elem()
		for i := range uint64(2) { // an enumeration may have no text for 0
			if v.CanUint() {
				v.SetUint(i)
			}
			if text, err := json.Marshal(v.Addr().Interface()); err == nil {
				return string(text)
			}
		}
		return "null"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "false"
	case reflect.String:
		return `""`
	case reflect.Pointer:
		return "null"
	case reflect.Slice:
		return "[]"
	case reflect.Map:
		return "{}"
	case reflect.Struct:
		return object(fieldsOf(t), -1, "")
	}
	return "0"
}

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
