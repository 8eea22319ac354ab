package nodegraph

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/jsontext"
	"github.com/berth-sched/berth/internal/skipped"
)

// ParseAMDTopology reads what "amd-smi topology --json" prints. The file's name is for errors.
//
// It looks at: the number and the address (bdf) of each GPU, and of its links the other GPU,
// link_type, num_hops, weight, link_status and bandwidth. XGMI in one hop counts as NVLinks. How
// many there are side by side is told by the bandwidth: the driver gives the least of one link and
// the most of all of them, at 50 GB/s for each link whatever the product. Other paths are SYS, as
// nothing tells NUMA nodes here: [DescribeAMD] adds those, the product, and the rates of PCIe.
//
// GPUs are numbered without gaps, in any order. Spec.Skipped lists keys and words that are not
// known, XGMI over several hops or that is disabled, and links of which something is not told.
// Errors are of type *Error with line and column. O(length of the text).
func ParseAMDTopology(file, text string) (Spec, error) {
	p := amdParser{file: file, c: jsontext.New([]byte(text), 1, 1)}
	p.list("a GPU", p.node)
	if err := p.end(); err != nil {
		return Spec{}, err
	}
	return p.spec()
}

// An AMDGPU is what amd-smi tells of a GPU, or of a partition of one, which is a GPU to programs.
type AMDGPU struct {
	// Index is the number that amd-smi gives it.
	Index int
	// Bus is the PCI address, UUID and Product are names; each is empty where it is not told.
	Bus, UUID, Product string
	// NUMA is the NUMA node; zero: not known.
	NUMA NUMANode
	// PCIeMBps is the greatest rate of the port in MB/s one way; zero: not told.
	PCIeMBps int64
	// VRAMMiB is the memory; zero: not told.
	VRAMMiB int64
	// Partition is the number of the partition in its GPU, and ComputePartition and MemoryPartition
	// the modes, such as CPX and NPS4; empty: not told.
	Partition                         int
	ComputePartition, MemoryPartition string
}

// ParseAMDGPUs reads what "amd-smi list --json" or "amd-smi static --json" prints; of the second
// asic, bus, vram, numa and partition. GPUs come by their numbers. Keys that are not known are
// listed in the Skips. Errors are those of [ParseAMDTopology]. O(length of the text).
func ParseAMDGPUs(file, text string) ([]AMDGPU, []Skip, error) {
	p := amdParser{file: file, c: jsontext.New([]byte(text), 1, 1)}
	var gpus []AMDGPU
	p.list("a GPU", func() {
		gpu := AMDGPU{Index: -1}
		p.c.Object(func(key []byte) { p.described(&gpu, key) })
		if gpu.Index < 0 && !p.c.Failed() {
			p.c.Fail("a GPU without a number")
		}
		gpus = append(gpus, gpu)
	})
	if err := p.end(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(gpus, func(a, b AMDGPU) int { return cmp.Compare(a.Index, b.Index) })
	for i := 1; i < len(gpus); i++ {
		if gpus[i].Index == gpus[i-1].Index {
			return nil, nil, p.refuse("gpu", "two GPUs with number "+strconv.Itoa(gpus[i].Index))
		}
	}
	return gpus, p.skipped, nil
}

// DescribeAMD adds to a Spec of [ParseAMDTopology] what [ParseAMDGPUs] read of the same GPUs, by
// their numbers: product, NUMA nodes, rates of PCIe. Paths over PCIe within a NUMA node become
// NODE. GPUs of another product than the first are listed in Skipped. The error is an *Error for a
// GPU that is not described, or is at another address. The Spec given stays as it is.
func DescribeAMD(spec Spec, gpus []AMDGPU) (Spec, error) {
	spec.GPUs, spec.Skipped = slices.Clone(spec.GPUs), slices.Clone(spec.Skipped)
	told := skipped.List(spec.Skipped)
	for i := range spec.GPUs {
		found := slices.IndexFunc(gpus, func(g AMDGPU) bool { return g.Index == i })
		switch {
		case found < 0:
			return Spec{}, invalid(at("gpus", i, ""), "GPU "+strconv.Itoa(i)+" is not described")
		case spec.GPUs[i].Bus != "" && gpus[found].Bus != "" && !strings.EqualFold(spec.GPUs[i].Bus, gpus[found].Bus):
			return Spec{}, invalid(at("gpus", i, ""), "it is at "+errtext.Short(spec.GPUs[i].Bus)+", and what is described at "+errtext.Short(gpus[found].Bus))
		}
		g := gpus[found]
		spec.GPUs[i].NUMA, spec.GPUs[i].PCIeMBps = g.NUMA, g.PCIeMBps
		switch {
		case spec.Product == "":
			spec.Product = g.Product
		case g.Product != "" && g.Product != spec.Product:
			told.Add("", 0, "GPUs of another product than the first count as that")
		}
	}
	links := make([][]Link, len(spec.Links))
	for a := range links {
		links[a] = slices.Clone(spec.Links[a])
		for b := range links[a] {
			if links[a][b].Kind == PathSYS && spec.oneNUMA(a, spec.GPUs[b].NUMA) {
				links[a][b].Kind = PathNODE
			}
		}
	}
	spec.Links, spec.Skipped = links, told
	return spec, nil
}

type amdParser struct {
	file    string
	c       *jsontext.Cursor
	nodes   []amdNode
	skipped skipped.List
}

// An amdNode is a GPU and its links.
type amdNode struct {
	gpu, line int
	bus       string
	links     []amdLink
}

type amdLink struct {
	gpu, line   int // gpu -1: told by its address alone
	bus, kind   string
	hops, count int // 0: not told
	disabled    bool
}

func (p *amdParser) refuse(field, reason string) error {
	return &Error{File: p.file, Line: p.c.Line(), Field: field, Reason: reason, Kind: ErrInvalid}
}

func (p *amdParser) skip(line int, reason ...string) { p.skipped.Add(p.file, line, reason...) }

// end is the error of the walk, an *Error.
func (p *amdParser) end() error {
	p.c.End()
	return jsonError(p.file, p.c.Err())
}

// jsonError is an error of jsontext as one of this package.
func jsonError(file string, err error) error {
	var bad *jsontext.Error
	if !errors.As(err, &bad) {
		return err
	}
	kind := ErrSyntax
	if bad.TooLarge {
		kind = ErrTooLarge
	}
	return &Error{File: file, Line: bad.Line, Column: bad.Column, Field: bad.Field, Reason: bad.Reason, Kind: kind}
}

// list walks through GPUs: a list, the one in gpu_data, or a single one.
func (p *amdParser) list(what string, each func()) {
	elements := func() {
		p.c.List(func(i int) {
			if i == maxGPUs {
				p.c.FailTooLarge("more than %d GPUs", maxGPUs)
				return
			}
			if p.c.Kind() != '{' {
				p.c.Fail("not %s", what)
				return
			}
			each()
		})
	}
	if p.c.Kind() == '[' {
		elements()
		return
	}
	found := false
	p.c.Object(func(key []byte) {
		if string(key) == "gpu_data" {
			found = true
			elements()
			return
		}
		p.unread(key, "the report")
	})
	if !found && !p.c.Failed() {
		p.c.Fail(`no list of GPUs, and no "gpu_data"`)
	}
}

// unread tells of a key that is not known.
func (p *amdParser) unread(key []byte, of string) {
	p.skip(p.c.Line(), "the key ", errtext.Short(string(key)), " of ", of, " is not read")
}

// node reads a GPU with its links.
func (p *amdParser) node() {
	n := amdNode{gpu: -1, line: p.c.Line()}
	p.c.Object(func(key []byte) {
		switch string(key) {
		case "gpu":
			n.gpu = int(min(p.c.Int(), maxRate))
		case "bdf":
			n.bus = strings.ToLower(p.c.Text())
		case "links":
			p.c.List(func(i int) {
				if i == maxGPUs {
					p.c.FailTooLarge("more than %d links", maxGPUs)
					return
				}
				n.links = append(n.links, p.link())
			})
		default:
			p.unread(key, "a GPU")
		}
	})
	p.nodes = append(p.nodes, n)
}

func (p *amdParser) link() amdLink {
	l, weight := amdLink{gpu: -1, line: p.c.Line()}, 0
	p.c.Object(func(key []byte) {
		switch string(key) {
		case "gpu":
			l.gpu = int(min(max(p.c.Int(), 0), maxRate))
		case "bdf":
			l.bus = strings.ToLower(p.c.Text())
		case "link_type":
			l.kind = p.c.Text()
		case "link_status":
			l.disabled = p.status()
		case "num_hops":
			l.hops, _ = p.number()
		case "weight":
			weight, _ = p.number()
		case "bandwidth":
			l.count = p.sideBySide()
		case "coherent", "atomics", "dma", "bi_dir":
		default:
			p.unread(key, "a link")
		}
	})
	// The driver weighs XGMI 15 for each hop (amdgpu, KFD's topology).
	if l.hops == 0 && weight > 0 {
		l.hops = (weight + 14) / 15
	}
	return l
}

// status reads whether a link is disabled.
func (p *amdParser) status() bool {
	switch text := p.c.Text(); text {
	case "ENABLED", "N/A", "":
		return false
	case "DISABLED":
	default:
		p.skip(p.c.Line(), "a link_status that is not known counts as DISABLED: ", strconv.Quote(errtext.Short(text)))
	}
	return true
}

// number reads a number, or a word where there is none.
func (p *amdParser) number() (int, bool) {
	if p.c.Kind() == '"' {
		if text := p.c.Text(); text != "N/A" {
			p.skip(p.c.Line(), "a word where a number is to be is not read: ", strconv.Quote(errtext.Short(text)))
		}
		return 0, false
	}
	n := p.c.Int()
	return int(min(max(n, 0), maxRate)), !p.c.Failed()
}

// sideBySide reads a bandwidth such as "50000-100000": that of one link, and that of all.
func (p *amdParser) sideBySide() int {
	text := p.c.Text()
	least, most, _ := strings.Cut(text, "-")
	one, ok := digits(least)
	all, okAll := digits(most)
	switch {
	case text == "N/A" || text == "" || okAll && all == 0:
		return 0
	case !ok || !okAll || one == 0 || all%one != 0 || all/one > MaxLinks:
		p.skip(p.c.Line(), "a bandwidth that is no multiple of one link's is not read: ", strconv.Quote(errtext.Short(text)))
		return 0
	}
	return all / one
}

// spec puts together what was read.
func (p *amdParser) spec() (Spec, error) {
	n := len(p.nodes)
	if n == 0 {
		return Spec{}, p.refuse("", "no GPU in it")
	}
	slices.SortStableFunc(p.nodes, func(a, b amdNode) int { return cmp.Compare(a.gpu, b.gpu) })
	s := Spec{GPUs: make([]GPUSpec, n), Links: make([][]Link, n)}
	numbers := map[string]int{}
	for i, node := range p.nodes {
		if node.gpu != i {
			return Spec{}, &Error{File: p.file, Line: node.line, Field: "gpu", Reason: "GPUs are numbered without gaps: want " + strconv.Itoa(i) + ", have " + strconv.Itoa(node.gpu), Kind: ErrInvalid}
		}
		s.GPUs[i].Bus = node.bus
		if node.bus == "" {
			p.skip(node.line, "the address of a GPU is not told")
		}
		numbers[node.bus] = i
	}
	for a, node := range p.nodes {
		s.Links[a] = make([]Link, n)
		seen := make([]bool, n)
		for _, l := range node.links {
			b, known := l.gpu, l.gpu >= 0 && l.gpu < n
			if l.gpu < 0 {
				b, known = numbers[l.bus]
			}
			bad := func(reason string) (Spec, error) {
				return Spec{}, &Error{File: p.file, Line: l.line, Field: "GPU" + strconv.Itoa(a) + " to GPU" + strconv.Itoa(b), Reason: reason, Kind: ErrInvalid}
			}
			switch {
			case !known:
				return bad("a link to a GPU that is not there")
			case seen[b]:
				return bad("the link is there twice")
			case l.bus != "" && s.GPUs[b].Bus != "" && l.bus != s.GPUs[b].Bus:
				return bad("the GPU is at " + errtext.Short(s.GPUs[b].Bus) + ", and the link leads to " + errtext.Short(l.bus))
			case (l.kind == "SELF") != (a == b) && l.kind != "":
				return bad("SELF stands for a GPU and itself, and nothing else does")
			}
			if seen[b] = true; a != b {
				s.Links[a][b] = p.linkOf(&l)
			}
		}
		for b := range n {
			if a != b && !seen[b] {
				return Spec{}, &Error{File: p.file, Line: node.line, Field: "GPU" + strconv.Itoa(a), Reason: "no link to GPU " + strconv.Itoa(b), Kind: ErrInvalid}
			}
			if b < a && s.Links[b][a] != s.Links[a][b] {
				return Spec{}, &Error{File: p.file, Line: node.line, Field: "GPU" + strconv.Itoa(a) + " to GPU" + strconv.Itoa(b), Reason: "another link than the other way", Kind: ErrInvalid}
			}
		}
	}
	s.Skipped = p.skipped
	return s, nil
}

// linkOf is the path of a link.
func (p *amdParser) linkOf(l *amdLink) Link {
	path := Link{Kind: PathSYS}
	switch {
	case l.kind == "PCIE":
	case l.kind == "":
		p.skip(l.line, "no link_type is told: the path counts as PCIE")
	case l.kind != "XGMI":
		p.skip(l.line, "a link_type that joins no GPUs counts as PCIE: ", strconv.Quote(errtext.Short(l.kind)))
	case l.disabled:
		p.skip(l.line, "XGMI that is disabled joins no GPUs")
	case l.hops > 1:
		p.skip(l.line, "XGMI over several hops joins no GPUs by itself")
	default:
		if l.hops == 0 {
			p.skip(l.line, "no hops are told: each XGMI counts as a link of its own")
		}
		if l.count == 0 {
			p.skip(l.line, "no bandwidth is told: XGMI counts as one link")
		}
		return Link{Kind: PathNVLink, Count: max(l.count, 1)}
	}
	return path
}

// described reads a part of what amd-smi says of a GPU.
func (p *amdParser) described(gpu *AMDGPU, key []byte) {
	c := p.c
	in := func(of string, each func(key string) bool, passed string) {
		if c.Kind() == '"' { // "N/A"
			c.Skip()
			return
		}
		c.Object(func(key []byte) {
			if !each(string(key)) && !strings.Contains(passed, " "+string(key)+" ") {
				p.unread(key, of)
			}
		})
	}
	switch string(key) {
	case "gpu":
		gpu.Index = int(min(c.Int(), maxRate))
	case "bdf":
		gpu.Bus = p.word()
	case "uuid":
		gpu.UUID = p.word()
	case "partition_id":
		gpu.Partition, _ = p.number()
	case "asic":
		in("asic", func(key string) bool {
			if key == "market_name" {
				gpu.Product = p.word()
				return true
			}
			return false
		}, " vendor_id vendor_name subvendor_id device_id subsystem_id rev_id asic_serial oam_id num_compute_units target_graphics_version ")
	case "bus":
		var width int
		var tenths int64
		in("bus", func(key string) bool {
			switch key {
			case "bdf":
				gpu.Bus = cmp.Or(p.word(), gpu.Bus)
			case "max_pcie_width":
				width, _ = p.number()
			case "max_pcie_speed":
				tenths = p.measure("GT/s")
			default:
				return false
			}
			return true
		}, " pcie_interface_version slot_type pcie_levels ")
		gpu.PCIeMBps = pcieRate(int(min(tenths, 2560)), min(width, 32))
	case "vram":
		in("vram", func(key string) bool {
			if key == "size" || key == "vram_size" {
				gpu.VRAMMiB = p.measure("MB") / 10
				return true
			}
			return false
		}, " type vram_type vendor vram_vendor bit_width vram_bit_width max_bandwidth vram_max_bandwidth ")
	case "numa":
		in("numa", func(key string) bool {
			if key != "node" {
				return false
			}
			if c.Kind() == '"' {
				c.Skip()
			} else if n := c.Int(); n < maxNUMA {
				gpu.NUMA = NUMANodeOf(int(n))
			} else {
				c.Fail("not a NUMA node")
			}
			return true
		}, " affinity cpu_affinity socket_affinity cpu_cores_affinity ")
	case "partition":
		in("partition", func(key string) bool {
			switch key {
			case "compute_partition", "accelerator_partition":
				gpu.ComputePartition = p.word()
			case "memory_partition":
				gpu.MemoryPartition = p.word()
			case "partition_id":
				gpu.Partition, _ = p.number()
			default:
				return false
			}
			return true
		}, " ")
	case "kfd_id", "node_id", "vbios", "ifwi", "limit", "driver", "board", "ras", "soc_pstate", "xgmi_plpd", "process_isolation", "cache_info", "clock", "dfc_ucode", "fb_info", "num_vf", "hip_id", "hip_uuid", "drm_render", "drm_card":
	default:
		p.unread(key, "a GPU")
	}
}

// word reads a name; nothing where it is not available.
func (p *amdParser) word() string {
	if text := p.c.Text(); text != "N/A" {
		return text
	}
	return ""
}

// measure reads tenths of {"value": 32, "unit": "GT/s"}, or of the number by itself; 0: not told.
func (p *amdParser) measure(unit string) (tenths int64) {
	read := func() {
		if p.c.Kind() == '"' {
			p.c.Skip() // "N/A"
			return
		}
		tenths = p.c.Tenths()
	}
	if p.c.Kind() != '{' {
		read()
		return tenths
	}
	p.c.Object(func(key []byte) {
		switch string(key) {
		case "value":
			read()
		case "unit":
			if text := p.c.Text(); text != unit {
				p.c.Fail("a unit other than %s: %.20q", unit, text)
			}
		default:
			p.unread(key, "a number with a unit")
		}
	})
	return tenths
}
