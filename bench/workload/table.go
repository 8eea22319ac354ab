package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/internal/skipped"
)

// maxValue bounds the numbers of a trace, so that no sum or product of them, such
// as seconds in milliseconds, can overflow, and a core takes every amount: it refuses
// more than 2^32 of anything.
const maxValue = 1 << 32

// maxColumns is far more than any format has.
const maxColumns = 1 << 10

// A table reads rows whose columns have names. The first thing that is wrong is kept
// in err, and values read after that mean nothing.
type table struct {
	file  string
	in    rows
	names []string
	row   []string
	err   error
	skips skipped.List
	// interned keeps one copy of each name that comes again.
	interned map[string]string
}

// A column is the position of a column, or absent.
type column int

const absent column = -1

// newTable reads the first row, which names the columns.
func newTable(file string, in rows) *table {
	t := namedTable(file, in)
	row, err := in.read()
	switch {
	case errors.Is(err, io.EOF):
		t.err = &TraceError{File: file, Line: 1, Kind: ErrHeader, Reason: "the file is empty"}
	case err != nil:
		t.fail(err)
	case len(row) > maxColumns:
		t.err = &TraceError{File: file, Line: in.line(), Kind: ErrHeader, Reason: fmt.Sprintf("names %d columns, and %d is the most", len(row), maxColumns)}
	default:
		for _, name := range row {
			t.names = append(t.names, strings.TrimSpace(strings.Clone(name)))
		}
	}
	return t
}

// namedTable is a table whose columns are known beforehand.
func namedTable(file string, in rows, names ...string) *table {
	return &table{file: file, in: in, names: names, interned: map[string]string{}}
}

// readCSV is newTable of comma-separated values, plain or compressed.
func readCSV(file string, r io.Reader) *table {
	in, err := text(r)
	if err != nil {
		return noTable(file, err)
	}
	return newTable(file, newCSVRows(in))
}

// noTable is a table that cannot be read.
func noTable(file string, err error) *table {
	return &table{file: file, err: &TraceError{File: file, Line: 1, Kind: err, Reason: err.Error()}}
}

// column finds a column that has to be there, under the first of its names that is. The
// others of the table are passed over.
func (t *table) column(names ...string) column {
	if c := t.either(names...); c != absent {
		return c
	}
	if t.err == nil {
		t.err = &TraceError{
			File: t.file, Line: t.in.line(), Kind: ErrHeader,
			Reason: fmt.Sprintf("there is no column %q; the columns are %q",
				strings.Join(names, " or "), clip(strings.Join(t.names, ","))),
		}
	}
	return absent
}

// optional finds a column that may be missing, whatever its case.
func (t *table) optional(name string) column {
	is := func(other string) bool { return strings.EqualFold(other, name) }
	at := column(slices.IndexFunc(t.names, is))
	if at != absent && slices.ContainsFunc(t.names[at+1:], is) && t.err == nil {
		t.err = &TraceError{
			File: t.file, Line: t.in.line(), Kind: ErrHeader, Reason: fmt.Sprintf("two columns are called %q", name),
		}
	}
	return at
}

// either finds the first of several columns, of which all may be missing.
func (t *table) either(names ...string) column {
	for _, name := range names {
		if c := t.optional(name); c != absent {
			return c
		}
	}
	return absent
}

// next reads a row. It returns false at the end, or when something is wrong.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	row, err := t.in.read()
	switch {
	case errors.Is(err, io.EOF):
		return false
	case err != nil:
		t.fail(err)
		return false
	case len(row) != len(t.names):
		t.err = &TraceError{
			File: t.file, Line: t.in.line(), Kind: ErrRow,
			Reason: fmt.Sprintf("has %d column%s instead of %d", len(row), plural(len(row)), len(t.names)),
		}
		return false
	}
	t.row = row
	return true
}

// fail keeps an error of the reader.
func (t *table) fail(err error) {
	e := &TraceError{File: t.file, Line: max(t.in.line(), 1), Kind: err, Reason: err.Error()}
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax):
		e.Line, e.Column, e.Kind, e.Reason = syntax.Line, syntax.Column, ErrRow, syntax.Err.Error()
	case errors.Is(err, errLong):
		e.Kind = ErrRow
	}
	t.err = e
}

// refuse keeps what is wrong with a column of the current row.
func (t *table) refuse(c column, reason string) {
	if t.err != nil {
		return
	}
	line, at := t.in.position(int(c))
	t.err = &TraceError{File: t.file, Line: line, Column: at, Field: t.names[c], Kind: ErrValue, Reason: reason}
}

// skip counts the current row as one that was passed over.
func (t *table) skip(reason string) {
	t.skips.Add(t.file, t.in.line(), reason)
}

// limit keeps that the current row is one too many of something.
func (t *table) limit(reason string) {
	t.err = &TraceError{File: t.file, Line: t.in.line(), Kind: ErrLimit, Reason: reason}
}

// text returns the value of a column as it stands, empty if there is no such column. It
// holds on to the whole row: what is kept should be cloned.
func (t *table) text(c column) string {
	if c == absent {
		return ""
	}
	return t.row[c]
}

// name returns a value that is to become a name of its own.
func (t *table) name(c column) string {
	s := t.text(c)
	t.checkName(c, s)
	return strings.Clone(s)
}

// common returns a value that is to become a name, and comes in many rows: all get
// the same copy.
func (t *table) common(c column) string {
	s := t.text(c)
	if t.checkName(c, s); t.err != nil {
		return "" // not to be kept
	}
	return t.intern(s)
}

// intern returns one copy for all equal texts.
func (t *table) intern(s string) string {
	kept, known := t.interned[s]
	if !known {
		kept = strings.Clone(s)
		t.interned[kept] = kept
	}
	return kept
}

// programOf names a program by its owner and its name, as far as a row tells them: a job without
// a name by its owner and size. It is a key, so what cannot be printed, or is too long, counts as
// not told.
func (t *table) programOf(owner, name string, gpus int) string {
	program := owner + "/" + name
	if name == "" || limits.BadText(program) != "" {
		program = owner + "/" + strconv.Itoa(gpus) + " GPUs"
	}
	if owner == "" || limits.BadText(program) != "" {
		return ""
	}
	return t.intern(program)
}

// checkName refuses what is no name.
func (t *table) checkName(c column, s string) {
	if !isName(s) {
		t.refuse(c, fmt.Sprintf("%q is no name", clip(s)))
	}
}

func isName(s string) bool {
	return s != "" && len(s) <= 256 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// label makes a name of a whole number, with what it counts in front.
func (t *table) label(what string, c column) string {
	return what + "-" + strconv.FormatInt(t.amount(c), 10)
}

// amount returns a value that is a whole number from zero on.
func (t *table) amount(c column) int64 {
	s := t.text(c)
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || v > maxValue {
		t.refuse(c, fmt.Sprintf("%q is no whole number of 0 to %d", clip(s), int64(maxValue)))
		return 0
	}
	return v
}

// number is amount with a bound.
func (t *table) number(c column, most int) int {
	v := t.amount(c)
	if v > int64(most) {
		t.refuse(c, fmt.Sprintf("%d is more than %d", v, most))
		return 0
	}
	return int(v)
}

// seconds returns a span that is written in seconds, with or without a fraction.
func (t *table) seconds(c column) berth.Duration {
	return berth.Duration(t.thousandths(c))
}

// thousandths returns a decimal number from zero on in thousandths, rounded to the
// nearest.
func (t *table) thousandths(c column) int64 {
	v, ok := parseThousandths(t.text(c))
	if !ok {
		t.refuse(c, fmt.Sprintf("%q is no number of 0 to %d", clip(t.text(c)), int64(maxValue)))
	}
	return v
}

// parseThousandths reads digits, perhaps with a point and more digits.
func parseThousandths(s string) (int64, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	v, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || v > maxValue || strings.TrimLeft(fraction, "0123456789") != "" {
		return 0, false
	}
	digits := (fraction + "0000")[:4]
	part, _ := strconv.ParseUint(digits, 10, 64) // four digits always parse
	return int64(v)*1000 + int64(part+5)/10, true
}

// instant returns a point in time, in the layout of package time. Without a zone it is
// taken for UTC.
func (t *table) instant(c column, layout string) berth.Time {
	at, err := time.Parse(layout, t.text(c))
	if err != nil || at.Year() < 1970 {
		t.refuse(c, fmt.Sprintf("%q is no instant since 1970 of the form %s", clip(t.text(c)), layout))
		return 0
	}
	return berth.TimeOf(at)
}

// clip shortens what is quoted in an error.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
