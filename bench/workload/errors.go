package workload

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/input"
)

// The kinds of TraceError.
var (
	// ErrHeader: the first line does not name the columns that it should.
	ErrHeader = errors.New("wrong header")
	// ErrRow: a line that is not of the format, is too long, or has too many or too few columns.
	ErrRow = errors.New("malformed row")
	// ErrValue: a value that makes no sense in its column.
	ErrValue = errors.New("bad value")
	// ErrLimit: more than is read, such as what gzip makes of very little.
	ErrLimit = input.ErrLimit
)

// ErrOptions is the kind of the errors about Options that make no sense.
var ErrOptions = errors.New("bad option")

// A TraceError says where a trace makes no sense, or cannot be read.
type TraceError struct {
	// File as the caller named it.
	File string
	// Line and Column count from 1, Column in bytes. Column is zero where the line as
	// a whole is at fault. What is compressed counts as what comes out of it.
	Line, Column int
	// Field is the name of the column; empty where the line as a whole is at fault.
	Field string
	// Reason in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package, or the error of the reader.
	Kind error
}

func (e *TraceError) Error() string {
	return errtext.Join("workload", errtext.Place(e.File, e.Line, e.Column), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind.
func (e *TraceError) Unwrap() error { return e.Kind }
