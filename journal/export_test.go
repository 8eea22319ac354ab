package journal

import (
	"strings"
)

// Bare is a journal without the numbers and sums of its lines, for tests to change.
func Bare(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if _, body, ok := cutLine([]byte(line)); ok {
			lines[i] = "{" + string(body)
		}
	}
	return strings.Join(lines, "")
}

// Seal gives the lines of a bare journal their numbers and sums, as if they were written so. What
// begins with no brace stays as it is.
func Seal(text string) string {
	lines := strings.SplitAfter(text, "\n")
	at := Position{Sum: sumOf(0, []byte(strings.TrimSuffix(lines[0], "\n")))}
	for i, line := range lines[1:] {
		body, ok := strings.CutPrefix(line, "{")
		if !ok {
			continue
		}
		end := strings.HasSuffix(body, "\n")
		var sealed []byte
		sealed, at = at.appendLine(nil, []byte(strings.TrimSuffix(body, "\n")))
		lines[1+i] = string(sealed)
		if end {
			lines[1+i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

// SealBehind is a record with a bare body behind a position.
func SealBehind(at Position, body string) string {
	line, _ := at.appendLine(nil, []byte(body[1:]))
	return string(line)
}
