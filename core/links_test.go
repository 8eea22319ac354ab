package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// bridged is the matrix of a node with so many GPUs, bridged in pairs over NVLink; the
// pairs reach each other over PCIe.
func bridged(gpus int) [][]string {
	var links [][]string
	for i := range gpus {
		var row []string
		for j := range gpus {
			switch {
			case i == j:
				row = append(row, "X")
			case i/2 == j/2:
				row = append(row, "NV4")
			default:
				row = append(row, "SYS")
			}
		}
		links = append(links, row)
	}
	return links
}

func pairs(id berth.NodeID) berth.Node {
	n := berth.Node{ID: id, Links: bridged(4)}
	for range 4 {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "A100-PCIE-40GB"})
	}
	return n
}

// Members get the GPUs that reach each other best, and leave pairs whole.
func TestMembersGetTheBestGPUs(t *testing.T) {
	h := newHarbour(t, berth.Config{})
	h.tell(berth.NodeJoined{Node: pairs("n")})
	one := h.job("one", 1, 1, berth.Hour)
	h.minute()
	two := h.job("two", 1, 2, berth.Hour)
	h.minute()
	last := h.job("last", 1, 1, berth.Hour)
	h.minute()
	require.Equal(t, berth.GPUSetOf(0), h.binds[one].Members[0].GPUs)
	require.Equal(t, berth.GPUSetOf(2, 3), h.binds[two].Members[0].GPUs, "the pair that is whole")
	require.Equal(t, berth.GPUSetOf(1), h.binds[last].Members[0].GPUs)
	require.Equal(t, berth.MBps(100_000), h.explain(two).Bandwidth.AllReduce, "four links of 25 GB/s")
	require.Equal(t, berth.Bandwidth{}, *h.explain(one).Bandwidth)

	// Without links the lowest indexes are as good as any.
	n := pairs("n")
	n.Links = nil
	for _, id := range []berth.JobID{one, two, last} {
		h.tell(berth.JobCancelled{Job: id})
	}
	h.passes(h.core.Now())
	h.tell(berth.NodeUpdated{Node: n})
	h.job("three", 1, 1, berth.Hour)
	h.minute()
	h.job("four", 1, 2, berth.Hour)
	h.minute()
	require.Equal(t, berth.GPUSetOf(1, 2), h.binds["four"].Members[0].GPUs)
	require.Less(t, h.explain("four").Bandwidth.AllReduce, berth.MBps(100_000))
}

// The figures that people know: 450 GB/s one way over the NVLinks of an H100, 50 GB/s
// for each NIC of 400G, and half of that behind an uplink of 2:1.
func TestBandwidths(t *testing.T) {
	h := newHarbour(t, berth.Config{
		Levels: []string{"spine", "leaf"},
		Fabric: berth.Fabric{Oversubscription: []berth.Oversubscription{{Level: "leaf", RatioMilli: 2000}}},
	})
	h.nodes("a", 3, "s", "a")
	h.nodes("b", 3, "s", "b")
	estimate := func(members, gpus int, change ...func(*berth.Job)) berth.Bandwidth {
		id := h.job(fmt.Sprint("job-", h.core.Now()), members, gpus, berth.Hour, change...)
		h.minute()
		require.NotZero(t, h.started[id])
		b := *h.explain(id).Bandwidth
		h.tell(berth.JobCancelled{Job: id})
		h.passes(h.core.Now())
		return b
	}
	require.Equal(t, berth.Bandwidth{AllReduce: 450_000, Best: 450_000, Tensor: 450_000}, estimate(1, 8))
	require.Equal(t, berth.Bandwidth{AllReduce: 450_000, Best: 450_000}, estimate(8, 1), "all on one node")
	require.Equal(t, berth.Bandwidth{AllReduce: 400_000, Best: 400_000, Tensor: 450_000}, estimate(3, 8), "one leaf")
	require.Equal(t, berth.Bandwidth{AllReduce: 200_000, Best: 400_000, Tensor: 450_000}, estimate(4, 8), "a straggler behind 2:1")
	even := func(j *berth.Job) { j.Groups[0].Topology.Balance = "leaf" }
	require.Equal(t, berth.MBps(400_000), estimate(4, 8, even).AllReduce, "two and two")
	require.Equal(t, "450 GB/s", berth.MBps(450_000).String())
}

// Over an island of several nodes traffic never leaves NVLink.
func TestBandwidthInAnIsland(t *testing.T) {
	h := newHarbour(t, berth.Config{Levels: []string{"block"}, Fabric: berth.Fabric{IslandLevel: "block"}})
	for tray := range 8 {
		n := berth.Node{ID: berth.NodeID(fmt.Sprint("tray-", tray)), Domains: []string{fmt.Sprint("b", tray/4)}}
		for range 4 {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "GB200", Clique: n.Domains[0]})
			n.NICs = append(n.NICs, berth.NIC{Name: fmt.Sprint("nic", len(n.NICs)), MbitPerSecond: 400_000})
		}
		h.tell(berth.NodeJoined{Node: n})
	}
	segments := func(j *berth.Job) {
		j.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "block"}}
	}
	inside := h.job("inside", 4, 4, berth.Hour, segments)
	h.minute()
	require.Equal(t, berth.Bandwidth{AllReduce: 900_000, Best: 900_000, Tensor: 900_000}, *h.explain(inside).Bandwidth)
	h.tell(berth.JobCancelled{Job: inside})
	h.minute()
	across := h.job("across", 8, 4, berth.Hour, segments)
	h.minute()
	require.Equal(t, berth.Bandwidth{AllReduce: 800_000, Best: 800_000, Tensor: 900_000}, *h.explain(across).Bandwidth, "the NICs of four trays")
}
