package core

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
)

// scaleOf is what the standard function weighs with.
func scaleOf(w *berth.Worth) preempt.Scale {
	return preempt.Scale{
		Classes:   []int64{berth.Batch: 0, berth.Interactive: int64(max(0, w.Interactive)), berth.LatencyCritical: int64(max(0, w.LatencyCritical))},
		Turn:      int64(max(0, w.Turn)),
		WaitMilli: int64(w.WaitMilli),
	}
}

// queueingFor is for how long who yields to a replica is expected to wait.
func (c *Core) queueingFor(rep *replica) berth.Duration {
	most := max(0, c.config.Policy.Preemption.Worth.Queueing)
	if length, ends := c.runtime(rep.job); ends {
		return min(most, length)
	}
	return most
}

// maxAhead is for how many checkpoints of victims it is worked out whether stopping them is
// worth it after one.
const maxAhead = 64

// weigh says what speaks against stopping the chosen candidates now; nil: nothing does.
func (t *trial) weigh(chosen []int) *berth.Weighing {
	if len(chosen) == 0 || t.owed || t.core.config.Policy.Preemption.Worth.Unweighed {
		return nil
	}
	now := t.core.now
	if t.isWorth(chosen, now) {
		return nil
	}
	w := &berth.Weighing{Gain: t.gainAt(chosen, now), Price: t.priceAt(chosen, now)}
	if from := t.worthFrom(chosen); from != never {
		w.From = from
	}
	return w
}

// isWorth reports whether stopping the chosen candidates would be worth it at an instant.
func (t *trial) isWorth(chosen []int, at berth.Time) bool {
	price := t.priceAt(chosen, at)
	return price == 0 || t.gainAt(chosen, at) > price
}

// gainAt is what the beneficiary would gain if it ran from an instant. Who asks for the host
// alone counts as asking for one GPU.
func (t *trial) gainAt(chosen []int, at berth.Time) preempt.GPUMilliseconds {
	c, spec := t.core, &t.rep.job.spec
	b := preempt.Beneficiary{
		Class: int(spec.Class), Priority: spec.Priority, Weight: c.quota.Config(t.queue).Weight,
		GPUMilli: cmp.Or(t.asked.GPUMilli, 1000), Waited: int64(at.Sub(t.rep.PendingSince)),
	}
	for _, i := range chosen {
		b.VictimClass = max(b.VictimClass, t.candidates[i].Class)
	}
	if c.config.Gain != nil {
		return c.config.Gain(b)
	}
	scale := scaleOf(&c.config.Policy.Preemption.Worth)
	return scale.Gain(&b)
}

// priceAt is what the chosen candidates would lose if they were stopped at an instant.
func (t *trial) priceAt(chosen []int, at berth.Time) preempt.GPUMilliseconds {
	t.priced = t.priced[:0]
	for _, i := range chosen {
		candidate := t.candidates[i]
		if t.offers[i].whole() {
			candidate.SinceCheckpoint = int64(t.offers[i].rep.sinceCheckpoint(at))
		}
		t.priced = append(t.priced, candidate)
	}
	return preempt.Total(t.priced)
}

// worthFrom is the first instant after now at which stopping the chosen candidates is worth
// it, if they go on as they do; never: there is none. What they lose grows with the time,
// but for those who can write a checkpoint when asked, and less becomes of it at the next
// checkpoint that is expected of them. Between two of those it is searched by bisection.
// If it is not known after many of them, that is when to look again.
func (t *trial) worthFrom(chosen []int) berth.Time {
	from := t.core.now
	for range maxAhead {
		next := t.nextCheckpoint(chosen, from)
		last := min(next-1, t.core.now.Add(limits.MaxSpan))
		if t.isWorth(chosen, last) {
			for last-from > 1 { // at from it is not, at last it is
				if middle := from + (last-from)/2; t.isWorth(chosen, middle) {
					last = middle
				} else {
					from = middle
				}
			}
			return last
		}
		if next == never || t.isWorth(chosen, next) {
			return next
		}
		from = next
	}
	return from
}

// nextCheckpoint is the next instant at which the price of a chosen candidate falls.
func (t *trial) nextCheckpoint(chosen []int, after berth.Time) berth.Time {
	next := never
	for _, i := range chosen {
		rep := t.offers[i].rep
		every := rep.job.spec.Checkpoint.Interval
		if every > 0 && t.offers[i].whole() && !t.candidates[i].Checkpointable && !rep.yield.Tells && rep.job.spec.Service == nil {
			next = min(next, after.Add(every-rep.sinceCheckpoint(after)))
		}
	}
	return next
}
