package worlds

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Parted is another world, in which most jobs have parts.
func (g *Generator) Parted() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving, (*Generator).Limited, (*Generator).roomy, (*Generator).roomy)
	config, options, list := draw(g)
	for i := range list {
		if e, submitted := list[i].Event.(berth.JobSubmitted); submitted {
			g.giveParts(&e.Job, config.Levels)
			list[i].Event = e
		}
	}
	return config, options, list
}

// giveParts gives a job parts, and for that some further groups.
func (g *Generator) giveParts(j *berth.Job, levels []string) {
	if g.Chance(25) || len(j.Groups) == 0 { // a hostile one
		return
	}
	wide := slices.Index(levels, j.Topology.Required) // -1: none
	if j.Topology.Required == "node" {
		wide = len(levels)
	}
	t := &j.Topology
	for i := range 1 + g.IntN(2) {
		t.Parts = append(t.Parts, berth.Part{Name: fmt.Sprintf("part%d", i), Copies: one(g, 0, 0, 0, 1, 2)})
	}
	apart := -1
	if g.Chance(40) && wide+1 < len(levels) {
		apart = wide + 1 + g.IntN(len(levels)-wide-1)
		t.Apart = levels[apart]
	}
	for i := range t.Parts {
		if narrower := append(slices.Clone(levels[max(apart, 0):]), "node"); g.Chance(80) {
			t.Parts[i].Required = one(g, narrower...)
		}
	}
	j.Groups = slices.Clone(j.Groups)
	for i := range j.Groups {
		if j.Groups[i].Name == "" {
			j.Groups[i].Name = fmt.Sprintf("group%d", i)
		}
	}
	for range g.IntN(3) {
		more := berth.Group{Name: fmt.Sprintf("more%d", len(j.Groups)), Members: 1 + g.IntN(2), Claim: j.Groups[0].Claim}
		if g.Chance(30) {
			more.Claim = berth.HostOnly(one(g, int64(0), 500), 0)
		}
		more.Selector = j.Groups[0].Selector
		j.Groups = append(j.Groups, more)
	}
	for i := range j.Groups {
		group := &j.Groups[i]
		p := &t.Parts[g.IntN(len(t.Parts))]
		if g.Chance(15) {
			continue
		}
		group.Part = p.Name
		if p.Copies > 1 {
			group.MinMembers, group.Topology.Balance, group.Topology.Spread, group.Topology.MaxSkew, group.Topology.RailAligned = 0, "", "", 0, false
			group.Members *= p.Copies
		}
	}
}
