package scale

import "time"

// A builder is told when a state cannot be built or does not do what it should: a test, a
// benchmark, or a [Taker]. Fatal does not return.
type builder interface {
	Helper()
	Fatal(args ...any)
}

func must(tb builder, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// instant is a time to take differences of: processor time for a [Taker], which keeps to one
// thread, and else the time of day.
func instant(tb builder) time.Duration {
	if _, ok := tb.(*Taker); ok {
		return threadTime()
	}
	return time.Duration(time.Now().UnixNano())
}

// A bench measures: a benchmark, or a [Taker]. What stands between StopTimer and StartTimer does
// not count. Whatever is measured finds the timer running, and leaves it running.
type bench interface {
	builder
	StartTimer()
	StopTimer()
}
