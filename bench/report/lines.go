package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// A Lines is a page that compares: each of its sections has a plot with a line for each of what is
// compared, and a table of figures.
type Lines struct {
	Title, Subtitle string
	Sections        []LineSection
}

// A LineSection is a heading, a sentence, a plot and a table. Without lines there is no plot,
// without a Head no table.
type LineSection struct {
	Title, Note string
	// X and Y name the axes, with units. X goes from From to To, Y from zero to the largest that is
	// drawn.
	X, Y     string
	From, To float64
	// LogX and LogY draw an axis by powers of ten. X then begins at From, which has to be
	// positive, Y at one; what is less is drawn there.
	LogX, LogY bool
	Lines      []Line
	Head       []string
	Rows       [][]string
}

// A Line is a name and its points, in ascending order of x. Those out of the plot are not drawn.
// About is shown when the line is pointed at.
type Line struct {
	Name, About string
	// Dots has the points drawn by themselves, and Labels, if there are any, says what each is
	// when it is pointed at.
	Dots   bool
	Labels []string
	X, Y   []float64 // as many of each, or nothing is drawn
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
		from := s.From
		if s.LogX {
			from = math.Inf(-1) // what is less is drawn at the edge
		}
		drawn[i] = s.Lines[i].within(from, s.To)
		for _, q := range drawn[i] {
			most = max(most, q.y)
		}
	}
	p := newPlot(1080, 380, s.Title)
	if s.LogX {
		p.powersOfX(s.From, s.To, s.X)
	} else {
		p.numberAxis(s.From, s.To, s.X)
	}
	if s.LogY {
		p.powersOfY(most, s.Y)
	} else {
		p.amountAxis(most, s.Y)
	}
	for i, points := range drawn {
		if line := &s.Lines[i]; line.Dots {
			p.dots(line, points, i%lineColours)
		} else if len(points) > 0 {
			p.through(line, points, i%lineColours)
		}
	}
	return p.end()
}

// through draws a line through points.
func (p *plot) through(l *Line, points []point, colour int) {
	var path strings.Builder
	for k, q := range points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], p.x(q.x), p.y(q.y))
	}
	title := strings.TrimRight(l.Name+"\n"+l.About, "\n")
	p.put(`<path d="%s" class="wait" style="stroke:var(--c%d)"><title>%s</title></path>`, path.String(), colour, html.EscapeString(title))
}

// dots draws points by themselves.
func (p *plot) dots(l *Line, points []point, colour int) {
	for k, q := range points {
		title := l.Name
		if len(l.Labels) == len(points) {
			title += "\n" + l.Labels[k]
		}
		p.put(`<circle cx="%.1f" cy="%.1f" r="5" style="fill:var(--c%d)"><title>%s</title></circle>`, p.x(q.x), p.y(q.y), colour, html.EscapeString(title))
	}
}

// powersOfX lays the x axis out by powers of ten.
func (p *plot) powersOfX(from, to float64, unit string) {
	p.x = powers(from, to, p.left, p.width-p.right)
	for v := math.Pow(10, math.Ceil(math.Log10(from))); v <= to; v *= 10 {
		x := p.x(v)
		p.line(x, p.top, x, p.height-p.bottom, "grid")
		p.text(x, p.height-p.bottom+16, "mid", fmt.Sprintf("%g", v))
	}
	p.text((p.left+p.width-p.right)/2, p.height-6, "mid unit", unit)
}

// powersOfY lays the y axis out by powers of ten, from one to at least most.
func (p *plot) powersOfY(most float64, unit string) {
	top := math.Pow(10, math.Ceil(math.Log10(max(most, 10))))
	p.y = powers(1, top, p.height-p.bottom, p.top)
	for v := 1.0; v <= top; v *= 10 {
		p.line(p.left, p.y(v), p.width-p.right, p.y(v), "grid")
		p.text(p.left-6, p.y(v)+4, "end", fmt.Sprintf("%g", v))
	}
	p.yUnit(unit)
}

// powers maps the data from..to to the places a..b by their logarithms; what is less than from
// is at a.
func powers(from, to, a, b float64) func(float64) float64 {
	straight := linear(math.Log(from), math.Log(to), a, b)
	return func(v float64) float64 { return straight(math.Log(max(v, from))) }
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
