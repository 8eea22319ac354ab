package scale

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/berth-sched/berth/bench/scale"
	"github.com/berth-sched/berth/bench/study"
)

// A peer is what another scheduler needs for what a figure measures, or for what comes nearest.
type peer struct{ what, size, says string }

// peers were measured with drivers of our own, on the machine of docs/performance.md.
var peers = [...]peer{
	{"512 GPUs in a required block, search", "nodes=500", "Kueue 365 us"},
	{"512 GPUs in a required block, search", "nodes=4000", "Kueue 2.8 ms"},
	{"victims for 64 x 8 GPUs", "nodes=4000", "Kueue 0.4 to 3.1 s, a preempting cycle"},
	{"hopeless gangs, a pass after", "nodes=4000", "Kueue 2.6 s, each cycle"},
	{"a whole life of gang-of-512", "gpus=4096", "HiveD 54 ms, a gang on 512 nodes"},
	{"whole lives, jobs", "gpus=4096", "YuniKorn 1,440 to 1,640 pods/s"},
}

// stands reports whether it stands beside a figure.
func (p *peer) stands(f *scale.Figure) bool {
	return p.what == f.What && strings.HasPrefix(f.Size, p.size)
}

// beside is what a peer needs, or nil.
func beside(f *scale.Figure) any {
	for _, p := range peers {
		if p.stands(f) {
			return p.says
		}
	}
	return nil
}

// tableOf has a line for each figure.
func tableOf(figures, earlier []scale.Figure) *study.Table {
	columns := []string{"point", "what", "size", "figure", "target", "met", "B", "allocs", "peer"}
	if earlier != nil {
		columns = append(columns, "against")
	}
	t := study.NewTable("scale", columns...)
	for i := range figures {
		f := &figures[i]
		row := []any{nil, f.What, f.Size, amount(f.Value, f.Unit), nil, nil, whole(f.Allocated), whole(f.Allocs), beside(f)}
		if f.Point > 0 {
			row[0] = f.Point
		}
		if f.Target != 0 {
			row[4], row[5] = amount(f.Target, f.Unit), map[bool]string{true: "met", false: "missed"}[f.Met()]
		}
		if earlier != nil {
			row = append(row, ratio(f, earlier))
		}
		t.Add(row...)
	}
	return t
}

// print writes the table, and below it, for people, what its columns mean.
func (o *Options) print(out *study.Printer, w io.Writer, t *study.Table) error {
	if o.Markdown {
		return markdown(w, t)
	}
	if err := out.Print(t); err != nil {
		return err
	}
	out.Note("Peers were measured with drivers of our own on one machine, beside berth: see docs/performance.md.")
	if o.Against != "" {
		out.Note("against: this figure over the earlier one.")
	}
	return nil
}

// markdown writes a table of a document.
func markdown(w io.Writer, t *study.Table) error {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.Columns)
	line(slices.Repeat([]string{"---"}, len(t.Columns)))
	for _, cells := range t.Cells() {
		line(cells)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// ratio is a figure over the one of an earlier run, or nil.
func ratio(f *scale.Figure, earlier []scale.Figure) any {
	i := slices.IndexFunc(earlier, func(e scale.Figure) bool { return e.What == f.What && e.Size == f.Size })
	if i < 0 || earlier[i].Value == 0 {
		return nil
	}
	return fmt.Sprintf("x%.2f", f.Value/earlier[i].Value)
}

// whole is a number without a fraction, or nil.
func whole(v *float64) any {
	if v == nil {
		return nil
	}
	return int64(*v + 0.5)
}

// amount prints a figure with three digits and the unit of its size.
func amount(v float64, unit scale.Unit) string {
	steps := map[scale.Unit][]string{
		scale.Nanoseconds: {"ns", "us", "ms", "s"}, scale.Bytes: {"B", "kB", "MB", "GB"}, scale.PerSecond: {"/s"},
	}[unit]
	at := 0
	for v >= 999.5 && at < len(steps)-1 {
		v, at = v/1000, at+1
	}
	if v >= 99.5 {
		return fmt.Sprintf("%.0f %s", v, steps[at])
	}
	return fmt.Sprintf("%.3g %s", v, steps[at])
}

// save writes figures for a later run to compare with; nothing if the name is empty.
func save(name string, figures []scale.Figure) error {
	if name == "" {
		return nil
	}
	text, err := json.MarshalIndent(figures, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o666)
}

// read reads what save wrote; nil if the name is empty.
func read(name string) ([]scale.Figure, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	figures := []scale.Figure{}
	if err := json.Unmarshal(text, &figures); err != nil {
		return nil, fmt.Errorf("%s has no figures: %w", name, err)
	}
	return figures, nil
}
