package victim

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
)

// ScaleOf is what the standard function weighs with.
func ScaleOf(w *berth.GainPolicy) preempt.Scale {
	return preempt.Scale{
		ClassGain: []int64{berth.ClassBatch: 0, berth.ClassInteractive: int64(max(0, w.Interactive)), berth.ClassLatencyCritical: int64(max(0, w.LatencyCritical))},
		TurnGain:  int64(max(0, w.Turn)),
		WaitMilli: int64(max(0, w.WaitMilli)),
	}
}

// LeastLent is what it costs at the least to stop anything that other queues may have to give back:
// they have more than their share. O(queues).
func (v *Victims) LeastLent(shares *books.AllShares) evictable.Least {
	v.lenders = shares.Over(v.lenders[:0])
	return v.evictable.LeastOf(v.lenders)
}

// QueueingFor is how long a victim of a replica is expected to wait.
func (v *Victims) QueueingFor(rep *record.Replica) berth.Duration {
	most := max(0, v.state.Config.Policy.Preemption.Gain.Queueing)
	if length, ends := v.state.Runtime(rep.Job); ends {
		return min(most, length)
	}
	return most
}

// weigh says what speaks against stopping the chosen candidates now; nil: nothing does.
func (t *Search) weigh(chosen []int) *berth.Weighing {
	if len(chosen) == 0 || t.collects() || t.victims.state.Config.Policy.Preemption.Gain.IgnoreCost {
		return nil
	}
	now := t.victims.state.Now
	if t.pays(chosen, now) {
		return nil
	}
	w := &berth.Weighing{Gain: t.gainAt(chosen, now), Cost: t.costAt(chosen, now)}
	if from := min(t.paysFrom(chosen), t.CollectsFrom()); from != agenda.Never {
		w.From = from
	}
	return w
}

// Pays reports whether nothing speaks against stopping some candidates now, and notes what does.
func (t *Search) Pays(chosen []int) bool {
	t.Weighing = t.weigh(chosen)
	return t.Weighing == nil
}

// CollectsFrom is from when what is guaranteed to the queue is taken back at any cost; never: what
// is asked is not within its guarantee.
func (t *Search) CollectsFrom() berth.Time {
	if !t.withinGuarantee {
		return agenda.Never
	}
	return t.victims.collectsFrom(t.Rep)
}

func (v *Victims) collectsFrom(rep *record.Replica) berth.Time {
	p := &v.state.Config.Policy.Preemption
	if p.Gain.IgnoreCost {
		return rep.PendingSince
	}
	return rep.PendingSince.Add(max(0, p.GuaranteeWithin))
}

// collects reports whether that is now.
func (t *Search) collects() bool { return t.CollectsFrom() <= t.victims.state.Now }

// pays reports whether the gain exceeds the cost of the chosen candidates at an instant.
func (t *Search) pays(chosen []int, at berth.Time) bool {
	price := t.costAt(chosen, at)
	return price == 0 || t.gainAt(chosen, at) > price
}

// gainAt is the gain of the beneficiary if it ran from an instant. A claim on the host alone
// counts as one GPU.
func (t *Search) gainAt(chosen []int, at berth.Time) preempt.GPUMilliseconds {
	c, spec := t.victims, &t.Rep.Job.Spec
	b := preempt.Beneficiary{
		Class: int(spec.Class), Priority: spec.Priority, Weight: c.state.Quota.Config(t.Queue).Weight,
		GPUMilli: cmp.Or(t.Asked.GPUMilli, 1000), Waited: int64(at.Sub(t.Rep.PendingSince)),
	}
	for _, i := range chosen {
		b.VictimClass = max(b.VictimClass, t.Candidates[i].Class)
	}
	if c.state.Config.Gain != nil {
		return c.state.Config.Gain(b)
	}
	scale := ScaleOf(&c.state.Config.Policy.Preemption.Gain)
	return scale.Gain(&b)
}

// costAt is what the chosen candidates would lose if they were stopped at an instant.
func (t *Search) costAt(chosen []int, at berth.Time) preempt.GPUMilliseconds {
	t.weighed = t.weighed[:0]
	for _, i := range chosen {
		candidate := t.Candidates[i]
		if t.Offers[i].Whole() {
			candidate.SinceCheckpoint = int64(sinceCheckpoint(t.Offers[i].Rep, at))
		}
		t.weighed = append(t.weighed, candidate)
	}
	return preempt.TotalCost(t.weighed)
}

// paysFrom is the first instant after now at which the gain exceeds the cost of the chosen
// candidates, if they continue as they do; never: there is none. The cost of a candidate grows
// with time unless it can write a checkpoint on request, and drops at its next expected
// checkpoint. The instant is searched by bisection between two checkpoints. If many of them
// give no answer, the last one is when to look again.
func (t *Search) paysFrom(chosen []int) berth.Time {
	from := t.victims.state.Now
	for range t.victims.state.Bounds.Ahead {
		next := t.nextCheckpoint(chosen, from)
		last := min(next-1, t.victims.state.Now.Add(limits.MaxSpan))
		if t.pays(chosen, last) {
			for last-from > 1 { // at from it is not, at last it is
				if middle := from + (last-from)/2; t.pays(chosen, middle) {
					last = middle
				} else {
					from = middle
				}
			}
			return last
		}
		if next == agenda.Never || t.pays(chosen, next) {
			return next
		}
		from = next
	}
	return from
}

// othersMayPay reports whether other victims than those chosen may pay sooner, though nothing
// changes but the clock. Where those chosen lose no more by then and no others lose less, none do.
func (t *Search) othersMayPay() bool {
	if t.places == nil && len(t.chosen) == len(t.Candidates) {
		return false
	}
	steady := func(i int) bool {
		return !t.Offers[i].Whole() || t.Candidates[i].Checkpointable || t.Offers[i].Rep.Job.Spec.Service != nil
	}
	for i := range t.Candidates {
		if !steady(i) && (slices.Contains(t.chosen, i) || t.Offers[i].Rep.Job.Spec.Checkpoint.Interval > 0) {
			return true
		}
	}
	return t.places != nil
}

// nextCheckpoint is the next instant at which the cost of a chosen candidate falls.
func (t *Search) nextCheckpoint(chosen []int, after berth.Time) berth.Time {
	next := agenda.Never
	for _, i := range chosen {
		rep := t.Offers[i].Rep
		every := rep.Job.Spec.Checkpoint.Interval
		if every > 0 && t.Offers[i].Whole() && !t.Candidates[i].Checkpointable && !rep.Eviction.Get().Tells && rep.Job.Spec.Service == nil {
			next = min(next, after.Add(every-sinceCheckpoint(rep, after)))
		}
	}
	return next
}

// sinceCheckpoint is how long a replica will have worked at an instant since its last
// checkpoint, as far as is known. Of one that never told of any it is assumed that it writes
// them at the interval that it states. A replica of a service has no work that could be lost.
func sinceCheckpoint(rep *record.Replica, at berth.Time) berth.Duration {
	if rep.Job.Spec.Service != nil {
		return 0
	}
	since := at.Sub(max(rep.Started, rep.Eviction.Get().Checkpointed))
	if every := rep.Job.Spec.Checkpoint.Interval; every > 0 && !rep.Eviction.Get().Tells {
		since %= every
	}
	return since
}

// Candidate describes a replica, or a unit of its surplus, as a possible victim that would then
// wait for so long. A gang that gives a unit continues without waiting, so that it loses the cost
// of resizing alone.
func (v *Victims) Candidate(p record.Piece, queueing berth.Duration) preempt.Candidate {
	candidate := v.priced(p, queueing)
	if candidate.ID = string(p.Rep.Job.Spec.ID) + "#" + strconv.Itoa(p.Rep.Number); candidate.Surplus && len(p.Flats) > 0 {
		candidate.ID += "/" + strconv.Itoa(p.Flats[0])
	}
	state.NoteHolds(&candidate, p)
	return candidate
}

// CostToMove is what it costs to move a replica, as a candidate.
func (v *Victims) CostToMove(rep *record.Replica) preempt.GPUMilliseconds {
	candidate := v.priced(record.Piece{Rep: rep}, 0)
	return candidate.Cost()
}

// priced is a candidate without its name and its place.
func (v *Victims) priced(p record.Piece, queueing berth.Duration) preempt.Candidate {
	spec := &p.Rep.Job.Spec
	candidate := preempt.Candidate{
		Class: int(spec.Class), Priority: spec.Priority, Started: int64(p.Rep.CameAt), GPUMilli: p.GPUMilli(),
		RestartCost: int64(spec.Checkpoint.RestartCost), Surplus: !p.Whole(),
	}
	if !candidate.Surplus {
		candidate.Checkpointable, candidate.CheckpointCost = spec.Checkpoint.Supported, int64(spec.Checkpoint.Cost)
		candidate.SinceCheckpoint, candidate.Queueing = int64(sinceCheckpoint(p.Rep, v.state.Now)), int64(queueing)
	}
	return candidate
}
