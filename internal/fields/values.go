package fields

import (
	"encoding/json"
	"reflect"
	"slices"
)

// words are texts of which at least two are taken by each struct that is written as a text.
func words() []string {
	return []string{"9.0", "8.6", "7.5", "1g.10gb", "2g.20gb", "3g.40gb", "1g.10gb@0:1", "1g.10gb@1:1", "2g.20gb@2:2", "3g.40gb@4:4", "1", "2", "3"}
}

// valuesOf are values of the type of a leaf that are not zero, for a text the given ones first.
func valuesOf(leaf reflect.Value, given []string) []reflect.Value {
	t := leaf.Type()
	var list []reflect.Value
	add := func(v reflect.Value) {
		if !v.IsZero() && writes(v) && !slices.ContainsFunc(list, v.Equal) {
			list = append(list, v)
		}
	}
	switch {
	case leaf.Kind() == reflect.Struct:
		for _, word := range words() {
			for _, text := range []string{word, `"` + word + `"`} {
				if v := reflect.New(t); json.Unmarshal([]byte(text), v.Interface()) == nil {
					add(v.Elem())
				}
			}
		}
	case leaf.Kind() == reflect.String:
		for _, text := range given {
			add(reflect.ValueOf(text).Convert(t))
		}
	case leaf.Kind() == reflect.Bool:
		add(reflect.ValueOf(true).Convert(t))
	case leaf.CanInt():
		n := leaf.Int()
		for _, to := range []int64{n + 1, n - 1, 2 * n, n / 2, 1, 2, 3, 1000, -1} {
			if v := reflect.New(t).Elem(); !v.OverflowInt(to) {
				v.SetInt(to)
				add(v)
			}
		}
	case leaf.CanUint():
		n := leaf.Uint()
		for _, to := range []uint64{n + 1, n - 1, 2 * n, n / 2, 1, 2, 3, 5, 8} {
			if v := reflect.New(t).Elem(); !v.OverflowUint(to) {
				v.SetUint(to)
				add(v)
			}
		}
	}
	return list
}

// writes reports whether a value has a form in JSON, as not every number is the name of something.
func writes(v reflect.Value) bool {
	_, err := json.Marshal(v.Interface())
	return err == nil
}
