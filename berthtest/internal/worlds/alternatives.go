package worlds

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Optional is another world, in which most jobs may run as what others ask for, too.
func (g *Generator) Optional() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving, (*Generator).Limited, (*Generator).Gated, (*Generator).Crowded)
	config, options, list := draw(g)
	var gangs []berth.Job // in the order in which they come
	eachJob(list, func(j *berth.Job) { gangs = append(gangs, *j) })
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.JobSubmitted:
			g.giveAlternatives(&e.Job, gangs)
			list[i].Event = e
		case berth.JobObserved:
			own := berth.Alternative{Groups: e.Job.Groups, Topology: e.Job.Topology}
			if g.giveAlternatives(&e.Job, gangs); len(e.Job.Alternatives) > 0 && len(e.Running) > 0 && g.Chance(50) {
				first := e.Job.Alternatives[0] // it runs as the first alternative
				e.Job.Groups, e.Job.Topology, e.Job.Alternatives[0] = first.Groups, first.Topology, own
				e.Running = slices.Clone(e.Running)
				e.Running[0].Alternative = 1
			}
			list[i].Event = e
		}
	}
	return config, options, list
}

// giveAlternatives gives a job up to three alternatives: the gangs of others of its class.
func (g *Generator) giveAlternatives(j *berth.Job, gangs []berth.Job) {
	if !mayBeOption(j) || g.Chance(20) {
		return
	}
	for range 1 + g.IntN(3) {
		if other := one(g, gangs...); mayBeOption(&other) && other.Class == j.Class {
			j.Alternatives = append(j.Alternatives, berth.Alternative{Groups: other.Groups, Topology: other.Topology})
		}
	}
	if len(j.Alternatives) > 0 {
		j.Choose = one(g, berth.ChooseFirst, berth.ChooseSoonest)
	}
}

// mayBeOption reports whether what a job asks for may be one of several alternatives, after it was
// made to start with all of its members.
func mayBeOption(j *berth.Job) bool {
	j.Groups = slices.Clone(j.Groups)
	for i := range j.Groups {
		j.Groups[i].MinMembers = 0
	}
	return j.Service == nil && j.Lend == nil && !slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return g.Claim.Borrow != nil })
}
