package record

import (
	"slices"

	"github.com/berth-sched/berth"
)

// A Gate keeps the replica of a job that waits out of the backlog until the job may start: what
// stands in no index of what waits costs no pass anything. The law: a job j is in the backlog only
// once
//
//	now >= begin(j)  and  each p in after(j) has ended as j asks  and  each s in slots(j) has room
//
// held in turn at some instants since it came, the last of them when it took its slots: for good,
// as time goes on, what ended stays so, and slots are kept. So a gate that is open needs no record,
// and a job has none then (scripts 420 to 429). Slots are those of its array, and those of the caps
// of its queue and of the queues above (slots.go, scripts 466 to 468).
//
// Rejected: a state of replicas of its own, as each table of states and each reader of reports
// would have to know it for what is pending anyway; a gate that is asked again at each start, as
// then a job that was evicted would wait for a slot that another took.
type Gate struct {
	// Begun: the begin time has come, or there is none.
	Begun bool `json:"begun,omitempty"`
	// Awaits are the jobs of After that have not ended, in that order.
	Awaits []berth.JobID `json:"awaits,omitempty"`
	// Broken is one that had to complete and did not, as was known at BrokenAt: the next pass drops
	// the job, which awaits no other then. Empty: there is none.
	Broken   berth.JobID `json:"broken,omitempty"`
	BrokenAt berth.Time  `json:"brokenAt,omitempty"`
}

// Clone is a copy that shares no memory; nil of nil.
func (g *Gate) Clone() *Gate {
	if g == nil {
		return nil
	}
	c := *g
	c.Awaits = slices.Clone(g.Awaits)
	return &c
}

// IsReady reports whether slots are all that may be left.
func (g *Gate) IsReady() bool { return g.Begun && len(g.Awaits) == 0 && g.Broken == "" }

// GateTimer is when a pass has to look at the gate of a job; false: when another job ends.
func (j *Job) GateTimer() (Timer, bool) {
	t := Timer{Kind: TimerGate, Rep: j.Replicas.At(0)}
	switch g := j.Gate; {
	case g == nil:
		return t, false
	case g.Broken != "":
		t.At = g.BrokenAt
	case !g.Begun:
		t.At = j.Spec.Gating().Begin
	default:
		return t, false
	}
	return t, true
}

// A Follower is a job that awaits the end of another.
type Follower struct {
	Of  berth.JobID
	Job *Job
}

// Less orders followers by the job that they await, and then by their own ID. A follower that is
// no job comes first.
func (f Follower) Less(g Follower) bool {
	switch {
	case f.Of != g.Of:
		return f.Of < g.Of
	case f.Job == nil || g.Job == nil:
		return f.Job == nil && g.Job != nil
	}
	return f.Job.Spec.ID < g.Job.Spec.ID
}
