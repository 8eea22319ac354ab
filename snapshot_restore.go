package berth

import (
	"fmt"
	"slices"
)

// Restore makes a core of a snapshot. It behaves as the core that gave the
// snapshot would have, for whatever comes. Any bytes that are no snapshot are
// refused with an *Error. Cost: O(state).
func Restore(b []byte) (*Core, error) { return restore(b, nil, nil) }

// RestoreWith is Restore for a core with a Config.Gain of its own, which no snapshot has: it
// is to be the same function.
func RestoreWith(b []byte, gain Gain) (*Core, error) { return restore(b, gain, nil) }

// restore is Restore with what can be taken over from a core that has it.
func restore(b []byte, gain Gain, tables map[string]*table) (*Core, error) {
	var s snapshot
	if err := decodeStrict("snapshot", b, &s); err != nil {
		return nil, err
	}
	if s.Version != snapshotVersion {
		return nil, &Error{Event: "snapshot", Field: "version", Kind: ErrUnsupported, Reason: fmt.Sprintf("is %d, not %d", s.Version, snapshotVersion)}
	}
	if s.OwnGain != (gain != nil) {
		return nil, &Error{Event: "snapshot", Field: "ownGain", Kind: ErrInvalid, Reason: fmt.Sprintf("is %v: a core is restored with the function for the gain that it had", s.OwnGain)}
	}
	s.Config.Gain = gain
	c, err := New(s.Config)
	if err != nil {
		return nil, err
	}
	c.lender, c.restoring = tables, true
	if err := c.restore(&s); err != nil {
		err.Event = "snapshot"
		return nil, err
	}
	c.lender, c.restoring = nil, false
	return c, nil
}

func (c *Core) restore(s *snapshot) *Error {
	if s.Now < 0 || s.LastAction > maxActions {
		return refuse(ErrInvalid, "now", "is before the epoch, or lastAction is out of range")
	}
	c.now, c.lastAction = s.Now, s.LastAction
	for i := range s.Tables {
		if err := c.restoreTable(&s.Tables[i]); err != nil {
			return err.in(index("tables", i))
		}
	}
	for i := range s.Pools {
		if err := c.restorePool(&s.Pools[i]); err != nil {
			return err.in(index("pools", i))
		}
	}
	for i := range s.Nodes {
		if err := c.restoreNode(&s.Nodes[i]); err != nil {
			return err.in(index("nodes", i))
		}
	}
	for i := range s.Queues {
		if err := c.queueSet(QueueSet{s.Queues[i]}); err != nil {
			return err.in(index("queues", i))
		}
	}
	for i := range s.Reservations {
		if err := c.restoreReservation(&s.Reservations[i]); err != nil {
			return err.in(index("reservations", i))
		}
	}
	for i := range s.Jobs {
		if err := c.restoreJob(&s.Jobs[i]); err != nil {
			return err.in(index("jobs", i))
		}
	}
	for _, restore := range [...]func(*savedJob) *Error{c.restoreYields, c.restorePreemptions, c.checkYields} {
		for i := range s.Jobs {
			if err := restore(&s.Jobs[i]); err != nil {
				return err.in(index("jobs", i))
			}
		}
	}
	c.restoreStrays(s.Jobs)
	for i := range s.Jobs {
		c.restoreBlocked(&s.Jobs[i])
	}
	c.clearFreed()
	for i := range s.Nodes {
		if s.Nodes[i].Freed {
			c.freed(c.nodeByID[s.Nodes[i].Node.ID])
		}
	}
	c.restoreStalled(s.Jobs)
	c.restoreLooked(s.Jobs)
	c.agenda.restore(s)
	*c.totals = s.Totals
	if err := c.restoreLosses(s.Lost); err != nil {
		return err.in("lost")
	}
	if slices.ContainsFunc(c.nodes, func(n *node) bool { return n != nil && n.spare && len(n.members) > 0 }) {
		c.agenda.wantSpares()
	}
	if err := c.restoreMeters(s); err != nil {
		return err
	}
	return c.restorePast(s)
}

func (c *Core) restoreNode(s *savedNode) *Error {
	if err := c.nodeJoined(NodeJoined{s.Node}); err != nil {
		return err
	}
	if err := checkText(s.Reason); err != nil {
		return err.in("reason")
	}
	n := c.nodeByID[s.Node.ID]
	if s.Drains && !s.Cordoned || s.DrainBy < 0 || s.DrainBy != 0 && !s.Drains {
		return refuse(ErrInvalid, "drains", "is set for a node that is not cordoned, or drainBy makes no sense")
	}
	c.cordon(n, s.Cordoned, s.Reason)
	c.drainNode(n, s.Drains, s.DrainBy)
	for i := range s.GPUs {
		if err := c.restoreGPU(n, &s.GPUs[i]); err != nil {
			return err.in(index("gpus", i))
		}
	}
	return c.restoreTrust(n, &s.savedTrust)
}

func (c *Core) restoreJob(s *savedJob) *Error {
	j, err := c.newJob(&s.Job)
	if err != nil {
		return err.in("job")
	}
	if len(s.Replicas) == 0 && (s.Job.Service == nil || s.Cancelled) {
		return refuse(ErrInvalid, "replicas", "is empty")
	}
	c.admit(j)
	if s.Former > 2*maxIncarnation {
		return refuse(ErrInvalid, "former", fmt.Sprintf("%d exceeds %d", s.Former, 2*maxIncarnation))
	}
	j.cancelled, j.former = s.Cancelled, s.Former
	for i := range s.Replicas {
		if err := c.restoreReplica(j, &s.Replicas[i]); err != nil {
			return err.in(index("replicas", i))
		}
	}
	return nil
}

func (c *Core) restoreReplica(j *job, s *savedReplica) *Error {
	switch {
	case s.Replica < 0 || s.Replica > c.config.Limits.Replicas || j.spec.Service == nil && s.Replica > 0:
		return refuse(ErrInvalid, "replica", fmt.Sprintf("%d is out of range", s.Replica))
	case s.Replica < len(j.replicas) && j.replicas[s.Replica] != nil:
		return refuse(ErrDuplicate, "replica", fmt.Sprintf("%d comes twice", s.Replica))
	case int(s.State) >= len(stateNames):
		return refuse(ErrInvalid, "state", "is out of range")
	case j.cancelled && !s.Gone:
		return refuse(ErrInvalid, "gone", "is false in a job that is being cancelled")
	case s.Struck && s.State == Running:
		return refuse(ErrInvalid, "struck", "is set for a replica that runs")
	case s.Backfilled && s.State == Pending:
		return refuse(ErrInvalid, "backfilled", "is set for a replica that waits")
	case max(s.Attempts, s.Repairs, s.Attempt, s.FailedBids, s.Evictions) > maxAttempts || min(s.Attempts, s.Repairs, s.Attempt, s.FailedBids, s.Evictions) < 0 ||
		s.ReadyAt < 0 || s.Checkpointed < 0 || s.Checkpointed > c.now || s.BidAt < 0 || s.RipeAt < 0:
		return refuse(ErrInvalid, "attempts", "a counter is out of range")
	case len(s.Avoid) > maxAvoid:
		return refuse(ErrLimit, "avoid", fmt.Sprintf("names %d nodes", len(s.Avoid)))
	case s.Incarnation > 2*maxIncarnation:
		return refuse(ErrInvalid, "incarnation", fmt.Sprintf("%d exceeds %d", s.Incarnation, 2*maxIncarnation))
	case c.replicas >= c.config.Limits.Replicas:
		return refuse(ErrLimit, "", fmt.Sprintf("there are more than %d replicas", c.config.Limits.Replicas))
	}
	rep := c.newReplicaAt(j, s.Replica)
	rep.state, rep.incarnation = s.State, s.Incarnation
	rep.created, rep.pendingSince, rep.started, rep.readyAt = s.Created, s.PendingSince, s.Started, s.ReadyAt
	rep.cameAt, rep.resumed = s.CameAt, s.Resumed
	rep.struck, rep.backfilled, rep.attempts, rep.repairs, rep.avoid = s.Struck, s.Backfilled, s.Attempts, s.Repairs, s.Avoid
	rep.cause, rep.attempt, rep.gone, rep.backoff = s.Cause, s.Attempt, s.Gone, s.Backoff
	rep.activeMilli = min(max(s.Active, 0), 1000)
	if rep.state != Pending {
		rep.members = make([]member, j.members())
	}
	for i := range s.Members {
		if err := c.restoreMember(rep, &s.Members[i]); err != nil {
			return err.in(index("members", i))
		}
	}
	if err := c.restoreOrder(rep, s.Order); err != nil {
		return err.in("order")
	}
	if err := rep.consistent(); err != nil {
		return err
	}
	if rep.leaves = s.Leaves; rep.leaves {
		if !rep.asked() {
			return refuse(ErrInvalid, "leaves", "is set for a replica that was not asked for a checkpoint")
		}
		c.noteLeaving(rep, true)
	}
	rep.checkpointed, rep.bidAt, rep.failedBids = s.Checkpointed, s.BidAt, s.FailedBids
	rep.tells, rep.evictions, rep.ripeAt = s.Tells, s.Evictions, s.RipeAt
	if rep.state == Running {
		c.noteRunning(rep, true)
	}
	if rep.has(memberStopping) {
		c.noteLeaving(rep, true)
	}
	c.restoreTimers(rep)
	rep.drainAt, rep.reshapeAt, rep.payAt = s.DrainAt, s.ReshapeAt, s.PayAt
	if s.Drain != nil {
		if err := c.restoreDrain(rep, s.Drain); err != nil {
			return err.in("drain")
		}
	}
	if rep.ripeAt != 0 && (rep.state != Pending || rep.entries == nil) {
		return refuse(ErrInvalid, "ripeAt", "is set for a replica that does not wait")
	}
	return c.restoreWindows(rep, s)
}

func (c *Core) restoreMember(rep *replica, s *savedMember) *Error {
	j := rep.job
	flat := j.flat(s.Ref())
	state := memberState(max(0, slices.Index(memberStateNames[:], s.State)))
	switch {
	case flat < 0 || rep.members == nil || rep.members[flat].state != memberAbsent:
		return refuse(ErrInvalid, "", fmt.Sprintf("%v is no member of the gang, or is doubled, or the replica is pending", s.Ref()))
	case state == memberAbsent:
		return refuse(ErrInvalid, "state", fmt.Sprintf("%q is no state of a member", s.State))
	case !state.holds():
		rep.members[flat].state = state
		return nil
	}
	if err := c.checkPlacement(&j.spec.Groups[j.group(flat)].Claim, &s.MemberPlacement); err != nil {
		return err
	}
	if err := c.checkMode(&j.spec.Groups[j.group(flat)].Claim, &s.MemberPlacement); err != nil {
		return err
	}
	hold := c.holdOf(j, &s.MemberPlacement)
	for _, g := range s.GPUs.Indexes() {
		if mode := c.nodeByID[s.Node].spec.GPUs[g].Mode; mode != j.spec.Groups[j.group(flat)].Claim.mode() {
			c.owners.releaseShare(hold.Share)
			return refuse(ErrInvalid, "gpus", fmt.Sprintf("GPU %d is in mode %s", g, mode))
		}
	}
	defer c.owners.releaseShare(hold.Share) // book counts it
	if err := c.fleet.Adopt(hold); err != nil {
		return refuse(ErrConflict, "", err.Error())
	}
	c.book(rep, flat, hold, state)
	rep.members[flat].bind, rep.members[flat].ran = s.Bind, s.Ran || state == memberRunning
	return nil
}

func (c *Core) restoreOrder(rep *replica, w *actionJSON) *Error {
	if w == nil {
		return nil
	}
	order, n := unwrapAction(w)
	if n != 1 {
		return refuse(ErrInvalid, "", fmt.Sprintf("names %d kinds of action instead of one", n))
	}
	h := order.Header()
	switch order.(type) {
	case Drop, Repartition, Withdraw:
		return refuse(ErrInvalid, "", "it is no order about a replica that is reported")
	}
	switch {
	case h.ID == 0 || h.ID > c.lastAction || c.orders[h.ID] != nil:
		return refuse(ErrInvalid, "id", fmt.Sprintf("%d was never given, or comes twice", h.ID))
	case h.Job != rep.job.spec.ID || h.Replica != rep.number:
		return refuse(ErrInvalid, "job", "is another replica's")
	}
	rep.order = order
	c.orders[h.ID] = rep
	c.setTimer(timer{at: h.Deadline, kind: timerDeadline, rep: rep})
	return nil
}

// consistent refuses a combination of state, members and order that the core
// cannot have been in.
func (rep *replica) consistent() *Error {
	_, bind := rep.order.(Bind)
	_, release := rep.order.(Release)
	ok := (!rep.has(memberBinding) || bind) && (!rep.asked() || rep.state == Running)
	switch rep.state {
	case Pending:
		ok = ok && rep.order == nil
	case Binding:
		ok = ok && bind && !rep.has(memberStopping)
	case Running:
		ok = ok && rep.enough(memberRunning) && !((bind || rep.asked()) && rep.has(memberStopping))
	case Repairing:
		ok = ok && rep.order == nil && rep.has(memberRunning) && !rep.has(memberStopping)
	case Releasing:
		ok = ok && !bind && rep.has(memberStopping) && !rep.has(memberRunning)
	}
	if !ok || release && !rep.has(memberStopping) || rep.gone && rep.state != Releasing {
		return refuse(ErrInvalid, "state", fmt.Sprintf("%s does not go with its members and order", rep.state))
	}
	return nil
}

// restoreTimers enters a replica where the core looks for work.
func (c *Core) restoreTimers(rep *replica) {
	if rep.readyAt != 0 {
		c.setTimer(timer{at: rep.readyAt, kind: timerBackoff, rep: rep})
	}
	if at, limited := rep.dropAt(); limited && rep.state == Pending {
		c.setTimer(timer{at: at, kind: timerGang, rep: rep})
	}
	if rep.order == nil && (rep.state == Repairing || rep.has(memberStopping)) {
		c.noteTodo(rep, true)
	}
	c.await(rep)
}

// restoreBlocked marks what the core knew to be impossible. Without it a
// restored core would find out again, which is the same but for the budget of
// the pass.
func (c *Core) restoreBlocked(s *savedJob) {
	for i := range s.Replicas {
		rep := c.jobs[s.Job.ID].replicas[s.Replicas[i].Replica]
		for _, e := range rep.entries {
			if slices.Contains(s.Replicas[i].NoCapacity, e.group) {
				c.block(e.bucket.shape)
			}
			if slices.Contains(s.Replicas[i].NoQuota, e.group) && e.bucket.quotaSlot < 0 {
				c.quotaBlock(e.bucket)
			}
			if slices.Contains(s.Replicas[i].Fresh, e.group) {
				c.freshen(e)
			}
		}
	}
}
