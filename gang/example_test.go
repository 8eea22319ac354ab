package gang_test

import (
	"fmt"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

func Example() {
	fleet, err := gang.NewFleet("leaf")
	if err != nil {
		fmt.Println(err)
		return
	}
	const h100 topology.NodeClass = 0
	for i := range 6 {
		_, err := fleet.AddNode(gang.NodeSpec{
			Name: fmt.Sprintf("node-%d", i), Path: []string{fmt.Sprintf("leaf-%d", i/3)},
			Class: h100, GPUs: 8, GPUMemoryMiB: 81_559, Host: countable.Amounts{countable.CPUMilli: 192_000, countable.MemoryMiB: 2 << 20},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	tree := fleet.Tree()
	leaf, _ := tree.Level("leaf")

	var placement gang.Placement
	for _, members := range []int{2, 3, 2} {
		request := gang.Request{
			Groups: []gang.Group{{
				Members: members, Classes: []topology.NodeClass{h100},
				Claim: gang.Claim{GPUs: 8, Host: countable.Amounts{countable.CPUMilli: 96_000, countable.MemoryMiB: 1 << 20}},
			}},
			Required: leaf,
		}
		if !fleet.Place(&request, &placement) {
			why, _ := fleet.Diagnose(&request)
			fmt.Printf("%d members: %d fit at most in one leaf, short of %s\n", members, why.MembersInDomain, why.Bottleneck)
			continue
		}
		fmt.Printf("%d members in %s:", members, tree.DomainString(placement.Domain))
		for _, m := range placement.Members {
			fmt.Printf(" %s", tree.NodeName(m.Hold.Node))
		}
		fmt.Println()
	}
	// Output:
	// 2 members in leaf-0: node-0 node-1
	// 3 members in leaf-1: node-3 node-4 node-5
	// 2 members: 1 fit at most in one leaf, short of gpus
}

// Instances of GPUs that are divided as members come and go.
func ExampleFleet_SetPartitioning() {
	product, _ := mig.Lookup("H100-80GB")
	lattice, err := mig.NewLattice(product)
	if err != nil {
		fmt.Println(err)
		return
	}
	fleet, _ := gang.NewFleet()
	node, err := fleet.AddNode(gang.NodeSpec{Name: "node-0", GPUs: 8, Lattice: lattice})
	if err != nil {
		fmt.Println(err)
		return
	}
	for gpu := range 2 {
		if err := fleet.SetPartitioning(node, gpu, gang.PartitioningPerClaim, 0); err != nil {
			fmt.Println(err)
			return
		}
	}
	var placement gang.Placement
	for _, name := range []string{"3g.40gb", "1g.10gb", "7g.80gb", "4g.40gb"} {
		parsed, _ := mig.ParseProfileName(name)
		profile, _ := lattice.ProfileIndex(parsed)
		request := gang.Request{Groups: []gang.Group{{
			Members: 1, Classes: []topology.NodeClass{0},
			Claim: gang.Claim{Instances: []gang.ClassProfile{{Class: 0, Index: profile}}},
		}}}
		if !fleet.Place(&request, &placement) {
			why, _ := fleet.Diagnose(&request)
			fmt.Printf("%s: short of %s\n", name, why.Bottleneck)
			continue
		}
		hold := placement.Members[0].Hold
		fmt.Printf("GPU set %02b: %s\n", hold.GPUs, hold.Instance)
	}
	fmt.Printf("%d whole GPUs free\n", fleet.Tree().Free(node))
	// Output:
	// GPU set 01: 3g.40gb@4:4
	// GPU set 01: 1g.10gb@0:1
	// GPU set 10: 7g.80gb@0:8
	// 4g.40gb: short of gpu-instances
	// 6 whole GPUs free
}
