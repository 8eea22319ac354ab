package cases

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A world carries a core's orders out: every one of them at once, and without a
// failure.
//
// It has a loop of its own, other than the experiments that run on package berthtest/sim. A
// scenario counts scheduling cycles on a fleet to which nothing else happens, and has no clock. A
// simulation has one, and runs passes when NextWake is due: their orders would belong to no round.
// The clock here moves for the core alone, a minute a round, so that no interval of its policy
// holds up the next round.
type world struct {
	core *core.Core
	now  berth.Time
	// running are the members that run, by job.
	running map[berth.JobID]map[berth.MemberRef]berth.MemberPlacement
	// stopped are the jobs of which something that ran was ordered to stop, with the job for
	// which that was first.
	stopped map[berth.JobID]berth.JobID
	// before is called before every pass, if it is set.
	before func() error
}

// maxPasses bounds the passes of a round.
const maxPasses = 32

func newWorld(sched *core.Core) *world {
	return &world{
		core: sched, stopped: map[berth.JobID]berth.JobID{},
		running: map[berth.JobID]map[berth.MemberRef]berth.MemberPlacement{},
	}
}

// atOnce is how the schedulers of the replayed scenarios stop what runs: a job that may take
// from others does so in the next round. None of them weighs what is lost, spares
// former victims for longer, or bounds their number in a time; what a scenario says about
// what runs in the end says nothing about when it would have been worth it.
func atOnce() berth.Preemption {
	return berth.Preemption{Cooldown: -1, Gain: berth.GainPolicy{IgnoreCost: true, Queueing: -1}}
}

// observe notes what runs before the first round.
func (w *world) observe(id berth.JobID, members []berth.MemberPlacement) {
	if w.running[id] == nil {
		w.running[id] = map[berth.MemberRef]berth.MemberPlacement{}
	}
	for _, m := range members {
		w.running[id][m.Ref()] = m
	}
}

// round is a minute in which the core gives orders until it has none. It reports whether
// it had any.
func (w *world) round() (ordered bool, err error) {
	w.now += berth.Time(berth.Minute)
	for range maxPasses {
		if w.before != nil {
			if err := w.before(); err != nil {
				return ordered, err
			}
		}
		actions, err := w.core.Schedule(w.now)
		if err != nil {
			return ordered, err
		}
		if len(actions) == 0 {
			return ordered, nil
		}
		ordered = true
		for _, action := range actions {
			if err := w.carryOut(action); err != nil {
				return ordered, err
			}
		}
		w.now += berth.Time(berth.Second)
	}
	return ordered, fmt.Errorf("after %d passes there are still orders", maxPasses)
}

// carryOut does what is ordered and reports it done.
func (w *world) carryOut(action berth.Order) error {
	order := action.Header()
	switch a := action.(type) {
	case berth.Bind:
		w.observe(order.Job, a.Members)
	case berth.Release:
		if _, before := w.stopped[order.Job]; !before {
			w.stopped[order.Job] = order.Cause.Beneficiary.Job
		}
		for _, m := range a.Members {
			delete(w.running[order.Job], m.Ref())
		}
	}
	if order.Deadline == 0 { // no report is expected
		return nil
	}
	return w.core.Apply(w.now, berth.OrderReported{Order: order.ID, Outcome: berth.OutcomeDone})
}
