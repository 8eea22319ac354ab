package nodegraph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Tables of real boxes say what a human reads off them. A sample's file, and what it
// should give: the GPUs' NUMA nodes, links from GPU 0, islands, each GPU's nearest
// NICs, its rail, and the best sets with all free, by k.
var samples = []struct {
	file, product string
	numas         []int
	links         []string
	islands       []uint64
	nearest       []uint64
	rails         []int
	best          map[int]uint64
	allReduce     map[int]int64
}{
	{
		file: "dgx1-v100.txt", product: "V100",
		numas:   []int{0, 0, 0, 0, 1, 1, 1, 1}, // guessed from the CPUs
		links:   []string{"none", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"},
		islands: []uint64{0xff},
		nearest: []uint64{1, 1, 4, 4, 2, 2, 8, 8}, // columns are mlx5_0, _2, _1, _3
		rails:   []int{0, 0, 2, 2, 1, 1, 3, 3},
		best:    map[int]uint64{1: 1, 2: set(0, 3), 4: set(0, 1, 2, 3)},
		// 2 links; two rings through a quad; three through all.
		allReduce: map[int]int64{2: 50_000, 4: 100_000, 8: 150_000},
	},
	{
		file: "dgx1-v100-pcie-only-mp.txt", product: "V100",
		numas:     []int{0, 0, 0, 0, 1, 1, 1, 1},
		links:     []string{"none", "PIX", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS"},
		islands:   []uint64{1, 2, 4, 8, 16, 32, 64, 128},
		nearest:   []uint64{1, 1, 2, 2, 4, 4, 8, 8},
		rails:     []int{0, 0, 1, 1, 2, 2, 3, 3},
		best:      map[int]uint64{2: set(0, 1), 4: set(0, 1, 2, 3)},
		allReduce: map[int]int64{2: 15_753, 4: 13_074, 8: 7_876},
	},
	{
		file: "dgx-a100.txt", product: "A100",
		numas:     []int{3, 3, 1, 1, 7, 7, 5, 5},
		links:     []string{"none", "NVS12", "NVS12", "NVS12", "NVS12", "NVS12", "NVS12", "NVS12"},
		islands:   []uint64{0xff},
		nearest:   []uint64{0x3, 0x3, 0xc, 0xc, 0xc0, 0xc0, 0x300, 0x300},
		rails:     []int{0, 1, 2, 3, 6, 7, 8, 9}, // 4, 5, 10 and 11 are for storage
		best:      map[int]uint64{2: set(0, 1), 4: set(0, 1, 2, 3)},
		allReduce: map[int]int64{2: 300_000, 4: 300_000, 8: 300_000},
	},
	{
		file: "hgx-h100-80gb-sxm5.txt", product: "NVIDIA H100 80GB HBM3",
		numas:     []int{0, 0, 0, 0, 1, 1, 1, 1},
		links:     []string{"none", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18"},
		islands:   []uint64{0xff},
		nearest:   []uint64{1, 2, 4, 8, 1 << 6, 1 << 7, 1 << 8, 1 << 9},
		rails:     []int{0, 1, 2, 3, 6, 7, 8, 9},
		best:      map[int]uint64{2: set(0, 1), 4: set(0, 1, 2, 3)},
		allReduce: map[int]int64{2: 450_000, 8: 450_000},
	},
	{
		file: "hgx-h20-8nic.txt", product: "NVIDIA H20",
		numas:     []int{0, 0, 0, 0, 1, 1, 1, 1},
		links:     []string{"none", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18"},
		islands:   []uint64{0xff},
		nearest:   []uint64{1, 2, 4, 8, 16, 32, 64, 128},
		rails:     []int{0, 1, 2, 3, 4, 5, 6, 7},
		best:      map[int]uint64{4: set(0, 1, 2, 3)},
		allReduce: map[int]int64{8: 450_000},
	},
	{
		file: "hgx-nv18-8rail-single-numa.txt", product: "",
		numas:     []int{0, 0, 0, 0, 0, 0, 0, 0},
		links:     []string{"none", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18", "NVS18"},
		islands:   []uint64{0xff},
		nearest:   []uint64{1, 2, 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 11},
		rails:     []int{0, 1, 2, 5, 6, 7, 8, 11},
		best:      map[int]uint64{4: set(0, 1, 2, 3)},
		allReduce: map[int]int64{8: 450_000},
	},
	{
		file: "a100-pcie-nvlink-bridge-pairs.txt", product: "A100",
		numas:     []int{0, 0, 1, 1},
		links:     []string{"none", "NV12", "SYS", "SYS"},
		islands:   []uint64{0b11, 0b1100},
		nearest:   []uint64{0, 0, 0, 0},
		rails:     []int{-1, -1, -1, -1},
		best:      map[int]uint64{1: 1, 2: set(0, 1), 3: set(0, 1, 2)},
		allReduce: map[int]int64{2: 300_000, 3: 15_753, 4: 15_753},
	},
	{
		file: "a100-pcie-bridge-pairs-cross-numa.txt", product: "A100",
		numas:     []int{0, 1, 2, 3},
		links:     []string{"none", "NV12", "SYS", "SYS"},
		islands:   []uint64{0b11, 0b1100},
		nearest:   []uint64{0, 0, 0, 0},
		rails:     []int{-1, -1, -1, -1},
		best:      map[int]uint64{2: set(0, 1)},
		allReduce: map[int]int64{2: 300_000},
	},
	{
		file: "2gpu-phb-no-nvlink.txt", product: "L4",
		numas:     []int{0, 0},
		links:     []string{"none", "PHB"},
		islands:   []uint64{1, 2},
		nearest:   []uint64{0, 0},
		rails:     []int{-1, -1},
		best:      map[int]uint64{1: 1, 2: 0b11},
		allReduce: map[int]int64{2: 26_150},
	},
	{
		file: "gb200-4gpu.FIXTURE-NOT-VERIFIED.txt", product: "GB200", // without rows of NICs
		numas:     []int{0, 0, 1, 1},
		links:     []string{"none", "NVS18", "NVS18", "NVS18"},
		islands:   []uint64{0b1111},
		nearest:   []uint64{0x3f, 0x3f, 0x3f, 0x3f},
		rails:     []int{0, 1, 2, 3},
		best:      map[int]uint64{2: set(0, 1), 4: 0b1111},
		allReduce: map[int]int64{4: 900_000},
	},
}

func TestSampleMatrices(t *testing.T) {
	for _, sample := range samples {
		t.Run(sample.file, func(t *testing.T) {
			spec, err := ParseMatrix(sample.file, shared(t, sample.file))
			require.NoError(t, err)
			spec.Product = sample.product
			g := graphOf(t, spec)
			require.Equal(t, len(sample.numas), g.GPUs())
			for gpu := range g.GPUs() {
				require.Equal(t, sample.numas[gpu], number(g.NUMA(gpu)), "GPU %d", gpu)
				require.Equal(t, sample.links[gpu], g.Link(0, gpu).String(), "GPU %d", gpu)
				require.Equal(t, sample.nearest[gpu], g.NearestNICs(gpu), "GPU %d", gpu)
			}
			require.Equal(t, sample.islands, g.islands)
			require.Equal(t, sample.rails, g.Rails())
			for k, want := range sample.best {
				got, _ := g.Best(g.All(), k)
				require.Equal(t, members(want), members(got), "best %d", k)
			}
			for k, want := range sample.allReduce {
				_, score := g.Best(g.All(), k)
				require.Equal(t, want, score.AllReduceMBps, "best %d", k)
			}
			for free := range g.All() + 1 {
				for k := 1; k <= min(4, g.GPUs()); k++ {
					got, _ := g.Best(free, k)
					require.Equal(t, free&got, got)
				}
			}
		})
	}
}

// Every sample is what trying everything finds, too: pairs of one box are enough.
func TestSampleMatricesTwin(t *testing.T) {
	for _, file := range []string{"dgx1-v100.txt", "dgx1-v100-pcie-only-mp.txt", "hgx-h100-80gb-sxm5.txt", "dgx-a100.txt"} {
		g := matrix(t, "", shared(t, file))
		for _, free := range []uint64{0xff, 0xfe, 0xf7, 0x5a, 0x7b, 0xe7, 0x1c} {
			for _, k := range []int{1, 2, 3, 4} {
				got, _ := g.Best(free, k)
				require.Equal(t, members(slowBest(g, free, k)), members(got), "%s: %d of %b", file, k, free)
			}
		}
	}
}

func TestSampleNCCL(t *testing.T) {
	_, err := ParseNCCL("ncv4-graph.xml", shared(t, "nccl_xml/ncv4-graph.xml"))
	require.ErrorIs(t, err, ErrNCCLGraph)

	for _, sample := range []struct {
		file  string
		gpus  int
		first string // bus address of GPU 0
		numas []int
		rails []int
		links []string // from GPU 0
		pcie  int64
	}{
		{
			file: "ncv4-topo.xml", gpus: 4, first: "0001:00:00.0", numas: []int{0, 1, 2, 3}, rails: []int{0, 0, 0, 0},
			links: []string{"none", "SYS", "SYS", "SYS"}, pcie: pcieRate(80, 16), // its NVLinks lead from each GPU to itself
		},
		{
			file: "ndv2-topo.xml", gpus: 8, first: "0001:00:00.0", numas: []int{0, 0, 0, 0, 1, 1, 1, 1}, rails: make([]int, 8),
			links: []string{"none", "PHB", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS"}, pcie: pcieRate(160, 16),
		},
		{
			file: "ndv4-topo.xml", gpus: 8, first: "0001:00:00.0", numas: []int{1, 1, 0, 0, 3, 3, 2, 2}, rails: []int{2, 3, 0, 1, 6, 7, 4, 5},
			links: []string{"none", "PIX", "SYS", "SYS", "SYS", "SYS", "SYS", "SYS"}, pcie: pcieRate(160, 16),
		},
		{
			file: "ndv5-topo.xml", gpus: 8, first: "0001:00:00.0", numas: []int{0, 0, 0, 0, 1, 1, 1, 1}, rails: []int{0, 1, 2, 3, 4, 5, 6, 7},
			links: []string{"none", "PHB", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS"}, pcie: pcieRate(320, 16),
		},
	} {
		t.Run(sample.file, func(t *testing.T) {
			spec, err := ParseNCCL(sample.file, shared(t, "nccl_xml/"+sample.file))
			require.NoError(t, err)
			require.Equal(t, sample.first, spec.GPUs[0].Bus)
			g := graphOf(t, spec)
			require.Equal(t, sample.gpus, g.GPUs())
			for gpu := range g.GPUs() {
				require.Equal(t, sample.numas[gpu], number(g.NUMA(gpu)))
				require.Equal(t, sample.links[gpu], g.Link(0, gpu).String())
				require.Equal(t, sample.pcie, g.gpus[gpu].PCIeMBps)
			}
			require.Equal(t, sample.rails, g.Rails())
		})
	}
}
