package evict

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// BringWithinLimits stops what queues use beyond their limits, where the policy says so: of those
// further down first, so that those above count what goes there.
func (ev *Evict) BringWithinLimits() {
	for _, q := range ev.books.OverLimit {
		if ev.mayRunOnUntil(q) > ev.state.Now {
			continue
		}
		pieces := ev.victims.OverLimit(q.Index)
		if len(pieces) == 0 {
			continue
		}
		cause := berth.Cause{Code: berth.CauseOverLimit, Detail: ev.describeExcess(q)}
		for _, p := range pieces {
			ev.life.BringWithin(p, cause)
		}
	}
}

// mayRunOnUntil is until when nothing is stopped of what a queue uses too much.
func (ev *Evict) mayRunOnUntil(q *record.Queue) berth.Time {
	if after := ev.state.Config.Policy.OverLimit.After; after > 0 {
		return q.OverLimitSince.Add(after)
	}
	return 0
}

// describeExcess says of what a queue uses more than it may.
func (ev *Evict) describeExcess(q *record.Queue) string {
	e := ev.state.Quota.Exceeded(nil, q.Index)[0]
	return fmt.Sprintf("queue %s uses %s and may use %s", ev.state.Quota.Name(q.Index), ev.state.Amount(e.Resource, e.Used), ev.state.Amount(e.Resource, e.Most))
}

// NextOverLimit is when something is to be stopped that a queue uses beyond a limit; never: nothing
// is, as things are.
func (ev *Evict) NextOverLimit() berth.Time {
	at := agenda.Never
	for _, q := range ev.books.OverLimit {
		if from := ev.mayRunOnUntil(q); from > ev.state.Now {
			at = min(at, from)
		} else if len(ev.victims.OverLimit(q.Index)) > 0 {
			return ev.state.Now
		}
	}
	return at
}
