package strict

import (
	"bytes"
	"reflect"
	"unicode/utf8"

	"github.com/berth-sched/berth/internal/jsontext"
)

// A source is a text that is being read.
type source struct {
	text []byte
	at   int
	// complete: see CompleteFormOf.
	complete bool
	read     map[shared]reflect.Value
	// lengths has that of the last list of a kind, if it was short. Two kinds may have one place:
	// it is a guess.
	lengths [16]uint8
	// words are some that came before, in a long text: most are there many times.
	words []string
	// left is how many bytes of memory may still be filled; below 0 since the text was at over.
	left, over int
}

// What a value allocates may be no more than FreeBytes, and BytesPerByte for each byte of its text.
// Lists of short elements, such as {} and 0 where there are structs, take hundreds, and nobody
// writes them; a snapshot takes some 4. What says what is wrong takes as much again.
const (
	FreeBytes    = 64 << 10
	BytesPerByte = 10
)

// newSource is for a text that fills what it may.
func newSource(text []byte, complete bool) *source {
	s := &source{text: text, complete: complete, left: FreeBytes + BytesPerByte*len(text)}
	if len(text) > longText {
		s.words = make([]string, 256)
	}
	return s
}

// spend takes what is about to be filled off what may be. False: it is too much.
func (s *source) spend(bytes int) bool {
	if s.left >= 0 {
		s.left -= bytes
		s.over = s.at
	}
	return s.left >= 0
}

// room is for how many more elements a list of a kind makes room when it has so many, and began at
// start. An empty one makes room for as many as the last list of its kind had. A long one does for
// as many as the rest of the text has if they are as long, but no more than thrice those that came.
// So lists are copied few times, and a text that is none takes little more room than what it began
// with.
func (s *source) room(n, start, kind int) int {
	switch {
	case n == 0:
		return max(1, int(s.lengths[kind%len(s.lengths)]))
	case n < 64:
		return 1
	}
	return min(3*n, 1+(len(s.text)-s.at)/((s.at-start)/n)*17/16)
}

// fewElements is the length of the longest list that the next one of its kind makes room for.
const fewElements = 8

// peek steps over blanks, and is the next byte; 0: the text is at its end.
func (s *source) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// take steps over a byte, if it comes next.
func (s *source) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// more reports whether a list goes on, and steps over the comma before what follows. What is no
// comma is found by what reads on.
func (s *source) more(comma bool, end byte) bool {
	c := s.peek()
	if c == end || comma && c != ',' {
		return false
	}
	if comma {
		s.at++
	}
	return true
}

// word steps over a word, if it comes next.
func (s *source) word(w string) bool {
	if s.peek() == 0 || len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// key reads a key and its colon.
func (s *source) key() ([]byte, bool) {
	key, ok := s.str()
	return key, ok && s.take(':')
}

// str reads a string.
func (s *source) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start, ascii, escaped := s.at, true, false
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			found := s.text[start : s.at-1]
			switch {
			case !ascii && !utf8.Valid(found):
				return nil, false
			case escaped:
				return jsontext.Unescape(found, true)
			}
			return found, true
		case c == '\\':
			escaped = true
			s.at++ // what is escaped may be a quote
		case c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// number steps over a whole number, and is its digits with the sign.
func (s *source) number() ([]byte, bool) {
	s.peek()
	start := s.at
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	first := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	if digits := s.at - first; digits == 0 || digits > 1 && s.text[first] == '0' {
		return nil, false
	}
	if s.at < len(s.text) {
		if c := s.text[s.at]; c == '.' || c == 'e' || c == 'E' {
			return nil, false
		}
	}
	return s.text[start:s.at], true
}

// value steps over a value of any kind, and is its text: it may not be JSON.
func (s *source) value() []byte {
	s.peek()
	start, depth := s.at, 0
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
				if s.text[s.at] == '\\' {
					s.at++
				}
			}
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return bytes.TrimRight(s.text[start:s.at], blanks)
		}
	}
	s.at = len(s.text)
	return bytes.TrimRight(s.text[start:], blanks)
}

// blanks are what may stand between what has a meaning.
const blanks = " \n\t\r"
