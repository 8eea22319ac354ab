package world

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
)

// annals are what a core forgets: nodes that are lost, jobs that ended, and how long jobs waited.
type annals struct {
	// known has every node as it was told last, and lost those that are gone.
	known map[berth.NodeID]berth.Node
	lost  []berth.Node
	ended []Ended
	// submitted has the instants of jobs that were never placed yet.
	submitted map[berth.JobID]berth.Time
	tally     Tally
}

// A Tally counts what happened since the scenario began.
type Tally struct {
	Submitted int `json:"submitted"`
	Finished  int `json:"finished"`
	// Evicted and Moved count the replicas that were stopped for others, or to go elsewhere.
	Evicted int `json:"evicted"`
	Moved   int `json:"moved"`
	// Interrupted counts those that hardware stopped, and GivenBack those that had borrowed.
	Interrupted int `json:"interrupted"`
	GivenBack   int `json:"givenBack"`
	// Placed counts jobs that were given a place once; WaitedMS is how long they waited for it
	// together, LongestMS the longest.
	Placed    int   `json:"placed"`
	WaitedMS  int64 `json:"waitedMS"`
	LongestMS int64 `json:"longestMS"`
	// HeldMS is the GPU time that was held, in GPU-milliseconds, and AllMS that of all GPUs. LentMS
	// is the part of HeldMS in which others ran over what was held and idle.
	HeldMS int64 `json:"heldMS"`
	AllMS  int64 `json:"allMS"`
	LentMS int64 `json:"lentMS"`
}

// Ended is a job that is over.
type Ended struct {
	Job berth.JobID `json:"job"`
	How string      `json:"how"`
	At  berth.Time  `json:"at"`
}

// maxEnded is how many of the jobs that ended are kept, the latest.
const maxEnded = 200

// A Sample is what a chart shows of an instant. GPUs are in thousandths.
type Sample struct {
	All     int64 `json:"all"`
	Held    int64 `json:"held"`
	Waiting int   `json:"waiting"`
	// Told is the part of Held of which jobs told how busy they are, Active what they told, and
	// Lent what borrowers have.
	Told   int64 `json:"told,omitempty"`
	Active int64 `json:"active,omitempty"`
	Lent   int64 `json:"lent,omitempty"`
}

func (a *annals) clone() annals {
	c := *a
	c.known = maps.Clone(a.known)
	c.lost = slices.Clone(a.lost)
	c.ended = slices.Clone(a.ended)
	c.submitted = maps.Clone(a.submitted)
	return c
}

func (a *annals) told(now berth.Time, e berth.Event) {
	switch e := e.(type) {
	case berth.NodeJoined:
		a.found(e.Node)
	case berth.NodeUpdated:
		a.found(e.Node)
	case berth.NodeLost:
		a.lost = append(a.lost, a.known[e.Node])
	case berth.JobSubmitted:
		a.submitted[e.Job.ID] = now
		a.tally.Submitted++
	case berth.JobObserved:
		a.tally.Submitted++
	case berth.JobFinished:
		how := "finished"
		if e.Failed {
			how = "failed"
		}
		a.tally.Finished++
		a.end(e.Job, how, now)
	case berth.JobCancelled:
		a.end(e.Job, "cancelled", now)
	}
}

func (a *annals) found(node berth.Node) {
	a.known[node.ID] = node
	a.lost = slices.DeleteFunc(a.lost, func(n berth.Node) bool { return n.ID == node.ID })
}

func (a *annals) end(id berth.JobID, how string, now berth.Time) {
	delete(a.submitted, id)
	a.ended = append(a.ended, Ended{Job: id, How: how, At: now})
	if len(a.ended) > maxEnded {
		a.ended = slices.Clone(a.ended[1:])
	}
}

func (a *annals) ordered(now berth.Time, orders []berth.Order) {
	for _, order := range orders {
		h := order.Header()
		switch order := order.(type) {
		case berth.Bind:
			if at, first := a.submitted[h.Job]; first {
				delete(a.submitted, h.Job)
				waited := int64(now.Sub(at))
				a.tally.Placed++
				a.tally.WaitedMS += waited
				a.tally.LongestMS = max(a.tally.LongestMS, waited)
			}
		case berth.Release:
			a.released(&order)
		case berth.Drop:
			a.end(h.Job, "dropped", now)
		}
	}
}

func (a *annals) released(r *berth.Release) {
	switch {
	case r.Attempt > 1:
	case r.Cause.Code == berth.CausePreempted || r.Cause.Code == berth.CauseReclaimed:
		a.tally.Evicted++
	case r.Cause.Code == berth.CauseMoved || r.Cause.Code == berth.CauseDrained:
		a.tally.Moved++
	case r.Cause.Code == berth.CauseHardwareLost:
		a.tally.Interrupted++
	case r.Cause.Code == berth.CauseGivenBack:
		a.tally.GivenBack++
	}
}

// sample looks at the fleet behind a step, and counts the GPU time since the sample before.
func (a *annals) sample(s *script.Session, before Sample, since berth.Time) Sample {
	r := s.Core().Report()
	span := int64(s.Now().Sub(since))
	a.tally.HeldMS += before.Held * span / 1000
	a.tally.AllMS += before.All * span / 1000
	a.tally.LentMS += before.Lent * span / 1000
	return Sample{
		All: r.GPUs.AllMilli, Held: r.GPUs.HeldMilli,
		Told: r.Activity.ToldMilli, Active: r.Activity.ActiveMilli, Lent: r.GPUs.BorrowedMilli,
		Waiting: r.Waiting.Ready + r.Waiting.Capacity + r.Waiting.Quota + r.Waiting.Backoff,
	}
}
