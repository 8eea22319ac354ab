package report

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// A Bars is a plot of bars that lie below each other, each of parts that add up.
type Bars struct {
	// Unit is what the axis counts, which ends at most at To; a longer bar is cut off, and says
	// how long it is.
	Unit string
	To   float64
	// Parts are named above the bars.
	Parts []string
	Bars  []Bar
}

// A Bar has a value for each part.
type Bar struct {
	Name   string
	Own    bool
	Values []float64
}

// sum of the parts.
func (b *Bar) sum() (sum float64) {
	for _, v := range b.Values {
		sum += max(v, 0)
	}
	return sum
}

const barTall, barGap = 30.0, 12.0

func (b *Bars) draw(title string) string {
	if b == nil || len(b.Bars) == 0 {
		return ""
	}
	var legend strings.Builder
	if len(b.Parts) > 1 {
		legend.WriteString(`<p class="legend">`)
		for i, part := range b.Parts {
			fmt.Fprintf(&legend, `<span><i style="background:var(--p%d)"></i>%s</span>`, i, html.EscapeString(part))
		}
		legend.WriteString("</p>\n")
	}
	longest, most := 0, 0.0
	for i := range b.Bars {
		longest = max(longest, utf8.RuneCountInString(b.Bars[i].Name))
		most = max(most, b.Bars[i].sum())
	}
	if b.To > 0 {
		most = min(most, b.To)
	}
	p := newPlot(1080, 68+float64(len(b.Bars))*(barTall+barGap), title)
	p.left = max(p.left, letterWide*float64(longest)+16)
	p.right = 90
	step := stepOf(most, 8)
	p.x = linear(0, most, p.left, p.width-p.right)
	for i := 0; float64(i)*step <= most*1.000001; i++ {
		p.tickOfX(p.x(float64(i)*step), number(float64(i)*step))
	}
	p.xUnit(b.Unit)
	for i := range b.Bars {
		p.bar(b, &b.Bars[i], most, p.top+barGap/2+float64(i)*(barTall+barGap))
	}
	return legend.String() + p.end()
}

func (p *plot) bar(b *Bars, bar *Bar, most, y float64) {
	class := "end name"
	if bar.Own {
		class += " own"
	}
	p.text(p.left-10, y+barTall/2+5, class, bar.Name)
	from := 0.0
	for i, v := range bar.Values {
		to := min(from+max(v, 0), most)
		colour := fmt.Sprintf("var(--p%d)", i)
		if len(bar.Values) == 1 && bar.Own {
			colour = "var(--own)"
		}
		title := bar.Name + ": " + number(round(v, 2)) + " " + b.Unit
		if i < len(b.Parts) {
			title = bar.Name + ", " + b.Parts[i] + ": " + number(round(v, 2)) + " " + b.Unit
		}
		if to > from {
			p.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%g" style="fill:%s"><title>%s</title></rect>`,
				p.x(from), y, p.x(to)-p.x(from), barTall, colour, html.EscapeString(title))
		}
		from = to
	}
	sum := bar.sum()
	text := number(round(sum, 2))
	if sum > most*1.000001 {
		text = "→ " + text
	}
	p.text(p.x(min(sum, most))+8, y+barTall/2+5, "name", text)
}
