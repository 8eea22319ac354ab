package report

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Room for the names at the ends of lines: by letter, of which small windows show larger ones, and
// from one name to the next.
const letterWide, nameTall = 11.5, 20.0

// plot draws the lines of a section over each other, each with its name at its end.
func (d *drawing) plot(s *LineSection) string {
	if len(s.Lines) == 0 {
		return ""
	}
	least, most, longest := 0.0, 0.0, 0
	drawn := make([][]point, len(s.Lines))
	for i := range s.Lines {
		from := s.From
		if s.LogX {
			from = math.Inf(-1) // what is less is drawn at the edge
		}
		drawn[i] = s.Lines[i].within(from, s.To)
		for _, q := range drawn[i] {
			least, most = min(least, q.y), max(most, q.y)
		}
		if !s.Lines[i].Dots && len(drawn[i]) > 0 {
			longest = max(longest, utf8.RuneCountInString(s.Lines[i].Name))
		}
	}
	if least == 0 && most == 0 {
		return `<p class="note">Nothing to draw: all of it is zero.</p>`
	}
	p := newPlot(1080, 380, s.Title)
	p.right += letterWide*float64(longest) + 16
	if s.LogX {
		p.powersOfX(s.From, s.To, s.X)
	} else {
		p.numberAxis(s.From, s.To, s.X)
	}
	p.amountAxis(least, most, s.Y)
	for _, own := range [...]bool{false, true} { // our own lines are drawn over the others
		for i := range s.Lines {
			line := &s.Lines[i]
			switch style := d.styles[line.Name]; {
			case style.own != own || len(drawn[i]) == 0:
			case line.Dots:
				p.dots(line, drawn[i], style.colour)
			default:
				p.through(line, drawn[i], style)
			}
		}
	}
	p.names(d, s, drawn)
	return p.end()
}

// through draws a line through points.
func (p *plot) through(l *Line, points []point, style lineStyle) {
	var path strings.Builder
	for k, q := range points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], p.x(q.x), p.y(q.y))
	}
	p.put(`<path d="%s" class="%s" style="stroke:%s"><title>%s</title></path>`, path.String(), style.class, style.colour, html.EscapeString(l.Name))
}

// dots draws points by themselves.
func (p *plot) dots(l *Line, points []point, colour string) {
	for k, q := range points {
		title := l.Name
		if len(l.Labels) == len(points) {
			title += "\n" + l.Labels[k]
		}
		p.put(`<circle cx="%.1f" cy="%.1f" r="5" style="fill:%s"><title>%s</title></circle>`, p.x(q.x), p.y(q.y), colour, html.EscapeString(title))
	}
}

// A name stands beside the end of its line, as near to its height as the others leave room.
type name struct {
	line   *Line
	end    point // in places
	height float64
	y      float64
}

// names writes the names of lines right of the frame.
func (p *plot) names(d *drawing, s *LineSection, drawn [][]point) {
	var list []name
	for i, points := range drawn {
		if len(points) == 0 || s.Lines[i].Dots {
			continue
		}
		last, sum := points[len(points)-1], 0.0
		for _, q := range points {
			sum += q.y
		}
		y := p.y(last.y)
		list = append(list, name{&s.Lines[i], point{p.x(last.x), y}, sum / float64(len(points)), y})
	}
	// Where ends meet, the line that ran higher is named above.
	slices.SortStableFunc(list, func(a, b name) int {
		return cmp.Or(cmp.Compare(math.Round(a.y), math.Round(b.y)), cmp.Compare(b.height, a.height))
	})
	for i := range list {
		if i > 0 {
			list[i].y = max(list[i].y, list[i-1].y+nameTall)
		}
	}
	lowest := p.height - 14
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].y > lowest {
			list[i].y = lowest
		}
		lowest = list[i].y - nameTall
	}
	x := p.width - p.right + 18
	for _, n := range list {
		style := d.styles[n.line.Name]
		p.put(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1f" class="lead" style="stroke:%s"/>`, n.end.x+2, n.end.y, x-14, n.end.y, x-4, n.y, style.colour)
		class := "name"
		if style.own {
			class = "name own"
		}
		p.put(`<text x="%.1f" y="%.1f" class="%s" style="fill:%s">%s</text>`, x, n.y+4, class, style.colour, html.EscapeString(n.line.Name))
	}
}

// powersOfX lays the x axis out by powers of ten.
func (p *plot) powersOfX(from, to float64, unit string) {
	p.x = powers(from, to, p.left, p.width-p.right)
	for v := math.Pow(10, math.Ceil(math.Log10(from))); v <= to; v *= 10 {
		p.tickOfX(p.x(v), number(v))
	}
	p.xUnit(unit)
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

// numberAxis lays the x axis out, and labels it.
func (p *plot) numberAxis(from, to float64, unit string) {
	p.x = linear(from, to, p.left, p.width-p.right)
	step := max(1, stepOf(to-from, 10))
	for v := math.Ceil(from/step) * step; v <= to; v += step {
		p.tickOfX(p.x(v), number(v))
	}
	p.xUnit(unit)
}
