package state

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// Runtime is how long a replica is expected to run. False: for ever, as services do.
func (st *State) Runtime(j *record.Job) (berth.Duration, bool) {
	return cmp.Or(j.Spec.ExpectedRuntime, st.Config.Policy.AssumedRuntime), j.Spec.Service == nil
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
		st.Endings.Delete(record.Ending{At: rep.EndsAt, Rep: rep})
	}
	rep.EndsAt = 0
	if at != agenda.Never {
		rep.EndsAt = max(at, 1) // 0 is none
		st.Endings.ReplaceOrInsert(record.Ending{At: rep.EndsAt, Rep: rep})
	}
}

// ExpectedEnd is when a replica that holds something is expected to end: of one that
// should have ended already, in as long again as it is late.
func (st *State) ExpectedEnd(rep *record.Replica) berth.Time {
	if rep.EndsAt == 0 {
		return agenda.Never
	}
	return st.notYet(rep.EndsAt)
}
