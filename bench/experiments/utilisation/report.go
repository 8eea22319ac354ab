package utilisation

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/mig"
)

// Report prints the day, the arrangements that share space, a table for each time of a switch,
// what the wait before a loan is worth, and where the time goes.
func (b *experiment) Report(p *study.Printer, runs [][]*run) error {
	d := b.day
	worked, held := d.worked()
	count := 0
	for _, r := range d.requests(&addition{}) {
		count += r.count
	}
	if b.Dir == "" {
		p.Note("A drawn day, as there is no -dir.")
	}
	p.Note("%d pods, %d at once at the most; %d samples of %d s of theirs, %d more are missing; duty cycle %.1f %%, %.1f %% of the fleet's GPU time.",
		len(d.pods), d.gpus, d.told, d.step/berth.Second, d.filled, percent(worked, held), percent(worked, d.total(d.gpus)))
	p.Note("%d requests with a p99 of %.1f s. If all were GPU time they would be %.2f times what GPUs worked.", count, b.alone/1000, float64(count)*d.meanExecution()/float64(worked))
	p.Note("Assumed: see -h. Above all that batch jobs always wait and keep all SMs busy while they work, and that a pod tells of its first request at once.\n")
	space, err := b.space()
	if err != nil {
		return err
	}
	tables := []*study.Table{space}
	for at := range b.Switches {
		tables = append(tables, b.table(at, runs))
	}
	tables = append(tables, b.waited(), b.parts())
	for _, t := range tables {
		if err := p.Print(t); err != nil {
			return err
		}
	}
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteLines(w, b.page(tables, runs)) })
}

// space compares the arrangements that share space alone.
func (b *experiment) space() (*study.Table, error) {
	known, _ := mig.Lookup(product)
	lattice, err := mig.NewLattice(known)
	if err != nil {
		return nil, err
	}
	d := b.day
	worked, held := d.worked()
	t := study.NewTable("Sharing space alone: each with the GPUs that it needs at the busiest", "arrangement", "GPUs", "allocated, %", "real use, %", "p99 above the service alone, %")
	add := func(name string, s *shared, slow func(*pod, int) float64) {
		t.Add(name, s.gpus, percent(s.held, d.total(s.gpus)), percent(worked, d.total(s.gpus)), b.slower(&addition{slow: slow}, 1))
	}
	add("a GPU a pod", &shared{gpus: d.gpus, held: held}, nil)
	packed := d.arrange(func() room { return &byMemory{productMiB, productMiB} })
	add("packed by memory", packed, packed.slowed(d))
	add("static MIG", d.arrange(func() room { return &divided{lattice: lattice, places: map[*pod]mig.Placement{}} }), instances(lattice))
	return t, nil
}

// table has all lines at one time of a switch.
func (b *experiment) table(at int, runs [][]*run) *study.Table {
	t := study.NewTable(fmt.Sprintf("A switch of %d s, on %d GPUs", b.Switches[at], b.day.gpus), "arrangement", "allocated, %", "real use, %", "useful use, %",
		"p99 waits, +%", "p99 beside, +%", "loans", "given back", "in time, %", "pod waits for a GPU, s", "lost, GPU-h", "switching, GPU-h")
	for l, line := range lines() {
		r := runs[l][at]
		row := []any{
			line.name, percent(r.allocated, b.day.total(r.gpus)), r.real(b.day), r.useful(b.day), r.waits, r.beside,
			r.loans, r.givenBack, nil, nil, study.GPUHours(float64(r.lost)), study.GPUHours(float64(r.switching)),
		}
		if r.givenBack > 0 {
			row[8] = 100 * float64(r.inTime) / float64(r.givenBack)
		}
		if r.podWait > 0 {
			row[9] = float64(r.podWait) / float64(berth.Second)
		}
		t.Add(row...)
	}
	return t
}

// swept are the waits before a loan that are compared, in seconds.
var swept = [...]int{0, 15, 30, 60, 120, 180, 240, 600}

// waited is what each wait before a loan brings at each time of a switch, by the rule alone.
func (b *experiment) waited() *study.Table {
	columns := []string{"lent after"}
	for _, seconds := range b.Switches {
		columns = append(columns, fmt.Sprintf("switch of %d s", seconds))
	}
	t := study.NewTable("Useful use in percent by the wait before a loan, and by how many percent p99 is higher if requests wait; the rule alone", columns...)
	for _, wait := range swept {
		row := []any{fmt.Sprintf("%d s", wait)}
		for _, seconds := range b.Switches {
			book := b.day.lend(b.setting(seconds), after(berth.Duration(wait)*berth.Second))
			row = append(row, fmt.Sprintf("%.1f (+%.1f)", book.useful(b.day), b.slower(&book.addition, 1)))
		}
		t.Add(row...)
	}
	return t
}

// parts is where the GPU time goes if a GPU is lent after a minute.
func (b *experiment) parts() *study.Table {
	columns := []string{"GPU time, %"}
	var all [][]part
	for _, seconds := range b.Switches {
		columns = append(columns, fmt.Sprintf("switch of %d s", seconds))
		all = append(all, b.day.parts(b.setting(seconds), berth.Minute))
	}
	t := study.NewTable("What bounds it: where the GPU time goes, lent after a minute by the rule alone", columns...)
	for i, first := range all[0] {
		row := []any{first.name}
		for _, list := range all {
			row = append(row, percent(list[i].time, b.day.total(b.day.gpus)))
		}
		t.Add(row...)
	}
	return t
}

// Verdict holds berth to its target, where the trace is played with the switch of the target: a day
// that is drawn is no evidence.
func (b *experiment) Verdict(p *study.Printer, runs [][]*run) (wrong []string) {
	at := slices.Index(b.Switches, targetSwitch)
	if at < 0 {
		return nil
	}
	r, most := runs[ours][at], runs[hindsight][at]
	p.Note("With a switch of %d s berth comes to %.1f %% of useful use, and p99 to %.1f %% above that of the service alone; hindsight comes to %.1f %%.",
		targetSwitch, r.useful(b.day), r.waits, most.useful(b.day))
	if need := percent(b.day.total(r.gpus)*target/100-r.worked, r.used); need <= 100 {
		p.Note("It comes to %d %% as long as borrowers keep SMs busy for %.0f %% of the time in which they work.", target, math.Ceil(need))
	}
	if b.Dir == "" {
		return nil
	}
	if r.useful(b.day) < target {
		wrong = append(wrong, fmt.Sprintf("useful use is %.1f %%, below %d %%", r.useful(b.day), target))
	}
	if r.waits > mostSlower {
		wrong = append(wrong, fmt.Sprintf("p99 is %.1f %% above that of the service alone, and %d %% is the most", r.waits, mostSlower))
	}
	if r.inTime < r.givenBack {
		wrong = append(wrong, fmt.Sprintf("%d of %d GPUs were given back late", r.givenBack-r.inTime, r.givenBack))
	}
	return wrong
}

// page draws useful use by the time of a switch, and against p99.
func (b *experiment) page(tables []*study.Table, runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title:    "Idle GPU time of a service, lent to batch jobs",
		Subtitle: fmt.Sprintf("%d pods in %.1f hours, on %d GPUs.", len(b.day.pods), float64(b.day.at(b.day.samples))/float64(berth.Hour), b.day.gpus),
	}
	over := report.LineSection{Title: "Useful use by the time of a switch", X: "switch, seconds", Y: "useful use, %", To: float64(slices.Max(b.Switches))}
	against := report.LineSection{
		Title: "Useful use against the p99 of the service", Note: "Each point is one time of a switch; requests wait until a borrower is gone.",
		X: "p99 above that of the service alone, %", Y: "useful use, %",
	}
	order := make([]int, len(b.Switches)) // by time
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int { return b.Switches[i] - b.Switches[k] })
	for l, line := range lines() {
		drawn := report.Line{Name: line.name, Own: l == ours, Kin: l == ours+1, Mark: l == hindsight}
		dots := drawn
		dots.Dots = true
		for _, at := range order {
			r := runs[l][at]
			drawn.Add(float64(b.Switches[at]), r.useful(b.day))
			dots.Add(r.waits, r.useful(b.day))
			dots.Labels = append(dots.Labels, fmt.Sprintf("a switch of %d s", b.Switches[at]))
			against.To = math.Max(against.To, r.waits)
		}
		over.Lines = append(over.Lines, drawn)
		if l != hindsight {
			against.Lines = append(against.Lines, dots)
		}
	}
	page.Sections = append(page.Sections, over, against)
	for _, t := range tables {
		page.Sections = append(page.Sections, t.Section(t.Title, ""))
	}
	return page
}
