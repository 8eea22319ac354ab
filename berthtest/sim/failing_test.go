package sim_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// This file draws worlds in which hardware fails all the time.

// health draws how hardware that failed is trusted again.
func (g *generator) health() berth.Health {
	return berth.Health{
		Losses:     one(g, 0, 1, 1, 2, 3),
		Within:     one(g, 0, 0, 20*berth.Minute, 5*berth.Minute),
		Quarantine: one(g, 0, 20*berth.Second, 2*berth.Minute, 5*berth.Minute),
		BurnIn:     one(g, 0, 20*berth.Second, 2*berth.Minute, 10*berth.Minute),
	}
}

// spares draws how many nodes are kept for those that lose hardware.
func (g *generator) spares() []berth.HotSpares {
	var list []berth.HotSpares
	for _, pool := range []string{"", "red"} {
		if g.chance(70) {
			list = append(list, berth.HotSpares{Pool: pool, NodesMilli: one(g, 10, 100, 200, 300, 500)})
		}
	}
	return list
}

// failing draws a world as all others, but that all kinds of hardware fail often, and that the
// policy has something to say about it.
func (g *generator) failing() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.world()
	config.Policy.Health, config.Policy.HotSpares = g.health(), g.spares()
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			if g.chance(70) {
				e.Policy.Health = g.health()
			}
			if g.chance(70) {
				e.Policy.HotSpares = g.spares()
			}
			list[i].Event = e
		case berth.JobSubmitted: // small gangs, which find a place more often than others
			if g.chance(50) {
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

// Whatever fails, no promise is broken, and what is left comes to rest.
func TestFailingHardware(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).failing,
		"an Xid condemns", "an Xid without effect", "a suspect Xid in burn-in",
		"in quarantine", "a longer quarantine", "quarantine over", "vouched for",
		"in burn-in", "burn-in over", "placed in burn-in", "failed in burn-in", "lost in burn-in", "kept out by a burn-in",
		"a spare chosen", "a spare chosen before another", "short of spares", "resumed on a spare", "kept out by spares",
		"restored with quarantine", "restored with a burn-in", "restored with spares",
	)
}

// segmented draws a world of failing hardware in which many gangs are elastic, and in segments on
// one node or in one domain.
func (g *generator) segmented() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.failing()
	for i := range list {
		if e, ok := list[i].Event.(berth.JobSubmitted); ok && e.Job.Service == nil && g.chance(70) {
			size := one(g, 2, 4)
			segments := []berth.Segment{{Size: size, Level: one(g, append([]string{"node"}, g.levels...)...)}}
			if size == 4 && g.chance(30) {
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

// Gangs give up what they hold of segments that can never be whole again, and nothing else.
func TestBrokenSegments(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(4), (*generator).segmented, "gives up a segment")
}

// Worlds end in which a job stays for good on a GPU that its owner found in another mode: a search
// that looks at the GPU does not look for ever.
func TestLookingEnds(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{2, 3, 17, 18, 21, 29, 31, 36, 39} { // the first in which an owner looks too late
		config, options, list := newGenerator(seed).failing()
		sched, err := core.New(config)
		require.NoError(t, err)
		told, conflicts := 0, 0
		options.Applied = func(_ berth.Time, e berth.Event, refused error) {
			told++
			require.Less(t, told, 10_000, "world %d has no end", seed)
			if _, look := e.(berth.GPUPartitioned); look && errors.Is(refused, berth.ErrConflict) {
				conflicts++
			}
		}
		s := sim.New(sched, sim.FromSlice(list), options)
		for at, more := s.Next(); more; at, more = s.Next() {
			require.NoError(t, s.Run(at))
		}
		require.Positive(t, conflicts, "nobody looks too late in world %d", seed)
	}
}

// untrusted counts what a core that was just restored knows of hardware that failed.
func (r *run) untrusted(sched *core.Core) {
	report := sched.Report()
	r.cases["restored with quarantine"] += report.Nodes.Quarantined
	r.cases["restored with a burn-in"] += report.Nodes.InBurnIn
	r.cases["restored with spares"] += report.Nodes.HotSpares
}
