package nodegraph_test

import (
	"fmt"

	"github.com/berth-sched/berth/topology/nodegraph"
)

// Four cards, bridged two by two, and one of the first pair in use.
func Example() {
	spec, err := nodegraph.ParseMatrix("node-17", `
	GPU0	GPU1	GPU2	GPU3	NIC0	CPU Affinity	NUMA Affinity
GPU0	 X 	NV12	SYS	SYS	PIX	0-31	0
GPU1	NV12	 X 	SYS	SYS	PIX	0-31	0
GPU2	SYS	SYS	 X 	NV12	SYS	32-63	1
GPU3	SYS	SYS	NV12	 X 	SYS	32-63	1

NIC Legend:

  NIC0: mlx5_0
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	spec.Product = "NVIDIA A100-PCIE-40GB"
	g, err := nodegraph.NewGraph(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	free := g.All() &^ 0b0001
	for k := 1; k <= 3; k++ {
		set, score := g.Best(free, k)
		fmt.Printf("%d: GPUs %04b, all-reduce %d MB/s\n", k, set, score.AllReduceMBps)
	}
	fmt.Println("GPU2 is on NUMA node", g.NUMA(2), "and leaves by", g.NIC(g.Rail(2)).Name)
	// Output:
	// 1: GPUs 0010, all-reduce 0 MB/s
	// 2: GPUs 1100, all-reduce 300000 MB/s
	// 3: GPUs 1110, all-reduce 15753 MB/s
	// GPU2 is on NUMA node 1 and leaves by mlx5_0
}
