package berth

import (
	"cmp"

	"github.com/berth-sched/berth/preempt"
)

// A Worth says when it is worth it that somebody has to yield: when what the beneficiary
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
type Worth struct {
	// Unweighed: whoever may take from others does so at once, whatever they lose.
	Unweighed bool `json:"unweighed,omitempty"`
	// Interactive and LatencyCritical are what it is worth, for each GPU, that a job of the
	// class runs instead of Batch work; between the two the difference counts. Defaults
	// 1 hour and 24 hours; -1: nothing.
	Interactive     Duration `json:"interactive,omitempty"`
	LatencyCritical Duration `json:"latencyCritical,omitempty"`
	// Turn is what it is worth, for each GPU, that the right one goes first: by its priority,
	// its class, or the share of its queue. Default 10 minutes; -1: nothing.
	Turn Duration `json:"turn,omitempty"`
	// WaitMilli is what waiting is worth, for each GPU, in thousandths of the time since it
	// last became pending. Default 1000.
	WaitMilli int `json:"waitMilli,omitempty"`
	// Queueing is the most that is counted of the time for which victims will have to wait.
	// That is estimated by how long the beneficiary is expected to run. Default 5 minutes;
	// -1: nothing.
	Queueing Duration `json:"queueing,omitempty"`
}

// A Gain is what is won if a job that waits is started now: a function that takes the place
// of the standard one (preempt.Scale.Gain, with the Worth of the policy). It must be pure, or
// equal facts would not give equal orders; it must not become less the longer the beneficiary
// has waited. The instant from which something is worth it is exact if the gain grows at a
// steady rate.
type Gain func(preempt.Beneficiary) preempt.GPUMilliseconds

// A Weighing is what spoke against having somebody yield.
type Weighing struct {
	// Gain of the beneficiary and Price of all victims, in GPU-milliseconds.
	Gain  preempt.GPUMilliseconds `json:"gain"`
	Price preempt.GPUMilliseconds `json:"price"`
	// From is when it will be worth it; zero: never, as things are.
	From Time `json:"from,omitempty"`
}

func (w Worth) withDefaults() Worth {
	setDefault(&w.Interactive, Hour)
	setDefault(&w.LatencyCritical, Day)
	setDefault(&w.Turn, 10*Minute)
	setDefault(&w.WaitMilli, 1000)
	setDefault(&w.Queueing, 5*Minute)
	return w
}

func (w *Worth) check() *Error {
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

// scale is what the standard function weighs with.
func (w *Worth) scale() preempt.Scale {
	return preempt.Scale{
		Classes:   []int64{Batch: 0, Interactive: int64(max(0, w.Interactive)), LatencyCritical: int64(max(0, w.LatencyCritical))},
		Turn:      int64(max(0, w.Turn)),
		WaitMilli: int64(w.WaitMilli),
	}
}

// queueingFor is for how long who yields to a replica is expected to wait.
func (c *Core) queueingFor(rep *replica) Duration {
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
func (t *trial) weigh(chosen []int) *Weighing {
	if len(chosen) == 0 || t.owed || t.core.config.Policy.Preemption.Worth.Unweighed {
		return nil
	}
	now := t.core.now
	if t.isWorth(chosen, now) {
		return nil
	}
	w := &Weighing{Gain: t.gainAt(chosen, now), Price: t.priceAt(chosen, now)}
	if from := t.worthFrom(chosen); from != never {
		w.From = from
	}
	return w
}

// isWorth reports whether stopping the chosen candidates would be worth it at an instant.
func (t *trial) isWorth(chosen []int, at Time) bool {
	price := t.priceAt(chosen, at)
	return price == 0 || t.gainAt(chosen, at) > price
}

// gainAt is what the beneficiary would gain if it ran from an instant. Who asks for the host
// alone counts as asking for one GPU.
func (t *trial) gainAt(chosen []int, at Time) preempt.GPUMilliseconds {
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
	scale := c.config.Policy.Preemption.Worth.scale()
	return scale.Gain(&b)
}

// priceAt is what the chosen candidates would lose if they were stopped at an instant.
func (t *trial) priceAt(chosen []int, at Time) preempt.GPUMilliseconds {
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
func (t *trial) worthFrom(chosen []int) Time {
	from := t.core.now
	for range maxAhead {
		next := t.nextCheckpoint(chosen, from)
		last := min(next-1, t.core.now.Add(maxSpan))
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
func (t *trial) nextCheckpoint(chosen []int, after Time) Time {
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
