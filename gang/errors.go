package gang

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a value that makes no sense by itself, such as a negative amount.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a node, a GPU, a level or a domain that the fleet does not have.
	ErrUnknown = errors.New("unknown")
	// ErrHeld: a GPU that somebody else holds.
	ErrHeld = errors.New("already held")
	// ErrCapacity: more than is left.
	ErrCapacity = errors.New("not enough left")
	// ErrUnavailable: a node that takes no work, or a GPU that failed.
	ErrUnavailable = errors.New("not available")
	// ErrNotHeld: a release of what is not held so.
	ErrNotHeld = errors.New("not held")
	// ErrInUse: a node on which something is held.
	ErrInUse = errors.New("in use")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// Node is the name of the node at fault, empty where none is.
	Node string
	// Field is the path of the offending value, such as hold.gpus or
	// groups[1].claim.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("gang", errtext.Named("node", e.Node), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Field: name, Reason: reason, Kind: ErrInvalid}
}
