package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/core"
)

const spotHeader = "gpu_model,gpu_capacity_num,cpu_num,node_name\n"

func TestSpotNodes(t *testing.T) {
	nodes, err := workload.ReadSpotNodes("nodes.csv", strings.NewReader(spotHeader+"GPU-series-1,2,192,0\nA10,1,128,2\n"))
	require.NoError(t, err)
	unknown := berth.GPU{Product: "GPU-series-1"}
	require.Equal(t, []berth.Node{
		{ID: "0", CPUMilli: 192_000, GPUs: []berth.GPU{unknown, unknown}},
		{ID: "2", CPUMilli: 128_000, GPUs: []berth.GPU{{
			Product: "A10", MemoryMiB: 24 << 10, ComputeCapability: berth.ComputeCapability{Major: 8, Minor: 6},
		}}},
	}, nodes)

	_, err = workload.ReadSpotNodes("nodes.csv", strings.NewReader(spotHeader+"A10,65,128,2\n"))
	var e *workload.TraceError
	require.ErrorAs(t, err, &e)
	require.Equal(t, workload.TraceError{
		File: "nodes.csv", Line: 2, Column: 5, Field: "gpu_capacity_num", Reason: "65 is more than 64", Kind: workload.ErrValue,
	}, *e)
}

// TestSpotTrace reads the published file, where it is beside the repository.
func TestSpotTrace(t *testing.T) {
	nodes, err := workload.SpotNodes(realTrace(t, "alibaba-v2026-spot", "node_info_df.csv.gz"))
	require.NoError(t, err)
	require.Len(t, nodes, 4278)
	gpus := map[string]int{}
	for _, n := range nodes {
		gpus[n.GPUs[0].Product] += len(n.GPUs)
	}
	require.Equal(t, map[string]int{
		"GPU-series-1": 1558, "A10": 2494, "A100-SXM4-80GB": 3456, "GPU-series-2": 976, "H800": 1752, "A800-SXM4-80GB": 176,
	}, gpus)
	joinAll(t, berth.Config{}, nodes)
}

// TestLingjunFleet has a core take all hosts of the published file.
func TestLingjunFleet(t *testing.T) {
	machine := berth.Node{GPUs: []berth.GPU{{Product: "A100-80GB"}, {Product: "A100-80GB"}}}
	config, nodes, err := workload.Lingjun(realTrace(t, "lingjun", "topo.csv.gz"), machine)
	require.NoError(t, err)
	require.Equal(t, []string{"core", "spine", "leaf"}, config.Levels)
	require.Len(t, nodes, 847)
	joinAll(t, config, nodes)
}

// joinAll has nodes join a core.
func joinAll(t *testing.T, config berth.Config, nodes []berth.Node) {
	t.Helper()
	sched, err := core.New(config)
	require.NoError(t, err)
	for _, n := range nodes {
		require.NoError(t, sched.Apply(0, berth.NodeJoined{Node: n}))
	}
	require.Equal(t, len(nodes), sched.Report().Nodes.All)
}

func FuzzSpotNodes(f *testing.F) {
	f.Add(spotHeader + "A10,1,128,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := workload.ReadSpotNodes("nodes.csv", strings.NewReader(text))
		if err != nil {
			var e *workload.TraceError
			require.ErrorAs(t, err, &e)
			require.Positive(t, e.Line)
			return
		}
		sched, err := core.New(berth.Config{})
		require.NoError(t, err)
		for _, n := range nodes {
			if err := sched.Apply(0, berth.NodeJoined{Node: n}); err != nil {
				require.ErrorIs(t, err, berth.ErrDuplicate)
			}
		}
	})
}
