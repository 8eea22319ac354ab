package answer

import (
	"fmt"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// StartPlan is the start plan of a replica. It tries preemptions and moves on the fleet itself,
// and takes them back.
func (an *Answers) StartPlan(rep *record.Replica) berth.StartPlan {
	an.books.TellCapacity()
	switch {
	case rep.State != berth.ReplicaPending:
		return berth.StartPlan{Text: fmt.Sprintf("it does not wait: it is %s", rep.State)}
	case rep.Job.Gate != nil:
		reason := an.explainGate(rep)
		return berth.StartPlan{Reason: reason, Text: reason.Text}
	case an.backlog.WaitsForBudget(rep):
		reason := an.explainBudget(rep)
		return berth.StartPlan{Reason: reason, Text: reason.Text}
	case rep.Entries == nil:
		return berth.StartPlan{Text: fmt.Sprintf("it failed, and backs off for another %v whatever is free", rep.Retry.Get().ReadyAt.Sub(an.state.Now))}
	}
	for _, e := range rep.Entries {
		if choice, fits := an.fitsNow(e); fits {
			return berth.StartPlan{Fits: true, Alternative: e.Part(), Choice: choice, Text: "nothing is in its way: the next pass is expected to start it"}
		}
	}
	e := rep.Entries[0]
	if rep.Job.HasAlternatives() {
		e = an.Explained(rep)
		defer rep.Job.Become(e.Assume())
	}
	reason := an.Reason(e)
	if reason.Code == berth.ReasonTurn { // no pass has tried it yet
		reason = an.capacityReason(e)
	}
	gone, b, both := an.explainVictims(e, &reason)
	position := an.positions(rep.Job)[rep]
	an.expect(rep, e.Bucket.Shape, e.Grows, position, gone, &reason)
	an.addAlternatives(e, position, &reason)
	t := berth.StartPlan{Alternative: e.Part(), Reason: &reason}
	if b == nil {
		b = both
	}
	if b != nil {
		t.Moves, t.MovesCost, t.MovesGain = an.describeMoves(b), b.Cost, b.Gain
	}
	t.Victims = slices.Concat(reason.Victims, reason.PotentialVictims)
	for _, victim := range t.Victims {
		t.Cost += min(victim.Cost, math.MaxInt64-t.Cost)
	}
	t.Text = startSentence(&t, b != nil && b == both)
	return t
}
