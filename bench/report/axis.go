package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// A plot is an SVG in the making, with a frame for data inside margins. x and y
// turn data into places.
type plot struct {
	strings.Builder
	width, height            float64
	left, right, top, bottom float64
	x, y                     func(float64) float64
}

func newPlot(width, height float64, title string) *plot {
	p := &plot{width: width, height: height, left: 62, right: 16, top: 14, bottom: 40}
	p.put(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, html.EscapeString(title))
	return p
}

func (p *plot) put(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// text writes a label. Its class says where it is anchored.
func (p *plot) text(x, y float64, class, s string) {
	p.put(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(s))
}

func (p *plot) line(x1, y1, x2, y2 float64, class string) {
	p.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

// end closes the picture.
func (p *plot) end() string {
	p.put(`</svg>`)
	return p.String()
}

// linear maps the data from..to to the places a..b.
func linear(from, to, a, b float64) func(float64) float64 {
	if to <= from {
		to = from + 1
	}
	return func(v float64) float64 { return a + (v-from)/(to-from)*(b-a) }
}

// timeAxis lays the x axis out in milliseconds, and labels it.
func (p *plot) timeAxis(from, to berth.Time) {
	p.x = linear(float64(from), float64(to), p.left, p.width-p.right)
	step := timeStep(to.Sub(from), int((p.width-p.left-p.right)/70))
	for t := from - from%berth.Time(step); t <= to; t = t.Add(step) {
		if t < from {
			continue
		}
		x := p.x(float64(t))
		p.line(x, p.top, x, p.height-p.bottom, "grid")
		label := fmt.Sprintf("%02d:%02d", t%berth.Time(berth.Day)/berth.Time(berth.Hour), t%berth.Time(berth.Hour)/berth.Time(berth.Minute))
		if step >= berth.Day {
			label = fmt.Sprint(int64(t) / int64(berth.Day))
		} else if t > 0 && t%berth.Time(berth.Day) == 0 {
			label = "24:00"
		}
		p.text(x, p.height-p.bottom+16, "mid", label)
	}
	unit := "time of day, h:min"
	if step >= berth.Day {
		unit = "days"
	}
	p.text((p.left+p.width-p.right)/2, p.height-6, "mid unit", unit)
}

// timeStep is the distance of ticks, such that at most n steps make the span.
func timeStep(span berth.Duration, n int) berth.Duration {
	for _, step := range []berth.Duration{
		5 * berth.Minute, 15 * berth.Minute, 30 * berth.Minute, berth.Hour, 2 * berth.Hour, 3 * berth.Hour, 6 * berth.Hour, 12 * berth.Hour,
	} {
		if span <= berth.Duration(n)*step {
			return step
		}
	}
	return berth.Duration(tickStep(float64(span)/float64(berth.Day), n)) * berth.Day
}

// tickStep is 1, 2 or 5 times a power of ten, and at least 1, such that at most n
// steps make the span.
func tickStep(span float64, n int) float64 {
	power := 1.0
	for {
		for _, k := range []float64{1, 2, 5} {
			if span <= k*power*float64(n) {
				return k * power
			}
		}
		power *= 10
	}
}

// amountAxis lays the y axis out from 0 to at least most, and labels it.
func (p *plot) amountAxis(most float64, unit string) {
	step := tickStep(max(most, 1), 7)
	top := math.Ceil(max(most, 1)/step) * step
	p.y = linear(0, top, p.height-p.bottom, p.top)
	for v := 0.0; v <= top; v += step {
		y := p.y(v)
		p.line(p.left, y, p.width-p.right, y, "grid")
		p.text(p.left-6, y+4, "end", count(int(v)))
	}
	p.yUnit(unit)
}

func (p *plot) yUnit(unit string) {
	y := (p.top + p.height - p.bottom) / 2
	p.put(`<text x="8" y="%.1f" class="mid unit" transform="rotate(-90 8 %.1f)">%s</text>`, y, y, html.EscapeString(unit))
}

// A point is in data.
type point struct{ x, y float64 }

// steps joins points, in places, by steps: a value stands until the next one.
func (p *plot) steps(points []point) string {
	var b strings.Builder
	for i, q := range points {
		if i == 0 {
			fmt.Fprintf(&b, "M%.1f %.1f", p.x(q.x), p.y(q.y))
			continue
		}
		fmt.Fprintf(&b, "H%.1f", p.x(q.x))
		if q.y != points[i-1].y {
			fmt.Fprintf(&b, "V%.1f", p.y(q.y))
		}
	}
	return b.String()
}

// stepsBack continues a path along the steps in reverse, from where the last point
// is above or below.
func (p *plot) stepsBack(points []point) string {
	var b strings.Builder
	for i, q := range slices.Backward(points) {
		if i == len(points)-1 || q.y != points[i+1].y {
			fmt.Fprintf(&b, "V%.1f", p.y(q.y))
		}
		fmt.Fprintf(&b, "H%.1f", p.x(q.x))
	}
	return b.String()
}
