package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// A Lines is a page that compares: each of its sections has a plot with a line for each of what is
// compared, and a table of figures. A name has one colour on the whole page.
type Lines struct {
	Title, Subtitle string
	Sections        []LineSection
}

// A LineSection is a heading, a sentence, a plot and a table. Without lines there is no plot,
// without a Head no table.
type LineSection struct {
	Title, Note string
	// X and Y name the axes, with units. X goes from From to To, Y from zero, or less where
	// something is, to the largest that is drawn.
	X, Y     string
	From, To float64
	// LogX draws X by powers of ten. It then begins at From, which has to be positive; what is less
	// is drawn there.
	LogX  bool
	Lines []Line
	Head  []string
	Rows  [][]string
}

// A Line is a name and its points, in ascending order of x. Those out of the plot are not drawn.
type Line struct {
	Name string
	// Own is in the strongest colour, and its Kin in the same, broken. A Mark is what the others
	// are held against: broken, in the colour of letters.
	Own, Kin, Mark bool
	// Dots has the points drawn by themselves, and Labels, if there are any, says what each is
	// when it is pointed at.
	Dots   bool
	Labels []string
	X, Y   []float64 // as many of each, or nothing is drawn
}

// Add adds a point.
func (l *Line) Add(x, y float64) { l.X, l.Y = append(l.X, x), append(l.Y, y) }

// AddParts adds lines: of each list of values, the part in percent that is no greater than X. The
// axis reaches to the greatest value of all, and so do the lines.
func (s *LineSection) AddParts(lines []Line, values [][]float64) {
	const points = 200
	for i, list := range values {
		list = slices.Sorted(slices.Values(list))
		for k := 0; len(list) > 0 && k <= points; k++ {
			at := min(k*len(list)/points, len(list)-1)
			lines[i].Add(list[at], 100*float64(at+1)/float64(len(list)))
			s.To = max(s.To, list[at])
		}
	}
	for i := range lines {
		if len(lines[i].X) > 0 {
			lines[i].Add(s.To, 100)
		}
	}
	s.Lines = append(s.Lines, lines...)
}

// WriteLines writes one self-contained HTML page.
func WriteLines(w io.Writer, l *Lines) error {
	var b strings.Builder
	openPage(&b, l.Title, l.Subtitle)
	d := drawing{styles: map[string]lineStyle{}}
	for i := range l.Sections {
		for k := range l.Sections[i].Lines {
			d.meet(&l.Sections[i].Lines[k])
		}
	}
	for i := range l.Sections {
		s := &l.Sections[i]
		section(&b, s.Title, s.Note, d.legend(s)+d.plot(s)+d.table(s))
	}
	return closePage(w, &b)
}

// A drawing knows how each name of a page is drawn.
type drawing struct {
	styles map[string]lineStyle
	others int
}

// A lineStyle is how a line is drawn.
type lineStyle struct {
	colour, class string
	own           bool
}

// lineColours are how many colours there are for what is not our own.
const lineColours = 11

func (d *drawing) meet(l *Line) {
	if _, met := d.styles[l.Name]; met {
		return
	}
	switch {
	case l.Mark:
		d.styles[l.Name] = lineStyle{"var(--ink)", "line mark", false}
	case l.Own:
		d.styles[l.Name] = lineStyle{"var(--own)", "line own", true}
	case l.Kin:
		d.styles[l.Name] = lineStyle{"var(--own)", "line kin", false}
	default:
		d.styles[l.Name] = lineStyle{fmt.Sprintf("var(--l%d)", d.others%lineColours), "line", false}
		d.others++
	}
}

// legend is there for dots, which have no end to be named at.
func (d *drawing) legend(s *LineSection) string {
	var b strings.Builder
	for i := range s.Lines {
		if l := &s.Lines[i]; l.Dots {
			fmt.Fprintf(&b, `<span><i style="background:%s"></i>%s</span>`, d.styles[l.Name].colour, html.EscapeString(l.Name))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return `<p class="legend">` + b.String() + "</p>\n"
}

// table has what is our own in bold letters.
func (d *drawing) table(s *LineSection) string {
	if len(s.Head) == 0 {
		return ""
	}
	var b strings.Builder
	row := func(tag string, cells []string) {
		b.WriteString("<tr>")
		for i, cell := range cells {
			class := ""
			if i < len(s.Head) && d.styles[s.Head[i]].own || d.styles[cells[0]].own {
				class = ` class="own"`
			}
			fmt.Fprintf(&b, "<%s%s>%s</%s>", tag, class, html.EscapeString(cell), tag)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString(`<div class="scroll" tabindex="0"><table class="rows"><thead>`)
	row("th", s.Head)
	b.WriteString(`</thead><tbody>`)
	for _, cells := range s.Rows {
		row("td", cells)
	}
	b.WriteString(`</tbody></table></div>`)
	return b.String()
}
