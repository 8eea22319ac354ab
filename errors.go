package berth

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/strict"
)

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a value that makes no sense by itself, such as a negative amount, an unknown
	// field or a minimum above the members.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a name the core does not know.
	ErrUnknown = errors.New("unknown")
	// ErrDuplicate: a name that is taken. If what has it is the same as what was told, the
	// refusal is an ErrRepeated as well.
	ErrDuplicate = errors.New("duplicate")
	// ErrRepeated: what was told is known already, and the same. It can be ignored, as by a
	// client that submits a job again because it missed the answer. It is an ErrDuplicate.
	ErrRepeated = fmt.Errorf("repeated: %w", ErrDuplicate)
	// ErrConflict: an event that cannot stand beside what the core holds, such as an observed
	// placement on a GPU that another job holds.
	ErrConflict = errors.New("conflict")
	// ErrUnsupported: a field that this version carries but does not honour. It
	// is refused rather than ignored.
	ErrUnsupported = errors.New("not supported")
	// ErrStale: a report about an order or an incarnation that is over. It can
	// be ignored; late and doubled reports end here.
	ErrStale = errors.New("stale")
	// ErrLimit: one of Config.Limits would be exceeded.
	ErrLimit = errors.New("limit reached")
	// ErrClock: an instant before one that the core has already seen, or after 2^61, the last one
	// that it takes.
	ErrClock = errors.New("clock went back, or past its end")
)

// An Error is a refusal. What was refused changed nothing: the state is
// byte-identical to the state before the call.
type Error struct {
	// Event is the kind of the refused event, as its JSON names it, or the
	// decoder or call that refused ("config", "snapshot", "schedule").
	Event string
	// Field is the path of the offending field within the event, such as
	// "job.groups[1].minMembers"; empty where the event as a whole is at fault.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

// Error is "berth: EVENT: FIELD: REASON", without the parts that are empty.
func (e *Error) Error() string {
	return errtext.Join("berth", e.Event, e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// A BrokenInvariant is what a core panics with when its own books are wrong: a defect of the
// core. No event, instant, snapshot or question brings it about by what it says; what makes no
// sense is refused with an [Error].
//
// A core that panicked, with this or anything else, is not to be used again: the call was left
// half done. An embedder that must go on recovers, throws that core away, and makes
// another with core.Restore from the last snapshot and the log since then. The same call would
// panic again, as the core is deterministic, so the replay leaves it out; or the embedder starts
// anew, and tells what runs with [JobObserved]. Snapshot and log are what a report of the
// defect needs.
type BrokenInvariant struct {
	// Err says what does not hold.
	Err error
}

// Error is "berth: broken invariant: " and what does not hold.
func (b *BrokenInvariant) Error() string { return "berth: broken invariant: " + b.Err.Error() }

// Unwrap returns what does not hold.
func (b *BrokenInvariant) Unwrap() error { return b.Err }

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
	e.Field, e.Reason = strict.Describe(err, func(own *Error) string { return own.Reason })
	if strict.IsTooLarge(err) {
		e.Kind = ErrLimit
	}
	return e
}

// errorOf makes an error of a refusal; of none, nil.
func errorOf(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}
