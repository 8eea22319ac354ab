package nvmlsrc

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
)

// accepted tells a fresh core of the tables and the node.
func accepted(t require.TestingT, node berth.Node, tables ...mig.Product) error {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	for _, table := range tables {
		require.NoError(t, sched.Apply(0, berth.MIGTableSet{Table: table}))
	}
	return sched.Apply(0, berth.NodeJoined{Node: node})
}

func TestNodeOfHGXH100(t *testing.T) {
	node, err := inventoryOf(t, hgx()).Node("n1")
	require.NoError(t, err)
	require.Equal(t, berth.NodeID("n1"), node.ID)
	require.Len(t, node.GPUs, 8)
	require.Equal(t, berth.GPU{
		Product: "NVIDIA H100 80GB HBM3", MemoryMiB: 81_559,
		ComputeCapability: berth.ComputeCapability{Major: 9},
		UUID:              "GPU-233010de-0000-4000-8000-0000000000c3", PCI: "0000:c3:00.0",
		NUMANode: berth.OrdinalOf(1), Clique: "n1.nvlink0", MIGTable: "H100-80GB", Mode: berth.GPUModeWhole,
	}, node.GPUs[5])
	require.NoError(t, accepted(t, node))
	_, err = json.Marshal(node)
	require.NoError(t, err)
}

// A GPU that takes no work stays where it is, looks like the others, and is
// failed, so that the core takes the node and leaves the GPU alone.
func TestNodeWithGPUsOutOfWork(t *testing.T) {
	b := hgx()
	b.gpus[0].fail(queryDevice, lost)
	b.gpus[1].fail(queryProduct, noPermission)
	b.gpus[2].migNow = true
	b.gpus[2].links = nil
	b.gpus[2].fail(queryMIGInstances, noPermission)
	b.gpus[3].fab.completed = false
	node, err := inventoryOf(t, b).Node("n1")
	require.NoError(t, err)
	for i, g := range node.GPUs {
		require.Equal(t, i < 4, g.Failed, i)
		require.Equal(t, node.GPUs[7].Product, g.Product)
		require.Equal(t, node.GPUs[7].Clique, g.Clique)
		require.Equal(t, i >= 1, g.UUID != "")
	}
	require.NoError(t, accepted(t, node))
}

func TestNodeWithoutGPUs(t *testing.T) {
	node, err := Inventory{}.Node("n1")
	require.NoError(t, err)
	require.Equal(t, berth.Node{ID: "n1"}, node)

	b := hgx()
	for _, g := range b.gpus {
		g.fail(queryDevice, lost)
	}
	_, err = inventoryOf(t, b).Node("n1")
	require.ErrorIs(t, err, ErrUnknownGPU)
}

func TestCliques(t *testing.T) {
	cliques := func(b *FakeMachine) (names []string) {
		node, err := inventoryOf(t, b).Node("n1")
		require.NoError(t, err)
		for _, g := range node.GPUs {
			names = append(names, g.Clique)
		}
		return names
	}
	require.Equal(t, slices.Repeat([]string{""}, 8), cliques(hgx().unlink()))

	pairs := hgx().unlink()
	pairs.bridged(0, 1, 12)
	pairs.bridged(2, 3, 12)
	require.Equal(t, slices.Repeat([]string{""}, 8), cliques(pairs), "the core wants one for a node")
	node, err := inventoryOf(t, pairs).Node("n1")
	require.NoError(t, err)
	require.Equal(t, []string{"NV12", "X", "NODE", "NODE"}, node.Links[1][:4])
	require.NoError(t, accepted(t, node))

	// DGX-1: each GPU reaches four of the other seven.
	mesh := hgx().unlink()
	for _, edge := range [][2]int{
		{0, 1},
		{0, 2},
		{0, 3},
		{1, 2},
		{1, 3},
		{2, 3},
		{4, 5},
		{4, 6},
		{4, 7},
		{5, 6},
		{5, 7},
		{6, 7},
		{0, 4},
		{1, 5},
		{2, 6},
		{3, 7},
	} {
		mesh.bridged(edge[0], edge[1], 1)
	}
	require.Equal(t, slices.Repeat([]string{""}, 8), cliques(mesh))

	spanning := hgx()
	for _, g := range spanning.gpus {
		g.fab.cluster[0], g.fab.clique = 1, 9
	}
	require.Equal(t, slices.Repeat([]string{"01000000-0000-0000-0000-000000000000.9"}, 8), cliques(spanning))

	odd := Inventory{GPUs: []GPU{{Product: "X", NVLink: NVLink{Peers: []int{5}}}}}
	node, err = odd.Node("n1")
	require.NoError(t, err, "an inventory made by hand does no harm")
	require.Empty(t, node.GPUs[0].Clique)
}

// checkNode checks the node of any inventory: all GPUs in place, failed unless
// they work, and of one product.
func checkNode(t require.TestingT, v Inventory) {
	node, err := v.Node("n1")
	if err != nil {
		require.ErrorIs(t, err, ErrUnknownGPU)
		require.False(t, slices.ContainsFunc(v.GPUs, GPU.works))
		return
	}
	require.Len(t, node.GPUs, len(v.GPUs))
	for i, g := range node.GPUs {
		require.Equal(t, v.GPUs[i].works(), !g.Failed)
		require.Equal(t, node.GPUs[0].Product, g.Product)
		require.Equal(t, v.GPUs[i].MIG.Enabled && g.MIGTable != "", g.Mode == berth.GPUModeMIG)
		if !g.Failed && v.GPUs[i].MIG.Enabled {
			require.Len(t, g.Instances, len(v.GPUs[i].MIG.Instances))
		}
	}
	for i := range node.GPUs { // what NVLink says is not at issue here
		node.GPUs[i].Clique, node.GPUs[i].MemoryMiB, node.GPUs[i].ComputeCapability = "", 0, berth.ComputeCapability{}
	}
	require.NoError(t, accepted(t, node, v.Tables()...))
}

// MPS takes 60 clients since CUDA 13.1: the core assumes 48.
func TestClientsOfNewDrivers(t *testing.T) {
	for driver, want := range map[string]int{"550.54.15": 0, "580.95.05": 0, "590.44.01": 60, "615.10": 60, "": 0} {
		p := hgx()
		p.driver = driver
		node, err := inventoryOf(t, p).Node("n1")
		require.NoError(t, err)
		require.Equal(t, want, node.GPUs[7].MaxShares, driver)
	}
}
