package berth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A savedOrder is an order as EncodeAction has it.
type savedOrder = json.RawMessage

type savedReplica struct {
	Replica      int           `json:"replica"`
	State        State         `json:"state"`
	Incarnation  Incarnation   `json:"incarnation"`
	Created      Time          `json:"created"`
	PendingSince Time          `json:"pendingSince"`
	Started      Time          `json:"started"`
	CameAt       Time          `json:"cameAt"`
	Resumed      bool          `json:"resumed,omitempty"`
	ReadyAt      Time          `json:"readyAt,omitempty"`
	Struck       bool          `json:"struck,omitempty"`
	Backfilled   bool          `json:"backfilled,omitempty"`
	Attempts     int           `json:"attempts,omitempty"`
	Repairs      int           `json:"repairs,omitempty"`
	Avoid        []NodeID      `json:"avoid,omitempty"`
	Members      []savedMember `json:"members,omitempty"`
	Order        *savedOrder   `json:"order,omitempty"`
	Cause        Cause         `json:"cause,omitzero"`
	Attempt      int           `json:"attempt,omitempty"`
	Gone         bool          `json:"gone,omitempty"`
	Backoff      bool          `json:"backoff,omitempty"`
	// NoCapacity and NoQuota list the groups of which the core knows that what they
	// wait for does not fit; group 0 stands for a whole gang.
	NoCapacity []int `json:"noCapacity,omitempty"`
	NoQuota    []int `json:"noQuota,omitempty"`
	// Fresh lists those that are yet to be tried on nodes that are set aside.
	Fresh     []int        `json:"fresh,omitempty"`
	EndsAt    Time         `json:"endsAt,omitempty"`
	Reserved  *savedWindow `json:"reserved,omitempty"`
	Moving    *savedWindow `json:"moving,omitempty"`
	Leaves    bool         `json:"leaves,omitempty"`
	Active    int64        `json:"activeMilli,omitempty"`
	ReserveAt Time         `json:"reserveAt,omitempty"`
	Stalled   bool         `json:"stalled,omitempty"`
	Hopeless  bool         `json:"hopeless,omitempty"`
	Exclusive [][]string   `json:"exclusive,omitempty"`
	Drain     *savedDrain  `json:"drain,omitempty"`
	DrainAt   Time         `json:"drainAt,omitempty"`
	ReshapeAt Time         `json:"reshapeAt,omitempty"`
	PayAt     Time         `json:"payAt,omitempty"`
	Looked    bool         `json:"looked,omitempty"` // and nothing has changed since
	// Checkpointed, BidAt, and Bid: it was in vain, and nothing has changed since.
	Checkpointed Time `json:"checkpointed,omitempty"`
	Tells        bool `json:"tells,omitempty"`
	Evictions    int  `json:"evictions,omitempty"`
	RipeAt       Time `json:"ripeAt,omitempty"`
	BidAt        Time `json:"bidAt,omitempty"`
	Bid          bool `json:"bid,omitempty"`
	FailedBids   int  `json:"failedBids,omitempty"`
}

type savedMember struct {
	State string   `json:"state"`
	Bind  ActionID `json:"bind,omitempty"`
	Ran   bool     `json:"ran,omitempty"`
	// For is whom it yields to while the rest of its gang goes on.
	For ReplicaRef `json:"for,omitzero"`
	MemberPlacement
}

// The names of memberState; memberAbsent is not saved.
var memberStateNames = [...]string{"absent", "binding", "running", "failed", "lost", "stopping"}

func (c *Core) saveReplica(rep *replica) savedReplica {
	saved := savedReplica{
		Replica: rep.number, State: rep.state, Incarnation: rep.incarnation,
		Created: rep.created, PendingSince: rep.pendingSince, Started: rep.started, CameAt: rep.cameAt, Resumed: rep.resumed, ReadyAt: rep.readyAt,
		Struck: rep.struck, Backfilled: rep.backfilled, Attempts: rep.attempts, Repairs: rep.repairs, Avoid: rep.avoid,
		Cause: rep.cause, Attempt: rep.attempt, Gone: rep.gone, Backoff: rep.backoff,
		Active: rep.activeMilli, Drain: rep.saveDrain(), DrainAt: rep.drainAt, ReshapeAt: rep.reshapeAt, PayAt: rep.payAt,
		Looked: rep.looked == c.agenda.reshapeTurn,
		EndsAt: rep.endsAt, ReserveAt: rep.reserveAt, Stalled: c.stalled(rep), Hopeless: c.hopeless(rep),
		Checkpointed: rep.checkpointed, Tells: rep.tells, Evictions: rep.evictions, RipeAt: rep.ripeAt, BidAt: rep.bidAt, Bid: rep.bidTurn == c.agenda.preemptTurn, FailedBids: rep.failedBids,
		Leaves: rep.leaves,
	}
	for flat := range rep.members {
		if state := rep.members[flat].state; state != memberAbsent {
			saved.Members = append(saved.Members, c.saveMember(rep, flat))
		}
	}
	if rep.order != nil {
		order, err := EncodeAction(rep.order)
		must(err)
		saved.Order = (*savedOrder)(&order)
	}
	saveWaiting(rep, &saved)
	c.saveWindows(rep, &saved)
	return saved
}

func (c *Core) saveMember(rep *replica, flat int) savedMember {
	m := &rep.members[flat]
	saved := savedMember{State: memberStateNames[m.state], Bind: m.bind, Ran: m.ran}
	if m.yieldsTo != nil {
		saved.For = m.yieldsTo.ref()
	}
	if m.state.holds() {
		saved.MemberPlacement = c.placementOf(rep, flat)
	} else {
		g := rep.job.group(flat)
		saved.Group, saved.Index = rep.job.spec.Groups[g].Name, flat-rep.job.offsets[g]
	}
	return saved
}

func (c *Core) restoreReplica(j *job, s *savedReplica) *Error {
	if err := c.checkReplica(j, s); err != nil {
		return err
	}
	rep := c.newReplicaAt(j, s.Replica)
	rep.state, rep.incarnation = s.State, s.Incarnation
	rep.created, rep.pendingSince, rep.started, rep.readyAt = s.Created, s.PendingSince, s.Started, s.ReadyAt
	rep.cameAt, rep.resumed = s.CameAt, s.Resumed
	rep.struck, rep.backfilled, rep.attempts, rep.repairs, rep.avoid = s.Struck, s.Backfilled, s.Attempts, s.Repairs, s.Avoid
	rep.cause, rep.attempt, rep.gone, rep.backoff = s.Cause, s.Attempt, s.Gone, s.Backoff
	rep.activeMilli = min(max(s.Active, 0), 1000)
	rep.checkpointed, rep.bidAt, rep.failedBids = s.Checkpointed, s.BidAt, s.FailedBids
	rep.tells, rep.evictions, rep.ripeAt = s.Tells, s.Evictions, s.RipeAt
	rep.drainAt, rep.reshapeAt, rep.payAt = s.DrainAt, s.ReshapeAt, s.PayAt
	rep.reserveAt = s.ReserveAt
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
	c.restoreTimers(rep)
	return c.restoreEnd(rep, s.EndsAt)
}

// checkReplica refuses a replica that makes no sense, whatever it holds.
func (c *Core) checkReplica(j *job, s *savedReplica) *Error {
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
	case s.EndsAt < 0 || s.ReserveAt < 0:
		return refuse(ErrInvalid, "endsAt", "is before the epoch, or reserveAt is")
	case c.replicas >= c.config.Limits.Replicas:
		return refuse(ErrLimit, "", fmt.Sprintf("there are more than %d replicas", c.config.Limits.Replicas))
	}
	return nil
}

// restoreEnd restores when a replica is expected to end.
func (c *Core) restoreEnd(rep *replica, at Time) *Error {
	switch {
	case at != 0 && rep.state == Pending:
		return refuse(ErrInvalid, "endsAt", "is set for a replica that holds nothing")
	case at == 0 && rep.holds() && rep.job.spec.Service == nil:
		return refuse(ErrInvalid, "endsAt", "is missing for a replica that holds something")
	case at != 0:
		c.setEnd(rep, at)
	}
	return nil
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

func (c *Core) restoreOrder(rep *replica, saved *savedOrder) *Error {
	if saved == nil {
		return nil
	}
	order, err := DecodeAction(*saved)
	if e := (*Error)(nil); errors.As(err, &e) {
		return refuse(ErrInvalid, e.Field, e.Reason)
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

// restoreTimers enters what falls due of a replica.
func (c *Core) restoreTimers(rep *replica) {
	if rep.readyAt != 0 {
		c.setTimer(timer{at: rep.readyAt, kind: timerBackoff, rep: rep})
	}
	if at, limited := rep.dropAt(); limited && rep.state == Pending {
		c.setTimer(timer{at: at, kind: timerGang, rep: rep})
	}
}
