// Package nodegraph knows how the GPUs of one node hang together: over NVLinks, over
// a switch, over PCIe; which NICs and which NUMA node are near to each; and so which
// k of the GPUs that are free make the best set.
//
// # Use
//
// The embedder's part:
//
//  1. Get a [Spec]: from the text of "nvidia-smi topo -m" with [ParseMatrix], of "rocm-smi
//     --showtopo" with [ParseROCm], of "amd-smi topology --json" with [ParseAMDTopology], of
//     "lstopo --of xml" with [ParseHwloc], from NCCL's topology XML with [ParseNCCL], or filled in
//     by hand from a driver. Look at its Skipped.
//  2. Set its Product, which no such text tells but hwloc's: it decides how fast a link is. Of
//     AMD's GPUs [ParseAMDGPUs] and [DescribeAMD] add it, with NUMA nodes.
//  3. Make a [Graph] with [NewGraph]. Keep one for all nodes that are alike: equal
//     [Graph.Key].
//  4. Ask.
//
// In short:
//
//	spec, err := nodegraph.ParseMatrix("node-17", text)
//	...
//	spec.Product = "NVIDIA H100 80GB HBM3"
//	g, err := nodegraph.NewGraph(spec)
//	...
//	set, score := g.Best(free, 4)
//	fmt.Printf("GPUs %b, %d MB/s\n", set, score.AllReduce)
//
// A set of GPUs is a word, in which bit i stands for GPU i; so is a set of NICs. Where only some
// sets may be used together, as NVIDIA's Fabric Manager hands them to virtual machines,
// [ParseFabricPartitions] and [NewAllowedSets] tell which, and [Graph.BestOf] chooses among them.
//
// # Units
//
// Rates are in MB/s, one way, where a GB is 1000 MB. Links carry as much in the other
// direction at the same time, and data sheets add the two up: the 900 GB/s of an H100
// are 450,000 here. One way is what a benchmark's bus bandwidth is measured in, and
// so the greatest value that [Graph.AllReduceMBps] can have is a GPU's NVLinks one way.
//
// # What is best
//
// The set whose all-reduce is fastest; of those the one with the most width among its
// pairs, on the fewest NUMA nodes, with the most NICs; of those the one that leaves
// the best sets whole for the next claim; of those the lowest indexes. [Graph.Best]
// and [Graph.AllReduceMBps] say precisely what that means. On a DGX-1 four GPUs are a quad
// of its cube mesh and two are joined by two links; of bridged cards two are a pair, and
// one comes from a pair that is broken already; of cards without NVLinks the ones below
// the same PCIe switch go first; and where all hang on an NVSwitch, the NUMA node and
// the index decide.
//
// # Cost
//
// New works everything out, once: see there. Up to 8 GPUs Best is a look-up of some
// nanoseconds, and up to 16 a search of some microseconds. Nothing but New, the readers
// and what returns a list allocates.
//
// A Graph never changes. Equal Specs give equal graphs and equal answers.
package nodegraph
