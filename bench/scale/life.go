package scale

import "github.com/berth-sched/berth"

// living submits a job, has a pass bind it, reports that it runs and that it has
// finished: a whole life through the public API.
func living(tb builder, gpus, members, each int) decision {
	free := fill(gpus)
	if members > 1 {
		free = fillForGang(gpus)
	}
	core := newCore(tb, free)
	job := jobOf("job", "running", members, each)
	return func() bool {
		tell(tb, core, berth.JobSubmitted{Job: job})
		actions := pass(tb, core)
		if len(actions) != 1 {
			return false
		}
		bind := actions[0].Header()
		tell(tb, core, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
		tell(tb, core, berth.JobFinished{Job: job.ID, Incarnation: bind.Incarnation})
		return true
	}
}

var lives = []struct {
	name          string
	members, each int
}{{"one-GPU", 1, 1}, {"one-node", 1, 8}, {"gang-of-512", 64, 8}}
