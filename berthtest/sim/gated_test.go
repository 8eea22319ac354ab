package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// gated is another world, in which many jobs have begin times, follow others or are of arrays.
func (g *generator) gated() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).firm)
	config, options, list := draw(g)
	widths := map[string]int{"a": 1, "b": 1 + g.IntN(3), "c": 1 + g.IntN(8)}
	var before []berth.JobID
	for i := range list {
		at := list[i].At
		change := func(j *berth.Job) {
			if j.Service != nil {
				return
			}
			if g.chance(30) {
				j.Begin = max(0, at.Add(berth.Duration(g.Int64N(int64(6*berth.Minute)))-berth.Minute))
			}
			for _, id := range before[max(0, len(before)-6):] {
				if g.chance(15) {
					j.After = append(j.After, berth.Dependency{Job: id, Kind: one(g, berth.DependencyOK, berth.DependencyAny)})
				}
			}
			if name := one(g, "", "a", "b", "c"); name != "" {
				j.Array = &berth.Array{Name: name, Width: widths[name]}
			}
			before = append(before, j.ID)
			if list[i].Runtime == 0 && g.chance(70) { // else few would complete
				list[i].Runtime = berth.Duration(1 + g.Int64N(int64(5*berth.Minute)))
			}
		}
		eachJob(list[i:i+1], change)
	}
	return config, options, list
}

// Jobs start after their begin times, after those that they follow, and no more at once than the
// width of their array; none is dropped but for what it follows; and no other promise is broken.
func TestGated(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).gated,
		"a begin time came", "followed a job that completed", "followed a job that did not complete",
		"dropped for a job that it follows", "kept back by the width of an array",
	)
}
