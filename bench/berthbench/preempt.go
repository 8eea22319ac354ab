package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth"
)

// preemptHelp is what -h says before the flags.
const preemptHelp = `preempt plays a week of a full fleet of 8-GPU nodes under several policies of who has to
yield when inference needs room, and tells what that costs.

The fleet trains gangs of 8 to 512 GPUs that run for hours and days and write checkpoints.
Replicas of 1 to 8 GPUs come and go with the sun and, three
times a day, in crowds of 3 to 10 % of the fleet within three minutes. Half of them are
in a queue that lends what it does not use, the others in that of the gangs. A day before
the week fills the fleet and is not counted. Workload and costs are in preempt_week.go,
each figure with its source.

  kill by priority   the gang of the lowest priority is killed, of equals the youngest
  kill the newest    the gang that started last is killed
  checkpoint, then   by priority; the gang writes a checkpoint first
  berth              the core as it is by default
  berth, at once     the core, with gangs that write no checkpoint when they are asked
  never              replicas wait until a gang ends

Under all of them the core places. Under the first three it preempts nobody; who is to
stop is decided outside, as soon as a replica finds no place, and one gang is stopped for
each replica that does not fit beside those for which room is being made already: that
gang has whole nodes, so one is enough. All policies take the same time to stop and to
start. Gangs are of one priority for the core, which then lets none of them preempt
another; only the policies "by priority" see priorities.

What is lost is counted from the orders and the true progress of the gangs: work that is
done again, and the GPU time in which gangs write the checkpoints that they were asked
for, stop, start and warm up anew, and regroup as members come and go. Inference waits
from arrival until it runs; a replica that never ran waited for as long as it was wanted.

Whoever waits for checkpoints admits later than whoever kills. So "berth" is compared with
"kill by priority" at the service's objective: with -target both admit 99 of 100 in time,
and berth later by the longest checkpoint and a second round at the most. "berth, at once"
waits for no checkpoint; it is the comparison at the same delay. The experiment fails if
"berth" does not lose ten times fewer GPU-hours than "kill by priority" under that
condition, or if a replica has to yield. How much less it loses depends on -interval, as
it never does work again, and on -regroup, as the core has elastic gangs give nodes back
before whole gangs have to go.

It does not measure failures, topology, what those wait who had to yield, nor time on the
wall.

`

// yieldBench is the experiment on preemption.
type yieldBench struct {
	nodes, days, seeds int
	seed               uint64
	elastic            int // percent of the gangs
	interval, regroup  time.Duration
	target             time.Duration
	html               string
	policies           []yieldPolicy
}

// The policies that are compared by name, in the order in which all are listed.
const (
	yieldKill = iota
	yieldNewest
	yieldAsk
	yieldBerth
	yieldAtOnce
	yieldNever
)

func runPreempt(s *session, args []string) error {
	b := &yieldBench{}
	s.IntVar(&b.nodes, "nodes", 512, "nodes of 8 H100")
	s.IntVar(&b.days, "days", 7, "days")
	s.IntVar(&b.seeds, "seeds", 5, "weeks drawn, for the means and their confidence intervals")
	s.Uint64Var(&b.seed, "seed", 1, "seed of the first week, which is the one shown over time")
	s.IntVar(&b.elastic, "elastic", 25, "percent of the gangs of four nodes and more that can do with half of them")
	s.DurationVar(&b.interval, "interval", time.Hour, "between the checkpoints that gangs write unasked")
	s.DurationVar(&b.regroup, "regroup", 5*time.Second, "for which an elastic gang stands still when it grows or shrinks")
	s.DurationVar(&b.target, "target", 3*time.Minute, "in which 99 of 100 replicas are to run")
	s.StringVar(&b.html, "html", "", "draw the first week on a page, in this file")
	return conduct(s, b, preemptHelp, args)
}

func (b *yieldBench) configure(s *session) error {
	if b.nodes < 16 || b.nodes > 4096 || b.days < 1 || b.days > 28 || b.seeds < 2 || b.seeds > 100 {
		return s.misused("a flag is out of range: 16 to 4096 nodes, 1 to 28 days and 2 to 100 seeds are possible")
	}
	if b.elastic < 0 || b.elastic > 100 || b.interval < time.Minute || b.interval > 24*time.Hour || b.regroup < 0 || b.regroup > time.Hour || b.target < time.Second {
		return s.misused("a flag is out of range: -elastic is 0 to 100, -interval a minute to a day, -regroup up to an hour, -target a second or more")
	}
	never := berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptNever}}}
	b.policies = []yieldPolicy{
		yieldKill:   {name: "kill by priority", config: never, before: byPriority},
		yieldNewest: {name: "kill the newest", config: never, before: newestFirst},
		yieldAsk:    {name: "checkpoint, then", config: never, before: byPriority, asks: true},
		yieldBerth:  {name: "berth"},
		yieldAtOnce: {name: "berth, at once", deaf: true},
		yieldNever:  {name: "never", config: never},
	}
	return nil
}

func (b *yieldBench) gpus() int64 { return int64(b.nodes) * fairNodeGPUs }

// play runs every week under every policy. The result is by policy, then by seed.
func (b *yieldBench) play() ([][]*yieldRun, error) {
	return playAll(len(b.policies), b.seeds, func(p, seed int) (*yieldRun, error) {
		r, err := b.newRun(&b.policies[p], b.arrivals(b.seed+uint64(seed)))
		if err == nil {
			err = r.play()
			r.forget()
		}
		return r, err
	})
}

// yieldLessLost is by which factor berth is to lose less than killing by priority.
const yieldLessLost = 10

// verdict fails if the experiment does not show what it is for.
func (b *yieldBench) verdict(s *session, runs [][]*yieldRun) error {
	var wrong []string
	less := ratios(each(runs[yieldKill], (*yieldRun).lost), each(runs[yieldBerth], (*yieldRun).lost))
	s.note("%s loses %.1f times fewer GPU-hours than %s (%.1f to %.1f by week); %s, at the same delay, %.1f times.",
		b.policies[yieldBerth].name, quantile(less, 0.5), b.policies[yieldKill].name, slices.Min(less), slices.Max(less),
		b.policies[yieldAtOnce].name, quantile(ratios(each(runs[yieldKill], (*yieldRun).lost), each(runs[yieldAtOnce], (*yieldRun).lost)), 0.5))
	if quantile(less, 0.5) < yieldLessLost {
		wrong = append(wrong, fmt.Sprintf("%s loses only %.1f times fewer GPU-hours than %s", b.policies[yieldBerth].name, quantile(less, 0.5), b.policies[yieldKill].name))
	}
	late := [2]float64{}
	for i, p := range []int{yieldKill, yieldBerth} {
		late[i] = quantile(each(runs[p], func(r *yieldRun) float64 { return r.wait(0.99) }), 0.5)
		if late[i] > b.target.Seconds() {
			wrong = append(wrong, fmt.Sprintf("%s: 99 of 100 replicas run after %.0f s, later than -target", b.policies[p].name, late[i]))
		}
	}
	const more = 2 * (yieldWriteLarge + yieldStop)
	if late[1]-late[0] > float64(more/berth.Second) {
		wrong = append(wrong, fmt.Sprintf("%s admits %.0f s later than %s: more than two checkpoints explain", b.policies[yieldBerth].name, late[1]-late[0], b.policies[yieldKill].name))
	}
	for p, policy := range b.policies {
		if dropped := quantile(each(runs[p], func(r *yieldRun) float64 { return float64(r.book.dropped) }), 1); dropped > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %.0f replicas had to yield in a week", policy.name, dropped))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// ratios are of two policies in the same weeks.
func ratios(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	return list
}
