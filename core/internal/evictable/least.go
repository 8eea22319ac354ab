package evictable

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/preempt"
)

// A Least is what it costs at the least to stop any of some replicas: a lower bound that holds from
// now on, until something changes. It does not fall as time goes by.
type Least struct {
	// fixed is that of replicas of which the cost does not grow with time; none: there are none.
	fixed preempt.GPUMilliseconds
	// growing has that of the others, those of one size together: the sizes are powers of two, as
	// those of tiers.
	growing []growth
}

// A growth is what it costs at the least to stop a replica of a cost that grows with time. The zero
// value is that of none.
type growth struct {
	// milli is what it holds at the least, in thousandths of a GPU; 0: there is none. each is what
	// a thousandth of that costs at time 0, in milliseconds.
	milli, each int64
}

// at is that cost at an instant.
func (g growth) at(now berth.Time) preempt.GPUMilliseconds {
	if g.milli == 0 {
		return none
	}
	c := preempt.Candidate{GPUMilli: g.milli, SinceCheckpoint: max(0, g.each+int64(now))}
	return c.Cost()
}

func (g growth) least(o growth) growth {
	if g.milli == 0 || o.milli == 0 {
		return growth{max(g.milli, o.milli), g.each + o.each}
	}
	return growth{min(g.milli, o.milli), min(g.each, o.each)}
}

// A least is what it costs at the least to stop one of the replicas of a tier.
type least struct {
	fixed preempt.GPUMilliseconds // none: there are none
	growth
}

func (l least) or(o least) least {
	return least{min(l.fixed, o.fixed), l.growth.least(o.growth)}
}

// leastOf is that of one replica, which is protected until an instant. What may give up a part of
// itself may cost nothing; what writes checkpoints by itself may have written one just now; and
// what is protected has worked for so long when it is not any more.
func leastOf(rep *record.Replica, until berth.Time) least {
	spec := &rep.Job.Spec
	c := preempt.Candidate{GPUMilli: rep.RunsMilli, RestartCost: int64(spec.Checkpoint.RestartCost)}
	since := max(rep.Started, rep.Eviction.Get().Checkpointed)
	switch {
	case rep.Job.IsElastic() || rep.RunsMilli == 0:
		return least{}
	case spec.Service != nil:
	case spec.Checkpoint.Supported:
		c.SinceCheckpoint = int64(spec.Checkpoint.Cost)
	case spec.Checkpoint.Interval > 0 && !rep.Eviction.Get().Tells:
	case until > 0:
		c.SinceCheckpoint = int64(until.Sub(since))
	default:
		return least{none, growth{rep.RunsMilli, c.RestartCost - int64(since)}}
	}
	return least{fixed: c.Cost()}
}

// At is that at an instant; the largest number: there is nothing to be stopped.
func (l *Least) At(now berth.Time) preempt.GPUMilliseconds {
	cost := l.fixed
	for _, g := range l.growing {
		cost = min(cost, g.at(now))
	}
	return cost
}
