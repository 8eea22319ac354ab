package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
)

// A move takes a gang from where it runs, or ran, to a place that is kept for it meanwhile:
// the nodes are set aside as in a preemption of which it is the beneficiary itself. Gangs
// move off nodes that are being drained, to make whole what is in pieces for others, and,
// when they have lost hardware, to what is left of their place and others for the rest of
// it; if there are none, what is left is kept until they may bid for the rest. While a gang
// still runs, or is being stopped, the window is rep.moving; when it waits, it is its
// reservation, like any other.

// maxMoves bounds for how many gangs one pass looks for another place.
const maxMoves = 256

// A relocation is where a gang is to go; where is nil: there is no room now.
type relocation struct {
	rep   *replica
	where []gang.Member
}

// relocate finds another place for the gangs that have to leave theirs. It looks again when
// something has changed that could help, and when a drain leaves no more time.
func (c *Core) relocate() {
	if !c.agenda.beginMoves(c.now) {
		return
	}
	found := c.findPlaces()
	for c.letStay(found) { // others counted on what they hold
		found = c.findPlaces()
	}
	for _, r := range found {
		c.decideMove(r)
	}
}

// findPlaces looks for places for those who need one.
func (c *Core) findPlaces() []relocation {
	list := c.uprooted()
	if len(list) == 0 {
		return nil
	}
	im := c.imagineAll()
	defer im.forget()
	var found []relocation
	for i, rep := range list {
		if i == maxMoves {
			c.agenda.moveBy(c.now) // the rest in the next pass
			break
		}
		found = append(found, relocation{rep, im.resettle(rep)})
	}
	return found
}

// letStay has those go on who were asked to leave when there was a place for them, if there is
// none any more and they can. It reports whether there are any.
func (c *Core) letStay(found []relocation) bool {
	some := false
	for _, r := range found {
		if latest := c.latestToLeave(r.rep); r.rep.leaves && r.where == nil && latest > c.now {
			c.stay(r.rep)
			c.agenda.moveBy(latest)
			some = true
		}
	}
	return some
}

// uprooted lists the gangs that need another place and have none yet, the first in the
// order of service first.
func (c *Core) uprooted() []*replica {
	var list []*replica
	c.leaving.Ascend(func(rep *replica) bool {
		if (rep.moving == nil || rep.moving.isPart()) && (rep.leaves || rep.resumes()) {
			list = append(list, rep)
		}
		return true
	})
	for _, n := range c.nodes {
		if n == nil || !n.Drains {
			continue
		}
		for _, at := range n.members {
			if at.rep.mayMove() {
				list = append(list, at.rep)
			}
		}
	}
	slices.SortFunc(list, func(a, b *replica) int {
		return cmp.Or(compareRank(b, a), cmp.Compare(a.Created, b.Created), compareReplicas(a, b))
	})
	return slices.Compact(list)
}

// resumes reports whether a gang that is being stopped is to go on as soon as it can: it lost
// hardware, or members that died, or has to leave a place on its own account.
func (rep *replica) resumes() bool {
	if rep.State != berth.Releasing || rep.release.Gone {
		return false
	}
	switch rep.release.Cause.Code {
	case berth.CauseHardwareLost, berth.CauseMemberFailed, berth.CauseDrained, berth.CauseMoved:
		return true
	}
	return false
}

// mayMove reports whether a gang runs and has nothing else going on.
func (rep *replica) mayMove() bool {
	return rep.State == berth.Running && rep.order == nil && rep.yieldsTo == nil && !rep.has(memberStopping)
}

// decideMove sets a place aside for a gang and has it leave, if there is one or it can stay
// no longer; else it stays where it is.
func (c *Core) decideMove(r relocation) {
	rep := r.rep
	if r.where != nil {
		c.endMove(rep)
	}
	kept := r.where != nil && c.keepPlace(rep, r.where)
	by, n := rep.drainedBy()
	latest := c.latestToLeave(rep)
	switch {
	case rep.State == berth.Releasing:
		if !kept {
			c.agenda.noteHomeless()
			c.keepOwn(rep)
		}
	case n == nil: // it need not leave any more
		c.stay(rep)
	case rep.leaves && (kept || latest <= c.now):
		if !kept {
			c.agenda.noteHomeless()
		}
	case kept, latest <= c.now:
		c.depart(rep, drainCause(n), by)
	default:
		c.stay(rep)
		c.agenda.moveBy(latest)
	}
}

// latestToLeave is when a gang has to be asked to leave at the latest; never: there is no
// deadline.
func (c *Core) latestToLeave(rep *replica) berth.Time {
	if by, _ := rep.drainedBy(); by != 0 {
		return by.Add(-c.graceOf(rep))
	}
	return never
}

// drainedBy is the node, of those it is on, from which a gang has to go first, and by when;
// nil: from none. 0: there is no deadline.
func (rep *replica) drainedBy() (by berth.Time, from *node) {
	for flat := range rep.members {
		m := &rep.members[flat]
		if !m.state.holds() || !m.node.Drains {
			continue
		}
		at, least := cmp.Or(m.node.DrainBy, never), cmp.Or(by, never)
		if from == nil || at < least || at == least && m.node.spec.ID < from.spec.ID {
			by, from = m.node.DrainBy, m.node
		}
	}
	return by, from
}

// drainCause is why a gang has to leave a node.
func drainCause(n *node) berth.Cause {
	return berth.Cause{Code: berth.CauseDrained, Detail: berth.Detail("node "+string(n.spec.ID)+" is being drained", n.Reason)}
}

// keepOwn sets aside what a gang has of its place while it is being stopped and there is no room
// for the rest of it: until it waits, and may bid for the rest.
func (c *Core) keepOwn(rep *replica) {
	if rep.moving != nil {
		return
	}
	var nodes []*node
	end := c.endIfPlaced(rep)
	rep.eachHold(func(_ *gang.Hold, n *node) {
		if !n.closed() && !slices.ContainsFunc(n.windows, func(other *window) bool { return !c.admits(other, rep, end) }) {
			nodes = append(nodes, n)
		}
	})
	slices.SortFunc(nodes, compareNodes)
	nodes = slices.Compact(nodes)
	if len(nodes) == 0 {
		return
	}
	if w := c.roomOn(nodes, kindRemnant, rep, c.graceOf(rep)); w != nil {
		rep.moving = w
		c.addWindow(w)
	}
}

// endRemnants ends what was kept for gangs that wait by now and did not find the rest: nobody
// holds a part of what another waits for.
func (c *Core) endRemnants() {
	if _, ready := c.quota.Next(); ready {
		return // they had no turn yet
	}
	for _, w := range slices.Clone(c.windows) {
		if w.isRest() {
			c.endWindow(w)
		}
	}
}

// keepPlace sets a place aside for a gang that still holds another, or a part of it.
func (c *Core) keepPlace(rep *replica, where []gang.Member) bool {
	w := c.roomOn(c.nodesFor(rep, where), kindMove, rep, c.graceOf(rep))
	if w == nil {
		return false
	}
	w.preemption = c.newPreemption(where)
	rep.moving = w
	c.addWindow(w)
	c.totals.Moves++
	return true
}

// depart has a gang leave where it is on its own account, by an instant if that is yet to
// come: 0 is none.
func (c *Core) depart(rep *replica, cause berth.Cause, by berth.Time) {
	grace := c.graceOf(rep)
	if by > c.now {
		grace = min(grace, by.Sub(c.now))
	}
	rep.leaves = rep.job.spec.Checkpoint.Supported
	c.stop(rep, cause, grace)
}

// mayStay has a gang go on where it is that was asked to leave, if nothing of it is on a node
// any more that is being drained.
func (c *Core) mayStay(rep *replica) {
	if _, from := rep.drainedBy(); from == nil {
		c.stay(rep)
	}
}

// hasten has a gang be asked anew that was asked to leave by an instant after that by which it
// has to be gone now: the next pass takes the request back and gives one with less time.
func (c *Core) hasten(rep *replica) {
	if by, _ := rep.drainedBy(); rep.leaves && by > c.now && rep.order.Header().Deadline > by {
		c.stay(rep)
	}
}

// stay has a gang go on where it is that was asked to leave.
func (c *Core) stay(rep *replica) {
	if rep.leaves {
		rep.leaves = false
		c.remain(rep)
	}
}

// arrive makes the place that was kept for a gang its reservation, as it waits now.
func (c *Core) arrive(rep *replica) {
	if w := rep.moving; w != nil {
		rep.reserved, rep.moving = w, nil
		w.kind = w.kind.arrived()
		c.agenda.setAside()
	}
}

// mayArrive reports whether a place may be kept for a gang that it does not wait for yet.
func (rep *replica) mayArrive() bool {
	switch rep.State {
	case berth.Running:
		return rep.asked()
	case berth.Releasing:
		return !rep.release.Gone
	}
	return rep.State == berth.Pending && rep.entries == nil
}
