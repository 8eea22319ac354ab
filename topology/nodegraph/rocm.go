package nodegraph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/skipped"
)

// ParseROCm reads what "rocm-smi --showtopo" prints. The file's name is for errors.
//
// It looks at: the tables of link types and of hops, and the NUMA nodes. XGMI is one link of
// AMD's, and counts as an NVLink, where it leads to the other GPU in one hop; other paths are NODE
// within a NUMA node and SYS beyond, as the text tells no more of PCIe. Spec.Skipped lists tables
// and lines that are not known, XGMI over several hops, and GPUs without a NUMA node. NICs are not
// in such a text.
//
// Errors are of type *Error with line. O(length of the text).
func ParseROCm(file, text string) (Spec, error) {
	p := rocmParser{file: file}
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		if err := p.read(strings.TrimSpace(stripEscapes(line))); err != nil {
			return Spec{}, err
		}
	}
	return p.spec()
}

type rocmParser struct {
	file    string
	line    int
	section string
	// links and hops are the rows of the tables, as texts.
	links, hops [][]string
	linksLine   int
	columns     int // of the table at hand; 0: its headings are to come
	numas       map[int]int
	skipped     skipped.List
}

func (p *rocmParser) refuse(kind error, field, reason string) error {
	return &Error{File: p.file, Line: p.line, Field: field, Reason: reason, Kind: kind}
}

// What the sections are called.
const (
	rocmLinks = "Link Type between two GPUs"
	rocmHops  = "Hops between two GPUs"
	rocmNUMA  = "Numa Nodes"
)

func (p *rocmParser) read(line string) error {
	if title := strings.TrimSpace(strings.Trim(line, "=")); strings.HasPrefix(line, "==") {
		p.section, p.columns = title, 0
		switch {
		case title == rocmLinks && p.links != nil || title == rocmHops && p.hops != nil:
			return p.refuse(ErrInvalid, title, "the table is there twice")
		case title == rocmLinks:
			p.links, p.linksLine = [][]string{}, p.line
		case title == rocmHops:
			p.hops = [][]string{}
		case !slices.Contains([]string{rocmNUMA, "Weight between two GPUs", "ROCm System Management Interface", "End of ROCm SMI Log", ""}, title):
			p.skipped.Add(p.file, p.line, "the section "+strconv.Quote(errtext.Short(title))+" is not read")
		}
		return nil
	}
	var err error
	switch p.section {
	case rocmLinks:
		p.links, err = p.row(p.links, line)
	case rocmHops:
		p.hops, err = p.row(p.hops, line)
	case rocmNUMA:
		err = p.numa(line)
	}
	return err
}

// row adds a row of a table. The first line of a table is its headings: row -1.
func (p *rocmParser) row(rows [][]string, line string) ([][]string, error) {
	cells := strings.Fields(line)
	switch want := "GPU" + strconv.Itoa(len(rows)); {
	case len(cells) == 0:
		return rows, nil
	case len(cells) > maxGPUs+1:
		return nil, p.refuse(ErrTooLarge, p.section, "more than "+strconv.Itoa(maxGPUs)+" GPUs")
	case p.columns == 0:
		for i, cell := range cells {
			if cell != "GPU"+strconv.Itoa(i) {
				return nil, p.refuse(ErrSyntax, strconv.Quote(errtext.Short(cell)), "columns are numbered without gaps: want GPU"+strconv.Itoa(i))
			}
		}
		p.columns = len(cells)
		return rows, nil
	case len(rows) == p.columns:
		return nil, p.refuse(ErrSyntax, strconv.Quote(errtext.Short(cells[0])), "a row that no heading announces")
	case cells[0] != want:
		return nil, p.refuse(ErrSyntax, strconv.Quote(errtext.Short(cells[0])), "not the next row: want "+want)
	case len(cells) != p.columns+1:
		return nil, p.refuse(ErrSyntax, want, strconv.Itoa(p.columns)+" columns, and the row has "+strconv.Itoa(len(cells)-1))
	}
	return append(rows, cells[1:]), nil
}

// numa reads "GPU[0] : (Topology) Numa Node: 1"; older releases write "GPU 0".
func (p *rocmParser) numa(line string) error {
	device, number, found := strings.Cut(line, "Numa Node:")
	switch {
	case !found && (line == "" || strings.Contains(line, "Numa Affinity:")): // it says the same
		return nil
	case !found:
		p.skipped.Add(p.file, p.line, "a line that tells no NUMA node is not read in the section ", strconv.Quote(rocmNUMA))
		return nil
	}
	name, _, _ := strings.Cut(device, ":")
	gpu, ok := digits(strings.Trim(strings.TrimPrefix(strings.TrimSpace(name), "GPU"), "[] "))
	if !ok || gpu >= maxGPUs {
		return p.refuse(ErrSyntax, strconv.Quote(errtext.Short(strings.TrimSpace(name))), "not a GPU")
	}
	node, ok := digits(strings.TrimSpace(number))
	switch number = strings.TrimSpace(number); {
	case number == "-1":
		return nil
	case !ok || node >= maxNUMA:
		return p.refuse(ErrSyntax, "GPU"+strconv.Itoa(gpu), "not a NUMA node: "+strconv.Quote(errtext.Short(number)))
	}
	if p.numas == nil {
		p.numas = map[int]int{}
	}
	if was, twice := p.numas[gpu]; twice && was != node {
		return p.refuse(ErrInvalid, "GPU"+strconv.Itoa(gpu), "on two NUMA nodes")
	}
	p.numas[gpu] = node
	return nil
}

func (p *rocmParser) spec() (Spec, error) {
	n := len(p.links)
	if n == 0 {
		return Spec{}, p.refuse(ErrSyntax, "", "no table "+strconv.Quote(rocmLinks))
	}
	p.line = p.linksLine
	if len(p.hops) > 0 && len(p.hops) != n {
		return Spec{}, p.refuse(ErrInvalid, rocmHops, strconv.Itoa(len(p.hops))+" rows, and "+strconv.Itoa(n)+" GPUs have links")
	}
	s := Spec{GPUs: make([]GPUSpec, n), Links: make([][]Link, n)}
	for a := range n {
		numa, known := p.numas[a]
		if known {
			s.GPUs[a].NUMA = NUMANodeOf(numa)
		} else {
			p.skipped.Add(p.file, p.line, "no NUMA node is told of a GPU: its paths over PCIe count as SYS")
		}
		if len(p.links[a]) != n || len(p.hops) > 0 && len(p.hops[a]) != n {
			return Spec{}, p.refuse(ErrSyntax, "GPU"+strconv.Itoa(a), strconv.Itoa(n)+" GPUs have links, and the row has another number")
		}
	}
	for a := range n {
		s.Links[a] = make([]Link, n)
		for b := range n {
			link, err := p.link(&s, a, b)
			if err != nil {
				return Spec{}, err
			}
			s.Links[a][b] = link
			if b < a && s.Links[b][a] != link {
				return Spec{}, p.refuse(ErrInvalid, "GPU"+strconv.Itoa(a)+" to GPU"+strconv.Itoa(b), "another link than the other way")
			}
		}
	}
	s.Skipped = p.skipped
	return s, nil
}

// link is the path between two GPUs.
func (p *rocmParser) link(s *Spec, a, b int) (Link, error) {
	path := Link{Kind: PathSYS}
	if s.GPUs[a].NUMA == s.GPUs[b].NUMA && s.GPUs[a].NUMA != (NUMANode{}) {
		path.Kind = PathNODE
	}
	switch cell := p.links[a][b]; {
	case (a == b) != (cell == "0"):
		return Link{}, p.refuse(ErrSyntax, "GPU"+strconv.Itoa(a)+" to GPU"+strconv.Itoa(b), "0 stands for a GPU and itself, and nothing else does: have "+strconv.Quote(errtext.Short(cell)))
	case a == b:
		return Link{}, nil
	case cell == "PCIE":
		return path, nil
	case cell != "XGMI":
		return Link{}, p.refuse(ErrSyntax, "GPU"+strconv.Itoa(a)+" to GPU"+strconv.Itoa(b), "neither XGMI nor PCIE: "+strconv.Quote(errtext.Short(cell)))
	case len(p.hops) == 0:
		p.skipped.Add(p.file, p.line, "no hops are told: each XGMI counts as a link of its own")
	case p.hops[a][b] != "1":
		p.skipped.Add(p.file, p.line, "XGMI over several hops joins no GPUs by itself")
		return path, nil
	}
	return Link{Kind: PathNVLink, Count: 1}, nil
}
