package admission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// The names of a record.MemberState; MemberAbsent is not saved.
const memberStateNames enum.Names = "MemberState: absent|binding|running|failed|lost|stopping"

func (ad *Admission) saveReplica(rep *record.Replica) record.SavedReplica {
	saved := record.SavedReplica{
		LifePart: rep.LifePart, RetryPart: rep.Retry.Get(), ReleasePart: rep.Release.Get(),
		ReservePart: rep.Reserve.Get(), LookPart: rep.Look.Get(), EvictionPart: rep.Eviction.Get(),
		Sought: rep.SoughtAt == ad.agenda.MoveTurn, Stalled: ad.backlog.Due.Stalled(rep), Hopeless: ad.backlog.Due.CannotPlan(rep),
		Looked: rep.Look.Get().Turn == ad.agenda.ReshapeTurn,
		EndsAt: rep.EndsAt, Leaves: rep.Leaves, Active: rep.ActiveMilli, FailedBids: int(rep.FailedBids), BidsAt: rep.BidsAt, GPUHold: rep.SaveGPUHold(),
	}
	// Turns are not saved: Stalled and the like say what they mean.
	saved.StalledAt, saved.HopelessAt, saved.LookPart.Turn = 0, 0, 0
	saved.Stood, saved.Avoid = slices.Clone(saved.Stood), slices.Clone(saved.Avoid)
	for flat := range rep.Members {
		if state := rep.Members[flat].State; state != record.MemberAbsent {
			saved.Members = append(saved.Members, ad.saveMember(rep, flat))
		}
	}
	if rep.Order != nil {
		order, err := berth.EncodeOrder(withClaims(rep.Order, nil))
		invariant.Must(err)
		saved.Order = (*record.SavedOrder)(&order)
	}
	backlog.SaveWaiting(rep, &saved)
	ad.backlog.SaveBids(rep, &saved)
	ad.backlog.SaveGangReservations(rep, &saved)
	return saved
}

func (ad *Admission) saveMember(rep *record.Replica, flat int) record.SavedMember {
	m := &rep.Members[flat]
	saved := record.SavedMember{State: enum.Text(memberStateNames, m.State), StartPart: m.StartPart}
	if m.Beneficiary != nil {
		saved.Beneficiary = m.Beneficiary.Ref()
	}
	if m.State.Holds() {
		saved.MemberPlacement = ad.state.PlacementOf(rep, flat)
	} else {
		g := rep.Job.Group(flat)
		saved.Group, saved.Index = rep.Job.Spec.Groups[g].Name, flat-rep.Job.Offset(g)
	}
	return saved
}

func (ad *Admission) restoreReplica(j *record.Job, s *record.SavedReplica) *berth.Error {
	if err := ad.checkReplica(j, s); err != nil {
		return err
	}
	rep := ad.state.NewReplicaAt(j, s.Number)
	s.Restored = rep
	rep.LifePart = s.LifePart
	rep.Retry.Set(s.RetryPart)
	rep.Release.Set(s.ReleasePart)
	rep.Reserve.Set(s.ReservePart)
	rep.Look.Set(s.LookPart)
	rep.Eviction.Set(s.EvictionPart)
	rep.ActiveMilli, rep.FailedBids, rep.BidsAt = min(max(s.Active, 0), 1000), int32(s.FailedBids), s.BidsAt
	if s.Sought {
		rep.SoughtAt = ad.agenda.MoveTurn
	}
	if rep.State != berth.ReplicaPending {
		rep.Members = make([]record.Member, j.Members())
	}
	if err := ad.restoreMembers(rep, s.Members); err != nil {
		return err
	}
	if err := ad.restoreOrder(rep, s.Order); err != nil {
		return refusal.In(err, "order")
	}
	if err := rep.Consistent(); err != nil {
		return err
	}
	if s.Alike > 0 {
		ad.state.NewBatch(rep, s.Alike)
	}
	if err := ad.checkStood(rep); err != nil {
		return err
	}
	ad.restoreTimers(rep)
	return ad.restoreEnd(rep, s.EndsAt)
}

// restoreMembers books what members hold, and refuses a gang that no order would have placed so.
func (ad *Admission) restoreMembers(rep *record.Replica, saved []record.SavedMember) *berth.Error {
	for i := range saved {
		if err := ad.restoreMember(rep, &saved[i]); err != nil {
			return refusal.In(err, errtext.Index("members", i))
		}
	}
	if torn := ad.state.TornByOrder(rep); torn != "" {
		return refusal.Of(berth.ErrInvalid, "members", torn)
	}
	return nil
}

// checkReplica refuses a replica that makes no sense, whatever it holds.
func (ad *Admission) checkReplica(j *record.Job, s *record.SavedReplica) *berth.Error {
	switch {
	case s.Number < 0 || s.Number > ad.state.Config.Limits.Replicas || j.Spec.Service == nil && s.Number > 0:
		return refusal.Of(berth.ErrInvalid, "replica", fmt.Sprintf("%d is out of range", s.Number))
	case s.Alike < 0 || s.Alike > ad.state.Config.Limits.Replicas-s.Number:
		return refusal.Of(berth.ErrInvalid, "alike", fmt.Sprintf("%d is out of range", s.Alike))
	case s.Alike > 0 && (j.Spec.Service == nil || !s.Plain()):
		return refusal.Of(berth.ErrInvalid, "alike", "is set for a replica that does not just wait")
	case s.State > berth.ReplicaReleasing:
		return refusal.Of(berth.ErrInvalid, "state", "is out of range")
	case j.Cancelled && !s.Gone:
		return refusal.Of(berth.ErrInvalid, "gone", "is false in a job that is being cancelled")
	case !record.InRange(s.Attempt, s.FailedBids, s.Vain, s.Tried):
		return record.RefuseCounter()
	case s.Incarnation > 2*limits.MaxIncarnation:
		return refusal.Of(berth.ErrInvalid, "incarnation", fmt.Sprintf("%d exceeds %d", s.Incarnation, berth.Incarnation(2*limits.MaxIncarnation)))
	case s.EndsAt < 0 || s.ReservePart.At < 0 || s.BidsAt < 0:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is before the epoch, or reserveAt or bidAt is")
	case ad.state.Replicas+s.Alike >= ad.state.Config.Limits.Replicas:
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("there are more than %d replicas, see Limits.Replicas", ad.state.Config.Limits.Replicas))
	}
	if err := s.RetryPart.Check(s.State); err != nil {
		return err
	}
	return s.EvictionPart.Check(ad.state.Now)
}

// restoreEnd restores when a replica is expected to end.
func (ad *Admission) restoreEnd(rep *record.Replica, at berth.Time) *berth.Error {
	switch {
	case at != 0 && rep.State == berth.ReplicaPending:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is set for a replica that holds nothing")
	case at == 0 && rep.Holds() && rep.Job.Spec.Service == nil:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is missing for a replica that holds something")
	case at != 0:
		ad.state.SetEnd(rep, at)
	}
	return nil
}

func (ad *Admission) restoreMember(rep *record.Replica, s *record.SavedMember) *berth.Error {
	j := rep.Job
	flat := j.Flat(s.Ref())
	state, _ := enum.Parse[record.MemberState](memberStateNames, s.State)
	switch {
	case flat < 0 || rep.Members == nil || rep.Members[flat].State != record.MemberAbsent:
		return refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("%s is not a member of the gang, or is named twice, or the replica is pending", errtext.Short(s.Ref().String())))
	case state == record.MemberAbsent:
		return refusal.Of(berth.ErrInvalid, "state", fmt.Sprintf("%q is no state of a member", errtext.Short(s.State)))
	case !state.Holds():
		rep.Members[flat].State = state
		return nil
	}
	hold, err := ad.restoreHold(j, &j.Spec.Groups[j.Group(flat)].Claim, &s.MemberPlacement)
	if err != nil {
		return err
	}
	ad.books.Book(rep, flat, hold, state)
	ad.catalogue.Owners.ReleaseShare(hold.Share) // book counted it
	rep.Members[flat].StartPart = s.StartPart
	rep.Members[flat].Ran = s.Ran || state == record.MemberRunning
	return nil
}

// restoreHold has the fleet grant again what a member holds.
func (ad *Admission) restoreHold(j *record.Job, claim *berth.Claim, at *berth.MemberPlacement) (gang.Hold, *berth.Error) {
	if err := ad.backlog.CheckPlacement(claim, at); err != nil {
		return gang.Hold{}, err
	}
	if err := ad.CheckMode(claim, at); err != nil {
		return gang.Hold{}, err
	}
	for _, g := range at.GPUs.Indexes() {
		if mode := ad.state.NodeByID[at.Node].Spec.GPUs[g].Mode; mode != modeOf(claim) {
			return gang.Hold{}, refusal.Of(berth.ErrInvalid, "gpus", fmt.Sprintf("GPU %d is in mode %s", g, mode))
		}
	}
	hold := ad.backlog.HoldOf(j, at)
	if err := ad.books.Adopt(hold); err != nil {
		ad.catalogue.Owners.ReleaseShare(hold.Share)
		return gang.Hold{}, refusal.Of(berth.ErrConflict, "", err.Error())
	}
	return hold, nil
}

func (ad *Admission) restoreOrder(rep *record.Replica, saved *record.SavedOrder) *berth.Error {
	if saved == nil {
		return nil
	}
	order, err := berth.DecodeOrder(*saved)
	if e := (*berth.Error)(nil); errors.As(err, &e) {
		return refusal.Of(berth.ErrInvalid, e.Field, e.Reason)
	}
	h := order.Header()
	switch order.(type) {
	case berth.Drop, berth.Repartition, berth.Withdraw:
		return refusal.Of(berth.ErrInvalid, "", "it is not an order for a replica that is reported")
	}
	switch {
	case h.ID == 0 || h.ID > ad.state.LastOrder || ad.state.Orders[h.ID] != nil:
		return refusal.Of(berth.ErrInvalid, order.Kind()+".id", fmt.Sprintf("%d was never given, or comes twice", h.ID))
	case h.Job != rep.Job.Spec.ID || h.Replica != rep.Number:
		return refusal.Of(berth.ErrInvalid, order.Kind()+".job", "is another replica's")
	}
	rep.Order = withClaims(order, rep.Job.Pattern.Claims())
	ad.state.Orders[h.ID] = rep
	ad.state.SetTimer(record.Timer{At: h.Deadline, Kind: record.TimerDeadline, Rep: rep})
	return nil
}

// withClaims puts claims into a Bind, in the place of those that it has: the job has them, so that
// a snapshot saves them once.
func withClaims(order berth.Order, claims []berth.GroupClaim) berth.Order {
	if bind, binds := order.(berth.Bind); binds {
		bind.Claims = claims
		return bind
	}
	return order
}

// checkStood refuses places of members that the gang does not have, or has twice, and those of a
// gang that does not come back.
func (ad *Admission) checkStood(rep *record.Replica) *berth.Error {
	if len(rep.Retry.Get().Stood) > 0 && rep.State != berth.ReplicaReleasing && rep.Retry.Get().ReadyAt == 0 {
		return refusal.Of(berth.ErrInvalid, "stood", "is set for a replica that does not back off")
	}
	last := -1
	for i, at := range rep.Retry.Get().Stood {
		flat := rep.Job.Flat(at.Ref())
		if flat <= last {
			return refusal.Of(berth.ErrInvalid, errtext.Index("stood", i), fmt.Sprintf("%s is not a member of the gang, or out of order", errtext.Short(at.Ref().String())))
		}
		if err := refusal.Name(string(at.Node)); err != nil {
			return refusal.In(refusal.In(err, "node"), errtext.Index("stood", i))
		}
		last = flat
	}
	ad.state.NoteReturning(rep, rep.Returns())
	return nil
}

// restoreTimers enters what falls due of a replica.
func (ad *Admission) restoreTimers(rep *record.Replica) {
	if rep.Retry.Get().ReadyAt != 0 {
		ad.state.SetTimer(record.Timer{At: rep.Retry.Get().ReadyAt, Kind: record.TimerBackoff, Rep: rep})
	}
	if at, limited := rep.DropAt(); limited && rep.State == berth.ReplicaPending {
		ad.state.SetTimer(record.Timer{At: at, Kind: record.TimerGang, Rep: rep})
	}
}

// CheckMode refuses a GPU that is divided and should not be, or the other way round.
// Between the other modes the GPU is in the one in which a member runs.
func (ad *Admission) CheckMode(cl *berth.Claim, p *berth.MemberPlacement) *berth.Error {
	n := ad.state.NodeByID[p.Node]
	for _, g := range p.GPUs.Indexes() {
		mode := n.Spec.GPUs[g].Mode
		if mode != modeOf(cl) && (n.GPUs[g].Get().Order != nil || mode == berth.GPUModeMIG || cl.WantsInstance()) {
			return refusal.Of(berth.ErrConflict, "gpus", fmt.Sprintf("GPU %d of node %q is in mode %s; the claim needs %s", g, errtext.Short(p.Node), mode, modeOf(cl)))
		}
	}
	return nil
}

// modeOf is the mode in which the claim needs its GPUs.
func modeOf(cl *berth.Claim) berth.GPUMode {
	switch {
	case cl.WantsInstance():
		return berth.GPUModeMIG
	case cl.Share == nil:
		return berth.GPUModeWhole
	case cl.Share.Mode == berth.ShareMPS:
		return berth.GPUModeMPS
	}
	return berth.GPUModeTimeSlice
}
