package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
)

// A Preemption says who has to yield to whom, and how. The zero value has preemption on, within
// queues and between them.
//
// What waits may take the place of what runs by two rules that know nothing of each
// other. Within a queue, a job of a higher class or, in the same class, of a higher
// priority takes the place of one that is not latency-critical (preemption). Between
// queues, what was lent is given back, whatever it is that runs there: by the rules of
// package quota, from queues that use more than they are guaranteed or than their fair
// share, to those that would stay within theirs (reclaim). Priorities of jobs say nothing
// between queues, and guarantees nothing within one.
//
// What is above the minimum of a gang goes first, whatever MinRuntime, Respite, Rate and
// QueueRateLimit say of gangs that would end: they spare work, of which none is lost with it.
type Preemption struct {
	// Mode is which of the two rules hold.
	Mode PreemptionMode `json:"mode,omitzero"`
	// MinRuntime is how long a job runs at least before it has to yield; Job.MinRuntime
	// counts if it is longer. Default: Off, not at all.
	MinRuntime Duration `json:"minRuntime,omitempty"`
	// MaxRatio is how many GPUs a gang that has to yield, or a segment of one that goes on,
	// may hold at the most for each GPU that is asked for, so that nobody stops a large gang for a small job. It does not
	// bind who takes back what it is guaranteed, nor a job of a higher class than that of
	// the gang. Default 16; Off: no bound.
	MaxRatio int `json:"maxRatio,omitempty"`
	// CheckpointTimeout is how long a job has to write a checkpoint before it is stopped;
	// default 5 minutes. Grace says so for single classes of jobs.
	CheckpointTimeout Duration `json:"checkpointTimeout,omitempty"`
	Grace             []Grace  `json:"grace,omitempty"`
	// Cooldown is for how much longer than MinRuntime a job runs before it has to yield if
	// it had to yield before; twice as long each time, up to eight times. A job that ran
	// for sixteen times as long at a stretch starts over. It does not bind who takes back
	// what it is guaranteed. Default 5 minutes; Off: none.
	Cooldown Duration `json:"cooldown,omitempty"`
	// RateLimit bounds how many have to yield in the fleet, QueueRateLimit how many of any one queue:
	// each replica that is asked for a checkpoint or stopped at once counts, also if it
	// need not yield in the end. Those who yield for one beneficiary go together: of more
	// than the rate allows at once all may go when nobody had to for long enough, and then
	// it takes as much longer until the next. Both bind everybody, also who takes back
	// what it is guaranteed: it gets it, but later. Default: no limits.
	RateLimit      RateLimit `json:"rateLimit,omitzero"`
	QueueRateLimit RateLimit `json:"queueRateLimit,omitzero"`
	// Gain says when it is worth it.
	Gain GainPolicy `json:"gain,omitzero"`
}

// A PreemptionMode says by what rules something that runs has to yield.
type PreemptionMode uint8

const (
	// PreemptionOn: within queues and between them.
	PreemptionOn PreemptionMode = iota
	// PreemptionReclaim: between queues alone.
	PreemptionReclaim
	// PreemptionOff: nothing that runs is stopped for something else.
	PreemptionOff
)

const preemptionModeNames enum.Names = "on|reclaim|off"

// ParsePreemptionMode is the inverse of PreemptionMode.String.
func ParsePreemptionMode(s string) (PreemptionMode, error) {
	return parseEnum[PreemptionMode]("mode", preemptionModeNames, s)
}

func (m PreemptionMode) String() string {
	return enum.Text(preemptionModeNames, m, "PreemptionMode(%d)")
}

func (m PreemptionMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", preemptionModeNames, m)
}

func (m *PreemptionMode) UnmarshalText(b []byte) error {
	return unmarshalEnum(m, ParsePreemptionMode, b)
}

// What keeps preemption calm: for how long who had to yield is spared afterwards, how many may
// have to yield in a time, and how long each class has to write a checkpoint.

// A RateLimit is how often at the most somebody has to yield. The zero value is no limit.
type RateLimit struct {
	// Evictions in a span of Per. From rest, so many may have to yield at once; from then
	// on one for every Per/Evictions, rounded up to a millisecond.
	Evictions int `json:"evictions,omitempty"`
	// Per is at least a millisecond for each.
	Per Duration `json:"per,omitempty"`
}

// A Grace is how long the jobs of a class have to write a checkpoint.
type Grace struct {
	Class Class `json:"class"`
	// Timeout; zero: Preemption.CheckpointTimeout.
	Timeout Duration `json:"timeout"`
}

// checkHysteresis refuses rates, graces and a respite that make no sense.
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
	return checkOptional("cooldown", p.Cooldown)
}

func (r RateLimit) check() *Error {
	if r.Evictions < 0 || r.Evictions > limits.MaxOrdinal {
		return refuse(ErrInvalid, "evictions", fmt.Sprintf("%d is outside 0..%d", r.Evictions, limits.MaxOrdinal))
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

// A GainPolicy says when it is worth it that somebody has to yield: when what the beneficiary
// gains is more than what all victims lose, both in GPU-milliseconds (see
// preempt.Scale.Gain and preempt.Candidate.Price), or when they lose nothing. It says when,
// and never who: who may take from whom is decided without it.
//
// What a queue takes back to have what it is guaranteed is not weighed: borrowers have to
// be reclaimable, whatever they do.
//
// The defaults are for training that loses minutes when it is stopped and hours when it is
// killed. A latency-critical job over batch work is worth a day of each GPU that it asks
// for: no loss of a job that writes checkpoints comes near that; what does is a gang that
// has worked for days and would lose all of it to one small replica, and that is absurd. An
// interactive job is worth an hour: a person waits, and not for longer than that. Between
// equals in class, whose turn it is is worth ten minutes: a checkpoint, a restart and some
// queueing of jobs of the same size are paid at once, and whoever costs others more has
// waited for as much longer before it comes to that.
type GainPolicy struct {
	// IgnoreCost: whoever may take from others does so at once, whatever they lose.
	IgnoreCost bool `json:"ignoreCost,omitempty"`
	// Interactive and LatencyCritical are what it is worth, for each GPU, that a job of the
	// class runs instead of Batch work; between the two the difference counts. Defaults
	// 1 hour and 24 hours; Off: nothing.
	Interactive     Duration `json:"interactive,omitempty"`
	LatencyCritical Duration `json:"latencyCritical,omitempty"`
	// Turn is what it is worth, for each GPU, that the right one goes first: by its priority,
	// its class, or the share of its queue. Default 10 minutes; Off: nothing.
	Turn Duration `json:"turn,omitempty"`
	// WaitMilli is what waiting is worth, for each GPU, in thousandths of the time since it
	// last became pending. Default 1000.
	WaitMilli int `json:"waitMilli,omitempty"`
	// Queueing is the most that is counted of the time for which victims will have to wait.
	// That is estimated by how long the beneficiary is expected to run. Default 5 minutes;
	// Off: nothing.
	Queueing Duration `json:"queueing,omitempty"`
}

// A GainFunc is what is won if a job that waits is started now: a function that takes the place
// of the standard one (preempt.Scale.Gain, with the Worth of the policy). It must be pure, or
// equal facts would not give equal orders; it must not become less the longer the beneficiary
// has waited. The instant from which something is worth it is exact if the gain grows at a
// steady rate.
type GainFunc func(preempt.Beneficiary) preempt.GPUMilliseconds

// A Weighing is what spoke against having somebody yield.
type Weighing struct {
	// Gain of the beneficiary and Price of all victims, in GPU-milliseconds.
	Gain preempt.GPUMilliseconds `json:"gainGPUMilliseconds"`
	Cost preempt.GPUMilliseconds `json:"costGPUMilliseconds"`
	// From is when it will be worth it; zero: never, as things are.
	From Time `json:"from,omitempty"`
}

func (w GainPolicy) withDefaults() GainPolicy {
	setDefault(&w.Interactive, Hour)
	setDefault(&w.LatencyCritical, Day)
	setDefault(&w.Turn, 10*Minute)
	setDefault(&w.WaitMilli, 1000)
	setDefault(&w.Queueing, 5*Minute)
	return w
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
	if w.WaitMilli < 0 || w.WaitMilli > 1_000_000 {
		return refuse(ErrInvalid, "waitMilli", "is outside 0..1000000")
	}
	return nil
}
