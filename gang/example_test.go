package gang_test

import (
	"fmt"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

func Example() {
	fleet, err := gang.NewFleet("leaf")
	if err != nil {
		fmt.Println(err)
		return
	}
	const h100 topology.Class = 0
	for i := range 6 {
		_, err := fleet.AddNode(gang.NodeSpec{
			Name: fmt.Sprintf("node-%d", i), Path: []string{fmt.Sprintf("leaf-%d", i/3)},
			Class: h100, GPUs: 8, GPUMemoryMiB: 81_559, CPUMilli: 192_000, MemoryMiB: 2 << 20,
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
				Count: members, Classes: []topology.Class{h100},
				Claim: gang.Claim{GPUs: 8, CPUMilli: 96_000, MemoryMiB: 1 << 20},
			}},
			Required: leaf,
		}
		if !fleet.Place(&request, &placement) {
			why, _ := fleet.Diagnose(&request)
			fmt.Printf("%d members: %d fit at most in one leaf, short of %s\n", members, why.MembersInDomain, why.Tightest)
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
	// 2 members: 1 fit at most in one leaf, short of GPUs
}
