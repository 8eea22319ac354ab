package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A nest is a set of devices that are joined by something on PCIe that the others are not
// joined by, with the nests in it. Devices go by their rows in the matrix: GPUs first.
type nest struct {
	// level is what joins them: PIX for one switch, and so on up to NODE for the host
	// bridges of one NUMA node.
	level nodegraph.PathKind
	// inner nests, and single devices that are in none of them.
	inner   []*nest
	devices []int
}

// nests divides the devices of a machine by NUMA node, and those of each further.
func (m *machine) nests() []*nest {
	var nodes []*nest
	for _, part := range m.parts(m.everything(), nodegraph.PathNODE) {
		node := m.nest(part, nodegraph.PathNODE)
		if node.level > nodegraph.PathNODE {
			node = &nest{level: nodegraph.PathNODE, inner: []*nest{node}}
		}
		if len(part) == 1 {
			node = &nest{level: nodegraph.PathNODE, devices: part}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// everything is all devices.
func (m *machine) everything() []int {
	all := make([]int, len(m.GPUs)+len(m.NICs))
	for i := range all {
		all[i] = i
	}
	return all
}

// nest is the nest of devices that are joined at a level or nearer. A level that does
// not divide them has no nest of its own.
func (m *machine) nest(devices []int, level nodegraph.PathKind) *nest {
	for level < nodegraph.PathPIX && len(m.parts(devices, level+1)) == 1 {
		level++
	}
	n := &nest{level: level}
	if level == nodegraph.PathPIX {
		n.devices = devices
		return n
	}
	for _, part := range m.parts(devices, level+1) {
		if len(part) == 1 {
			n.devices = append(n.devices, part[0])
		} else {
			n.inner = append(n.inner, m.nest(part, level+1))
		}
	}
	return n
}

// parts are the sets of devices that paths of a level or nearer connect: those with GPUs
// first, in the order of their first devices.
func (m *machine) parts(devices []int, level nodegraph.PathKind) [][]int {
	var parts [][]int
	for _, d := range devices {
		joined := []int{d}
		parts = slices.DeleteFunc(parts, func(part []int) bool {
			if !slices.ContainsFunc(part, func(other int) bool { return m.path(d, other) >= level }) {
				return false
			}
			joined = append(joined, part...)
			return true
		})
		slices.Sort(joined)
		parts = append(parts, joined)
	}
	slices.SortFunc(parts, slices.Compare)
	return parts
}

// path is what the way between two devices over PCIe goes through.
func (m *machine) path(a, b int) nodegraph.PathKind {
	gpus := len(m.GPUs)
	switch a, b = min(a, b), max(a, b); {
	case b < gpus:
		return m.PCIe[a][b]
	case a < gpus:
		return m.NICs[b-gpus].Paths[a]
	}
	return m.NICs[a-gpus].NICs[b-gpus]
}

// all are the devices of a nest and the nests in it.
func (n *nest) all() []int {
	devices := slices.Clone(n.devices)
	for _, inside := range n.inner {
		devices = append(devices, inside.all()...)
	}
	slices.Sort(devices)
	return devices
}

// caption names what joins the devices.
func (m *machine) caption(n *nest) string {
	devices := n.all()
	switch n.level {
	case nodegraph.PathPIX:
		if m.oneAdapter(devices) {
			return "one adapter"
		}
		return "PCIe switch"
	case nodegraph.PathPXB:
		return "PCIe switches"
	case nodegraph.PathPHB:
		return "host bridge"
	}
	if first := devices[0]; first < len(m.GPUs) {
		g := &m.GPUs[first]
		if g.NUMANode == (berth.Ordinal{}) {
			return "host"
		}
		if g.CPUs != "" {
			return fmt.Sprintf("NUMA node %s · CPUs %s", g.NUMANode, g.CPUs)
		}
		return fmt.Sprintf("NUMA node %s", g.NUMANode)
	}
	if numa := m.NICs[devices[0]-len(m.GPUs)].NUMANode; numa != (berth.Ordinal{}) {
		return fmt.Sprintf("NUMA node %s", numa)
	}
	return "host"
}

// oneAdapter reports whether devices are functions of one: their addresses differ after
// the dot alone.
func (m *machine) oneAdapter(devices []int) bool {
	slot := ""
	for _, d := range devices {
		pci := ""
		if d >= len(m.GPUs) {
			pci, _, _ = strings.Cut(m.NICs[d-len(m.GPUs)].PCI, ".")
		}
		if pci == "" || slot != "" && slot != pci {
			return false
		}
		slot = pci
	}
	return true
}
