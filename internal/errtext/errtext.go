// Package errtext has the words of errors: each package has a type of its own that carries
// where and why, and all of them put it into one text.
package errtext

import (
	"strconv"
	"strings"
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
	return thing + " " + strconv.Quote(name)
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
