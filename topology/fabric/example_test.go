package fabric_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/berth-sched/berth/topology"
	"github.com/berth-sched/berth/topology/fabric"
)

func Example() {
	const conf = `
SwitchName=leaf1 Nodes=gpu[01-02]
SwitchName=leaf2 Nodes=gpu[03-04]
SwitchName=spine Switches=leaf[1-2]
SwitchName=core  Switches=spine Nodes=login   # the login node hangs on the core
`
	f, err := fabric.ReadSlurmConf("topology.conf", strings.NewReader(conf))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Levels)
	for _, n := range f.Nodes {
		fmt.Println(n.Name, n.Path)
	}

	tree, err := f.Tree(func(n fabric.Node) (topology.NodeClass, int) {
		if n.Name == "login" {
			return 1, 0
		}
		return 0, 8
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	leaf, _ := tree.Lookup("core", "spine", "leaf1")
	fmt.Println(tree.DomainString(leaf), "has", len(tree.Nodes(leaf)), "nodes")

	// What Slurm reads: a switch has nodes or switches, not both.
	if err := fabric.WriteSlurmTree(os.Stdout, f); err != nil {
		fmt.Println(err)
	}

	_, err = fabric.ReadSlurmConf("broken.conf", strings.NewReader("SwitchName=core Switches=leaf[1-2]\n"))
	fmt.Println(err)
	// Output:
	// [core spine leaf]
	// gpu01 [core spine leaf1]
	// gpu02 [core spine leaf1]
	// gpu03 [core spine leaf2]
	// gpu04 [core spine leaf2]
	// login [core core-direct core-direct]
	// core/spine/leaf1 has 2 nodes
	// SwitchName=core Switches=core-direct,spine
	// SwitchName=core-direct Nodes=login
	// SwitchName=spine Switches=leaf[1-2]
	// SwitchName=leaf1 Nodes=gpu[01-02]
	// SwitchName=leaf2 Nodes=gpu[03-04]
	// fabric: broken.conf:1: Switches: the switch "leaf1" is described nowhere
}
