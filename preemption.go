package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
)

// A Preemption says which running jobs may be evicted for which waiting ones, and how. Its
// zero value is not off: both rules hold, with the defaults below.
//
// A job that waits may take the place of running jobs by two rules that know nothing of each
// other. Within a queue, a job of a higher class or, in the same class, of a higher priority
// takes the place of one that is not latency-critical (preemption). Between queues, what was
// lent is given back, whatever runs there: by the rules of package quota, from queues that use
// more than they are guaranteed or than their fair share, to those that would stay within
// theirs (reclaim). Priorities of jobs say nothing between queues, and guarantees nothing
// within one. A gang that runs with fewer members than it wants is the beneficiary of the second
// rule alone, and only as far as its queue is within its guarantee.
//
// A queue takes back what it is guaranteed if any evictions let it that leave the other queues what
// they keep. Where none do, gangs that write checkpoints move besides, of whichever queue and no
// more than Defragmentation.MaxMoves, unless that is off: their new places are reserved before
// any job is asked to go. Latency-critical gangs and those with domains for themselves stay.
//
// The surplus of a gang, its members above the minimum, goes first, and neither MinRuntime,
// Cooldown, RateLimit nor QueueRateLimit protects it: these save work, and a surplus loses
// none.
type Preemption struct {
	// Mode is which of the two rules hold.
	Mode PreemptionMode `json:"mode,omitzero"`
	// MinRuntime is how long a job runs at least before it is evicted; Job.MinRuntime counts
	// if it is longer. Default: Off, not at all.
	MinRuntime Duration `json:"minRuntime,omitempty"`
	// MaxMinRuntime is the most of a Job.MinRuntime that counts, so that no submitter keeps others
	// from what they are guaranteed for longer. It does not bind MinRuntime, here or in Queues.
	// Default 24 hours; Off: no bound.
	MaxMinRuntime Duration `json:"maxMinRuntime,omitempty"`
	// Queues says so for single queues.
	Queues []QueuePreemption `json:"queues,omitempty"`
	// MaxRatio is how many GPUs a victim, or a segment of one that goes on, may hold at the
	// most for each GPU that the beneficiary asks for, so that a small job never stops a large
	// gang. It binds neither a queue that has waited for its guarantee for GuaranteeWithin nor a
	// job of a higher class than that of the victim. Default 16; Off: no bound.
	MaxRatio int `json:"maxRatio,omitempty"`
	// GuaranteeWithin is for how long a job that is within the guarantee of its queue waits at the
	// most before the guarantee is taken back at any cost. Until then that has to pay as any
	// preemption does, and stops no job of another queue that writes no checkpoints: see
	// StopUnsaved. Of jobs of a queue that ask alike the first in its order counts. Default 24
	// hours; Off: no time.
	GuaranteeWithin Duration `json:"guaranteeWithin,omitempty"`
	// StopUnsaved has jobs that write no checkpoints give way to other queues as any others do.
	// All that such a job has done is lost when it is stopped. Without StopUnsaved it is stopped
	// for another queue only by a job of a higher class, or once GuaranteeWithin has passed:
	// nobody was promised the fair share that would be taken back from it.
	StopUnsaved bool `json:"stopUnsaved,omitempty"`
	// CheckpointTimeout is how long a job has to write a checkpoint before it is stopped;
	// default 5 minutes. Grace says so for single classes of jobs.
	CheckpointTimeout Duration `json:"checkpointTimeout,omitempty"`
	Grace             []Grace  `json:"grace,omitempty"`
	// Cooldown is for how much longer than MinRuntime a former victim runs before it is
	// evicted again; twice as long each time, up to eight times. A job that ran for sixteen
	// times as long at a stretch starts over. It does not bind a queue that takes its
	// guarantee back. Default 5 minutes; Off: none.
	Cooldown Duration `json:"cooldown,omitempty"`
	// RateLimit bounds the evictions in the fleet, QueueRateLimit those of each queue: each
	// replica that is asked for a checkpoint or stopped at once counts, also if it keeps its
	// place in the end. The victims of one beneficiary go together: more than the limit allows
	// at once may go when there was no eviction for long enough, and then it takes as much
	// longer until the next. Both delay every beneficiary, also a queue that takes its
	// guarantee back. Default: no limits.
	RateLimit RateLimit `json:"rateLimit,omitzero"`
	// QueueRateLimit bounds the evictions of each queue: see RateLimit.
	QueueRateLimit RateLimit `json:"queueRateLimit,omitzero"`
	// Gain says when a preemption pays.
	Gain GainPolicy `json:"gain,omitzero"`
}

// A PreemptionMode says which of the two rules of Preemption hold.
type PreemptionMode uint8

const (
	// PreemptionOn: within queues and between them.
	PreemptionOn PreemptionMode = iota
	// PreemptionReclaim: between queues alone.
	PreemptionReclaim
	// PreemptionOff: no running job is evicted for another.
	PreemptionOff
)

const preemptionModeNames enum.Names = "PreemptionMode: on|reclaim|off"

// String is the word for it, as in JSON.
func (m PreemptionMode) String() string {
	return enum.Text(preemptionModeNames, m)
}

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (m PreemptionMode) MarshalText() ([]byte, error) {
	return enum.Marshal(preemptionModeNames, m, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (m *PreemptionMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(preemptionModeNames, m, b, invalidText)
}

// A RateLimit is how many evictions there may be in a time. The zero value, and Evictions: Off, is
// no limit.
type RateLimit struct {
	// Evictions in a span of Per. From rest, so many may come at once; from then on one for
	// every Per/Evictions, rounded up to a millisecond. Default: Off, any number.
	Evictions int `json:"evictions,omitempty"`
	// Per is at least a millisecond for each eviction. It cannot be off.
	Per Duration `json:"per,omitempty"`
}

// A Grace is how long the jobs of a class have to write a checkpoint.
type Grace struct {
	Class Class `json:"class"`
	// Timeout; zero: Preemption.CheckpointTimeout.
	Timeout Duration `json:"timeout"`
}

// A QueuePreemption says for how long the jobs of a queue run at least.
type QueuePreemption struct {
	// Queue that this holds for, and for all queues below it but those that are named themselves,
	// and the ones below these. One that does not exist yet counts from when it does.
	Queue QueueID `json:"queue"`
	// MinRuntime takes the place of Preemption.MinRuntime; zero: not at all.
	MinRuntime Duration `json:"minRuntime"`
}

// checkHysteresis refuses rates, graces and a cooldown that make no sense.
func (p *Preemption) checkHysteresis() *Error {
	for _, f := range []struct {
		name string
		rate RateLimit
	}{{"rateLimit", p.RateLimit}, {"queueRateLimit", p.QueueRateLimit}} {
		if err := f.rate.check(); err != nil {
			return err.in(f.name)
		}
	}
	for i, g := range p.Grace {
		field := errtext.Index("grace", i)
		if int(g.Class) >= classNames.Len() {
			return refuse(ErrInvalid, field+".class", fmt.Sprintf("%d is out of range", g.Class))
		}
		if slices.ContainsFunc(p.Grace[:i], func(other Grace) bool { return other.Class == g.Class }) {
			return refuse(ErrDuplicate, field+".class", fmt.Sprintf("%s comes twice", g.Class))
		}
		if err := checkSpan(g.Timeout); err != nil {
			return err.in(field + ".timeout")
		}
	}
	if err := checkOptional("guaranteeWithin", p.GuaranteeWithin); err != nil {
		return err
	}
	if err := checkOptional("maxMinRuntime", p.MaxMinRuntime); err != nil {
		return err
	}
	if err := p.checkQueues(); err != nil {
		return err
	}
	return checkOptional("cooldown", p.Cooldown)
}

// checkQueues refuses a queue that comes twice, and what cannot be a span.
func (p *Preemption) checkQueues() *Error {
	if len(p.Queues) > limits.MaxQueuesOfPolicy {
		return refuse(ErrLimit, "queues", fmt.Sprintf("%d exceed %d", len(p.Queues), limits.MaxQueuesOfPolicy))
	}
	seen := make(map[QueueID]bool, len(p.Queues))
	for i, q := range p.Queues {
		field := errtext.Index("queues", i)
		if err := checkQueueOnce(q.Queue, seen); err != nil {
			return err.in(field)
		}
		if err := checkSpan(q.MinRuntime); err != nil {
			return err.in(field + ".minRuntime")
		}
	}
	return nil
}

func (r RateLimit) check() *Error {
	if r.Evictions < Off || r.Evictions > limits.MaxOrdinal {
		return refuse(ErrInvalid, "evictions", fmt.Sprintf("%d is outside -1..%d", r.Evictions, limits.MaxOrdinal))
	}
	if err := checkSpan(r.Per); err != nil {
		return err.in("per")
	}
	if r.Per < Duration(r.Evictions) {
		return refuse(ErrInvalid, "per", fmt.Sprintf("%v is shorter than a millisecond for each of %d evictions", r.Per, r.Evictions))
	}
	return nil
}

// checkOptional is checkSpan for what Off switches off.
func checkOptional(field string, d Duration) *Error {
	if err := checkSpan(max(d, 0)); err != nil || d < Off {
		return refuse(ErrInvalid, field, fmt.Sprintf("%d ms is outside -1..%d", int64(d), int64(limits.MaxSpan)))
	}
	return nil
}

// A GainPolicy says when a preemption pays: when the gain of the beneficiary is more than the
// cost of all victims, both in GPU-milliseconds (see [preempt.Scale.Gain] and
// preempt.Candidate), or when they lose nothing. It says when, and never which job may take
// from which other: that is decided without it.
//
// The guarantee that a queue takes back is not weighed any more once a job has waited for it for
// [Preemption.GuaranteeWithin]: borrowers have to be reclaimable, at any cost.
//
// The defaults are for training that loses minutes when it is stopped and hours when it is
// killed. A latency-critical job over batch work is worth a day of each GPU that it asks for:
// no loss of a job that writes checkpoints comes near that; what does is a gang that has
// worked for days and would lose all of it to one small replica, and that is absurd. An
// interactive job is worth an hour: a person waits, and not for longer than that. Between
// equals in class, the right turn is worth ten minutes: a checkpoint, a restart and some
// queueing of jobs of the same size are paid at once, and a job that costs others more has
// waited for as much longer before it comes to that.
type GainPolicy struct {
	// IgnoreCost: a job that may evict others does so at once, at any cost. Then
	// Preemption.GuaranteeWithin delays nothing, and jobs that write no checkpoints are not spared.
	IgnoreCost bool `json:"ignoreCost,omitempty"`
	// Interactive and LatencyCritical are the gain, for each GPU, of running a job of the
	// class instead of batch work; between the two the difference counts. Defaults 1 hour and
	// 24 hours; Off: nothing.
	Interactive     Duration `json:"interactive,omitempty"`
	LatencyCritical Duration `json:"latencyCritical,omitempty"`
	// Turn is the gain, for each GPU, of serving jobs in their order: by priority, class, or
	// the share of the queue. Default 10 minutes; Off: nothing.
	Turn Duration `json:"turn,omitempty"`
	// WaitMilli is the gain of ending a wait, for each GPU, in thousandths of the time since
	// the job last became pending. Default 1000; Off: nothing.
	WaitMilli int `json:"waitMilli,omitempty"`
	// Queueing is the most that is counted of the time for which victims will have to wait.
	// That is estimated by how long the beneficiary is expected to run. Default 5 minutes;
	// Off: nothing.
	Queueing Duration `json:"queueing,omitempty"`
}

// A GainFunc is the gain of starting a job that waits now: a function that takes the place of
// the standard one ([preempt.Scale.Gain], with the [GainPolicy] of the policy). It must be pure,
// or equal events would not give equal orders; it must not become less the longer the
// beneficiary has waited. The instant from which a preemption pays is exact if the gain grows
// at a steady rate.
type GainFunc func(preempt.Beneficiary) preempt.GPUMilliseconds

// A Weighing compares the gain of a preemption with its cost.
type Weighing struct {
	// Gain of the beneficiary and Cost of all victims, in GPU-milliseconds.
	Gain preempt.GPUMilliseconds `json:"gainGPUMilliseconds"`
	Cost preempt.GPUMilliseconds `json:"costGPUMilliseconds"`
	// From is when the preemption will pay; zero: never, as things are.
	From Time `json:"from,omitempty"`
}

func (w *GainPolicy) check() *Error {
	for _, f := range []struct {
		name  string
		value Duration
	}{{"interactive", w.Interactive}, {"latencyCritical", w.LatencyCritical}, {"turn", w.Turn}, {"queueing", w.Queueing}} {
		if err := checkOptional(f.name, f.value); err != nil {
			return err
		}
	}
	if w.WaitMilli < Off || w.WaitMilli > 1_000_000 {
		return refuse(ErrInvalid, "waitMilli", "is outside -1..1000000")
	}
	return nil
}
