package quota

import (
	"errors"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a value that makes no sense, by itself or beside the others.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a queue that the tree does not have.
	ErrUnknown = errors.New("unknown")
	// ErrUnsupported: something that this version does not honour.
	ErrUnsupported = errors.New("not supported")
	// ErrLimit: one product more than MaxProducts.
	ErrLimit = errors.New("limit reached")
	// ErrInUse: a queue that cannot be changed so while it has jobs, usage or
	// queues below it.
	ErrInUse = errors.New("in use")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// Queue is the name of the queue at fault, empty where it has none and where the
	// refusal is not about a queue: a product, a capacity, an instant.
	Queue QueueID
	// Field is the path of the offending value, such as guarantee["gpuMilli"]; empty
	// where the queue as a whole is at fault.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	queue := ""
	if e.Queue != "" || e.Field == "" || e.Field == "name" { // else it is about the tree as a whole
		queue = "queue " + strconv.Quote(string(e.Queue))
	}
	return errtext.Join("quota", queue, e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Field: name, Reason: reason, Kind: ErrInvalid}
}
