package sim_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// surging is another world, in which most jobs are services with a surge, nodes are drained all the
// time, and services are scaled and cancelled meanwhile.
func (g *generator) surging() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).drained, (*generator).drained, (*generator).cleared, (*generator).contended, (*generator).lowered, (*generator).capped, (*generator).swapping)
	config, options, list := draw(g)
	g.list = nil
	for i := range list {
		e, is := list[i].Event.(berth.JobSubmitted)
		if !is || !mayBeService(&e.Job) || g.chance(20) {
			continue
		}
		j := &e.Job
		if j.Service == nil {
			j.Service, j.GangTimeout, j.MaxRuntime, list[i].Runtime = &berth.Service{Replicas: 1 + g.IntN(3)}, 0, 0, 0
		}
		service := *j.Service
		service.Surge = one(g, 0, 1, 1, 2, 5)
		j.Service = &service
		if g.chance(60) { // small ones, which find a place more often than others
			j.Topology, j.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(2), Claim: berth.Claim{GPUs: one(g, 1, 2)}}}
		}
		if g.chance(50) {
			j.Class = berth.ClassLatencyCritical
		}
		j.Checkpoint.Supported = g.chance(40)
		list[i].Event = e
		later := func() berth.Time { return list[i].At.Add(berth.Duration(g.Int64N(int64(20 * berth.Minute)))) }
		for range g.IntN(4) {
			g.at(later(), berth.JobScaled{Job: j.ID, Replicas: g.IntN(4)})
		}
		if g.chance(40) {
			g.at(later(), berth.JobCancelled{Job: j.ID})
		}
	}
	list = append(list, g.list...)
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	f := &options.Faults
	f.Drain = max(f.Drain, 0.1*g.Float64())
	f.Outage = one(g, berth.Minute, 5*berth.Minute, 15*berth.Minute)
	if g.chance(50) {
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

// A replica of a service with a surge that has to leave its node goes when another runs in its
// place, whatever fails, is lost, scaled, cancelled or restored meanwhile.
func TestSurges(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(8), (*generator).surging,
		"a stand-in starts", "another stand-in is tried", "a stand-in runs, and the other is running", "a stand-in runs, and the other is asked",
		"a stand-in runs, and the other is releasing", "a stand-in runs, and the other is pending", "a stand-in goes with the other",
		"a stand-in is not needed any more", "release because surge", "leaves for another place", "has to leave, wherever it may go",
		"a stand-in came to nothing because of bind-failed", "a stand-in came to nothing because of hardware-lost",
	)
}
