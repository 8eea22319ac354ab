// Package fields has tests by reflection look at every field of a type, at any depth: it fills
// values, lists their leaves with the paths to them, changes one leaf at a time, and scribbles over
// memory. So a field that comes later is looked at without a line in any test.
//
// What is listed by hand in the library (checks, copies, keys, samples) is fast and easy to read,
// and a field is easily forgotten there. Tests with this package notice, and [Keeper] names the
// function that has to change.
package fields

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Leaf is a field without fields of its own, an element of a list of such, or a key or a value of
// a map, in a value that was walked.
type Leaf struct {
	// Path leads to the leaf by the names of Go: Job.Groups[0].Selector.Labels["zone"]. That of a
	// key ends in ".key".
	Path string
	// Place is Path without positions and keys: Job.Groups[].Selector.Labels[]. A type has as many
	// places, whatever its values are.
	Place string
	// JSON leads to the leaf, or to the value of the key, as refusals name it:
	// job.groups[0].selector.labels["zone"].
	JSON string
	// Within has the structs around the leaf, the outermost first.
	Within []reflect.Type
	// Shared: a copy of the walked value by assignment has the leaf in the same memory.
	Shared bool

	value reflect.Value
	set   func(reflect.Value)
}

// Zero reports whether the leaf has the zero value of its type.
func (l *Leaf) Zero() bool { return l.value.IsZero() }

// IsData reports whether the leaf is a value, and not a function or an interface.
func (l *Leaf) IsData() bool {
	return l.value.Kind() != reflect.Func && l.value.Kind() != reflect.Interface
}

// IsText reports whether the leaf is a text.
func (l *Leaf) IsText() bool { return l.value.Kind() == reflect.String }

// Value is a copy of what the leaf has.
func (l *Leaf) Value() reflect.Value { return detached(l.value) }

// Set gives the leaf a value of its type.
func (l *Leaf) Set(v reflect.Value) { l.set(v) }

// SetText gives a leaf that is a text another.
func (l *Leaf) SetText(text string) {
	l.set(reflect.ValueOf(text).Convert(l.value.Type()))
}

// Others are values that the leaf has not, of its type and with a form in JSON. A text gets the
// given words as well.
func (l *Leaf) Others(words ...string) []reflect.Value {
	list := valuesOf(l.value, words)
	if zero := reflect.Zero(l.value.Type()); writes(zero) {
		list = append(list, zero)
	}
	return slices.DeleteFunc(list, func(v reflect.Value) bool { return v.Equal(l.value) })
}

// Leaves lists the leaves of the value behind a pointer, in the order of its type. What is nil or
// empty has none.
func Leaves(pointer any) []Leaf {
	w := walker{}
	w.walk(reflect.ValueOf(pointer).Elem(), Leaf{}, nil)
	return w.leaves
}

// Places lists the places that values of a type can have.
func Places(t reflect.Type) []string {
	var places []string
	for _, l := range Leaves(Filled(t)) {
		if !slices.Contains(places, l.Place) {
			places = append(places, l.Place)
		}
	}
	return places
}

// SharedLeaves lists those leaves of the value behind a pointer that a copy by assignment shares,
// also behind the ends of lists that have room for more.
func SharedLeaves(pointer any) []Leaf {
	w := walker{spare: true}
	w.walk(reflect.ValueOf(pointer).Elem(), Leaf{}, nil)
	return slices.DeleteFunc(w.leaves, func(l Leaf) bool { return !l.Shared || !l.IsData() })
}

// Scribble changes all memory that a copy of the value behind a pointer shares with it.
func Scribble(pointer any) {
	for _, l := range SharedLeaves(pointer) {
		l.Scribble()
	}
	wipe(reflect.ValueOf(pointer).Elem(), false)
}

// Scribble gives the leaf another value.
func (l *Leaf) Scribble() {
	others := l.Others("scribbled", "scribbled over")
	if len(others) == 0 {
		panic(fmt.Sprintf("fields: no other value than %v of %v is known: see valuesOf", l.value, l.value.Type()))
	}
	l.Set(others[0])
}

// wipe has nothing left that shared memory points to.
func wipe(v reflect.Value, shared bool) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		wipe(v.Elem(), true)
	case v.Kind() == reflect.Struct && !isWord(v.Type()):
		for i := range v.NumField() {
			wipe(v.Field(i), shared)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Cap() {
			wipe(v.Slice(0, v.Cap()).Index(i), true)
		}
	}
	if shared && slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, v.Kind()) {
		v.SetZero()
	}
}

// Clone is a copy of a value that shares no memory with it. It is a test's own, so that it forgets
// no field.
func Clone[T any](v T) T {
	c := reflect.New(reflect.TypeFor[T]()).Elem()
	c.Set(cloned(reflect.ValueOf(&v).Elem()))
	return c.Interface().(T)
}

// Boxed is a pointer to such a copy of the value that an interface has.
func Boxed(v any) (pointer any) {
	c := reflect.New(reflect.TypeOf(v))
	c.Elem().Set(cloned(reflect.ValueOf(v)))
	return c.Interface()
}

// Unboxed is the value behind such a pointer.
func Unboxed(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }

func cloned(v reflect.Value) reflect.Value {
	c := detached(v)
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(cloned(v.Elem()))
	case v.Kind() == reflect.Struct && !isWord(v.Type()):
		for i := range v.NumField() {
			c.Field(i).Set(cloned(v.Field(i)))
		}
	case v.Kind() == reflect.Slice && !v.IsNil():
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(cloned(v.Index(i)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		c.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, cloned(v.MapIndex(key)))
		}
	}
	return c
}

// A walker collects leaves.
type walker struct {
	leaves []Leaf
	// spare: behind the ends of lists, too.
	spare bool
}

// walk collects the leaves of a value that can be set. The leaf says where it stands, and back puts
// a changed copy back where it was taken from.
func (w *walker) walk(v reflect.Value, at Leaf, back func()) {
	t := v.Type()
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			at.Shared = true
			w.walk(v.Elem(), at, back)
		}
	case v.Kind() == reflect.Struct && !isWord(t):
		at.Within = append(slices.Clone(at.Within), t)
		for i := range t.NumField() {
			f := t.Field(i)
			inside := at
			inside.Path, inside.Place = joined(at.Path, f.Name), joined(at.Place, f.Name)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" || !f.Anonymous {
				if name == "" {
					name = f.Name
				}
				inside.JSON = joined(at.JSON, name)
			}
			w.walk(v.Field(i), inside, back)
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		at.Shared = at.Shared || v.Kind() == reflect.Slice
		if w.spare && v.Kind() == reflect.Slice {
			v = v.Slice(0, v.Cap())
		}
		for i := range v.Len() {
			w.walk(v.Index(i), at.element(strconv.Itoa(i)), back)
		}
	case v.Kind() == reflect.Map:
		at.Shared = true
		for _, key := range sortedKeys(v) {
			w.entry(v, key, at.element(strconv.Quote(fmt.Sprint(key))), back)
		}
	default:
		at.value = v
		at.set = func(to reflect.Value) {
			v.Set(to)
			if back != nil {
				back()
			}
		}
		w.leaves = append(w.leaves, at)
	}
}

// entry collects what an entry of a map has.
func (w *walker) entry(m, key reflect.Value, at Leaf, back func()) {
	name := at
	name.Path, name.Place = at.Path+".key", at.Place+".key"
	name.value = key
	name.set = func(to reflect.Value) {
		value := detached(m.MapIndex(key))
		m.SetMapIndex(key, reflect.Value{})
		m.SetMapIndex(to, value)
		if back != nil {
			back()
		}
	}
	w.leaves = append(w.leaves, name)
	value := detached(m.MapIndex(key))
	w.walk(value, at, func() {
		m.SetMapIndex(key, value)
		if back != nil {
			back()
		}
	})
}

func (l Leaf) element(key string) Leaf {
	l.Path, l.Place, l.JSON = l.Path+"["+key+"]", l.Place+"[]", l.JSON+"["+key+"]"
	return l
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// detached is a copy of a value that can be set.
func detached(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return keys
}

// isWord reports whether values of a struct are written as one text or number.
func isWord(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) && !hasExported(t)
}

func hasExported(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() })
}

// Fill returns a value of which every field at any depth is set, each leaf to a value of its own as
// far as its type has so many. Lists and maps have two elements. Functions and interfaces are nil.
func Fill[T any]() T {
	var v T
	new(counter).fill(reflect.ValueOf(&v).Elem())
	return v
}

// Filled is a pointer to such a value of a type.
func Filled(t reflect.Type) (pointer any) {
	v := reflect.New(t)
	new(counter).fill(v.Elem())
	return v.Interface()
}

// A counter gives each leaf another value.
type counter int

func (c *counter) fill(v reflect.Value) {
	t := v.Type()
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		c.fill(v.Elem())
	case v.Kind() == reflect.Struct && !isWord(t):
		for i := range v.NumField() {
			c.fill(v.Field(i))
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(t, 2, 2))
		}
		for i := range v.Len() {
			c.fill(v.Index(i))
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		for range 2 {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			c.fill(key)
			c.fill(value)
			v.SetMapIndex(key, value)
		}
	case v.Kind() == reflect.Func || v.Kind() == reflect.Interface:
	default:
		*c++
		list := valuesOf(v, []string{fmt.Sprint("text-", int(*c))})
		if len(list) == 0 {
			panic(fmt.Sprintf("fields: no value of %v is known: add one to words or numbers", t))
		}
		list = slices.DeleteFunc(list, func(v reflect.Value) bool { return v.CanInt() && v.Int() < 0 }) // often a word for off
		v.Set(list[int(*c)%len(list)])
		if v.Kind() == reflect.String {
			v.Set(list[0])
		}
	}
}

// Forgotten names the first leaf that a function which copies leaves out, or shares with what it
// copied; empty: there is none. Values are changed first to what the function may be given.
func Forgotten[T any](copyOf func(T) T, changes ...func(T) T) string {
	v := Fill[T]()
	for _, change := range changes {
		v = change(v)
	}
	c := copyOf(v)
	of, in := Leaves(&v), Leaves(&c)
	for i := range of {
		if i >= len(in) || of[i].Path != in[i].Path || of[i].IsData() && !of[i].value.Equal(in[i].value) {
			return of[i].Path + " is left out"
		}
	}
	return shared(&v, &c)
}

// Shared names the first leaf that a function which copies shares with what it copied; empty: there
// is none. It may change the rest, as one does that fills in defaults.
func Shared[T any](copyOf func(T) T) string {
	v := Fill[T]()
	c := copyOf(v)
	return shared(&v, &c)
}

func shared[T any](v, c *T) string {
	was := Clone(*c)
	for _, leaf := range SharedLeaves(v) {
		leaf.Scribble()
		if !reflect.DeepEqual(*c, was) {
			return leaf.Path + " is shared"
		}
	}
	if Scribble(v); !reflect.DeepEqual(*c, was) {
		return "a list or a pointer within another is shared"
	}
	return ""
}
