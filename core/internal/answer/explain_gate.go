package answer

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
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
		reason.Code, reason.Until = berth.ReasonBegin, j.Spec.Gates.Begin
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
		a := an.state.ArrayOf(j)
		reason.Code = berth.ReasonArray
		reason.Text = fmt.Sprintf("array %s has a width of %d, and all of its slots are taken; jobs that wait for one: %d", j.Spec.Gates.Array.Name, a.Width, a.Ready.Len())
		reason.Remedy = "the end of a job of the array"
	}
	return reason
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
