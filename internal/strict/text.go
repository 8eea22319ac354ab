package strict

import "reflect"

// A Text is the JSON of a value, which is written part by part. The value may not change meanwhile.
type Text[T any] struct {
	pen *Pen[T]
	of  *T
	// field is the number of the field that is next, or being written, and element that of what is
	// next in it, if it is a list.
	field, element int
	began          bool // a field was written
}

// Text is the text of a value.
func (p *Pen[T]) Text(v *T) *Text[T] { return &Text[T]{pen: p, of: v} }

// Next appends the next part of a text: at least so many bytes, unless it is the last, and at most
// a field more, or an element of one that is a list. False: all is written.
func (t *Text[T]) Next(b []byte, size int) (_ []byte, more bool, err error) {
	list, v, start, size := t.pen.list, reflect.ValueOf(t.of).Elem(), len(b), max(1, size)
	switch {
	case list == nil:
		b, err = t.pen.Append(b, t.of)
		return b, false, err
	case t.field == 0 && t.element == 0:
		b = append(b, '{')
	case t.field > len(list):
		return b, false, nil
	}
	for t.field < len(list) && err == nil {
		if b, err = t.write(b, v, start+size); len(b)-start >= size {
			return b, true, err
		}
	}
	t.field++
	return append(b, '}'), false, err
}

// write appends the field that is next, or elements of it up to a length.
func (t *Text[T]) write(b []byte, v reflect.Value, size int) (_ []byte, err error) {
	f := &t.pen.list[t.field]
	field := v.Field(f.at)
	if f.element == nil || field.IsNil() || f.omits != nil && f.omits(field) {
		start := len(b)
		if t.began {
			start = -1 // a comma comes first
		}
		had := len(b)
		b, err = appendWritten(b, start, v, t.pen.list[t.field:t.field+1])
		t.began = t.began || len(b) > had
		t.field++
		return b, err
	}
	if t.element == 0 {
		name := f.name
		if !t.began {
			name = name[1:]
		}
		b = append(append(b, name...), '[')
		t.began = true
	}
	for ; t.element < field.Len() && err == nil; t.element++ {
		if len(b) >= size && t.element > 0 {
			return b, nil
		}
		if t.element > 0 {
			b = append(b, ',')
		}
		b, err = f.element(b, field.Index(t.element))
	}
	t.field, t.element = t.field+1, 0
	return append(b, ']'), err
}
