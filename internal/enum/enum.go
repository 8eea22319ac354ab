// Package enum has the texts of enumerations, whose values count from zero, and says in the words
// of each what is none of them.
package enum

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
)

// Names are the type of an enumeration and the texts of its values in their order, with a bar
// between each two: "Class: batch|interactive". So they are a constant, which nothing can write
// to, and no text has a bar.
type Names string

// Type is the name of the type.
func (n Names) Type() string {
	name, _, _ := strings.Cut(string(n), ": ")
	return name
}

// texts are those of the values, with the bars.
func (n Names) texts() string {
	_, texts, _ := strings.Cut(string(n), ": ")
	return texts
}

// Len is the number of values.
func (n Names) Len() int { return strings.Count(string(n), "|") + 1 }

// List returns the texts in the order of the values.
func (n Names) List() []string { return strings.Split(n.texts(), "|") }

// Text is the text of a value; of a number that is no value, its type and the number: Class(9).
func Text[E ~uint8](n Names, v E) string {
	rest, more := n.texts(), true
	for i := E(0); more; i++ {
		var text string
		if text, rest, more = strings.Cut(rest, "|"); i == v {
			return text
		}
	}
	return fmt.Sprintf("%s(%d)", n.Type(), uint8(v))
}

// Parse is the inverse of Text for values. It reports false for any other text.
func Parse[E ~uint8](n Names, text string) (E, bool) {
	rest, more := n.texts(), true
	for v := E(0); more; v++ {
		var name string
		if name, rest, more = strings.Cut(rest, "|"); name == text {
			return v, true
		}
	}
	return 0, false
}

// unset is the first text of an enumeration that says nothing by its zero value: that prints, and
// is neither written nor read.
const unset = "unset"

// A Refuse makes the error of a package: the type of the enumeration, and what is wrong.
type Refuse func(name, reason string) error

// Value is Parse with an error, and without what is not set.
func Value[E ~uint8](n Names, text string, refuse Refuse) (E, error) {
	v, ok := Parse[E](n, text)
	if ok && text != unset {
		return v, nil
	}
	list := n.List()
	if list[0] == unset {
		list = list[1:]
	}
	return 0, refuse(n.Type(), fmt.Sprintf("%q is none of %q", errtext.Short(text), list))
}

// Marshal is what a MarshalText returns: Text, or an error for what is no value.
func Marshal[E ~uint8](n Names, v E, refuse Refuse) ([]byte, error) {
	if int(v) >= n.Len() {
		return nil, refuse(n.Type(), fmt.Sprintf("%d is out of range", uint8(v)))
	}
	text := Text(n, v)
	if text == unset {
		return nil, refuse(n.Type(), "is not set")
	}
	return []byte(text), nil
}

// Unmarshal is what an UnmarshalText does: it sets the value of a text, and nothing with an error.
func Unmarshal[E ~uint8](n Names, into *E, text []byte, refuse Refuse) error {
	if v, ok := Parse[E](n, string(text)); ok && string(text) != unset { // a copy would be kept for the error alone
		*into = v
		return nil
	}
	_, err := Value[E](n, string(text), refuse)
	return err
}
