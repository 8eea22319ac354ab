package scale

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// instances is a fleet of divided H100s on which claims of the five classic profiles,
// with the small ones more often, were placed until one did not fit.
func instances(tb testing.TB, gpus int) (*gang.Fleet, []gang.Hold, []*gang.Request) {
	tb.Helper()
	product, _ := mig.Lookup("H100-80GB")
	lattice, err := mig.NewLattice(product)
	require.NoError(tb, err)
	fleet, err := gang.NewFleet("spine", "leaf")
	require.NoError(tb, err)
	for i := range gpus / gpusPerNode {
		n, err := fleet.AddNode(gang.NodeSpec{
			Name: nodeName(i), Path: domains(i), GPUs: gpusPerNode, GPUMemoryMiB: 80 << 10,
			Host: countable.Amounts{countable.CPUMilli: cpuMilli, countable.MemoryMiB: memoryMiB}, Lattice: lattice,
		})
		require.NoError(tb, err)
		for g := range gpusPerNode {
			require.NoError(tb, fleet.SetPartitioning(n, g, gang.PartitioningPerClaim, 0))
		}
	}
	var requests []*gang.Request
	for _, name := range []string{"1g.10gb", "1g.10gb", "1g.10gb", "2g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"} {
		parsed, err := mig.ParseProfileName(name)
		require.NoError(tb, err)
		p, _ := lattice.ProfileIndex(parsed)
		requests = append(requests, &gang.Request{Groups: []gang.Group{{
			Members: 1, Classes: []topology.NodeClass{0},
			Claim: gang.Claim{Instances: []gang.ClassProfile{{Index: p}}, Host: countable.Amounts{countable.CPUMilli: 1000, countable.MemoryMiB: 8 << 10}},
		}}})
	}
	random := rand.New(rand.NewPCG(5, uint64(gpus)))
	var holds []gang.Hold
	var placement gang.Placement
	for fleet.Place(requests[random.IntN(len(requests))], &placement) {
		holds = append(holds, placement.Members[0].Hold)
	}
	return fleet, holds, requests
}

// churningInstances gives back an instance that is drawn from the whole fleet, and places
// one of a profile that is drawn, if it fits, or else the same.
func churningInstances(tb testing.TB, gpus int) decision {
	fleet, holds, requests := instances(tb, gpus)
	var placement gang.Placement
	random := rand.New(rand.NewPCG(6, uint64(gpus)))
	return func() bool {
		i := random.IntN(len(holds))
		if fleet.Release(holds[i]) != nil {
			return false
		}
		if fleet.Place(requests[random.IntN(len(requests))], &placement) {
			holds[i] = placement.Members[0].Hold
			return true
		}
		return fleet.Hold(holds[i]) == nil
	}
}
