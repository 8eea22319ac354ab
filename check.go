package berth

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// checkName refuses what cannot be a name.
func checkName(s string) *Error { return invalid(limits.BadName(s)) }

// checkText is checkName for optional text.
func checkText(s string) *Error { return invalid(limits.BadText(s)) }

// invalid is the refusal for a reason; nil if there is none.
func invalid(reason string) *Error {
	if reason == "" {
		return nil
	}
	return refuse(ErrInvalid, "", reason)
}

// checkHost refuses amounts of a host out of range.
func checkHost(a countable.Amounts) *Error {
	for r, v := range a {
		if err := checkAmount(v); err != nil {
			return err.in(countable.Resource(r).Field())
		}
	}
	return nil
}

func checkAmount(v int64) *Error {
	reason, over := limits.BadAmount(v)
	if over {
		return refuse(ErrLimit, "", reason)
	}
	return invalid(reason)
}

func checkSpan(d Duration) *Error {
	if d == Off {
		return refuse(ErrInvalid, "", "cannot be off")
	}
	if d < 0 {
		return refuse(ErrInvalid, "", fmt.Sprintf("is negative: %d ms", int64(d)))
	}
	if d > limits.MaxSpan {
		return refuse(ErrLimit, "", fmt.Sprintf("%d ms exceeds %d", int64(d), int64(limits.MaxSpan)))
	}
	return nil
}

func checkLabels(labels map[string]string) *Error {
	if len(labels) == 0 {
		return nil // as nearly always: without the list of keys
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		path := "[" + strconv.Quote(errtext.Short(key)) + "]"
		if err := checkName(key); err != nil {
			err.Reason = "the key " + err.Reason
			return err.in(path)
		}
		if err := checkText(labels[key]); err != nil {
			return err.in(path)
		}
	}
	return nil
}

// setOff has 0 for Off in a field of which the default is off, so that one value means it.
func setOff[T ~int | ~int64](field *T) { *field = unlessOff(*field) }

// unlessOff is a value, or 0 for Off.
func unlessOff[T ~int | ~int64](value T) T {
	if value == Off {
		return 0
	}
	return value
}
