package check

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
	"github.com/berth-sched/berth/mig"
)

// ordered takes one order of the pass.
func (c *Checker) ordered(a berth.Order) error {
	if err := c.header(a); err != nil {
		return err
	}
	if _, drops := a.(berth.Drop); !drops {
		c.openGates()
	}
	if err := namesBeneficiary(a.Header()); err != nil {
		return err
	}
	if r, ok := a.(berth.Repartition); ok {
		return c.repartition(r)
	}
	if w, ok := a.(berth.Withdraw); ok {
		return c.withdrawn(w)
	}
	if w, ok := a.(berth.WarnIdle); ok {
		return c.warned(w)
	}
	if err := c.endStart(a); err != nil {
		return err
	}
	if b, binds := a.(berth.Bind); binds && b.Cause.Code == berth.CauseSurge {
		if err := c.startsStandIn(b); err != nil {
			return err
		}
	}
	rep, err := c.subject(a)
	if err != nil {
		return err
	}
	switch a := a.(type) {
	case berth.Bind:
		return c.bind(rep, a)
	case berth.Release:
		return c.release(rep, a)
	case berth.RequestCheckpoint:
		return c.request(rep, a)
	case berth.Drop:
		return c.drop(rep, a)
	}
	return broken(PromiseOrders, "order %d is a %T", c.last, a)
}

// header: orders are numbered in sequence, and are of the instant of their pass.
func (c *Checker) header(a berth.Order) error {
	if a == nil {
		return broken(PromiseOrders, "the order after order %d is nil", c.last)
	}
	h := a.Header()
	if h.ID != c.last+1 {
		return broken(PromiseOrders, "order %d follows order %d", h.ID, c.last)
	}
	c.last = h.ID
	if h.At != c.now {
		return broken(PromiseOrders, "order %d says %d, in the pass at %d", h.ID, h.At, c.now)
	}
	return nil
}

// subject: orders are about a replica that exists and has no other order out, but for
// those about GPUs.
func (c *Checker) subject(a berth.Order) (*replica, error) {
	h := a.Header()
	rep, err := c.named(h)
	if err == nil && rep.order != nil {
		return nil, broken(PromiseOrders, "order %d is about %s, whose order %d is out", h.ID, rep, rep.order.Header().ID)
	}
	return rep, err
}

func (c *Checker) named(h berth.OrderHeader) (*replica, error) {
	rep := c.find(gangKey{h.Job, h.Replica})
	if rep == nil {
		return nil, broken(PromiseOrders, "order %d is about %s/%d, which does not exist", h.ID, h.Job, h.Replica)
	}
	return rep, nil
}

// dueBy: an order's deadline is its instant and the timeout of the policy in force.
func (c *Checker) dueBy(h berth.OrderHeader, timeout berth.Duration) error {
	if want := c.now.Add(timeout); h.Deadline != want {
		return broken(PromiseDeadlines, "order %d is due by %d, not by %d", h.ID, h.Deadline, want)
	}
	return nil
}

func (c *Checker) bind(rep *replica, b berth.Bind) error {
	timeout := c.policy.BindTimeout
	if len(b.After) > 0 {
		timeout += c.policy.RepartitionTimeout
	}
	if err := c.dueBy(b.OrderHeader, timeout); err != nil {
		return err
	}
	if err := cmp.Or(namesInstead(rep, &b), atGate(rep, b), inBudget(rep, b), c.startsAs(rep, &b), c.mayBind(rep, &b)); err != nil {
		return err
	}
	if err := c.itsTurn(rep, b); err != nil {
		return err
	}
	if err := c.fastEnough(rep, &b); err != nil {
		return err
	}
	c.enter(rep)
	if b.Incarnation != rep.incarnation {
		return broken(PromiseIncarnations, "order %d binds incarnation %d of %s, which is in incarnation %d", b.ID, b.Incarnation, rep, rep.incarnation)
	}
	if err := handsClaims(rep, &b); err != nil {
		return err
	}
	if err := c.placeAll(rep, b.Members); err != nil {
		return err
	}
	if err := c.bindAfter(rep, b); err != nil {
		return err
	}
	if short := rep.short(binding, running); short != "" {
		return broken(PromiseS2, "order %d binds %s with %s", b.ID, rep, short)
	}
	if err := c.topology(rep); err != nil {
		return err
	}
	if err := c.uniform(rep); err != nil {
		return err
	}
	if rep.state != berth.ReplicaRunning {
		rep.stood = nil // it has another place now, and backs off from that if it fails
	}
	c.open(rep, b)
	c.touched.add(rep)
	return nil
}

// mayBind: a Bind starts a pending gang, grows a running one or repairs one that
// lost members; its cause says which.
func (c *Checker) mayBind(rep *replica, b *berth.Bind) error {
	var right berth.CauseCode
	h := &b.OrderHeader
	switch {
	case (rep.state == berth.ReplicaPending || rep.grows()) && h.Cause.Code == berth.CauseVictimsGone:
		return c.victimsGone(rep, b)
	case rep.state == berth.ReplicaPending && h.Cause.Code == berth.CauseResumed:
		return c.resumed(rep, b)
	case rep.state == berth.ReplicaPending && rep.instead != nil:
		right, rep.resumes = berth.CauseSurge, true
	case rep.state == berth.ReplicaPending:
		right = berth.CauseFits
	case rep.state == berth.ReplicaRepairing:
		right = berth.CauseRepair
	case rep.grows():
		right = berth.CauseGrows
	default:
		return broken(PromiseOrders, "order %d binds members of %s, which is %s", h.ID, rep, rep.state)
	}
	if h.Cause.Code != right {
		return broken(PromiseCauses, "order %d binds %s, which is %s, because of %q", h.ID, rep, rep.state, h.Cause.Code)
	}
	// Backoffs are waited for.
	if rep.readyAt != 0 {
		return broken(PromiseBackoffs, "order %d binds %s, which backs off until %d", h.ID, rep, rep.readyAt)
	}
	return nil
}

// enter brings a replica into the state in which a Bind finds it.
func (c *Checker) enter(rep *replica) {
	c.saw("bind of a " + rep.state.String() + " gang")
	switch rep.state {
	case berth.ReplicaPending:
		c.limited.remove(rep)
		c.endPreemption(rep.key())
		delete(c.kept, rep.key())
		rep.enlist()
		rep.incarnation++ // every life has the next number
		rep.state = berth.ReplicaBinding
		c.signal(rep, protocol.SignalBind)
	case berth.ReplicaRepairing:
		c.freeAll(rep, broke, lost)
		c.due.remove(rep)
		rep.state = berth.ReplicaBinding
	}
}

// placeAll places the members of a Bind, each where it may be.
func (c *Checker) placeAll(rep *replica, placements []berth.MemberPlacement) error {
	if len(placements) == 0 {
		return broken(PromiseOrders, "order %d binds nobody", c.last)
	}
	var placed []*member
	for _, p := range placements {
		flat := rep.job.flat(p.Ref())
		if flat < 0 || rep.members[flat].state != absent {
			return broken(PromiseOrders, "order %d binds %s%v, which is no member or is placed", c.last, rep, p.Ref())
		}
		if err := c.place(rep.members[flat], p); err != nil {
			return err
		}
		placed = append(placed, rep.members[flat])
	}
	if err := c.aloneThere(rep, placed); err != nil {
		return err
	}
	return c.withinLimits(placed)
}

// place: a member gets exactly its claim, on a node in service that its selector
// allows.
func (c *Checker) place(m *member, at berth.MemberPlacement) error {
	n := c.nodes[at.Node]
	if n == nil {
		return broken(PromiseSelectors, "%s is placed on node %s, which is not in the fleet", m, at.Node)
	}
	if err := n.selected(m); err != nil {
		return err
	}
	if err := c.meets(m, n, &at); err != nil {
		return err
	}
	if err := c.mayEnter(m.rep, n); err != nil {
		return err
	}
	m.at, m.bind = at, c.last
	if err := n.inService(m); err != nil {
		return err
	}
	wrongMode := c.inMode(m, n) // as it was before the member came
	if err := n.hostFits(m); err != nil {
		return err
	}
	switch {
	case at.ShareMilli > 0:
		c.saw("share placed")
	case m.claim().MinInstance != nil:
		c.saw("fraction placed")
	case at.Instance != mig.Placement{}:
		c.saw("instance placed")
	}
	if err := c.notBorrowed(m, n); err != nil {
		return err
	}
	if err := c.book(n, m, at, binding); err != nil {
		return err
	}
	if m.claim().Borrow != nil {
		if err := c.mayStandOver(m); err != nil {
			return err
		}
	}
	return wrongMode
}

// meets: a placement gives a member exactly what it claims.
func (c *Checker) meets(m *member, n *node, at *berth.MemberPlacement) error {
	cl := m.claim()
	if ofInstance(cl) {
		return c.meetsInstance(m, n, at)
	}
	gpus, milli, memory := cl.GPUs, 0, int64(0)
	if cl.Share != nil {
		gpus, milli, memory = 1, cl.Share.GPUMilli, shareMemory(cl.Share, n)
	}
	if cl.Borrow != nil {
		gpus, memory = 1, cl.Borrow.MemoryMiB
	}
	if at.Borrowed != (cl.Borrow != nil) {
		return broken(PromiseClaims, "%s is told that its GPU is borrowed: %t", m, at.Borrowed)
	}
	if at.GPUs.Len() != gpus || at.ShareMilli != milli || at.ShareMemoryMiB != memory || at.Instance != (mig.Placement{}) {
		return broken(PromiseClaims, "%s claims %d GPUs (share: %d thousandths, %d MiB) and gets GPUs %q (%d, %d, %s)",
			m, gpus, milli, memory, at.GPUs, at.ShareMilli, at.ShareMemoryMiB, at.Instance)
	}
	return nil
}

func (c *Checker) release(rep *replica, r berth.Release) error {
	if err := c.dueBy(r.OrderHeader, c.policy.ReleaseTimeout); err != nil {
		return err
	}
	if rep.state == berth.ReplicaRepairing {
		// It could not be repaired: all of it is taken back.
		c.saw("repair given up")
		rep.backoff = true
		c.takeBack(rep, rep.cause, false)
	}
	if r.Cause.Code == berth.CauseHardwareLost && rep.state == berth.ReplicaRunning && !c.due.has(rep) {
		if err := c.giveUp(rep, &r); err != nil {
			return err
		}
	}
	if r.Cause.Code == berth.CauseIdleSurplus && rep.state == berth.ReplicaRunning && !c.due.has(rep) {
		if err := c.givesUpSurplus(rep, &r); err != nil {
			return err
		}
	}
	if err := c.evict(rep, &r); err != nil {
		return err
	}
	// Nothing that runs is stopped without a cause that was told.
	if !c.due.has(rep) {
		return broken(PromiseS6, "order %d stops members of %s, which is %s and to be left alone", r.ID, rep, rep.state)
	}
	if r.Cause.Code != rep.cause {
		return broken(PromiseCauses, "order %d stops %s because of %q; what happened is %q", r.ID, rep, r.Cause.Code, rep.cause)
	}
	if r.Incarnation != rep.incarnation {
		return broken(PromiseIncarnations, "order %d stops incarnation %d of %s, which is in incarnation %d", r.ID, r.Incarnation, rep, rep.incarnation)
	}
	if to := rep.stoppedFor(); r.Cause.Beneficiary != to {
		return broken(PromiseCauses, "order %d stops %s for %s, which is evicted for %s", r.ID, rep, r.Cause.Beneficiary, to)
	}
	rep.released++
	if r.Attempt != rep.released {
		return broken(PromiseOrders, "order %d is attempt %d to stop %s, not %d", r.ID, r.Attempt, rep, rep.released)
	}
	if err := namesAll(rep, r.ID, r.Members, stopping, PromiseS6); err != nil {
		return err
	}
	if err := saysWhatRemains(rep, r); err != nil {
		return err
	}
	c.saw("release because " + string(r.Cause.Code))
	c.due.remove(rep)
	c.open(rep, r)
	c.signal(rep, protocol.SignalRelease)
	return nil
}

// drop: a gang is given up when it was pending for its gang timeout, not before, or when it came
// back to the queue for one cause more often than it may.
func (c *Checker) drop(rep *replica, d berth.Drop) error {
	timeout := rep.job.spec.GangTimeout
	gated := d.Cause.Code == berth.CauseDependency
	if gated {
		if err := dropBroken(rep, d); err != nil {
			return err
		}
	}
	switch over := rep.overCap(); {
	case over && rep.state == berth.ReplicaPending:
		if d.Cause.Code != berth.CauseMaxRequeues || d.Deadline != 0 {
			return broken(PromiseCauses, "order %d drops %s because of %q, which came back too often", d.ID, rep, d.Cause.Code)
		}
		c.saw("dropped as it came back too often")
	case rep.state != berth.ReplicaPending:
		return broken(PromiseTimeouts, "order %d drops %s, which is %s", d.ID, rep, rep.state)
	case gated:
		c.saw("dropped for a job that it follows")
	case rep.job.gate != nil || timeout == 0 || c.now < rep.pendingSince.Add(timeout):
		return broken(PromiseTimeouts, "order %d drops %s, pending since %d, with a gang timeout of %s", d.ID, rep, rep.pendingSince, timeout)
	case d.Cause.Code != berth.CauseGangTimeout:
		return broken(PromiseCauses, "order %d drops %s because of %q", d.ID, rep, d.Cause.Code)
	}
	if d.Deadline != 0 {
		return broken(PromiseDeadlines, "order %d is a drop, and is due by %d", d.ID, d.Deadline)
	}
	c.saw("dropped")
	c.signal(rep, protocol.SignalDrop)
	c.forget(rep)
	return nil
}
