package topo

import (
	"fmt"
	"os"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/topology/fabric"
)

// A maker makes one of the fleets.
type maker struct {
	name  string
	fleet func(*Options) (*fleet, error)
}

// lingjun is the fleet that is read from a file.
const lingjun = "lingjun"

var makers = []maker{{"h100", h100Fleet}, {"nvl72", nvl72Fleet}, {lingjun, lingjunFleet}, {"mixed", mixedFleet}}

// h100Fleet is 500 nodes of 8 H100 behind rail leaves: a scalable unit of 32 nodes
// has a leaf for each of the eight rails, four units share a spine.
func h100Fleet(*Options) (*fleet, error) {
	config := berth.Config{
		Levels: []string{"spine", "su"},
		Fabric: berth.Fabric{RailLevel: "su", Oversubscription: []berth.Oversubscription{{Level: "spine", RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	for i := range 500 {
		su := i / 32
		nodes = append(nodes, machine.H100.Node(fmt.Sprintf("node-%03d", i), fmt.Sprintf("spine-%d", su/4), fmt.Sprintf("su-%02d", su)))
	}
	return newFleet("h100", "500 nodes of 8 H100 and 8 NICs of 400G; 32 nodes to an su with a leaf for each rail, 4 sus to a spine, 2:1 above spines", config, nodes)
}

// nvl72Fleet is the one of the experiment nvl72.
func nvl72Fleet(*Options) (*fleet, error) {
	config := berth.Config{
		Levels: []string{machine.LevelUnit, machine.LevelBlock},
		Fabric: berth.Fabric{IslandLevel: machine.LevelBlock, Oversubscription: []berth.Oversubscription{{Level: machine.LevelUnit, RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	for i := range 5000 {
		nodes = append(nodes, machine.Tray(i))
	}
	return newFleet("nvl72", "5,000 trays of 4 GB200 and 4 NICs of 400G; 18 trays to a block, which is an NVLink island, 8 blocks to an su, 2:1 above sus", config, nodes)
}

// lingjunFleet is Alibaba's Lingjun cluster as its trace of 2023 tells it. The file
// does not say what is in a host; see machine.A100Lingjun.
func lingjunFleet(o *Options) (*fleet, error) {
	file, err := os.Open(o.Lingjun)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	read, err := fabric.ReadLingjun(o.Lingjun, file)
	if err != nil {
		return nil, err
	}
	config := berth.Config{
		Levels: read.Levels,
		Fabric: berth.Fabric{Oversubscription: []berth.Oversubscription{{Level: read.Levels[len(read.Levels)-1], RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	for _, n := range read.Nodes {
		nodes = append(nodes, machine.A100Lingjun.Node(n.Name, n.Path...))
	}
	return newFleet("lingjun", fmt.Sprintf("the %d hosts of Alibaba's Lingjun Clos, an uneven one; 8 A100 and 4 NICs of 200G assumed, 2:1 above leaves assumed", len(nodes)), config, nodes)
}

// mixedFleet has three products, each in leaves of its own: 8 H100, 8 A100, and 4 L40S
// without NVLink.
func mixedFleet(*Options) (*fleet, error) {
	config := berth.Config{
		Levels: []string{"spine", "leaf"},
		Fabric: berth.Fabric{Oversubscription: []berth.Oversubscription{{Level: "leaf", RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	leaf := 0
	for _, part := range []struct {
		box   machine.Box
		count int
	}{{machine.H100, 384}, {machine.A100, 384}, {machine.L40S, 256}} {
		for i := range part.count {
			at := leaf + i/16
			nodes = append(nodes, part.box.Node(fmt.Sprintf("%s-%03d", part.box.Short, i), fmt.Sprintf("spine-%d", at/8), fmt.Sprintf("leaf-%02d", at)))
		}
		leaf += part.count / 16
	}
	return newFleet("mixed", "384 nodes of 8 H100, 384 of 8 A100, 256 of 4 L40S without NVLink; 16 nodes to a leaf, 8 leaves to a spine, 2:1 above leaves", config, nodes)
}
