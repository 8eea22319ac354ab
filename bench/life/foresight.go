package life

import (
	"cmp"

	"github.com/berth-sched/berth"
)

// A Foresight counts the jobs that ran for half to twice as long as expected: as told, or assumed,
// and as the core said.
type Foresight struct {
	berth.Scheduler
	told                    map[berth.JobID]berth.Duration
	ends, asTold, asLearned float64
}

// Foresee counts from now on.
func Foresee(core berth.Scheduler) *Foresight {
	return &Foresight{Scheduler: core, told: map[berth.JobID]berth.Duration{}}
}

// Shares are the jobs within a factor of two, in percent of all.
func (f *Foresight) Shares() (told, learned float64) {
	all := max(f.ends, 1) / 100
	return f.asTold / all, f.asLearned / all
}

// Apply looks at a job that ends before the core hears of it.
func (f *Foresight) Apply(now berth.Time, e berth.Event) error {
	switch e := e.(type) {
	case berth.JobSubmitted:
		f.told[e.Job.ID] = e.Job.ExpectedRuntime
	case berth.JobFinished:
		if x, err := f.Explain(e.Job); err == nil && e.Incarnation == 1 {
			r := &x.Replicas[0]
			near := func(expected berth.Duration) float64 {
				if ran := now.Sub(r.Since); expected <= 2*ran && ran <= 2*expected {
					return 1
				}
				return 0
			}
			assumed := berth.DefaultPolicy().AssumedRuntime
			f.ends++
			f.asTold += near(cmp.Or(f.told[e.Job], assumed))
			f.asLearned += near(cmp.Or(max(0, r.ExpectedEnd.Sub(r.Since)), assumed))
		}
	}
	return f.Scheduler.Apply(now, e)
}
