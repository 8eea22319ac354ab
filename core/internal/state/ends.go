package state

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/limits"
)

// An Ending is when a replica that holds something is expected to hold it no longer.
type Ending struct {
	At  berth.Time
	Rep *record.Replica
}

// Less orders endings by instant, then job and replica; one of no replica is before all of its
// instant.
func (e Ending) Less(f Ending) bool {
	if e.At != f.At {
		return e.At < f.At
	}
	if e.Rep == nil || f.Rep == nil {
		return e.Rep == nil && f.Rep != nil
	}
	return record.LessReplica(e.Rep, f.Rep)
}

// Runtime is how long a replica is expected to run. False: for ever, as services do.
func (st *State) Runtime(j *record.Job) (berth.Duration, bool) {
	return cmp.Or(j.Length(), st.Config.Policy.AssumedRuntime), j.Spec.Service == nil
}

// WaitsLong reports whether a gang has waited for as long as the policy assumes a job to run.
func (st *State) WaitsLong(rep *record.Replica) bool {
	return rep.State == berth.ReplicaPending && st.Now >= rep.PendingSince.Add(st.Config.Policy.AssumedRuntime)
}

// EndAsTold is when a replica would end that is expected to end at an instant, if it runs for as
// long as the job tells, or the policy assumes, where that is longer than what was learned.
func (st *State) EndAsTold(rep *record.Replica, end berth.Time) berth.Time {
	told := cmp.Or(rep.Job.Spec.Told(), st.Config.Policy.AssumedRuntime)
	switch {
	case rep.Job.Learned == 0 || rep.Job.Learned >= told || end == agenda.Never:
		return end
	case rep.State != berth.ReplicaRunning:
		return end.Add(told - rep.Job.Learned)
	case end == st.EndIfPlaced(rep): // and not sooner, as it is stopped
		return st.notYet(rep.Started.Add(told))
	}
	return end
}

// Later is how much later than it is submitted a job counts as submitted, as the policy is now. A
// service is for those that ask it: it has its turn at once.
func (st *State) Later(j *record.Job) berth.Duration {
	policy := &st.Config.Policy
	length, ends := st.Runtime(j)
	if !ends {
		return 0
	}
	return berth.Duration(max(0, policy.Stretch)) * min(length, policy.AssumedRuntime, limits.MaxSpan/limits.MaxStretch)
}

// EndIfPlaced is when a replica would be expected to end if something were placed for
// it now.
func (st *State) EndIfPlaced(rep *record.Replica) berth.Time {
	if length, ends := st.Runtime(rep.Job); ends && rep.State == berth.ReplicaRunning {
		return st.notYet(rep.Started.Add(length))
	}
	return st.EndIfStarted(rep, st.Now)
}

// EndIfStarted is when a replica would be expected to end that were started, from the
// beginning, at an instant.
func (st *State) EndIfStarted(rep *record.Replica, at berth.Time) berth.Time {
	length, ends := st.Runtime(rep.Job)
	if !ends {
		return agenda.Never
	}
	return at.Add(length)
}

// notYet is an end that was expected or, if that is past, as long again from now as it is
// late.
func (st *State) notYet(end berth.Time) berth.Time {
	if end > st.Now {
		return end
	}
	return st.Now.Add(max(st.Now.Sub(end), berth.Minute))
}

// SetEnd enters the end expected of a replica; never: none.
func (st *State) SetEnd(rep *record.Replica, at berth.Time) {
	if rep.EndsAt != 0 {
		st.Endings.Delete(Ending{At: rep.EndsAt, Rep: rep})
	}
	rep.EndsAt = 0
	if at != agenda.Never {
		rep.EndsAt = max(at, 1) // 0 is none
		st.Endings.ReplaceOrInsert(Ending{At: rep.EndsAt, Rep: rep})
	}
}

// ExpectedEnd is when a replica that holds something is expected to end: of one that
// should have ended already, in as long again as it is late; of one that is on its way out, when
// it is gone at the latest.
func (st *State) ExpectedEnd(rep *record.Replica) berth.Time {
	end := agenda.Never
	if rep.EndsAt != 0 {
		end = st.notYet(rep.EndsAt)
	}
	switch {
	case !st.Leaving.Has(rep) || !st.Going(rep).Whole():
		return end
	case rep.Asked() && end <= rep.Order.Header().Deadline: // before it is stopped
		return end
	}
	return st.GoneBy(rep)
}

// GoneBy is by when the part of a replica that is on its way out holds nothing any more, if it
// takes each order until its deadline: the request for a checkpoint, and one Release.
func (st *State) GoneBy(rep *record.Replica) berth.Time {
	from := st.Now
	if rep.Order != nil {
		from = max(from, rep.Order.Header().Deadline)
	}
	if _, stops := rep.Order.(berth.Release); stops && from > st.Now {
		return from
	}
	return from.Add(st.Config.Policy.ReleaseTimeout)
}

// GoneIn is how long a part of a replica takes at the most that is asked to go.
func (st *State) GoneIn(p record.Piece) berth.Duration {
	grace := berth.Duration(0)
	if p.Whole() && p.Rep.Job.Spec.Checkpoint.Supported {
		grace = st.GraceOf(p.Rep)
	}
	return grace + st.Config.Policy.ReleaseTimeout
}

// ClearFrom is from when nothing that is to go holds anything on the nodes of a reservation, and
// not before it begins.
func (st *State) ClearFrom(res *record.Reservation) berth.Time {
	at := res.From
	for _, n := range res.Nodes {
		for _, m := range n.Members {
			if st.goes(m) {
				at = max(at, st.GoneBy(m.Rep))
			}
		}
	}
	return at
}

// Going is the part of a replica on its way out that goes: the members that are being stopped
// where the rest of its gang goes on, or else all of it. What is imagined gone is left out.
func (st *State) Going(rep *record.Replica) record.Piece {
	p := record.Piece{Rep: rep}
	if rep.State == berth.ReplicaRunning && rep.Beneficiary == nil && !rep.Leaves {
		p.Flats = []int{}
		for flat := range rep.Members {
			if m := &rep.Members[flat]; m.State == record.MemberStopping && !m.Imagined {
				p.Flats = append(p.Flats, flat)
			}
		}
	}
	return p
}

// Earlier is the first of two instants, of which 0 is none.
func Earlier(a, b berth.Time) berth.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
