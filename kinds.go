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
	variantOf[OrderReported, Event](),
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

// orderKinds has the kinds of order, in the order of action.go: one line for each.
var orderKinds = sum[Order]{"order", []variant[Order]{
	variantOf[Bind, Order](),
	variantOf[Repartition, Order](),
	variantOf[Release, Order](),
	variantOf[RequestCheckpoint, Order](),
	variantOf[Withdraw, Order](),
	variantOf[Drop, Order](),
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
	return nil, s.refuse("", fmt.Sprintf("%T is not an %s, which is a value of the package and no pointer to one", value, s.name))
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
