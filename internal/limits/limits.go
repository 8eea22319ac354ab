// Package limits bounds what may be told: amounts, names and texts. The contract refuses by it
// at the door, and a restore by the same bounds.
package limits

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxText is the longest name or text, in bytes.
const maxText = 1024

// BadName says why a string cannot be a name, or "" if it can: names are compared, printed and
// journalled, so they are short, not empty, and valid UTF-8 without control characters.
func BadName(s string) string {
	if s == "" {
		return "is empty"
	}
	return BadText(s)
}

// BadText is BadName for optional text.
func BadText(s string) string {
	if len(s) > maxText {
		return fmt.Sprintf("has %d bytes; the most is %d", len(s), maxText)
	}
	if isPlain(s) {
		return ""
	}
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Sprintf("has the control character %U", r)
		}
	}
	return ""
}

// isPlain reports whether all characters of a text print and are of one byte, as most are.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// BadAmount says why an amount is refused, or "" if it is not: it is negative, or over, so large
// that sums of such might overflow.
func BadAmount(v int64) (reason string, over bool) {
	switch {
	case v < 0:
		return fmt.Sprintf("is negative: %d", v), false
	case v > MaxAmount:
		return fmt.Sprintf("%d exceeds %d", v, int64(MaxAmount)), true
	}
	return "", false
}
