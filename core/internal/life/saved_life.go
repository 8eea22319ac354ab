package life

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/meter"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// SaveMeters saves the meters that ever counted anything.
func (l *Life) SaveMeters() record.RatesPart {
	var s record.RatesPart
	if l.evictions != (meter.Meter{}) {
		s.Evictions = &record.SavedMeter{Full: l.evictions.Full, Held: l.evictions.Held}
	}
	for _, name := range l.state.Quota.Queues() {
		i, _ := l.state.Quota.Lookup(name)
		q := l.books.Queues[i]
		if q.Evictions != (meter.Meter{}) {
			s.QueueEvictions = append(s.QueueEvictions, record.SavedMeter{Queue: name, Full: q.Evictions.Full, Held: q.Evictions.Held})
		}
		if q.FloorMilli > 0 {
			s.Floors = append(s.Floors, record.SavedFloor{Queue: name, GPUMilli: q.FloorMilli})
		}
	}
	return s
}

// RestoreMeters restores how much of the rates of preemption is used, in the fleet and by queue.
func (l *Life) RestoreMeters(s *record.RatesPart) *berth.Error {
	if m := s.Evictions; m != nil {
		if m.Queue != "" || m.Full < 0 || m.Held < 0 {
			return refusal.Of(berth.ErrInvalid, "evictions", "names a queue, or an instant before the epoch")
		}
		l.evictions = meter.Meter{Full: m.Full, Held: m.Held}
	}
	for i := range s.QueueEvictions {
		m := &s.QueueEvictions[i]
		q, known := l.state.Quota.Lookup(m.Queue)
		if !known || q == quota.RootQueue || min(m.Full, m.Held) < 0 || i > 0 && cmp.Compare(s.QueueEvictions[i-1].Queue, m.Queue) >= 0 {
			return refusal.Of(berth.ErrInvalid, errtext.Index("queueEvictions", i), fmt.Sprintf("%q is no queue, or out of order, or an instant is before the epoch", errtext.Short(m.Queue)))
		}
		l.books.Queues[q].Evictions = meter.Meter{Full: m.Full, Held: m.Held}
	}
	for i := range s.Floors {
		f := &s.Floors[i]
		q, known := l.state.Quota.Lookup(f.Queue)
		if !known || q == quota.RootQueue || f.GPUMilli <= 0 || f.GPUMilli > quota.MaxAmount || i > 0 && cmp.Compare(s.Floors[i-1].Queue, f.Queue) >= 0 {
			return refusal.Of(berth.ErrInvalid, errtext.Index("floors", i), fmt.Sprintf("%q is no queue, or out of order, or keeps nothing", errtext.Short(f.Queue)))
		}
		l.books.Queues[q].RaiseFloor(f.GPUMilli)
	}
	return nil
}

// RestoreLife enters replicas among those that run, and those that are on their way out.
func (l *Life) RestoreLife(noted []state.Noted) *berth.Error {
	return l.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if rep.Leaves = s.Leaves; rep.Leaves && !rep.Asked() {
			return refusal.Of(berth.ErrInvalid, "leaves", "is set for a replica that was not asked for a checkpoint")
		}
		if l.state.SetLimit(rep, s.LimitAt); !limitNoted(rep) {
			return refusal.Of(berth.ErrInvalid, "limitAt", fmt.Sprintf("%d does not go with the limit of the job, and what it was asked", s.LimitAt))
		}
		if rep.Retry.Get().LostOfSegments && rep.State != berth.ReplicaRunning {
			return refusal.Of(berth.ErrInvalid, "lostOfSegments", "is set for a replica that does not run")
		}
		if rep.Leaves || rep.Has(record.MemberStopping) {
			l.state.NoteLeaving(rep, true)
		}
		if rep.State == berth.ReplicaRunning {
			l.noteRunning(rep, true)
		}
		l.States[rep.State]++
		if rep.NeedsOrder() {
			l.state.NoteTodo(rep, true)
		}
		return nil
	})
}

// RestoreVictims restores the beneficiaries of surplus members that are being stopped.
func (l *Life) RestoreVictims(noted []state.Noted) *berth.Error {
	return l.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		for k := range s.Members {
			saved := &s.Members[k]
			if saved.Beneficiary == (berth.ReplicaRef{}) {
				continue
			}
			m := &rep.Members[rep.Job.Flat(saved.Ref())]
			if m.Beneficiary = l.backlog.Lookup(saved.Beneficiary); m.Beneficiary == nil || m.Beneficiary == rep || m.State != record.MemberStopping {
				return refusal.In(refusal.Of(berth.ErrInvalid, "beneficiary", fmt.Sprintf("%s is not known, or the member is not being stopped", errtext.Short(saved.Beneficiary.String()))), errtext.Index("members", k))
			}
		}
		return nil
	})
}

// RestoreStrays refuses victims without a plan of their beneficiary, and destinations of gangs
// that run and need not leave. The next pass withdraws requests that no plan needs any more.
func (l *Life) RestoreStrays(noted []state.Noted) *berth.Error {
	return l.state.EachNoted(noted, func(rep *record.Replica, _ *record.SavedReplica) *berth.Error {
		if rep.Moving != nil && rep.State == berth.ReplicaRunning && !rep.Leaves && rep.Beneficiary == nil {
			return refusal.Of(berth.ErrInvalid, "moving", "is set for a replica that need not go")
		}
		for flat := range rep.Members {
			to := rep.Members[flat].Beneficiary
			if to != nil && (to.PlannedReservation() == nil || !slices.Contains(to.PlannedReservation().Plan.Victims, rep)) {
				return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("one is a victim of %s, which does not wait for it", errtext.Short(to.Ref().String())))
			}
		}
		if rep.Stray() {
			l.state.NoteTodo(rep, true)
		}
		return nil
	})
}

// SomeUprooted reports whether a gang is to have a place kept for it, and has none.
func (l *Life) SomeUprooted() bool {
	some := false
	for _, list := range []*btree.BTreeG[*record.Replica]{l.state.Leaving, l.state.Returning} {
		list.Ascend(func(rep *record.Replica) bool {
			some = rep.Moving == nil && (rep.Resumes() || rep.Returns())
			return !some
		})
		if some {
			return true
		}
	}
	return false
}
