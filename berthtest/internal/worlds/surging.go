package worlds

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Surging is another world, in which most jobs are services with a surge, nodes are drained all the
// time, and services are scaled and cancelled meanwhile.
func (g *Generator) Surging() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).Drained, (*Generator).Drained, (*Generator).Cleared, (*Generator).Contended, (*Generator).Lowered, (*Generator).Capped, (*Generator).Swapping)
	config, options, list := draw(g)
	g.list = nil
	for i := range list {
		e, is := list[i].Event.(berth.JobSubmitted)
		if !is || !mayBeService(&e.Job) || g.Chance(20) {
			continue
		}
		j := &e.Job
		if j.Service == nil {
			j.Service, j.GangTimeout, j.MaxRuntime, list[i].Runtime = &berth.Service{Replicas: 1 + g.IntN(3)}, 0, 0, 0
		}
		service := *j.Service
		service.Surge = one(g, 0, 1, 1, 2, 5)
		j.Service = &service
		if g.Chance(60) { // small ones, which find a place more often than others
			j.Topology, j.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(2), Claim: berth.Claim{GPUs: one(g, 1, 2)}}}
		}
		if g.Chance(50) {
			j.Class = berth.ClassLatencyCritical
		}
		j.Checkpoint.Supported = g.Chance(40)
		list[i].Event = e
		later := func() berth.Time { return list[i].At.Add(berth.Duration(g.Int64N(int64(20 * berth.Minute)))) }
		for range g.IntN(4) {
			g.at(later(), berth.JobScaled{Job: j.ID, Replicas: g.IntN(4)})
		}
		if g.Chance(40) {
			g.at(later(), berth.JobCancelled{Job: j.ID})
		}
	}
	list = append(list, g.list...)
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	f := &options.Faults
	f.Drain = max(f.Drain, 0.1*g.Float64())
	f.Outage = one(g, berth.Minute, 5*berth.Minute, 15*berth.Minute)
	if g.Chance(50) {
		f.BindFail, f.BindPartial, f.ReportLost, f.ReportLate = 0.2*g.Float64(), 0.2*g.Float64(), 0.1*g.Float64(), 0.1*g.Float64()
	}
	options.StartDelay = one(g, options.StartDelay, 5*berth.Second, 12*berth.Second)
	return config, options, list
}

// mayBeService reports whether a job that is none may be a service.
func mayBeService(j *berth.Job) bool {
	borrows := slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return g.Claim.Borrow != nil })
	return !borrows && len(j.Alternatives) == 0 && len(j.After) == 0 && j.Begin == 0 && j.Array == nil
}
