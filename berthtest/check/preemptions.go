package check

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about preemptions: a gang that waits has a reservation, and others are evicted
// for it. Orders tell that a preemption has begun; the start of the gang, its end or the next
// report tells that it is over (see Checker.AgainstReport).

// A preemption evicts or moves victims for a beneficiary.
type preemption struct {
	beneficiary gangKey
	// from is when it was begun; until, when it ends by itself.
	from, until berth.Time
	// ended: no victim has to go any more.
	ended bool
	// victims are in the order of their orders.
	victims []victim
	// members is how many further members a gang that runs is to get, as the report has it.
	members int
	// grace is the longest time that a victim has to write a checkpoint.
	grace berth.Duration
}

// A victim is a replica that is evicted, whole or in part, or moves.
type victim struct {
	*replica
	// moves: it is not evicted, but moved.
	moves bool
	// members that are evicted while the rest of the gang goes on; nil: all of it is.
	members []*member
}

// whole reports whether all of a replica is evicted.
func (v victim) whole() bool { return v.members == nil }

// moved counts the victims that move.
func (r *preemption) moved() (n int) {
	for _, v := range r.victims {
		if v.moves {
			n++
		}
	}
	return n
}

// evicted are the victims that do not move.
func (r *preemption) evicted() []victim {
	return slices.DeleteFunc(slices.Clone(r.victims), func(v victim) bool { return v.moves })
}

// all lists the members that are evicted.
func (v victim) all() []*member {
	if v.whole() {
		return v.replica.members
	}
	return v.members
}

// begun is what a gang is told to be the beneficiary of in this pass.
func (c *Checker) begun(key gangKey) *preemption {
	r := c.preemptions[key]
	if r == nil || r.ended || r.from != c.now || !slices.Contains(c.opened, r) {
		r = &preemption{beneficiary: key, from: c.now, until: c.now.Add(c.preemptionTimeout())}
		c.endPreemption(key)
		c.preemptions[key] = r
		c.opened = append(c.opened, r)
	}
	return r
}

// preemptionTimeout is how long a preemption lasts, or a place is kept, beside the time for
// checkpoints.
func (c *Checker) preemptionTimeout() berth.Duration {
	return berth.Duration(c.policy.ReleaseAttempts)*c.policy.ReleaseTimeout + c.policy.ReservationTimeout
}

// takesFrom adds a victim: the preemption lasts until the last of them must have answered, and so
// much longer.
func (r *preemption) takesFrom(rep *replica, grace berth.Duration) {
	r.victims = append(r.victims, victim{replica: rep})
	r.until = r.until.Add(max(0, grace-r.grace))
	r.grace = max(r.grace, grace)
}

// endPreemption ends the preemption for a gang, if there is one.
func (c *Checker) endPreemption(key gangKey) {
	if r := c.preemptions[key]; r != nil {
		r.ended = true
		delete(c.preemptions, key)
		c.spare(r)
	}
}

// leavePreemption notes that a replica is no victim any more, or holds nothing any more.
func (rep *replica) leavePreemption() {
	if r := rep.preemption; r != nil {
		r.victims = slices.DeleteFunc(slices.Clone(r.victims), func(other victim) bool { return other.replica == rep && other.whole() })
		rep.preemption = nil
	}
}

// leavePreemption notes that a member that is evicted holds nothing any more.
func (m *member) leavePreemption() {
	r := m.preemption
	if m.preemption = nil; r == nil {
		return
	}
	r.victims = slices.Clone(r.victims)
	for i := range r.victims {
		if v := &r.victims[i]; v.replica == m.rep && !v.whole() {
			v.members = slices.DeleteFunc(slices.Clone(v.members), func(other *member) bool { return other == m })
		}
	}
	r.victims = slices.DeleteFunc(r.victims, func(v victim) bool { return !v.whole() && len(v.members) == 0 })
}

// find is the replica of that name, or nil.
func (c *Checker) find(key gangKey) *replica {
	if j := c.jobs[key.job]; j != nil {
		return j.replicas[key.replica]
	}
	return nil
}

// namesBeneficiary: orders for victims name the beneficiary, and no others do.
func namesBeneficiary(h berth.OrderHeader) error {
	if named := h.Cause.Beneficiary != (berth.ReplicaRef{}); named != hasBeneficiary(h.Cause.Code) {
		return broken(PromiseCauses, "order %d is because of %q for %q", h.ID, h.Cause.Code, h.Cause.Beneficiary)
	}
	return nil
}

// victimsGone: a gang is started because its victims are gone if that was so, and on the nodes that
// were set aside for it.
func (c *Checker) victimsGone(rep *replica, b *berth.Bind) error {
	if c.preemptions[rep.key()] == nil || slices.Contains(c.opened, c.preemptions[rep.key()]) {
		return broken(PromiseCauses, "order %d starts %s because of %q, for which no room was made", b.ID, rep, b.Cause.Code)
	}
	if rep.state == berth.ReplicaRunning {
		return c.grownWherePlanned(rep, b)
	}
	c.saw("started where room was made")
	c.noteRankedAbove(rep)
	return c.whereAside(rep, b)
}

// whereAside: a gang that is started on nodes that were set aside for it has members on all of
// them, and on no others.
func (c *Checker) whereAside(rep *replica, b *berth.Bind) error {
	var nodes []berth.NodeID
	for i := range b.Members {
		nodes = append(nodes, b.Members[i].Node)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	aside := slices.DeleteFunc(slices.Clone(c.gangs[rep.key()].Nodes), func(id berth.NodeID) bool {
		return rep.job.spec.Topology.Exclusive != "" && !slices.Contains(nodes, id) // of a domain that it has for itself
	})
	if c.passed && !slices.Equal(nodes, aside) {
		return broken(PromiseS7, "order %d starts %s where room was made, on %v; it is set aside on %v", b.ID, rep, nodes, c.gangs[rep.key()].Nodes)
	}
	c.planned = rep
	return nil
}

// unlessEnded notes what is wrong about a pass if, by the report after it, room was still
// being made.
func (c *Checker) unlessEnded(r *preemption, err error) {
	if c.passed && r != nil && !r.ended && !slices.Contains(c.opened, r) {
		c.trespasses = append(c.trespasses, trespass{r.beneficiary, r, err})
	}
}

// isPreemption reports whether a reservation is that of the beneficiary of a preemption.
func (c *Checker) isPreemption(key gangKey, r *berth.ReservationReport) bool {
	p := c.preemptions[key]
	return p != nil && p.until == r.Until
}

// againstPreemptions: a beneficiary has a reservation, from now on and for as long as the
// preemption may take. A preemption that is not listed any more has ended.
func (c *Checker) againstPreemptions(gangs map[gangKey]berth.ReservationReport) error {
	for _, r := range c.opened {
		after, some := gangs[r.beneficiary]
		r.members = after.Members
		switch {
		case r.ended:
		case !some:
			return broken(PromiseS7, "%s is evicted for %s, which has no reservation", r.victims[0], r.beneficiary)
		case (after.Members > 0) != c.find(r.beneficiary).grows():
			return broken(PromiseS7, "%s is evicted for %s, which is to get %d further members", r.victims[0], r.beneficiary, after.Members)
		case after.From != r.from || after.Until != r.until:
			return broken(PromiseS7, "%s is evicted for %s, which has a reservation from %d until %d, not from %d until %d",
				r.victims[0], r.beneficiary, after.From, after.Until, r.from, r.until)
		}
	}
	for key := range c.preemptions {
		if r, some := gangs[key]; !some || !c.isPreemption(key, &r) {
			c.endPreemption(key)
		}
	}
	err := c.exchanges(gangs)
	c.opened = nil
	return err
}

// earmark charges beneficiaries, but for some, with the most that they may come to hold, as no
// job is started on the quota that is freed for them, and gangs that move with their shortfall. It
// returns a function that undoes that. They count as having each product that they may get.
func (c *Checker) earmark(but ...*replica) (undo func()) {
	var list earmarks
	for key := range c.preemptions {
		rep := c.find(key)
		if rep == nil || slices.Contains(but, rep) {
			continue
		}
		asked := c.toHave(rep)
		for _, product := range c.mayGet(key) {
			asked[quota.GPUMilliOf(product)] = asked[quota.GPUMilli]
		}
		list.charge(rep.job.queue, asked)
	}
	for key := range c.kept {
		if rep := c.find(key); rep != nil && !slices.Contains(but, rep) {
			list.charge(rep.job.queue, c.lacks(rep))
		}
	}
	return func() { list.undo(0) }
}

// mayGet lists the products that a beneficiary may get: that of the nodes which are set aside
// for it, where these are known and have one, or else all.
func (c *Checker) mayGet(key gangKey) []string {
	all, own := map[string]bool{}, map[string]bool{}
	for _, n := range c.nodes {
		if len(n.gpus) > 0 {
			product := n.spec.GPUs[0].Product
			all[product] = true
			if slices.Contains(c.gangs[key].Nodes, n.spec.ID) {
				own[product] = true
			}
		}
	}
	if len(own) == 1 {
		all = own
	}
	return slices.Sorted(maps.Keys(all))
}

// strays: the pass has withdrawn the requests for checkpoints that no beneficiary needs any more.
func (c *Checker) strays() error {
	for _, rep := range c.stray.sorted() {
		if rep.asked() && rep.needless() && c.jobs[rep.job.spec.ID] == rep.job {
			return broken(PromiseS7, "%s is still asked for a checkpoint, and %s needed its place no longer", rep, rep.reasonToGo())
		}
	}
	clear(c.stray)
	return nil
}

// mayBeEvicted: a victim runs, with no order out, for its minimum run time at least.
func (c *Checker) mayBeEvicted(rep *replica, h berth.OrderHeader) error {
	if c.tooYoung(rep) {
		return broken(PromiseS6, "order %d evicts %s, which runs since %d, shorter than it may", h.ID, rep, rep.started)
	}
	if err := c.mayEvict(rep, h, h.Cause.Beneficiary); err != nil {
		return err
	}
	if rep.cooling = c.inCooldown(rep); rep.cooling && h.Cause.Code == berth.CausePreempted && !c.ownPolicy {
		return broken(PromiseS6, "order %d evicts %s, which runs since %d and was evicted %d times before", h.ID, rep, rep.started, rep.evicted)
	}
	c.victimsNow = append(c.victimsNow, rep)
	rep.preemption = c.begun(gangKey{h.Cause.Beneficiary.Job, h.Cause.Beneficiary.Replica})
	rep.preemption.takesFrom(rep, c.grace(rep))
	return nil
}

// mayEvict: a victim, whole or in part, runs with no order out, and its order names the
// beneficiary by the rules in force.
func (c *Checker) mayEvict(rep *replica, h berth.OrderHeader, to berth.ReplicaRef) error {
	mode, key := c.policy.Preemption.Mode, gangKey{to.Job, to.Replica}
	beneficiary := c.find(key)
	switch {
	case !evicts(h.Cause.Code):
		return broken(PromiseCauses, "order %d evicts %s because of %q", h.ID, rep, h.Cause.Code)
	case rep.state != berth.ReplicaRunning:
		return broken(PromiseS6, "order %d evicts %s, which is %s", h.ID, rep, rep.state)
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	case beneficiary == nil || !beneficiary.waits():
		return broken(PromiseS7, "order %d evicts %s for %s, which does not wait", h.ID, rep, key)
	}
	if rep.job.spec.NonPreemptible {
		return broken(PromiseS6, "order %d evicts %s, which is never preempted, for %s", h.ID, rep, key)
	}
	if c.ownPolicy {
		c.saw("is evicted by a policy of its own")
		return nil
	}
	cause := berth.CauseReclaimed
	if rep.job.queue == beneficiary.job.queue {
		cause = berth.CausePreempted
	}
	below := compareRank(rep, beneficiary) < 0 && rep.job.spec.Class != berth.ClassLatencyCritical
	switch {
	case mode == berth.PreemptionOff, mode == berth.PreemptionReclaim && cause == berth.CausePreempted:
		return broken(PromiseS6, "order %d evicts %s because of %q, and the policy is %q", h.ID, rep, cause, mode)
	case to == h.Cause.Beneficiary && cause != h.Cause.Code:
		return broken(PromiseCauses, "order %d evicts %s of queue %s for %s of queue %s because of %q",
			h.ID, rep, rep.job.queue.spec.Name, beneficiary, beneficiary.job.queue.spec.Name, h.Cause.Code)
	case cause == berth.CausePreempted && beneficiary.grows():
		return broken(PromiseS6, "order %d evicts %s for %s of its queue, which runs and grows", h.ID, rep, beneficiary)
	case cause == berth.CausePreempted && !below:
		return broken(PromiseS6, "order %d evicts %s (%s, priority %d) for %s (%s, priority %d) of its queue", h.ID,
			rep, rep.job.spec.Class, rep.job.spec.Priority, beneficiary, beneficiary.job.spec.Class, beneficiary.job.spec.Priority)
	}
	if c.saw(string(cause)); rep.job.spec.Service != nil {
		c.saw("a replica of a service is evicted")
	}
	return nil
}
