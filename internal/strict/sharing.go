package strict

import "reflect"

// Sharing has equal texts of a type that a Form reads with others, such as a list, be read once:
// the values share what they point to, and are for those alone that change none of it.
func Sharing[T any](known Readings) Readings {
	t := reflect.TypeFor[T]()
	read := known.of(t)
	*known[t] = func(s *source, v reflect.Value) bool {
		s.peek()
		start := s.at
		raw := s.value()
		if same, ok := s.read[shared{t, string(raw)}]; ok {
			v.Set(same)
			return true
		}
		s.at = start
		if !read(s, v) {
			return false
		}
		// What is no JSON may end elsewhere than it was read to.
		if len(s.read) < mostShared && s.at == start+len(raw) && s.spend(len(raw)) {
			if s.read == nil {
				s.read = map[shared]reflect.Value{}
			}
			same := reflect.New(t).Elem()
			same.Set(v)
			s.read[shared{t, string(raw)}] = same
		}
		return true
	}
	return known
}

// mostShared bounds the texts of which a source knows the value.
const mostShared = 1024

// A shared text is one of a type of which equal ones are read once.
type shared struct {
	of   reflect.Type
	text string
}
