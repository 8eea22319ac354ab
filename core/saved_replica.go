package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// A savedOrder is an order as EncodeAction has it.
type savedOrder = json.RawMessage

// A savedReplica is a replica: its parts, and what it refers to by name.
type savedReplica struct {
	lifePart
	retryPart
	Members []savedMember `json:"members,omitempty"`
	Order   *savedOrder   `json:"order,omitempty"`
	releasePart
	// NoCapacity and NoQuota list the groups of which the core knows that what they
	// wait for does not fit; group 0 stands for a whole gang.
	NoCapacity []int `json:"noCapacity,omitempty"`
	NoQuota    []int `json:"noQuota,omitempty"`
	// Fresh lists those that are yet to be tried on nodes that are set aside.
	Fresh    []int        `json:"fresh,omitempty"`
	EndsAt   berth.Time   `json:"endsAt,omitempty"`
	Reserved *savedWindow `json:"reserved,omitempty"`
	Moving   *savedWindow `json:"moving,omitempty"`
	Leaves   bool         `json:"leaves,omitempty"`
	Active   int64        `json:"activeMilli,omitempty"`
	reservePart
	// Stalled, Hopeless: nothing has changed since those turns.
	Stalled   bool        `json:"stalled,omitempty"`
	Hopeless  bool        `json:"hopeless,omitempty"`
	Exclusive [][]string  `json:"exclusive,omitempty"`
	Drain     *savedDrain `json:"drain,omitempty"`
	lookPart
	// Looked: nothing has changed since its Turn.
	Looked bool `json:"looked,omitempty"`
	yieldPart
	bidPart
	// Bid: nothing has changed since its Turn.
	Bid        bool `json:"bid,omitempty"`
	FailedBids int  `json:"failedBids,omitempty"`
}

// A savedMember is a member, and what it holds.
type savedMember struct {
	State string `json:"state"`
	startPart
	// For is whom it yields to while the rest of its gang goes on.
	For berth.ReplicaRef `json:"for,omitzero"`
	berth.MemberPlacement
}

// The names of memberState; memberAbsent is not saved.
const memberStateNames enum.Names = "absent|binding|running|failed|lost|stopping"

func (c *Core) saveReplica(rep *replica) savedReplica {
	saved := savedReplica{
		lifePart: rep.lifePart, retryPart: rep.retry, releasePart: rep.release,
		reservePart: rep.reserve, lookPart: rep.look, yieldPart: rep.yield, bidPart: rep.bid,
		Stalled: c.stalled(rep), Hopeless: c.hopeless(rep),
		Looked: rep.look.Turn == c.agenda.reshapeTurn, Bid: rep.bid.Turn == c.agenda.preemptTurn,
		EndsAt: rep.endsAt, Leaves: rep.leaves, Active: rep.activeMilli, FailedBids: rep.failedBids, Drain: rep.saveDrain(),
	}
	for flat := range rep.members {
		if state := rep.members[flat].state; state != memberAbsent {
			saved.Members = append(saved.Members, c.saveMember(rep, flat))
		}
	}
	if rep.order != nil {
		order, err := berth.EncodeAction(rep.order)
		must(err)
		saved.Order = (*savedOrder)(&order)
	}
	saveWaiting(rep, &saved)
	c.saveWindows(rep, &saved)
	return saved
}

func (c *Core) saveMember(rep *replica, flat int) savedMember {
	m := &rep.members[flat]
	saved := savedMember{State: enum.Text(memberStateNames, m.state, ""), startPart: m.startPart}
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

func (c *Core) restoreReplica(j *job, s *savedReplica) *berth.Error {
	if err := c.checkReplica(j, s); err != nil {
		return err
	}
	rep := c.newReplicaAt(j, s.Number)
	rep.lifePart, rep.retry, rep.release = s.lifePart, s.retryPart, s.releasePart
	rep.reserve, rep.look, rep.yield, rep.bid = s.reservePart, s.lookPart, s.yieldPart, s.bidPart
	rep.activeMilli, rep.failedBids = min(max(s.Active, 0), 1000), s.FailedBids
	if rep.State != berth.Pending {
		rep.members = make([]member, j.members())
	}
	for i := range s.Members {
		if err := c.restoreMember(rep, &s.Members[i]); err != nil {
			return refusal.In(err, errtext.Index("members", i))
		}
	}
	if err := c.restoreOrder(rep, s.Order); err != nil {
		return refusal.In(err, "order")
	}
	if err := rep.consistent(); err != nil {
		return err
	}
	c.restoreTimers(rep)
	return c.restoreEnd(rep, s.EndsAt)
}

// checkReplica refuses a replica that makes no sense, whatever it holds.
func (c *Core) checkReplica(j *job, s *savedReplica) *berth.Error {
	switch {
	case s.Number < 0 || s.Number > c.config.Limits.Replicas || j.spec.Service == nil && s.Number > 0:
		return refusal.Of(berth.ErrInvalid, "replica", fmt.Sprintf("%d is out of range", s.Number))
	case s.Number < len(j.replicas) && j.replicas[s.Number] != nil:
		return refusal.Of(berth.ErrDuplicate, "replica", fmt.Sprintf("%d comes twice", s.Number))
	case s.State > berth.Releasing:
		return refusal.Of(berth.ErrInvalid, "state", "is out of range")
	case j.Cancelled && !s.Gone:
		return refusal.Of(berth.ErrInvalid, "gone", "is false in a job that is being cancelled")
	case !inRange(s.Attempt, s.FailedBids):
		return refuseCounter()
	case s.Incarnation > 2*limits.MaxIncarnation:
		return refusal.Of(berth.ErrInvalid, "incarnation", fmt.Sprintf("%d exceeds %d", s.Incarnation, berth.Incarnation(2*limits.MaxIncarnation)))
	case s.EndsAt < 0 || s.reservePart.At < 0:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is before the epoch, or reserveAt is")
	case c.replicas >= c.config.Limits.Replicas:
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("there are more than %d replicas", c.config.Limits.Replicas))
	}
	if err := s.retryPart.check(s.State); err != nil {
		return err
	}
	if err := s.yieldPart.check(c.now); err != nil {
		return err
	}
	return s.bidPart.check()
}

// check refuses what a replica in a state cannot have been through.
func (p *retryPart) check(state berth.State) *berth.Error {
	switch {
	case p.Struck && state == berth.Running:
		return refusal.Of(berth.ErrInvalid, "struck", "is set for a replica that runs")
	case p.Backfilled && state == berth.Pending:
		return refusal.Of(berth.ErrInvalid, "backfilled", "is set for a replica that waits")
	case !inRange(p.Attempts, p.Repairs) || p.ReadyAt < 0:
		return refuseCounter()
	case len(p.Avoid) > maxAvoid:
		return refusal.Of(berth.ErrLimit, "avoid", fmt.Sprintf("names %d nodes", len(p.Avoid)))
	}
	return nil
}

func (p *yieldPart) check(now berth.Time) *berth.Error {
	if !inRange(p.Evictions) || p.Checkpointed < 0 || p.Checkpointed > now {
		return refuseCounter()
	}
	return nil
}

func (p *bidPart) check() *berth.Error {
	if p.At < 0 || p.RipeAt < 0 {
		return refuseCounter()
	}
	return nil
}

// inRange reports whether counters are as high as the core counts.
func inRange(counters ...int) bool {
	return slices.Min(counters) >= 0 && slices.Max(counters) <= limits.MaxAttempts
}

// refuseCounter refuses a counter, or an instant, that is out of range.
func refuseCounter() *berth.Error {
	return refusal.Of(berth.ErrInvalid, "attempts", "a counter is out of range")
}

// restoreEnd restores when a replica is expected to end.
func (c *Core) restoreEnd(rep *replica, at berth.Time) *berth.Error {
	switch {
	case at != 0 && rep.State == berth.Pending:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is set for a replica that holds nothing")
	case at == 0 && rep.holds() && rep.job.spec.Service == nil:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is missing for a replica that holds something")
	case at != 0:
		c.setEnd(rep, at)
	}
	return nil
}

func (c *Core) restoreMember(rep *replica, s *savedMember) *berth.Error {
	j := rep.job
	flat := j.flat(s.Ref())
	state, _ := enum.Parse[memberState](memberStateNames, s.State)
	switch {
	case flat < 0 || rep.members == nil || rep.members[flat].state != memberAbsent:
		return refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("%v is no member of the gang, or is doubled, or the replica is pending", s.Ref()))
	case state == memberAbsent:
		return refusal.Of(berth.ErrInvalid, "state", fmt.Sprintf("%q is no state of a member", s.State))
	case !state.holds():
		rep.members[flat].state = state
		return nil
	}
	hold, err := c.restoreHold(j, &j.spec.Groups[j.group(flat)].Claim, &s.MemberPlacement)
	if err != nil {
		return err
	}
	c.book(rep, flat, hold, state)
	c.owners.releaseShare(hold.Share) // book counted it
	rep.members[flat].startPart = s.startPart
	rep.members[flat].Ran = s.Ran || state == memberRunning
	return nil
}

// restoreHold has the fleet grant again what a member holds.
func (c *Core) restoreHold(j *job, claim *berth.Claim, at *berth.MemberPlacement) (gang.Hold, *berth.Error) {
	if err := c.checkPlacement(claim, at); err != nil {
		return gang.Hold{}, err
	}
	if err := c.checkMode(claim, at); err != nil {
		return gang.Hold{}, err
	}
	for _, g := range at.GPUs.Indexes() {
		if mode := c.nodeByID[at.Node].spec.GPUs[g].Mode; mode != modeOf(claim) {
			return gang.Hold{}, refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("GPU %d is in mode %s", g, mode))
		}
	}
	hold := c.holdOf(j, at)
	if err := c.fleet.Adopt(hold); err != nil {
		c.owners.releaseShare(hold.Share)
		return gang.Hold{}, refusal.Of(berth.ErrConflict, "", err.Error())
	}
	return hold, nil
}

func (c *Core) restoreOrder(rep *replica, saved *savedOrder) *berth.Error {
	if saved == nil {
		return nil
	}
	order, err := berth.DecodeAction(*saved)
	if e := (*berth.Error)(nil); errors.As(err, &e) {
		return refusal.Of(berth.ErrInvalid, e.Field, e.Reason)
	}
	h := order.Header()
	switch order.(type) {
	case berth.Drop, berth.Repartition, berth.Withdraw:
		return refusal.Of(berth.ErrInvalid, "", "it is no order about a replica that is reported")
	}
	switch {
	case h.ID == 0 || h.ID > c.lastAction || c.orders[h.ID] != nil:
		return refusal.Of(berth.ErrInvalid, "id", fmt.Sprintf("%d was never given, or comes twice", h.ID))
	case h.Job != rep.job.spec.ID || h.Replica != rep.Number:
		return refusal.Of(berth.ErrInvalid, "job", "is another replica's")
	}
	rep.order = order
	c.orders[h.ID] = rep
	c.setTimer(timer{at: h.Deadline, kind: timerDeadline, rep: rep})
	return nil
}

// consistent refuses a combination of state, members and order that the core
// cannot have been in.
func (rep *replica) consistent() *berth.Error {
	_, bind := rep.order.(berth.Bind)
	_, release := rep.order.(berth.Release)
	ok := (!rep.has(memberBinding) || bind) && (!rep.asked() || rep.State == berth.Running)
	switch rep.State {
	case berth.Pending:
		ok = ok && rep.order == nil
	case berth.Binding:
		ok = ok && bind && !rep.has(memberStopping)
	case berth.Running:
		ok = ok && rep.enough(memberRunning) && !((bind || rep.asked()) && rep.has(memberStopping))
	case berth.Repairing:
		ok = ok && rep.order == nil && rep.has(memberRunning) && !rep.has(memberStopping)
	case berth.Releasing:
		ok = ok && !bind && rep.has(memberStopping) && !rep.has(memberRunning)
	}
	if !ok || release && !rep.has(memberStopping) || rep.release.Gone && rep.State != berth.Releasing {
		return refusal.Of(berth.ErrInvalid, "state", fmt.Sprintf("%s does not go with its members and order", rep.State))
	}
	return nil
}

// restoreTimers enters what falls due of a replica.
func (c *Core) restoreTimers(rep *replica) {
	if rep.retry.ReadyAt != 0 {
		c.setTimer(timer{at: rep.retry.ReadyAt, kind: timerBackoff, rep: rep})
	}
	if at, limited := rep.dropAt(); limited && rep.State == berth.Pending {
		c.setTimer(timer{at: at, kind: timerGang, rep: rep})
	}
}
