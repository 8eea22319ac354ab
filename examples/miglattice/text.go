package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/berth-sched/berth/mig"
)

// writeText lists the graph for a terminal, a set a line.
func writeText(w io.Writer, g *graph) {
	product := &g.product
	fmt.Fprintf(w, "%s: %s, %s; places and engines are %s\n", product.Name, plural(product.ComputeSlices, "compute slice"),
		plural(product.MemorySlices, "memory slice"), product.Confidence())
	fmt.Fprintf(w, "%s\n\n", g.summary())
	for _, row := range aligned(g.profileTable()) {
		fmt.Fprintln(w, row)
	}
	fmt.Fprint(w, "\nA bar shows the memory slices: an instance begins as its name does, a dot is free.\n"+
		"A step in brackets is open to so many of the layouts only: it matters where instances lie.\n")
	for i, row := range g.rows {
		instances, counts := g.row(i)
		fmt.Fprintf(w, "\n%s: %s\n", instances, counts)
		var lines [][]string
		for _, s := range row {
			lines = append(lines, g.textLine(s))
		}
		for _, line := range aligned(lines) {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w)
	for _, note := range g.notes() {
		fmt.Fprintln(w, note)
	}
}

func (g *graph) textLine(s *set) []string {
	var rest []string
	if lines := g.verdict(s); len(lines) > 0 {
		verdict := strings.Join(lines, " ")
		if s.trap() {
			verdict += " " + g.textBar(s.stuck) + ";"
		}
		rest = append(rest, verdict)
	}
	for _, t := range s.steps {
		rest = append(rest, g.stepText(s, t))
	}
	return []string{
		fmt.Sprintf("%4d", s.number), g.textBar(s.best), strings.Join(g.parts(s), " + "), g.size(s), strings.Join(rest, "  "),
	}
}

// textBar draws a layout with a character for each memory slice.
func (g *graph) textBar(state mig.State) string {
	bar := []byte(strings.Repeat(".", g.product.MemorySlices))
	for _, placement := range g.lattice.Layout(state) {
		for i := range int(placement.Size) {
			bar[int(placement.Start)+i] = '-'
		}
		bar[placement.Start] = placement.Profile.String()[0]
	}
	return "|" + string(bar) + "|"
}

// aligned returns the rows as lines with their columns below one another.
func aligned(rows [][]string) []string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		// A strings.Builder takes everything.
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
