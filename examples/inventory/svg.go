package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// The colours of the page by day and by night, in the order of pageColours.
const pageColours = `
svg{background:%[1]s} .page{fill:%[1]s} .title,.name,.body{fill:%[2]s} .note{fill:%[3]s}
.numa{fill:%[4]s;stroke:%[5]s} .bridge{fill:none;stroke:%[5]s} .switch{fill:%[6]s;stroke:%[3]s}
.gpu{fill:%[7]s;stroke:%[8]s} .nic{fill:%[9]s;stroke:%[10]s} .off{fill:%[1]s;stroke:%[11]s}
.lost{fill:%[1]s;stroke:%[12]s} .alarm{fill:%[12]s} .host{stroke:%[5]s} .free{fill:%[1]s;stroke:%[5]s}
.plane{fill:%[8]s} .link{stroke:%[8]s} .used{fill:%[8]s}`

const styleSheet = `
text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif}
.bar,.cell{fill:#ffffff} .link{fill:none;stroke-opacity:.55} .bridge,.off{stroke-dasharray:5 4}
.gpu,.nic,.lost{stroke-width:1.5} .host{fill:none;stroke-width:3} .idle{fill:#64748b}`

var (
	day = []any{
		"#ffffff", "#1b2027", "#55606e", "#f6f7f9", "#b4bcc7", "#e9edf2",
		"#e6f4ea", "#23763c", "#e7f0fb", "#2f6fc4", "#98a2b0", "#b3261e",
	}
	night = []any{
		"#14181d", "#e8ecf1", "#a5b0bd", "#1b2128", "#4a5563", "#29323d",
		"#17301f", "#3d9a5a", "#172a42", "#5b93dd", "#66717f", "#ff8a80",
	}
)

// A canvas takes the parts of a drawing.
type canvas struct{ bytes.Buffer }

// writeSVG draws the topology of the node as a picture that needs no script and no other
// file, for a browser or a talk.
func writeSVG(w io.Writer, m *machine) error {
	f := compose(m)
	var c canvas
	fmt.Fprintf(&c, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" style=\"width:100%%;height:auto;min-width:%dpx;max-width:%dpx\" role=\"img\">\n", f.wide, f.tall, f.wide, f.tall, f.wide*2/3, f.wide) // letters of less than two thirds cannot be read
	fmt.Fprintf(&c, "<title>%s: %s</title>\n<style>%s", escape(m.name), escape(m.products()), styleSheet)
	fmt.Fprintf(&c, pageColours+"\n@media (prefers-color-scheme:dark){", day...)
	fmt.Fprintf(&c, pageColours+"\n}\n</style>\n", night...)
	c.rectangle("page", rectangle{0, 0, f.wide, f.tall}, 0)
	c.text(titleStyle, margin, 34, f.title())
	c.lines(noteStyle, margin, titleTall+10, f.subtitle)
	f.drawHost(&c)
	for _, o := range f.outlines {
		f.drawOutline(&c, o)
	}
	f.drawLinks(&c)
	for i := range f.GPUs {
		f.drawGPU(&c, i)
	}
	for i := range f.NICs {
		f.drawNIC(&c, i)
	}
	f.drawKey(&c)
	c.lines(noteStyle, margin, f.legendTop, f.legend)
	c.WriteString("</svg>\n")
	_, err := c.WriteTo(w)
	return err
}

func (m *machine) title() string { return m.name + ": " + m.products() }

// subtitle says in a line what the drawing cannot.
func (m *machine) subtitle() string {
	var parts []string
	if m.Driver != "" {
		parts = append(parts, "driver "+m.Driver)
	}
	if len(m.GPUs) > 0 && m.GPUs[0].ComputeMajor > 0 {
		parts = append(parts, "compute capability "+capability(&m.GPUs[0]))
	}
	rails, rate := 0, int64(0)
	for _, nic := range m.NICs {
		if nic.Rail != (berth.Ordinal{}) {
			rails, rate = rails+1, max(rate, nic.MbitPerSecond)
		}
	}
	if rails > 0 {
		text := fmt.Sprintf("%d rails", rails)
		if rate > 0 {
			text += fmt.Sprintf(" of %g Gb/s", float64(rate)/1000)
		}
		parts = append(parts, text)
	}
	if fabrics := m.fabrics(); len(fabrics) > 0 {
		parts = append(parts, "the NVLink fabric "+strings.Join(fabrics, ", ")+" spans machines")
	}
	return strings.Join(parts, " · ")
}

// drawHost joins the NUMA nodes.
func (f *figure) drawHost(c *canvas) {
	var nodes []outline
	for _, o := range f.outlines {
		if o.level == nodegraph.PathNODE {
			nodes = append(nodes, o)
		}
	}
	if len(nodes) < 2 {
		return
	}
	y := f.bottom + 16
	for _, o := range nodes {
		fmt.Fprintf(c, "<path class=\"host\" d=\"M%d %dV%d\"/>\n", o.middle(), o.bottom(), y)
	}
	fmt.Fprintf(c, "<path class=\"host\" d=\"M%d %dH%d\"/>\n", nodes[0].middle(), y, nodes[len(nodes)-1].middle())
	const words = "between NUMA nodes: SYS"
	c.centred(captionStyle, (nodes[0].middle()+nodes[len(nodes)-1].middle())/2, y+17, words)
}

func (f *figure) drawOutline(c *canvas, o outline) {
	class := map[nodegraph.PathKind]string{nodegraph.PathNODE: "numa", nodegraph.PathPHB: "bridge", nodegraph.PathPXB: "bridge", nodegraph.PathPIX: "switch"}[o.level]
	c.rectangle(class, o.rectangle, 8)
	c.centred(captionStyle, o.middle(), o.bottom()-8, o.caption)
}

// drawLinks draws what goes over NVLink: bars for switches, arcs for direct links, each
// as wide as there are links.
func (f *figure) drawLinks(c *canvas) {
	for _, p := range f.planes {
		for _, g := range p.gpus {
			d := f.devices[g]
			fmt.Fprintf(c, "<path class=\"link\" stroke-width=\"%d\" d=\"M%d %dV%d\"/>\n", 4+p.links, d.middle(), p.bottom(), d.y)
		}
		c.rectangle("plane", p.rectangle, 6)
		c.centred(barStyle, p.middle(), p.y+22, f.planeText(p))
	}
	for _, a := range f.arcs {
		from, to := f.devices[a.from].middle(), f.devices[a.to].middle()
		y, up := f.top, a.rise()*4/3 // a curve stays a quarter below its handles
		fmt.Fprintf(c, "<path class=\"link\" stroke-width=\"%d\" d=\"M%d %dC%d %d %d %d %d %d\"><title>GPU %d and GPU %d: NV%d</title></path>\n",
			1+a.links, from, y, from, y-up, to, y-up, to, y, a.from, a.to, a.links)
	}
	if len(f.arcs) > 8 {
		return // so many that their labels would be on top of each other
	}
	for _, a := range f.arcs {
		middle := (f.devices[a.from].middle() + f.devices[a.to].middle()) / 2
		c.centred(smallStyle, middle, f.top-a.rise()-a.links/2-6, fmt.Sprintf("NV%d", a.links))
	}
}

// planeText names the links of each GPU into a switch and what they carry.
func (f *figure) planeText(p plane) string {
	text := fmt.Sprintf("NVSwitch · NV%d", p.links)
	if rates, known := nodegraph.RatesOf(f.GPUs[p.gpus[0]].Product); known {
		text += fmt.Sprintf(" · %d GB/s each way per GPU", int64(p.links)*rates.NVLinkMBps/1000)
	}
	return text
}

func (f *figure) drawGPU(c *canvas, i int) {
	g, d := &f.GPUs[i], f.devices[i]
	class := "gpu"
	if g.Failure != nil {
		class = "lost"
	}
	fmt.Fprintf(c, "<g><title>%s</title>\n", escape(fmt.Sprintf("GPU %d: %s %s", i, product(g), g.UUID)))
	c.rectangle(class, d, 6)
	c.text(nameStyle, d.x+10, d.y+21, fmt.Sprintf("GPU %d", i))
	if g.MemoryMiB > 0 {
		c.text(bodyStyle, d.x+10, d.y+39, fmt.Sprintf("%d MiB", g.MemoryMiB))
	}
	c.text(bodyStyle, d.x+10, d.y+54, strings.TrimPrefix(g.PCI, "0000:"))
	switch {
	case g.Failure != nil:
		c.text(style{"alarm", 11, true}, d.x+10, d.y+74, g.Failure.Kind.Error())
	case g.MIG.Enabled:
		f.drawInstances(c, g, rectangle{d.x + 10, d.y + 62, d.wide - 20, 20})
	}
	if use := usage(g); g.Failure == nil {
		c.text(bodyStyle, d.x+10, d.y+d.tall-9, use)
	}
	c.WriteString("</g>\n")
}

// usage names the processes at work.
func usage(g *nvmlsrc.GPU) string {
	switch n := len(g.Processes); {
	case n == 1:
		return "1 process"
	case n > 1:
		return fmt.Sprintf("%d processes", n)
	}
	return "idle"
}

// drawInstances draws the memory slices of a divided GPU and the instances on them, those
// in use in colour.
func (f *figure) drawInstances(c *canvas, g *nvmlsrc.GPU, in rectangle) {
	slices := 0
	for _, p := range profilesOf(g) {
		slices = max(slices, p.MemorySlices)
	}
	if slices == 0 {
		return
	}
	at := func(slice int) int { return in.x + slice*in.wide/slices }
	for i := range slices {
		c.rectangle("free", rectangle{at(i), in.y, at(i+1) - at(i), in.tall}, 0)
	}
	for _, instance := range g.MIG.Instances {
		class := "idle"
		if len(instance.Processes) > 0 {
			class = "used"
		}
		r := rectangle{at(instance.Start) + 1, in.y + 1, at(instance.Start+instance.Size) - at(instance.Start) - 2, in.tall - 2}
		c.rectangle(class, r, 2)
		for _, label := range []string{instance.Placement.Profile.String(), fmt.Sprintf("%dg", instance.Placement.Profile.ComputeSlices), fmt.Sprint(instance.Placement.Profile.ComputeSlices)} {
			if cellStyle.width(label) <= r.wide-2 {
				c.centred(cellStyle, r.middle(), r.y+13, label)
				break
			}
		}
	}
}

func (f *figure) drawNIC(c *canvas, i int) {
	nic, d := &f.NICs[i], f.devices[len(f.GPUs)+i]
	class, state := "nic", "no rail"
	if nic.Rail != (berth.Ordinal{}) {
		state = fmt.Sprintf("rail %s", nic.Rail)
	}
	if !nic.Active {
		class, state = "off", state+", down"
	} else if nic.Rail == (berth.Ordinal{}) {
		class = "off"
	}
	fmt.Fprintf(c, "<g><title>%s</title>\n", escape(nic.Name+" "+nic.PCI))
	c.rectangle(class, d, 6)
	c.text(smallStyle, d.x+10, d.y+18, nic.Name)
	if nic.MbitPerSecond > 0 {
		state += fmt.Sprintf(" · %g Gb/s", float64(nic.MbitPerSecond)/1000)
	}
	c.text(bodyStyle, d.x+10, d.y+35, state)
	c.WriteString("</g>\n")
}

// drawKey says what the colours on the bar of a divided GPU mean.
func (f *figure) drawKey(c *canvas) {
	if f.keyTop == 0 {
		return
	}
	x := margin
	for _, k := range []struct{ class, words string }{
		{"used", "MIG instance with processes"}, {"idle", "instance without"}, {"free", "memory slice of no instance"},
	} {
		c.rectangle(k.class, rectangle{x, f.keyTop, 2 * gap, gap}, 2)
		c.text(noteStyle, x+2*gap+6, f.keyTop+gap-1, k.words)
		x += 3*gap + 6 + noteStyle.width(k.words)
	}
}

const legend = "Devices inside an outline are joined by what it is named after: one PCIe switch is PIX, several are PXB, a host bridge is PHB, a NUMA node is NODE."

func (c *canvas) rectangle(class string, r rectangle, round int) {
	fmt.Fprintf(c, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\"/>\n", class, r.x, r.y, r.wide, r.tall, round)
}

func (c *canvas) text(s style, x, y int, text string) { c.write(s, x, y, text, "") }

func (c *canvas) lines(s style, x, y int, lines []string) {
	for i, line := range lines {
		c.text(s, x, y+i*lineTall, line)
	}
}

func (c *canvas) centred(s style, x, y int, text string) {
	c.write(s, x, y, text, " text-anchor=\"middle\"")
}

func (c *canvas) write(s style, x, y int, text, more string) {
	if s.bold {
		more += " font-weight=\"bold\""
	}
	fmt.Fprintf(c, "<text class=\"%s\" x=\"%d\" y=\"%d\" font-size=\"%d\"%s>%s</text>\n", s.class, x, y, s.size, more, escape(text))
}

func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
