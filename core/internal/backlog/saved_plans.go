package backlog

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
)

// RestorePlans restores the plans of beneficiaries, and of gangs that move.
func (bl *Backlog) RestorePlans(noted []state.Noted) *berth.Error {
	return bl.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		for _, set := range rep.Places(s) {
			if set.Saved == nil || !set.Saved.IsPlanned() {
				continue
			}
			res, err := bl.restorePlan(set.Kind(), rep, set.Saved)
			if err == nil && set.Moves && len(res.Plan.Victims) > 0 {
				err = refusal.Of(berth.ErrInvalid, "victims", "a move has none")
			}
			if err != nil {
				return refusal.In(err, set.Field)
			}
			*set.At = res
			bl.AddReservation(res)
			for _, victim := range res.Plan.Victims {
				if !victim.IsVictimOf(rep) {
					victim.Beneficiary = rep
				}
				bl.state.NoteLeaving(victim, true)
			}
		}
		return nil
	})
}

// restorePlan makes the reservation of a plan anew.
func (bl *Backlog) restorePlan(kind record.ReservationKind, rep *record.Replica, s *record.SavedGangReservation) (*record.Reservation, *berth.Error) {
	switch {
	case s.Cause != kind.Cause():
		return nil, refusal.Of(berth.ErrInvalid, "cause", fmt.Sprintf("%q is neither the cause of a preemption nor of a move", errtext.Short(s.Cause)))
	case s.Partial:
		return nil, refusal.Of(berth.ErrInvalid, "partial", "is set beside where")
	}
	p, err := bl.restorePreemption(rep, s)
	if err != nil {
		return nil, err
	}
	res, err := bl.restoreGangReservation(kind, rep, s)
	if err != nil {
		return nil, err
	}
	res.Plan = p
	return res, nil
}

func (bl *Backlog) restorePreemption(rep *record.Replica, s *record.SavedGangReservation) (*record.Plan, *berth.Error) {
	where, err := bl.restoreWhere(rep, s)
	if err != nil {
		return nil, err
	}
	victims, err := bl.restoreVictims(rep, s)
	if err != nil {
		return nil, err
	}
	p := bl.NewPlan(rep, where)
	p.Victims, p.OfQueue = victims, s.OfQueue
	return p, nil
}

// restoreWhere restores where a gang is to be.
func (bl *Backlog) restoreWhere(rep *record.Replica, s *record.SavedGangReservation) ([]gang.Member, *berth.Error) {
	var where []gang.Member
	for i := range s.Where {
		at := &s.Where[i]
		g := rep.Job.Spec.Group(at.Group)
		if g < 0 || i > 0 && g < where[i-1].Group || !slices.Contains(s.Nodes, at.Node) {
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("where", i), "names no group, one out of order, or a node that is not set aside")
		}
		if err := bl.CheckPlacement(&rep.Job.Spec.Groups[g].Claim, at); err != nil {
			return nil, refusal.In(err, errtext.Index("where", i))
		}
		hold := bl.HoldOf(rep.Job, at)
		bl.catalogue.Owners.ReleaseShare(hold.Share) // as long as the job waits, its shape retains it
		where = append(where, gang.Member{Group: g, Hold: hold})
	}
	if rep.State == berth.ReplicaRunning && s.Cause == berth.CauseVictimsGone {
		return where, bl.checkGrowth(rep, where)
	}
	for g := range rep.Job.Spec.Groups {
		group := &rep.Job.Spec.Groups[g]
		if n := countGroup(where, g); n < record.Least(group) || n > group.Members || n%record.UnitOf(group) != 0 {
			return nil, refusal.Of(berth.ErrInvalid, "where", fmt.Sprintf("has %d members of group %q", n, errtext.Short(group.Name)))
		}
	}
	if torn := bl.state.TornAt(rep.Job, where); torn != "" {
		return nil, refusal.Of(berth.ErrInvalid, "where", torn)
	}
	return where, nil
}

// checkGrowth refuses further members of a gang that are of several groups, that it does not lack,
// or that have another product than the members which run.
func (bl *Backlog) checkGrowth(rep *record.Replica, where []gang.Member) *berth.Error {
	if len(where) == 0 {
		return refusal.Of(berth.ErrInvalid, "where", "is empty")
	}
	g := where[0].Group
	if where[len(where)-1].Group != g || len(where) > rep.Count(g, record.MemberAbsent) {
		return refusal.Of(berth.ErrInvalid, "where", fmt.Sprintf("has %d further members of a gang that lacks %d of group %d", len(where), rep.Count(g, record.MemberAbsent), g))
	}
	members := slices.Clone(rep.MembersOf(g))
	for i := range where {
		members = append(members, record.ImaginedMember(where[i].Hold, bl.state.Nodes[where[i].Hold.Node]))
	}
	if !rep.Observed && state.SeveralProducts(&rep.Job.Spec.Groups[g], members) {
		return refusal.Of(berth.ErrInvalid, "where", "has further members on GPUs of another product")
	}
	return nil
}

// restoreVictims restores the victims that stop before a gang takes its place.
func (bl *Backlog) restoreVictims(rep *record.Replica, s *record.SavedGangReservation) ([]*record.Replica, *berth.Error) {
	var victims []*record.Replica
	for i, ref := range s.Victims {
		victim := bl.Lookup(ref)
		switch {
		case victim == nil, victim == rep, victim.Beneficiary != nil:
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("victims", i), fmt.Sprintf("%s is not known, or has another beneficiary", errtext.Short(ref.String())))
		case victim.State != berth.ReplicaReleasing && !victim.Asked() && !victim.IsVictimOf(rep):
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("victims", i), fmt.Sprintf("%s is neither asked for a checkpoint nor being stopped", errtext.Short(ref.String())))
		case i > 0 && record.CompareReplicas(victims[i-1], victim) >= 0:
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("victims", i), fmt.Sprintf("%s is out of order", errtext.Short(ref.String())))
		}
		victims = append(victims, victim)
	}
	return victims, nil
}

func countGroup(members []gang.Member, group int) int {
	n := 0
	for i := range members {
		if members[i].Group == group {
			n++
		}
	}
	return n
}

// Lookup finds a replica, or returns nil.
func (bl *Backlog) Lookup(ref berth.ReplicaRef) *record.Replica {
	j := bl.state.Jobs[ref.Job]
	if j == nil {
		return nil
	}
	return j.Replicas.At(ref.Replica)
}
