package record

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A Replica is one gang of a job.
type Replica struct {
	Job *Job
	LifePart
	// Parts of which most of those that wait have none.
	Retry      values.Rare[RetryPart]
	Release    values.Rare[ReleasePart]
	Reserve    values.Rare[ReservePart]
	Look       values.Rare[LookPart]
	Eviction   values.Rare[EvictionPart]
	Idle       values.Rare[IdlePart]
	Relocation values.Rare[Relocation]
	// EndsAt is when it is expected to hold nothing any more; zero: never, or it holds
	// nothing.
	EndsAt berth.Time
	// Reserved is the reservation of a gang that waits.
	Reserved *Reservation
	// GPUHold is the GPU that is kept for it.
	GPUHold *GPUHold
	// Beneficiary is the replica that it is evicted for; nil: none.
	Beneficiary *Replica
	// Leaves: it was asked for a checkpoint because it has to go on its own account. Moving
	// is the place that is kept for it while it still holds another.
	Leaves bool
	// Imagined: a plan in the making imagines it ended.
	Imagined bool
	// ActiveMilli is how busy its GPUs are, as was reported last: 0 to 1000.
	ActiveMilli int16
	// FailedBids counts the bids that were in vain, and the plans that did not come true for it,
	// since it last ran. After such a plan it bids again at BidsAt, at the earliest.
	FailedBids int32
	BidsAt     berth.Time
	Moving     *Reservation
	// Exclusive has the domains that a gang has for itself.
	Exclusive *Reservation
	// RunsMilli is what it is charged of GPUs while it runs, if it has no surplus.
	RunsMilli int64
	// Members by flat index; nil when pending.
	Members []Member
	// Entries are where the replica stands in the pending index: one for a whole
	// gang, one for each group that is short of members.
	Entries []*Entry
	// Order is the order that is out; nil: none.
	Order berth.Order
}

// A Member is one member of a replica that is not pending.
type Member struct {
	MemberStatePart
	Hold gang.Hold
	Node *Node
	Slot int // position in Node.Members
	StartPart
	// Beneficiary is the replica for which it is stopped while the rest of its gang goes on.
	Beneficiary *Replica
	Imagined    bool // gone, by a plan in the making
	// Lent is the owner of shares to which its GPUs are lent; 0: they are not.
	Lent gang.Owner
}

// Count returns how many members of a group are in one of the given states. Like those below it
// is a loop and no closure, which would be allocated where it is inlined into another package.
func (rep *Replica) Count(group int, in ...MemberState) int {
	n := 0
	for flat := rep.Job.Offset(group); flat < rep.Job.Offset(group+1) && flat < len(rep.Members); flat++ {
		if slices.Contains(in, rep.Members[flat].State) {
			n++
		}
	}
	return n
}

// MembersOf has the members of a group, by index.
func (rep *Replica) MembersOf(group int) []Member {
	return rep.Members[rep.Job.Offset(group):rep.Job.Offset(group+1)]
}

// Enough reports whether every group has its minimum in the given states.
func (rep *Replica) Enough(in ...MemberState) bool {
	for g := range rep.Job.Spec.Groups {
		if rep.Count(g, in...) < Least(&rep.Job.Spec.Groups[g]) {
			return false
		}
	}
	return true
}

// Has reports whether any member is in one of the given states.
func (rep *Replica) Has(in ...MemberState) bool {
	for flat := range rep.Members {
		if slices.Contains(in, rep.Members[flat].State) {
			return true
		}
	}
	return false
}

// UsedMilli is what a hold uses of GPUs, in thousandths: what it is charged, or all of a GPU that
// is another's and is charged to that.
func UsedMilli(h *gang.Hold, n *Node) int64 {
	if h.Share.Over {
		return 1000
	}
	return ChargeOf(h, n).GPUMilli
}

// BookedOn is the product of the GPUs on which the use of a hold is booked: those that its queue is
// charged for, or that are another's.
func BookedOn(h *gang.Hold, n *Node) quota.ProductIndex {
	if h.Share.Over {
		return n.Product
	}
	return ChargeOf(h, n).Product
}

// ChargeOf is what a hold costs its queue. A share costs its part of a GPU, an instance
// the part of the memory slices that it has, and a GPU that is borrowed nothing.
func ChargeOf(h *gang.Hold, n *Node) quota.Charge {
	charge := quota.Charge{GPUMilli: GPUMilliOf(h, n), Host: h.Host, Declared: h.Declared, Product: n.Product}
	if charge.GPUMilli == 0 {
		charge.Product = quota.NoProduct
	}
	return charge
}

// GPUMilliOf is what it is charged of GPUs.
func GPUMilliOf(h *gang.Hold, n *Node) int64 {
	switch {
	case h.Share.Over:
		return 0
	case h.Share.GPUMilli > 0:
		return int64(h.Share.GPUMilli)
	case h.Instance != (mig.Placement{}):
		return n.Table.Milli(h.Instance)
	}
	return 1000 * int64(berth.GPUSet(h.GPUs).Len())
}

// OrderLeft is the order that is out; of a Bind, without the members that were lost, or died,
// since.
func (rep *Replica) OrderLeft() berth.Order {
	bind, ok := rep.Order.(berth.Bind)
	if !ok {
		return rep.Order
	}
	over := func(m berth.MemberPlacement) bool { return !rep.Members[rep.Job.Flat(m.Ref())].State.MayRun() }
	if slices.ContainsFunc(bind.Members, over) {
		bind.Members = slices.DeleteFunc(slices.Clone(bind.Members), over)
	}
	return bind
}

// Holds reports whether any member holds capacity.
func (rep *Replica) Holds() bool {
	return slices.ContainsFunc(rep.Members, func(m Member) bool { return m.State.Holds() })
}

// Shun has the replica avoid a node on which a member did not start.
func (rep *Replica) Shun(id berth.NodeID) {
	p := rep.Retry.Note()
	if slices.Contains(p.Avoid, id) {
		return
	}
	if len(p.Avoid) == maxAvoid {
		p.Avoid = slices.Delete(p.Avoid, 0, 1)
	}
	p.Avoid = append(p.Avoid, id)
}

// FillsGap reports whether a replica stands on nodes that are reserved for another.
func (rep *Replica) FillsGap() bool {
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		for _, res := range m.Node.Reservations {
			if res.IsAwaited() && res.Rep != rep {
				return true
			}
		}
	}
	return false
}

// ChargeOf is what a hold of a replica costs its queue.
func (rep *Replica) ChargeOf(h *gang.Hold, n *Node) quota.Charge {
	charge := ChargeOf(h, n)
	charge.NonPreemptible = rep.Job.Spec.NonPreemptible
	return charge
}

// Shortfall is what a replica is charged less than one of the charges of what it is to have, which
// are by product. What it lacks of the host, on nodes of whatever product, counts with the first.
func (rep *Replica) Shortfall(charges []quota.Charge, i int) quota.Charge {
	charge := charges[i]
	charge.Host, charge.Declared = countable.Amounts{}, nil
	if i == 0 {
		for _, c := range charges {
			charge.Host, charge.Declared = charge.Host.Plus(c.Host), charge.Declared.Plus(c.Declared)
		}
	}
	rep.EachHold(func(h *gang.Hold, n *Node) {
		held := ChargeOf(h, n)
		if held.Product == charge.Product {
			charge.GPUMilli -= held.GPUMilli
		}
		charge.Host, charge.Declared = charge.Host.Minus(held.Host), charge.Declared.Minus(held.Declared)
	})
	charge.GPUMilli, charge.Host, charge.Declared = max(0, charge.GPUMilli), charge.Host.Floor(), charge.Declared.Floor()
	return charge
}

// EachHold calls a function for everything that a replica holds, but for the members that
// are imagined gone.
func (rep *Replica) EachHold(use func(*gang.Hold, *Node)) {
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State.Holds() && !m.Imagined {
			use(&m.Hold, m.Node)
		}
	}
}

// CountRequeue counts that a replica comes back to the queue for a cause, if its job caps that.
func (rep *Replica) CountRequeue(cause berth.CauseCode) {
	if !slices.ContainsFunc(rep.Job.Spec.MaxRequeues, func(c berth.RequeueCap) bool { return c.Cause == cause }) {
		return
	}
	counts := slices.Clone(rep.Retry.Get().Requeued)
	at, some := slices.BinarySearchFunc(counts, cause, func(c berth.RequeueCount, cause berth.CauseCode) int { return cmp.Compare(c.Cause, cause) })
	if !some {
		counts = slices.Insert(counts, at, berth.RequeueCount{Cause: cause})
	}
	counts[at].Times = min(counts[at].Times+1, limits.MaxAttempts)
	rep.Retry.Note().Requeued = counts
}

// OverCap is the cap that a replica has exceeded by coming back to the queue so often; false: none.
func (rep *Replica) OverCap() (over berth.RequeueCap, times int, is bool) {
	for _, c := range rep.Job.Spec.MaxRequeues {
		for _, counted := range rep.Retry.Get().Requeued {
			if counted.Cause == c.Cause && counted.Times > c.Requeues {
				return c, counted.Times, true
			}
		}
	}
	return berth.RequeueCap{}, 0, false
}

// DropAt is the instant at which a pending replica is given up.
func (rep *Replica) DropAt() (berth.Time, bool) {
	if _, _, over := rep.OverCap(); over {
		return rep.PendingSince, true
	}
	timeout := rep.Job.Spec.GangTimeout
	return rep.PendingSince.Add(timeout), timeout > 0 && rep.Job.Gate == nil
}

// RunsUntil is the instant at which a replica that runs has run for as long as it may.
func (rep *Replica) RunsUntil() (berth.Time, bool) {
	limit := rep.Job.Spec.MaxRuntime
	return rep.Started.Add(limit), limit > 0 && rep.State == berth.ReplicaRunning
}

// LacksOfSegments reports whether a segment of a gang has members that are there, and others that
// are not.
func (rep *Replica) LacksOfSegments() bool {
	for g := range rep.Job.Spec.Groups {
		if rep.LacksOfSegment(g) {
			return true
		}
	}
	return false
}

// LacksOfSegment is LacksOfSegments for a group.
func (rep *Replica) LacksOfSegment(group int) bool {
	unit := UnitOf(&rep.Job.Spec.Groups[group])
	if unit == 1 {
		return false
	}
	for own := range slices.Chunk(rep.MembersOf(group), unit) {
		if Incomplete(own) {
			return true
		}
	}
	return false
}

// NeedsOrder reports whether the next pass has to look at a replica whatever else happens: nothing
// is out about it, and it is to be repaired, has members to stop, or lost some of its segments.
func (rep *Replica) NeedsOrder() bool {
	return rep.Order == nil && (rep.State == berth.ReplicaRepairing || rep.Has(MemberStopping) || rep.Retry.Get().LostOfSegments)
}

// Overruns reports whether a replica was asked for its last checkpoint before its time limit.
func (rep *Replica) Overruns() bool { return rep.leavesFor(berth.CauseMaxRuntime) }

// GivesBack reports whether a borrower was asked for a checkpoint because its GPUs are given back.
func (rep *Replica) GivesBack() bool { return rep.leavesFor(berth.CauseGivenBack) }

// Ends reports whether a replica was asked for its last checkpoint: its job is over then.
func (rep *Replica) Ends() bool { return rep.Overruns() || rep.EndsIdle() }

// EndsIdle reports whether a replica was asked for its last checkpoint because it is idle.
func (rep *Replica) EndsIdle() bool { return rep.leavesFor(berth.CauseIdle) }

func (rep *Replica) leavesFor(cause berth.CauseCode) bool {
	return rep.Leaves && rep.Asked() && rep.Order.Header().Cause.Code == cause
}

// IsOverLimit reports whether a replica was asked for a checkpoint because a queue is over a limit.
func (rep *Replica) IsOverLimit() bool {
	return rep.leavesFor(berth.CauseOverLimit)
}

// Stops reports whether a replica was asked for a checkpoint because it is to be stopped, wherever
// it is: no other place is looked for.
func (rep *Replica) Stops() bool {
	return rep.Ends() || rep.GivesBack() || rep.IsOverLimit() || rep.IsOutOfBudget()
}

// IsOutOfBudget reports whether a replica was asked for a checkpoint because a budget is used up.
func (rep *Replica) IsOutOfBudget() bool { return rep.leavesFor(berth.CauseBudget) }

// Stands reports whether a gang runs and goes on to. Some of it may be on its way out.
func (rep *Replica) Stands() bool {
	return rep.State == berth.ReplicaRunning && rep.Beneficiary == nil && !rep.Leaves
}

// Lends reports whether others may stay on the GPUs of a replica: it runs, is quiet, and nothing
// ends it or moves it.
func (rep *Replica) Lends() bool {
	return rep.Job.Spec.Lend != nil && rep.Idle.Get().QuietSince != 0 && rep.State == berth.ReplicaRunning &&
		!rep.Asked() && !rep.Leaves && rep.Beneficiary == nil
}

// IsIdle reports whether a replica has been quiet for as long as a policy says by an instant.
func (rep *Replica) IsIdle(p *berth.IdlePolicy, now berth.Time) bool {
	since := rep.Idle.Get().IdleSince
	return since != 0 && since.Add(p.QuietFor) <= now
}

// IsWhole reports whether a hold is of whole GPUs.
func IsWhole(h *gang.Hold) bool {
	return h.GPUs != 0 && h.Share.GPUMilli == 0 && h.Instance == (mig.Placement{})
}

// Lends reports whether others may stay on the GPUs of a member of a replica, beside what it uses
// of their memory, unless it has to leave its node.
func (m *Member) Lends(rep *Replica) bool {
	return m.State == MemberRunning && IsWhole(&m.Hold) && rep.Lends()
}

// Absent counts the members that are not there.
func Absent(members []Member) int {
	n := 0
	for i := range members {
		if members[i].State == MemberAbsent {
			n++
		}
	}
	return n
}

// There reports whether a member runs or is being started.
func (m Member) There() bool { return m.State == MemberRunning || m.State == MemberBinding }

// Incomplete reports whether some of the members are there, and others are absent.
func Incomplete(members []Member) bool { return There(members) && Absent(members) > 0 }

// There reports whether any of the members is.
func There(members []Member) bool {
	return slices.ContainsFunc(members, Member.There)
}

// Resumes reports whether a gang that is being stopped is to go on as soon as it can: it lost
// hardware, or members without being at fault, or has to leave a place on its own account. A
// borrower has no place of its own.
func (rep *Replica) Resumes() bool {
	if rep.State != berth.ReplicaReleasing || rep.Release.Get().Gone || rep.Job.Borrows() {
		return false
	}
	switch rep.Release.Get().Cause.Code {
	case berth.CauseHardwareLost, berth.CauseDrained, berth.CauseMoved:
		return true
	case berth.CauseMemberFailed:
		return len(rep.Retry.Get().Stood) > 0
	}
	return false
}

// Returns reports whether a gang backs off that comes back to where it stood.
func (rep *Replica) Returns() bool {
	return rep.State == berth.ReplicaPending && len(rep.Retry.Get().Stood) > 0
}

// MayHaveStood reports whether a replica may know where it is to come back to: its members died,
// and it is being released for that, to back off then, or backs off.
func (rep *Replica) MayHaveStood() bool {
	if rep.State == berth.ReplicaReleasing {
		release := rep.Release.Get()
		return release.Backoff && release.Cause.Code == berth.CauseMemberFailed
	}
	return rep.Retry.Get().ReadyAt != 0
}

// MayMove reports whether a gang runs and has nothing else going on.
func (rep *Replica) MayMove() bool {
	return rep.State == berth.ReplicaRunning && rep.Order == nil && rep.Beneficiary == nil && !rep.Has(MemberStopping)
}

// MayArrive reports whether a place may be kept for a gang that it does not wait for yet.
func (rep *Replica) MayArrive() bool {
	switch rep.State {
	case berth.ReplicaRunning:
		return rep.Asked()
	case berth.ReplicaReleasing:
		return !rep.Release.Get().Gone
	}
	return rep.State == berth.ReplicaPending && rep.Entries == nil && rep.Job.Gate == nil
}

// MayGrow reports whether a running replica has nothing else going on, so that
// it may get the members that it is short of.
func (rep *Replica) MayGrow() bool {
	return rep.State == berth.ReplicaRunning && rep.Order == nil && !rep.Has(MemberStopping) && !rep.Idle.Get().Stays
}

// maxAvoid bounds the nodes that a replica avoids because members failed there.
const maxAvoid = 16

// Anchor is the node that the first member of a group that half a gang lacks has to leave or,
// if it has lost its node, that of the member which is there and the next to it by index: the
// first of them that is inside a boundary. False: none is.
func (half *Replica) Anchor(rep *Replica, g int, inside func(topology.NodeIndex) bool) (topology.NodeIndex, bool) {
	first := half.Job.Offset(g) + slices.IndexFunc(half.Members[half.Job.Offset(g):], func(m Member) bool { return m.State == MemberAbsent })
	if first < len(rep.Members) && rep.Members[first].State.Holds() && inside(rep.Members[first].Hold.Node) {
		return rep.Members[first].Hold.Node, true
	}
	for distance := range len(half.Members) {
		for _, flat := range [...]int{first - distance, first + distance} {
			if flat >= 0 && flat < len(half.Members) && half.Members[flat].State == MemberRunning && inside(half.Members[flat].Hold.Node) {
				return half.Members[flat].Hold.Node, true
			}
		}
	}
	return 0, false
}

// SaveGPUHold describes the GPU that is held for a replica; nil: none is.
func (rep *Replica) SaveGPUHold() *SavedGPUHold {
	if rep.GPUHold == nil {
		return nil
	}
	return &SavedGPUHold{rep.GPUHold.Node.Spec.ID, rep.GPUHold.GPUHoldPart}
}

// Consistent refuses a combination of state, members and order that the core
// cannot have been in.
func (rep *Replica) Consistent() *berth.Error {
	_, bind := rep.Order.(berth.Bind)
	_, release := rep.Order.(berth.Release)
	ok := (!rep.Has(MemberBinding) || bind) && (!rep.Asked() || rep.State == berth.ReplicaRunning)
	ok = ok && (!rep.Has(MemberFailed, MemberLost) || bind || rep.State == berth.ReplicaRepairing)
	switch rep.State {
	case berth.ReplicaPending:
		ok = ok && rep.Order == nil
	case berth.ReplicaBinding:
		ok = ok && bind && !rep.Has(MemberStopping)
	case berth.ReplicaRunning:
		ok = ok && rep.Enough(MemberRunning) && !((bind || rep.Asked()) && rep.Has(MemberStopping))
	case berth.ReplicaRepairing:
		ok = ok && rep.Order == nil && rep.Has(MemberRunning) && !rep.Enough(MemberRunning) && !rep.Has(MemberStopping)
	case berth.ReplicaReleasing:
		ok = ok && !bind && rep.Has(MemberStopping) && !rep.Has(MemberRunning)
	}
	if !ok || release && !rep.Has(MemberStopping) || rep.Release.Get().Gone && rep.State != berth.ReplicaReleasing {
		return refusal.Of(berth.ErrInvalid, "state", fmt.Sprintf("%s does not go with its members and order", rep.State))
	}
	return nil
}

// Places pairs the places of a replica that are saved with where they go.
func (rep *Replica) Places(s *SavedReplica) [2]savedPlace {
	return [...]savedPlace{{"reserved", false, s.Reserved, &rep.Reserved, rep.State}, {"moving", true, s.Moving, &rep.Moving, rep.State}}
}

// NoteHardwareLoss notes that a replica has lost hardware, and has to stop for it.
func (rep *Replica) NoteHardwareLoss() {
	if rep.State != berth.ReplicaReleasing && rep.State != berth.ReplicaPending {
		rep.Retry.Note().LostHardware = true
	}
}

// PlannedReservation is the reservation of the plan for a replica; nil: there is none.
func (rep *Replica) PlannedReservation() *Reservation {
	if res := rep.Reserved; res != nil && res.IsPlanned() {
		return res
	}
	return nil
}

// ClearBeneficiary makes a replica a victim no longer. What is being stopped is stopped all the
// same.
func (rep *Replica) ClearBeneficiary(beneficiary *Replica) {
	if rep.Beneficiary == beneficiary {
		rep.Beneficiary = nil
	}
	for flat := range rep.Members {
		if rep.Members[flat].Beneficiary == beneficiary {
			rep.Members[flat].Beneficiary = nil
		}
	}
}

// IsUnsaved reports whether a replica loses all that it has done when it is stopped, as far as is
// known: it ends, and neither states nor told of a checkpoint.
func (rep *Replica) IsUnsaved() bool {
	c := &rep.Job.Spec.Checkpoint
	return rep.Job.Spec.Service == nil && !c.Supported && c.Interval == 0 && !rep.Eviction.Get().Tells
}

// Stray reports whether a checkpoint was requested of a replica that need not go any more.
func (rep *Replica) Stray() bool { return rep.Beneficiary == nil && !rep.Leaves && rep.Asked() }

// NoLongerVictimOf notes that a replica, or a part of it, is no victim of a beneficiary any more.
func (rep *Replica) NoLongerVictimOf(beneficiary *Replica) {
	if !rep.IsVictimOf(beneficiary) {
		p := beneficiary.Reserved.Plan
		i := slices.Index(p.Victims, rep)
		p.Victims = slices.Delete(p.Victims, i, i+1)
	}
}

// Ref names a replica outside of the core.
func (rep *Replica) Ref() berth.ReplicaRef {
	return berth.ReplicaRef{Job: rep.Job.Spec.ID, Replica: rep.Number}
}

// Asked reports whether a checkpoint was requested of a replica.
func (rep *Replica) Asked() bool {
	_, asked := rep.Order.(berth.RequestCheckpoint)
	return asked
}

// IsVictimOf reports whether a replica, or a part of it, is a victim of another.
func (rep *Replica) IsVictimOf(beneficiary *Replica) bool {
	return rep.Beneficiary == beneficiary || slices.ContainsFunc(rep.Members, func(m Member) bool { return m.Beneficiary == beneficiary })
}
