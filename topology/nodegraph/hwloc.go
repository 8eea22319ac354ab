package nodegraph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/markup"
	"github.com/berth-sched/berth/internal/skipped"
)

// ParseHwloc reads hwloc's XML of versions 2 and 3: what "lstopo --of xml" prints. The file's name
// is for errors. Version 1 has no NVLinks, and is refused with ErrHwlocVersion.
//
// It looks at:
//   - GPUs: PCI devices with an operating system's device of NVML, ROCm SMI, CUDA or Level Zero
//     (nvml0, rsmi0, cuda0, ze0); in a file without any of them, that is one of an lstopo without
//     these libraries, PCI devices of the classes that GPUs of NVIDIA and AMD have. They are
//     numbered as NVML does, or else ROCm SMI, or else by address; Product is told, too.
//   - NICs: devices of OpenFabrics, and interfaces of BXI and Slingshot; without any of them,
//     network interfaces. They come in the order of the file, without the virtual functions of
//     adapters that are there. Their MBps is that of the PCIe link: hwloc does not tell the
//     network's.
//   - the NUMA node beside which a device hangs: the only one there, or of several memories of the
//     same processors the first. That of a GPU's own memory is none.
//   - bridges: paths are those of [PathOverPCI]. Without bridges (lstopo --no-bridges) all paths
//     count as NODE or SYS.
//   - the matrices NVLinkBandwidth, XGMIBandwidth and XGMIHops. hwloc gives an NVLink 20, 25 or 50
//     GB/s by its version, so that a bandwidth tells how many there are. Links to switches join all
//     GPUs that have some. Without a matrix, or without a link in it, the Spec says so
//     (NVLinksUntold): lstopo was built without the library, saw the switches of the machine
//     nowhere on PCI, or left them out.
//
// PCIe links are told at the speed of the moment. One that is slower than the product's does not
// count: a GPU without work lowers its own. All else that could matter is in Spec.Skipped:
// elements, attributes and types of objects that hwloc does not have, matrices of other names, GPUs
// that the driver does not list.
//
// Errors are of type *Error with line and column. O(text + GPUs^2 + GPUs x NICs).
func ParseHwloc(file, text string) (Spec, error) {
	p := hwlocParser{file: file, Place: markup.Place{Line: 1, Column: 1}}
	if err := walk(file, text, &p); err != nil {
		return Spec{}, err
	}
	if p.version == 0 {
		return Spec{}, p.refuse(ErrSyntax, "", "no element topology in it")
	}
	return p.spec()
}

type hwlocParser struct {
	file         string
	markup.Place     // of the element at hand
	version      int // 0: no root yet
	open         []hwlocOpen
	objects      []hwlocObject
	numas        []hwlocNUMA
	nodes        map[int]hwlocNodes // by object
	pcis         []hwlocPCI
	devices      []hwlocDevice
	matrices     []*hwlocMatrix
	skipped      skipped.List
}

// A hwlocOpen is an element that has not ended, and the object that it is or that holds it; -1:
// none.
type hwlocOpen struct {
	name   string
	object int
}

// A hwlocObject is one element called object.
type hwlocObject struct {
	parent int32 // -1: none
	kind   hwlocKind
	detail int32 // index among those of its kind
}

type hwlocKind uint8

const (
	hwlocNormal hwlocKind = iota // a part of the processors, or all of them
	hwlocMemCache
	hwlocMemory // a NUMA node
	hwlocBridge
	hwlocPCIDevice
	hwlocOSDevice
	hwlocMisc
)

type hwlocNUMA struct {
	object, number int
	gpu            bool // the memory of a GPU
}

type hwlocPCI struct {
	markup.Place
	object        int
	id            uint64
	bus           string
	order         uint64 // of the address
	class, vendor uint64
	rate          int64
	virtual, rdma bool
}

// A hwlocDevice is a device of the operating system.
type hwlocDevice struct {
	markup.Place
	pci           int // -1: on none
	id            uint64
	name, model   string
	network, rdma bool
	backend       string // nvml, rsmi, cuda, ze; or none
	index         int    // behind the backend's name
}

func (p *hwlocParser) refuse(kind error, field, reason string) error {
	return &Error{File: p.file, Line: p.Line, Column: p.Column, Field: field, Reason: reason, Kind: kind}
}

func (p *hwlocParser) skip(at markup.Place, reason ...string) {
	p.skipped.Add(p.file, at.Line, reason...)
}

// passedOver reports whether an element tells of processors, memories or lstopo itself alone.
func passedOver(in, name string) bool {
	switch in {
	case "topology":
		switch name {
		case "support", "memattr", "cpukind", "memtier", "pci_locality", "info":
			return true
		}
	case "object":
		return name == "page_type" || name == "userdata"
	case "distances2", "distances2hetero":
		return name == "info"
	}
	return false
}

// Begin begins an element.
func (p *hwlocParser) Begin(e markup.Element) error {
	p.Place = e.Place
	if len(p.open) == 0 {
		return p.root(e)
	}
	here := p.open[len(p.open)-1]
	in := here.name
	here.name = e.Name
	var err error
	switch {
	case e.Name == "object" && (in == "topology" || in == "object"):
		here.object, err = p.object(e, here.object)
	case e.Name == "info" && in == "object":
		p.info(e, here.object)
	case (e.Name == "distances2" || e.Name == "distances2hetero") && in == "topology":
		err = p.matrix(e)
	case (e.Name == "indexes" || e.Name == "u64values") && (in == "distances2" || in == "distances2hetero"):
	case passedOver(in, e.Name):
		return markup.ErrPassOver
	case slices.Contains([]string{"topology", "object", "distances2", "distances2hetero", "indexes", "u64values"}, e.Name):
		return p.refuse(ErrInvalid, e.Name, "does not belong into "+in)
	default:
		p.skip(e.Place, "the element ", errtext.Short(e.Name), " in ", in, " is not read")
		return markup.ErrPassOver
	}
	if err == nil {
		p.open = append(p.open, here)
	}
	return err
}

// root takes the first element, which tells the version.
func (p *hwlocParser) root(e markup.Element) error {
	version, _ := e.Attribute("version")
	major, _, _ := strings.Cut(version, ".")
	number, ok := digits(major)
	switch {
	case p.version != 0:
		return p.refuse(ErrSyntax, e.Name, "a second element at the top")
	case e.Name == "topologydiff":
		return p.refuse(ErrSyntax, e.Name, "a difference between two topologies, not one: give lstopo's own output")
	case e.Name == "root", e.Name == "topology" && version == "":
		return p.refuse(ErrHwlocVersion, "version", "version 1, which tells no NVLinks: write it anew with an lstopo of version 2 or 3")
	case e.Name != "topology":
		return p.refuse(ErrSyntax, e.Name, "not hwloc's XML: want topology")
	case !ok || number != 2 && number != 3:
		return p.refuse(ErrHwlocVersion, "version", "version "+strconv.Quote(errtext.Short(version))+", and only 2 and 3 are known")
	}
	p.version = number
	p.open = append(p.open, hwlocOpen{"topology", -1})
	return nil
}

// Text is the numbers of a matrix.
func (p *hwlocParser) Text(at markup.Place, text string) error {
	p.Place = at
	if len(p.open) > 0 {
		switch p.open[len(p.open)-1].name {
		case "indexes":
			return p.indexes(text)
		case "u64values":
			return p.values(text)
		}
	}
	p.skip(at, "text between elements is not read")
	return nil
}

// End closes an element.
func (p *hwlocParser) End(at markup.Place) error {
	p.Place = at
	closed := p.open[len(p.open)-1].name
	p.open = p.open[:len(p.open)-1]
	if closed == "distances2" || closed == "distances2hetero" {
		return p.matrices[len(p.matrices)-1].complete(p)
	}
	return nil
}

// hwlocKindOf is the kind of a type of objects, and whether hwloc has the type.
func hwlocKindOf(text string) (hwlocKind, bool) {
	switch text {
	case "Machine", "Package", "Die", "Group", "Core", "PU",
		"L1Cache", "L2Cache", "L3Cache", "L4Cache", "L5Cache", "L1iCache", "L2iCache", "L3iCache":
		return hwlocNormal, true
	case "MemCache":
		return hwlocMemCache, true
	case "NUMANode":
		return hwlocMemory, true
	case "Bridge":
		return hwlocBridge, true
	case "PCIDev":
		return hwlocPCIDevice, true
	case "OSDev":
		return hwlocOSDevice, true
	case "Misc":
		return hwlocMisc, true
	}
	return hwlocNormal, false
}

// isHwlocAttribute reports whether hwloc has an attribute of objects.
func isHwlocAttribute(name string) bool {
	switch name {
	case "type", "subtype", "os_index", "id", "gp_index", "name", "depth", "kind", "subkind", "dont_merge",
		"cpuset", "complete_cpuset", "allowed_cpuset", "nodeset", "complete_nodeset", "allowed_nodeset",
		"local_memory", "memory_tier", "numanode_type",
		"cache_size", "cache_linesize", "cache_associativity", "cache_type", "cache_inclusive",
		"bridge_type", "bridge_pci", "pci_busid", "pci_type", "pci_link_speed", "osdev_type":
		return true
	}
	return false
}

// object begins an object, and returns its index.
func (p *hwlocParser) object(e markup.Element, parent int) (int, error) {
	text, _ := e.Attribute("type")
	kind, known := hwlocKindOf(text)
	if !known {
		p.skip(e.Place, "an object of the type \"", errtext.Short(text), "\" counts as a part of the processors")
	}
	for _, a := range e.Attributes {
		if name := markup.NameOf(a.Name); !isHwlocAttribute(name) {
			p.skip(e.Place, "the attribute ", errtext.Short(name), " of objects is not read")
		}
	}
	me := len(p.objects)
	p.objects = append(p.objects, hwlocObject{parent: int32(parent), kind: kind})
	var err error
	switch kind {
	case hwlocMemory:
		err = p.numa(e, me)
	case hwlocPCIDevice:
		err = p.pci(e, me)
	case hwlocOSDevice:
		err = p.device(e, me)
	}
	return me, err
}

func (p *hwlocParser) numa(e markup.Element, me int) error {
	text, _ := e.Attribute("os_index")
	number, ok := digits(text)
	if !ok || number >= maxNUMA {
		return p.refuse(ErrSyntax, "NUMANode.os_index", "not a NUMA node: "+strconv.Quote(errtext.Short(text)))
	}
	if slices.ContainsFunc(p.numas, func(n hwlocNUMA) bool { return n.number == number }) {
		return p.refuse(ErrInvalid, "NUMANode.os_index", "two NUMA nodes with number "+text)
	}
	subtype, _ := e.Attribute("subtype")
	p.objects[me].detail = int32(len(p.numas))
	p.numas = append(p.numas, hwlocNUMA{object: me, number: number, gpu: subtype == "GPUMemory"})
	return nil
}

func (p *hwlocParser) pci(e markup.Element, me int) error {
	bus, _ := e.Attribute("pci_busid")
	order, ok := pciOrder(bus)
	if !ok {
		return p.refuse(ErrSyntax, "PCIDev.pci_busid", "not an address: "+strconv.Quote(errtext.Short(bus)))
	}
	d := hwlocPCI{Place: e.Place, object: me, bus: strings.ToLower(bus), order: order}
	if text, told := e.Attribute("pci_type"); told {
		class, rest, _ := strings.Cut(text, " [")
		vendor, _, _ := strings.Cut(rest, ":")
		var okClass, okVendor bool
		d.class, okClass = hex(class, 4)
		d.vendor, okVendor = hex(vendor, 4)
		if !okClass || !okVendor {
			return p.refuse(ErrSyntax, "PCIDev.pci_type", "not a class and a vendor: "+strconv.Quote(errtext.Short(text)))
		}
	} else {
		p.skip(e.Place, "a PCI device without pci_type is of no known class")
	}
	var err error
	if d.rate, err = p.linkSpeed(e); err != nil {
		return err
	}
	if d.id, err = p.id(e); err != nil {
		return err
	}
	p.objects[me].detail = int32(len(p.pcis))
	p.pcis = append(p.pcis, d)
	return nil
}

// linkSpeed reads GB/s such as 15.753846 as MB/s, without floating point.
func (p *hwlocParser) linkSpeed(e markup.Element) (int64, error) {
	text, told := e.Attribute("pci_link_speed")
	if !told {
		return 0, nil
	}
	whole, part, _ := strings.Cut(text, ".")
	gigas, ok := digits(whole)
	thousandths, okPart := digits((part + "000")[:3])
	rate := int64(gigas)*1000 + int64(thousandths)
	if !ok || !okPart || rate > maxRate {
		return 0, p.refuse(ErrSyntax, "PCIDev.pci_link_speed", "not a speed in GB/s: "+strconv.Quote(errtext.Short(text)))
	}
	return rate, nil
}

// id is by what a matrix names an object: gp_index, or id, which says obj before the same number.
func (p *hwlocParser) id(e markup.Element) (uint64, error) {
	text, told := e.Attribute("gp_index")
	if !told {
		text, told = e.Attribute("id")
		text = strings.TrimPrefix(text, "obj")
	}
	if !told {
		return 0, nil
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, p.refuse(ErrSyntax, "object.gp_index", "not a number from 1: "+strconv.Quote(errtext.Short(text)))
	}
	return id, nil
}

// Kinds of devices of the operating system: a number in version 2, bits in version 3.
const (
	osNetwork2, osOpenFabrics2 = 2, 3
	osNetwork3, osOpenFabrics3 = 1 << 4, 1 << 5
	osMost                     = 1 << 16
)

func (p *hwlocParser) device(e markup.Element, me int) error {
	text, _ := e.Attribute("osdev_type")
	kind, ok := digits(text)
	if !ok || kind >= osMost {
		return p.refuse(ErrSyntax, "OSDev.osdev_type", "not a kind of device: "+strconv.Quote(errtext.Short(text)))
	}
	name, _ := e.Attribute("name")
	subtype, _ := e.Attribute("subtype")
	d := hwlocDevice{Place: e.Place, pci: -1, name: name}
	for above := p.objects[me].parent; above >= 0 && d.pci < 0; above = p.objects[above].parent {
		if p.objects[above].kind == hwlocPCIDevice {
			d.pci = int(p.objects[above].detail)
		}
	}
	d.rdma = p.version == 2 && kind == osOpenFabrics2 || p.version == 3 && kind&osOpenFabrics3 != 0
	d.network = d.rdma || p.version == 2 && kind == osNetwork2 || p.version == 3 && kind&osNetwork3 != 0
	d.rdma = d.rdma || d.network && (subtype == "BXI" || subtype == "Slingshot")
	for _, backend := range []string{"nvml", "rsmi", "cuda", "ze"} {
		if index, ok := digits(strings.TrimPrefix(name, backend)); ok && strings.HasPrefix(name, backend) {
			d.backend, d.index = backend, index
		}
	}
	if d.pci >= 0 && d.rdma {
		p.pcis[d.pci].rdma = true
	}
	var err error
	if d.id, err = p.id(e); err != nil {
		return err
	}
	if d.network && name == "" {
		return p.refuse(ErrSyntax, "OSDev.name", "no name")
	}
	p.objects[me].detail = int32(len(p.devices))
	p.devices = append(p.devices, d)
	return nil
}

// info notes what objects say of themselves beside their attributes, of which names are free.
func (p *hwlocParser) info(e markup.Element, of int) {
	name, named := e.Attribute("name")
	value, valued := e.Attribute("value")
	if !named || !valued {
		p.skip(e.Place, "an info without name or value is not read")
	}
	object := p.objects[of]
	switch {
	case object.kind == hwlocOSDevice && name == "GPUModel":
		p.devices[object.detail].model = value
	case object.kind == hwlocPCIDevice && name == "PCIDevice":
		p.pcis[object.detail].virtual = strings.Contains(value, "Virtual Function")
	case object.kind == hwlocMemory && name == "PCIBusID":
		p.numas[object.detail].gpu = true
	}
}

// pciOrder is an address such as 0000:34:00.0 as a number, by which addresses are ordered.
func pciOrder(bus string) (uint64, bool) {
	domain, rest, _ := strings.Cut(bus, ":")
	secondary, rest, _ := strings.Cut(rest, ":")
	device, function, _ := strings.Cut(rest, ".")
	var order uint64
	for _, part := range []struct {
		text   string
		digits int
	}{{domain, 8}, {secondary, 2}, {device, 2}, {function, 1}} {
		number, ok := hex(part.text, part.digits)
		if !ok {
			return 0, false
		}
		order = order<<(4*part.digits) | number
	}
	return order, true
}

// hex reads a number of at most so many hexadecimal digits.
func hex(text string, most int) (uint64, bool) {
	if len(text) > most || strings.HasPrefix(text, "+") {
		return 0, false
	}
	number, err := strconv.ParseUint(text, 16, 64)
	return number, err == nil
}
