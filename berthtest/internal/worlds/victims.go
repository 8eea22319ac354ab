package worlds

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// This file draws victims and beneficiaries, and counts what came of it.

// preemption draws the rules.
func (g *Generator) preemption() berth.Preemption {
	return berth.Preemption{
		Mode:              one(g, berth.PreemptionOn, berth.PreemptionOn, berth.PreemptionOn, berth.PreemptionReclaim, berth.PreemptionOff),
		MaxRatio:          one(g, 0, 0, -1, 1, 2),
		MinRuntime:        one(g, 0, 0, 0, 20*berth.Second, 3*berth.Minute),
		CheckpointTimeout: one(g, 0, 0, 10*berth.Second, 2*berth.Minute),

		Grace:          one(g, nil, nil, []berth.Grace{{Class: berth.ClassBatch, Timeout: berth.Minute}, {Class: berth.ClassInteractive}}),
		Cooldown:       one(g, 0, -1, 20*berth.Second, 2*berth.Minute),
		RateLimit:      one(g, berth.RateLimit{}, berth.RateLimit{}, berth.RateLimit{Evictions: 1, Per: 90 * berth.Second}, berth.RateLimit{Evictions: 3, Per: 100*berth.Second + 1}),
		QueueRateLimit: one(g, berth.RateLimit{}, berth.RateLimit{}, berth.RateLimit{Evictions: 1, Per: 2 * berth.Minute}, berth.RateLimit{Evictions: 2, Per: berth.Minute + 1}),
		Gain:           g.worth(),
	}
}

// worth draws what is worth it.
func (g *Generator) worth() berth.GainPolicy {
	if g.Chance(40) {
		return berth.GainPolicy{IgnoreCost: true}
	}
	return berth.GainPolicy{
		Interactive: one(g, 0, -1, berth.Minute), LatencyCritical: one(g, 0, 5*berth.Minute),
		Turn: one(g, 0, 0, -1, berth.Second, berth.Minute), WaitMilli: one(g, 0, 0, 333, 5000),
		Queueing: one(g, 0, -1, berth.Second),
	}
}

// checkpoints draws what stopping a job costs, and for how long it runs at least.
func (g *Generator) checkpoints(j *berth.Job) {
	j.MinRuntime = one(g, 0, 0, 0, 30*berth.Second, 2*berth.Minute)
	j.Checkpoint.RestartCost = one(g, 0, berth.Minute)
	if g.Chance(80) {
		j.Checkpoint.Supported = true
		j.Checkpoint.Cost = one(g, 0, berth.Second, 8*berth.Second, 40*berth.Second, 100*berth.Second)
		j.Checkpoint.Interval = one(g, 0, 5*berth.Minute)
	}
}

// tellsCheckpoints has a job tell of checkpoints that it wrote by itself: of some when it does not
// run, or of an instant that cannot be.
func (g *Generator) tellsCheckpoints(id berth.JobID, later func() berth.Time) {
	for range g.IntN(4) {
		at := later()
		e := berth.CheckpointWritten{Job: id, Incarnation: berth.Incarnation(1 + g.IntN(2))}
		if g.Chance(40) {
			e.At = at.Add(berth.Duration(g.Int64N(int64(berth.Minute))) - 50*berth.Second)
		}
		g.at(at, e)
	}
}

// countVictims counts the victims in a core that was just restored.
func (r *Run) countVictims(sched *core.Core) {
	waiting := map[berth.ReplicaRef]bool{}
	for _, s := range sched.Report().Reservations {
		waiting[berth.ReplicaRef{Job: s.Job, Replica: s.Replica}] = true
	}
	for _, a := range sched.Outstanding() {
		cause := a.Header().Cause
		if release, shrinks := a.(berth.Release); shrinks && len(release.SurplusEvictions) > 0 {
			r.Cases["restored with a gang that shrinks"]++
		}
		switch _, request := a.(berth.RequestCheckpoint); {
		case request && cause.Code == berth.CauseDrained:
			r.Cases["restored with a request to leave"]++
		case request && waiting[cause.Beneficiary]:
			r.Cases["restored with a request for a checkpoint"]++
		case request:
			r.Cases["restored with a request that nobody needs"]++
		case cause.Beneficiary != (berth.ReplicaRef{}) && waiting[cause.Beneficiary]:
			r.Cases["restored with a victim being stopped"]++
		case cause.Beneficiary != (berth.ReplicaRef{}):
			r.Cases["restored with a victim being stopped in vain"]++
		}
	}
}

// atRest is how often a replica may be evicted when the faults are over, while what is
// left comes to rest: a job that ends then lets others in.
const atRest = 12

// fewEvictions asserts that nobody was evicted over and over when the faults were over.
func (r *Run) fewEvictions() error {
	for ref, n := range r.evictedLate {
		r.Cases["was evicted when the faults were over"] = max(n, r.Cases["was evicted when the faults were over"])
		if n > atRest {
			return fmt.Errorf("L1: %v was evicted %d times after the faults were over", ref, n)
		}
	}
	return nil
}

// noteEviction counts a Release of a victim.
func (r *Run) noteEviction(a berth.Order) {
	h := a.Header()
	if release, ok := a.(berth.Release); ok && h.Cause.Beneficiary != (berth.ReplicaRef{}) && release.Attempt == 1 {
		ref := berth.ReplicaRef{Job: h.Job, Replica: h.Replica}
		if r.Evicted[ref]++; h.At > Faults {
			r.evictedLate[ref]++
			r.Pairs[[2]berth.ReplicaRef{ref, h.Cause.Beneficiary}]++
		}
	}
}
