package nodegraph

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two sockets with two GPUs each, joined within the socket.
const rocmPairs = `
============================ ROCm System Management Interface ============================
================================ Weight between two GPUs =================================
       GPU0         GPU1         GPU2         GPU3         
GPU0   0            15           72           72           
GPU1   15           0            72           72           
GPU2   72           72           0            15           
GPU3   72           72           15           0            

================================= Hops between two GPUs ==================================
       GPU0         GPU1         GPU2         GPU3         
GPU0   0            1            3            3            
GPU1   1            0            3            3            
GPU2   3            3            0            1            
GPU3   3            3            1            0            

=============================== Link Type between two GPUs ===============================
       GPU0         GPU1         GPU2         GPU3         
GPU0   0            XGMI         PCIE         PCIE         
GPU1   XGMI         0            PCIE         PCIE         
GPU2   PCIE         PCIE         0            XGMI         
GPU3   PCIE         PCIE         XGMI         0            

======================================= Numa Nodes =======================================
GPU[0]		: (Topology) Numa Node: 0
GPU[0]		: (Topology) Numa Affinity: 0
GPU[1]		: (Topology) Numa Node: 0
GPU[1]		: (Topology) Numa Affinity: 0
GPU[2]		: (Topology) Numa Node: 1
GPU[2]		: (Topology) Numa Affinity: 1
GPU[3]		: (Topology) Numa Node: 1
GPU[3]		: (Topology) Numa Affinity: 1
================================== End of ROCm SMI Log ===================================
`

func TestROCm(t *testing.T) {
	spec, err := ParseROCm("topo.txt", rocmPairs)
	require.NoError(t, err)
	require.Empty(t, spec.Skipped)
	spec.Product = "AMD Instinct MI300X"
	g := graphOf(t, spec)
	require.Equal(t, []uint64{0b11, 0b1100}, g.islands)
	require.Equal(t, Link{Kind: PathSYS}, g.Link(0, 3))
	require.Equal(t, NUMANodeOf(1), g.NUMA(2))
	require.Equal(t, int64(64_000), g.AllReduceMBps(set(2, 3)))
	two, _ := g.Best(g.All()&^1, 2)
	require.Equal(t, members(set(2, 3)), members(two))

	for name, text := range map[string]string{
		"older words":     strings.NewReplacer("GPU[", "GPU ", "]\t", "\t").Replace(rocmPairs),
		"carriage return": strings.ReplaceAll(rocmPairs, "\n", "\r\n"),
		"without hops":    strings.Replace(rocmPairs, "Hops between two GPUs", "Weight between two GPUs", 1),
		"in a report":     "AMD Topology:\n" + rocmPairs + "\nHypervisor vendor: KVM\n",
	} {
		again, err := ParseROCm("topo.txt", text)
		require.NoError(t, err, name)
		require.Equal(t, name == "without hops", told(again, "no hops are told: each XGMI counts as a link of its own"))
		again.Product, again.Skipped = spec.Product, nil
		require.Equal(t, spec, again, name)
	}
	far, err := ParseROCm("topo.txt", strings.ReplaceAll(rocmPairs, "PCIE", "XGMI"))
	require.NoError(t, err)
	require.Equal(t, spec.Links, far.Links)
	require.Equal(t, []Skip{{File: "topo.txt", Line: 17, Reason: "XGMI over several hops joins no GPUs by itself", Count: 8}}, far.Skipped)
	more, err := ParseROCm("topo.txt", rocmPairs+"==== Link accessibility between two GPUs ====\nGPU0 True\n")
	require.NoError(t, err)
	require.Len(t, more.Skipped, 1)
	require.Contains(t, more.Skipped[0].Reason, "Link accessibility")
}

func TestROCmRefusals(t *testing.T) {
	for name, change := range map[string][2]string{
		"no table":       {rocmLinks, "Something else"},
		"table twice":    {"Weight between two GPUs", rocmLinks},
		"unknown link":   {"0            XGMI         PCIE", "0            CXL          PCIE"},
		"one way":        {"GPU1   XGMI", "GPU1   PCIE"},
		"self":           {"GPU0   0            XGMI", "GPU0   XGMI         XGMI"},
		"row order":      {"GPU2   PCIE", "GPU3   PCIE"},
		"short row":      {"GPU3   PCIE         PCIE         XGMI         0", "GPU3   PCIE         PCIE         XGMI"},
		"hops of others": {"GPU3   3            3            1            0", ""},
		"NUMA":           {"Numa Node: 1", "Numa Node: one"},
		"NUMA of what":   {"GPU[2]\t\t: (Topology) Numa Node", "GPU[x]\t\t: (Topology) Numa Node"},
	} {
		text := strings.Replace(rocmPairs, change[0], change[1], 1)
		require.NotEqual(t, rocmPairs, text, name)
		spec, err := ParseROCm("topo.txt", text)
		require.Zero(t, spec, name)
		var typed *Error
		require.ErrorAs(t, err, &typed, name)
		require.NotEmpty(t, typed.Reason)
	}
}

func FuzzParseROCm(f *testing.F) {
	f.Add(rocmPairs)
	f.Add("== " + rocmLinks + " ==\nGPU0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		requireParsed(t, text, ParseROCm)
	})
}
