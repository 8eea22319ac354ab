package nodegraph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/markup"
)

// maxEnds bounds what a matrix is about: 64 GPUs, and switches.
const maxEnds = 512

// A hwlocMatrix is values between each two of some objects.
type hwlocMatrix struct {
	markup.Place
	name   string
	kind   string // of all ends; empty where each has its own
	n      int
	ends   []hwlocEnd
	values []int
}

// A hwlocEnd is an object by its kind and its id.
type hwlocEnd struct {
	kind string
	id   uint64
}

// bandwidthBit is that of values in MB/s among the kinds of matrices; the bits of others are those
// of latencies, and of hops since version 3.
const bandwidthBit = 1 << 3

// The matrices that are read.
const (
	nvlinkBandwidth = "NVLinkBandwidth"
	xgmiBandwidth   = "XGMIBandwidth"
	xgmiHops        = "XGMIHops"
)

// matrix begins a matrix.
func (p *hwlocParser) matrix(e markup.Element) error {
	m := &hwlocMatrix{Place: e.Place}
	m.name, _ = e.Attribute("name")
	for _, a := range e.Attributes {
		if name := markup.NameOf(a.Name); !slices.Contains([]string{"name", "type", "nbobjs", "kind", "indexing"}, name) {
			p.skip(e.Place, "the attribute ", errtext.Short(name), " of matrices is not read")
		}
	}
	if !slices.Contains([]string{nvlinkBandwidth, xgmiBandwidth, xgmiHops}, m.name) {
		p.skip(e.Place, "the matrix \"", errtext.Short(m.name), "\" is not read")
		return markup.ErrPassOver
	}
	m.kind, _ = e.Attribute("type")
	count, _ := e.Attribute("nbobjs")
	bits, _ := e.Attribute("kind")
	indexing, _ := e.Attribute("indexing")
	kind, okKind := digits(bits)
	n, ok := digits(count)
	switch {
	case p.matrixOf(m.name) != nil:
		return p.refuse(ErrInvalid, m.name, "the matrix is there twice")
	case !ok || n < 2:
		return p.refuse(ErrSyntax, m.name+".nbobjs", "not a number from 2: "+strconv.Quote(errtext.Short(count)))
	case n > maxEnds:
		return p.refuse(ErrTooLarge, m.name+".nbobjs", count+" objects, and "+strconv.Itoa(maxEnds)+" is the most")
	case !okKind || m.name != xgmiHops && kind&bandwidthBit == 0:
		return p.refuse(ErrInvalid, m.name+".kind", "not a bandwidth: "+strconv.Quote(errtext.Short(bits)))
	case (e.Name == "distances2") != (m.kind != ""):
		return p.refuse(ErrInvalid, m.name+".type", "one kind of objects in distances2, and each its own in distances2hetero")
	case e.Name == "distances2" && indexing != "gp":
		return p.refuse(ErrInvalid, m.name+".indexing", "devices have no other index than gp: "+strconv.Quote(errtext.Short(indexing)))
	}
	m.n = n
	p.matrices = append(p.matrices, m)
	return nil
}

func (p *hwlocParser) matrixOf(name string) *hwlocMatrix {
	for _, m := range p.matrices {
		if m.name == name {
			return m
		}
	}
	return nil
}

// indexes adds ends.
func (p *hwlocParser) indexes(text string) error {
	m := p.matrices[len(p.matrices)-1]
	for field := range strings.FieldsSeq(text) {
		end := hwlocEnd{kind: m.kind}
		number := field
		if m.kind == "" {
			end.kind, number, _ = strings.Cut(field, ":")
		}
		var err error
		if end.id, err = strconv.ParseUint(number, 10, 64); err != nil {
			return p.refuse(ErrSyntax, m.name+".indexes", "not an index: "+strconv.Quote(errtext.Short(field)))
		}
		if len(m.ends) == m.n {
			return p.refuse(ErrInvalid, m.name+".indexes", "more than "+strconv.Itoa(m.n))
		}
		m.ends = append(m.ends, end)
	}
	return nil
}

// values adds values.
func (p *hwlocParser) values(text string) error {
	m := p.matrices[len(p.matrices)-1]
	for field := range strings.FieldsSeq(text) {
		value, ok := digits(field)
		if !ok || value > maxRate {
			return p.refuse(ErrSyntax, m.name+".u64values", "not a number of MB/s up to "+strconv.Itoa(maxRate)+": "+strconv.Quote(errtext.Short(field)))
		}
		if len(m.values) == m.n*m.n {
			return p.refuse(ErrInvalid, m.name+".u64values", "more than "+strconv.Itoa(m.n*m.n))
		}
		m.values = append(m.values, value)
	}
	return nil
}

// complete checks that all of a matrix is there, the same both ways. Its diagonal says nothing:
// hwloc has 1 TB/s there.
func (m *hwlocMatrix) complete(p *hwlocParser) error {
	if len(m.ends) != m.n || len(m.values) != m.n*m.n {
		return p.refuse(ErrSyntax, m.name, strconv.Itoa(len(m.ends))+" indexes and "+strconv.Itoa(len(m.values))+" values, and "+
			strconv.Itoa(m.n)+" and "+strconv.Itoa(m.n*m.n)+" are to be there")
	}
	there := make(map[hwlocEnd]bool, m.n)
	for a, end := range m.ends {
		if there[end] {
			return p.refuse(ErrInvalid, m.name+".indexes", "an object is there twice")
		}
		there[end] = true
		for b := range a {
			if here, back := m.values[a*m.n+b], m.values[b*m.n+a]; here != back {
				return p.refuse(ErrInvalid, m.name+".u64values", "between the objects "+strconv.Itoa(b)+" and "+strconv.Itoa(a)+": "+
					strconv.Itoa(back)+" and "+strconv.Itoa(here)+" the other way")
			}
		}
	}
	return nil
}

// isEmpty reports whether there is no link. Hwloc writes a matrix where it finds some, and a filter
// takes the switches out of it that all of them may lead to.
func (m *hwlocMatrix) isEmpty() bool {
	for i, value := range m.values {
		if i%(m.n+1) != 0 && value != 0 {
			return false
		}
	}
	return true
}

// An end of a matrix is the index of a GPU, or one of these.
const (
	endUnknown = -1 - iota // nothing in the file
	endSwitch
	endCPU
)

// resolve finds the ends of a matrix among the GPUs, in one pass over the devices. Each other PCI
// device is a switch. Ends that two objects claim are refused.
func (p *hwlocParser) resolve(m *hwlocMatrix, gpus []hwlocGPU) ([]int, error) {
	found, wanted, ofPCI := make([]int, m.n), map[hwlocEnd]int{}, map[int]int{}
	for i, end := range m.ends {
		found[i] = endCPU
		if end.kind == "OSDev" || end.kind == "PCIDev" {
			found[i] = endUnknown
			wanted[end] = i
		}
	}
	for i, gpu := range gpus {
		ofPCI[gpu.pci] = i
	}
	seen := map[hwlocEnd]bool{}
	meet := func(end hwlocEnd, pci int, at markup.Place) error {
		i, is := wanted[end]
		if !is {
			return nil
		}
		if seen[end] {
			p.Place = at
			return p.refuse(ErrInvalid, m.name+".indexes", "two objects have the index "+strconv.FormatUint(end.id, 10))
		}
		seen[end] = true
		if gpu, is := ofPCI[pci]; is {
			found[i] = gpu
		} else if end.kind == "PCIDev" {
			found[i] = endSwitch
		}
		return nil
	}
	for i := range p.devices {
		if d := &p.devices[i]; d.id != 0 {
			if err := meet(hwlocEnd{"OSDev", d.id}, d.pci, d.Place); err != nil {
				return nil, err
			}
		}
	}
	for i := range p.pcis {
		if d := &p.pcis[i]; d.id != 0 {
			if err := meet(hwlocEnd{"PCIDev", d.id}, i, d.Place); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// addLinks replaces paths by the NVLinks that the matrices tell of.
func (p *hwlocParser) addLinks(s *Spec, gpus []hwlocGPU) error {
	s.NVLinksUntold = true
	for _, m := range p.matrices {
		if m.name == xgmiHops {
			continue
		}
		if m.isEmpty() {
			p.skip(m.Place, "the matrix ", m.name, " has no link in it: what links led to was left out of the file")
			continue
		}
		s.NVLinksUntold = false
		ends, err := p.resolve(m, gpus)
		if err != nil {
			return err
		}
		for gpu := range gpus {
			if !slices.Contains(ends, gpu) {
				p.skip(m.Place, "the matrix "+m.name+" does not list all GPUs")
			}
		}
		add := p.addNVLinks
		if m.name == xgmiBandwidth {
			add = p.addXGMI
		}
		if err := add(s, gpus, m, ends); err != nil {
			return err
		}
	}
	return nil
}

// addXGMI adds AMD's links, of which hwloc tells that there is a way, and in another matrix over
// how many of them.
func (p *hwlocParser) addXGMI(s *Spec, gpus []hwlocGPU, m *hwlocMatrix, ends []int) error {
	hops := make([]int, len(gpus)*len(gpus))
	if h := p.matrixOf(xgmiHops); h != nil {
		hopEnds, err := p.resolve(h, gpus)
		if err != nil {
			return err
		}
		for i, a := range hopEnds {
			for j, b := range hopEnds {
				if a >= 0 && b >= 0 {
					hops[a*len(gpus)+b] = h.values[i*h.n+j]
				}
			}
		}
	}
	for i, a := range ends {
		for j, b := range ends {
			switch {
			case m.values[i*m.n+j] == 0 || a < 0 || b < 0 || a == b:
			case hops[a*len(gpus)+b] > 1:
				p.skip(m.Place, "XGMI over several hops joins no GPUs by itself")
			default:
				s.Links[a][b] = Link{Kind: PathNVLink, Count: 1}
			}
		}
	}
	return nil
}

// addNVLinks adds NVLinks, of which hwloc tells the bandwidth of all between two ends together.
func (p *hwlocParser) addNVLinks(s *Spec, gpus []hwlocGPU, m *hwlocMatrix, ends []int) error {
	rate := m.linkRate(s.Product)
	if _, known := RatesOf(s.Product); !known {
		s.NVLinkMBps = int64(rate)
	}
	switched := make([]int, len(gpus))
	for i, a := range ends {
		for j, b := range ends {
			value := m.values[i*m.n+j]
			if i == j || value == 0 || a < 0 {
				continue
			}
			count := value / rate
			p.Place = m.Place
			switch {
			case value%rate != 0:
				return p.refuse(ErrInvalid, m.name+".u64values", strconv.Itoa(value)+" MB/s at "+s.GPUs[a].Bus+" is no multiple of the "+
					strconv.Itoa(rate)+" that hwloc gives one of its links")
			case count > MaxLinks || switched[a]+count > MaxLinks:
				return p.refuse(ErrInvalid, m.name+".u64values", "more than "+strconv.Itoa(MaxLinks)+" links at "+s.GPUs[a].Bus)
			case b == a:
			case b >= 0:
				s.Links[a][b] = Link{Kind: PathNVLink, Count: count}
			case b == endSwitch:
				switched[a] += count
			case b == endCPU:
				p.skip(m.Place, "NVLinks to a CPU join no GPUs")
			default:
				p.skip(m.Place, "NVLinks to an object that is not in the file")
			}
		}
	}
	for a := range gpus {
		for b := range gpus {
			count := min(switched[a], switched[b])
			if a != b && count > 0 && !s.Links[a][b].Kind.isNV() {
				s.Links[a][b] = Link{Kind: PathNVSwitch, Count: count}
			}
		}
	}
	return nil
}

// linkRate is what hwloc gives one NVLink of a product, in MB/s: 20,000 in version 1, 50,000 in
// version 5, and 25,000 between, also where the product's links are slower. That of a product that
// is not known shows in the values: 25,000 if all are multiples, and else 20,000.
func (m *hwlocMatrix) linkRate(product string) int {
	const first, usual, fifth = 20_000, 25_000, 50_000
	rates, known := RatesOf(product)
	switch {
	case known && (rates.NVLinkMBps == first || rates.NVLinkMBps == fifth):
		return int(rates.NVLinkMBps)
	case known:
		return usual
	}
	for i, value := range m.values {
		if i%(m.n+1) != 0 && value%usual != 0 {
			return first
		}
	}
	return usual
}
