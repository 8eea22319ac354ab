package values

// A Rare is a part that most records have nothing in: until somebody notes something there it takes
// no more than a pointer. The zero value has nothing noted.
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
