package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// allocationPlot shows which jobs held the GPUs over time, as areas on top of each other
// under the line of what there is.
func allocationPlot(r *Run) string {
	p := newPlot(1080, 340, "GPUs held over time by kind of job")
	most, capacities := int64(0), int64(0)
	for i := range r.Samples {
		most, capacities = max(most, r.Samples[i].held()), max(capacities, r.Samples[i].Capacity)
	}
	// A fleet that is nearly idle is drawn larger, without the line of what there is.
	idle := most < capacities*2/5
	if !idle {
		most = max(most, capacities)
	}
	p.timeAxis(r.Start, r.End)
	p.amountAxis(0, float64(most)/1000, "GPUs")
	base := make([]point, len(r.Samples))
	for i := range r.Samples {
		base[i] = point{float64(r.Samples[i].At), 0}
	}
	for c := range categories {
		top := slices.Clone(base)
		for i := range r.Samples {
			top[i].y += float64(r.Samples[i].Held[c]) / 1000
		}
		if !slices.Equal(top, base) {
			p.put(`<path d="%s%sZ" class="area" style="fill:var(--c%d)"/>`, p.steps(top), p.stepsBack(base), c)
		}
		base = top
	}
	capacity := make([]point, len(r.Samples))
	for i := range r.Samples {
		capacity[i] = point{float64(r.Samples[i].At), float64(r.Samples[i].Capacity) / 1000}
	}
	if idle {
		p.text(p.width-p.right, p.top+12, "end", fmt.Sprintf("the fleet has %s GPUs", count(int(capacities/1000))))
	} else {
		p.put(`<path d="%s" class="capacity"/>`, p.steps(capacity))
	}
	p.hover(r, func(s *Sample) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s of %s GPUs held", count(int(s.held()/1000)), count(int(s.Capacity/1000)))
		for c := range categories {
			if s.Held[c] > 0 {
				fmt.Fprintf(&b, "\n%s: %s", c, count(int(s.Held[c]/1000)))
			}
		}
		return b.String()
	})
	return p.end()
}

// strandedPlot shows what was free over time, and which part of it was of no use.
func strandedPlot(r *Run) string {
	p := newPlot(532, 260, "free and stranded GPUs over time")
	free, stranded := make([]point, len(r.Samples)), make([]point, len(r.Samples))
	most := 0.0
	for i := range r.Samples {
		s := &r.Samples[i]
		free[i] = point{float64(s.At), float64(s.Free) / 1000}
		stranded[i] = point{float64(s.At), float64(s.Stranded) / 1000}
		most = max(most, free[i].y)
	}
	p.timeAxis(r.Start, r.End)
	p.amountAxis(0, most, "GPUs")
	p.area(free, "free")
	p.area(stranded, "stranded")
	p.hover(r, func(s *Sample) string {
		return fmt.Sprintf("%.1f GPUs free\n%.1f of them stranded", float64(s.Free)/1000, float64(s.Stranded)/1000)
	})
	return p.end()
}

// waitingPlot shows how many waited over time.
func waitingPlot(r *Run) string {
	p := newPlot(532, 260, "replicas that wait over time")
	points := make([]point, len(r.Samples))
	most := 0.0
	for i := range r.Samples {
		points[i] = point{float64(r.Samples[i].At), float64(r.Samples[i].Waiting)}
		most = max(most, points[i].y)
	}
	p.timeAxis(r.Start, r.End)
	p.amountAxis(0, most, "jobs and replicas")
	p.area(points, "waiting")
	p.hover(r, func(s *Sample) string { return count(s.Waiting) + " wait" })
	return p.end()
}

// area fills from zero to the points.
func (p *plot) area(points []point, class string) {
	if len(points) == 0 {
		return
	}
	p.put(`<path d="%sV%.1fH%.1fZ" class="%s"/>`, p.steps(points), p.y(0), p.x(points[0].x), class)
}

// hover lays strips over the plot, from each sample to the next or the end, that say when pointed
// at what was there. At most 144, so that the page stays small.
func (p *plot) hover(r *Run, text func(*Sample) string) {
	every := max((len(r.Samples)+143)/144, 1)
	for i := 0; i < len(r.Samples); i += every {
		s, until := &r.Samples[i], r.End
		if i+every < len(r.Samples) {
			until = r.Samples[i+every].At
		}
		x := p.x(float64(s.At))
		p.put(
			`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="strip"><title>%s</title></rect>`,
			x, p.top, max(p.x(float64(until))-x, 0.5), p.height-p.top-p.bottom, html.EscapeString(clock(s.At)+"\n"+text(s)),
		)
	}
}

// clock formats an instant.
func clock(t berth.Time) string {
	day, rest := int64(t)/int64(berth.Day), int64(t)%int64(berth.Day)
	s := fmt.Sprintf("%02d:%02d", rest/int64(berth.Hour), rest%int64(berth.Hour)/int64(berth.Minute))
	if day > 0 {
		s = fmt.Sprintf("day %d, %s", day, s)
	}
	return s
}

// waitPlot shows, for each category, which part was placed within which time, of
// all that were submitted and not cancelled. What waits to the end keeps a line
// from reaching the top.
func waitPlot(r *Run) string {
	p := newPlot(1080, 320, "part of the replicas placed within a time, by kind of job")
	longest := berth.Duration(10 * berth.Minute)
	for i := range r.Rows {
		longest = max(longest, r.Rows[i].Quantile(1))
	}
	const least = float64(berth.Second)
	p.x = func(v float64) float64 {
		span := p.width - p.right - p.left
		return p.left + span*math.Log(max(v, least)/least)/math.Log(float64(longest)/least)
	}
	for _, t := range []berth.Duration{
		berth.Second, 10 * berth.Second, berth.Minute, 10 * berth.Minute, berth.Hour, 6 * berth.Hour,
		berth.Day, 7 * berth.Day, 30 * berth.Day,
	} {
		if t > longest {
			break
		}
		p.tickOfX(p.x(float64(t)), waitLabel(t))
	}
	p.xUnit("wait until placed (logarithmic; the left edge is a second or less)")
	p.y = linear(0, 100, p.height-p.bottom, p.top)
	for v := 0.0; v <= 100; v += 25 {
		p.tickOfY(p.y(v), number(v))
	}
	p.yUnit("placed, %")
	for i := range r.Rows {
		p.waitLine(&r.Rows[i], longest)
	}
	if total := r.total(); total.Quantile(1) <= berth.Second {
		p.text((p.left+p.width-p.right)/2, p.y(50), "mid", "all were placed at once")
	}
	return p.end()
}

func waitLabel(t berth.Duration) string {
	switch {
	case t >= berth.Day:
		return fmt.Sprintf("%d d", t/berth.Day)
	case t >= berth.Hour:
		return fmt.Sprintf("%d h", t/berth.Hour)
	case t >= berth.Minute:
		return fmt.Sprintf("%d min", t/berth.Minute)
	default:
		return fmt.Sprintf("%d s", t/berth.Second)
	}
}

// waitLine draws one category, as steps.
func (p *plot) waitLine(row *Row, longest berth.Duration) {
	all := float64(row.Submitted - row.Withdrawn)
	if all <= 0 || len(row.Waits) == 0 {
		return
	}
	var points []point
	for i, w := range row.Waits {
		at := point{float64(w), min(100*float64(i+1)/all, 100)}
		if n := len(points); n > 0 {
			last := &points[n-1]
			if p.x(at.x)-p.x(last.x) < 0.5 { // not worth a step
				last.y = at.y
				continue
			}
		}
		points = append(points, at)
	}
	points = append(points, point{float64(longest), points[len(points)-1].y})
	p.put(
		`<path d="%s" class="wait" style="stroke:var(--c%d)"><title>%s: p50 %s, p99 %s, %s of %s placed</title></path>`,
		p.steps(points), row.Category, html.EscapeString(row.Category.String()),
		Span(row.Quantile(0.5)), Span(row.Quantile(0.99)), count(row.Placed), count(row.Submitted),
	)
}
