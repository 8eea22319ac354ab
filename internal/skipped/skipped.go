// Package skipped has the list in which readers say what they pass over.
package skipped

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
)

// A Skip is what a reader passed over: a row, an element, a key, a column that is no part of the
// result, or that counts as something else than it is.
type Skip struct {
	// File and Line, from 1, of the first. The name is the one that the caller gave; line 0: of
	// no single line.
	File string
	Line int
	// Reason says what it is and why, in a sentence without a full stop; Count is how many there
	// are of it.
	Reason string
	Count  int
}

func (s Skip) String() string {
	text := errtext.Join(errtext.Place(s.File, s.Line, 0), s.Reason)
	if s.Count > 1 {
		text += fmt.Sprintf(" (%d times)", s.Count)
	}
	return text
}

// A List is those of a reader, one for each reason, in order of first use.
type List []Skip

// mostSkips bounds the reasons, which may name what a stranger wrote.
const mostSkips = 100

const andMore = "more is passed over, of more kinds than are listed"

// Add counts one more of a reason, which may come in parts, to be put together when it is new
// alone: a text full of what is passed over costs no more than to read it. A reason that quotes the
// text does so by errtext.Short, so that a list stays short. O(reasons), of which there are 100 and
// one that stands for the rest.
func (s *List) Add(file string, line int, reason ...string) {
	at := s.find(file, reason)
	if at < 0 && len(*s) >= mostSkips {
		reason = []string{andMore}
		at = s.find(file, reason)
	}
	if at < 0 {
		at = len(*s)
		*s = append(*s, Skip{File: file, Line: line, Reason: strings.Join(reason, "")})
	}
	(*s)[at].Count++
	(*s)[at].Line = min((*s)[at].Line, line)
}

func (s *List) find(file string, reason []string) int {
	for i := range *s {
		if k := &(*s)[i]; k.File == file && isMadeOf(k.Reason, reason) {
			return i
		}
	}
	return -1
}

// isMadeOf reports whether a text is some parts, one after the other.
func isMadeOf(text string, parts []string) bool {
	for _, part := range parts {
		rest, begins := strings.CutPrefix(text, part)
		if !begins {
			return false
		}
		text = rest
	}
	return text == ""
}
