package nodegraph

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/markup"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrSyntax: a text that is not what its reader reads.
	ErrSyntax = errors.New("syntax")
	// ErrInvalid: a value that makes no sense by itself or beside the others.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge: more GPUs or NICs than a set holds, or a text beyond all bounds.
	ErrTooLarge = errors.New("too large")
	// ErrNCCLGraph: NCCL's other XML file, which holds the rings and trees that it
	// chose and not the node that it chose them for.
	ErrNCCLGraph = errors.New("an NCCL graph file, not an NCCL topology file")
	// ErrHwlocVersion: hwloc's XML of another version than 2 and 3.
	ErrHwlocVersion = errors.New("hwloc XML of another version than 2 and 3")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// File is the name that the caller gave to the text, empty for a Spec.
	File string
	// Line counts from 1; zero for a Spec.
	Line int
	// Column counts from 1: cells in a matrix, bytes in XML. Zero: the whole line.
	Column int
	// Field is what is at fault: a path such as links[0][3], a pair of devices such
	// as "GPU0 to NIC2", or an attribute such as nvlink.count.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("nodegraph", errtext.Place(e.File, e.Line, e.Column), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Field: name, Reason: reason, Kind: ErrInvalid}
}

// walk reads XML; its error is an *Error.
func walk(file, text string, to markup.Handler) error {
	err := markup.Walk(text, to)
	var bad *markup.Error
	if !errors.As(err, &bad) {
		return err
	}
	kind := ErrSyntax
	if bad.TooLarge {
		kind = ErrTooLarge
	}
	return &Error{File: file, Line: bad.Line, Column: bad.Column, Reason: bad.Reason, Kind: kind}
}
