package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// A Lines is a page that compares: each of its sections has a plot with a line for each of what is compared,
// and a table of figures.
type Lines struct {
	Title, Subtitle string
	Sections        []LineSection
}

// A LineSection is a heading, a sentence, a plot and a table. Without lines there is no plot, without a Head
// no table.
type LineSection struct {
	Title, Note string
	// X and Y name the axes, with units. X goes from From to To, Y from zero to the largest that is drawn.
	X, Y     string
	From, To float64
	Lines    []Line
	Head     []string
	Rows     [][]string
}

// A Line is a name and its points, in ascending order of x. Those out of the plot are not drawn. About is shown
// when the line is pointed at.
type Line struct {
	Name, About string
	X, Y        []float64 // as many of each, or nothing is drawn
}

// lineColours are how many colours there are.
const lineColours = 11

// WriteLines writes one self-contained HTML page.
func WriteLines(w io.Writer, l *Lines) error {
	var b strings.Builder
	openPage(&b, l.Title, l.Subtitle)
	for i := range l.Sections {
		s := &l.Sections[i]
		section(&b, s.Title, s.Note, s.legend()+s.plot()+s.table())
	}
	return closePage(w, &b)
}

func (s *LineSection) legend() string {
	if len(s.Lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<p class="legend">`)
	for i := range s.Lines {
		fmt.Fprintf(&b, `<span><i style="background:var(--c%d)"></i>%s</span>`, i%lineColours, html.EscapeString(s.Lines[i].Name))
	}
	b.WriteString("</p>\n")
	return b.String()
}

func (s *LineSection) plot() string {
	if len(s.Lines) == 0 {
		return ""
	}
	most := 0.0
	drawn := make([][]point, len(s.Lines))
	for i := range s.Lines {
		drawn[i] = s.Lines[i].within(s.From, s.To)
		for _, q := range drawn[i] {
			most = max(most, q.y)
		}
	}
	p := newPlot(1080, 380, s.Title)
	p.numberAxis(s.From, s.To, s.X)
	p.amountAxis(most, s.Y)
	for i, points := range drawn {
		if len(points) == 0 {
			continue
		}
		var path strings.Builder
		for k, q := range points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], p.x(q.x), p.y(q.y))
		}
		title := strings.TrimRight(s.Lines[i].Name+"\n"+s.Lines[i].About, "\n")
		p.put(`<path d="%s" class="wait" style="stroke:var(--c%d)"><title>%s</title></path>`, path.String(), i%lineColours, html.EscapeString(title))
	}
	return p.end()
}

// within lists the points that are in the plot.
func (l *Line) within(from, to float64) []point {
	var list []point
	if len(l.X) != len(l.Y) {
		return nil
	}
	for i, x := range l.X {
		if x >= from && x <= to && !math.IsNaN(l.Y[i]) {
			list = append(list, point{x, l.Y[i]})
		}
	}
	return list
}

func (s *LineSection) table() string {
	if len(s.Head) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<div class="scroll"><table class="rows"><thead>`)
	tableRow(&b, "th", s.Head)
	b.WriteString(`</thead><tbody>`)
	for _, row := range s.Rows {
		tableRow(&b, "td", row)
	}
	b.WriteString(`</tbody></table></div>`)
	return b.String()
}

// numberAxis lays the x axis out, and labels it.
func (p *plot) numberAxis(from, to float64, unit string) {
	p.x = linear(from, to, p.left, p.width-p.right)
	step := tickStep(max(to-from, 1), 15)
	for v := math.Ceil(from/step) * step; v <= to; v += step {
		x := p.x(v)
		p.line(x, p.top, x, p.height-p.bottom, "grid")
		p.text(x, p.height-p.bottom+16, "mid", fmt.Sprintf("%g", v))
	}
	p.text((p.left+p.width-p.right)/2, p.height-6, "mid unit", unit)
}
