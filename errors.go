package berth

import (
	"errors"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/strict"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a value that makes no sense by itself, such as a negative
	// amount, an unknown field or a minimum above the replicas.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a name the core does not know.
	ErrUnknown = errors.New("unknown")
	// ErrDuplicate: a name that is taken.
	ErrDuplicate = errors.New("duplicate")
	// ErrConflict: a fact that cannot stand beside what the core holds, such as
	// an observed placement on a GPU that is held by somebody else.
	ErrConflict = errors.New("conflict")
	// ErrUnsupported: a field that this version carries but does not honour. It
	// is refused rather than ignored.
	ErrUnsupported = errors.New("not supported")
	// ErrStale: a report about an order or an incarnation that is over. It can
	// be ignored; late and doubled reports end here.
	ErrStale = errors.New("stale")
	// ErrLimit: one of Config.Limits would be exceeded.
	ErrLimit = errors.New("limit reached")
	// ErrClock: an instant before one that the core has already seen.
	ErrClock = errors.New("clock went back")
)

// An Error is a refusal. What was refused changed nothing: the state is
// byte-identical to the state before the call.
type Error struct {
	// Event is the kind of the refused event, as its JSON names it, or the
	// decoder or call that refused ("config", "snapshot", "schedule").
	Event string
	// Field is the path of the offending field within the event, such as
	// "job.groups[1].min"; empty where the event as a whole is at fault.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("berth", e.Event, e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// refuse builds the error of a check inside an event. The event's name is
// filled in by the Apply of package core, so that checks need not carry it.
func refuse(kind error, field, reason string) *Error {
	return &Error{Kind: kind, Field: field, Reason: reason}
}

// in prefixes the field of a refusal, as checks return from nested values.
func (e *Error) in(prefix string) *Error {
	if e != nil {
		e.Field = errtext.Path(prefix, e.Field)
	}
	return e
}

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Event: name, Kind: ErrInvalid, Reason: reason}
}

// decodeError is an *Error for what strict decoding says. What a type of this package says of its
// own text stands at the whole path.
func decodeError(what string, err error) *Error {
	e := &Error{Event: what, Kind: ErrInvalid}
	e.Field, e.Reason = strict.Describe(err)
	var inner *Error
	if errors.As(err, &inner) {
		e.Reason = inner.Reason
	}
	return e
}
