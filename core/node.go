package core

import (
	"github.com/berth-sched/berth"
)

// maxShares is how many members may share a GPU of the node.
func maxShares(n *berth.Node) int {
	if len(n.GPUs) == 0 {
		return 0
	}
	switch g := &n.GPUs[0]; {
	case g.MaxShares > 0:
		return g.MaxShares
	case g.ComputeCapability.Major > 0 && g.ComputeCapability.Major < 7:
		return 16
	}
	return 48
}

// sameShape reports whether two descriptions of a node differ only in what may
// change under running members: labels, host capacity, NICs and the GPUs' names
// and health.
func sameShape(n *berth.Node, m *berth.Node) bool {
	if n.ID != m.ID || n.Pool != m.Pool || len(n.GPUs) != len(m.GPUs) || len(n.Domains) != len(m.Domains) {
		return false
	}
	for i := range n.Domains {
		if n.Domains[i] != m.Domains[i] {
			return false
		}
	}
	if len(n.GPUs) == 0 {
		return true
	}
	a, b := &n.GPUs[0], &m.GPUs[0]
	return a.Product == b.Product && a.MemoryMiB == b.MemoryMiB && a.Table == b.Table && a.MaxShares == b.MaxShares && a.ComputeCapability == b.ComputeCapability && (a.Clique == "") == (b.Clique == "")
}
