package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of TraceError.
var (
	// ErrHeader: the first line does not name the columns that it should.
	ErrHeader = errors.New("wrong header")
	// ErrRow: a line that is not CSV, or has too many or too few columns.
	ErrRow = errors.New("malformed row")
	// ErrValue: a value that makes no sense in its column.
	ErrValue = errors.New("bad value")
)

// A TraceError says where a trace makes no sense.
type TraceError struct {
	File string
	// Line and Column count from 1, Column in bytes. Zero where the line as a whole is at fault.
	Line, Column int
	// Field is the name of the column; empty where the line as a whole is at fault.
	Field string
	// Reason in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *TraceError) Error() string {
	where := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Column > 0 {
		where += fmt.Sprintf(":%d", e.Column)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return "workload: " + where + ": " + e.Reason
}

// Unwrap makes errors.Is find the kind.
func (e *TraceError) Unwrap() error { return e.Kind }

// maxValue bounds the numbers of a trace, so that no sum or product of them, such
// as seconds in milliseconds, can overflow, and a core takes every amount: it refuses
// more than 2^32 of anything.
const maxValue = 1 << 32

// A table reads CSV with known columns, row by row. The first thing that is wrong
// is kept in err, and values read after that mean nothing.
type table struct {
	file    string
	columns []string
	in      *csv.Reader
	row     []string
	err     error
}

// newTable reads the header, which must name the columns in this order.
func newTable(file string, r io.Reader, columns ...string) (*table, error) {
	t := &table{file: file, columns: columns, in: csv.NewReader(r)}
	t.in.ReuseRecord = true
	t.in.FieldsPerRecord = -1 // counted below, to say which line it is
	if !t.next() {
		if t.err == nil {
			t.err = &TraceError{File: file, Line: 1, Kind: ErrHeader, Reason: "the file is empty"}
		}
		return nil, t.err
	}
	if !slices.Equal(t.row, columns) {
		return nil, &TraceError{
			File: file, Line: 1, Kind: ErrHeader,
			Reason: fmt.Sprintf("the columns are %q instead of %q", clip(strings.Join(t.row, ",")), strings.Join(columns, ",")),
		}
	}
	return t, nil
}

// next reads a row. It returns false at the end, or when something is wrong.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	row, err := t.in.Read()
	var syntax *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return false
	case errors.As(err, &syntax):
		t.err = &TraceError{File: t.file, Line: syntax.Line, Column: syntax.Column, Kind: ErrRow, Reason: syntax.Err.Error()}
		return false
	case err != nil:
		t.err = err
		return false
	}
	if t.row != nil && len(row) != len(t.columns) {
		line, _ := t.in.FieldPos(0)
		t.err = &TraceError{
			File: t.file, Line: line, Kind: ErrRow,
			Reason: fmt.Sprintf("has %d columns instead of %d", len(row), len(t.columns)),
		}
		return false
	}
	t.row = row
	return true
}

// text returns the value of a column as it stands.
func (t *table) text(column string) string {
	return strings.Clone(t.row[slices.Index(t.columns, column)])
}

// name returns a value that is to become a name.
func (t *table) name(column string) string {
	s := t.text(column)
	t.checkName(column, s)
	return s
}

// checkName refuses what is no name.
func (t *table) checkName(column, s string) {
	if s == "" || len(s) > 256 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		t.refuse(column, fmt.Sprintf("%q is no name", clip(s)))
	}
}

// amount returns a value that is a whole number from zero on.
func (t *table) amount(column string) int64 {
	s := t.text(column)
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || v > maxValue {
		t.refuse(column, fmt.Sprintf("%q is no whole number of 0 to %d", clip(s), int64(maxValue)))
		return 0
	}
	return v
}

// number is amount with a bound.
func (t *table) number(column string, most int) int {
	v := t.amount(column)
	if v > int64(most) {
		t.refuse(column, fmt.Sprintf("%d is more than %d", v, most))
		return 0
	}
	return int(v)
}

// refuse keeps what is wrong with a column of the current row.
func (t *table) refuse(column, reason string) {
	if t.err != nil {
		return
	}
	line, at := t.in.FieldPos(slices.Index(t.columns, column))
	t.err = &TraceError{File: t.file, Line: line, Column: at, Field: column, Kind: ErrValue, Reason: reason}
}

// clip shortens what is quoted in an error.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
