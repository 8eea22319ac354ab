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
	p := &plot{width: width, height: height, left: 74, right: 16, top: 14, bottom: 48}
	class := "plot"
	if width > 800 {
		class = "plot wide" // small windows show larger letters in it
	}
	p.put(`<svg viewBox="0 0 %g %g" class="%s" role="img" aria-label="%s">`, width, height, class, html.EscapeString(title))
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
		label := fmt.Sprintf("%02d:%02d", t%berth.Time(berth.Day)/berth.Time(berth.Hour), t%berth.Time(berth.Hour)/berth.Time(berth.Minute))
		if step >= berth.Day {
			label = fmt.Sprint(int64(t) / int64(berth.Day))
		} else if t > 0 && t%berth.Time(berth.Day) == 0 {
			label = "24:00"
		}
		p.tickOfX(p.x(float64(t)), label)
	}
	unit := "time of day, h:min"
	if step >= berth.Day {
		unit = "days"
	}
	p.xUnit(unit)
}

// tickOfX draws a line of the grid, with its label below.
func (p *plot) tickOfX(x float64, label string) {
	p.line(x, p.top, x, p.height-p.bottom, "grid")
	p.text(x, p.height-p.bottom+20, "mid", label)
}

// tickOfY draws a line of the grid, with its label left of it.
func (p *plot) tickOfY(y float64, label string) {
	p.line(p.left, y, p.width-p.right, y, "grid")
	p.text(p.left-6, y+4, "end", label)
}

func (p *plot) xUnit(unit string) {
	p.text((p.left+p.width-p.right)/2, p.height-5, "mid unit", unit)
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
	return berth.Duration(max(1, stepOf(float64(span)/float64(berth.Day), n))) * berth.Day
}

// stepOf is 1, 2 or 5 times a power of ten, such that at most n steps make the span.
func stepOf(span float64, n int) float64 {
	if !(span > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, k := range []float64{1, 2, 5} {
		if span <= k*power*float64(n)*1.000001 {
			return k * power
		}
	}
	return 10 * power
}

// amountAxis lays the y axis out from zero, or least if that is less, to at least most, and labels
// it.
func (p *plot) amountAxis(least, most float64, unit string) {
	step := stepOf(most-min(least, 0), 7)
	bottom, top := math.Floor(min(least, 0)/step), max(math.Ceil(most/step), 1)
	p.y = linear(bottom*step, top*step, p.height-p.bottom, p.top)
	for i := bottom; i <= top; i++ {
		p.tickOfY(p.y(i*step), number(round(i*step, 6)))
	}
	if bottom < 0 {
		p.line(p.left, p.y(0), p.width-p.right, p.y(0), "zero")
	}
	p.yUnit(unit)
}

// number formats a number, whole ones in groups of three.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return count(int(v))
	}
	return fmt.Sprintf("%g", v)
}

// round keeps some digits behind the point.
func round(v float64, digits int) float64 {
	scale := math.Pow(10, float64(digits))
	return math.Round(v*scale) / scale
}

func (p *plot) yUnit(unit string) {
	y := (p.top + p.height - p.bottom) / 2
	p.put(`<text x="10" y="%.1f" class="mid unit" transform="rotate(-90 10 %.1f)">%s</text>`, y, y, html.EscapeString(unit))
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
