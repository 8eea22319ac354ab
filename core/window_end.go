package core

import (
	"slices"

	"github.com/berth-sched/berth"
)

// One end of a window brings others. The victims of a preemption that ends go on. A gang that
// goes on needs no other place, so its move ends; it keeps what others counted on, so their
// plans end. Where a move ends that was for another gang, the preemption of that one ends too.
// These functions call each other in a circle, and stand together for that.

// endWindow ends a window. What is free on its nodes is so for all.
func (c *Core) endWindow(w *window) {
	at, _ := slices.BinarySearchFunc(c.windows, w.name, compareWindowName)
	c.windows = slices.Delete(c.windows, at, at+1)
	c.agenda.countWindows(-1)
	for _, n := range w.nodes {
		c.openUp(n, w)
	}
	c.agenda.grew(c.now)
	switch {
	case w.isMove():
		c.moveEnded(w)
	case w.isReservation():
		planned := w.isPlanned()
		c.disown(w)
		if planned {
			c.endPreemption(w)
		}
		c.agenda.reserveNow(c.now)
	default:
		c.disown(w)
		c.agenda.changed(c.now)
	}
	if len(c.windows) == 0 { // nothing is set aside that they could be tried on
		for len(c.fresh) > 0 {
			c.unfresh(c.fresh[len(c.fresh)-1])
		}
	}
}

// endPreemption has those go on that were asked for a checkpoint in vain: the next pass
// tells them. Who is stopped already is not to be held up, be it all of it or a part.
func (c *Core) endPreemption(w *window) {
	p := w.preemption
	if c.earmarked && !w.unmarked {
		c.earmarkFor(w, false)
	}
	c.agenda.freedQuota()
	for _, victim := range p.victims {
		if victim.spare(w.rep); victim.stray() {
			c.remain(victim)
		}
	}
	p.victims = nil
}

// spare has a replica yield to another no longer. What is being stopped is stopped all the
// same.
func (rep *replica) spare(beneficiary *replica) {
	if rep.yieldsTo == beneficiary {
		rep.yieldsTo = nil
	}
	for flat := range rep.members {
		if rep.members[flat].yieldsTo == beneficiary {
			rep.members[flat].yieldsTo = nil
		}
	}
}

// stray reports whether a checkpoint was requested of a replica that need not go any more.
func (rep *replica) stray() bool { return rep.yieldsTo == nil && !rep.leaves && rep.asked() }

// remain notes that a gang that was asked for a checkpoint need not go: the next pass tells it.
func (c *Core) remain(rep *replica) {
	c.noteLeaving(rep, false)
	c.noteTodo(rep, true)
	c.endMove(rep)
	c.spoilPlans(rep)
}

// endMove gives up the place that is kept for a gang.
func (c *Core) endMove(rep *replica) {
	if rep.moving != nil {
		c.endWindow(rep.moving)
	}
}

// moveEnded sees to a gang whose place, that was kept for it, is gone. Who was only moved for
// another, and still runs, need not move any more.
func (c *Core) moveEnded(w *window) {
	if c.earmarked && w.isPlanned() {
		c.earmarkFor(w, false)
	}
	rep := w.rep
	c.disown(w)
	c.agenda.noteHomeless()
	if rep.yieldsTo != nil && rep.State == berth.Running {
		if w := rep.yieldsTo.room(); w != nil {
			c.endWindow(w)
		}
	}
	c.agenda.relook(c.now)
}

// spoilPlans ends the preemptions and moves that count on the end of a replica that stays.
func (c *Core) spoilPlans(stays *replica) {
	for flat := range stays.members {
		if m := &stays.members[flat]; m.state.holds() {
			for _, w := range slices.Clone(m.node.windows) {
				if w.isPlanned() {
					c.endWindow(w)
				}
			}
		}
	}
}

// yielded notes that a replica does not yield to another any more, or a part of it does not.
func (rep *replica) yielded(beneficiary *replica) {
	if !rep.yieldsFor(beneficiary) {
		p := beneficiary.reserved.preemption
		i := slices.Index(p.victims, rep)
		p.victims = slices.Delete(p.victims, i, i+1)
	}
}
