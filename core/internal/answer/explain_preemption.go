package answer

import (
	"fmt"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/contract"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// victims describes what yields to a replica.
func (an *Answers) victims(to *record.Replica, list []record.Piece) []berth.Victim {
	var out []berth.Victim
	for _, p := range list {
		candidate := an.evict.Candidate(p, an.evict.QueueingFor(to))
		spec := &p.Rep.Job.Spec
		y := berth.Victim{
			Job: spec.ID, Replica: p.Rep.Number, Queue: spec.Queue, GPUMilli: candidate.GPUMilli, Members: len(p.Flats),
			Cost: candidate.Cost(),
		}
		if p.Rep.Asked() {
			y.Deadline = p.Rep.Order.Header().Deadline
		}
		out = append(out, y)
	}
	return out
}

// victimsOf lists what has yet to go for a beneficiary.
func victimsOf(p *record.Plan, rep *record.Replica) []record.Piece {
	var list []record.Piece
	for _, victim := range p.Victims {
		yields := record.Piece{Rep: victim}
		for flat := range victim.Members {
			if victim.Members[flat].Beneficiary == rep {
				yields.Flats = append(yields.Flats, flat)
			}
		}
		list = append(list, yields)
	}
	return list
}

// explainVictims adds to a reason who makes room for an entry, or would, and why nobody
// does.
func (an *Answers) explainVictims(e *record.Entry, reason *berth.Reason) {
	if e.Grows {
		return
	}
	if w := e.Rep.PlannedReservation(); w != nil {
		reason.Victims = an.victims(e.Rep, victimsOf(w.Plan, e.Rep))
		reason.Preemption = fmt.Sprintf("room is being made for it: %d of those who run there have yet to go", len(reason.Victims))
		return
	}
	if b := an.wouldMove(e); b != nil {
		reason.Moves = an.describeMoves(b)
	}
	policy := &an.state.Config.Policy.Preemption
	t, victims := an.potentialVictims(e)
	reason.PotentialVictims, reason.Weighing = an.victims(e.Rep, victims), t.Weighing
	switch asked := e.Bucket.Shape.Least.GPUMilli; {
	case policy.Mode == berth.PreemptionOff:
		reason.Preemption = "nothing that runs is stopped for it: the policy forbids preemption"
	case len(victims) > 0 && policy.Mode == berth.PreemptionReclaim:
		reason.Preemption = "nothing that runs is stopped for it: between queues nobody has to yield, and within its queue the policy forbids preemption"
	case t.Weighing != nil:
		reason.Preemption = describeWeighing(t.Weighing, an.state.Now)
	case len(victims) > 0 && an.life.VictimsReady(evict.Wholes(victims)) > an.state.Now:
		reason.Preemption = fmt.Sprintf("no more have to yield at the rate that the policy sets; these may in %v", an.life.VictimsReady(evict.Wholes(victims)).Sub(an.state.Now))
	case len(victims) > 0:
		reason.Preemption = "the next pass that looks for victims may have these yield"
	case t.Waits:
		reason.Preemption = "the least harm is to wait for a gang that gives or gets members just now, and has more above its minimum"
	case evict.Earlier(t.ProtectedUntil, t.Limited) != 0:
		reason.Preemption = fmt.Sprintf("nobody has to yield who may be stopped yet; the first may in %v", evict.Earlier(t.ProtectedUntil, t.Limited).Sub(an.state.Now))
	default:
		reason.Preemption = an.overShare(e.Rep.Job.Queue, asked)
	}
}

// overShare says which queue would have more than its fair share, if one would.
func (an *Answers) overShare(q quota.QueueIndex, asked int64) string {
	for i := q; i != quota.RootQueue; i = an.state.Quota.Parent(i) {
		used, fair := an.state.Quota.Used(i, quota.GPUMilli), an.books.Shares.Of(i)
		if used < an.state.Quota.Used(an.state.Quota.Parent(i), quota.GPUMilli) && used+asked > fair { // others beside it have something
			return fmt.Sprintf("nobody has to yield for it: queue %s would use %s, over its fair share of %s",
				an.state.Quota.Name(i), contract.Amount(quota.GPUMilli, used+asked), contract.Amount(quota.GPUMilli, fair))
		}
	}
	return "nobody has to yield for it who would make enough room"
}

// describeWeighing says in a sentence what spoke against having somebody yield.
func describeWeighing(w *berth.Weighing, now berth.Time) string {
	when := "as things are, never"
	if w.From != 0 {
		when = "not for another " + w.From.Sub(now).String()
	}
	return fmt.Sprintf("it is not worth it that these yield, %s: they would lose %v of a GPU, and it would gain %v of one", when, berth.Duration(w.Cost), berth.Duration(w.Gain))
}

// potentialVictims looks for the victims of an entry without an effect, also for those whom it is
// not worth it to stop.
func (an *Answers) potentialVictims(e *record.Entry) (*evict.VictimSearch, []record.Piece) {
	an.backlog.Demands()
	im, _ := an.evict.Imagine()
	defer im.Forget()
	trials := state.MaxVictimSearches
	t, victims, ok := an.evict.Seek(e, evict.Seeking{Mode: berth.PreemptionOn, Chooser: new(preempt.Chooser)}, &trials)
	if !ok && t.Weighing == nil {
		victims = nil
	}
	return t, victims
}

// StartPlan is the start plan of a replica. It tries what could make room on the fleet itself,
// and takes that back.
func (an *Answers) StartPlan(rep *record.Replica) berth.StartPlan {
	an.books.TellCapacity()
	switch {
	case rep.State != berth.ReplicaPending:
		return berth.StartPlan{Text: fmt.Sprintf("it does not wait: it is %s", rep.State)}
	case rep.Entries == nil:
		return berth.StartPlan{Text: fmt.Sprintf("it waits for another %v after a failure, whatever there is room for", rep.Retry.ReadyAt.Sub(an.state.Now))}
	}
	e := rep.Entries[0]
	if an.fitsNow(e) {
		return berth.StartPlan{Fits: true, Text: "nothing: the next pass is expected to start it"}
	}
	reason := an.Reason(e)
	if reason.Code == berth.ReasonTurn { // no pass has tried it yet
		reason = an.capacityReason(e)
	}
	an.explainVictims(e, &reason)
	t := berth.StartPlan{Reason: &reason}
	if b := an.wouldMove(e); b != nil {
		t.Moves, t.MovesCost, t.MovesGain = an.describeMoves(b), b.Cost, b.Gain
	}
	t.Victims = slices.Concat(reason.Victims, reason.PotentialVictims)
	for _, victim := range t.Victims {
		t.Cost += min(victim.Cost, math.MaxInt64-t.Cost)
	}
	t.Text = takesSentence(&t)
	return t
}
