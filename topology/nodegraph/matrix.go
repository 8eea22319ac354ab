package nodegraph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/skipped"
)

// ParseMatrix reads what "nvidia-smi topo -m" prints. The file's name is for errors.
// Product and rates are not in such a table: set them on the Spec.
//
// Expected are a line of headings (GPU0, GPU1, ... without gaps, then the NICs, then
// CPU Affinity and NUMA Affinity or neither) and a row for each device in the same
// order. Cells are separated by tabs, or by two blanks or more where the heading has
// no tabs. The table must be symmetric. After it comes the legend of the NICs, if
// any, which gives NIC0 its name.
//
// What real outputs vary in is taken as it comes: ANSI escapes, padding, carriage
// returns, text before the headings, rows of NICs that end with the links or are
// missing as a whole, superfluous cells at the end of a row, the old word SOC for SYS, other text
// after the table. Without NUMA Affinity (older drivers, machines that hide it) GPUs with the same
// CPU Affinity are taken to be on one NUMA node, numbered in order of appearance. Of a list of NUMA
// nodes the first counts: that of the CPUs, behind which Grace lists the memory of its GPUs. A GPU
// with none has an unknown one (-1).
//
// Columns and cells behind those that are known, rows that no heading announces, names of NICs
// outside of the legend or missing in it, rows without a NUMA node, and NUMA nodes that are guessed
// are listed in Spec.Skipped; text around the table is not.
//
// Errors are of type *Error with line and cell. O(length of the text).
func ParseMatrix(file, text string) (Spec, error) {
	p := matrixParser{file: file, legend: map[string]string{}}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if err := p.line(number, stripEscapes(strings.TrimRight(line, "\r"))); err != nil {
			return Spec{}, err
		}
	}
	return p.finish(number)
}

type matrixParser struct {
	file    string
	tabs    bool
	devices []string // of the headings; the first gpus of them are GPUs
	gpus    int
	cpu     int // columns, -1: not there
	numa    int
	rows    [][]Link
	lines   []int // of the rows
	cpus    []string
	numas   []int
	width   int  // of the headings, in cells
	ended   bool // a blank line came behind the table
	inNICs  bool // in the legend of the NICs
	legend  map[string]string
	skipped skipped.List
}

func (p *matrixParser) refuse(line, column int, kind error, field, reason string) error {
	return &Error{File: p.file, Line: line, Column: column, Field: field, Reason: reason, Kind: kind}
}

func (p *matrixParser) line(number int, line string) error {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		p.ended = p.ended || p.devices != nil && len(p.rows) >= p.gpus
		return nil
	case p.devices == nil:
		return p.headings(number, line)
	case !p.tableEnds(line):
		return p.row(number, line)
	case trimmed == "NIC Legend:":
		p.inNICs = true
	case p.inNICs:
		return p.nicName(number, trimmed)
	case isIndexed(p.cells(line)[0], "GPU"):
		return p.refuse(number, 1, ErrSyntax, p.cells(line)[0], "a row that no heading announces")
	case !p.ended:
		p.skipped.Add(p.file, number, "a row that no heading announces is not read")
	case isNICName(trimmed):
		p.skipped.Add(p.file, number, "the name of a NIC outside of the NIC legend is not read")
	}
	return nil
}

// isNICName reports whether a line gives a NIC its name, as the legend does.
func isNICName(line string) bool {
	alias, _, ok := strings.Cut(line, ": ")
	return ok && isIndexed(alias, "NIC")
}

// tableEnds reports whether all rows are read. The rows of NICs may be missing as a
// whole: all that they say about GPUs has been said.
func (p *matrixParser) tableEnds(line string) bool {
	rows := len(p.rows)
	return rows == len(p.devices) || rows == p.gpus && !slices.Contains(p.devices, p.cells(line)[0])
}

// cells splits a line and takes the padding off.
func (p *matrixParser) cells(line string) []string {
	if p.tabs {
		cells := strings.Split(line, "\t")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		return cells
	}
	var cells []string
	for cell := range strings.SplitSeq(line, "  ") {
		if cell = strings.TrimSpace(cell); cell != "" {
			cells = append(cells, cell)
		}
	}
	return cells
}

// headings takes the first line whose first word is GPU0 for the headings.
func (p *matrixParser) headings(number int, line string) error {
	if !strings.HasPrefix(strings.TrimSpace(line), "GPU0") {
		return nil
	}
	p.tabs = strings.Contains(line, "\t")
	cells := p.cells(line)
	first := 1 // the cell above the rows' names is empty
	if !p.tabs || cells[0] != "" {
		first = 0
	}
	p.cpu, p.numa = -1, -1
	var devices []string
	for i, cell := range cells[first:] {
		column := i + 1 // in a row, where the name is cell 0
		switch {
		case cell == "CPU Affinity":
			p.cpu = column
		case cell == "NUMA Affinity":
			p.numa = column
		case cell == "" || cell == "GPU NUMA ID":
		case p.cpu >= 0 || p.numa >= 0: // a column of a later driver
			p.skipped.Add(p.file, number, "the column ", errtext.Short(cell), " is not read")
		case column != len(devices)+1:
			return p.refuse(number, i+first+1, ErrSyntax, cell, "a heading after an empty one")
		case isIndexed(cell, "GPU"):
			if want := "GPU" + strconv.Itoa(p.gpus); cell != want || p.gpus != len(devices) {
				return p.refuse(number, i+first+1, ErrSyntax, cell, "GPUs are numbered without gaps and come first: want "+want)
			}
			devices = append(devices, cell)
			p.gpus++
		default:
			devices = append(devices, cell)
		}
	}
	switch nics := len(devices) - p.gpus; {
	case p.gpus == 0:
		return nil // text before the table
	case p.gpus > maxGPUs || nics > maxNICs:
		return p.refuse(number, 0, ErrTooLarge, "", strconv.Itoa(p.gpus)+" GPUs and "+strconv.Itoa(nics)+" NICs, and "+strconv.Itoa(maxGPUs)+" of each is the most")
	}
	for i, name := range devices {
		if slices.Contains(devices[:i], name) {
			return p.refuse(number, i+first+1, ErrInvalid, name, "two columns of this name")
		}
	}
	p.devices, p.width = devices, len(cells)-first+1
	return nil
}

func isIndexed(cell, prefix string) bool {
	rest, ok := strings.CutPrefix(cell, prefix)
	_, number := digits(rest)
	return ok && number
}

// row reads the links of the next device.
func (p *matrixParser) row(number int, line string) error {
	cells := p.cells(line)
	me := len(p.rows)
	name := p.devices[me]
	if cells[0] != name {
		return p.refuse(number, 1, ErrSyntax, strconv.Quote(errtext.Short(cells[0])), "not the next row: want "+name)
	}
	if have := len(cells) - 1; have < len(p.devices) {
		return p.refuse(number, len(cells), ErrSyntax, name, "the row ends after "+strconv.Itoa(have)+" of "+strconv.Itoa(len(p.devices))+" links")
	}
	links := make([]Link, len(p.devices))
	for peer := range links {
		link, err := p.link(number, me, peer, cells[1+peer])
		if err != nil {
			return err
		}
		links[peer] = link
	}
	p.rows = append(p.rows, links)
	p.lines = append(p.lines, number)
	if me < p.gpus {
		return p.affinity(number, name, cells)
	}
	return nil
}

func (p *matrixParser) link(number, me, peer int, cell string) (Link, error) {
	field := p.devices[me] + " to " + p.devices[peer]
	if me == peer || cell == "X" {
		if me != peer || cell != "X" {
			return Link{}, p.refuse(number, peer+2, ErrSyntax, field, "X stands for a device and itself, and nothing else does: have "+strconv.Quote(errtext.Short(cell)))
		}
		return Link{}, nil
	}
	link, err := ParseLink(cell)
	switch {
	case err != nil:
		return Link{}, p.refuse(number, peer+2, ErrSyntax, field, "not a link: "+strconv.Quote(errtext.Short(cell)))
	case link.Kind == PathNone || link.Kind == PathNVSwitch:
		return Link{}, p.refuse(number, peer+2, ErrSyntax, field, "not a word of nvidia-smi: "+strconv.Quote(errtext.Short(cell)))
	case link.Kind == PathNVLink && (me >= p.gpus || peer >= p.gpus):
		return Link{}, p.refuse(number, peer+2, ErrInvalid, field, "NVLinks to a NIC")
	case peer < me && p.rows[peer][me] != link:
		return Link{}, p.refuse(number, peer+2, ErrInvalid, field,
			link.String()+", and "+p.rows[peer][me].String()+" the other way in line "+strconv.Itoa(p.lines[peer]))
	}
	return link, nil
}

// affinity notes what a GPU's row says of CPUs and NUMA nodes.
func (p *matrixParser) affinity(number int, name string, cells []string) error {
	cpu, numa := "", -1
	if p.numa >= len(cells) {
		p.skipped.Add(p.file, number, "a row ends before its NUMA node, which is not known then")
	}
	// What belongs to GPU NUMA ID stands one cell behind its heading.
	for i := p.width + 1; i < len(cells); i++ {
		if cells[i] != "" && cells[i] != "N/A" {
			p.skipped.Add(p.file, number, "cells behind those of the headings are not read")
		}
	}
	if p.cpu >= 0 && p.cpu < len(cells) {
		cpu = cells[p.cpu]
	}
	if p.numa >= 0 && p.numa < len(cells) {
		cell := cells[p.numa]
		first := cell
		if end := strings.IndexAny(cell, ",-"); end >= 0 && isList(cell) {
			first = cell[:end]
		}
		node, ok := digits(first)
		switch {
		case ok && node < maxNUMA:
			numa = node
		case cell == "" || cell == "N/A":
		default:
			return p.refuse(number, p.numa+1, ErrSyntax, name+": NUMA Affinity", "not a NUMA node: "+strconv.Quote(errtext.Short(cell)))
		}
	}
	p.cpus = append(p.cpus, cpu)
	p.numas = append(p.numas, numa)
	return nil
}

// isList reports whether a cell is a list of numbers and ranges, such as 0-1,4.
func isList(cell string) bool {
	return strings.Trim(cell, "0123456789,-") == "" && strings.ContainsAny(cell, "0123456789")
}

// nicName reads an entry of the legend. What is not an entry ends it.
func (p *matrixParser) nicName(number int, line string) error {
	alias, name, ok := strings.Cut(line, ": ")
	if !ok || !isIndexed(alias, "NIC") {
		if p.inNICs = false; ok {
			p.skipped.Add(p.file, number, "an entry of the NIC legend that is of no NIC is not read, nor what comes after it")
		}
		return nil
	}
	name = strings.TrimSpace(name)
	switch {
	case !slices.Contains(p.devices[p.gpus:], alias):
		return p.refuse(number, 0, ErrInvalid, alias, "the legend names a NIC that the table does not have")
	case name == "":
		return p.refuse(number, 0, ErrSyntax, alias, "no name")
	case p.legend[alias] != "":
		return p.refuse(number, 0, ErrInvalid, alias, "the legend names it twice")
	}
	p.legend[alias] = name
	return nil
}

func (p *matrixParser) finish(lines int) (Spec, error) {
	if p.devices == nil {
		return Spec{}, p.refuse(lines, 0, ErrSyntax, "", "no table: want a line of headings GPU0, GPU1, ...")
	}
	if rows := len(p.rows); rows < len(p.devices) && rows != p.gpus {
		return Spec{}, p.refuse(lines, 0, ErrSyntax, p.devices[len(p.rows)], "the text ends before its row")
	}
	if !slices.ContainsFunc(p.numas, func(numa int) bool { return numa >= 0 }) {
		p.numasByCPU()
	}
	spec := Spec{GPUs: make([]GPUSpec, p.gpus), Links: make([][]Link, p.gpus)}
	for i := range p.gpus {
		spec.GPUs[i].NUMA = NUMANodeOf(p.numas[i])
		spec.Links[i] = p.rows[i][:p.gpus:p.gpus]
	}
	for i := p.gpus; i < len(p.devices); i++ {
		nic := NICSpec{Name: p.devices[i], Paths: make([]PathKind, p.gpus)}
		if name := p.legend[nic.Name]; name != "" {
			nic.Name = name
		} else if isIndexed(nic.Name, "NIC") {
			p.skipped.Add(p.file, p.lines[0]-1, "no legend names a NIC: it keeps the number of its column")
		}
		for gpu := range p.gpus {
			nic.Paths[gpu] = p.rows[gpu][i].Kind
		}
		spec.NICs = append(spec.NICs, nic)
	}
	spec.Skipped = p.skipped
	return spec, nil
}

// numasByCPU numbers the distinct lists of CPUs.
func (p *matrixParser) numasByCPU() {
	count := 0
	for i, cpu := range p.cpus {
		if !isList(cpu) {
			continue
		}
		for j := range i {
			if p.cpus[j] == cpu {
				p.numas[i] = p.numas[j]
			}
		}
		if p.numas[i] < 0 {
			p.numas[i] = count
			count++
		}
	}
	if count > 0 {
		p.skipped.Add(p.file, p.lines[0], "no NUMA node is told: those of equal CPU Affinity count as one")
	}
}

// stripEscapes takes ANSI control sequences out of a line: nvidia-smi underlines its
// headings.
func stripEscapes(line string) string {
	if !strings.Contains(line, "\x1b[") {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		if !strings.HasPrefix(line[i:], "\x1b[") {
			b.WriteByte(line[i])
			continue
		}
		for i += 2; i < len(line) && (line[i] < '@' || line[i] > '~'); i++ {
		}
	}
	return b.String()
}
