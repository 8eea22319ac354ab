package nodegraph

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// cube is the hybrid cube mesh of a DGX-1: two quads with doubled edges, and an edge
// between the quads from each GPU. NICs and NUMA nodes as in the real box.
const cube = `	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7	NIC0	NIC1	NIC2	NIC3	CPU Affinity	NUMA Affinity
GPU0	 X 	NV1	NV1	NV2	NV2	SYS	SYS	SYS	PIX	PHB	SYS	SYS	0-19	0
GPU1	NV1	 X 	NV2	NV1	SYS	NV2	SYS	SYS	PIX	PHB	SYS	SYS	0-19	0
GPU2	NV1	NV2	 X 	NV2	SYS	SYS	NV1	SYS	PHB	PIX	SYS	SYS	0-19	0
GPU3	NV2	NV1	NV2	 X 	SYS	SYS	SYS	NV1	PHB	PIX	SYS	SYS	0-19	0
GPU4	NV2	SYS	SYS	SYS	 X 	NV1	NV1	NV2	SYS	SYS	PIX	PHB	20-39	1
GPU5	SYS	NV2	SYS	SYS	NV1	 X 	NV2	NV1	SYS	SYS	PIX	PHB	20-39	1
GPU6	SYS	SYS	NV1	SYS	NV1	NV2	 X 	NV2	SYS	SYS	PHB	PIX	20-39	1
GPU7	SYS	SYS	SYS	NV1	NV2	NV1	NV2	 X 	SYS	SYS	PHB	PIX	20-39	1
NIC0	PIX	PIX	PHB	PHB	SYS	SYS	SYS	SYS	 X 	PHB	SYS	SYS
NIC1	PHB	PHB	PIX	PIX	SYS	SYS	SYS	SYS	PHB	 X 	SYS	SYS
NIC2	SYS	SYS	SYS	SYS	PIX	PIX	PHB	PHB	SYS	SYS	 X 	PHB
NIC3	SYS	SYS	SYS	SYS	PHB	PHB	PIX	PIX	SYS	SYS	PHB	 X

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
  NIC2: mlx5_2
  NIC3: mlx5_3
`

// matrix makes a graph of a table.
func matrix(t testing.TB, product, text string) *Graph {
	t.Helper()
	spec, err := ParseMatrix("table", text)
	require.NoError(t, err)
	spec.Product = product
	return graphOf(t, spec)
}

func graphOf(t testing.TB, spec Spec) *Graph {
	t.Helper()
	g, err := NewGraph(spec)
	require.NoError(t, err)
	return g
}

// node makes a Spec of n GPUs with the links that a function says, in nvidia-smi's
// words, and so many GPUs on a NUMA node.
func node(t testing.TB, product string, n, perNUMA int, link func(a, b int) string) Spec {
	t.Helper()
	spec := Spec{Product: product, Links: make([][]Link, n)}
	for a := range n {
		spec.GPUs = append(spec.GPUs, GPUSpec{NUMA: NUMANodeOf(a / perNUMA)})
		spec.Links[a] = make([]Link, n)
		for b := range n {
			if a != b {
				parsed, err := ParseLink(link(min(a, b), max(a, b)))
				require.NoError(t, err)
				spec.Links[a][b] = parsed
			}
		}
	}
	return spec
}

// bridged is a box of PCIe cards, each two of them under a bridge.
func bridged(t testing.TB, product string, n int) *Graph {
	t.Helper()
	return graphOf(t, node(t, product, n, n/2, func(a, b int) string {
		switch {
		case a/2 == b/2:
			return "NV12"
		case a/(n/2) == b/(n/2):
			return "NODE"
		}
		return "SYS"
	}))
}

// switched is a baseboard on which all GPUs hang on a switch.
func switched(t testing.TB, product, link string, n int) *Graph {
	t.Helper()
	return graphOf(t, node(t, product, n, (n+1)/2, func(int, int) string { return link }))
}

// pcieOnly is a box of cards under switches of two, two switches to a host bridge.
func pcieOnly(t testing.TB, n int) *Graph {
	t.Helper()
	return graphOf(t, node(t, "NVIDIA L40S", n, max(n/2, 1), func(a, b int) string {
		switch {
		case a/2 == b/2:
			return "PIX"
		case a/4 == b/4:
			return "PHB"
		case a/(n/2) == b/(n/2):
			return "NODE"
		}
		return "SYS"
	}))
}

// set is the set of some GPUs.
func set(gpus ...int) uint64 {
	s := uint64(0)
	for _, gpu := range gpus {
		s |= 1 << gpu
	}
	return s
}

// drawSpec draws any Spec of so many GPUs.
func drawSpec(rt *rapid.T, low, high int, words []string) Spec {
	n := rapid.IntRange(low, high).Draw(rt, "gpus")
	spec := Spec{Links: make([][]Link, n)}
	for a := range n {
		spec.GPUs = append(spec.GPUs, GPUSpec{NUMA: NUMANodeOf(rapid.IntRange(-1, 2).Draw(rt, "numa"))})
		spec.Links[a] = make([]Link, n)
		for b := range a {
			link, err := ParseLink(rapid.SampledFrom(words).Draw(rt, "link"))
			if err != nil {
				rt.Fatal(err)
			}
			spec.Links[a][b], spec.Links[b][a] = link, link
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(rt, "nics") {
		nic := NICSpec{Name: "mlx5_" + strconv.Itoa(i), Paths: make([]PathKind, n)}
		for gpu := range n {
			nic.Paths[gpu] = PathKind(rapid.IntRange(int(PathSYS), int(PathPIX)).Draw(rt, "path"))
		}
		spec.NICs = append(spec.NICs, nic)
	}
	return spec
}

// shared reads a file of the reference data, or skips.
func shared(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../shared/data/topo", filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		t.Skip("the reference data ../shared/data/topo/" + name + " is not beside the repository")
	}
	require.NoError(t, err)
	return string(data)
}

// table writes a Spec as nvidia-smi would.
func table(spec Spec) string {
	var b strings.Builder
	for i := range spec.GPUs {
		b.WriteString("\tGPU" + strconv.Itoa(i))
	}
	for i := range spec.NICs {
		b.WriteString("\tNIC" + strconv.Itoa(i))
	}
	b.WriteString("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n")
	for a, gpu := range spec.GPUs {
		b.WriteString("GPU" + strconv.Itoa(a))
		for c, link := range spec.Links[a] {
			if a == c {
				b.WriteString("\t X ")
			} else {
				b.WriteString("\t" + link.String())
			}
		}
		for _, nic := range spec.NICs {
			b.WriteString("\t" + nic.Paths[a].String())
		}
		cpus, numa := "N/A", "N/A"
		if gpu.NUMA != (NUMANode{}) {
			cpus, numa = "0-7", gpu.NUMA.String()
		}
		b.WriteString("\t" + cpus + "\t" + numa + "\t\tN/A\n")
	}
	for i, nic := range spec.NICs {
		b.WriteString("NIC" + strconv.Itoa(i))
		for _, kind := range nic.Paths {
			b.WriteString("\t" + kind.String())
		}
		for j := range spec.NICs {
			if i == j {
				b.WriteString("\t X ")
			} else {
				b.WriteString("\tNODE")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n")
	for i, nic := range spec.NICs {
		b.WriteString("  NIC" + strconv.Itoa(i) + ": " + nic.Name + "\n")
	}
	return b.String()
}
