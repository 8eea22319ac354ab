package check

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// This file is about GPUs that are held and idle, as the comments of Lend and Borrow state it:
// which jobs may stand over them, and by when they are given back. It keeps its own account of
// activity.

// loans is what is known of what is lent and borrowed.
type loans struct {
	// borrowers are those that hold something.
	borrowers set
}

// A quiet says how busy a replica is that lends, or by when a borrower gives back.
type quiet struct {
	// told: an activity was reported in this life. since is since when it is quiet; 0: it is not.
	told  bool
	since berth.Time
	// within is the least span of the lenders of a borrower, as it last stood. by is the instant at
	// which it is stopped at the latest, as was found at noted; 0: it may stay.
	within    berth.Duration
	by, noted berth.Time
}

// isBorrower reports whether a job stands over what others hold.
func isBorrower(j *berth.Job) bool {
	return slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return g.Claim.Borrow != nil })
}

// mayLend refuses a job that lends what it cannot, and a borrower that asks for more than that.
func mayLend(j *berth.Job) error {
	whole := slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return g.Claim.GPUs > 0 })
	if l := j.Lend; l != nil && (l.Within < 0 || l.MemoryMiB < 1 || !whole || isBorrower(j) || j.Topology.Exclusive != "") {
		return broken(PromiseEvents, "job %s was accepted, which lends %+v", j.ID, *l)
	}
	if !isBorrower(j) {
		return nil
	}
	other := slices.ContainsFunc(j.Groups, func(g berth.Group) bool {
		return g.Claim.Borrow == nil && wantsGPU(&g) || minimum(&g) != g.Members || g.Claim.Borrow != nil && g.Claim.Borrow.MemoryMiB < 1
	})
	if other || j.Service != nil || j.Class != berth.ClassBatch || j.MinRuntime != 0 || j.Topology.Exclusive != "" {
		return broken(PromiseEvents, "job %s was accepted, which borrows, and asks for more than a borrower may", j.ID)
	}
	return nil
}

// noteActivity notes whether a replica that lends is quiet, by what it told last.
func (c *Checker) noteActivity(rep *replica) {
	q, most := &rep.quiet, c.policy.Lending.QuietMilli
	switch {
	case rep.job.spec.Lend == nil:
	case !q.told || most < 0 || rep.activeMilli > int64(most):
		q.since = 0
	case q.since == 0:
		q.since = max(c.now, 1)
	}
}

// lends reports whether a member may have a borrower over the GPUs that it holds whole: it runs, is
// quiet, and has not to go.
func (m *member) lends() bool {
	return m.rep.job.spec.Lend != nil && m.rep.quiet.since != 0 && m.state == running && m.rep.state == berth.ReplicaRunning && !m.rep.asked() && !m.hasToLeave()
}

// hasToLeave reports whether a member has to leave its node.
func (m *member) hasToLeave() bool {
	_, has := m.node.leftBy(m.rep)
	return has
}

// lentTo: the two are of one trust domain, and the memory of the GPU is enough for both.
func lentTo(lender, borrower *member, n *node, gpu int) error {
	l := lender.rep.job.spec.Lend
	switch {
	case l == nil:
		return broken(PromiseLoans, "%s stands over GPU %d of node %s, which %s holds and does not lend", borrower, gpu, n.spec.ID, lender)
	case trust(&lender.rep.job.spec) != trust(&borrower.rep.job.spec):
		return broken(PromiseLoans, "%s of %s stands over GPU %d of node %s, which is lent by %s of %s", borrower, trust(&borrower.rep.job.spec), gpu, n.spec.ID, lender, trust(&lender.rep.job.spec))
	case l.MemoryMiB+borrower.at.ShareMemoryMiB > n.spec.GPUs[gpu].MemoryMiB:
		return broken(PromiseLoans, "%s with %d MiB stands over GPU %d of node %s, of which %s uses %d of %d", borrower, borrower.at.ShareMemoryMiB, gpu, n.spec.ID, lender, l.MemoryMiB, n.spec.GPUs[gpu].MemoryMiB)
	}
	return nil
}

// holdOver: a borrower stands over a GPU that nobody else borrows, shares or has in parts.
func (n *node) holdOver(i int, m *member) error {
	g := &n.gpus[i]
	switch {
	case g.over != nil:
		return broken(PromiseS1, "GPU %d of node %s is borrowed by %s and by %s", i, n.spec.ID, g.over, m)
	case len(g.shares)+len(g.seats) > 0:
		return broken(PromiseS1, "GPU %d of node %s is borrowed by %s, and others have parts of it", i, n.spec.ID, m)
	}
	if g.whole != nil {
		if err := lentTo(g.whole, m, n, i); err != nil {
			return err
		}
	}
	g.over = m
	return nil
}

// mayStandOver: a member that is placed stands over a GPU that is held by a replica which has been
// quiet for long enough.
func (c *Checker) mayStandOver(m *member) error {
	for _, i := range m.at.GPUs.Indexes() {
		lender := m.node.gpus[i].whole
		switch {
		case lender == nil:
			return broken(PromiseLoans, "order %d places %s over GPU %d of node %s, which nobody holds", c.last, m, i, m.node.spec.ID)
		case !lender.lends():
			return broken(PromiseLoans, "order %d places %s over GPU %d of node %s, which %s does not lend now", c.last, m, i, m.node.spec.ID, lender)
		case c.now < lender.rep.quiet.since.Add(max(c.policy.Lending.QuietFor, 0)):
			return broken(PromiseLoans, "order %d places %s over GPU %d of node %s, where %s is quiet since %d", c.last, m, i, m.node.spec.ID, lender, lender.rep.quiet.since)
		}
	}
	c.saw("borrowed GPU placed")
	return nil
}

// notBorrowed: a GPU that a borrower holds is given to nobody else, also once its lender is gone.
func (c *Checker) notBorrowed(m *member, n *node) error {
	for _, i := range m.at.GPUs.Indexes() {
		if i < len(n.gpus) && n.gpus[i].over != nil { // else see hold
			return broken(PromiseS1, "order %d places %s on GPU %d of node %s, which %s has yet to give back", c.last, m, i, n.spec.ID, n.gpus[i].over)
		}
	}
	return nil
}

// stands reports whether a borrower may stay where it is, and the least span of its lenders.
func (rep *replica) stands() (within berth.Duration, ok bool) {
	within = 1 << 60
	for _, m := range rep.members {
		if m.node == nil {
			continue
		}
		if m.hasToLeave() {
			return 0, false
		}
		if m.claim().Borrow == nil {
			continue
		}
		for _, i := range m.at.GPUs.Indexes() {
			lender := m.node.gpus[i].whole
			if lender == nil || !lender.lends() {
				return 0, false
			}
			within = min(within, lender.rep.job.spec.Lend.Within)
		}
	}
	return within, true
}

// noteLoans notes by when each borrower has to give back that may not stay any more.
func (c *Checker) noteLoans() {
	for _, rep := range c.borrowers.sorted() {
		if rep.state == berth.ReplicaPending || rep.state == berth.ReplicaReleasing {
			continue
		}
		if within, ok := rep.stands(); ok && !rep.givesBack() {
			rep.quiet.within, rep.quiet.by = within, 0
			continue
		}
		if rep.quiet.by == 0 {
			rep.quiet.by, rep.quiet.noted = max(c.now.Add(rep.quiet.within/2), 1), max(c.now, 1)
			c.saw("a borrower has to give back while " + rep.doing())
		}
		if by, drained := rep.drainedBy(); drained && by > c.now {
			rep.quiet.by = min(rep.quiet.by, by)
		}
	}
}

// givesBack reports whether a borrower was asked for a checkpoint because it has to give back.
func (rep *replica) givesBack() bool {
	return rep.asked() && rep.order.Header().Cause.Code == berth.CauseGivenBack
}

// mustGiveBack: a borrower that is told to give back may not stay.
func (c *Checker) mustGiveBack(rep *replica, h berth.OrderHeader) error {
	switch {
	case !isBorrower(&rep.job.spec):
		return broken(PromiseLoans, "order %d has %s give back, which has borrowed nothing", h.ID, rep)
	case rep.quiet.by == 0:
		return broken(PromiseLoans, "order %d has %s give back, whose lenders are quiet", h.ID, rep)
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	}
	return nil
}

// leftToGiveBack is how long a borrower has for its last checkpoint.
func (c *Checker) leftToGiveBack(rep *replica) berth.Duration {
	return min(c.grace(rep), rep.quiet.by.Sub(c.now))
}

// endStart: a borrower that is being started is stopped at once if it has to give back, whatever
// order is out.
func (c *Checker) endStart(a berth.Order) error {
	h := a.Header()
	rep := c.find(gangKey{h.Job, h.Replica})
	if _, stops := a.(berth.Release); !stops || rep == nil || h.Cause.Code != berth.CauseGivenBack {
		return nil
	}
	if rep.state != berth.ReplicaBinding && rep.state != berth.ReplicaRepairing {
		return nil
	}
	c.saw("a borrower gives back before it runs")
	if err := c.mustGiveBack(rep, h); err != nil {
		return err
	}
	c.signal(rep, protocol.SignalStop)
	c.stop(rep, berth.CauseGivenBack)
	return nil
}

// hasNoTime reports whether a borrower that runs is stopped without a request for a checkpoint, as
// there is no time for one.
func (c *Checker) hasNoTime(rep *replica, cause berth.CauseCode) bool {
	return cause == berth.CauseGivenBack && rep.quiet.by <= c.now
}

// endVainStarts ends the starts of borrowers that have to give back, and of which no member is left
// to be stopped: no order is given for that.
func (c *Checker) endVainStarts() {
	for _, rep := range c.borrowers.sorted() {
		starts := rep.state == berth.ReplicaBinding || rep.state == berth.ReplicaRepairing
		if starts && rep.quiet.by != 0 && !rep.has(binding) && !rep.has(running) {
			c.saw("a borrower gives back of which nobody is left")
			c.stop(rep, berth.CauseGivenBack)
		}
	}
}

// givenBack: after a pass each borrower that may not stay is on its way out, and in time. What is
// noted to be due at the instant 0, which stands for none, is due a millisecond later.
func (c *Checker) givenBack() error {
	if c.endVainStarts(); c.now == 0 {
		return nil
	}
	for _, rep := range c.borrowers.sorted() {
		if rep.state == berth.ReplicaPending || rep.state == berth.ReplicaReleasing {
			continue
		}
		by := rep.quiet.by
		switch {
		case by == 0:
		case !rep.asked():
			return broken(PromiseLoans, "%s has to give back by %d, and was not told", rep, by)
		case rep.order.Header().Deadline > by || by <= c.now:
			return broken(PromiseLoans, "%s has to give back by %d, and has until %d", rep, by, rep.order.Header().Deadline)
		}
	}
	return nil
}

// vacates imagines the borrowers of a member gone with it, or back.
func (m *member) vacates(n *node, gone bool) {
	if m.claim().GPUs == 0 || m.rep.job.spec.Lend == nil {
		return
	}
	for _, i := range m.at.GPUs.Indexes() {
		n.gpus[i].vacated = gone
	}
}

// lendable reports whether a GPU would certainly take a borrower now.
func (c *Checker) lendable(n *node, i int, domain string, memory int64) bool {
	g := &n.gpus[i]
	return g.over == nil && g.whole != nil && !n.failed.Has(i) && g.whole.lends() && c.now >= g.whole.rep.quiet.since.Add(max(c.policy.Lending.QuietFor, 0)) &&
		trust(&g.whole.rep.job.spec) == domain && g.whole.rep.job.spec.Lend.MemoryMiB+memory <= n.spec.GPUs[i].MemoryMiB
}

// againstLoans holds what a report says of what is lent against the checker's own counts.
func (c *Checker) againstLoans(r berth.GPUCount) error {
	lent, borrowed := int64(0), int64(0)
	for _, n := range c.nodes {
		for i := range n.gpus {
			g := &n.gpus[i]
			if g.over != nil {
				borrowed += 1000
			}
			if g.whole != nil && g.whole.lends() && c.passed && c.now >= g.whole.rep.quiet.since.Add(max(c.policy.Lending.QuietFor, 0)) &&
				g.whole.rep.job.spec.Lend.MemoryMiB < n.spec.GPUs[i].MemoryMiB {
				lent += 1000
			}
		}
	}
	if borrowed != r.BorrowedMilli || c.passed && lent != r.LendableMilli {
		return broken(PromiseLoans, "the report counts %d GPUs as lendable and %d as borrowed, in thousandths; it is %d and %d", r.LendableMilli, r.BorrowedMilli, lent, borrowed)
	}
	return nil
}
