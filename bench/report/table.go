package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/berth-sched/berth"
)

// WriteTable writes the run as text: a row for each category, the fleet's figures,
// and which jobs wait longest and why.
func WriteTable(w io.Writer, r *Run) error {
	var b, rows strings.Builder
	t := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) {
		fmt.Fprintf(t, "%-18s\t%s\t\n", cells[0], strings.Join(cells[1:], "\t"))
	}
	line(rowHeads)
	for i := range r.Rows {
		line(r.Rows[i].cells(r.Rows[i].Category.String()))
	}
	total := r.total()
	line(total.cells("all"))
	if err := t.Flush(); err != nil {
		return err
	}
	for row := range strings.Lines(rows.String()) {
		b.WriteString(strings.TrimPrefix(row, "  ")) // the padding of the first column
	}
	b.WriteString("\nwaits are of those that were placed; \"cancelled\": or scaled down, before that;\n\"restarted\": placed once more after the first place was lost\n\n")
	for _, f := range r.figures() {
		fmt.Fprintf(&b, "%-16s  %s\n", f.name, f.value+" "+f.rest)
	}
	if len(r.Longest) > 0 {
		longest := &r.Longest[0]
		fmt.Fprintf(&b, "%-16s  %s\n", "longest wait", longest.sentence())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var rowHeads = []string{"jobs and replicas", "submitted", "placed", "waiting", "cancelled", "restarted", "wait p50", "p99", "max", "GPU hours"}

func (r *Row) cells(name string) []string {
	wait := func(p float64) string {
		if len(r.Waits) == 0 {
			return "-"
		}
		return Span(r.Quantile(p))
	}
	return []string{
		name, count(r.Submitted), count(r.Placed), count(r.Waiting), count(r.Withdrawn), count(r.Again),
		wait(0.5), wait(0.99), wait(1), count(int(r.GPUHours + 0.5)),
	}
}

// A figure is one number about the whole run: value in large print, rest in small.
type figure struct{ name, value, rest string }

func (r *Run) figures() []figure {
	list := []figure{
		{"GPU allocation", percent(r.Held, r.Capacity), fmt.Sprintf(
			"on average of %s; %s at the peak", plural(int(r.Capacity/1000+0.5), "GPU"), count(int(r.Peak/1000)),
		)},
		{"fragmentation", percent(r.Stranded, r.Capacity), "on average free, but too fragmented for any waiting job"},
		{"events", count(r.Events), fmt.Sprintf("accepted, %s refused", count(r.Refused))},
		{"passes", count(r.Passes), "gave " + plural(r.Orders, "order")},
	}
	decisions := figure{"decisions", count(int(r.Searches)), "searches for a place, found or not"}
	if r.Wall > 0 {
		decisions.rest = "searches for a place" + fmt.Sprintf(
			"; %s a second of wall-clock time (%.1f s for %s, simulator included)",
			count(int(float64(r.Searches)/r.Wall.Seconds())), r.Wall.Seconds(), Span(r.End.Sub(r.Start)),
		)
	}
	return append(list, decisions)
}

func (w *Waiting) sentence() string {
	return fmt.Sprintf("%s (%s), for %s: %s", w.Job, w.Category, Span(w.For), w.Reason.Text)
}

// Span formats a duration in its two largest units, as in "3h05m".
func Span(d berth.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d == 0:
		return "0s"
	case d < berth.Second:
		return fmt.Sprintf("%dms", d)
	case d < berth.Minute:
		return fmt.Sprintf("%ds", d/berth.Second)
	case d < berth.Hour:
		return fmt.Sprintf("%dm%02ds", d/berth.Minute, d%berth.Minute/berth.Second)
	case d < 2*berth.Day:
		return fmt.Sprintf("%dh%02dm", d/berth.Hour, d%berth.Hour/berth.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/berth.Day, d%berth.Day/berth.Hour)
	}
}

// count formats a whole number in groups of three.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}

func percent(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}
