package week

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/recorded"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// The names of berth with and without evictions, which take a guarantee back at once, and with
// other numbers of reservations.
const (
	own, tame       = "berth, evictions", "berth, no eviction"
	fourReserved    = tame + ", 4 reservations"
	nothingReserved = tame + ", no reservation"
)

// schedulers are those that are compared.
func schedulers() []study.Line {
	berths := func(name string, mode berth.PreemptionMode, reserved int) study.Line {
		return study.Core(name, berth.Policy{ReservedGangs: reserved, Preemption: berth.Preemption{Mode: mode, GuaranteeWithin: berth.Off, StopUnsaved: true}})
	}
	return []study.Line{
		study.Rival("FIFO", baseline.FIFO{}), study.Rival("EASY", baseline.EASY{ByPriority: true}),
		berths(tame, berth.PreemptionOff, 0), berths(own, berth.PreemptionReclaim, 0),
		berths(fourReserved, berth.PreemptionOff, 4), berths(nothingReserved, berth.PreemptionOff, berth.Off),
	}
}

// judged is berth as the accounts are judged by it: without evictions where no job writes
// checkpoints. Whatever is evicted then loses all that it has done, and no owner would have that.
func (b *experiment) judged() string {
	if b.options.Checkpoint == 0 {
		return tame
	}
	return own
}

// other is berth as it is shown beside that.
func (b *experiment) other() string {
	if b.options.Checkpoint == 0 {
		return own
	}
	return tame
}

// A guess is what the schedulers are told of run times.
type guess struct {
	name  string
	limit func(*recorded.Job) berth.Duration
}

// guesses are those that are played, the one of the main tables first.
func (b *experiment) guesses() []guess {
	exact := guess{"the run time itself", func(j *recorded.Job) berth.Duration { return j.Runtime }}
	twice := guess{"twice the run time", func(j *recorded.Job) berth.Duration { return 2 * j.Runtime }}
	if !b.Limits {
		return []guess{exact, twice}
	}
	return []guess{{"the limits of the file", func(j *recorded.Job) berth.Duration { return j.Spec.ExpectedRuntime }}, exact, twice}
}

// A run is the lives of all jobs.
type run struct {
	scheduler string
	guess     int
	*life.Book
}

// play plays all schedulers with the first guess, and EASY and berth with the others.
func (b *experiment) play(ctx context.Context) ([]*run, error) {
	var runs []*run
	var makes []study.Line
	for g := range b.guesses() {
		for _, s := range schedulers() {
			if g == 0 || s.Name == "EASY" || s.Name == b.judged() {
				runs, makes = append(runs, &run{scheduler: s.Name, guess: g}), append(makes, s)
			}
		}
	}
	failures := make([]error, len(runs))
	bar := report.NewProgress(b.options.Progress, berth.Duration(len(runs))*b.Length)
	study.AtOnce(len(runs), func(i int) {
		if failures[i] = ctx.Err(); failures[i] == nil {
			runs[i].Book, failures[i] = b.playOne(&makes[i], b.guesses()[runs[i].guess], bar)
		}
	})
	bar.Clear()
	return runs, errors.Join(failures...)
}

func (b *experiment) playOne(s *study.Line, g guess, bar *report.Progress) (*life.Book, error) {
	made, err := s.Make(berth.Config{Levels: b.Levels})
	if err != nil {
		return nil, err
	}
	moved, end := bar.Follow(), berth.Time(0).Add(b.Length)
	book, _, err := life.Play(made, b.workload(g), life.Options{Step: b.step(), Progress: func(now berth.Time) { moved(min(now, end)) }})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	moved(end)
	return book, nil
}

// step is how long the slots are: an hour in a file of days, and else such that there are enough of
// them to be drawn.
func (b *experiment) step() berth.Duration {
	const fewest = 48
	for _, step := range []berth.Duration{berth.Hour, 15 * berth.Minute, 5 * berth.Minute, berth.Minute, 10 * berth.Second} {
		if b.Length >= fewest*step {
			return step
		}
	}
	return berth.Second
}

func (b *experiment) workload(g guess) *life.Workload {
	w := &life.Workload{Nodes: b.Nodes, Queues: b.Queues()}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		spec := j.Spec
		spec.ExpectedRuntime = g.limit(j)
		if cost := berth.DurationOf(b.options.Checkpoint); cost > 0 {
			spec.Checkpoint = berth.Checkpoint{Supported: true, Cost: cost, RestartCost: cost}
		}
		w.Jobs = append(w.Jobs, sim.Arrival{At: j.At, Event: berth.JobSubmitted{Job: spec}, Runtime: j.Runtime})
	}
	return w
}
