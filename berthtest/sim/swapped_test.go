package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Where hardware goes and other hardware comes under its numbers and names, a core behaves as one
// that was restored on the way, and that never had what went.
func TestD2_SwappedHardware(t *testing.T) {
	t.Parallel()
	cases := map[string]int{}
	for seed := range drawn.Seeds(8) {
		config, options, list := worlds.NewGenerator(seed).Swapped()
		r := worlds.RunOf(config, options, list)
		must(t, r, seed)
		random, restores := rand.New(rand.NewPCG(seed, 35)), 0
		kinds := kindsThere{nodes: map[berth.NodeID]string{}, many: map[string]int{}, was: map[berth.NodeID]string{}, cases: cases}
		plain, twin := fresh(t, config), fresh(t, config)
		for i := range r.Log {
			require.Equal(t, tell(t, plain, &r.Log[i]), tell(t, twin, &r.Log[i]), "seed %d, step %d", seed, i)
			saved := snapshot(t, plain)
			sameState(t, saved, snapshot(t, twin), "seed %d, step %d", seed, i)
			require.NoError(t, plain.Check(), "seed %d, step %d", seed, i)
			if r.Log[i].Refused == nil {
				kinds.follow(r.Log[i].Event, restores)
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
