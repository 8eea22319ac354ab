package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-sched/berth/nvmlsrc"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// Measures of the drawing, in pixels.
const (
	margin      = 28
	gap         = 12 // between devices, and between nests
	pad         = 10 // from an outline to what is in it
	captionTall = 18
	deviceWide  = 118
	gpuTall     = 84
	barredTall  = 108 // of GPUs, if one has a bar of instances
	nicTall     = 46
	numaGap     = 26
	titleTall   = 44
	lineTall    = 17
	hostTall    = 56  // of what joins the NUMA nodes
	leastWide   = 700 // titles need some room
)

// A rectangle has its upper left corner at x, y.
type rectangle struct{ x, y, wide, tall int }

func (r rectangle) right() int  { return r.x + r.wide }
func (r rectangle) bottom() int { return r.y + r.tall }
func (r rectangle) middle() int { return r.x + r.wide/2 }

// An outline is where a nest is drawn.
type outline struct {
	rectangle
	*nest
	caption string
}

// A figure is where everything is drawn.
type figure struct {
	*machine
	wide, tall       int
	outlines         []outline // those that contain others first
	devices          []rectangle
	planes           []plane
	arcs             []arc
	subtitle, legend []string // in lines
	// deepest is how many outlines there are around a device at the most.
	deepest int
	// linksTop is where NVLinks begin, top where the GPUs do, and bottom where the
	// outermost outlines end. gpuTall is the height of a GPU, and nicBottom the distance
	// from there to the bottom of the last line of NICs.
	linksTop, top, bottom, gpuTall, nicBottom, legendTop int
	// keyTop is where the colours of MIG instances are explained, if there are any.
	keyTop int
}

// A plane is a set of GPUs that reach each other through switches, and its bar.
type plane struct {
	rectangle
	gpus  []int
	links int
}

// An arc is a bundle of direct NVLinks between two GPUs.
type arc struct{ from, to, links int }

// compose decides where everything goes. GPUs stand in one line and the NICs below them in
// another, however deep the nests are.
func compose(m *machine) *figure {
	f := &figure{machine: m, devices: make([]rectangle, len(m.GPUs)+len(m.NICs)), gpuTall: gpuTall}
	if slices.ContainsFunc(m.GPUs, func(g nvmlsrc.GPU) bool { return g.MIG.Enabled }) {
		f.gpuTall = barredTall
	}
	nests := m.nests()
	rows := 0
	for _, n := range nests {
		f.deepest, rows = max(f.deepest, n.depth()), max(rows, m.nicRows(n))
	}
	f.nicBottom = f.gpuTall + rows*(gap+nicTall)
	f.findLinks()
	// First with the GPUs at the top and left: how wide that is tells how long lines of text
	// may be.
	right := -numaGap
	for _, n := range nests {
		right = f.place(n, right+numaGap, f.deepest)
	}
	f.wide = max(right+2*margin, leastWide, titleStyle.width(m.title())+2*margin)
	f.subtitle = noteStyle.wrap(m.subtitle(), f.wide-2*margin)
	f.legend = noteStyle.wrap(legend, f.wide-2*margin)
	f.linksTop = titleTall + lineTall*len(f.subtitle) + gap
	f.top = f.linksTop + f.linksTall() + f.deepest*pad
	f.move(0, m.everything(), (f.wide-right)/2, f.top)
	f.bottom = f.top + f.nicBottom + f.deepest*(pad+captionTall)
	f.legendTop = f.bottom + 30
	if len(nests) > 1 {
		f.legendTop += hostTall
	}
	if f.gpuTall == barredTall {
		f.keyTop = f.legendTop - lineTall/2
		f.legendTop += lineTall + gap
	}
	f.tall = f.legendTop + lineTall*len(f.legend) + gap
	f.placePlanes()
	return f
}

// move moves outlines from one on, and devices.
func (f *figure) move(outlines int, devices []int, right, down int) {
	for i := range f.outlines[outlines:] {
		f.outlines[outlines+i].x += right
		f.outlines[outlines+i].y += down
	}
	for _, d := range devices {
		f.devices[d].x += right
		f.devices[d].y += down
	}
}

// depth is how many outlines are around the innermost devices.
func (n *nest) depth() int {
	deepest := 0
	for _, inside := range n.inner {
		deepest = max(deepest, inside.depth())
	}
	return deepest + 1
}

// split says which of the nest's single devices are GPUs and which NICs.
func (m *machine) split(n *nest) (gpus, nics []int) {
	for _, d := range n.devices {
		if d < len(m.GPUs) {
			gpus = append(gpus, d)
		} else {
			nics = append(nics, d)
		}
	}
	return gpus, nics
}

// columns is how many devices stand side by side. NICs that have no GPUs above them use
// the room of those.
func (f *figure) columns(gpus, nics int) int {
	if gpus > 0 {
		return gpus
	}
	stacked := max((f.nicBottom+gap)/(nicTall+gap), 1)
	return (nics + stacked - 1) / stacked
}

// nicRows is how many NICs stand below each other.
func (m *machine) nicRows(n *nest) int {
	rows := 0
	for _, inside := range n.inner {
		rows = max(rows, m.nicRows(inside))
	}
	if gpus, nics := m.split(n); len(gpus) > 0 {
		rows = max(rows, (len(nics)+len(gpus)-1)/len(gpus))
	}
	return rows
}

// place places a nest with its left edge at x and the GPUs at the top, and returns its
// right edge. Level is how many outlines there could be from it inwards.
func (f *figure) place(n *nest, x, level int) int {
	at := len(f.outlines)
	f.outlines = append(f.outlines, outline{nest: n, caption: f.caption(n)})
	right := x + pad
	for _, inside := range n.inner {
		right = f.place(inside, right, level-1) + gap
	}
	gpus, nics := f.split(n)
	many := f.columns(len(gpus), len(nics))
	for i, d := range gpus {
		f.devices[d] = rectangle{right + i*(deviceWide+gap), 0, deviceWide, f.gpuTall}
	}
	rows := (len(nics) + max(many, 1) - 1) / max(many, 1)
	top := f.gpuTall + gap
	if len(gpus) == 0 {
		top = f.nicBottom - rows*(nicTall+gap) + gap
	}
	for i, d := range nics {
		f.devices[d] = rectangle{right + i%many*(deviceWide+gap), top + i/many*(nicTall+gap), deviceWide, nicTall}
	}
	right += many*(deviceWide+gap) - gap + pad
	// A caption may need more room than what it is about, which then stands in the middle.
	if wide := captionStyle.width(f.outlines[at].caption) + 2*pad; wide > right-x {
		f.move(at+1, n.all(), (wide-right+x)/2, 0)
		right = x + wide
	}
	f.outlines[at].rectangle = rectangle{x, -level * pad, right - x, f.nicBottom + level*(2*pad+captionTall)}
	return right
}

// findLinks sorts the GPUs into planes and finds direct links.
func (f *figure) findLinks() {
	planned := map[int]bool{}
	for i := range f.GPUs {
		p := plane{gpus: []int{i}}
		for j := range f.GPUs {
			switch link := f.Links[i][j]; {
			case link.Kind == nodegraph.PathNVSwitch:
				p.gpus, p.links = append(p.gpus, j), max(p.links, link.Count)
			case link.Kind == nodegraph.PathNVLink && i < j:
				f.arcs = append(f.arcs, arc{from: i, to: j, links: link.Count})
			}
		}
		if len(p.gpus) > 1 && !planned[i] {
			for _, j := range p.gpus {
				planned[j] = true
			}
			slices.Sort(p.gpus)
			f.planes = append(f.planes, p)
		}
	}
}

const (
	barTall  = 34
	barSpace = 26 // below it, for the links
	arcStep  = 16
)

// linksTall is the room above the outlines for NVLink.
func (f *figure) linksTall() int {
	tall := 0
	if len(f.planes) > 0 {
		tall = barTall + barSpace
	}
	highest := 0
	for _, a := range f.arcs {
		highest = max(highest, a.rise()+lineTall)
	}
	return max(tall, highest)
}

// placePlanes places the bars of switches above the GPUs. They share a line: no GPU has
// two.
func (f *figure) placePlanes() {
	for i := range f.planes {
		p := &f.planes[i]
		left, right := f.wide, 0
		for _, g := range p.gpus {
			left, right = min(left, f.devices[g].x), max(right, f.devices[g].right())
		}
		p.rectangle = rectangle{left, f.linksTop, right - left, barTall}
	}
}

// rise is how far an arc goes up: the further, the more GPUs are below it.
func (a arc) rise() int { return 26 + (a.to-a.from)*arcStep }

// A style is how text is set.
type style struct {
	class string
	size  int
	bold  bool
}

var (
	titleStyle   = style{"title", 21, true}
	noteStyle    = style{"note", 12, false}
	captionStyle = style{"note", 11, false}
	nameStyle    = style{"name", 14, true}
	smallStyle   = style{"name", 12, true}
	bodyStyle    = style{"body", 11, false}
	barStyle     = style{"bar", 13, true}
	cellStyle    = style{"cell", 9, true}
)

// width is about how wide a text is: letters of sans-serif faces are a little over half
// as wide as high on average.
func (s style) width(text string) int {
	wide := utf8.RuneCountInString(text) * s.size * 56 / 100
	if s.bold {
		wide += wide / 14
	}
	return wide
}

// wrap breaks a text between words into lines that are no wider, if words are not.
func (s style) wrap(text string, wide int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && s.width(longer) > wide {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
