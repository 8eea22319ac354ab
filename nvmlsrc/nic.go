package nvmlsrc

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A NIC is an RDMA adapter, or one port of it, as sysfs has it below class/infiniband:
// what "nvidia-smi topo -m" lists. Adapters without RDMA are no part of a GPU cluster's
// network and are passed over.
type NIC struct {
	// Name of the RDMA device, such as "mlx5_0".
	Name string
	// PCI is the address in the words of sysfs.
	PCI string
	// NUMANode that it is attached to, if the kernel says it.
	NUMANode berth.Ordinal
	// MbitPerSecond is the rate of the link; 0 if unknown.
	MbitPerSecond int64
	// Active: the link is up.
	Active bool
	// Rail is the number of the rail that the NIC is cabled to, if the machine is cabled
	// as its vendor means it to be: that of GPU 0 is rail 0, and so on in the order of the
	// GPUs. A NIC that no GPU uses first, such as one for storage, has none.
	Rail berth.Ordinal
	// Paths says for each GPU what the path from it to the NIC goes through, and NICs the
	// same for each NIC; None for itself.
	Paths, NICs []nodegraph.PathKind
}

// An adapter is a NIC and where it hangs.
type adapter struct {
	NIC
	at pciPlace
}

// nics finds the machine's NICs and how near they are to the GPUs.
func (t *taker) nics() {
	const class = "class/infiniband"
	entries, err := fs.ReadDir(t.sys, class)
	if errors.Is(err, fs.ErrNotExist) {
		return // the kernel has no RDMA, and so the machine has no such NIC
	}
	if err != nil {
		t.gap(unreadable(err), NoGPU, queryNICs)
		return
	}
	for _, entry := range entries {
		folder := path.Join(class, entry.Name())
		place, err := pciPathOf(t.sys, folder)
		if err != nil {
			t.gap(unreadable(err), NoGPU, queryNICs)
			continue
		}
		if len(place) < 2 {
			continue // software pretends it
		}
		if _, err := fs.Stat(t.sys, path.Join(sysfsFolder(place[len(place)-1]), "physfn")); err == nil {
			continue // a virtual function, which is for a virtual machine; its adapter is listed too
		}
		t.nic(entry.Name(), folder, pciPlace{path: place})
	}
	slices.SortFunc(t.adapters, func(a, b adapter) int { return compareNumbered(a.Name, b.Name) })
	for i := range t.adapters {
		nic := &t.adapters[i]
		for j := range t.adapters {
			kind := nodegraph.PathNone
			if i != j {
				kind = between(nic.at, t.adapters[j].at)
			}
			nic.NICs = append(nic.NICs, kind)
		}
		t.inventory.NICs = append(t.inventory.NICs, nic.NIC)
	}
	t.rails()
}

func (t *taker) nic(name, folder string, at pciPlace) {
	nic := NIC{Name: name, PCI: at.path[len(at.path)-1]}
	var err error
	nic.NUMANode, err = numaNode(t.sys, sysfsFolder(nic.PCI))
	t.gap(err, NoGPU, queryNICs)
	at.numa = nic.NUMANode
	for i := range t.inventory.GPUs {
		nic.Paths = append(nic.Paths, between(t.places[i], at))
	}
	ports, err := fs.ReadDir(t.sys, path.Join(folder, "ports"))
	if err != nil {
		t.gap(unreadable(err), NoGPU, queryNICs)
	}
	for _, port := range ports {
		port := path.Join(folder, "ports", port.Name())
		state, err := readText(t.sys, path.Join(port, "state"))
		if err == nil {
			var rate string
			rate, err = readText(t.sys, path.Join(port, "rate"))
			nic.MbitPerSecond = max(nic.MbitPerSecond, mbitPerSecond(rate))
		}
		if err != nil {
			t.gap(unreadable(err), NoGPU, queryNICs)
		}
		nic.Active = nic.Active || strings.HasPrefix(state, "4:") // 4: ACTIVE
	}
	t.adapters = append(t.adapters, adapter{nic, at})
}

// mbitPerSecond reads a rate such as "400 Gb/sec (4X NDR)"; 0 if it is none.
func mbitPerSecond(rate string) int64 {
	number, _, _ := strings.Cut(rate, " Gb/sec")
	gbit, err := strconv.ParseFloat(number, 64)
	if err != nil || !(gbit >= 0 && gbit <= 1e6) {
		return 0
	}
	return int64(gbit * 1000)
}

// compareNumbered orders mlx5_2 before mlx5_10.
func compareNumbered(a, b string) int {
	stem := func(s string) (string, int) {
		end := len(strings.TrimRight(s, "0123456789"))
		number, err := strconv.Atoi(s[end:])
		if err != nil {
			return s, -1
		}
		return s[:end], number
	}
	stemA, numberA := stem(a)
	stemB, numberB := stem(b)
	return cmp.Or(cmp.Compare(stemA, stemB), cmp.Compare(numberA, numberB), cmp.Compare(a, b))
}

// rails numbers the NICs that GPUs use first, in the order of these GPUs.
func (t *taker) rails() {
	v := &t.inventory
	if len(v.GPUs) == 0 || len(v.NICs) == 0 {
		return
	}
	if i := slices.IndexFunc(t.places, func(at pciPlace) bool { return len(at.path) == 0 }); i >= 0 {
		t.gap(unreadable(errors.New("rails cannot be numbered while it is not known where the GPU is")), i, queryNICs)
		return
	}
	graph, err := nodegraph.NewGraph(v.Spec())
	if err != nil {
		t.gap(err, NoGPU, queryNICs)
		return
	}
	next := 0
	for _, nic := range graph.Rails() {
		if nic >= 0 && v.NICs[nic].Rail == (berth.Ordinal{}) {
			v.NICs[nic].Rail = berth.OrdinalOf(next)
			next++
		}
	}
}

// Spec describes the inside of the machine to package nodegraph, which knows what sets
// of GPUs are worth.
func (v Inventory) Spec() nodegraph.Spec {
	spec := nodegraph.Spec{Links: v.Links}
	for i := range v.GPUs {
		spec.GPUs = append(spec.GPUs, nodegraph.GPUSpec{NUMA: numaOf(v.GPUs[i].NUMANode)})
		if spec.Product == "" {
			spec.Product = v.GPUs[i].Product
		}
	}
	for i := range v.NICs {
		nic := &v.NICs[i]
		spec.NICs = append(spec.NICs, nodegraph.NICSpec{
			Name: nic.Name, NUMA: numaOf(nic.NUMANode), MBps: nic.MbitPerSecond / 8, Paths: nic.Paths,
		})
	}
	return spec
}

func numaOf(o berth.Ordinal) nodegraph.NUMANode {
	n, _ := o.Number() // -1 if it is not known
	return nodegraph.NUMANodeOf(n)
}
