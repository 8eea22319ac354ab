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
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// Options say what is simulated.
type Options struct {
	study.Output
	Nodes, Days, Load int
	Every             time.Duration
	Most              int
	Seed              uint64
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{Nodes: 500, Days: 7, Load: 100, Every: 15 * time.Minute, Most: 16, Seed: 1}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Int(&o.Nodes, "nodes", 1, 65_536, "nodes of 8 H100")
	f.Int(&o.Days, "days", 1, 60, "days")
	f.Int(&o.Load, "load", 1, 1000, "demand of the reference day, in percent")
	f.Time(&o.Every, "every", time.Second, 24*time.Hour, "how often is asked")
	f.Int(&o.Most, "most", 1, 65_536, "jobs that are asked about at a time, at the most")
	f.Seed(&o.Seed, "seed of the workload, and of the jobs that are asked about")
}

// Help is what berthbench prints before the flags.
const Help = `expected plays a week with the demand of the reference day, asks when jobs that wait are expected
to start, and compares that with when they did. Errors are real less expected, in minutes.

`

// Run makes the experiment, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	reference := workload.Reference{Seed: o.Seed, Nodes: o.Nodes, Span: berth.Duration(o.Days) * berth.Day, LoadPercent: o.Load}
	sched, err := core.New(reference.Config())
	if err != nil {
		return err
	}
	r := run{options: &o, core: sched, random: rand.New(rand.NewPCG(o.Seed, 1)), open: map[berth.ReplicaRef][]answer{}}
	r.sim = sim.New(sched, reference.Workload(), sim.Options{
		StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, Seed: o.Seed, Scheduled: r.scheduled,
	})
	every := berth.DurationOf(o.Every)
	if err := study.Simulate(ctx, o.Output, r.sim, berth.Time(reference.Length()), berth.Time(every), every, r.ask); err != nil {
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
