package berth

import (
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
		variantOf[FabricReported, Event](known),
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
		variantOf[WarnIdle, Order](known),
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
	// decode decodes a value. False: the text is something else than one.
	decode func([]byte) (value I, one bool, err error)
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
		decode: func(b []byte) (value I, one bool, err error) {
			v, one, err := form.UnmarshalOne(b)
			if !one || err != nil {
				return value, one, err
			}
			return any(*v).(I), true, nil
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
	if key, body, ok := strict.Single(b); ok && string(body) != "null" {
		for i := range s.variants {
			if v := &s.variants[i]; v.kind == string(key) {
				if value, one, err := v.decode(body); one {
					return value, s.within(v, err)
				}
			}
		}
	}
	return s.decodeAny(b)
}

// within is the error about a value of a variant.
func (s *sum[I]) within(v *variant[I], err error) error {
	if err == nil {
		return nil
	}
	return decodeError(s.name, err).in(v.kind)
}

// decodeAny is decode for whatever there is.
func (s *sum[I]) decodeAny(b []byte) (value I, err error) {
	object, err := forms.fields.Unmarshal(b)
	if err != nil {
		return value, decodeError(s.name, err)
	}
	fields := *object
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
	value, _, err = found.decode(body)
	return value, s.within(found, err)
}

func (s *sum[I]) refuse(field, reason string) error {
	return &Error{Event: s.name, Kind: ErrInvalid, Field: field, Reason: reason}
}
