package nodegraph

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
)

// A hwlocGPU is a PCI device that is a GPU.
type hwlocGPU struct {
	pci, index int // index by its driver; 0 where that does not number it
	model      string
}

// spec puts together what was read.
func (p *hwlocParser) spec() (Spec, error) {
	if err := p.checkAddresses(); err != nil {
		return Spec{}, err
	}
	p.findNodes()
	gpus, err := p.gpus()
	if err != nil {
		return Spec{}, err
	}
	n := len(gpus)
	s := Spec{GPUs: make([]GPUSpec, n), Links: make([][]Link, n)}
	for _, gpu := range gpus {
		switch {
		case gpu.model == "" || gpu.model == s.Product:
		case s.Product == "":
			s.Product = gpu.model
		default:
			p.skip(p.pcis[gpu.pci].Place, "GPUs of another product than the first count as that")
		}
	}
	rates, known := RatesOf(s.Product)
	paths := make([][]string, n)
	for a, gpu := range gpus {
		pci := &p.pcis[gpu.pci]
		s.GPUs[a] = GPUSpec{Bus: pci.bus, NUMA: p.numaOf(pci.object), PCIeMBps: pci.rate}
		if known && pci.rate < rates.PCIeMBps {
			if s.GPUs[a].PCIeMBps = 0; pci.rate > 0 {
				p.skip(pci.Place, "the PCIe link of a GPU, slower at the moment than its product's, counts as that")
			}
		}
		if paths[a] = p.pathTo(pci.object); len(paths[a]) == 1 {
			p.skip(pci.Place, "a GPU below no bridge: its paths over PCIe are told by NUMA nodes alone")
		}
	}
	for a := range gpus {
		s.Links[a] = make([]Link, n)
		for b := range gpus {
			if a != b {
				s.Links[a][b].Kind = PathOverPCI(paths[a], paths[b], s.oneNUMA(a, s.GPUs[b].NUMA))
			}
		}
	}
	if err := p.addNICs(&s, paths); err != nil {
		return Spec{}, err
	}
	if err := p.addLinks(&s, gpus); err != nil {
		return Spec{}, err
	}
	s.Skipped = p.skipped
	return s, nil
}

// checkAddresses finds PCI devices that are there twice.
func (p *hwlocParser) checkAddresses() error {
	sorted := make([]int, len(p.pcis))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(p.pcis[a].order, p.pcis[b].order) })
	for i := 1; i < len(sorted); i++ {
		if pci := &p.pcis[sorted[i]]; pci.order == p.pcis[sorted[i-1]].order {
			p.Place = pci.Place
			return p.refuse(ErrInvalid, "PCIDev.pci_busid", "two devices at "+pci.bus)
		}
	}
	return nil
}

// oneNUMA reports whether a GPU is on a NUMA node that is known.
func (s *Spec) oneNUMA(gpu int, numa NUMANode) bool {
	return numa != NUMANode{} && s.GPUs[gpu].NUMA == numa
}

// gpus finds the GPUs and numbers them.
func (p *hwlocParser) gpus() ([]hwlocGPU, error) {
	byDriver, err := p.listed()
	if err != nil {
		return nil, err
	}
	gpus, isListed := byDriver, map[int]bool{}
	for _, gpu := range byDriver {
		isListed[gpu.pci] = true
	}
	for i := range p.pcis {
		pci := &p.pcis[i]
		switch {
		case isListed[i]:
		case !pci.isGPU():
			if len(byDriver) == 0 && (pci.class>>8 == 0x03 || pci.class>>8 == 0x12) {
				p.skip(pci.Place, "a display or an accelerator that is none of NVIDIA's or AMD's GPUs for clusters is not read")
			}
		case len(byDriver) > 0:
			p.skip(pci.Place, "a GPU that its driver does not list is not read")
		default:
			gpus = append(gpus, hwlocGPU{pci: i})
		}
	}
	p.Place.Line, p.Place.Column = 1, 1
	switch {
	case len(gpus) == 0:
		return nil, p.refuse(ErrInvalid, "topology", "no GPU in it")
	case len(gpus) > maxGPUs:
		return nil, p.refuse(ErrTooLarge, "topology", strconv.Itoa(len(gpus))+" GPUs, and "+strconv.Itoa(maxGPUs)+" is the most")
	}
	slices.SortStableFunc(gpus, func(a, b hwlocGPU) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(p.pcis[a.pci].order, p.pcis[b.pci].order))
	})
	return gpus, nil
}

// listed finds the GPUs that a driver lists, with its numbers where all have one of the same
// driver. CUDA's own numbers depend on an environment, so they order nothing.
func (p *hwlocParser) listed() ([]hwlocGPU, error) {
	var gpus []hwlocGPU
	numbered := map[string]map[int]int{"nvml": {}, "rsmi": {}} // the lowest number by PCI device
	for i := range p.devices {
		d := &p.devices[i]
		if d.backend == "" {
			continue
		}
		if d.pci < 0 {
			p.skip(d.Place, "a GPU that is on no PCI device is not read")
			continue
		}
		at := slices.IndexFunc(gpus, func(g hwlocGPU) bool { return g.pci == d.pci })
		if at < 0 {
			if len(gpus) == maxGPUs {
				p.Place = d.Place
				return nil, p.refuse(ErrTooLarge, "OSDev", "more than "+strconv.Itoa(maxGPUs)+" GPUs")
			}
			at = len(gpus)
			gpus = append(gpus, hwlocGPU{pci: d.pci})
		}
		gpus[at].model = cmp.Or(gpus[at].model, d.model)
		numbers := numbered[d.backend]
		if numbers == nil {
			continue
		}
		was, twice := numbers[d.pci]
		if twice {
			p.skip(d.Place, "several parts of a GPU count as the GPU")
		}
		if !twice || d.index < was {
			numbers[d.pci] = d.index
		}
	}
	for _, backend := range []string{"nvml", "rsmi"} {
		if numbers := numbered[backend]; len(numbers) == len(gpus) {
			for i := range gpus {
				gpus[i].index = numbers[gpus[i].pci]
			}
			return gpus, nil
		}
	}
	if len(numbered["nvml"])+len(numbered["rsmi"]) > 0 {
		p.skip(p.pcis[gpus[0].pci].Place, "the numbers that a driver gives to some GPUs are not read: all are numbered by address")
	}
	return gpus, nil
}

// isGPU goes by class and vendor: displays and 3D controllers of NVIDIA, and what AMD's Instinct
// says it is. Other displays of AMD are consoles of boards more often than not.
func (d *hwlocPCI) isGPU() bool {
	switch d.vendor {
	case 0x10de:
		return d.class == 0x0300 || d.class == 0x0302
	case 0x1002:
		return d.class == 0x0380 || d.class == 0x1200
	}
	return false
}

// pathTo is where a PCI device hangs: the bridges from that of the host down, and the device.
func (p *hwlocParser) pathTo(object int) []string {
	var path []string
	for at := object; at >= 0 && p.objects[at].kind >= hwlocBridge; at = int(p.objects[at].parent) {
		path = append(path, strconv.Itoa(at))
	}
	slices.Reverse(path)
	return path
}

// holder is the part of the processors, or of all, that an object hangs on, or is; -1: none.
func (p *hwlocParser) holder(object int) int {
	for object >= 0 && p.objects[object].kind != hwlocNormal {
		object = int(p.objects[object].parent)
	}
	return object
}

// hwlocNodes are the NUMA nodes in a part of the machine.
type hwlocNodes struct{ within, own, lowest int }

// findNodes counts the NUMA nodes in each part of the machine, without those of GPUs.
func (p *hwlocParser) findNodes() {
	p.nodes = map[int]hwlocNodes{}
	for _, numa := range p.numas {
		if numa.gpu {
			continue
		}
		holder := p.holder(numa.object)
		for at := holder; at >= 0; at = int(p.objects[at].parent) {
			nodes := p.nodes[at]
			if nodes.within == 0 || numa.number < nodes.lowest {
				nodes.lowest = numa.number
			}
			if nodes.within++; at == holder {
				nodes.own++
			}
			p.nodes[at] = nodes
		}
	}
}

// numaOf is the NUMA node beside which a device hangs: the only node of the object that holds the
// device. Where that object has several nodes of its own, they are memories of the same processors,
// and the first is that of the usual kind. Where it has none, the object around it counts.
func (p *hwlocParser) numaOf(object int) NUMANode {
	for at := p.holder(object); at >= 0; at = int(p.objects[at].parent) {
		switch nodes := p.nodes[at]; {
		case nodes.within == 0:
		case nodes.within == 1 || nodes.within == nodes.own:
			return NUMANodeOf(nodes.lowest)
		default:
			return NUMANode{}
		}
	}
	return NUMANode{}
}

// addNICs finds the NICs.
func (p *hwlocParser) addNICs(s *Spec, paths [][]string) error {
	rdma := slices.ContainsFunc(p.devices, func(d hwlocDevice) bool { return d.rdma && d.pci >= 0 })
	wanted := func(d *hwlocDevice) bool { return d.pci >= 0 && (d.rdma || d.network && !rdma) }
	physical := slices.ContainsFunc(p.devices, func(d hwlocDevice) bool { return wanted(&d) && !p.pcis[d.pci].virtual })
	for i := range p.devices {
		d := &p.devices[i]
		switch {
		case !d.network:
			continue
		case d.pci < 0:
			p.skip(d.Place, "a network interface that is on no PCI device is not read")
			continue
		case !wanted(d):
			if !p.pcis[d.pci].rdma { // else it is the same adapter
				p.skip(d.Place, "a network interface without RDMA is not read where others have it")
			}
			continue
		case physical && p.pcis[d.pci].virtual:
			p.skip(d.Place, "a virtual function is not read beside adapters")
			continue
		case len(s.NICs) == maxNICs:
			p.Place = d.Place
			return p.refuse(ErrTooLarge, "OSDev", "more than "+strconv.Itoa(maxNICs)+" NICs")
		case slices.ContainsFunc(s.NICs, func(n NICSpec) bool { return n.Name == d.name }):
			p.Place = d.Place
			return p.refuse(ErrInvalid, "OSDev.name", "two NICs of the name "+strconv.Quote(errtext.Short(d.name)))
		}
		pci := &p.pcis[d.pci]
		nic := NICSpec{Name: d.name, NUMA: p.numaOf(pci.object), MBps: pci.rate, Paths: make([]PathKind, len(s.GPUs))}
		path := p.pathTo(pci.object)
		for a := range s.GPUs {
			nic.Paths[a] = PathOverPCI(paths[a], path, s.oneNUMA(a, nic.NUMA))
		}
		s.NICs = append(s.NICs, nic)
	}
	return nil
}
