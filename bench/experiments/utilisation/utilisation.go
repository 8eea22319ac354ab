// Package utilisation is the experiment on lending idle GPU time; Help tells of it.
package utilisation

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
)

// Help says what the experiment does, and what it assumes.
const Help = `utilisation plays a day of an image-generation service, GenTD26 of Alibaba, and tells how much of the time
of its GPUs is used under arrangements that share space, and where berth lends idle GPUs to batch jobs. Without
-dir it plays a small day that is drawn.

  real use    the part of the fleet's GPU time in which SMs work
  useful use  the same without what was lost: work after the last checkpoint. Restarts and switches are in neither
  p99         of the response time of the service's requests: queueing as recorded, and an execution time that is
              distributed as those recorded. By how much it is above that of the service alone is told twice: if
              a pod does nothing until a borrower is gone ("waits"), and if it works at half the speed ("beside")
  switch      a whole exchange: half of it for the borrower to restore, half to write a checkpoint and to leave

Arrangements that share space alone have as many GPUs as they need at the busiest; pods have the most memory that
they take in the day. Pods on one GPU slow each other down by the part of the time in which they work. On a MIG
instance a request takes longer by the ratio of SMs. "hindsight" knows all idle stretches beforehand: those longer
than a switch are lent and given back just in time. berth is the scheduling core, which is told as a pod's first
request comes and as its last is done. "checkpoints unasked" has borrowers that write one every -unasked minutes,
at no cost, and leave at once when they are to; there a GPU is lent after a minute. Rules are played without the
core, by the same books. Two learn: one lends at once if the middle one of a pod's last 20 idle stretches was four
times as long as a switch, else after two minutes, and one takes the wait that would have brought most over these
20, at two minutes for each give-back.

Assumed: a pod has one GPU, an H100 with 80 GB, and as much memory as it ever takes; duty cycle, the time in which
any kernel runs, stands for the time in which SMs work; batch jobs always wait, keep all SMs busy, fit the memory
that is left, and are of the service's trust domain; a sample of 57 s without work was idle from its beginning to
its end, and any other is no idle time; samples that are missing are as the one before. A request that a borrower
delays makes those behind it wait until the borrower is gone, and no longer; queues that grow as pods share a GPU,
or have a part of one, are not reckoned.

`

// The GPU of the fleet: the trace does not tell.
const (
	product    = "H100-80GB"
	productMiB = 81_559
)

// What the experiment is to show, in percent: useful use at a switch of so long, and p99 above
// that of the service alone.
const (
	target       = 60
	targetSwitch = 30
	mostSlower   = 5
)

// Options say what is played.
type Options struct {
	study.Output
	// Dir has the trace; empty: a day is drawn, of Pods and Hours, from Seed.
	Dir         string
	Pods, Hours int
	Seed        uint64
	// Switches in seconds, and the memory of a borrower in MiB.
	Switches    []int
	BorrowerMiB int
	// Unasked is how often borrowers write checkpoints that write none when they are asked, in
	// minutes.
	Unasked int
	HTML    string
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{Pods: 24, Hours: 6, Seed: 1, Switches: []int{5, 10, 30, 60, 120}, BorrowerMiB: 32 << 10, Unasked: 5}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Text(&o.Dir, "dir", "folder with the archives of GenTD26; "+workload.GenAISource+"; without it a day is drawn")
	f.Int(&o.Pods, "pods", 1, 1000, "pods of a drawn day")
	f.Int(&o.Hours, "hours", 1, 100, "hours of a drawn day")
	f.Seed(&o.Seed, "seed of a drawn day")
	f.Numbers(&o.Switches, "switches", 1, 3600, "times of a switch in seconds")
	f.Int(&o.BorrowerMiB, "borrower", 1, productMiB-1, "memory that a borrower takes, in MiB; the GPU has 81559")
	f.Int(&o.Unasked, "unasked", 1, 1440, "minutes between the checkpoints of borrowers that write none when they are asked")
	f.HTML(&o.HTML)
}

// Run makes the experiment, which Help describes, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	b := &experiment{Options: o}
	told, err := b.open()
	if err != nil {
		return err
	}
	if b.day, err = newDay(told); err != nil {
		return err
	}
	b.alone = b.day.p99(b.day.requests(&addition{}), 1)
	return study.Conduct[*run](ctx, b, o.To(w))
}

// open reads or draws the day.
func (b *experiment) open() (*workload.ServiceDay, error) {
	if b.Dir != "" {
		return workload.GenAI(b.Dir)
	}
	return draw(b.Seed, b.Pods, int(berth.Duration(b.Hours)*berth.Hour/workload.GenAIStep)), nil
}

// An experiment is a study of some lines at each time of a switch.
type experiment struct {
	Options
	day   *day
	alone float64 // the p99 of the service alone, in milliseconds
}

// A line is an arrangement that lends, or does not.
type line struct {
	name string
	play func(*day, setting) (*book, error)
}

// ours is the line by which the experiment is judged, and hindsight that which knows the future.
const hindsight, ours = 0, 2

// lines in the order in which they are told.
func lines() []line {
	rules := func(make func(setting) rule, sampled bool) func(*day, setting) (*book, error) {
		return func(d *day, s setting) (*book, error) {
			s.sampled = sampled
			return d.lend(s, make(s)), nil
		}
	}
	scheduled := func(wait berth.Duration) func(*day, setting) (*book, error) {
		return func(d *day, s setting) (*book, error) {
			s.unasked = 0
			return d.play(s, wait)
		}
	}
	return []line{
		{"hindsight: the bound", func(d *day, s setting) (*book, error) { return d.bound(s), nil }},
		{"berth, nothing lent", scheduled(never)},
		{"berth, lent after a minute", scheduled(berth.Minute)},
		{"berth, lent at once", scheduled(berth.Off)},
		{"berth, checkpoints unasked", func(d *day, s setting) (*book, error) { return d.play(s, berth.Minute) }},
		{"rule: after a minute", rules(func(setting) rule { return after(berth.Minute) }, false)},
		{"rule: the middle one was long", rules(func(s setting) rule { return middle(s.change, 2*berth.Minute) }, false)},
		{"rule: the wait that paid", rules(func(s setting) rule { return paid(s.change, 2*berth.Minute, berth.Minute) }, false)},
		{"rule: after a minute, by samples", rules(func(setting) rule { return after(berth.Minute) }, true)},
	}
}

// A run is a line at one time of a switch.
type run struct {
	*book
	// waits and beside are by how much p99 is above that of the service alone, in percent.
	waits, beside float64
}

// setting is that of a time of a switch, in seconds.
func (b *experiment) setting(seconds int) setting {
	return setting{
		change: berth.Duration(seconds) * berth.Second, unasked: berth.Duration(b.Unasked) * berth.Minute,
		borrowerMiB: int64(b.BorrowerMiB), roomMiB: productMiB - int64(b.BorrowerMiB),
	}
}

// slower is by how much p99 is above that of the service alone, in percent, if so much of each
// wait counts.
func (b *experiment) slower(a *addition, part float64) float64 {
	return 100 * (b.day.p99(b.day.requests(a), part)/b.alone - 1)
}

// Play plays all lines at all times of a switch.
func (b *experiment) Play(ctx context.Context) ([][]*run, error) {
	all := lines()
	return study.PlayRuns(ctx, b.Output, len(all), len(b.Switches), func(line, at int) (*run, error) {
		book, err := all[line].play(b.day, b.setting(b.Switches[at]))
		if err != nil {
			return nil, fmt.Errorf("%s, a switch of %d s: %w", all[line].name, b.Switches[at], err)
		}
		return &run{book, b.slower(&book.addition, 1), b.slower(&book.addition, 0.5)}, nil
	})
}
