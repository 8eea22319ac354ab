package nodegraph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/markup"
	"github.com/berth-sched/berth/internal/skipped"
)

// ParseNCCL reads NCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes and
// NCCL_TOPO_FILE reads, such as cloud images bring along. The file's name is for
// errors. The other XML of NCCL, a graph, is refused with ErrNCCLGraph.
//
// It looks at: cpu (numaid), pci (busid, class, vendor, link_speed, link_width) in
// cpu and in pci, gpu (dev) with its nvlink or RCCL's xgmi (target, count, tclass), and nic with
// its net (name, speed). All other elements, attributes that NCCL does not have, and devices of no
// known class are listed in Spec.Skipped. A pci is a GPU when it
// holds a gpu, or nothing and has the class of one (03, of NVIDIA, AMD or no vendor: consoles of
// boards have that class too); it is a NIC when it holds a nic, or has the class of a network
// adapter (02). A nic with several nets is as many NICs.
//
// GPUs are numbered by dev, which all of them have or none; else by bus address.
// Paths are PIX below the same pci, PXB below different ones of a common one, PHB on
// the same cpu and SYS beyond. (XML does not tell host bridges of a cpu apart, so
// there is no NODE.) NVLinks told of at one end only count for both; those of a GPU
// to itself, to a CPU, and to GPUs that are not in the file, join nothing, and are in Spec.Skipped.
//
// Files that clouds publish for NCCL_TOPO_FILE have no nvlink at all, as NCCL asks the driver for
// them then: the Spec says so (NVLinksUntold).
//
// Errors are of type *Error with line and column. O(text + GPUs^2 + GPUs x NICs).
func ParseNCCL(file, text string) (Spec, error) {
	p := ncclParser{file: file, Place: markup.Place{Line: 1, Column: 1}}
	if err := walk(file, text, &p); err != nil {
		return Spec{}, err
	}
	if !p.seenRoot {
		return Spec{}, p.refuse(ErrSyntax, "", "no element system in it")
	}
	return p.spec()
}

// maxDepth bounds how deep pci devices lie in each other, and maxPCIs how many there are.
const (
	maxDepth = 32
	maxPCIs  = 4096
)

type ncclParser struct {
	file         string
	markup.Place // of the element at hand
	seenRoot     bool
	open         []ncclOpen
	cpus         []int // NUMA node of each
	pcis         []ncclPCI
	gpus         []ncclGPU
	nics         []ncclNIC
	skipped      skipped.List
	probed       bool // NCCL wrote the file, and had asked the driver
}

// An ncclOpen is an element that has not ended.
type ncclOpen struct {
	name string
	cpu  int // index of the cpu around, or itself; -1: none
	pci  int // index of the pci around, or itself; -1: none
	nic  int // index of the first net's NIC, -1: none yet
}

type ncclPCI struct {
	bus, class  string
	vendor      string
	rate        int64
	cpu, parent int
	holds       string // gpu or nic, or the empty string
	holdsPCI    bool
}

type ncclGPU struct {
	pci, dev int // dev -1: none
	links    []ncclLink
}

type ncclLink struct {
	target, class string
	count         int
	at            markup.Place
}

type ncclNIC struct {
	name     string
	cpu, pci int // pci -1: on the cpu itself
	rate     int64
}

func (p *ncclParser) refuse(kind error, field, reason string) error {
	return &Error{File: p.file, Line: p.Line, Column: p.Column, Field: field, Reason: reason, Kind: kind}
}

// Text is of no element that is looked at.
func (p *ncclParser) Text(at markup.Place, _ string) error {
	p.skipped.Add(p.file, at.Line, "text between elements is not read")
	return nil
}

// Begin begins an element.
func (p *ncclParser) Begin(e markup.Element) error {
	p.Place = e.Place
	name := e.Name
	if len(p.open) == 0 {
		switch {
		case p.seenRoot:
			return p.refuse(ErrSyntax, name, "a second element at the top")
		case name == "graphs":
			return p.refuse(ErrNCCLGraph, name, ErrNCCLGraph.Error())
		case name != "system":
			return p.refuse(ErrSyntax, name, "not an NCCL topology: want system")
		}
		p.seenRoot = true
		p.open = append(p.open, ncclOpen{name: name, cpu: -1, pci: -1, nic: -1})
		return nil
	}
	here := p.open[len(p.open)-1]
	here.name, here.nic = name, -1
	p.attributes(e)
	var err error
	switch in := p.open[len(p.open)-1].name; {
	case name == "cpu" && in == "system":
		err = p.cpu(e, &here)
	case name == "pci" && (in == "cpu" || in == "pci"):
		err = p.pci(e, &here)
	case name == "gpu" && in == "pci":
		err = p.gpu(e, here.pci)
	case (name == "nvlink" || name == "xgmi") && in == "gpu":
		err = p.nvlink(e)
	case name == "nic" && (in == "pci" || in == "cpu"):
		err = p.hold(here.pci, name)
	case name == "net" && in == "nic":
		err = p.net(e)
	case slices.Contains([]string{"cpu", "pci", "gpu", "nvlink", "xgmi", "nic", "net"}, name):
		err = p.refuse(ErrInvalid, name, "does not belong into "+in)
	default:
		p.skipped.Add(p.file, p.Line, "the element ", errtext.Short(name), " in ", in, " is not read")
		return markup.ErrPassOver
	}
	p.open = append(p.open, here)
	return err
}

// End closes an element. A nic in a pci without a net is a NIC all the same.
func (p *ncclParser) End(at markup.Place) error {
	p.Place = at
	closed := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if closed.name == "nic" && closed.nic < 0 && closed.pci < 0 {
		p.skipped.Add(p.file, at.Line, "a nic that is on no pci and has no net is not read")
	}
	if closed.name == "nic" && closed.nic < 0 && closed.pci >= 0 {
		return p.addNIC(ncclNIC{name: p.pcis[closed.pci].bus, cpu: closed.cpu, pci: closed.pci, rate: p.pcis[closed.pci].rate})
	}
	if closed.name == "pci" {
		return p.classed(closed.pci)
	}
	return nil
}

// ncclAttributes are those that NCCL and RCCL write for an element that is looked at.
func ncclAttributes(element string) string {
	switch element {
	case "cpu":
		return " numaid affinity arch vendor familyid modelid host_hash "
	case "pci":
		return " busid class vendor device subsystem_vendor subsystem_device link_speed link_width "
	case "gpu":
		return " dev sm gcn arch rank gdr "
	case "nvlink", "xgmi":
		return " target count tclass "
	case "net":
		return " name dev speed latency port guid maxconn gdr coll keep "
	}
	return ""
}

// attributes tells of those that no NCCL writes.
func (p *ncclParser) attributes(e markup.Element) {
	known := ncclAttributes(e.Name)
	for _, a := range e.Attributes {
		if name := markup.NameOf(a.Name); known != "" && !strings.Contains(known, " "+name+" ") {
			p.skipped.Add(p.file, e.Line, "the attribute ", errtext.Short(name), " of ", e.Name, " is not read")
		}
	}
}

// classed makes a device of a pci that holds nothing, by its class.
func (p *ncclParser) classed(pci int) error {
	device := p.pcis[pci]
	switch {
	case device.holds != "" || device.holdsPCI:
	case device.class == "":
		p.skipped.Add(p.file, p.Line, "a pci that holds nothing and has no class is not read")
	case strings.HasPrefix(device.class, "0x03") && slices.Contains([]string{"", "0x0000", "0x10de", "0x1002"}, device.vendor):
		if strings.HasPrefix(device.class, "0x0300") && strings.Trim(device.vendor, "0x") == "" {
			p.skipped.Add(p.file, p.Line, "a display of no known vendor counts as a GPU")
		}
		return p.addGPU(ncclGPU{pci: pci, dev: -1})
	case strings.HasPrefix(device.class, "0x03"), strings.HasPrefix(device.class, "0x12"):
		p.skipped.Add(p.file, p.Line, "a display or an accelerator that is none of NVIDIA's or AMD's GPUs is not read")
	case strings.HasPrefix(device.class, "0x02"):
		return p.addNIC(ncclNIC{name: device.bus, cpu: device.cpu, pci: pci, rate: device.rate})
	}
	return nil
}

func (p *ncclParser) cpu(e markup.Element, here *ncclOpen) error {
	text, _ := e.Attribute("numaid")
	numa, ok := digits(text)
	if text == "-1" {
		numa, ok = -1, true
	}
	if !ok || numa >= maxNUMA {
		return p.refuse(ErrSyntax, "cpu.numaid", "not a NUMA node: "+strconv.Quote(errtext.Short(text)))
	}
	here.cpu = len(p.cpus)
	p.cpus = append(p.cpus, numa)
	return nil
}

func (p *ncclParser) pci(e markup.Element, here *ncclOpen) error {
	bus, _ := e.Attribute("busid")
	if bus == "" {
		return p.refuse(ErrSyntax, "pci.busid", "no address")
	}
	if len(p.open) > maxDepth {
		return p.refuse(ErrTooLarge, "pci", "more than "+strconv.Itoa(maxDepth)+" elements in each other")
	}
	if len(p.pcis) == maxPCIs {
		return p.refuse(ErrTooLarge, "pci", "more than "+strconv.Itoa(maxPCIs)+" devices")
	}
	class, _ := e.Attribute("class")
	vendor, _ := e.Attribute("vendor")
	rate, err := p.portRate(e)
	if err != nil {
		return err
	}
	if here.pci >= 0 {
		p.pcis[here.pci].holdsPCI = true
	}
	p.pcis = append(p.pcis, ncclPCI{
		bus: strings.ToLower(bus), class: strings.ToLower(class), vendor: strings.ToLower(vendor), rate: rate,
		cpu: here.cpu, parent: here.pci,
	})
	here.pci = len(p.pcis) - 1
	return nil
}

// portRate reads link_speed ("8 GT/s", "32.0 GT/s PCIe") and link_width; zero where
// one of them is not told.
func (p *ncclParser) portRate(e markup.Element) (int64, error) {
	speed, _ := e.Attribute("link_speed")
	number, _, _ := strings.Cut(strings.TrimSpace(speed), " ")
	whole, part, _ := strings.Cut(number, ".")
	gigas, known := digits(whole)
	if !known { // empty, or "Unknown speed"
		return 0, nil
	}
	tenth := 0
	if part != "" {
		tenth, known = digits(part[:1])
	}
	if !known || gigas > 256 {
		return 0, p.refuse(ErrSyntax, "pci.link_speed", "not a speed: "+strconv.Quote(errtext.Short(speed)))
	}
	text, found := e.Attribute("link_width")
	if !found || text == "" {
		return 0, nil
	}
	width, ok := digits(text)
	if !ok || width > 32 {
		return 0, p.refuse(ErrSyntax, "pci.link_width", "not a number of lanes: "+strconv.Quote(errtext.Short(text)))
	}
	return pcieRate(gigas*10+tenth, width), nil
}

// hold notes that a pci is a GPU or a NIC. A nic on a cpu is on no pci.
func (p *ncclParser) hold(pci int, what string) error {
	if pci < 0 {
		return nil
	}
	if held := p.pcis[pci].holds; held != "" && (held != what || what == "gpu") {
		return p.refuse(ErrInvalid, what, "its pci holds a "+held+" already")
	}
	p.pcis[pci].holds = what
	return nil
}

func (p *ncclParser) gpu(e markup.Element, pci int) error {
	if err := p.hold(pci, "gpu"); err != nil {
		return err
	}
	dev := -1
	if text, found := e.Attribute("dev"); found {
		number, ok := digits(text)
		if !ok {
			return p.refuse(ErrSyntax, "gpu.dev", "not an index: "+strconv.Quote(errtext.Short(text)))
		}
		dev = number
	}
	if _, told := e.Attribute("sm"); told {
		p.probed = true
	}
	return p.addGPU(ncclGPU{pci: pci, dev: dev})
}

func (p *ncclParser) addGPU(gpu ncclGPU) error {
	if len(p.gpus) == maxGPUs {
		return p.refuse(ErrTooLarge, "gpu", "more than "+strconv.Itoa(maxGPUs)+" GPUs")
	}
	for _, other := range p.gpus {
		switch bus := p.pcis[gpu.pci].bus; {
		case p.pcis[other.pci].bus == bus:
			return p.refuse(ErrInvalid, "pci.busid", "two GPUs at "+bus)
		case gpu.dev >= 0 && other.dev == gpu.dev:
			return p.refuse(ErrInvalid, "gpu.dev", "two GPUs with index "+strconv.Itoa(gpu.dev))
		case (gpu.dev < 0) != (other.dev < 0):
			return p.refuse(ErrInvalid, "gpu.dev", "some GPUs have an index and others none")
		}
	}
	p.gpus = append(p.gpus, gpu)
	return nil
}

// nvlink notes links of the GPU read last, inside which it stands. RCCL writes AMD's as xgmi.
func (p *ncclParser) nvlink(e markup.Element) error {
	target, _ := e.Attribute("target")
	class, _ := e.Attribute("tclass")
	text, _ := e.Attribute("count")
	count, ok := digits(text)
	if !ok || count < 1 || count > MaxLinks {
		return p.refuse(ErrSyntax, "nvlink.count", "not a number from 1 to "+strconv.Itoa(MaxLinks)+": "+strconv.Quote(errtext.Short(text)))
	}
	gpu := &p.gpus[len(p.gpus)-1]
	gpu.links = append(gpu.links, ncclLink{
		target: strings.ToLower(target), class: strings.ToLower(class), count: count,
		at: p.Place,
	})
	return nil
}

func (p *ncclParser) net(e markup.Element) error {
	nic := &p.open[len(p.open)-1]
	name, _ := e.Attribute("name")
	if name == "" {
		return p.refuse(ErrSyntax, "net.name", "no name")
	}
	rate := int64(0)
	if text, found := e.Attribute("speed"); found && text != "" {
		megabits, ok := digits(text)
		if !ok || int64(megabits)/8 > maxRate {
			return p.refuse(ErrSyntax, "net.speed", "not a speed in Mbit/s: "+strconv.Quote(errtext.Short(text)))
		}
		rate = int64(megabits) / 8
	}
	if nic.pci >= 0 {
		switch port := p.pcis[nic.pci].rate; {
		case port == 0:
			p.skipped.Add(p.file, p.Line, "the PCIe link of a NIC is not told: it counts as wide enough")
		case rate == 0:
			p.skipped.Add(p.file, p.Line, "the speed of a NIC is not told: that of its PCIe link counts")
			rate = port
		default:
			rate = min(rate, port)
		}
	}
	nic.nic = len(p.nics)
	return p.addNIC(ncclNIC{name: name, cpu: nic.cpu, pci: nic.pci, rate: rate})
}

func (p *ncclParser) addNIC(nic ncclNIC) error {
	if len(p.nics) == maxNICs {
		return p.refuse(ErrTooLarge, "nic", "more than "+strconv.Itoa(maxNICs)+" NICs")
	}
	p.nics = append(p.nics, nic)
	return nil
}
