package topology

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a value that makes no sense by itself, such as an empty name.
	ErrInvalid = errors.New("invalid")
	// ErrDuplicate: a name that is taken.
	ErrDuplicate = errors.New("duplicate")
	// ErrConflict: a class that has another number of GPUs.
	ErrConflict = errors.New("conflict")
	// ErrUnknown: a node that the tree does not have.
	ErrUnknown = errors.New("unknown")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// Node is the name of the node at fault, empty where none is.
	Node string
	// Field is the path of the offending value, such as path[1] or levels[0].
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("topology", errtext.Named("node", e.Node), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }
