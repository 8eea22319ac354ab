package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Measures of the page, in pixels.
const (
	margin   = 24
	leastAll = 1470
	// most is the width that broken rows may have.
	most = 1640
	// between boxes side by side, and below one another where rows are broken.
	between = 14
	// axis is the width of what stands left of the rows.
	axis = 112
	// labelHeight is the room for what a step creates, below the box where it starts.
	labelHeight = 18
	// leastBend and mostBend bound the height in which steps run from column to
	// column: the further they have to go, the higher it is.
	leastBend, mostBend = 36, 84
)

// A page is a figure in the making.
type page struct {
	figure
	graph *graph
	// y is the lowest line in use.
	y int
	// boxWidth of all sets, columns in a row.
	boxWidth, columns int
	at                map[*set]spot
}

// A spot is where a set's box lies.
type spot struct{ x, y, h int }

// compose lays the graph out.
func compose(g *graph) *figure {
	p := &page{graph: g, at: map[*set]spot{}, boxWidth: leastBox}
	for _, row := range g.rows {
		for _, s := range row {
			_, width, _ := g.box(s, 0, 0)
			p.boxWidth = max(p.boxWidth, width)
		}
	}
	p.columns = g.width()
	if !g.lines() {
		p.columns = (most - 2*margin - axis) / (p.boxWidth + between)
	}
	p.width = max(leastAll, 2*margin+axis+p.columns*(p.boxWidth+between)-between)
	p.head()
	p.rows()
	if g.lines() {
		p.steps()
	}
	p.notes()
	p.height = p.y + margin
	return &p.figure
}

// head draws what stands above the rows.
func (p *page) head() {
	product := &p.graph.product
	p.title = product.Name + ": how it divides"
	p.description = p.graph.summary() + "."
	var g group
	g.text(titleStyle, margin, margin+24, p.title)
	p.y = margin + 34
	var facts []string
	for _, fact := range []string{product.Architecture, product.Die} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	facts = append(facts, plural(product.ComputeSlices, "compute slice"), plural(product.MemorySlices, "memory slice"))
	if product.SMs > 0 {
		facts = append(facts, plural(product.SMs, "SM"))
	}
	facts = append(facts, "places and engines are "+product.Confidence().String())
	for _, line := range []string{strings.Join(facts, ", ") + ".", p.graph.summary() + "."} {
		for _, part := range bodyStyle.wrap(strings.Fields(line), "", p.width-2*margin) {
			g.text(bodyStyle, margin, p.y+14, part)
			p.y += 19
		}
	}
	p.groups = append(p.groups, g)
	top := p.y + 14
	right, bottom := p.table(margin, top)
	if right+40+legendWidth <= p.width-margin {
		p.y = max(bottom, p.legend(right+40, top))
	} else {
		p.y = p.legend(margin, bottom+10)
	}
	p.y += 24
}

// notes draws below the rows what a reader should know before relying on the table.
func (p *page) notes() {
	var g group
	p.y += between
	for _, note := range p.graph.notes() {
		for _, line := range bodyStyle.wrap(strings.Fields(note), "", p.width-2*margin) {
			g.text(bodyStyle, margin, p.y+14, line)
			p.y += 18
		}
	}
	p.groups = append(p.groups, g)
}

// rows draws the sets, and says left of each row what is in it.
func (p *page) rows() {
	for i, row := range p.graph.rows {
		var label group
		instances, counts := p.graph.row(i)
		label.text(headStyle, margin, p.y+18, instances)
		for j, line := range strings.SplitAfter(counts, ", ") {
			label.text(noteStyle, margin, p.y+35+15*j, strings.TrimSpace(line))
		}
		p.groups = append(p.groups, label)
		for part := range slices.Chunk(row, p.columns) {
			p.row(part)
			p.y += between
		}
		if i+1 == len(p.graph.rows) {
			break
		}
		if p.graph.lines() {
			p.y += labelHeight + p.bend(row, p.graph.rows[i+1]) - between
		} else {
			var rule group
			rule.rectangle("rule", none, margin, p.y, p.width-2*margin, 1)
			p.groups = append(p.groups, rule)
			p.y += between
		}
	}
}

// row draws sets side by side.
func (p *page) row(row []*set) {
	height := 0
	for _, s := range row {
		_, _, h := p.graph.box(s, 0, 0)
		height = max(height, h)
	}
	x := p.left(len(row))
	for _, s := range row {
		content, _, _ := p.graph.box(s, x, p.y)
		drawn := group{title: content.title}
		drawn.rectangle(s.frame(), none, x, p.y, p.boxWidth, height)
		drawn.marks = append(drawn.marks, content.marks...)
		p.groups = append(p.groups, drawn)
		p.at[s] = spot{x, p.y, height}
		x += p.boxWidth + between
	}
	p.y += height
}

// left returns where a row of n sets begins: its middle is that of the page if steps are
// lines, else all rows begin at the left.
func (p *page) left(n int) int {
	x := margin + axis
	if p.graph.lines() {
		x += (p.width - 2*margin - axis - n*(p.boxWidth+between) + between) / 2
	}
	return x
}

// bend returns the height for the steps from a row to the next.
func (p *page) bend(upper, lower []*set) int {
	place := positions(lower)
	furthest := 0
	for i, s := range upper {
		for _, t := range s.next() {
			from := p.left(len(upper)) + i*(p.boxWidth+between)
			to := p.left(len(lower)) + place[t]*(p.boxWidth+between)
			furthest = max(furthest, from-to, to-from)
		}
	}
	return min(max(furthest/5, leastBend), mostBend)
}

// A line is a step as it is drawn: from a port below a box to one above another.
type line struct {
	from, to  *set
	step      step
	x, y, toX int
	// named tells whether what it creates is written where it starts.
	named bool
}

// steps draws the steps between the rows. Each leaves and enters its boxes at a port of
// its own, and the ports are in the order of the boxes at the other ends, so that the
// lines of one box do not cross.
func (p *page) steps() {
	for i := range len(p.graph.rows) - 1 {
		var lines []*line
		for _, s := range p.graph.rows[i] {
			lines = append(lines, p.leaving(s)...)
		}
		for _, s := range p.graph.rows[i+1] {
			var entering []*line
			for _, l := range lines {
				if l.to == s {
					entering = append(entering, l)
				}
			}
			for j, l := range entering { // in the order of where they come from
				l.toX = p.port(s, j, len(entering))
			}
		}
		var drawn group
		for _, l := range lines {
			p.draw(&drawn, l)
		}
		p.groups = append(p.groups, drawn)
	}
}

// leaving returns the steps from a set, in the order of their ends.
func (p *page) leaving(s *set) []*line {
	steps := slices.SortedStableFunc(slices.Values(s.steps), func(a, b step) int {
		return cmp.Compare(p.at[a.to].x, p.at[b.to].x)
	})
	named := true
	for _, t := range steps {
		named = named && noteStyle.width("+"+p.graph.labels[t.profile])+4 <= p.boxWidth/len(steps)
	}
	var lines []*line
	for i, t := range steps {
		lines = append(lines, &line{
			from: s, to: t.to, step: t, named: named,
			x: p.port(s, i, len(steps)), y: p.at[s].y + p.at[s].h,
		})
	}
	return lines
}

// port returns where the i-th of n lines meets the edge of a box.
func (p *page) port(s *set, i, n int) int { return p.at[s].x + p.boxWidth*(2*i+1)/(2*n) }

func (p *page) draw(to *group, l *line) {
	class := "step"
	if l.step.from < l.from.layouts {
		class = "step some"
	}
	if l.named {
		to.centred(noteStyle, l.x, l.y+14, "+"+p.graph.labels[l.step.profile])
	} else { // straight past the names beside it
		to.curve(class+" stub", l.step.profile, l.x, l.y, l.x, l.y+labelHeight)
	}
	to.curve(class, l.step.profile, l.x, l.y+labelHeight, l.toX, p.at[l.to].y)
}

// table draws the profiles, and returns how far it reaches.
func (p *page) table(x, y int) (right, bottom int) {
	rows := p.graph.profileTable()
	var g group
	x += 18
	for column := range rows[0] {
		width := 0
		for i, row := range rows {
			style := bodyStyle
			if i == 0 {
				style = headStyle
			}
			g.text(style, x, y+14+20*i, row[column])
			width = max(width, style.width(row[column]))
		}
		x += width + 14
	}
	for i, profile := range p.graph.product.Profiles {
		if drawn, ok := p.graph.lattice.ProfileIndex(profile.Name); ok {
			g.rectangle("swatch", drawn, margin, y+20*(i+1)+4, 12, 12)
		}
	}
	p.groups = append(p.groups, g)
	return x - 14, y + 20*len(rows)
}

// profileTable returns the facts of the product's profiles, under a line of titles.
func (g *graph) profileTable() [][]string {
	rows := [][]string{{"profile", "id", "compute", "memory", "SMs", "MiB", "may start at", "at most", "evidence", "drawn"}}
	for i, profile := range g.product.Profiles {
		starts := strings.Trim(fmt.Sprint(profile.Starts), "[]")
		drawn := "no"
		if _, ok := g.lattice.ProfileIndex(profile.Name); ok {
			drawn = "yes"
		}
		rows = append(rows, []string{
			profile.Name.String(), fmt.Sprint(profile.ID), fmt.Sprint(profile.ComputeSlices), fmt.Sprint(profile.MemorySlices),
			known(profile.SMs), known(int(profile.MemoryMiB)), starts, fmt.Sprint(g.atMost[i]),
			min(profile.Evidence.Starts, profile.Evidence.Engines).String(), drawn,
		})
	}
	return rows
}

// known writes a figure that is zero where it is not known.
func known(n int) string {
	if n == 0 {
		return "?"
	}
	return thousands(n)
}
