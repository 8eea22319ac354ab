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

// Two cards with a bridge of NVLinks, as "lstopo --of xml" tells of them: the file has the
// bandwidth of all links between two GPUs together, and 1 TB/s from each to itself.
func ExampleParseHwloc() {
	spec, err := nodegraph.ParseHwloc("node-17.xml", `<topology version="2.0">
  <object type="Machine" os_index="0" gp_index="1">
    <object type="NUMANode" os_index="0" gp_index="2"/>
    <object type="Bridge" gp_index="3" bridge_type="0-1" bridge_pci="0000:[17-1a]">
      <object type="PCIDev" gp_index="4" pci_busid="0000:18:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692">
        <object type="OSDev" gp_index="5" name="nvml0" subtype="NVML" osdev_type="1">
          <info name="GPUModel" value="NVIDIA A100 80GB PCIe"/>
        </object>
      </object>
      <object type="PCIDev" gp_index="6" pci_busid="0000:19:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692">
        <object type="OSDev" gp_index="7" name="nvml1" subtype="NVML" osdev_type="1"/>
      </object>
    </object>
  </object>
  <distances2 type="OSDev" nbobjs="2" kind="9" name="NVLinkBandwidth" indexing="gp">
    <indexes length="4">5 7 </indexes>
    <u64values length="30">1000000 300000 300000 1000000 </u64values>
  </distances2>
</topology>`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Product, spec.Links[0][1], spec.GPUs[1].Bus, len(spec.Skipped))
	// Output:
	// NVIDIA A100 80GB PCIe NV12 0000:19:00.0 0
}
