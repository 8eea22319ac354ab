package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Swapping is world, in a third of which hardware goes for good and other hardware comes.
func (g *Generator) Swapping() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.World()
	if options.Seed%3 == 1 { // of the seed, so that the others are as they were
		options.Faults.Swap, options.Faults.Restore = 0.05, max(options.Faults.Restore, 0.05)
	}
	return config, options, list
}

// Swapped draws a few nodes of few kinds, which are swapped all the time, and jobs that ask for
// this kind or that, in numbers that make some kinds dearer than others.
func (g *Generator) Swapped() (berth.Config, sim.Options, []sim.Arrival) {
	g.levels = one(g, nil, []string{"leaf"})
	config := berth.Config{Levels: g.levels}
	if g.Chance(50) {
		config.Policy.Preemption = g.preemption()
	}
	options := sim.Options{Seed: g.Uint64(), StartDelay: berth.Second, StopDelay: berth.Second, Faults: sim.Faults{
		Swap: 0.1 + 0.2*g.Float64(), BindFail: 0.1, NodeLost: 0.03, Outage: 20 * berth.Second, Restore: 0.1, Until: berth.Time(10 * berth.Minute),
	}}
	products, count := []string{"X", "Y", "Z"}, one(g, 1, 2, 2, 4)
	for i := range 2 + g.IntN(5) {
		n := berth.Node{ID: berth.NodeID(fmt.Sprintf("n%d", i)), Pool: one(g, "", "", "red"), CPUMilli: 8000, MemoryMiB: 16_000}
		for range g.levels {
			n.Domains = append(n.Domains, fmt.Sprintf("a%d", g.IntN(2)))
		}
		n.GPUs = berth.EqualGPUs(count, berth.GPU{Product: one(g, products...), MemoryMiB: 10_000})
		g.nodes = append(g.nodes, n)
		g.at(0, berth.NodeJoined{Node: n})
	}
	g.queues = []berth.QueueID{"p", "q"}
	for _, q := range g.queues {
		g.at(0, berth.QueueSet{Queue: g.queue(q, "", 4)})
	}
	for i := range 8 + g.IntN(10) {
		g.asks(berth.JobID(fmt.Sprintf("j%d", i)), products)
	}
	g.sort()
	return config, options, g.list
}

// asks submits a job of a swapped world: one gang, or a service of many that is cancelled later.
func (g *Generator) asks(id berth.JobID, products []string) {
	claim := berth.WholeGPUs(one(g, 1, 1, 1, 2))
	if g.Chance(30) {
		claim = berth.Claim{Share: &berth.Share{GPUMilli: one(g, 250, 500)}}
	}
	if g.Chance(30) {
		claim.CPUMilli = 1000
	}
	j := berth.Job{
		ID: id, Queue: berth.QueueID(one(g, g.queues...)), Priority: int32(g.IntN(2)),
		Groups: []berth.Group{{Members: one(g, 1, 1, 1, 2, 3), Claim: claim}},
	}
	if g.Chance(70) {
		j.Groups[0].Selector.Products = []string{one(g, products...)}
	}
	if g.Chance(10) {
		j.Groups[0].Selector.MinGPUMemoryMiB = 20_000
	}
	a := sim.Arrival{At: berth.Time(g.Int64N(int64(8 * berth.Minute))), Runtime: berth.Duration(g.Int64N(int64(2 * berth.Minute)))}
	if g.Chance(30) {
		a.At = 0
	}
	if g.Chance(30) {
		j.Service = &berth.Service{Replicas: one(g, 2, 10, 40)}
		g.at(a.At.Add(berth.Duration(g.Int64N(int64(4*berth.Minute)))), berth.JobCancelled{Job: id})
	}
	a.Event = berth.JobSubmitted{Job: j}
	g.list = append(g.list, a)
}
