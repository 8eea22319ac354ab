package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// A Charts is a page of plots of amounts over time, for experiments that are no Run.
type Charts struct {
	Title, Subtitle string
	// AreaName and LineName say what the areas and the lines are.
	AreaName, LineName string
	// Unit of the amounts.
	Unit string
	// Step is the time from one amount to the next; the first is at 0.
	Step berth.Duration
	// Days are the names that stand above the days.
	Days     []string
	Sections []ChartSection
}

// A ChartSection is a heading, a sentence and the plots below it, which have one scale.
type ChartSection struct {
	Title, Note string
	Charts      []Chart
}

// A Chart is one plot: an area, and a line over it. Both have one amount for each step,
// which stands until the next.
type Chart struct {
	Title      string
	Area, Line []float64 // as many of each, or nothing is drawn
	// Colour is that of the areas of a category.
	Colour Category
}

// WriteCharts writes one self-contained HTML page.
func WriteCharts(w io.Writer, c *Charts) error {
	var b strings.Builder
	openPage(&b, c.Title, c.Subtitle)
	for i := range c.Sections {
		s := &c.Sections[i]
		var body strings.Builder
		for k := range s.Charts {
			chart := &s.Charts[k]
			fmt.Fprintf(
				&body, `<p class="legend"><strong>%s</strong><span><i style="background:var(--c%d)"></i>%s</span><span><i style="background:var(--capacity);height:2px"></i>%s</span></p>`,
				html.EscapeString(chart.Title), chart.Colour, html.EscapeString(c.AreaName), html.EscapeString(c.LineName),
			)
			body.WriteString(c.plot(chart, s.most()))
		}
		section(&b, s.Title, s.Note, body.String())
	}
	return closePage(w, &b)
}

func (s *ChartSection) most() float64 {
	most := 0.0
	for i := range s.Charts {
		for _, v := range slices.Concat(s.Charts[i].Area, s.Charts[i].Line) {
			most = max(most, v)
		}
	}
	return most
}

func (c *Charts) plot(chart *Chart, most float64) string {
	if len(chart.Area) == 0 || len(chart.Line) != len(chart.Area) {
		return ""
	}
	p := newPlot(1080, 210, chart.Title)
	p.top = 24
	end := berth.Time(0).Add(berth.Duration(len(chart.Area)) * c.Step)
	p.timeAxis(0, end)
	p.amountAxis(most, c.Unit)
	at := func(i int) berth.Time { return berth.Time(0).Add(berth.Duration(i) * c.Step) }
	points := func(values []float64) []point {
		list := make([]point, 0, len(values)+1)
		for i, v := range values {
			list = append(list, point{float64(at(i)), v})
		}
		return append(list, point{float64(end), list[len(list)-1].y})
	}
	p.put(`<path d="%sV%.1fH%.1fZ" class="area" style="fill:var(--c%d)"/>`, p.steps(points(chart.Area)), p.y(0), p.x(0), chart.Colour)
	p.put(`<path d="%s" class="capacity"/>`, p.steps(points(chart.Line)))
	for i, name := range c.Days {
		noon := float64(berth.Time(0).Add(berth.Duration(i)*berth.Day + berth.Day/2))
		p.text(p.x(noon), p.top-8, "mid", name)
	}
	p.strips(len(chart.Area), end, at, func(i int) string {
		return fmt.Sprintf("%s: %.0f %s\n%s: %.0f %s", c.AreaName, chart.Area[i], c.Unit, c.LineName, chart.Line[i], c.Unit)
	})
	return p.end()
}
