package berth

import (
	"time"
)

// A Time is an instant in milliseconds since an epoch of the caller's choosing,
// usually the Unix epoch. The core never reads a clock: every instant it knows
// came in with a call.
type Time int64

// A Duration is a span of time in milliseconds.
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
// millisecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// DurationOf converts a duration of the standard library, dropping what is finer than
// a millisecond.
func DurationOf(d time.Duration) Duration { return Duration(d.Milliseconds()) }

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
