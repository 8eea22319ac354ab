// Package philly is the experiment on whole lives of jobs; Help tells of it.
package philly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Help says what the experiment does, and what it does not.
const Help = `philly plays the jobs of Microsoft's Philly clusters of 2017 to their end, under several
whole policies, and tells which jobs waited for how long: 82,247 jobs of 1 to 128 GPUs, of 15 virtual
clusters, over three months. Arrivals and run times are as recorded.

  FIFO      first come, first served: the first that finds no place blocks all others
  EASY      the same with backfill around a reservation for the first (Lifka 1995)
  LAS       least attained service, with preemption (Tiresias, NSDI 2019)
  cells     virtual private clusters of buddy cells, and opportunists (HiveD, OSDI 2020)
  berth     the core as it comes: a queue for each virtual cluster, with its share guaranteed; all
            of that is lent, and taken back by checkpoint, with reservations and backfill
  untold    the same where no job tells how long it will run: what the core learns has to do

Package bench/baseline defines the first four exactly. Each is also played in private: every
virtual cluster by itself, on the nodes of its share, under the same policy.

The fleet is ours, as the trace does not tell it: Philly had machines of two and of eight GPUs
(Jeon et al., USENIX ATC 2019). A quarter of the GPUs are in nodes of two, in racks of 20, the
others in nodes of eight, in racks of eight; a rack is an InfiniBand domain. -gpus says how many,
which says how long the queues are: the trace asks for 550 GPUs on average in its eight busy
weeks, and for 1,243 at the most. Shares are ours too: whole nodes, enough for the largest job of
each virtual cluster, and the rest in proportion to its GPU time. Jobs of up to eight GPUs need
one node, larger ones whole nodes, of one rack if one has room. All policies but the last are told
how long jobs will run, exactly. All jobs can write a checkpoint when they are asked, in a minute, and need another to
go on.

The wait of a job is from its submission to its first start. Its delay is all the time in which
it did not get on, also after it was evicted, and in checkpoints and restarts: from submission
to end, less its run time. The slowdown has 10 seconds as the shortest run time.

Sharing is to make no virtual cluster wait longer than its share, if it were its own, would have
had it wait: its jobs' mean delay, and the delay that one in a hundred exceeds, are no more than
in private, under the same policy, but for -tolerance. The experiment fails if that is not so
under berth.

Another log, in the Standard Workload Format, is played in the same way: its queues are the virtual
clusters, and -processors of it count as a GPU. There jobs tell what users had said, their limits.

It does not measure failures, what a gang loses if it is spread, jobs that are cancelled while
they wait, wrong estimates of run times, nor what users would have submitted had they waited for
less. The trace is one: intervals are over its weeks, as if those were independent; they say how
much the weeks differ, and nothing about other clusters.

`

// Options say what is played.
type Options struct {
	study.Output
	File             string
	GPUs, From, Days int
	Processors       int
	Tolerance        time.Duration
	Policies         []string
	Check            bool
}

// Defaults are the options that berthbench has by default, but for the file.
func Defaults() Options {
	o := Options{GPUs: 720, Processors: 1, Tolerance: 5 * time.Minute}
	for _, p := range policies() {
		o.Policies = append(o.Policies, p.name)
	}
	return o
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.File(&o.File, "file", "philly_jobs_sia.csv.gz",
		"it is made of the trace of https://github.com/msr-fiddle/philly-traces by the artifact of Sia, https://github.com/siasosp23/artifacts; or a log of your own, NAME.swf or NAME.swf.gz")
	f.Int(&o.GPUs, "gpus", 16, 65_536, "GPUs of the fleet")
	f.Int(&o.Processors, "processors", 1, 4096, "processors of a log in the Standard Workload Format that count as a GPU")
	f.Int(&o.From, "from", 0, 1000, "leave out jobs of the first days; the trace is busy from day 20 on")
	f.Int(&o.Days, "days", 0, 1000, "take jobs of so many days; 0: all")
	f.Time(&o.Tolerance, "tolerance", 0, 1000*time.Hour, "by which the mean delay of a virtual cluster may exceed that in private; its 99th percentile by three times as much")
	f.Words(&o.Policies, "policies", "policies to play")
	f.Yes(&o.Check, "check", "check every event and order with berthtest/check, which is slow")
}

// Run makes the experiment, which Help describes, and writes its results to w. The error says so
// if it does not show what it is for.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	b, err := newExperiment(o)
	if err != nil {
		return err
	}
	return study.Conduct(ctx, b, o.To(w))
}

// An experiment is made of options that make sense.
type experiment struct {
	Options
	policies []policy
	fleet    fleet
	// whole is the trace on the fleet; private, by share, is what each virtual cluster is by
	// itself.
	whole   *life.Workload
	private []*life.Workload
	shares  []life.Share
	length  berth.Duration // to the last submission
}

// newExperiment reads the trace, too.
func newExperiment(o Options) (*experiment, error) {
	b := &experiment{Options: o}
	for _, name := range o.Policies {
		p, err := policyNamed(name)
		if err != nil {
			return nil, flagline.Misused("-policies: %v", err)
		}
		b.policies = append(b.policies, p)
	}
	return b, b.load()
}

// A run is the lives of all jobs under a policy: shared, or in private.
type run struct {
	policy *policy
	// jobs in the order of the trace.
	jobs []*life.Job
	// slots until the last submission; waits and such are in minutes.
	slots []life.Slot
	gpus  int
	end   berth.Time
	// days and events simulated for each second inside the scheduler.
	speed sim.Speed
}

// The kinds of run, which are the "seeds" of the study: there is one trace.
const (
	inShared = iota
	inPrivate
	runKinds
)

// Play runs every policy on the whole fleet and on every private one, all at once as far as there
// are processors.
func (b *experiment) Play(ctx context.Context) ([][]*run, error) {
	parts := 1 + len(b.private)
	results := make([][]lifePart, len(b.policies))
	for p := range results {
		results[p] = make([]lifePart, parts)
	}
	failures := make([]error, len(b.policies)*parts)
	bar := report.NewProgress(b.Progress, berth.Duration(len(failures))*b.length)
	study.AtOnce(len(failures), func(i int) {
		if ctx.Err() != nil {
			return
		}
		p, part := i%len(b.policies), i/len(b.policies)
		w := b.whole
		if part > 0 {
			w = b.private[part-1]
		}
		results[p][part], failures[i] = b.playPart(&b.policies[p], w, bar)
	})
	bar.Clear()
	if err := errors.Join(append(failures, ctx.Err())...); err != nil {
		return nil, err
	}
	runs := make([][]*run, len(b.policies))
	for p := range runs {
		runs[p] = make([]*run, runKinds)
		runs[p][inShared] = b.join(&b.policies[p], results[p][:1])
		runs[p][inPrivate] = b.join(&b.policies[p], results[p][1:])
	}
	return runs, nil
}

// Verdict asks whether sharing makes somebody wait under berth.
func (b *experiment) Verdict(out *study.Printer, runs [][]*run) (wrong []string) {
	for p := range b.policies {
		list := b.broken(runs[p])
		switch name := b.policies[p].name; {
		case name != own && name != learned:
		case len(list) == 0:
			out.Note("Under %s no virtual cluster waits longer than its private share would have had it wait.", name)
		case name == own:
			wrong = list
		default:
			for _, text := range list {
				out.Note("Worse off: %s", text)
			}
		}
	}
	return wrong
}

// broken says for which virtual clusters sharing is worse than what they would have had.
func (b *experiment) broken(runs []*run) (list []string) {
	for i := range b.shares {
		v := b.versus(runs, i)
		if v.mean() > b.Tolerance.Minutes() || v.p99() > 3*b.Tolerance.Minutes() {
			list = append(list, fmt.Sprintf("%s: %s is delayed by %.1f min on average and %.1f min at the 99th percentile, in private by %.1f and %.1f",
				runs[0].policy.name, b.shares[i].Queue, v.shared.mean, v.shared.p99, v.private.mean, v.private.p99))
		}
	}
	return list
}
