package berth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/strict"
)

// The JSON of events, actions and configurations is stable: fields come in the order of
// the type's declaration, and what is written today is read tomorrow. Decoding is strict:
// an unknown kind or field is refused, because a fact that is half understood is worse
// than none.

// EncodeEvent returns the event's JSON, on one line.
func EncodeEvent(e Event) ([]byte, error) { return eventKinds.encode(e) }

// DecodeEvent reads what EncodeEvent wrote. It checks the form alone; whether
// the fact makes sense is for Apply to say.
func DecodeEvent(b []byte) (Event, error) { return eventKinds.decode(b) }

// EncodeAction returns the action's JSON, on one line.
func EncodeAction(a Action) ([]byte, error) { return actionKinds.encode(a) }

// DecodeAction reads what EncodeAction wrote.
func DecodeAction(b []byte) (Action, error) { return actionKinds.decode(b) }

// DecodeConfig reads a Config from JSON, strictly, and checks it.
func DecodeConfig(b []byte) (Config, error) {
	var c Config
	if err := decodeStrict("config", b, &c); err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		err.Event = "config"
		return Config{}, err
	}
	return c, nil
}

// decodeStrict decodes strictly, and turns what is wrong into an *Error.
func decodeStrict(what string, b []byte, v any) error {
	if err := strict.Unmarshal(b, v); err != nil {
		return decodeError(what, err)
	}
	return nil
}

// decodeError is an *Error for what strict decoding says: an *Error of something inside, or an
// error of the JSON.
func decodeError(what string, err error) error {
	e := &Error{Event: what, Kind: ErrInvalid}
	var inner *Error
	if errors.As(err, &inner) {
		e.Field, e.Reason = inner.Event, inner.Reason
	} else {
		e.Field, e.Reason = strict.Describe(err)
	}
	return e
}

// eventKinds has the kinds of event, in the order of event.go: one line for each.
var eventKinds = sum[Event]{"event", []variant[Event]{
	variantOf[NodeJoined, Event](),
	variantOf[NodeUpdated, Event](),
	variantOf[NodeCordoned, Event](),
	variantOf[NodeUncordoned, Event](),
	variantOf[NodeDraining, Event](),
	variantOf[NodeLost, Event](),
	variantOf[GPUFailed, Event](),
	variantOf[XidReported, Event](),
	variantOf[GPURepaired, Event](),
	variantOf[GPUPartitioned, Event](),
	variantOf[MIGTableSet, Event](),
	variantOf[ReservationSet, Event](),
	variantOf[ReservationRemoved, Event](),
	variantOf[QueueSet, Event](),
	variantOf[QueueRemoved, Event](),
	variantOf[JobSubmitted, Event](),
	variantOf[JobObserved, Event](),
	variantOf[JobScaled, Event](),
	variantOf[JobCancelled, Event](),
	variantOf[JobFinished, Event](),
	variantOf[MemberFailed, Event](),
	variantOf[ActionReported, Event](),
	variantOf[ActivityReported, Event](),
	variantOf[CheckpointWritten, Event](),
	variantOf[LedgerSettled, Event](),
	variantOf[PolicyChanged, Event](),
}}

// EventKinds lists the kinds of event as JSON names them, in the order of their types.
func EventKinds() []string {
	kinds := make([]string, len(eventKinds.variants))
	for i := range eventKinds.variants {
		kinds[i] = eventKinds.variants[i].kind
	}
	return kinds
}

// actionKinds has the kinds of action, in the order of action.go: one line for each.
var actionKinds = sum[Action]{"action", []variant[Action]{
	variantOf[Bind, Action](),
	variantOf[Repartition, Action](),
	variantOf[Release, Action](),
	variantOf[RequestCheckpoint, Action](),
	variantOf[Withdraw, Action](),
	variantOf[Drop, Action](),
}}

// A sum is an interface with a closed set of variants, as JSON has it: an object with one
// key, the kind, as in
//
//	{"nodeLost":{"node":"n7","reason":"power"}}
type sum[I any] struct {
	name     string // in errors
	variants []variant[I]
}

// A variant is one kind of a sum.
type variant[I any] struct {
	kind   string
	is     func(I) bool // a value of the variant, and no pointer to one
	decode func([]byte) (I, error)
}

// variantOf is the variant with the values of type V, which implements I.
func variantOf[V interface{ Kind() string }, I any]() variant[I] {
	var zero V
	return variant[I]{
		kind: zero.Kind(),
		is:   func(value I) bool { _, ok := any(value).(V); return ok },
		decode: func(b []byte) (I, error) {
			var v V
			err := strict.Unmarshal(b, &v)
			return any(v).(I), err
		},
	}
}

func (s *sum[I]) encode(value I) ([]byte, error) {
	for i := range s.variants {
		if v := &s.variants[i]; v.is(value) {
			return json.Marshal(map[string]I{v.kind: value})
		}
	}
	return nil, s.refuse("", fmt.Sprintf("%T is not an %s", value, s.name))
}

func (s *sum[I]) decode(b []byte) (value I, err error) {
	var fields map[string]json.RawMessage
	if err := decodeStrict(s.name, b, &fields); err != nil {
		return value, err
	}
	var found *variant[I]
	var body []byte
	kinds := 0
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		// Kinds are compared as encoding/json compares the names of fields.
		at := slices.IndexFunc(s.variants, func(v variant[I]) bool { return strings.EqualFold(v.kind, key) })
		if at < 0 {
			return value, s.refuse(strings.Trim(strconv.Quote(key), `"`), strict.UnknownField)
		}
		if string(fields[key]) != "null" {
			found, body = &s.variants[at], fields[key]
			kinds++
		}
	}
	if kinds != 1 {
		return value, s.refuse("", fmt.Sprintf("names %d kinds of %s instead of one", kinds, s.name))
	}
	decoded, err := found.decode(body)
	if err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) {
			mistyped.Field = strings.TrimSuffix(found.kind+"."+mistyped.Field, ".")
		}
		return value, decodeError(s.name, err)
	}
	return decoded, nil
}

func (s *sum[I]) refuse(field, reason string) error {
	return &Error{Event: s.name, Kind: ErrInvalid, Field: field, Reason: reason}
}
