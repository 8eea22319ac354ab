package check

import (
	"maps"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// This file follows each victim through the protocol that package protocol draws: each event
// and each order is a signal, and each signal has to be an arrow there.

// A progress is how far the eviction of a victim has come.
type progress struct {
	phase protocol.Phase
	// life is the incarnation of the victim.
	life berth.Incarnation
	// restored: the core was restored from a snapshot in this phase.
	restored bool
}

// Restored notes that the core is another one now, made of a snapshot: a victim
// was caught in the middle of the next arrow.
func (c *Checker) Restored() {
	for _, s := range c.progress {
		s.restored = true
	}
}

// A Victim is how far the eviction of a victim has come, its wait afterwards included.
type Victim struct {
	Replica     berth.ReplicaRef
	Incarnation berth.Incarnation
	// Phase is the name of a phase of its eviction: "requested" after it is asked for a
	// checkpoint, "evicting" while a Release is out, "released" when all of it is gone, and
	// others between.
	Phase string
	// Beneficiary is the replica that it is evicted for; zero where that needs its place no longer.
	Beneficiary berth.ReplicaRef
	// Held is what its members hold.
	Held []berth.MemberPlacement
}

// Victims lists all victims, by job and number.
func (c *Checker) Victims() []Victim {
	var list []Victim
	for _, rep := range inOrder(maps.Keys(c.progress)) {
		at := Victim{Replica: rep.key().ref(), Incarnation: rep.incarnation, Phase: c.progress[rep].phase.String()}
		if rep.preemption != nil && !rep.preemption.ended {
			at.Beneficiary = rep.preemption.beneficiary.ref()
		}
		for _, m := range rep.members {
			if m.node != nil {
				at.Held = append(at.Held, m.at)
			}
		}
		list = append(list, at)
	}
	return list
}

// signal takes a victim a step further. Replicas without a request or a Release are not followed.
func (c *Checker) signal(rep *replica, s protocol.Signal) {
	at := c.progress[rep]
	if at == nil {
		if _, begins := protocol.PhaseRunning.Next(s); !begins {
			return
		}
		at = &progress{phase: protocol.PhaseRunning, life: rep.incarnation}
		c.progress[rep] = at
	}
	next, ok := at.phase.Next(s)
	if !ok {
		c.astray(broken(PromiseProtocol, "%s is %s, and there is no way on by %q", rep, at.phase, s))
		return
	}
	arrow := protocol.Arrow{From: at.phase, Signal: s, To: next}.String()
	c.saw(arrow)
	if at.restored {
		c.saw("restored before " + arrow)
	}
	if life := rep.incarnation; life != at.life && next != protocol.PhaseResumed {
		c.astray(broken(PromiseProtocol, "%s is %s in incarnation %d, and its incarnation %d is evicted", rep, next, life, at.life))
	}
	at.phase, at.restored = next, at.restored && next == at.phase
	if next.Over() {
		delete(c.progress, rep)
	}
}

// astray keeps the first violation of the protocol, until the event or the pass is over.
func (c *Checker) astray(err error) {
	if c.strayed == nil {
		c.strayed = err
	}
}

// spare signals that a beneficiary needs its victims no longer.
func (c *Checker) spare(r *preemption) {
	for _, v := range r.victims {
		c.signal(v.replica, protocol.SignalExcuse)
	}
}

// spareLate signals that it must have been so already, as somebody goes on.
func (c *Checker) spareLate(rep *replica) {
	if at := c.progress[rep]; at != nil && at.phase == protocol.PhaseRequested {
		c.signal(rep, protocol.SignalExcuse)
	}
}

// spareDrained signals that somebody need not leave any more, as no node of its is being drained.
func (c *Checker) spareDrained() {
	c.spareStandIns()
	list := set{}
	for _, rep := range c.orders {
		if rep.asked() && rep.preemption == nil && rep.needless() {
			list.add(rep)
		}
	}
	for _, rep := range list.sorted() {
		rep.stays = true
		c.spareLate(rep)
	}
}

// signalLoss signals what came of the loss of members.
func (c *Checker) signalLoss(rep *replica) {
	at := c.progress[rep]
	if at == nil {
		return
	}
	kept := c.jobs[rep.job.spec.ID] == rep.job && rep.job.replicas[rep.number] == rep
	ran := at.phase == protocol.PhaseRequested || at.phase == protocol.PhaseExcused || at.phase == protocol.PhaseShrinking
	switch {
	case !kept, rep.state == berth.ReplicaPending, at.phase == protocol.PhaseShrinking && !rep.has(stopping):
		c.signal(rep, protocol.SignalLoseAll)
	case ran && rep.state == berth.ReplicaReleasing:
		c.signal(rep, protocol.SignalLoseTooMany)
	default:
		c.signal(rep, protocol.SignalLose)
	}
}

// followsProtocol asserts that every victim is in its phase of the protocol, after an event or a
// pass.
func (c *Checker) followsProtocol() error {
	if c.strayed != nil {
		return c.strayed
	}
	for _, rep := range inOrder(maps.Keys(c.progress)) {
		at := c.progress[rep]
		if got := rep.course(at.phase); got != at.phase {
			return broken(PromiseProtocol, "%s is %s, which the protocol has as %s", rep, got, at.phase)
		}
	}
	return nil
}

// course is the phase that what is known of a replica speaks for; where there are several, the
// one that is expected, if it is among them.
func (rep *replica) course(expected protocol.Phase) protocol.Phase {
	_, stops := rep.order.(berth.Release)
	switch {
	case rep.state == berth.ReplicaPending:
		return protocol.PhaseReleased
	case rep.asked() && rep.needless():
		return protocol.PhaseExcused
	case rep.asked():
		return protocol.PhaseRequested
	case rep.state == berth.ReplicaReleasing && rep.gone:
		return protocol.PhaseEnding
	case rep.state == berth.ReplicaReleasing && stops:
		return protocol.PhaseEvicting
	case rep.state == berth.ReplicaReleasing && (expected == protocol.PhaseCheckpointed || expected == protocol.PhaseLost):
		return expected
	case rep.state == berth.ReplicaReleasing:
		return protocol.PhaseExpired
	case rep.state == berth.ReplicaRunning && stops:
		return protocol.PhaseShrinking
	}
	return protocol.PhaseRunning
}
