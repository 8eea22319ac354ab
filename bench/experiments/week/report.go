package week

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/recorded"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// reportDemand tells what was asked for and what there is, before anything is played.
func (b *experiment) reportDemand(out *study.Printer) error {
	out.Note("%s: %s, %d jobs that are played, in %s", b.options.Jobs, b.Kind, len(b.Jobs), report.Span(b.Length))
	var err error
	if len(b.Jobs) > 0 {
		out.Note("The fleet: %d GPUs in %d nodes, %s\n", b.FleetGPUs(), len(b.Nodes), b.FleetSays)
		err = out.Print(b.demand())
		if part := b.asked(func(*recorded.Job) bool { return true }); part > 100 {
			out.Note("More is asked for than the fleet can give in that time: waits are those of a fleet that is too small,\nwhatever the scheduler. Are all nodes told?\n")
		}
		if peak := b.Peak(); peak > b.FleetGPUs() {
			out.Note("At one instant the jobs that are played held %d GPUs, which the fleet does not have. Are all nodes told?\n", peak)
		}
	}
	if err == nil && len(b.Skipped) > 0 {
		err = out.Print(b.passedOver())
	}
	return err
}

// passedOver tells of each reason once.
func (b *experiment) passedOver() *study.Table {
	t := study.NewTable("What is not read or not played, or played as something that it was not", "what and why", "how many", "file", "first in line")
	for _, s := range b.Skipped {
		t.Add(s.Reason, s.Count, s.File, s.Line)
	}
	return t
}

// asked is what jobs ask for, in percent of the GPU time of the week.
func (b *experiment) asked(which func(*recorded.Job) bool) float64 {
	return 100 * b.hours(which) / (float64(b.FleetGPUs()) * float64(b.Length) / float64(berth.Hour))
}

// hours are the GPU-hours of some jobs.
func (b *experiment) hours(which func(*recorded.Job) bool) (sum float64) {
	for i := range b.Jobs {
		if j := &b.Jobs[i]; which(j) {
			sum += float64(j.GPUs) * float64(j.Runtime) / float64(berth.Hour)
		}
	}
	return sum
}

// demand has a line for each day of submission, and for the whole.
func (b *experiment) demand() *study.Table {
	t := study.NewTable("Demand against capacity: the GPU-hours of the jobs by their day of submission, and what the fleet gives in that time",
		"day", "jobs", "GPU-hours asked", "GPU-hours there are", "asked, %", "largest job, GPUs")
	line := func(name string, span berth.Duration, which func(*recorded.Job) bool) {
		jobs, largest := 0, 0
		for i := range b.Jobs {
			if which(&b.Jobs[i]) {
				jobs, largest = jobs+1, max(largest, b.Jobs[i].GPUs)
			}
		}
		if jobs == 0 {
			return
		}
		there := float64(b.FleetGPUs()) * float64(span) / float64(berth.Hour)
		t.Add(name, jobs, b.hours(which), there, 100*b.hours(which)/there, largest)
	}
	if days := int((b.Length + berth.Day - 1) / berth.Day); days > 1 && days <= 31 {
		for day := range days {
			line(fmt.Sprint(day+1), min(berth.Day, b.Length-berth.Duration(day)*berth.Day), func(j *recorded.Job) bool { return int(j.At.Sub(0)/berth.Day) == day })
		}
	}
	line("all", b.Length, func(*recorded.Job) bool { return true })
	return t
}

// report prints what came of it.
func (b *experiment) report(out *study.Printer, runs []*run) error {
	list := []*study.Table{b.summary(runs), b.distance(runs), b.waits("size", sizeOf, runs), b.waits("account", accountOf, runs)}
	if len(b.groups(partitionOf)) > 1 {
		list = append(list, b.waits("partition", partitionOf, runs))
	}
	list = append(list, b.against(runs), b.worse(runs), b.sensitivity(runs), b.reservations(runs))
	for _, t := range list {
		if len(t.Rows) == 0 {
			continue
		}
		if err := out.Print(t); err != nil {
			return err
		}
	}
	if worse := b.worse(runs); len(worse.Rows) == 0 {
		out.Note("Nobody would be worse off under %s: no account waits more than %v longer on average than %s.\n", b.judged(), tolerance, b.reference())
	}
	out.Note("No such file tells of failures, limits that are not stated, dependencies, features or reservations that jobs asked for,\nand which jobs write checkpoints; run times are those of the file, wherever a job runs. See -h.")
	return nil
}

// lives are the jobs of a run in the order of the experiment's.
func (b *experiment) lives(r *run) map[berth.JobID]*life.Job {
	byID := make(map[berth.JobID]*life.Job, len(r.Jobs))
	for _, j := range r.Jobs {
		byID[j.ID] = j
	}
	return byID
}

// counts reports whether the wait of a job says something.
func (b *experiment) counts(j *recorded.Job) bool { return j.At >= b.From }

// delays are those of some jobs under a run, in minutes; nil as it was, as far as the file tells.
func (b *experiment) delays(r *run, which func(*recorded.Job) bool) (list []float64) {
	lives := map[berth.JobID]*life.Job{}
	if r != nil {
		lives = b.lives(r)
	}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		switch {
		case !which(j) || !b.counts(j):
		case r != nil:
			list = append(list, minutes(lives[j.Spec.ID].Delay()))
		case j.Wait != recorded.Unset:
			list = append(list, minutes(j.Wait))
		}
	}
	return list
}

// meanByGPUs is the mean wait where a job of eight GPUs counts as eight of one: a few small jobs
// that go first shorten the mean over jobs, and this one hardly.
func (b *experiment) meanByGPUs(r *run) float64 {
	var gpus []float64
	for i := range b.Jobs {
		if j := &b.Jobs[i]; b.counts(j) && (r != nil || j.Wait != recorded.Unset) {
			gpus = append(gpus, float64(j.GPUs))
		}
	}
	return stat.Mean(b.delays(r, all), gpus)
}

func minutes(d berth.Duration) float64 { return float64(d) / float64(berth.Minute) }

// columns are what is compared with the first guess: as it was, if the file tells, and the
// schedulers; those with other reservations have a table of their own.
func (b *experiment) columns(runs []*run) (names []string, list []*run) {
	if len(b.delays(nil, all)) > 0 {
		names, list = append(names, "as it was"), append(list, nil)
	}
	for _, r := range runs {
		if r.guess == 0 && r.scheduler != fourReserved && r.scheduler != nothingReserved {
			names, list = append(names, r.scheduler), append(list, r)
		}
	}
	return names, list
}

func all(*recorded.Job) bool { return true }

// warmUp says of how many jobs the waits do not count.
func (b *experiment) warmUp() string {
	if b.Before == 0 {
		return ""
	}
	return fmt.Sprintf(" from the first end of a job on.\n%d of %d jobs were submitted before: they are played, and their waits do not count, as of such jobs a file has those that ran long",
		b.Before, len(b.Jobs))
}

// summary has a line for each figure.
func (b *experiment) summary(runs []*run) *study.Table {
	names, list := b.columns(runs)
	t := study.NewTable("The whole: the wait of a job is all the time between its submission and its end in which it did not run;\nparts of the fleet are over the time of the file"+b.warmUp(), append([]string{""}, names...)...)
	line := func(name string, of func(*run) any) {
		row := []any{name}
		for _, r := range list {
			row = append(row, of(r))
		}
		t.Add(row...)
	}
	quantile := func(q float64) func(*run) any {
		return func(r *run) any { return study.Quantile(b.delays(r, all), q) }
	}
	played := func(of func(*run) float64) func(*run) any {
		return func(r *run) any {
			if r == nil {
				return nil
			}
			return of(r)
		}
	}
	line("wait mean, min", func(r *run) any { return stat.Mean(b.delays(r, all), nil) })
	line("wait mean, a job counts by its GPUs, min", func(r *run) any { return b.meanByGPUs(r) })
	line("wait p50, min", quantile(0.5))
	line("wait p90, min", quantile(0.9))
	line("wait p99, min", quantile(0.99))
	line("allocation, %", played(func(r *run) float64 { return b.part(r, func(s *life.Slot) float64 { return s.Held }) }))
	line("free though a waiting job asks for as many, %", played(func(r *run) float64 { return b.part(r, func(s *life.Slot) float64 { return s.Idle }) }))
	line("fragmentation: free where no waiting member fits, %", played(func(r *run) float64 { return b.part(r, func(s *life.Slot) float64 { return s.Stranded }) }))
	line("preemptions", played(func(r *run) float64 { return life.Evictions(r.Jobs) }))
	line("GPU-hours lost to them", played(func(r *run) float64 { return life.LostGPUHours(r.Jobs) }))
	line("last job ends after, days", played(func(r *run) float64 { return float64(r.End) / float64(berth.Day) }))
	return t
}

// slots are those of the time of the file, from the first end on: also where a run was done before.
func (b *experiment) slots(r *run) []life.Slot {
	until := max(1, int(b.Length/r.Step))
	for len(r.Slots) < until {
		r.Slots = append(r.Slots, life.Slot{Free: float64(b.FleetGPUs()), Queues: make([]life.QueueSlot, len(b.Shares))})
	}
	return r.Slots[min(b.firstSlot(r), until-1):until]
}

func (b *experiment) firstSlot(r *run) int { return int(b.From.Sub(0) / r.Step) }

// distance tells how far the runs are from what happened: differences between schedulers that are
// less than that say little.
func (b *experiment) distance(runs []*run) *study.Table {
	t := study.NewTable("How far the replay is from what happened, by the jobs of which the file tells the wait, in minutes.\n"+
		"Schedulers that differ by less than the nearest of them is off cannot be told apart",
		"", "mean wait", "as it was", "off by, on average", "within 5 minutes, %", "earlier, %", "later, %", "GPUs in use: off by, % of the fleet")
	was := b.heldAsItWas()
	_, list := b.columns(runs)
	for _, r := range list {
		if r == nil {
			continue
		}
		lives := b.lives(r)
		var mine, theirs, off []float64
		near, earlier, later := 0, 0, 0
		for i := range b.Jobs {
			j := &b.Jobs[i]
			if !b.counts(j) || j.Wait == recorded.Unset {
				continue
			}
			here, there := minutes(lives[j.Spec.ID].Delay()), minutes(j.Wait)
			mine, theirs, off = append(mine, here), append(theirs, there), append(off, math.Abs(here-there))
			switch limit := minutes(tolerance); {
			case here < there-limit:
				earlier++
			case here > there+limit:
				later++
			default:
				near++
			}
		}
		if len(off) == 0 {
			return t
		}
		percent := func(n int) float64 { return 100 * float64(n) / float64(len(off)) }
		slots, apart := b.slots(r), 0.0
		for i := range slots {
			apart += math.Abs(slots[i].Held-was[b.firstSlot(r)+i]) / float64(len(slots))
		}
		t.Add(r.scheduler, stat.Mean(mine, nil), stat.Mean(theirs, nil), stat.Mean(off, nil), percent(near), percent(earlier), percent(later), 100*apart/float64(b.FleetGPUs()))
	}
	return t
}

// heldAsItWas has the GPUs in use in each slot, on average, as the file tells.
func (b *experiment) heldAsItWas() []float64 {
	step := b.step()
	held := make([]float64, int(b.Length/step)+2)
	for i := range b.Jobs {
		j := &b.Jobs[i]
		start := j.At.Add(max(j.Wait, 0))
		for at, end := start, start.Add(j.Runtime); at < end; {
			slot := int(at.Sub(0) / step)
			if slot >= len(held) {
				break
			}
			until := min(end, berth.Time(0).Add(berth.Duration(slot+1)*step))
			held[slot] += float64(j.GPUs) * float64(until.Sub(at)) / float64(step)
			at = until
		}
	}
	return held
}

// part is the mean over time of some GPUs, in percent of the fleet.
func (b *experiment) part(r *run, of func(*life.Slot) float64) float64 {
	return life.PercentOf(b.FleetGPUs(), b.slots(r), of)
}

// sizes are the classes of jobs by GPUs.
var sizes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

func sizeOf(j *recorded.Job) string {
	i, _ := slices.BinarySearch(sizes, j.GPUs)
	switch {
	case i == 0:
		return "1"
	case i == len(sizes):
		return fmt.Sprintf("over %d", sizes[i-1])
	case sizes[i-1]+1 == sizes[i]:
		return fmt.Sprint(sizes[i])
	}
	return fmt.Sprintf("%d-%d", sizes[i-1]+1, sizes[i])
}

func accountOf(j *recorded.Job) string   { return string(j.Spec.Queue) }
func partitionOf(j *recorded.Job) string { return j.Partition }

// groups are the values of something in order of the GPUs of the first job, for sizes, or of name.
func (b *experiment) groups(of func(*recorded.Job) string) []string {
	least := map[string]int{}
	for i := range b.Jobs {
		name := of(&b.Jobs[i])
		if gpus, known := least[name]; !known || b.Jobs[i].GPUs < gpus {
			least[name] = b.Jobs[i].GPUs
		}
	}
	names := slices.Sorted(maps.Keys(least))
	if len(b.Jobs) > 0 && of(&b.Jobs[0]) == sizeOf(&b.Jobs[0]) {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(least[a], least[b]) })
	}
	return names
}

// waits has a line for each group of jobs.
func (b *experiment) waits(what string, of func(*recorded.Job) string, runs []*run) *study.Table {
	names, list := b.columns(runs)
	t := study.NewTable("Waits by "+what+", minutes: mean / 99th percentile", what, "jobs", "GPU-hours")
	if what == "size" {
		t.Columns[0] = "GPUs"
	}
	t.Columns = append(t.Columns, names...)
	for _, group := range b.groups(of) {
		in := func(j *recorded.Job) bool { return of(j) == group && b.counts(j) }
		row := []any{group, len(b.delays(list[len(list)-1], in)), b.hours(in)}
		for _, r := range list {
			row = append(row, meanAnd99(b.delays(r, in)))
		}
		t.Add(row...)
	}
	return t
}

func meanAnd99(delays []float64) any {
	if len(delays) == 0 {
		return nil
	}
	return fmt.Sprintf("%.0f / %.0f", stat.Mean(delays, nil), study.Quantile(delays, 0.99))
}

// against tells what each account had against its share.
func (b *experiment) against(runs []*run) *study.Table {
	t := study.NewTable("Accounts against their shares, in GPUs. The share of an account is "+b.SharesSay+
		".\nHeld: on average over the time of the file; short: by how much it was below its share, or below what it wanted if that was less",
		"account", "share", "wanted")
	_, list := b.columns(runs)
	list = slices.DeleteFunc(list, func(r *run) bool { return r == nil })
	for _, r := range list {
		t.Columns = append(t.Columns, r.scheduler+": held", "short")
	}
	for i, s := range b.Shares {
		wanted := 0.0
		var cells []any
		for _, r := range list {
			held, short := 0.0, 0.0
			slots := b.slots(r)
			for k := range slots {
				q := slots[k].Queues[i]
				held += q.Held / float64(len(slots))
				short += max(0, min(s.GPUs, q.Wanted)-q.Held) / float64(len(slots))
				if r == list[0] {
					wanted += q.Wanted / float64(len(slots))
				}
			}
			cells = append(cells, held, short)
		}
		t.Add(append([]any{string(s.Account), s.GPUs, wanted}, cells...)...)
	}
	t.Columns[2] = "wanted under " + list[0].scheduler
	return t
}

// tolerance is by how much a mean wait may grow before an account counts as worse off.
const tolerance = 5 * berth.Minute

// reference is what waits under berth are compared with.
func (b *experiment) reference() string {
	if len(b.delays(nil, all)) > 0 {
		return "as it was"
	}
	return "under EASY"
}

// worse lists the accounts that would be worse off under berth.
func (b *experiment) worse(runs []*run) *study.Table {
	t := study.NewTable(fmt.Sprintf("Accounts that would be worse off: their mean wait under %s is more than %v longer than %s, minutes", b.judged(), tolerance, b.reference()),
		"account", "jobs", b.reference(), "under "+b.judged(), "longer by", "jobs that end later by more than that, %")
	names, list := b.columns(runs)
	mine := list[slices.Index(names, b.judged())]
	other := list[max(slices.Index(names, "EASY"), 0)]
	if names[0] == "as it was" {
		other = nil
	}
	for _, s := range b.Shares {
		in := func(j *recorded.Job) bool {
			return j.Spec.Queue == s.Account && (other != nil || j.Wait != recorded.Unset)
		}
		now, before := b.delays(mine, in), b.delays(other, in)
		if len(before) == 0 {
			continue
		}
		later := 0
		for i := range now {
			if now[i]-before[i] > minutes(tolerance) {
				later++
			}
		}
		was, is := stat.Mean(before, nil), stat.Mean(now, nil)
		if is-was > minutes(tolerance) {
			t.Add(string(s.Account), len(now), was, is, is-was, 100*float64(later)/float64(len(now)))
		}
	}
	return t
}

// sensitivity tells how much depends on what the schedulers know of run times.
func (b *experiment) sensitivity(runs []*run) *study.Table {
	t := study.NewTable("How much depends on what is known of run times: waits in minutes, mean / 99th percentile", "schedulers know", "EASY", b.judged())
	for g, guess := range b.guesses() {
		row := []any{guess.name, nil, nil}
		for _, r := range runs {
			if at := slices.Index(t.Columns, r.scheduler); r.guess == g && at > 0 {
				row[at] = meanAnd99(b.delays(r, all))
			}
		}
		t.Add(row...)
	}
	return t
}

// reservations tells what it changes for how many gangs a place is kept. EASY keeps one place.
func (b *experiment) reservations(runs []*run) *study.Table {
	t := study.NewTable("Reservations: for how many jobs of several nodes, and for how many of one, a place is kept while smaller ones go first.\n"+
		"More of them help large jobs and cost small ones; it is ReservedGangs of the policy. Waits in minutes",
		"", "wait mean", "a job counts by its GPUs", "p99", "allocation, %")
	for _, line := range []struct{ name, scheduler string }{
		{"EASY, one place in all", "EASY"},
		{"berth, no eviction: none", nothingReserved},
		{"berth, no eviction: 1, the default", tame},
		{"berth, no eviction: 4", fourReserved},
	} {
		for _, r := range runs {
			if r.scheduler == line.scheduler && r.guess == 0 {
				delays := b.delays(r, all)
				t.Add(line.name, stat.Mean(delays, nil), b.meanByGPUs(r), study.Quantile(delays, 0.99), b.part(r, func(s *life.Slot) float64 { return s.Held }))
			}
		}
	}
	return t
}
