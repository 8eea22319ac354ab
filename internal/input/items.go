package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/berth-sched/berth/internal/jsontext"
)

// Items tells the elements of "items" of an object, or of several objects one after the other, as
// kubectl prints them: each by itself, so that a text of any length is read with as much memory as
// its longest element takes, of which no more than most bytes are allowed. Other members of the
// objects are told by their keys. What the callbacks are given is theirs until they return. The
// error is a *jsontext.Error, of which that of the reader is a part, or what a callback answered.
func Items(in io.Reader, most int, other func(key []byte, line int) error, item func(text []byte, line, column int) error) error {
	s := stream{in: bufio.NewReaderSize(in, 1<<16), most: most, line: 1, column: 1}
	for documents := 0; ; documents++ {
		b, err := s.blank()
		switch {
		case errors.Is(err, io.EOF) && documents > 0:
			return nil
		case err != nil:
			return s.stopped(err)
		case b != '{':
			return s.refuse("there is no object")
		}
		if err := s.document(other, item); err != nil {
			return err
		}
	}
}

// A stream is a text that is read byte by byte.
type stream struct {
	in           *bufio.Reader
	most         int
	line, column int // of the next byte
	buffer       []byte
}

func (s *stream) refuse(format string, of ...any) error {
	return &jsontext.Error{Line: s.line, Column: s.column, Reason: fmt.Sprintf(format, of...)}
}

func (s *stream) stopped(err error) error {
	if errors.Is(err, io.EOF) {
		return s.refuse("the text ends early")
	}
	return &jsontext.Error{Line: s.line, Column: s.column, Reason: err.Error(), Err: err}
}

// take steps over a byte.
func (s *stream) take() (byte, error) {
	b, err := s.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if s.column++; b == '\n' {
		s.line, s.column = s.line+1, 1
	}
	return b, nil
}

// blank steps over blanks, and is the byte before which the stream stands then.
func (s *stream) blank() (byte, error) {
	for {
		next, err := s.in.Peek(1)
		if err != nil {
			return 0, err
		}
		switch next[0] {
		case ' ', '\n', '\t', '\r':
			_, _ = s.take()
		default:
			return next[0], nil
		}
	}
}

// document reads an object with items, from its brace on.
func (s *stream) document(other func([]byte, int) error, item func([]byte, int, int) error) error {
	_, _ = s.take()
	items := false
	for first := true; ; first = false {
		b, err := s.blank()
		if err != nil {
			return s.stopped(err)
		}
		if b == '}' {
			_, _ = s.take()
			break
		}
		if !first {
			if b != ',' {
				return s.refuse("not JSON: %q where a comma is to be", b)
			}
			_, _ = s.take()
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		line := s.line
		switch {
		case string(key) == "items" && items:
			return s.refuse(`there are two "items"`)
		case string(key) == "items":
			items = true
			err = s.items(item)
		default:
			if err = other(key, line); err == nil {
				err = s.skip()
			}
		}
		if err != nil {
			return err
		}
	}
	if !items {
		return s.refuse(`there are no "items": it is to be what "kubectl get ... -o json" prints`)
	}
	return nil
}

// key reads a key and its colon.
func (s *stream) key() ([]byte, error) {
	line, column, err := s.value()
	if err != nil {
		return nil, err
	}
	c := jsontext.New(s.buffer, line, column)
	key := append([]byte(nil), c.Bytes()...)
	if c.End(); c.Failed() {
		return nil, c.Err()
	}
	b, err := s.blank()
	if err == nil && b != ':' {
		return nil, s.refuse("not JSON: %q where a colon is to be", b)
	}
	if err != nil {
		return nil, s.stopped(err)
	}
	_, _ = s.take()
	return key, nil
}

// skip reads a value of which nothing is made.
func (s *stream) skip() error {
	line, column, err := s.value()
	if err != nil {
		return err
	}
	c := jsontext.New(s.buffer, line, column)
	c.Skip()
	c.End()
	return c.Err()
}

// items reads the list.
func (s *stream) items(item func([]byte, int, int) error) error {
	b, err := s.blank()
	switch {
	case err != nil:
		return s.stopped(err)
	case b != '[':
		return s.refuse(`"items" is no list`)
	}
	_, _ = s.take()
	for first := true; ; first = false {
		b, err := s.blank()
		switch {
		case err != nil:
			return s.stopped(err)
		case b == ']':
			_, _ = s.take()
			return nil
		case !first && b != ',':
			return s.refuse("not JSON: %q where a comma is to be", b)
		case !first:
			_, _ = s.take()
		}
		line, column, err := s.value()
		if err != nil {
			return err
		}
		if err := item(s.buffer, line, column); err != nil {
			return err
		}
	}
}

// value puts the next value into the buffer: up to its last brace, or up to what ends a word. What
// is in it is looked at by a Cursor.
func (s *stream) value() (line, column int, err error) {
	if _, err := s.blank(); err != nil {
		return 0, 0, s.stopped(err)
	}
	line, column, s.buffer = s.line, s.column, s.buffer[:0]
	depth, quoted, escaped := 0, false, false
	for {
		next, err := s.in.Peek(1)
		switch {
		case errors.Is(err, io.EOF) && depth == 0 && !quoted && len(s.buffer) > 0:
			return line, column, nil // a word, of which the text ends behind it
		case err != nil:
			return 0, 0, s.stopped(err)
		case len(s.buffer) == s.most:
			return 0, 0, &jsontext.Error{Line: line, Column: column, Reason: fmt.Sprintf("a value of more than %d bytes", s.most), TooLarge: true}
		}
		b := next[0]
		if depth == 0 && !quoted && len(s.buffer) > 0 {
			switch b {
			case ',', ':', '}', ']', ' ', '\n', '\t', '\r':
				return line, column, nil
			}
		}
		_, _ = s.take()
		s.buffer = append(s.buffer, b)
		switch {
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{', b == '[':
			depth++
		case b == '}', b == ']':
			depth--
		default:
			continue
		}
		if depth <= 0 && !quoted && !escaped && (b == '"' || b == '}' || b == ']') {
			return line, column, nil
		}
	}
}
