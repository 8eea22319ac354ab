package main

import (
	"fmt"
	"io"
	"strings"
)

// writeDot writes the graph for Graphviz, which lays it out by itself.
func writeDot(w io.Writer, g *graph) {
	fmt.Fprintf(w, "digraph %q {\n\tnode [shape=box, fontname=monospace];\n\tedge [fontname=monospace];\n", g.product.Name)
	for _, row := range g.rows {
		for _, s := range row {
			style := "solid"
			switch {
			case s.full():
				style = "bold"
			case s.trap():
				style = "dashed"
			}
			lines := append([]string{strings.Join(g.parts(s), " + "), g.textBar(s.best), g.size(s)}, g.verdict(s)...)
			fmt.Fprintf(w, "\t%d [label=%q, style=%s];\n", s.number, strings.Join(lines, "\n"), style)
		}
	}
	for _, row := range g.rows {
		for _, s := range row {
			for _, t := range s.steps {
				style := "solid"
				if t.from < s.layouts {
					style = "dashed"
				}
				fmt.Fprintf(w, "\t%d -> %d [label=%q, color=%q, style=%s];\n",
					s.number, t.to.number, "+"+g.labels[t.profile], palette[t.profile%len(palette)], style)
			}
		}
	}
	fmt.Fprintln(w, "}")
}
