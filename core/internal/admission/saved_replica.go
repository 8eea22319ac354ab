package admission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

func (ad *Admission) saveReplica(rep *record.Replica) record.SavedReplica {
	saved := record.SavedReplica{
		LifePart: rep.LifePart, RetryPart: rep.Retry.Get(), ReleasePart: rep.Release.Get(),
		ReservePart: rep.Reserve.Get(), LookPart: rep.Look.Get(), EvictionPart: rep.Eviction.Get(), IdlePart: rep.Idle.Get(), SurgePart: rep.Relocation.Get().SurgePart,
		Sought: rep.Relocation.Get().SoughtAt == ad.agenda.MoveTurn, Stalled: ad.backlog.Due.Stalled(rep), Hopeless: ad.backlog.Due.CannotPlan(rep),
		Looked: rep.Look.Get().Turn == ad.agenda.ReshapeTurn,
		EndsAt: rep.EndsAt, Leaves: rep.Leaves, Active: int64(rep.ActiveMilli), FailedBids: int(rep.FailedBids), BidsAt: rep.BidsAt, GPUHold: rep.SaveGPUHold(),
	}
	// Turns are not saved: Stalled and the like say what they mean.
	saved.StalledAt, saved.HopelessAt, saved.LookPart.Turn = 0, 0, 0
	saved.Stood, saved.Avoid, saved.Requeued, saved.Shunned = slices.Clone(saved.Stood), slices.Clone(saved.Avoid), slices.Clone(saved.Requeued), slices.Clone(saved.Shunned)
	if other := rep.Relocation.Get().Instead; other != nil {
		number := other.Number
		saved.Instead = &number
	}
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
	saved := record.SavedMember{State: m.State.String(), StartPart: m.StartPart}
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
	rep.Idle.Set(s.IdlePart)
	rep.Relocation.Set(record.Relocation{SurgePart: s.SurgePart})
	rep.ActiveMilli, rep.FailedBids, rep.BidsAt = int16(min(max(s.Active, 0), 1000)), int32(s.FailedBids), s.BidsAt
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
	if err := ad.checkOrder(rep); err != nil {
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

// RestoreSought marks the replicas for which another place was looked for in the round of moves
// that goes on, once it is known whether one does: with no round, a mark would keep a replica from
// the next.
func (ad *Admission) RestoreSought(noted []state.Noted) *berth.Error {
	return ad.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		switch {
		case s.Sought && !ad.agenda.MovesLeft:
			return refusal.Of(berth.ErrInvalid, "sought", "is set, and no round of moves goes on")
		case s.Sought:
			rep.Relocation.Note().SoughtAt = ad.agenda.MoveTurn
		}
		return nil
	})
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
	case s.EndsAt < 0 || s.EndsAt > limits.MaxFuture || s.ReservePart.At < 0 || s.BidsAt < 0:
		return refusal.Of(berth.ErrInvalid, "endsAt", "is out of range, or reserveAt or bidAt is")
	case ad.state.Replicas+s.Alike >= ad.state.Config.Limits.Replicas:
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("there are more than %d replicas, see Limits.Replicas", ad.state.Config.Limits.Replicas))
	}
	return cmp.Or(s.LifePart.Check(ad.state.Now), s.RetryPart.Check(s.State), checkRequeued(j, s), s.EvictionPart.Check(ad.state.Now), s.SurgePart.Check())
}

// checkRequeued refuses counts of what the job does not cap, and one beyond its cap of a replica
// that does not wait to be dropped.
func checkRequeued(j *record.Job, s *record.SavedReplica) *berth.Error {
	for i, counted := range s.Requeued {
		at := slices.IndexFunc(j.Spec.MaxRequeues, func(c berth.RequeueCap) bool { return c.Cause == counted.Cause })
		switch {
		case at < 0 || i > 0 && s.Requeued[i-1].Cause >= counted.Cause:
			return refusal.Of(berth.ErrInvalid, "requeued", "counts a cause that the job does not cap, or is out of order")
		case counted.Times < 1 || counted.Times > limits.MaxAttempts:
			return record.RefuseCounter()
		case counted.Times > j.Spec.MaxRequeues[at].Requeues && s.State != berth.ReplicaPending:
			return refusal.Of(berth.ErrInvalid, "requeued", "is more than the job may come back, and it does not wait to be dropped")
		}
	}
	return nil
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
	is, _ := enum.Parse[record.MemberState](record.MemberStates, s.State)
	switch {
	case flat < 0 || rep.Members == nil || rep.Members[flat].State != record.MemberAbsent:
		return refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("%s is not a member of the gang, or is named twice, or the replica is pending", errtext.Short(s.Ref().String())))
	case is == record.MemberAbsent:
		return refusal.Of(berth.ErrInvalid, "state", fmt.Sprintf("%q is no state of a member", errtext.Short(s.State)))
	case s.Ran && is == record.MemberBinding:
		return refusal.Of(berth.ErrInvalid, "ran", "is set for a member that is being started")
	case !is.Holds():
		rep.Members[flat].Restore(is)
		return nil
	}
	hold, err := ad.restoreHold(j, &j.Spec.Groups[j.Group(flat)].Claim, &s.MemberPlacement)
	if err != nil {
		return err
	}
	ad.books.BookSaved(rep, flat, hold, is)
	ad.catalogue.Owners.ReleaseShare(hold.Share) // book counted it
	rep.Members[flat].StartPart = s.StartPart
	rep.Members[flat].Ran = s.Ran || is == record.MemberRunning
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

// checkStood refuses places of members that the gang does not have, or has twice, and those of a
// gang that does not come back.
func (ad *Admission) checkStood(rep *record.Replica) *berth.Error {
	if len(rep.Retry.Get().Stood) > 0 && !rep.MayHaveStood() {
		return refusal.Of(berth.ErrInvalid, "stood", "is set for a replica that does not back off, and no member of it died")
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
		if mode != modeOf(cl) && (n.GPUs[g].Get().Order() != nil || mode == berth.GPUModeMIG || cl.WantsInstance()) {
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
