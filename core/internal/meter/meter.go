// Package meter holds evictions to a rate.
package meter

import (
	"github.com/berth-sched/berth"
)

// A Meter holds evictions to a rate. It is the generic cell rate algorithm (ITU-T
// Recommendation I.371, as virtual scheduling), a token bucket that is one instant: when it
// will be full again. It departs from it in two points. The victims of one beneficiary go
// together or not at all; and more of them than the bucket holds may go when it is full, and
// then it is as much longer until it is full again.
type Meter struct {
	// Full is when as many may be evicted at once as the rate limit ever allows.
	Full berth.Time
	// Held is until when it is kept for one that needs more than there is now, as it is the
	// first in policy order: else small ones would always be served before it.
	Held berth.Time
}

// interval is after how long one more may be evicted.
func interval(r berth.RateLimit) berth.Duration {
	return (r.Per + berth.Duration(r.Evictions) - 1) / berth.Duration(r.Evictions)
}

// Ready is when so many may be evicted together at the earliest.
func (m *Meter) Ready(r berth.RateLimit, now berth.Time, evictions int) berth.Time {
	if r.Evictions == 0 {
		return now
	}
	early := interval(r) * berth.Duration(max(0, r.Evictions-evictions))
	return max(now, m.Held, m.Full.Add(-early))
}

// Take counts evictions that may be from an instant on. If that is yet to come because of
// this meter, what there is is kept for them until then.
func (m *Meter) Take(r berth.RateLimit, now, at berth.Time, evictions int) {
	switch {
	case r.Evictions == 0:
	case at <= now:
		m.Full = max(m.Full, now).Add(interval(r) * berth.Duration(evictions))
	case m.Ready(r, now, evictions) > now:
		m.Held = at
	}
}
