package berth

import "github.com/berth-sched/berth/internal/limits"

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

func checkSpan(d Duration) *Error {
	reason, over := limits.BadSpan(int64(d))
	if over {
		return refuse(ErrLimit, "", reason)
	}
	return invalid(reason)
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
