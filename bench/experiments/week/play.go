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
	"github.com/berth-sched/berth/core"
)

// A scheduler is one of those that are compared.
type scheduler struct {
	name string
	make func(levels []string) (berth.Scheduler, error)
}

// own is berth as it comes, and tame berth without evictions.
const own, tame = "berth", "berth, no eviction"

func schedulers() []scheduler {
	base := func(name string, p baseline.Policy) scheduler {
		return scheduler{name, func([]string) (berth.Scheduler, error) { return baseline.New(p, baseline.BestFit), nil }}
	}
	berths := func(name string, mode berth.PreemptionMode) scheduler {
		return scheduler{name, func(levels []string) (berth.Scheduler, error) {
			return core.New(berth.Config{Levels: levels, Policy: berth.Policy{Preemption: berth.Preemption{Mode: mode}}})
		}}
	}
	return []scheduler{
		base("FIFO", baseline.FIFO{}), base("EASY", baseline.EASY{}),
		berths(tame, berth.PreemptionOff), berths(own, berth.PreemptionReclaim),
	}
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

// play plays all schedulers with the first guess, and those that use limits with the others.
func (b *experiment) play(ctx context.Context) ([]*run, error) {
	var runs []*run
	var makes []scheduler
	for g := range b.guesses() {
		for _, s := range schedulers() {
			if g == 0 || s.name != "FIFO" && s.name != tame {
				runs, makes = append(runs, &run{scheduler: s.name, guess: g}), append(makes, s)
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

func (b *experiment) playOne(s *scheduler, g guess, bar *report.Progress) (*life.Book, error) {
	made, err := s.make(b.Levels)
	if err != nil {
		return nil, err
	}
	shown := berth.Time(0)
	book, _, err := life.Play(made, b.workload(g), life.Options{Progress: func(now berth.Time) {
		now = min(now, berth.Time(0).Add(b.Length))
		bar.Add(now.Sub(shown))
		shown = now
	}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	bar.Add(b.Length - shown.Sub(0))
	return book, nil
}

func (b *experiment) workload(g guess) *life.Workload {
	w := &life.Workload{Nodes: b.Nodes, Queues: b.Queues()}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		spec := j.Spec
		spec.ExpectedRuntime = g.limit(j)
		if cost := berth.Duration(b.options.Checkpoint.Milliseconds()); cost > 0 {
			spec.Checkpoint = berth.Checkpoint{Supported: true, Cost: cost, RestartCost: cost}
		}
		w.Jobs = append(w.Jobs, sim.Arrival{At: j.At, Event: berth.JobSubmitted{Job: spec}, Runtime: j.Runtime})
	}
	return w
}
