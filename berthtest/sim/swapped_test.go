package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// swapping is world, in a third of which hardware goes for good and other hardware comes.
func (g *generator) swapping() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.world()
	if options.Seed%3 == 1 { // of the seed, so that the others are as they were
		options.Faults.Swap, options.Faults.Restore = 0.05, max(options.Faults.Restore, 0.05)
	}
	return config, options, list
}

// swapped draws a few nodes of few kinds, which are swapped all the time, and jobs that ask for
// this kind or that, in numbers that make some kinds dearer than others.
func (g *generator) swapped() (berth.Config, sim.Options, []sim.Arrival) {
	g.levels = one(g, nil, []string{"leaf"})
	config := berth.Config{Levels: g.levels}
	if g.chance(50) {
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
func (g *generator) asks(id berth.JobID, products []string) {
	claim := berth.WholeGPUs(one(g, 1, 1, 1, 2))
	if g.chance(30) {
		claim = berth.Claim{Share: &berth.Share{GPUMilli: one(g, 250, 500)}}
	}
	if g.chance(30) {
		claim.CPUMilli = 1000
	}
	j := berth.Job{
		ID: id, Queue: berth.QueueID(one(g, g.queues...)), Priority: int32(g.IntN(2)),
		Groups: []berth.Group{{Members: one(g, 1, 1, 1, 2, 3), Claim: claim}},
	}
	if g.chance(70) {
		j.Groups[0].Selector.Products = []string{one(g, products...)}
	}
	if g.chance(10) {
		j.Groups[0].Selector.MinGPUMemoryMiB = 20_000
	}
	a := sim.Arrival{At: berth.Time(g.Int64N(int64(8 * berth.Minute))), Runtime: berth.Duration(g.Int64N(int64(2 * berth.Minute)))}
	if g.chance(30) {
		a.At = 0
	}
	if g.chance(30) {
		j.Service = &berth.Service{Replicas: one(g, 2, 10, 40)}
		g.at(a.At.Add(berth.Duration(g.Int64N(int64(4*berth.Minute)))), berth.JobCancelled{Job: id})
	}
	a.Event = berth.JobSubmitted{Job: j}
	g.list = append(g.list, a)
}

// Where hardware goes and other hardware comes under its numbers and names, a core behaves as one
// that was restored on the way, and that never had what went.
func TestD2_SwappedHardware(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(8) {
		config, options, list := newGenerator(seed).swapped()
		r := runOf(config, options, list)
		r.must(t, seed)
		random, restores := rand.New(rand.NewPCG(seed, 35)), 0
		kinds := kindsThere{nodes: map[berth.NodeID]string{}, many: map[string]int{}, was: map[berth.NodeID]string{}, cases: cases}
		plain, twin := fresh(t, config), fresh(t, config)
		for i := range r.log {
			require.Equal(t, tell(t, plain, &r.log[i]), tell(t, twin, &r.log[i]), "seed %d, step %d", seed, i)
			saved := snapshot(t, plain)
			sameState(t, saved, snapshot(t, twin), "seed %d, step %d", seed, i)
			require.NoError(t, plain.Check(), "seed %d, step %d", seed, i)
			if r.log[i].refused == nil {
				kinds.follow(r.log[i].event, restores)
			}
			if random.IntN(4) == 0 {
				twin, restores = restored(t, saved), restores+1
			}
		}
	}
	t.Logf("%v", cases)
	covers(t, cases, aNodeAgain, aKindAgain, aKindAgainRestored, aNameAgain)
}

const (
	aNodeAgain         = "the number of a node is given again"
	aKindAgain         = "the number of a kind is given again"
	aKindAgainRestored = "the number of a kind is given again, and a core was restored since it was free"
	aNameAgain         = "the name of a node is given to another kind"
)

// kindsThere follows which kinds of hardware are in a fleet. As the core does, it takes a number
// that is free, of a node or of a kind, before a new one.
type kindsThere struct {
	nodes map[berth.NodeID]string
	many  map[string]int
	was   map[berth.NodeID]string
	// mostNodes and mostKinds are how many there ever were at a time; free is how often a core was
	// restored when the last kind went of which there was one node.
	mostNodes, mostKinds, free int

	cases map[string]int
}

func (k *kindsThere) follow(e berth.Event, restores int) {
	switch e := e.(type) {
	case berth.NodeLost:
		kind := k.nodes[e.Node]
		delete(k.nodes, e.Node)
		if k.many[kind]--; k.many[kind] == 0 {
			delete(k.many, kind)
			k.free = restores
		}
	case berth.NodeJoined:
		if k.nodes[e.Node.ID] == "" {
			k.joins(&e.Node, restores)
		}
	}
}

func (k *kindsThere) joins(n *berth.Node, restores int) {
	gpu := &n.GPUs[0]
	kind := fmt.Sprint(n.Pool, len(n.GPUs), gpu.Product, gpu.MemoryMiB, gpu.Clique != "")
	if len(k.nodes) < k.mostNodes {
		k.cases[aNodeAgain]++
	}
	if k.many[kind] == 0 && len(k.many) < k.mostKinds {
		k.cases[aKindAgain]++
		if restores > k.free {
			k.cases[aKindAgainRestored]++
		}
	}
	if was := k.was[n.ID]; was != "" && was != kind {
		k.cases[aNameAgain]++
	}
	k.nodes[n.ID], k.was[n.ID] = kind, kind
	k.many[kind]++
	k.mostNodes, k.mostKinds = max(k.mostNodes, len(k.nodes)), max(k.mostKinds, len(k.many))
}
