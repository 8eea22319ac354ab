package nvmlsrc

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A pciPlace is where a device hangs: its path in sysfs from the host bridge down, the
// device itself last, and its NUMA node. No path: not known.
type pciPlace struct {
	path []string
	numa berth.Ordinal
}

// between is what the path from one device to another goes through.
func between(a, b pciPlace) nodegraph.PathKind {
	return nodegraph.PathOverPCI(a.path, b.path, a.numa == b.numa)
}

// splitPath returns the part of a path in sysfs that is PCI: from the host bridge, such
// as pci0000:15, on for as long as there are addresses. Empty: the device is not on PCI.
func splitPath(target string) []string {
	parts := strings.Split(target, "/")
	for len(parts) > 0 && !strings.HasPrefix(parts[0], "pci") {
		parts = parts[1:]
	}
	for i := 1; i < len(parts); i++ {
		if strings.Count(parts[i], ":") != 2 {
			return parts[:i]
		}
	}
	return parts
}

// pciPathOf reads where the file that a link in sysfs leads to hangs.
func pciPathOf(sys fs.FS, name string) ([]string, error) {
	target, err := fs.ReadLink(sys, name)
	if err != nil {
		return nil, err
	}
	return splitPath(target), nil
}

// numaNode reads a device's NUMA node. Where the platform has told the kernel of none, as in
// a virtual machine, the kernel says -1. Then it is the only node of the machine, or not known.
func numaNode(sys fs.FS, folder string) (berth.Ordinal, error) {
	text, err := readText(sys, path.Join(folder, "numa_node"))
	if err != nil {
		return berth.Ordinal{}, unreadable(err)
	}
	node, err := strconv.Atoi(text)
	if err != nil {
		return berth.Ordinal{}, unreadable(err)
	}
	if node < 0 {
		if online, _ := readText(sys, "devices/system/node/online"); online == "0" {
			node = 0
		}
	}
	return berth.OrdinalOf(node), nil
}

func readText(sys fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(sys, name)
	return strings.TrimSpace(string(text)), err
}

// unreadable is the error of a file of the kernel's; of a report, which has none, it is its own.
func unreadable(err error) error {
	if err == error(errUntold) {
		return err
	}
	return &Error{GPU: NoGPU, Reason: err.Error(), Kind: ErrSysfs}
}

// sysfsFolder is where sysfs has a PCI device.
func sysfsFolder(pci string) string { return path.Join("bus/pci/devices", pci) }

// locate reads where a GPU hangs.
func (t *taker) locate(g *GPU) {
	folder := sysfsFolder(g.PCI)
	var err error
	g.NUMANode, err = numaNode(t.sys, folder)
	t.gap(err, g.Index, queryNUMANode)
	// Machines without NUMA, and containers that show a part of sysfs, have neither of the
	// following. The driver tells the paths itself, and affinity is for people.
	g.CPUs, _ = readText(t.sys, path.Join(folder, "local_cpulist"))
	t.places[g.Index] = pciPlace{numa: g.NUMANode}
	t.places[g.Index].path, _ = pciPathOf(t.sys, folder)
}

// findLost finds GPUs that cannot tell where they are among those that the kernel still
// lists and no other GPU is. The driver numbers GPUs in the order of their addresses, so if
// there are as many as are looked for it is clear which is which; else none is found.
func (t *taker) findLost() {
	var lost []*GPU
	for i := range t.inventory.GPUs {
		if g := &t.inventory.GPUs[i]; g.PCI == "" {
			lost = append(lost, g)
		}
	}
	if len(lost) == 0 {
		return
	}
	entries, err := fs.ReadDir(t.sys, "bus/pci/devices") // sorted by name, as addresses are
	if err != nil {
		return // each GPU has its gap already
	}
	var unclaimed []string
	for _, entry := range entries {
		if t.isGPU(entry.Name()) && !slices.ContainsFunc(t.inventory.GPUs, func(g GPU) bool { return g.PCI == entry.Name() }) {
			unclaimed = append(unclaimed, entry.Name())
		}
	}
	if len(unclaimed) != len(lost) {
		return
	}
	for i, g := range lost {
		g.PCI = unclaimed[i]
		t.locate(g)
	}
}

// isGPU reports whether a PCI device is a GPU of NVIDIA's: a VGA or a 3D controller.
func (t *taker) isGPU(pci string) bool {
	vendor, err := readText(t.sys, path.Join(sysfsFolder(pci), "vendor"))
	if err != nil || vendor != "0x10de" {
		return false
	}
	class, err := readText(t.sys, path.Join(sysfsFolder(pci), "class"))
	return err == nil && (strings.HasPrefix(class, "0x0300") || strings.HasPrefix(class, "0x0302"))
}

// paths fills in how the GPUs reach each other. What the driver does not say about
// PCIe is taken from sysfs.
func (t *taker) paths() {
	v := &t.inventory
	n := len(v.GPUs)
	v.PCIe, v.Links = square[nodegraph.PathKind](n), square[nodegraph.Link](n)
	for i := range n {
		var failed error
		for j := range i {
			kind, err := t.pcie(i, j)
			link := t.nvlinks(i, j)
			if link.Kind == nodegraph.PathNone {
				link.Kind = kind
			}
			v.PCIe[i][j], v.PCIe[j][i] = kind, kind
			v.Links[i][j], v.Links[j][i] = link, link
			failed = cmp.Or(failed, err)
		}
		t.gap(failed, i, queryAncestors)
	}
}

func square[T any](n int) [][]T {
	rows := make([][]T, n)
	for i := range rows {
		rows[i] = make([]T, n)
	}
	return rows
}

// nvlinks is the link between two GPUs, if it is made of NVLinks.
func (t *taker) nvlinks(i, j int) nodegraph.Link {
	a, b := &t.inventory.GPUs[i], &t.inventory.GPUs[j]
	if !slices.Contains(a.NVLink.Peers, j) {
		return nodegraph.Link{}
	}
	// A link counts at the end that sees more of them: the other may not have been able to
	// say.
	if direct := max(t.directLinks(i, j), t.directLinks(j, i)); direct > 0 {
		return nodegraph.Link{Kind: nodegraph.PathNVLink, Count: min(direct, nodegraph.MaxLinks)}
	}
	switched := min(a.NVLink.Switched, b.NVLink.Switched, nodegraph.MaxLinks)
	if switched == 0 { // the fabric says that there are some, and nobody how many
		return nodegraph.Link{}
	}
	return nodegraph.Link{Kind: nodegraph.PathNVSwitch, Count: switched}
}

func (t *taker) directLinks(from, to int) int {
	count := 0
	for _, at := range t.wires[from].direct {
		if j, here := t.addresses[at]; here && j == to {
			count++
		}
	}
	return count
}

// pcie asks the driver, and then sysfs, for the path between two GPUs over PCIe.
func (t *taker) pcie(i, j int) (nodegraph.PathKind, error) {
	var err error
	if a, b := t.devices[i], t.devices[j]; a != nil && b != nil && t.answers(i) && t.answers(j) {
		var kind nodegraph.PathKind
		if kind, err = a.ancestor(b); err == nil {
			return kind, nil
		}
	}
	kind := between(t.places[i], t.places[j])
	if kind != nodegraph.PathNone {
		err = nil
	}
	return kind, err
}

// answers reports whether a GPU may be asked further.
func (t *taker) answers(i int) bool {
	failure := t.inventory.GPUs[i].Failure
	return failure == nil || failure.Kind != ErrLost
}
