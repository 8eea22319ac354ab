// Package expected asks by how much the expected starts err that Explain tells. Jobs of the
// reference day (package workload), which goes on for a week, are asked about while they wait:
// every so often each of them, or as many as are drawn. What was told is compared with what came,
// by how far ahead it was asked: the time from the question to the instant that was told.
//
// An expected start is a promise in one direction: it is not before what can be, if nothing comes
// in between. So what starts before it had luck, as a job ended sooner than it said or a victim
// needed less than its whole grace. What starts after it was passed by other jobs, or something
// failed. Jobs of the reference day state run times of up to twice what they take.
package expected

import (
	"context"
	"io"
	"math/rand/v2"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// Options say what is simulated.
type Options struct {
	study.Output
	// Nodes of the fleet, and Days of the workload, up to 60.
	Nodes, Days int
	// Load scales the demand, in percent up to 1000.
	Load int
	// Every is how often is asked, and Most of how many jobs at a time at the most.
	Every berth.Duration
	Most  int
	// Seed of the workload, and of the jobs that are asked about.
	Seed uint64
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{Nodes: 500, Days: 7, Load: 100, Every: 15 * berth.Minute, Most: 16, Seed: 1}
}

// Help is what berthbench prints before the flags.
const Help = `expected plays a week with the demand of the reference day, asks when jobs that wait are expected
to start, and compares that with when they did. Errors are real less expected, in minutes.

`

// Run makes the experiment, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.First(
		study.Within("nodes", o.Nodes, 1, 65_536), study.Within("days", o.Days, 1, 60), study.Within("load", o.Load, 1, 1000),
		study.AtLeast("every", o.Every, berth.Second), study.AtLeast("most", o.Most, 1),
	); err != nil {
		return err
	}
	reference := workload.Reference{Seed: o.Seed, Nodes: o.Nodes, Span: berth.Duration(o.Days) * berth.Day, LoadPercent: o.Load}
	sched, err := core.New(reference.Config())
	if err != nil {
		return err
	}
	bar, shown := report.NewProgress(o.Progress, reference.Length()), berth.Time(0)
	defer bar.Clear()
	r := run{options: &o, core: sched, random: rand.New(rand.NewPCG(o.Seed, 1)), open: map[berth.ReplicaRef][]answer{}}
	r.sim = sim.New(sched, reference.Workload(), sim.Options{
		StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, Seed: o.Seed, Scheduled: r.scheduled,
		Applied: func(now berth.Time, _ berth.Event, _ error) {
			bar.Add(now.Sub(shown))
			shown = now
		},
	})
	end := berth.Time(reference.Length())
	for at := berth.Time(o.Every); at < end; at = at.Add(o.Every) {
		r.sim.At(at, func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.ask()
		})
	}
	if err := r.sim.Run(end); err != nil {
		return err
	}
	return r.report(o.To(w))
}

// A run is one week.
type run struct {
	options *Options
	core    *core.Core
	sim     *sim.Simulation
	random  *rand.Rand
	// open are the answers about replicas that wait yet, closed those about others; unknown were
	// told no instant.
	open    map[berth.ReplicaRef][]answer
	closed  []answer
	unknown int
}

// An answer is what was told of a replica that waits, and when it came. first: it stood first in
// its queue.
type answer struct {
	asked, told, came berth.Time
	first             bool
}

// ask asks about replicas that wait, of each job the first.
func (r *run) ask() error {
	var waiting []berth.JobID
	for job := range r.core.Jobs() {
		for i := range job.Replicas {
			if job.Replicas[i].State == berth.ReplicaPending {
				waiting = append(waiting, job.Job.ID)
				break
			}
		}
	}
	r.random.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	for _, id := range waiting[:min(len(waiting), r.options.Most)] {
		e, err := r.core.Explain(id)
		if err != nil {
			return err
		}
		for i := range e.Replicas {
			x := &e.Replicas[i]
			if x.State != berth.ReplicaPending || x.Reason == nil {
				continue
			}
			if ref := (berth.ReplicaRef{Job: id, Replica: x.Replica}); x.Reason.ExpectedStart == 0 {
				r.unknown++
			} else {
				r.open[ref] = append(r.open[ref], answer{asked: r.sim.Now(), told: x.Reason.ExpectedStart, first: x.Position == 1})
			}
			break
		}
	}
	return nil
}

// scheduled notes when replicas get their places.
func (r *run) scheduled(now berth.Time, orders []berth.Order) {
	for _, o := range orders {
		bind, ok := o.(berth.Bind)
		ref := berth.ReplicaRef{Job: o.Header().Job, Replica: o.Header().Replica}
		if !ok || bind.Cause.Code == berth.CauseGrows {
			continue
		}
		for _, a := range r.open[ref] {
			a.came = now
			r.closed = append(r.closed, a)
		}
		delete(r.open, ref)
	}
}
