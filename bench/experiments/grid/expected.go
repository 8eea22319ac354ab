package grid

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/core"
)

// ExpectedHelp says what the experiment does.
const ExpectedHelp = `expected plays the cells of grid under the core as it comes. At the first pass of each hour it
asks of some of the jobs that wait when they are expected to start, and compares that with when they
get their places. "Asked ahead" is from the question to the earliest instant that was told; "by
late" is the part of the answers of which the job started by the late instant, or sooner. Errors are
real less told, in hours, and "late is" tells how far ahead the late instant is.

`

// ExpectedOptions say what is played, and asked.
type ExpectedOptions struct {
	study.Output
	Cells, Jobs, Most int
	Seed              uint64
}

// ExpectedDefaults are the options that berthbench has by default.
func ExpectedDefaults() ExpectedOptions {
	return ExpectedOptions{Cells: 100, Jobs: 2000, Most: 4, Seed: 1}
}

// Flags says what each option is.
func (o *ExpectedOptions) Flags(f *study.Flags) {
	f.Int(&o.Cells, "cells", 1, 1440, "cells, of which the first are those of a smaller grid")
	f.Int(&o.Jobs, "jobs", 10, 100_000, "jobs in a cell")
	f.Int(&o.Most, "most", 1, 100_000, "jobs that are asked about in an hour, at the most")
	f.Seed(&o.Seed, "seed of the jobs, and of those that are asked about")
}

// An answer is what was told of a job that waits in a cell, and when its place came.
type answer struct {
	known       int // of the dimension
	told        berth.Forecast
	asked, came berth.Time
}

// RunExpected makes the experiment, which ExpectedHelp describes, and writes its results to w.
func RunExpected(ctx context.Context, o ExpectedOptions, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	answers, err := o.ask(ctx)
	if err != nil {
		return err
	}
	out := o.To(w)
	return errors.Join(out.Print(byKnown(answers)), out.Print(byAhead(answers)))
}

// ask plays all cells, and returns what was told there.
func (o *ExpectedOptions) ask(ctx context.Context) ([]answer, error) {
	chosen := cells(o.Cells)
	runs, err := study.PlayRuns(ctx, o.Output, len(chosen), 1, func(at, _ int) ([]answer, error) {
		c := chosen[at]
		sched, err := core.New(berth.Config{Levels: levels(c)})
		if err != nil {
			return nil, err
		}
		a := asker{Core: sched, known: c[known], most: o.Most, random: rand.New(rand.NewPCG(o.Seed, uint64(at))), open: map[berth.JobID][]answer{}}
		_, _, err = life.Play(&a, draw(c, o.Jobs, o.Seed), life.Options{})
		return a.closed, err
	})
	return slices.Concat(slices.Concat(runs...)...), err
}

// An asker is a core that is asked after the first pass of each hour.
type asker struct {
	*core.Core
	known, most int
	random      *rand.Rand
	next        berth.Time
	open        map[berth.JobID][]answer // about jobs that wait yet
	closed      []answer
}

// Schedule runs a pass, notes the jobs that got their places, and asks when it is time to.
func (a *asker) Schedule(now berth.Time) ([]berth.Order, error) {
	orders, err := a.Core.Schedule(now)
	for _, o := range orders {
		if bind, ok := o.(berth.Bind); ok {
			for _, told := range a.open[bind.Job] {
				told.came = now
				a.closed = append(a.closed, told)
			}
			delete(a.open, bind.Job)
		}
	}
	if err != nil || now < a.next {
		return orders, err
	}
	a.next = now.Add(berth.Hour)
	return orders, a.ask(now)
}

func (a *asker) ask(now berth.Time) error {
	var waiting []berth.JobID
	for job := range a.Jobs() {
		if job.Replicas[0].State == berth.ReplicaPending {
			waiting = append(waiting, job.Job.ID)
		}
	}
	a.random.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	for _, id := range waiting[:min(len(waiting), a.most)] {
		e, err := a.Explain(id)
		if err != nil {
			return err
		}
		if r := e.Replicas[0].Reason; !r.ExpectedStart.IsZero() {
			a.open[id] = append(a.open[id], answer{known: a.known, told: r.ExpectedStart, asked: now})
		}
	}
	return nil
}

// From one to four hours ahead is what answers are judged by: below, little comes in between.
const nearest, farthest = berth.Hour, 4 * berth.Hour

func (a *answer) ahead() berth.Duration { return a.told.Earliest.Sub(a.asked) }

// byKnown has a row for each kind of what is known of run times, and one for all.
func byKnown(answers []answer) *study.Table {
	t := tableOf("expected starts, asked 1 to 4 hours ahead", "run times")
	judged := slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return a.ahead() <= nearest || a.ahead() > farthest })
	for i, name := range dimensions[known].values {
		t.Add(append([]any{name}, errorsOf(slices.DeleteFunc(slices.Clone(judged), func(a answer) bool { return a.known != i }))...)...)
	}
	t.Add(append([]any{"all"}, errorsOf(judged)...)...)
	return t
}

// byAhead has a row for each span ahead, and one for all.
func byAhead(answers []answer) *study.Table {
	t := tableOf("expected starts, by how far ahead was asked", "asked ahead")
	from := berth.Duration(-1 << 62)
	for _, b := range []struct {
		upTo berth.Duration
		name string
	}{
		{10 * berth.Minute, "to 10 minutes"}, {nearest, "to an hour"}, {farthest, "to 4 hours"}, {12 * berth.Hour, "to 12 hours"}, {1 << 62, "longer"},
	} {
		t.Add(append([]any{b.name}, errorsOf(slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return a.ahead() <= from || a.ahead() > b.upTo }))...)...)
		from = b.upTo
	}
	t.Add(append([]any{"all"}, errorsOf(answers)...)...)
	return t
}

func tableOf(title, of string) *study.Table {
	return study.NewTable(title, of, "answers", "by earliest, %", "by middle, %", "by late, %", "error of earliest, median, h", "p90, h", "of middle, median, h", "p90, h", "late is, median, h")
}

// errorsOf are how many answers there are, what part of the jobs started by each of the instants
// that were told, in percent, and how far off they were, in hours.
func errorsOf(list []answer) []any {
	if len(list) == 0 {
		return []any{0, nil, nil, nil, nil, nil, nil, nil, nil}
	}
	hours := func(of func(answer) berth.Duration, q float64) float64 {
		return float64(study.Quantile(study.Each(list, func(a answer) float64 { return float64(of(a)) }), q)) / float64(berth.Hour)
	}
	by := func(of func(answer) berth.Time) float64 {
		started := 0
		for _, a := range list {
			if a.came <= of(a) {
				started++
			}
		}
		return 100 * float64(started) / float64(len(list))
	}
	earliest := func(a answer) berth.Duration { return a.came.Sub(a.told.Earliest) }
	middle := func(a answer) berth.Duration { return a.came.Sub(a.told.Middle) }
	return []any{
		len(list),
		by(func(a answer) berth.Time { return a.told.Earliest }), by(func(a answer) berth.Time { return a.told.Middle }), by(func(a answer) berth.Time { return a.told.Late }),
		hours(earliest, 0.5), hours(earliest, 0.9), hours(middle, 0.5), hours(middle, 0.9),
		hours(func(a answer) berth.Duration { return a.told.Late.Sub(a.asked) }, 0.5),
	}
}
