package main

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/mig"
)

// Measures of a box, in pixels.
const (
	pad       = 8
	barWidth  = 144
	barHeight = 18
	// leastBox is the narrowest box: a bar and its padding.
	leastBox = barWidth + 2*pad
)

// box draws a set at x and y, and returns its marks but for the frame, and the size that
// the frame needs.
func (g *graph) box(s *set, x, y int) (content group, width, height int) {
	content.title = g.detail(s)
	right := x + leastBox - pad
	widen := func(style style, words string) { right = max(right, x+pad+style.width(words)) }
	number := fmt.Sprint(s.number)
	reserved := noteStyle.width("000") + pad
	top := y + 6
	for _, line := range nameStyle.wrap(g.parts(s), " +", leastBox-2*pad-reserved) {
		content.text(nameStyle, x+pad, top+13, line)
		right = max(right, x+pad+nameStyle.width(line)+reserved)
		top += 17
	}
	g.bar(&content, s.best, x+pad, top+4)
	top += 4 + barHeight + 3
	g.ticks(&content, s, x+pad, top)
	top += 9
	write := func(style style, words string) {
		content.text(style, x+pad, top+12, words)
		widen(style, words)
		top += 15
	}
	write(noteStyle, g.size(s))
	verdictStyle := warnStyle
	if s.full() && g.efficient(s) {
		verdictStyle = goodStyle
	}
	for _, line := range g.verdict(s) {
		write(verdictStyle, line)
	}
	if s.trap() {
		g.bar(&content, s.stuck, x+pad, top+4)
		top += 4 + barHeight
	}
	if !g.lines() {
		for _, t := range s.steps {
			words := g.stepText(s, t)
			content.rectangle("swatch", t.profile, x+pad, top+3, 9, 9)
			content.text(noteStyle, x+pad+14, top+12, words)
			right = max(right, x+pad+14+noteStyle.width(words))
			top += 15
		}
	}
	content.text(noteStyle, right-noteStyle.width(number), y+18, number)
	return content, right + pad - x, top + 7 - y
}

// bar draws a layout on the axis of memory slices.
func (g *graph) bar(to *group, state mig.State, x, y int) {
	cell := g.cell()
	for i := range g.product.MemorySlices {
		to.rectangle("free", none, x+i*cell, y, cell, barHeight)
	}
	for _, placement := range g.lattice.Layout(state) {
		profile, _ := g.lattice.ProfileIndex(placement.Profile)
		left, width := x+int(placement.Start)*cell, int(placement.Size)*cell
		to.rectangle("instance", profile, left+1, y+1, width-2, barHeight-2)
		for _, label := range []string{g.labels[profile], bare(g.labels[profile])} {
			if cellStyle.width(label) <= width-1 {
				to.centred(cellStyle, left+width/2, y+13, label)
				break
			}
		}
	}
}

// bare returns what stands before the memory, the attribute or the memory mode of a profile's name.
func bare(label string) string {
	if i := strings.IndexAny(label, ".+-_"); i > 0 {
		return label[:i]
	}
	return label
}

// cell is the width of a memory slice.
func (g *graph) cell() int { return barWidth / g.product.MemorySlices }

// ticks draws the compute slices, those in use first: they have no places.
func (g *graph) ticks(to *group, s *set, x, y int) {
	idle, _, _ := g.idle(s)
	all := g.product.ComputeSlices
	width := g.cell() * g.product.MemorySlices
	for i := range all {
		class := "used"
		if i >= all-idle {
			class = "free"
		}
		left, next := i*width/all, (i+1)*width/all
		to.rectangle(class, none, x+left+1, y, max(next-left-2, 1), 6)
	}
}

// frame is the class of a set's outline.
func (s *set) frame() string {
	switch {
	case s.full():
		return "set full"
	case s.trap():
		return "set trap"
	}
	return "set"
}
