package topology_test

import (
	"fmt"

	"github.com/berth-sched/berth/topology"
)

func Example() {
	tree, err := topology.NewTree("spine", "leaf")
	if err != nil {
		fmt.Println(err)
		return
	}
	const h100 topology.NodeClass = 0
	for i, free := range []int{8, 3, 8, 0, 6, 8} {
		path := []string{"spine-a", fmt.Sprintf("leaf-%d", i/2)}
		n, err := tree.AddNode(fmt.Sprintf("node-%d", i), path, h100, 8)
		if err != nil {
			fmt.Println(err)
			return
		}
		tree.SetFree(n, free)
	}

	spine := tree.Children(topology.RootDomain)[0]
	for _, leaf := range tree.Children(spine) {
		fmt.Printf("%s: %d GPUs free, room for %d members of 4\n",
			tree.DomainString(leaf), tree.FreeOfClass(leaf, h100), tree.Capacity(leaf, h100, 4))
	}
	fmt.Println("nodes with 8 free, the fullest leaf first:")
	tree.Visit(topology.RootDomain, nil, h100, 8, func(n topology.NodeIndex) bool {
		fmt.Println(" ", tree.NodeName(n))
		return false
	})
	// Output:
	// spine-a/leaf-0: 11 GPUs free, room for 2 members of 4
	// spine-a/leaf-1: 8 GPUs free, room for 2 members of 4
	// spine-a/leaf-2: 14 GPUs free, room for 3 members of 4
	// nodes with 8 free, the fullest leaf first:
	//   node-2
	//   node-0
	//   node-5
}
