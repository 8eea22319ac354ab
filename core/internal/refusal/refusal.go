// Package refusal builds the typed errors with which the machine refuses what it is told.
package refusal

import (
	"errors"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/internal/strict"
)

// Of is the refusal of a field, of a kind that is a sentinel of package berth. The door that
// refuses names the event.
func Of(kind error, field, reason string) *berth.Error {
	return &berth.Error{Kind: kind, Field: field, Reason: reason}
}

// In prefixes the field of a refusal, as checks return from nested values. A nil refusal stays
// nil.
func In(err *berth.Error, prefix string) *berth.Error {
	if err != nil {
		err.Field = errtext.Path(prefix, err.Field)
	}
	return err
}

// From is the refusal that a check of package berth returned; nil for none.
func From(err error) *berth.Error {
	refusal, _ := errors.AsType[*berth.Error](err)
	return refusal
}

// Name refuses what cannot be a name.
func Name(s string) *berth.Error { return invalid(limits.BadName(s)) }

// Text is Name for optional text.
func Text(s string) *berth.Error { return invalid(limits.BadText(s)) }

// Amount refuses an amount that is negative, or so large that sums of such might overflow.
func Amount(v int64) *berth.Error {
	reason, over := limits.BadAmount(v)
	if over {
		return Of(berth.ErrLimit, "", reason)
	}
	return invalid(reason)
}

// Span refuses a span that is off, negative, or so long that sums of such might overflow.
func Span(d berth.Duration) *berth.Error {
	reason, over := limits.BadSpan(int64(d))
	if over {
		return Of(berth.ErrLimit, "", reason)
	}
	return invalid(reason)
}

// Labels refuses keys that cannot be names, and values that are no text.
func Labels(labels map[string]string) *berth.Error {
	path, reason := limits.BadLabels(labels)
	if reason == "" {
		return nil
	}
	return Of(berth.ErrInvalid, path, reason)
}

func invalid(reason string) *berth.Error {
	if reason == "" {
		return nil
	}
	return Of(berth.ErrInvalid, "", reason)
}

// Decode decodes one strict JSON value by the form of its type, and turns what is wrong into a
// *berth.Error of what is decoded.
func Decode[T any](what string, form *strict.Form[T], b []byte) (*T, error) {
	v, err := form.Unmarshal(b)
	if err == nil {
		return v, nil
	}
	e := &berth.Error{Event: what, Kind: berth.ErrInvalid}
	e.Field, e.Reason = strict.Describe(err, func(own *berth.Error) string { return own.Reason })
	if strict.IsTooLarge(err) {
		e.Kind = berth.ErrLimit
	}
	return nil, e
}
