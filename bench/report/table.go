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
	b.WriteString("\n" + rowNote + "\n\n")
	figures := r.figures()
	if r.Wall > 0 {
		figures = append(figures, r.speed())
	}
	for _, f := range figures {
		fmt.Fprintf(&b, "%-16s  %s\n", f.name, f.value+" "+f.rest)
	}
	if len(r.Longest) > 0 {
		longest := &r.Longest[0]
		fmt.Fprintf(&b, "%-16s  %s\n", "longest wait", longest.sentence())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var rowHeads = []string{
	"jobs and replicas", "submitted", "finished", "running", "waiting", "so far", "evicted", "failed", "wait p50", "p99", "max", "GPU hours", "lost",
}

// rowNote explains the columns.
const rowNote = `"finished": or cancelled or scaled down by the owner; "waiting" at the end, the first of them for "so far";
"evicted": lost a place to another job, "failed": to hardware, and waited for the next; a wait is until the first place,
or so far; "lost" GPU hours were held and brought nothing: work since the last checkpoint, and restarts`

func (r *Row) cells(name string) []string {
	wait := func(p float64) string {
		if len(r.Waits)+len(r.SoFar) == 0 {
			return "-"
		}
		return Span(r.Quantile(p))
	}
	soFar := "-"
	if r.Waiting > 0 {
		soFar = Span(r.WaitingFor)
	}
	return []string{
		name, count(r.Submitted), count(r.Ended()), count(r.Running), count(r.Waiting), soFar, count(r.Evicted), count(r.Failed),
		wait(0.5), wait(0.99), wait(1), count(int(r.GPUHours + 0.5)), count(int(r.LostGPUHours + 0.5)),
	}
}

// A figure is one number about the whole run: value in large print, rest in small.
type figure struct{ name, value, rest string }

// figures are the same whenever a run is made with the same seed.
func (r *Run) figures() []figure {
	list := []figure{
		{"GPU allocation", percent(r.Held, r.Capacity), fmt.Sprintf(
			"on average of %s; %s at the peak%s", plural(int(r.Capacity/1000+0.5), "GPU"), count(int(r.Peak/1000)), r.most(),
		)},
		{"fragmentation", percent(r.Stranded, r.Capacity), "on average free, but too fragmented for any waiting job"},
		{"events", count(r.Events), fmt.Sprintf("accepted, %s refused", count(r.Refused))},
		{"passes", count(r.Passes), "gave " + plural(r.Orders, "order")},
	}
	return append(list, figure{"decisions", count(int(r.Searches)), "searches for a place, found or not"})
}

// speed is a figure of the machine as well, and of what else it did.
func (r *Run) speed() figure {
	return figure{"speed", count(int(float64(r.Searches) / r.Wall.Seconds())), fmt.Sprintf(
		"decisions a second of wall-clock time (%.1f s for %s, simulator included)", r.Wall.Seconds(), Span(r.End.Sub(r.Start)),
	)}
}

// most says what bounds the allocation, where that is known.
func (r *Run) most() string {
	if r.Most == 0 {
		return ""
	}
	return fmt.Sprintf("; as work comes, no scheduler can hold more than %s", percent(r.Most, r.Capacity))
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
