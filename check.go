package berth

import (
	"github.com/berth-sched/berth/countable"
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
	reason, over := limits.BadSpan(int64(d))
	if over {
		return refuse(ErrLimit, "", reason)
	}
	return invalid(reason)
}

func checkLabels(labels map[string]string) *Error {
	path, reason := limits.BadLabels(labels)
	if reason == "" {
		return nil
	}
	return refuse(ErrInvalid, path, reason)
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
