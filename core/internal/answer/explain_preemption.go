package answer

import (
	"fmt"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// yielding describes what yields to a replica.
func (an *Answers) yielding(to *record.Replica, list []record.Piece) []berth.Yielding {
	var out []berth.Yielding
	for _, p := range list {
		candidate := an.evict.Candidate(p, an.evict.QueueingFor(to))
		spec := &p.Rep.Job.Spec
		y := berth.Yielding{
			Job: spec.ID, Replica: p.Rep.Number, Queue: spec.Queue, GPUMilli: candidate.GPUMilli, Members: len(p.Flats),
			Price: candidate.Price(),
		}
		if p.Rep.Asked() {
			y.By = p.Rep.Order.Header().Deadline
		}
		out = append(out, y)
	}
	return out
}

// victimsOf lists what has yet to go for a beneficiary.
func victimsOf(p *record.Preemption, rep *record.Replica) []record.Piece {
	var list []record.Piece
	for _, victim := range p.Victims {
		yields := record.Piece{Rep: victim}
		for flat := range victim.Members {
			if victim.Members[flat].YieldsTo == rep {
				yields.Flats = append(yields.Flats, flat)
			}
		}
		list = append(list, yields)
	}
	return list
}

// explainYielding adds to a reason who makes room for an entry, or would, and why nobody
// does.
func (an *Answers) explainYielding(e *record.Entry, reason *berth.Reason) {
	if e.Grows {
		return
	}
	if w := e.Rep.Room(); w != nil {
		reason.Yielding = an.yielding(e.Rep, victimsOf(w.Preemption, e.Rep))
		reason.Preemption = fmt.Sprintf("room is being made for it: %d of those who run there have yet to go", len(reason.Yielding))
		return
	}
	if b := an.wouldMove(e); b != nil {
		reason.Moves = an.describeMoves(b)
	}
	policy := &an.state.Config.Policy.Preemption
	t, victims := an.wouldYield(e)
	reason.WouldYield, reason.Weighed = an.yielding(e.Rep, victims), t.Weighing
	switch asked := e.Bucket.Shape.Least.GPUMilli; {
	case policy.Mode == berth.PreemptNever:
		reason.Preemption = "nothing that runs is stopped for it: the policy forbids preemption"
	case len(victims) > 0 && policy.Mode == berth.PreemptReclaim:
		reason.Preemption = "nothing that runs is stopped for it: between queues nobody has to yield, and within its queue the policy forbids preemption"
	case t.Weighing != nil:
		reason.Preemption = describeWeighing(t.Weighing, an.state.Now)
	case len(victims) > 0 && an.life.VictimsReady(evict.Wholes(victims)) > an.state.Now:
		reason.Preemption = fmt.Sprintf("no more have to yield at the rate that the policy sets; these may in %v", an.life.VictimsReady(evict.Wholes(victims)).Sub(an.state.Now))
	case len(victims) > 0:
		reason.Preemption = "the next pass that looks for victims may have these yield"
	case t.Waits:
		reason.Preemption = "the least harm is to wait for a gang that gives or gets members just now, and has more above its minimum"
	case evict.Earlier(t.Spared, t.Limited) != 0:
		reason.Preemption = fmt.Sprintf("nobody has to yield who may be stopped yet; the first may in %v", evict.Earlier(t.Spared, t.Limited).Sub(an.state.Now))
	default:
		reason.Preemption = an.overShare(e.Rep.Job.Queue, asked)
	}
}

// overShare says which queue would have more than its fair share, if one would.
func (an *Answers) overShare(q quota.Index, asked int64) string {
	for i := q; i != quota.Root; i = an.state.Quota.Parent(i) {
		used, fair := an.state.Quota.Used(i, quota.GPU), an.books.Shares.Of(i)
		if used < an.state.Quota.Used(an.state.Quota.Parent(i), quota.GPU) && used+asked > fair { // others beside it have something
			return fmt.Sprintf("nobody has to yield for it: queue %s would use %s, over its fair share of %s",
				an.state.Quota.Name(i), berth.Amount(quota.GPU, used+asked), berth.Amount(quota.GPU, fair))
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
	return fmt.Sprintf("it is not worth it that these yield, %s: they would lose %v of a GPU, and it would gain %v of one", when, berth.Duration(w.Price), berth.Duration(w.Gain))
}

// wouldYield looks for the victims of an entry without an effect, also for those whom it is
// not worth it to stop.
func (an *Answers) wouldYield(e *record.Entry) (*evict.Trial, []record.Piece) {
	an.backlog.Demands()
	im, _ := an.evict.Imagine()
	defer im.Forget()
	trials := state.MaxTrials
	t, victims, ok := an.evict.Seek(e, evict.Seeking{Mode: berth.PreemptAndReclaim, Chooser: new(preempt.Chooser)}, &trials)
	if !ok && t.Weighing == nil {
		victims = nil
	}
	return t, victims
}

// WhatItTakes is the start plan of a replica. It tries what could make room on the fleet itself,
// and takes that back.
func (an *Answers) WhatItTakes(rep *record.Replica) berth.Takes {
	an.books.TellCapacity()
	switch {
	case rep.State != berth.Pending:
		return berth.Takes{Text: fmt.Sprintf("it does not wait: it is %s", rep.State)}
	case rep.Entries == nil:
		return berth.Takes{Text: fmt.Sprintf("it waits for another %v after a failure, whatever there is room for", rep.Retry.ReadyAt.Sub(an.state.Now))}
	}
	e := rep.Entries[0]
	if an.fitsNow(e) {
		return berth.Takes{Fits: true, Text: "nothing: the next pass is expected to start it"}
	}
	reason := an.Reason(e)
	if reason.Code == berth.ReasonTurn { // no pass has tried it yet
		reason = an.capacityReason(e)
	}
	an.explainYielding(e, &reason)
	t := berth.Takes{Reason: &reason}
	if b := an.wouldMove(e); b != nil {
		t.Moves, t.MovesPrice, t.MovesGain = an.describeMoves(b), b.Price, b.Gain
	}
	t.Victims = slices.Concat(reason.Yielding, reason.WouldYield)
	for _, victim := range t.Victims {
		t.Price += min(victim.Price, math.MaxInt64-t.Price)
	}
	t.Text = takesSentence(&t)
	return t
}
