package strict

import (
	"reflect"
	"slices"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
)

// fields are those of a struct as JSON has them, in the order of their declaration.
type fields []field

type field struct {
	name string
	of   reflect.Type
	// optional: it is left out where it is empty.
	optional bool
}

// fieldsOf lists the fields of a struct, those of what is embedded among them.
func (w *walker) fieldsOf(t reflect.Type) fields {
	known, ok := w.types[t]
	if !ok {
		known = appendFields(nil, t)
		w.types[t] = known
	}
	return known
}

func appendFields(known fields, t reflect.Type) fields {
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, embeds := nameOf(&f); {
		case embeds:
			known = appendFields(known, f.Type)
		case name != "":
			known = append(known, field{name, f.Type, isOptional(&f)})
		}
	}
	return known
}

// isOptional reports whether a field is left out where it is empty, by its tag.
func isOptional(f *reflect.StructField) bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return slices.ContainsFunc(strings.Split(options, ","), func(option string) bool {
		return option == "omitempty" || option == "omitzero"
	})
}

// takesNull reports whether null is what a nil value of a type is written as.
func takesNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// nameOf is the name of a field in JSON; empty: it has none. The fields of one that embeds stand
// in its place.
func nameOf(f *reflect.StructField) (name string, embeds bool) {
	tag := f.Tag.Get("json")
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case tag == "-" || !f.IsExported() && !f.Anonymous:
		return "", false
	case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
		return "", true
	case name == "":
		return f.Name, false
	}
	return name, false
}

func (known fields) index(key string) int {
	for i := range known {
		if known[i].name == key {
			return i
		}
	}
	return -1
}

// suggestion names the field that was meant: the one that differs in case alone, or else the
// one with the fewest edits if those are few, the first of several. Empty if none is near.
func (known fields) suggestion(key string) string {
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].name
	}
	return errtext.DidYouMean(key, names)
}

// Has reports whether a path such as groups[0].claim.gpus leads to a field of values of a type.
// Keys of maps stand in brackets: labels["zone"].
func Has(t reflect.Type, path string) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if path == "" {
		return true
	}
	if path[0] == '[' {
		end := strings.IndexByte(path, ']')
		if end < 0 {
			return false
		}
		quoted := path[1] == '"'
		switch {
		case quoted && t.Kind() == reflect.Map, !quoted && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
			return Has(t.Elem(), strings.TrimPrefix(path[end+1:], "."))
		}
		return false
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	known := appendFields(nil, t)
	i := known.index(path[:end])
	return i >= 0 && Has(known[i].of, strings.TrimPrefix(path[end:], "."))
}
