package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Gated is another world, in which many jobs have begin times, follow others or are of arrays.
func (g *Generator) Gated() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Firm)
	config, options, list := draw(g)
	widths := map[string]int{"a": 1, "b": 1 + g.IntN(3), "c": 1 + g.IntN(8)}
	var before []berth.JobID
	for i := range list {
		at := list[i].At
		change := func(j *berth.Job) {
			if j.Service != nil {
				return
			}
			if g.Chance(30) {
				j.Begin = max(0, at.Add(berth.Duration(g.Int64N(int64(6*berth.Minute)))-berth.Minute))
			}
			for _, id := range before[max(0, len(before)-6):] {
				if g.Chance(15) {
					j.After = append(j.After, berth.Dependency{Job: id, Kind: one(g, berth.DependencyOK, berth.DependencyAny)})
				}
			}
			if name := one(g, "", "a", "b", "c"); name != "" {
				j.Array = &berth.Array{Name: name, Width: widths[name]}
			}
			before = append(before, j.ID)
			if list[i].Runtime == 0 && g.Chance(70) { // else few would complete
				list[i].Runtime = berth.Duration(1 + g.Int64N(int64(5*berth.Minute)))
			}
		}
		eachJob(list[i:i+1], change)
	}
	return config, options, list
}
