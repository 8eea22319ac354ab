package scale

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// living submits a job, has a pass bind it, reports that it runs and that it has
// finished: a whole life through the public API.
func living(tb builder, gpus, members, each int) decision {
	sched := newCore(tb, fillFor(gpus, members))
	job := jobOf("job", "running", members, each)
	return func() bool {
		tell(tb, sched, berth.JobSubmitted{Job: job})
		return liveOn(tb, sched, pass(tb, sched))
	}
}

// liveOn reports that the only order of a pass, a Bind, is carried out and that its job has
// finished. False: there are more orders, or none.
func liveOn(tb builder, sched *core.Core, orders []berth.Order) bool {
	tb.Helper()
	if len(orders) != 1 {
		return false
	}
	bind := orders[0].Header()
	tell(tb, sched, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
	tell(tb, sched, berth.JobFinished{Job: bind.Job, Incarnation: bind.Incarnation})
	return true
}

var lives = []struct {
	name          string
	members, each int
	most          float64 // allocations
}{{"one-GPU", 1, 1, 29}, {"one-node", 1, 8, 19}, {"gang-of-512", 64, 8, 34}}
