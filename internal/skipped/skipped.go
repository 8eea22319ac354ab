// Package skipped has the list in which readers say what they pass over.
package skipped

import (
	"fmt"
	"slices"

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

// Add counts one more. A reason that quotes the text does so by errtext.Short, so that a list stays
// short. O(reasons), of which there are 100 and one that stands for the rest.
func (s *List) Add(file string, line int, reason string) {
	is := func(k Skip) bool { return k.File == file && k.Reason == reason }
	i := slices.IndexFunc(*s, is)
	if i < 0 && len(*s) >= mostSkips {
		reason = andMore
		i = slices.IndexFunc(*s, is)
	}
	if i < 0 {
		i = len(*s)
		*s = append(*s, Skip{File: file, Line: line, Reason: reason})
	}
	(*s)[i].Count++
	(*s)[i].Line = min((*s)[i].Line, line)
}
