package main

// legendWidth is the room for the legend.
const legendWidth = 600

// legend says how to read the drawing, and returns how far down it reaches.
func (p *page) legend(x, y int) int {
	var g group
	g.text(headStyle, x, y+14, "How to read it")
	y += 24
	indent := x + 74
	entry := func(sample func(), words ...string) {
		sample()
		for _, line := range words {
			g.text(bodyStyle, indent, y+13, line)
			y += 17
		}
		y += 5
	}
	entry(func() {
		g.rectangle("instance", 0, x+1, y+2, 30, 14)
		g.rectangle("free", none, x+32, y+1, 16, 16)
		g.rectangle("free", none, x+48, y+1, 16, 16)
	}, "The bar is the axis of memory slices, slice 0 on the left: an instance, and free ones.",
		"Of the layouts of a set, the one that leaves the most placements open is shown.")
	entry(func() {
		for i, class := range []string{"used", "used", "free"} {
			g.rectangle(class, none, x+i*21+1, y+6, 19, 6)
		}
	}, "Below it are the compute slices, in use or idle. They have no places.")
	entry(func() { g.rectangle("set full", none, x+1, y+2, 60, 14) },
		"Full: nothing that is drawn can be added. What is idle is lost until something goes.")
	if p.graph.traps() {
		entry(func() { g.rectangle("set trap", none, x+1, y+2, 60, 14) },
			"A dead end, if laid out as in the lower bar: nothing can be added, as it could otherwise.")
	}
	if p.graph.lines() {
		entry(func() { g.curve("step", 0, x, y+9, x+62, y+9) },
			"A line down creates an instance, in the colour of its profile.")
		entry(func() { g.curve("step some", 0, x, y+9, x+62, y+9) },
			"Broken: only some layouts of the set allow it. It matters where instances lie.")
	} else {
		entry(func() { g.text(noteStyle, x, y+13, "+1g → 7") },
			"Creating an instance leads to the set of that number.")
		entry(func() { g.text(noteStyle, x, y+13, "(3/5)") },
			"Only 3 of the 5 layouts of the set allow it. It matters where instances lie.")
	}
	entry(func() { g.text(noteStyle, x, y+13, "upwards") },
		"Destroying an instance is always possible, and leads a row up.")
	p.groups = append(p.groups, g)
	return y
}
