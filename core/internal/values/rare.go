package values

// A Rare is a part of a record that is empty in most records: an empty one takes a pointer and no
// more. The zero value is empty.
type Rare[T interface{ Nothing() bool }] struct{ noted *T }

// Get is what is noted, for reading; the zero value if there is nothing.
func (r *Rare[T]) Get() T {
	if r.noted == nil {
		var nothing T
		return nothing
	}
	return *r.noted
}

// Set notes a value in the place of what was there.
func (r *Rare[T]) Set(v T) {
	if v.Nothing() {
		r.noted = nil
		return
	}
	*r.Note() = v
}

// Note is where to note something.
func (r *Rare[T]) Note() *T {
	if r.noted == nil {
		r.noted = new(T)
	}
	return r.noted
}
