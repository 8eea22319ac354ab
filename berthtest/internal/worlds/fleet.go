package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// Fleet draws a world of about so many GPUs: nodes of eight in leaves of 32 nodes and spines of
// 256, of which one in ten divides its GPUs, jobs that ask for some 150 % of it in two hours, of
// one GPU up to an eighth of the fleet, and all faults of hardware and of executors for as long.
func Fleet(gpus int) Drawing {
	return func(g *Generator) (berth.Config, sim.Options, []sim.Arrival) { return g.fleet(gpus) }
}

func (g *Generator) fleet(size int) (berth.Config, sim.Options, []sim.Arrival) {
	g.levels = []string{"spine", "leaf"}
	config := berth.Config{Levels: g.levels, Policy: g.policy(), Ledger: g.Chance(30)}
	config.Policy.PassBudget = 0
	nodes := max(1, size/8)
	for i := range nodes {
		n := berth.Node{
			ID: berth.NodeID(fmt.Sprintf("n%05d", i)), CPUMilli: 128_000, MemoryMiB: 1_000_000, Labels: g.labels(),
			Domains: []string{fmt.Sprintf("s%d", i/256), fmt.Sprintf("l%d", i/32)},
		}
		gpu := berth.GPU{Product: "H100", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 9}, Clique: "k"}
		if g.Chance(10) {
			gpu.MIGTable = "H100-80GB"
		}
		n.GPUs = berth.EqualGPUs(8, gpu)
		g.nodes = append(g.nodes, n)
		g.at(0, berth.NodeJoined{Node: n})
	}
	for org := range 4 {
		q := quota.Queue{Name: berth.QueueID(fmt.Sprintf("org%d", org)), Weight: int64(1 + g.IntN(3)), Guarantee: gpus(8 * nodes / 8)}
		g.at(0, berth.QueueSet{Queue: q})
		for team := range 3 {
			leaf := quota.Queue{Name: berth.QueueID(fmt.Sprintf("%s-team%d", q.Name, team)), Parent: q.Name, Guarantee: gpus(8 * nodes / 32)}
			g.at(0, berth.QueueSet{Queue: leaf})
			g.leaves, g.queues = append(g.leaves, leaf.Name), append(g.queues, leaf.Name)
		}
	}
	for asked := 0; asked < size+size/2; {
		before := len(g.list)
		g.submit()
		for i := range g.list[before:] {
			if e, ok := g.list[before+i].Event.(berth.JobSubmitted); ok {
				asked += g.widen(&e.Job, size)
				g.list[before+i].Event = e
			}
		}
	}
	for range 20 {
		g.change()
	}
	g.sort()
	options := g.options()
	f := &options.Faults
	f.NodeLost, f.GPUFail, f.Xid, f.Drain, f.MemberDie = 0.02, 0.02, 0.02, 0.01, 0.02
	f.Swap, f.Restore = 0, 0.01
	options.PassInterval = one(g, 0, 5*berth.Second)
	return config, options, g.list
}

// widen gives some jobs more members, and returns for how many GPUs a job asks.
func (g *Generator) widen(j *berth.Job, size int) (asked int) {
	wide := len(j.Groups) == 1 && j.Groups[0].Claim.GPUs > 0 && g.Chance(25)
	if wide {
		j.Topology, j.Groups[0].Topology, j.Groups[0].Claim = berth.Topology{}, berth.Topology{}, berth.WholeGPUs(8)
		j.Groups[0].Members, j.Groups[0].MinMembers = max(1, one(g, 2, 4, 8, 16, size/64)), 0
		if g.Chance(30) {
			j.Groups[0].MinMembers = max(1, j.Groups[0].Members/2)
		}
		if g.Chance(40) {
			j.Groups[0].Topology.Required = one(g, g.levels...)
		}
	}
	for i := range j.Groups {
		asked += j.Groups[i].Members * max(1, j.Groups[i].Claim.GPUs)
	}
	if j.Service != nil {
		asked *= max(1, j.Service.Replicas)
	}
	return asked
}
