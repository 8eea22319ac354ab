package mig

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a text that does not parse, or a value that makes no sense by
	// itself or beside the others.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a profile, start or state that the product does not have.
	ErrUnknown = errors.New("unknown")
	// ErrConflict: a placement that cannot exist beside those already there.
	ErrConflict = errors.New("conflict")
	// ErrNotPlaced: an instance that is not there to be removed.
	ErrNotPlaced = errors.New("not placed")
	// ErrTooLarge: a product with more placements or layouts than a lattice holds.
	ErrTooLarge = errors.New("too large")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// Product is the name of the product, empty where none is concerned.
	Product string
	// Field is what is at fault: a path such as profiles[2].starts, or the text of
	// a placement or a profile name.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("mig", errtext.Named("product", e.Product), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Field: name, Reason: reason, Kind: ErrInvalid}
}
