package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// This file draws worlds in which hardware fails all the time.

// health draws how hardware that failed is trusted again.
func (g *Generator) health() berth.Health {
	return berth.Health{
		Losses:     one(g, 0, 1, 1, 2, 3),
		Within:     one(g, 0, 0, 20*berth.Minute, 5*berth.Minute),
		Quarantine: one(g, 0, 20*berth.Second, 2*berth.Minute, 5*berth.Minute),
		BurnIn:     one(g, 0, 20*berth.Second, 2*berth.Minute, 10*berth.Minute),
	}
}

// spares draws how many nodes are kept for those that lose hardware.
func (g *Generator) spares() []berth.HotSpares {
	var list []berth.HotSpares
	for _, pool := range []string{"", "red"} {
		if g.Chance(70) {
			list = append(list, berth.HotSpares{Pool: pool, NodesMilli: one(g, 10, 100, 200, 300, 500)})
		}
	}
	return list
}

// Failing draws a world as all others, but that all kinds of hardware fail often, and that the
// policy has something to say about it.
func (g *Generator) Failing() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.World()
	config.Policy.Health, config.Policy.HotSpares = g.health(), g.spares()
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			if g.Chance(70) {
				e.Policy.Health = g.health()
			}
			if g.Chance(70) {
				e.Policy.HotSpares = g.spares()
			}
			list[i].Event = e
		case berth.JobSubmitted: // small gangs, which find a place more often than others
			if g.Chance(50) {
				e.Job.Topology, e.Job.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(3), Claim: berth.Claim{GPUs: one(g, 1, 2)}}}
				list[i].Event = e
			}
		}
	}
	f := &options.Faults
	f.NodeLost, f.GPUFail, f.Xid, f.Cordon = g.Float64()*0.1, g.Float64()*0.1, g.Float64()*0.2, g.Float64()*0.03
	f.Outage = one(g, 20*berth.Second, berth.Minute, 5*berth.Minute)
	return config, options, list
}

// Segmented draws a world of failing hardware in which many gangs are elastic, and in segments on
// one node or in one domain.
func (g *Generator) Segmented() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.Failing()
	for i := range list {
		if e, ok := list[i].Event.(berth.JobSubmitted); ok && e.Job.Service == nil && g.Chance(70) {
			size := one(g, 2, 4)
			segments := []berth.Segment{{Size: size, Level: one(g, append([]string{"node"}, g.levels...)...)}}
			if size == 4 && g.Chance(30) {
				segments = append(segments, berth.Segment{Size: 2, Level: "node"})
			}
			e.Job.Topology = berth.Topology{}
			e.Job.Groups = []berth.Group{{
				Members: size * one(g, 2, 3), MinMembers: size, Claim: berth.Claim{GPUs: one(g, 1, 1, 2)}, Topology: berth.Topology{Segments: segments},
			}}
			list[i].Event = e
		}
	}
	options.Faults.GPUFail, options.Faults.Outage = 0.1+g.Float64()*0.2, one(g, 5*berth.Minute, berth.Hour)
	return config, options, list
}

// untrusted counts what a core that was just restored knows of hardware that failed.
func (r *Run) untrusted(sched *core.Core) {
	report := sched.Report()
	r.Cases["restored with quarantine"] += report.Nodes.Quarantined
	r.Cases["restored with a burn-in"] += report.Nodes.InBurnIn
	r.Cases["restored with spares"] += report.Nodes.HotSpares
}
