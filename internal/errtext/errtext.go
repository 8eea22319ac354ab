// Package errtext has the words of errors: each package has a type of its own that carries
// where and why, and all of them put it into one text.
package errtext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Join makes the text of an error: the package, where it is at fault, from the outside in,
// and why. Parts that are empty are left out.
func Join(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(part)
	}
	return b.String()
}

// Named is a thing with its name, such as node "n1"; empty without a name.
func Named(thing, name string) string {
	if name == "" {
		return ""
	}
	return thing + " " + strconv.Quote(Short(name))
}

// Place is where a text is at fault, such as topology.conf:12:7. Line and column count
// from 1, and zero leaves them out; without a file it is line 12:7.
func Place(file string, line, column int) string {
	if line == 0 {
		return file
	}
	place := file + ":"
	if file == "" {
		place = "line "
	}
	place += strconv.Itoa(line)
	if column > 0 {
		place += ":" + strconv.Itoa(column)
	}
	return place
}

// Index is the path of an element of a list, such as nodes[3].
func Index(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// Path is the path of a field within another value: job and groups[1] are
// job.groups[1], job and [1] are job[1]. Either may be empty.
func Path(outer, field string) string {
	if outer == "" || field == "" || field[0] == '[' {
		return outer + field
	}
	return outer + "." + field
}

// MostQuoted is the most bytes of what a caller sent that the text of an error repeats.
const MostQuoted = 100

// mostOfOne leaves room for two names in one text.
const mostOfOne = 40

// Short is a name or text of the caller's as an error repeats it: as it is, or the beginning of
// one that is long.
func Short[S ~string](s S) string { return clip(string(s), mostOfOne) }

// Clip is Short for all that an error repeats, where that is one text.
func Clip(s string) string { return clip(s, MostQuoted-len(ellipsis)) }

const ellipsis = "..."

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + ellipsis
}

// DidYouMean is an ending for the text about a name that is none of the known ones: the one that
// was meant, if one is near. That is the one that differs in case alone, or else the one with the
// fewest edits, the first of several; a third of its letters may be wrong, at most two.
func DidYouMean(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if strings.EqualFold(k, name) {
			best = k
			break
		}
		if d := edits(name, k, least); d < least && d*3 <= len(k) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// edits is the number of letters to add, drop or replace to make b of a, or anything from most
// on if it is no less. Levenshtein's distance, row by row.
func edits(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
