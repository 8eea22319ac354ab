package answer

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/decimal"
)

// namedInTexts bounds the names that a text lists; the field beside it has all.
const namedInTexts = 3

// explainGate says why a replica waits at its gate. Of several things that are not there yet it
// says the one that comes first in the law of record.Gate.
func (an *Answers) explainGate(rep *record.Replica) *berth.Reason {
	j := rep.Job
	g := j.Gate
	reason := &berth.Reason{After: slices.Clone(g.Awaits)}
	switch {
	case g.Broken != "":
		reason.Code, reason.After = berth.ReasonDependency, []berth.JobID{g.Broken}
		reason.Text = fmt.Sprintf("job %s had to complete first, and ended otherwise", g.Broken)
		reason.Remedy = "nothing: the next pass drops it"
	case !g.Begun:
		reason.Code, reason.Until = berth.ReasonBegin, j.Spec.Gating().Begin
		reason.Text = "it is not to begin yet"
		if left := reason.Until.Sub(an.state.Now); left > 0 {
			reason.Text = fmt.Sprintf("it is not to begin for another %v", left)
		}
		reason.Remedy = "nothing but time"
		if also := awaited(g); also != "" {
			reason.Text += ", and waits for the end of " + also
			reason.Remedy = "time, and the end of " + also
		} else {
			an.expectAny(rep, reason)
		}
	case len(g.Awaits) > 0:
		reason.Code = berth.ReasonDependency
		reason.Text = "it waits for the end of " + awaited(g)
		reason.Remedy = "the end of " + awaited(g)
	default:
		explainSlots(an.state.Lanes[j.LaneKey()], reason)
	}
	return reason
}

// explainSlots says which slots the jobs of a lane lack.
func explainSlots(lane *record.Lane, reason *berth.Reason) {
	s := lane.Lacks() // there are some, or the gate would be open
	reason.Code = berth.ReasonCap
	switch {
	case s.Key.Kind == record.SlotsOfArray:
		reason.Code = berth.ReasonArray
		reason.Text = fmt.Sprintf("array %s has a width of %d, and all of its slots are taken; jobs that wait for one: %d", s.Key.Name, s.MaxJobs, s.Ready)
		reason.Remedy = "the end of a job of the array"
	case s.Key.Kind == record.SlotsOfQueue:
		reason.Text = fmt.Sprintf("queue %s has %d jobs that compete or run, of at most %d; jobs that wait for that: %d", s.Key.Queue, s.Open, s.MaxJobs, s.Ready)
		reason.Remedy = fmt.Sprintf("the end of %s of queue %s, or a cap of %d", jobsToEnd(s), s.Key.Queue, s.Open+1)
	case !s.HasRoomForJob():
		reason.Text = fmt.Sprintf("%s has %d jobs in queue %s that compete or run, of at most %d; jobs that wait for that: %d", userOf(s), s.Open, s.Key.Queue, s.MaxJobs, s.Ready)
		reason.Remedy = fmt.Sprintf("the end of %s of %s in queue %s, or a cap of %d", jobsToEnd(s), userOf(s), s.Key.Queue, s.Open+1)
	default:
		reason.Text = fmt.Sprintf("the jobs of %s in queue %s that compete or run claim %s of at most %s GPUs, and the job claims %s", userOf(s), s.Key.Queue, decimal.Milli(s.OpenMilli), decimal.Milli(s.MaxMilli), decimal.Milli(lane.Key.Milli))
		reason.Remedy = fmt.Sprintf("a cap of %s GPUs", decimal.Milli(s.OpenMilli+lane.Key.Milli))
		if lane.Key.Milli <= s.MaxMilli {
			reason.Remedy = fmt.Sprintf("the end of jobs of %s in queue %s, or %s", userOf(s), s.Key.Queue, reason.Remedy)
		}
	}
}

// jobsToEnd says how many jobs have to end before one more is within a cap on their number: several
// where jobs were observed running, or the cap was lowered.
func jobsToEnd(s *record.Slots) string {
	if many := s.Open - s.MaxJobs + 1; many > 1 {
		return fmt.Sprintf("%d jobs", many)
	}
	return "a job"
}

// userOf names the user of slots.
func userOf(s *record.Slots) string {
	if s.Key.Name == "" {
		return "no named user"
	}
	return "user " + s.Key.Name
}

// awaited names the jobs that a gate awaits, the first of them; empty: there are none.
func awaited(g *record.Gate) string {
	switch many := len(g.Awaits); {
	case many == 0:
		return ""
	case many == 1:
		return "job " + string(g.Awaits[0])
	case many > namedInTexts:
		return fmt.Sprintf("jobs %s and %d more", list(g.Awaits[:namedInTexts]), many-namedInTexts)
	default:
		return fmt.Sprintf("jobs %s and %s", list(g.Awaits[:many-1]), g.Awaits[many-1])
	}
}

func list(ids []berth.JobID) string {
	text := ""
	for _, id := range ids {
		if text != "" {
			text += ", "
		}
		text += string(id)
	}
	return text
}
