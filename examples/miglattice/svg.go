package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// palette of the profiles. Each colour is dark enough for white letters on it, and for
// a line on white paper, and light enough for a line on the dark background.
var palette = []string{
	"#2f6fc4", "#b85c00", "#1e8449", "#8a56c2", "#c8374d", "#0b7f8f",
	"#b93f92", "#76730a", "#64748b", "#8f6440", "#5566c9", "#54802a",
}

// Colours of the page, by day and by night, in the order of pageColours.
const (
	pageColours = `
svg{background:%[1]s} .page{fill:%[1]s} .title,.body,.head,.name,.good{fill:%[2]s} .note{fill:%[3]s} .warn{fill:%[4]s}
.set{fill:%[5]s;stroke:%[6]s} .full{fill:%[7]s;stroke:%[2]s} .trap{fill:%[5]s;stroke:%[4]s}
.free{fill:%[1]s;stroke:%[6]s} .used{fill:%[3]s;stroke:%[3]s} .rule{fill:%[6]s}
.step{stroke:%[3]s}`
	styleSheet = `
text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif}
.cell{fill:#ffffff} .step{fill:none;stroke-width:1.6} .some{stroke-dasharray:5 4}
.set,.free,.used{stroke-width:1} .full{stroke-width:2.5} .trap{stroke-width:2.5;stroke-dasharray:6 4}`
)

var (
	day   = []any{"#ffffff", "#1b2027", "#55606e", "#a83200", "#f7f8fa", "#b4bcc7", "#e9eef6"}
	night = []any{"#14181d", "#e8ecf1", "#a5b0bd", "#ff9d6b", "#1c222a", "#4a5563", "#263142"}
)

// writeSVG draws the graph as a picture that needs no script and no other file.
func writeSVG(w io.Writer, g *graph) {
	f := compose(g)
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" style=\"width:100%%;height:auto;min-width:%dpx;max-width:%dpx\" role=\"img\">\n",
		f.width, f.height, f.width, f.height, f.width*2/3, f.width) // letters of less than two thirds cannot be read
	fmt.Fprintf(w, "<title>%s</title>\n<desc>%s</desc>\n", escape(f.title), escape(f.description))
	fmt.Fprintf(w, "<style>%s", styleSheet)
	fmt.Fprintf(w, pageColours, day...)
	for i := range g.profiles {
		fmt.Fprintf(w, "\n.fill%d{fill:%s} .line%d{stroke:%s}", i, palette[i%len(palette)], i, palette[i%len(palette)])
	}
	fmt.Fprintf(w, "\n@media (prefers-color-scheme:dark){")
	fmt.Fprintf(w, pageColours, night...)
	// Said again, because the colours of the page just named are later and would win.
	for i := range g.profiles {
		fmt.Fprintf(w, "\n.line%d{stroke:%s}", i, palette[i%len(palette)])
	}
	fmt.Fprintf(w, "\n}\n</style>\n<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", f.width, f.height)
	for i := range f.groups {
		writeGroup(w, &f.groups[i])
	}
	fmt.Fprint(w, "</svg>\n")
}

func writeGroup(w io.Writer, g *group) {
	fmt.Fprint(w, "<g>")
	if g.title != "" {
		fmt.Fprintf(w, "<title>%s</title>", escape(g.title))
	}
	fmt.Fprintln(w)
	for _, m := range g.marks {
		switch m.kind {
		case rectangle:
			fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>\n",
				m.classes("fill"), m.x, m.y, m.w, m.h)
		case text:
			fmt.Fprintf(w, "<text class=\"%s\" x=\"%d\" y=\"%d\" font-size=\"%d\"", m.class, m.x, m.y, m.style.size)
			if m.style.bold {
				fmt.Fprint(w, " font-weight=\"bold\"")
			}
			if m.middle {
				fmt.Fprint(w, " text-anchor=\"middle\"")
			}
			fmt.Fprintf(w, ">%s</text>\n", escape(m.text))
		case curve:
			middle := (m.y + m.h) / 2
			fmt.Fprintf(w, "<path class=\"%s\" d=\"M%d %dC%d %d %d %d %d %d\"/>\n",
				m.classes("line"), m.x, m.y, m.x, middle, m.w, middle, m.w, m.h)
		}
	}
	fmt.Fprintln(w, "</g>")
}

func (m *mark) classes(paint string) string {
	if m.profile == none {
		return m.class
	}
	return fmt.Sprintf("%s %s%d", m.class, paint, m.profile)
}

func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
