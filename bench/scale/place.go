package scale

import (
	"math/rand/v2"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
)

// A decision places something and gives something back.
type decision func() bool

// placing places a request and gives the same back.
func placing(tb builder, gpus int, members, each int) decision {
	free := fill(gpus)
	if members > 1 {
		free = fillForGang(gpus)
	}
	fleet, _ := newFleet(tb, free)
	request, placement := gangOf(members, each), gang.Placement{}
	return func() bool { return fleet.Place(request, &placement) && fleet.ReleaseAll(&placement) == nil }
}

// churning gives back a GPU, or a node, that is drawn from the whole fleet, and
// places one of the same size.
func churning(tb builder, gpus, each int) decision {
	fleet, holds := newFleet(tb, fill(gpus))
	if each == gpusPerNode {
		holds = regroup(tb, fleet, holds)
	}
	request, placement := gangOf(1, each), gang.Placement{}
	random := rand.New(rand.NewPCG(4, uint64(gpus)))
	return func() bool {
		i := random.IntN(len(holds))
		if fleet.Release(holds[i]) != nil || !fleet.Place(request, &placement) {
			return false
		}
		holds[i] = placement.Members[0].Hold
		return true
	}
}

// regroup turns the holds of every node that is full into a single one, and
// returns those.
func regroup(tb builder, fleet *gang.Fleet, holds []gang.Hold) []gang.Hold {
	tb.Helper()
	var whole []gang.Hold
	for len(holds) > 0 {
		n := 1
		for n < len(holds) && holds[n].Node == holds[0].Node {
			n++
		}
		if n == gpusPerNode {
			h := gang.Hold{Node: holds[0].Node, GPUs: 1<<gpusPerNode - 1, Host: countable.Amounts{countable.CPUMilli: 96_000, countable.MemoryMiB: 1 << 20}}
			for _, part := range holds[:n] {
				must(tb, fleet.Release(part))
			}
			must(tb, fleet.Hold(h))
			whole = append(whole, h)
		}
		holds = holds[n:]
	}
	return whole
}
