package workload

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/berth-sched/berth/internal/input"
)

// maxRow bounds a line in bytes, so that a file without ends of lines does not fill
// the memory.
const maxRow = 1 << 20

var errLong = fmt.Errorf("a line has more than %d bytes", maxRow)

// Rows give the fields of a text line by line.
type rows interface {
	// read returns the fields of the next line that has any, or io.EOF. The slice is valid
	// until the next call.
	read() ([]string, error)
	// position returns the line and the column in bytes, from 1, at which a field
	// of that line starts.
	position(field int) (line, column int)
	// line is the number of the last line that was looked at.
	line() int
}

// text undoes a compression that shows in the first bytes, as that of gzip does, and
// drops the byte order mark that some spreadsheets write.
func text(r io.Reader) (io.Reader, error) {
	in, err := input.Unzip(r)
	if err != nil {
		return nil, err
	}
	mark := []byte("\ufeff")
	start, err := in.Peek(len(mark))
	if bytes.Equal(start, mark) {
		_, err = in.Discard(len(mark))
	}
	if errors.Is(err, io.EOF) {
		err = nil // shorter than a mark
	}
	return in, err
}

// csvRows are lines of comma-separated values, quoted or not (RFC 4180).
type csvRows struct {
	in *csv.Reader
	// left is how much of the text may still be read for this row.
	guard *guard
	last  int
}

func newCSVRows(r io.Reader) *csvRows {
	g := &guard{in: r}
	in := csv.NewReader(g)
	in.ReuseRecord = true
	in.FieldsPerRecord = -1 // the table counts, to say which line it is
	return &csvRows{in: in, guard: g}
}

func (c *csvRows) read() ([]string, error) {
	c.guard.left = maxRow
	row, err := c.in.Read()
	switch syntax := (*csv.ParseError)(nil); {
	case err == nil:
		c.last, _ = c.in.FieldPos(0)
	case errors.As(err, &syntax):
		c.last = syntax.Line
	case !errors.Is(err, io.EOF):
		c.last++
	}
	return row, err
}

func (c *csvRows) position(field int) (line, column int) { return c.in.FieldPos(field) }

func (c *csvRows) line() int { return c.last }

// A guard ends a text of which too much is read for one row.
type guard struct {
	in   io.Reader
	left int
}

func (g *guard) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, errLong
	}
	n, err := g.in.Read(p[:min(len(p), g.left)])
	g.left -= n
	return n, err
}

// splitRows are lines whose fields are parted by a sign, without quotes, as sacct
// writes them; the sign ' ' means any run of blanks and tabs. Lines that start with the
// comment sign, if there is one, are told apart.
type splitRows struct {
	in      *bufio.Reader
	sign    byte
	comment byte
	// remark is given the text of each comment.
	remark func(text string)
	last   int
	fields []string
	starts []int
}

func newSplitRows(r io.Reader, sign byte) *splitRows {
	return &splitRows{in: bufio.NewReaderSize(r, 64<<10), sign: sign}
}

func (s *splitRows) read() ([]string, error) {
	for {
		line, err := s.nextLine()
		if err != nil {
			return nil, err
		}
		s.last++
		switch {
		case strings.TrimSpace(line) == "":
		case s.comment != 0 && line[0] == s.comment:
			s.remark(strings.TrimSpace(line[1:]))
		default:
			s.split(line)
			return s.fields, nil
		}
	}
}

// nextLine returns a line without its end.
func (s *splitRows) nextLine() (string, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		if len(line)+len(part) > maxRow {
			return "", errLong
		}
		if err == nil && line == nil {
			return trimEnd(part), nil // the usual case, without a copy between
		}
		line = append(line, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return trimEnd(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

func trimEnd(line []byte) string {
	return string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}))
}

func (s *splitRows) split(line string) {
	s.fields, s.starts = s.fields[:0], s.starts[:0]
	for at := 0; ; {
		if s.sign == ' ' {
			at += len(line[at:]) - len(strings.TrimLeft(line[at:], " \t"))
			if at == len(line) {
				return
			}
		}
		end := strings.IndexByte(line[at:], s.sign)
		if s.sign == ' ' {
			end = strings.IndexAny(line[at:], " \t")
		}
		s.starts = append(s.starts, at+1)
		if end < 0 {
			s.fields = append(s.fields, line[at:])
			return
		}
		s.fields = append(s.fields, line[at:at+end])
		at += end + 1
	}
}

func (s *splitRows) position(field int) (line, column int) { return s.last, s.starts[field] }

func (s *splitRows) line() int { return s.last }
