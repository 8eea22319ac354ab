package nvmlsrc

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/mig"
)

// A box is a kind of machine to pretend. How its devices hang together restates what
// "nvidia-smi topo -m" prints on such machines; the sizes and PCI device IDs are those
// of NVIDIA's listings. Where a listing leaves something open it is said at the box.
type box struct {
	name  string
	build func() *FakeMachine
}

var boxes = [...]box{
	{"dgx-a100", dgxA100}, {"gb200", gb200}, {"hgx-h100", hgxH100}, {"mig-h100", migH100}, {"pcie", pcieL40S},
}

// A model is what GPUs of a machine have in common.
type model struct {
	name                       string
	pciDevice                  uint32
	memoryMiB                  uint64
	computeMajor, computeMinor int
	table                      string // of package mig; empty: it cannot do MIG
	nvlinks                    []link
	fab                        fabric
	watts                      int // that it draws when idle
}

// dgxA100 has two GPUs and two NICs below the PCIe switches of each of four NUMA nodes,
// and two adapters with two ports for storage, on NUMA nodes of which the listing says
// only that no GPU is there.
func dgxA100() *FakeMachine {
	p := &FakeMachine{driver: "535.161.08"}
	numas, roots := []int{3, 1, 7, 5}, []uint32{0x00, 0x40, 0x80, 0xb0}
	a100 := model{
		name: "NVIDIA A100-SXM4-40GB", pciDevice: 0x20B010DE, memoryMiB: 40_960, computeMajor: 8, table: "A100-40GB",
		nvlinks: switched(12), watts: 55,
	}
	for i, bus := range []uint32{0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd} {
		to := place{numa: numas[i/2], cpus: []string{"48-63,176-191", "16-31,144-159", "112-127,240-255", "80-95,208-223"}[i/2]}
		root := roots[i/2]
		p.add(a100, address{bus: bus}, to.behind(root, 1).below(root+1, uint32(i%2)).below(bus-2, 0))
	}
	for i, bus := range []uint32{0x0c, 0x12, 0x4b, 0x54, 0x8d, 0x94, 0xba, 0xcc} {
		root := roots[i/2]
		to := place{numa: numas[i/2]}.behind(root, 1).below(root+1, uint32(2+i%2)).below(bus-2, 0)
		p.nics = append(p.nics, pretendNIC{at: address{bus: bus}, place: to, gbit: 200})
	}
	p.nics = slices.Insert(p.nics, 4, dualPort(0x60, 0)...)
	p.nics = append(p.nics, dualPort(0xe0, 4)...)
	p.nameNICs()
	return p
}

// hgxH100 is an HGX H100 board: eight GPUs, each with 18 links to the board's four
// NVSwitches and a fabric that is registered but ends at the machine. Each GPU has a
// NIC below its own PCIe switch, and two of those switches hang below another. Beside
// them each NUMA node has an adapter with two ports for storage.
func hgxH100() *FakeMachine {
	p := &FakeMachine{driver: "550.54.15"}
	h100 := model{
		name: "NVIDIA H100 80GB HBM3", pciDevice: 0x233010DE, memoryMiB: 81_559, computeMajor: 9, table: "H100-80GB",
		nvlinks: switched(18), fab: fabric{completed: true}, watts: 70,
	}
	for i, bus := range []uint32{0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf} {
		root := []uint32{0x15, 0x4c, 0x97, 0xcb}[i/2]
		to := place{numa: i / 4, cpus: []string{"0-55,112-167", "56-111,168-223"}[i/4]}.behind(root, 1).below(root+1, uint32(i%2))
		p.add(h100, address{bus: bus}, to.below(bus-3, 1))
		p.nics = append(p.nics, pretendNIC{at: address{bus: bus - 1}, place: to.below(bus-3, 0), gbit: 400})
		if i%4 == 3 {
			p.nics = append(p.nics, dualPort([]uint32{0x70, 0xf0}[i/4], i/4)...)
		}
	}
	p.nameNICs()
	return p
}

// pcieL40S has two cards without NVLink at ports of one host bridge. The listing does
// not tell the product.
func pcieL40S() *FakeMachine {
	p := &FakeMachine{driver: "550.54.15"}
	l40s := model{name: "NVIDIA L40S", pciDevice: 0x26B910DE, memoryMiB: 46_068, computeMajor: 8, computeMinor: 9, watts: 35}
	for i, bus := range []uint32{0x01, 0x41} {
		p.add(l40s, address{bus: bus}, place{numa: 0, cpus: "0-63"}.behind(0x00, uint32(1+i)))
	}
	return p
}

// migH100 is a virtual machine with two GPUs of an HGX H100 board, without NVLink, in
// MIG mode: one in three parts, of which two are at work, and one in seven.
func migH100() *FakeMachine {
	p := &FakeMachine{driver: "550.54.15"}
	h100 := model{name: "NVIDIA H100 80GB HBM3", pciDevice: 0x233010DE, memoryMiB: 81_559, computeMajor: 9, table: "H100-80GB", watts: 70}
	for i, bus := range []uint32{0x17, 0xca} {
		cpus := []string{"0-31,64-95", "32-63,96-127"}[i]
		p.add(h100, address{bus: bus}, place{numa: i, cpus: cpus}.behind(bus-1, 1))
		p.nics = append(p.nics, pretendNIC{at: address{bus: bus + 4}, place: place{numa: i}.behind(bus-1, 2), gbit: 200})
	}
	p.nameNICs()
	for gpu, layout := range [][]string{{"1g.10gb@2:1", "2g.20gb@0:2", "3g.40gb@4:4"}, {
		"1g.10gb@0:1", "1g.10gb@1:1", "1g.10gb@2:1", "1g.10gb@3:1", "1g.10gb@4:1", "1g.10gb@5:1", "1g.10gb@6:1",
	}} {
		var placements []mig.Placement
		for _, text := range layout {
			placements = append(placements, must(mig.ParsePlacement(text)))
		}
		must(0, p.Partition(gpu, placements...))
	}
	for i, busy := range []int{0, 180, 930} {
		if busy > 0 {
			device := p.gpus[0].devices[i].uuid
			must(0, p.Start(41_000+i, device))
			must(0, p.SetActivity(device, busy))
		}
	}
	return p
}

// gb200 is a compute tray: two GPUs and two NICs at each of two CPUs, each device at a
// host bridge of its own. The listing at hand is a fixture that nobody verified, and
// puts the NICs at the other NUMA node from every GPU; here they are where their CPU is.
func gb200() *FakeMachine {
	p := &FakeMachine{driver: "570.133.20"}
	blackwell := model{
		name: "NVIDIA GB200", pciDevice: 0x294110DE, memoryMiB: 189_471, computeMajor: 10, table: "GB200-186GB",
		nvlinks: switched(18), watts: 140,
		fab: fabric{
			completed: true, clique: 32766,
			cluster: [16]byte{0x2b, 0x5c, 0x80, 0x17, 0x6a, 0xd4, 0x4e, 0x0f, 0x9d, 0x31, 0x7e, 0x52, 0xc8, 0x06, 0xba, 0x64},
		},
	}
	for i, domain := range []uint32{0x0008, 0x0009, 0x0018, 0x0019} {
		to := place{domain: domain, numa: i / 2, cpus: []string{"0-71", "72-143"}[i/2]}
		p.add(blackwell, address{domain: domain, bus: 1}, to.behind(0x00, 0))
		to = place{domain: []uint32{0x0000, 0x0002, 0x0010, 0x0012}[i], numa: i / 2}
		p.nics = append(p.nics, pretendNIC{at: address{domain: to.domain, bus: 3}, place: to.behind(0x00, 0), gbit: 400})
	}
	p.nameNICs()
	return p
}

// switched is a number of links into switches.
func switched(links int) []link { return slices.Repeat([]link{{active: true, end: endSwitch}}, links) }

// dualPort is an adapter with two ports, which are two functions of one device, at a host
// bridge of its own.
func dualPort(root uint32, numa int) []pretendNIC {
	to := place{numa: numa}.behind(root, 1)
	return []pretendNIC{
		{at: address{bus: root + 1}, place: to, gbit: 200},
		{at: address{bus: root + 1, function: 1}, place: to, gbit: 200},
	}
}

func (p *FakeMachine) nameNICs() {
	for i := range p.nics {
		p.nics[i].name = fmt.Sprintf("mlx5_%d", i)
	}
}

// add puts a GPU into the machine.
func (p *FakeMachine) add(m model, at address, in place) {
	g := &pretendGPU{
		box: p, model: m, index: len(p.gpus), at: at, place: in, links: slices.Clone(m.nvlinks),
		failures: map[Query]error{}, asked: map[Query]bool{}, busy: map[string]int{}, busyBy: map[int]int{}, nextID: 1,
	}
	if table, ok := mig.Lookup(m.table); ok {
		g.profiled = reportOf(table)
		g.lattice = must(mig.NewLattice(table))
	}
	p.gpus = append(p.gpus, g)
}

// reportOf is what a driver reports of a product, if the table of package mig is right
// about it.
func reportOf(table mig.Product) []mig.ReportedProfile {
	var reported []mig.ReportedProfile
	for _, p := range table.Profiles {
		r := mig.ReportedProfile{
			NVMLIndex: p.NVMLIndex, Name: "MIG " + p.Name.String(), ID: p.ID, SliceCount: p.ComputeSlices, InstanceCount: p.MaxCount,
			MultiprocessorCount: p.SMs, CopyEngineCount: p.Engines.Copy, DecoderCount: p.Engines.NVDEC,
			EncoderCount: p.Engines.NVENC, JPEGCount: p.Engines.JPEG, OFACount: p.Engines.OFA, MemoryMiB: p.MemoryMiB,
		}
		for _, start := range p.Starts {
			r.Placements = append(r.Placements, mig.ReportedPlacement{Start: start, Size: p.MemorySlices})
		}
		reported = append(reported, r)
	}
	slices.SortFunc(reported, func(a, b mig.ReportedProfile) int { return a.NVMLIndex - b.NVMLIndex })
	return reported
}

// must is for what is wrong only if this file is.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
