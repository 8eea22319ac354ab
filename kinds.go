package berth

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/strict"
)

// eventKinds has the kinds of event, in the order of event.go: one line for each.
var eventKinds = sum[Event]{"event", func(known types) []variant[Event] {
	return []variant[Event]{
		variantOf[NodeJoined, Event](known),
		variantOf[NodeUpdated, Event](known),
		variantOf[NodeCordoned, Event](known),
		variantOf[NodeUncordoned, Event](known),
		variantOf[NodeDraining, Event](known),
		variantOf[NodeLost, Event](known),
		variantOf[GPUFailed, Event](known),
		variantOf[XidReported, Event](known),
		variantOf[GPURepaired, Event](known),
		variantOf[GPUPartitioned, Event](known),
		variantOf[MIGTableSet, Event](known),
		variantOf[ReservationSet, Event](known),
		variantOf[ReservationRemoved, Event](known),
		variantOf[QueueSet, Event](known),
		variantOf[QueueRemoved, Event](known),
		variantOf[JobSubmitted, Event](known),
		variantOf[JobObserved, Event](known),
		variantOf[JobScaled, Event](known),
		variantOf[JobCancelled, Event](known),
		variantOf[JobFinished, Event](known),
		variantOf[MemberFailed, Event](known),
		variantOf[OrderReported, Event](known),
		variantOf[ActivityReported, Event](known),
		variantOf[CheckpointWritten, Event](known),
		variantOf[LedgerSettled, Event](known),
		variantOf[PolicyChanged, Event](known),
	}
}(types{strict.Readings{}, strict.Writings{}})}

// EventKinds lists the kinds of event as JSON names them, in the order of their types.
func EventKinds() []string { return eventKinds.kinds() }

// orderKinds has the kinds of order, in the order of order.go: one line for each.
var orderKinds = sum[Order]{"order", func(known types) []variant[Order] {
	return []variant[Order]{
		variantOf[Bind, Order](known),
		variantOf[Repartition, Order](known),
		variantOf[Release, Order](known),
		variantOf[RequestCheckpoint, Order](known),
		variantOf[Withdraw, Order](known),
		variantOf[Drop, Order](known),
	}
}(types{strict.Readings{}, strict.Writings{}})}

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
	kind string
	is   func(I) bool // a value of the variant, and no pointer to one
	// encode appends the JSON of a value.
	encode func([]byte, I) ([]byte, error)
	// plain decodes what is plainly right, and decode says what is wrong with the rest.
	plain  func([]byte) (I, bool)
	decode func([]byte) (I, error)
}

// types have how those within variants are read and written.
type types struct {
	strict.Readings
	strict.Writings
}

// variantOf is the variant with the values of type V, which implements I.
func variantOf[V interface{ Kind() string }, I any](known types) variant[I] {
	var zero V
	form, pen := strict.CompleteFormOf[V](known.Readings), strict.PenOf[V](known.Writings)
	return variant[I]{
		kind: zero.Kind(),
		is:   func(value I) bool { _, ok := any(value).(V); return ok },
		encode: func(b []byte, value I) ([]byte, error) {
			v := any(value).(V)
			return pen.Append(b, &v)
		},
		plain: func(b []byte) (value I, ok bool) {
			v, ok := form.Plain(b)
			if !ok {
				return value, false
			}
			return any(*v).(I), true
		},
		decode: func(b []byte) (I, error) {
			v, err := form.Unmarshal(b)
			return any(*v).(I), err
		},
	}
}

// kinds lists those of the sum, in order.
func (s *sum[I]) kinds() []string {
	kinds := make([]string, len(s.variants))
	for i := range s.variants {
		kinds[i] = s.variants[i].kind
	}
	return kinds
}

func (s *sum[I]) encode(value I) ([]byte, error) {
	for i := range s.variants {
		if v := &s.variants[i]; v.is(value) {
			b := make([]byte, 0, 256)
			b = append(append(append(b, `{"`...), v.kind...), `":`...)
			b, err := v.encode(b, value)
			if err != nil {
				return nil, err
			}
			return append(b, '}'), nil
		}
	}
	return nil, s.refuse("", fmt.Sprintf("%T is not an %s, which is a value of the package and no pointer to one", value, s.name))
}

// decode reads what encode wrote. Most is plainly right, and costs one pass over it.
func (s *sum[I]) decode(b []byte) (value I, err error) {
	if key, body, ok := strict.Single(b); ok {
		for i := range s.variants {
			if v := &s.variants[i]; v.kind == string(key) {
				if value, ok := v.plain(body); ok {
					return value, nil
				}
			}
		}
	}
	return s.decodeAny(b)
}

// decodeAny is decode for whatever there is.
func (s *sum[I]) decodeAny(b []byte) (value I, err error) {
	var fields map[string]json.RawMessage
	if err := strict.Unmarshal(b, &fields); err != nil {
		return value, decodeError(s.name, err)
	}
	var found *variant[I]
	var body []byte
	kinds := 0
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		at := slices.IndexFunc(s.variants, func(v variant[I]) bool { return v.kind == key })
		if at < 0 {
			quoted := strconv.Quote(errtext.Short(key))
			return value, s.refuse(quoted[1:len(quoted)-1], strict.UnknownField+errtext.DidYouMean(key, s.kinds()))
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
		refusal := decodeError(s.name, err)
		return value, refusal.in(found.kind)
	}
	return decoded, nil
}

func (s *sum[I]) refuse(field, reason string) error {
	return &Error{Event: s.name, Kind: ErrInvalid, Field: field, Reason: reason}
}
