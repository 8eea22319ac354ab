package worlds

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Crowded is another world, in which queues and users may have so many jobs at a time, as policies
// that come and go say.
func (g *Generator) Crowded() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).Gated, (*Generator).Gated, (*Generator).Contended, (*Generator).Lowered)
	config, options, list := draw(g)
	eachJob(list, func(j *berth.Job) { j.User = one(g, "", "ada", "bob") })
	config.Policy.Caps = g.caps()
	for i := range list {
		if e, ok := list[i].Event.(berth.PolicyChanged); ok {
			e.Policy.Caps = one(g, config.Policy.Caps, g.caps())
			list[i].Event = e
		}
	}
	end := list[len(list)-1].At
	for range 1 + g.IntN(4) {
		p := config.Policy
		p.Caps = g.caps()
		list = append(list, sim.Arrival{At: berth.Time(g.Int64N(int64(end) + 1)), Event: berth.PolicyChanged{Policy: p}})
	}
	p := config.Policy
	p.Caps = nil // or jobs that ask for more than a cap would never start
	list = append(list, sim.Arrival{At: end.Add(berth.Minute), Event: berth.PolicyChanged{Policy: p}})
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}

// caps draws some on a few queues; one that does not exist among them.
func (g *Generator) caps() (list []berth.QueueCaps) {
	for _, queue := range []berth.QueueID{"org0", "org0-team0", "org0-team0-project0", "org1", "none"} {
		if g.Chance(60) {
			list = append(list, berth.QueueCaps{
				Queue: queue, MaxJobs: one(g, 0, 1, 3, 10), MaxJobsPerUser: one(g, 0, 1, 2, 5), MaxGPUMilliPerUser: one[int64](g, 0, 500, 1000, 4000),
			})
		}
	}
	return list
}
