package state

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// What is behind gates: followers of jobs, and slots (slots.go). Gates are opened by package life.

// CheckWidth refuses a job that names another width of its array than those of it that are known.
func (st *State) CheckWidth(j *record.Job) *berth.Error {
	array := j.Spec.Gating().Array
	if array == nil {
		return nil
	}
	if s := st.Slots[arrayKey(j)]; s != nil && s.MaxJobs != array.Width {
		return refusal.Of(berth.ErrConflict, "array.width", fmt.Sprintf("is %d; the jobs of array %q that are known say %d", array.Width, errtext.Short(array.Name), s.MaxJobs))
	}
	return nil
}

// NewGate is the gate of a job that comes now; nil: nothing keeps it. A predecessor that is not
// known, or never ends by itself, is refused.
func (st *State) NewGate(j *record.Job) (*record.Gate, *berth.Error) {
	gates := j.Spec.Gating()
	if gates.Begin == 0 && len(gates.After) == 0 && len(st.slotKeys(j)) == 0 {
		return nil, nil
	}
	g := &record.Gate{Begun: gates.Begin <= st.Now}
	for i := range gates.After {
		id := gates.After[i].Job
		if err := st.checkAwaited(id); err != nil {
			return nil, refusal.In(err, errtext.Index("after", i)+".job")
		}
		g.Awaits = append(g.Awaits, id)
	}
	return g, nil
}

// checkAwaited refuses a job that none can await the end of.
func (st *State) checkAwaited(id berth.JobID) *berth.Error {
	switch before := st.Jobs[id]; {
	case before == nil:
		return refusal.Of(berth.ErrUnknown, "", fmt.Sprintf("job %q is not known: it never came, or has ended", errtext.Short(id)))
	case before.Spec.Service != nil:
		return refusal.Of(berth.ErrUnsupported, "", fmt.Sprintf("job %q is a service, which ends only when it is cancelled", errtext.Short(id)))
	}
	return nil
}

// Follow notes that a job awaits the end of another; Unfollow that it does not any more.
func (st *State) Follow(of berth.JobID, j *record.Job) {
	st.Followers.ReplaceOrInsert(record.Follower{Of: of, Job: j})
}

// Unfollow undoes Follow.
func (st *State) Unfollow(of berth.JobID, j *record.Job) {
	st.Followers.Delete(record.Follower{Of: of, Job: j})
}

// FollowersOf lists the jobs that await the end of another, by ID.
func (st *State) FollowersOf(of berth.JobID) (list []*record.Job) {
	st.Followers.AscendGreaterOrEqual(record.Follower{Of: of}, func(f record.Follower) bool {
		if f.Of == of {
			list = append(list, f.Job)
		}
		return f.Of == of
	})
	return list
}
