// Package limits bounds what may be told: amounts, names and texts. The contract refuses by it
// at the door, and a restore by the same bounds.
package limits

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/berth-sched/berth/internal/errtext"
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

// BadSpan says why a span of so many milliseconds is refused, or "" if it is not: it is off, which
// is -1, or negative, or over, so long that sums of such might overflow.
func BadSpan(ms int64) (reason string, over bool) {
	switch {
	case ms == -1:
		return "cannot be off", false
	case ms < 0:
		return fmt.Sprintf("is negative: %d ms", ms), false
	case ms > MaxSpan:
		return fmt.Sprintf("%d ms exceeds %d", ms, int64(MaxSpan)), true
	}
	return "", false
}

// BadLabels says which of some labels is refused, as a path, and why; "" if none is.
func BadLabels(labels map[string]string) (path, reason string) {
	if len(labels) == 0 {
		return "", "" // as nearly always: without the list of keys
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		path := "[" + strconv.Quote(errtext.Short(key)) + "]"
		if reason := BadName(key); reason != "" {
			return path, "the key " + reason
		}
		if reason := BadText(labels[key]); reason != "" {
			return path, reason
		}
	}
	return "", ""
}
