// Package enum has the texts of enumerations, whose values count from zero.
package enum

import (
	"fmt"
	"strings"
)

// Names are the texts of an enumeration in the order of its values, with a bar between
// each two: "batch|interactive". So they are a constant, which nothing can write to, and
// no text has a bar.
type Names string

// Len is the number of values.
func (n Names) Len() int { return strings.Count(string(n), "|") + 1 }

// List returns the texts in the order of the values.
func (n Names) List() []string { return strings.Split(string(n), "|") }

// Text is the text of a value; of a number that is no value, what the format says:
// "Class(%d)".
func Text[E ~uint8](n Names, v E, unknown string) string {
	rest, more := string(n), true
	for i := E(0); more; i++ {
		var text string
		if text, rest, more = strings.Cut(rest, "|"); i == v {
			return text
		}
	}
	return fmt.Sprintf(unknown, uint8(v))
}

// Parse is the inverse of Text for values. It reports false for any other text.
func Parse[E ~uint8](n Names, text string) (E, bool) {
	rest, more := string(n), true
	for v := E(0); more; v++ {
		var name string
		if name, rest, more = strings.Cut(rest, "|"); name == text {
			return v, true
		}
	}
	return 0, false
}
