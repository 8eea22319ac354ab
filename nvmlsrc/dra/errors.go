package dra

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/jsontext"
)

// The kinds of refusal. Test for them with errors.Is; get the details with errors.As and an *Error.
var (
	// ErrSyntax: a text that is no list of objects, or an object that makes no sense.
	ErrSyntax = errors.New("syntax")
	// ErrTooLarge: an object beyond what the API server allows.
	ErrTooLarge = errors.New("too large")
)

// An Error is a refusal.
type Error struct {
	// File as the caller named it.
	File string
	// Line and Column count from 1, Column in bytes. What is compressed counts as what comes out
	// of it.
	Line, Column int
	// Field is the key of the innermost object at hand.
	Field string
	// Reason in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package, or the error of the reader.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("dra", errtext.Place(e.File, e.Line, e.Column), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind.
func (e *Error) Unwrap() error { return e.Kind }

// refusal makes an *Error of one of jsontext, and leaves others as they are.
func refusal(file string, err error) error {
	var bad *jsontext.Error
	if !errors.As(err, &bad) {
		return err
	}
	kind := ErrSyntax
	switch {
	case bad.TooLarge:
		kind = ErrTooLarge
	case bad.Err != nil:
		kind = bad.Err
	}
	return &Error{File: file, Line: bad.Line, Column: bad.Column, Field: bad.Field, Reason: bad.Reason, Kind: kind}
}
