package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// This file is about gangs that lose a part and go on.

// shrink: members that are evicted while the rest of the gang goes on run, are above the minimum of
// their group together, and are whole widest segments as far as those are there; each is
// stopped for a waiting gang. Neither a checkpoint comes before that nor a minimum run time.
func (c *Checker) shrink(rep *replica, r *berth.Release) error {
	if r.Cause.Beneficiary != r.SurplusEvictions[0].Beneficiary {
		return broken(PromiseCauses, "order %d evicts %s for %s, and first for %s", r.ID, rep, r.Cause.Beneficiary, r.SurplusEvictions[0].Beneficiary)
	}
	if rep.order != nil {
		return broken(PromiseOrders, "order %d evicts a part of %s, whose order %d is out", r.ID, rep, rep.order.Header().ID)
	}
	for i, y := range r.SurplusEvictions {
		if slices.ContainsFunc(r.SurplusEvictions[:i], func(other berth.SurplusEviction) bool { return other.Beneficiary == y.Beneficiary }) {
			return broken(PromiseOrders, "order %d evicts %s for %s twice", r.ID, rep, y.Beneficiary)
		}
		if err := c.mayEvict(rep, r.OrderHeader, y.Beneficiary); err != nil {
			return err
		}
		v := victim{replica: rep}
		for _, ref := range y.Members {
			flat := rep.job.flat(ref)
			if flat < 0 || rep.members[flat].state != running || slices.Contains(v.members, rep.members[flat]) {
				return broken(PromiseOrders, "order %d evicts %s%v for %s, which does not run or is evicted already", r.ID, rep, ref, y.Beneficiary)
			}
			v.members = append(v.members, rep.members[flat])
		}
		if len(v.members) == 0 {
			return broken(PromiseOrders, "order %d evicts nobody of %s for %s", r.ID, rep, y.Beneficiary)
		}
		if part := v.brokenSegment(); part != nil {
			return broken(PromiseS8, "order %d evicts %s for %s, and leaves others of its segment", r.ID, part, y.Beneficiary)
		}
		p := c.begun(gangKey{y.Beneficiary.Job, y.Beneficiary.Replica})
		p.victims = append(p.victims, v)
		for _, m := range v.members {
			m.state, m.preemption = stopping, p
		}
	}
	if short := rep.short(running); short != "" {
		return broken(PromiseS2, "order %d evicts a part of %s, and leaves %s", r.ID, rep, short)
	}
	c.shrunk(rep, r.Cause)
	if c.saw("shrinks"); len(r.SurplusEvictions) > 1 {
		c.saw("shrinks for several")
	}
	return nil
}

// brokenSegment finds a member of which others of its widest segment run and are not evicted.
func (v victim) brokenSegment() *member {
	for _, m := range v.members {
		for _, other := range v.replica.in(running) {
			if other.firstOfUnit() == m.firstOfUnit() && !slices.Contains(v.members, other) {
				return m
			}
		}
	}
	return nil
}

// shrinksFor reports whether members of a replica that goes on are victims of one of some
// preemptions.
func (rep *replica) shrinksFor(list []*preemption) bool {
	return slices.ContainsFunc(rep.members, func(m *member) bool { return m.preemption != nil && slices.Contains(list, m.preemption) })
}

// units lists what of a victim goes together: all of it, or one widest segment after the
// other, or one member.
func (v victim) units() []victim {
	if v.whole() {
		return []victim{v}
	}
	var list []victim
	var firsts []int // the first member of the segment of each
	for _, m := range v.members {
		first := m.firstOfUnit()
		at := slices.Index(firsts, first)
		if at < 0 {
			at = len(list)
			list, firsts = append(list, victim{replica: v.replica}), append(firsts, first)
		}
		list[at].members = append(list[at].members, m)
	}
	return list
}

// unitOf is how many members of a group there are in its widest segment; without segments, one.
func unitOf(g *berth.Group) int {
	if len(g.Topology.Segments) > 0 {
		return g.Topology.Segments[0].Size
	}
	return 1
}

// firstOfUnit is the first member of the widest segment of a member.
func (m *member) firstOfUnit() int { return m.flat - m.ref().Index%unitOf(m.group()) }

// stoppedFor is the beneficiary of a victim, whole or in part.
func (rep *replica) stoppedFor() berth.ReplicaRef {
	switch {
	case !hasBeneficiary(rep.cause):
		return berth.ReplicaRef{}
	case rep.state == berth.ReplicaRunning:
		return rep.first
	}
	return rep.preemption.beneficiary.ref()
}

// saysWhatRemains: the order for a gang that continues has the remaining size of each group, and
// the beneficiaries of the others as far as those still wait.
func saysWhatRemains(rep *replica, r berth.Release) error {
	if rep.state != berth.ReplicaRunning {
		if len(r.Remaining)+len(r.SurplusEvictions) > 0 {
			return broken(PromiseOrders, "order %d stops all of %s, and says what remains", r.ID, rep)
		}
		return nil
	}
	var want []berth.GroupSize
	for g := range rep.job.spec.Groups {
		n := len(slices.DeleteFunc(rep.in(running), func(m *member) bool { return rep.job.group(m.flat) != g }))
		want = append(want, berth.GroupSize{Group: rep.job.spec.Groups[g].Name, Members: n})
	}
	if !slices.Equal(r.Remaining, want) {
		return broken(PromiseOrders, "order %d leaves %v of %s, and says %v", r.ID, want, rep, r.Remaining)
	}
	for _, y := range r.SurplusEvictions {
		for _, ref := range y.Members {
			if m := rep.members[max(0, rep.job.flat(ref))]; m.preemption == nil || m.preemption.beneficiary.ref() != y.Beneficiary {
				return broken(PromiseCauses, "order %d stops %s for %s, for which it is not evicted", r.ID, m, y.Beneficiary)
			}
		}
	}
	return nil
}

// partsFirst asserts that no whole gang of the beneficiary's own queue has to go where what
// others of it, which are told in the same way, have above their minimums would do: here the
// last of them, by index, as far as a unit is not too large for what is asked. What was let in on
// nodes that are set aside goes before all else, if they are so for the beneficiary.
func (w *world) partsFirst(rep *replica, r *preemption, before int) error {
	letIn := func(v victim) bool { return v.letIn }
	if r.victims[0].job.queue != rep.job.queue || !slices.ContainsFunc(r.victims, victim.whole) || slices.ContainsFunc(r.victims, letIn) {
		return nil
	}
	w.back(before, len(w.here))
	asked, _ := w.asks(rep)
	for other := range w.replicas() {
		spec := &other.job.spec
		_, told := w.told[other] // else it was on its way out until the end of the pass
		ready := other.preemption == r || other.state == berth.ReplicaRunning && (other.order == nil && !told || other.shrinksFor(w.opened))
		if other.job.queue != rep.job.queue || !ready || compareRank(other, rep) >= 0 || spec.Class == berth.ClassLatencyCritical || spec.Topology.Exclusive != "" {
			continue
		}
		for _, unit := range w.extras(other) {
			if !w.tooLarge(rep, asked, unit, w.held(unit.members)) {
				w.vanish(unit.members)
			}
		}
	}
	if w.couldStartOn(rep, w.openTo(rep)) {
		return broken(PromiseS7, "%s is evicted for %s, which would fit if others gave what they have above their minimums", r.victims[0], rep)
	}
	w.saw("no part of a gang was enough")
	return nil
}

// extras lists what a replica has above its minimums: units, the torn ones and then the last first,
// as many as may go together.
func (w *world) extras(rep *replica) []victim {
	var list []victim
	for g := range rep.job.spec.Groups {
		v := victim{replica: rep}
		for flat := rep.job.offsets[g+1] - 1; flat >= rep.job.offsets[g]; flat-- {
			if m := rep.members[flat]; m.node != nil && (m.state == running || rep.preemption != nil && m.state == stopping) {
				v.members = append(v.members, m)
			}
		}
		if len(v.members) > 0 {
			list = append(list, v.surplus(&rep.job.spec.Groups[g])...)
		}
	}
	return list
}

// surplus lists those units of a group that may go together: the torn ones, of which the members
// count for nothing if the whole ones are the minimum, and of others as many as leave it.
func (v victim) surplus(g *berth.Group) (list []victim) {
	units, whole := v.units(), 0
	for _, unit := range units {
		if len(unit.members) == unitOf(g) {
			whole += len(unit.members)
		}
	}
	left := len(v.members) - minimum(g)
	free := whole >= minimum(g)
	if free {
		left = whole - minimum(g)
	}
	slices.SortStableFunc(units, func(a, b victim) int { return cmp.Compare(len(a.members), len(b.members)) })
	for _, unit := range units {
		if !free || len(unit.members) == unitOf(g) {
			left -= len(unit.members)
		}
		if left < 0 {
			break
		}
		list = append(list, unit)
	}
	return list
}

// letGo has members go for no other gang, while the rest goes on: they run, are whole widest
// segments, and leave the minimum.
func (rep *replica) letGo(r *berth.Release) error {
	v := victim{replica: rep}
	for i := range r.Members {
		flat := rep.job.flat(r.Members[i].Ref())
		if flat < 0 || rep.members[flat].state != running {
			return broken(PromiseOrders, "order %d stops %s%v, which does not run", r.ID, rep, r.Members[i].Ref())
		}
		v.members = append(v.members, rep.members[flat])
	}
	if part := v.brokenSegment(); part != nil {
		return broken(PromiseS8, "order %d stops %s, and leaves others of its segment", r.ID, part)
	}
	for _, m := range v.members {
		m.state = stopping
	}
	if short := rep.short(running); short != "" {
		return broken(PromiseS2, "order %d stops a part of %s, and leaves %s", r.ID, rep, short)
	}
	return nil
}

// shrunk notes that members of a gang were told to go, because of a cause.
func (c *Checker) shrunk(rep *replica, cause berth.Cause) {
	rep.cause, rep.first, rep.released = cause.Code, cause.Beneficiary, 0
	c.due.add(rep)
	c.touched.add(rep)
	c.signal(rep, protocol.SignalShrink)
}
