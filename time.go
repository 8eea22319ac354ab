package berth

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-sched/berth/internal/errtext"
)

// A Time is an instant in milliseconds since an epoch of the caller's choosing,
// usually the Unix epoch. The core never reads a clock: every instant it knows
// came in with a call. Zero is an instant that nobody set, as in the fields that say "zero:
// none", so a simulated clock begins above it.
//
// It prints as a date, as if the epoch were that of Unix, and zero as "unset". In JSON it is the
// number of milliseconds all the same: a date would claim what only the caller knows, and
// snapshots and journals, which have instants everywhere, would be larger and slower for it.
type Time int64

// A Duration is a span of time in milliseconds. It prints as "2m0s", and that is its JSON:
// people write spans, and a number without a unit would be read as seconds by some. So a
// number is refused. [Off], where a field of a [Policy] takes it, is "off" there.
type Duration int64

// Spans to build others from, as in 5*berth.Minute.
const (
	Millisecond Duration = 1
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
	Day                  = 24 * Hour
)

// TimeOf converts a time of the standard library, dropping what is finer than a
// millisecond. The zero time.Time, which nobody set either, is the zero Time.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// DurationOf converts a duration of the standard library, dropping what is finer than
// a millisecond.
func DurationOf(d time.Duration) Duration { return Duration(d.Milliseconds()) }

// IsZero reports whether nobody set the instant.
func (t Time) IsZero() bool { return t == 0 }

// Add returns the instant d after t. It saturates at the ends of the range, so
// that no sum of two valid values can wrap around into the past.
func (t Time) Add(d Duration) Time {
	sum := t + Time(d)
	if d > 0 && sum < t {
		return 1<<63 - 1
	}
	if d < 0 && sum > t {
		return -1 << 63
	}
	return sum
}

// Sub returns the span from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Std returns d as a duration of the standard library, which ends at 292 years;
// longer spans are cut to that.
func (d Duration) Std() time.Duration {
	const most = Duration(1<<63-1) / Duration(time.Millisecond)
	return time.Duration(max(-most, min(most, d))) * time.Millisecond
}

// String formats d the way the standard library does, as in "1m30s".
func (d Duration) String() string { return d.Std().String() }

// off is the text of Off: no policy has a span below zero else.
const off = "off"

// ParseDuration reads what String writes, and all that time.ParseDuration does, such as
// "1.5h", unless it is finer than a millisecond; and "off", which is [Off].
func ParseDuration(s string) (Duration, error) {
	if s == off {
		return Off, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d%time.Millisecond != 0 {
		return 0, invalidText("Duration", fmt.Sprintf("%q is not a span of whole milliseconds, such as 1h30m or 2m0s", errtext.Short(s)))
	}
	return DurationOf(d), nil
}

// MarshalText returns String, "off" for [Off], and an error for a span beyond 292 years.
func (d Duration) MarshalText() ([]byte, error) {
	if d == Off {
		return []byte(off), nil
	}
	if DurationOf(d.Std()) != d {
		return nil, invalidText("Duration", fmt.Sprintf("%d ms is beyond 292 years", int64(d)))
	}
	return []byte(d.String()), nil
}

// UnmarshalText is ParseDuration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	if err == nil {
		*d = v
	}
	return err
}

// Std returns t as a time of the standard library, in UTC: the inverse of TimeOf. The zero Time is
// the zero time.Time, so that IsZero says the same of both.
func (t Time) Std() time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// unset is the text of the zero Time, as of the other values that somebody has to set.
const unset = "unset"

// dated reports whether a date says the instant: its year has four digits.
func (t Time) dated() bool {
	year := t.Std().Year()
	return year >= 0 && year <= 9999 && TimeOf(t.Std()) == t
}

// String formats t by RFC 3339, in UTC and with milliseconds, as in
// "2026-01-02T15:04:05.000Z"; outside the years 0 to 9999, which no date of that form has,
// as a number of milliseconds. The zero Time is "unset".
func (t Time) String() string {
	switch {
	case t.IsZero():
		return unset
	case !t.dated():
		return strconv.FormatInt(int64(t), 10)
	}
	return t.Std().Format(timeLayout)
}

// ParseTime reads what String writes: an instant of RFC 3339, in any zone and no finer than a
// millisecond, a number of milliseconds, or "unset".
func ParseTime(s string) (Time, error) {
	if s == unset {
		return 0, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Time(n), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Nanosecond()%int(time.Millisecond) != 0 {
		return 0, invalidText("Time", fmt.Sprintf("%q is no instant of whole milliseconds, such as 2026-01-02T15:04:05.000Z", errtext.Short(s)))
	}
	return TimeOf(t), nil
}

// MarshalText returns String.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseTime.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := ParseTime(string(b))
	if err == nil {
		*t = v
	}
	return err
}

// MarshalJSON writes the number of milliseconds.
func (t Time) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(t), 10), nil }

// UnmarshalJSON reads a number of milliseconds.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return invalidText("Time", "is not a whole number of milliseconds")
	}
	*t = Time(n)
	return nil
}
