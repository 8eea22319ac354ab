package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// roomy draws a world of few gangs, of which most need several nodes and are soon placed.
func (g *Generator) roomy() (berth.Config, sim.Options, []sim.Arrival) {
	config := berth.Config{Levels: []string{"leaf"}}
	g.queues = []berth.QueueID{"q"}
	g.at(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	for i := range 8 {
		gpu := berth.GPU{Product: one(g, "H100", "A100"), MemoryMiB: 80 << 10}
		g.nodes = append(g.nodes, berth.Node{
			ID: berth.NodeID(fmt.Sprintf("n%d", i)), Domains: []string{one(g, "x", "y")}, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 4000, MemoryMiB: 4000,
		})
		g.at(0, berth.NodeJoined{Node: g.nodes[i]})
	}
	for i := range 40 {
		group := berth.Group{Members: 1 + g.IntN(4), Claim: berth.Claim{GPUs: one(g, 1, 2, 2)}, MixProducts: g.Chance(50)}
		if g.Chance(20) {
			group.MinMembers = 1
		}
		group.Topology.Required = one(g, "", "", "", "leaf")
		j := berth.Job{ID: berth.JobID(fmt.Sprintf("j%02d", i)), Queue: "q", Groups: []berth.Group{group}}
		g.list = append(g.list, sim.Arrival{At: g.instant(), Event: berth.JobSubmitted{Job: j}, Runtime: berth.Duration(1 + g.Int64N(int64(5*berth.Minute)))})
	}
	g.sort()
	options := sim.Options{StartDelay: berth.Second, StopDelay: berth.Second}
	options.Faults = sim.Faults{
		BindFail: 0.02, MemberDie: 0.02, NodeLost: 0.01, GPUFail: 0.01, Drain: 0.02, Outage: berth.Minute, Restore: 0.2, Until: Faults,
	}
	return config, options, g.list
}

// Nics is another world, in which nodes have NICs of a few rates or of many, and rates change while
// members run and nodes are set aside, by node and by domain.
func (g *Generator) Nics() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).roomy, (*Generator).roomy, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Recurring)
	config, options, list := draw(g)
	many := g.Chance(25)
	rate := func() []berth.NIC {
		mbit := one[int64](g, 0, 100_000, 200_000, 400_000)
		if many {
			mbit = 100_000 + 1000*g.Int64N(300)
		}
		return []berth.NIC{{Name: "nic", MbitPerSecond: mbit}}
	}
	var nodes []berth.Node
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.NodeJoined:
			e.Node.NICs = rate()
			list[i].Event = e
			nodes = append(nodes, e.Node)
		case berth.NodeUpdated:
			e.Node.NICs = rate()
			list[i].Event = e
		}
	}
	g.list = list
	if len(config.Levels) > 0 {
		for range g.IntN(6) {
			path := one(g, nodes...).Domains
			g.at(g.instant(), berth.FabricReported{Domain: path[:1+g.IntN(len(path))], LeftMilli: one(g, 0, 250, 500, 500, 1000)})
		}
	}
	for range len(nodes) {
		n := one(g, nodes...)
		n.NICs = rate()
		g.at(g.instant(), berth.NodeUpdated{Node: n})
	}
	g.sort()
	return config, options, g.list
}
