package report

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Sizes of the map, in units of the picture.
const (
	mapWidth   = 1080.0
	cell       = 6.2 // one GPU
	pitch      = 7.2
	nodeGap    = 3.6
	islandGap  = 14.0
	islandHead = 15.0
	gpuRows    = 2 // of the GPUs of one node
)

// fleetPlot draws the map: an island is a block, a node a group of cells in two
// rows, a GPU a cell with the colour of what runs on it. A cell that is shared is
// filled from below, as far as it is held.
func fleetPlot(m *Map) string {
	p := newPlot(mapWidth, mapHeight(m), "map of the fleet")
	x, y, low := 0.0, 0.0, 0.0
	for i := range m.Islands {
		island := &m.Islands[i]
		columns, w, h := islandSize(island)
		if x > 0 && x+w > mapWidth {
			x, y = 0, low+islandGap
		}
		p.island(island, columns, x, y)
		x, low = x+w+islandGap, max(low, y+h)
	}
	return p.end()
}

// mapHeight lays the islands out as fleetPlot does.
func mapHeight(m *Map) float64 {
	x, y, low := 0.0, 0.0, 0.0
	for i := range m.Islands {
		_, w, h := islandSize(&m.Islands[i])
		if x > 0 && x+w > mapWidth {
			x, y = 0, low+islandGap
		}
		x, low = x+w+islandGap, max(low, y+h)
	}
	return low + 2
}

// nodeSize is the room of the largest node of an island.
func nodeSize(island *Island) (w, h float64) {
	gpus := 1
	for i := range island.Nodes {
		gpus = max(gpus, len(island.Nodes[i].GPUs))
	}
	rows := min(gpuRows, gpus)
	return float64((gpus+rows-1)/rows)*pitch + nodeGap, float64(rows)*pitch + nodeGap
}

// islandSize is how many nodes stand side by side, and the room of all. Four small
// islands fit side by side; a large one takes the whole width.
func islandSize(island *Island) (columns int, w, h float64) {
	nodeW, nodeH := nodeSize(island)
	quarter := (mapWidth - 3*islandGap) / 4
	columns = int(quarter / nodeW)
	if len(island.Nodes) > 6*columns {
		columns = int(mapWidth / nodeW)
	}
	columns = max(min(columns, len(island.Nodes)), 1)
	rows := (len(island.Nodes) + columns - 1) / columns
	return columns, max(float64(columns)*nodeW, 90), islandHead + float64(rows)*nodeH
}

func (p *plot) island(island *Island, columns int, x, y float64) {
	nodeW, nodeH := nodeSize(island)
	p.text(x, y+10, "island", fmt.Sprintf("%s: %d nodes", island.Name, len(island.Nodes)))
	for i := range island.Nodes {
		p.node(&island.Nodes[i], x+float64(i%columns)*nodeW, y+islandHead+float64(i/columns)*nodeH)
	}
}

func (p *plot) node(n *NodeView, x, y float64) {
	rows := min(gpuRows, len(n.GPUs))
	across := (len(n.GPUs) + rows - 1) / rows
	class := "node"
	if n.Trouble != "" {
		class = "node trouble"
	}
	p.put(
		`<g class="%s"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="box"/>`,
		class, x, y, float64(across)*pitch+1, float64(rows)*pitch+1,
	)
	for g := range n.GPUs {
		p.gpu(n, g, x+1+float64(g%across)*pitch, y+1+float64(g/across)*pitch)
	}
	p.put(`</g>`)
}

// gpu draws a cell. Where everything on it is of one job, that is one rectangle.
func (p *plot) gpu(n *NodeView, g int, x, y float64) {
	view := &n.GPUs[g]
	class := "free"
	if view.Failed {
		class = "failed"
	}
	held := int64(0)
	for i := range view.Holders {
		held += view.Holders[i].Milli
	}
	p.put(`<g><title>%s</title>`, html.EscapeString(gpuTitle(n, g)))
	if held < 1000 {
		p.put(`<rect x="%.1f" y="%.1f" width="%g" height="%g" class="%s"/>`, x, y, cell, cell, class)
	}
	bottom := y + cell
	for _, part := range byCategory(view.Holders) {
		h := cell * float64(part.Milli) / 1000
		bottom -= h
		p.put(`<rect x="%.1f" y="%.2f" width="%g" height="%.2f" style="fill:var(--c%d)"/>`, x, bottom, cell, h, part.Category)
	}
	p.put(`</g>`)
}

// byCategory sums what holders of the same category hold.
func byCategory(holders []Holder) []Holder {
	var sums []Holder
	for _, h := range holders {
		i := slices.IndexFunc(sums, func(s Holder) bool { return s.Category == h.Category })
		if i < 0 {
			sums = append(sums, h)
		} else {
			sums[i].Milli += h.Milli
		}
	}
	return sums
}

func gpuTitle(n *NodeView, g int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, GPU %d", n.ID, g)
	if n.Trouble != "" {
		b.WriteString(", " + n.Trouble)
	}
	view := &n.GPUs[g]
	if view.Failed {
		b.WriteString(", failed")
	}
	if len(view.Holders) == 0 {
		b.WriteString("\nfree")
	}
	for _, h := range view.Holders {
		fmt.Fprintf(&b, "\n%s/%d, %s", h.Job, h.Replica, h.Category)
		if h.Milli < 1000 {
			fmt.Fprintf(&b, ", %d/1000", h.Milli)
		}
	}
	return b.String()
}
