package input

import (
	"bytes"
	"fmt"
	"io"
)

// Lines is a text that another reads ahead in, such as a json.Decoder, with the lines of the places
// that are asked for. It keeps what was read and lies behind the last of them, and ends with an
// ErrLimit where that is too much: a value that is read as a whole is too long.
type Lines struct {
	in   io.Reader
	most int
	kept []byte
	at   int   // in kept
	from int64 // the offset there
	line int   // ends of lines before
	head int64 // the offset at which the line begins
}

// NewLines is for a text of which no value that is read as a whole has more than so many bytes.
func NewLines(r io.Reader, most int) *Lines { return &Lines{in: r, most: most} }

func (l *Lines) Read(p []byte) (int, error) {
	if len(l.kept)-l.at > l.most {
		return 0, fmt.Errorf("%w: has a value of more than %d bytes", ErrLimit, l.most)
	}
	if l.at > len(l.kept)/2 {
		l.kept, l.at = l.kept[:copy(l.kept, l.kept[l.at:])], 0
	}
	n, err := l.in.Read(p)
	l.kept = append(l.kept, p[:n]...)
	return n, err
}

// At is the line and the column of what stands behind so many bytes, both from 1. Offsets do not
// fall; one that does is that of the last question. Amortized O(bytes between).
func (l *Lines) At(offset int64) (line, column int) {
	passed := l.kept[l.at : l.at+int(min(max(offset-l.from, 0), int64(len(l.kept)-l.at)))]
	l.line += bytes.Count(passed, []byte{'\n'})
	if end := bytes.LastIndexByte(passed, '\n'); end >= 0 {
		l.head = l.from + int64(end) + 1
	}
	l.at += len(passed)
	l.from += int64(len(passed))
	return l.line + 1, int(l.from-l.head) + 1
}
