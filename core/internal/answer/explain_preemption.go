package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// describeVictims describes the victims of a preemption for a replica.
func (an *Answers) describeVictims(to *record.Replica, list []record.Piece) []berth.Victim {
	var out []berth.Victim
	for _, p := range list {
		candidate := an.victims.Candidate(p, an.victims.QueueingFor(to))
		spec := &p.Rep.Job.Spec
		v := berth.Victim{
			Job: spec.ID, Replica: p.Rep.Number, Queue: spec.Queue, GPUMilli: candidate.GPUMilli, Members: len(p.Flats),
			Cost: candidate.Cost(),
		}
		if p.Rep.Asked() {
			v.Deadline = p.Rep.Order.Header().Deadline
		}
		out = append(out, v)
	}
	return out
}

// victimsOf lists the victims that have yet to stop for a beneficiary.
func victimsOf(p *record.Plan, rep *record.Replica) []record.Piece {
	var list []record.Piece
	for _, victim := range p.Victims {
		piece := record.Piece{Rep: victim}
		for flat := range victim.Members {
			if victim.Members[flat].Beneficiary == rep {
				piece.Flats = append(piece.Flats, flat)
			}
		}
		list = append(list, piece)
	}
	return list
}

// explainVictims adds to a reason the victims of an entry, actual or potential, and why there are
// none. It returns by when potential ones are gone; never: none are; moves alone, and victims and
// moves; nil: there are none.
func (an *Answers) explainVictims(e *record.Entry, reason *berth.Reason) (gone berth.Time, moves, both *evict.Bid) {
	if e.Bucket.Shape.Borrows { // nobody has to go for it
		return agenda.Never, nil, nil
	}
	gone, moves = agenda.Never, an.wouldMove(e)
	if res := e.Rep.PlannedReservation(); res != nil {
		reason.Victims = an.describeVictims(e.Rep, victimsOf(res.Plan, e.Rep))
		reason.Preemption = fmt.Sprintf("preemption is under way: %s yet to stop", count(len(reason.Victims), "victim"))
		return gone, moves, nil
	}
	if !e.Grows && moves != nil {
		reason.Moves = an.describeMoves(moves)
		gone = an.movedBy(moves)
	}
	policy := &an.state.Config.Policy.Preemption
	t, victims, both, protected := an.potentialVictims(e)
	reason.PotentialVictims, reason.Weighing = an.describeVictims(e.Rep, victims), t.Weighing
	switch asked := e.Bucket.Shape.Least.GPUMilli; {
	case policy.Mode == berth.PreemptionOff:
		reason.Preemption = "no running job may be preempted for it: the policy forbids preemption"
	case t.SparesNone:
		reason.Weighing, reason.Preemption = nil, an.describeSpared(t, victims)
		gone = min(gone, an.goneBy(e, victims, sparedUntil(t)))
	case (len(victims) > 0 || t.RestsUntil != 0) && policy.Mode == berth.PreemptionReclaim && !e.Grows:
		reason.Preemption = "no running job may be preempted for it: no other queue holds GPUs to reclaim, and the policy forbids preemption within a queue"
	case t.Weighing != nil:
		reason.Preemption = describeWeighing(t.Weighing, an.state.Now)
		if t.Weighing.From != 0 {
			gone = min(gone, an.goneBy(e, victims, t.Weighing.From))
		}
	case len(victims) > 0 && an.life.VictimsReady(victim.Wholes(victims)) > an.state.Now:
		ready := an.life.VictimsReady(victim.Wholes(victims))
		reason.Preemption = fmt.Sprintf("the preemption rate limit is reached: these victims may be preempted in %v", ready.Sub(an.state.Now))
		gone = min(gone, an.goneBy(e, victims, ready))
	case len(victims) > 0:
		reason.Preemption = "the next pass that looks for victims may preempt these"
		gone = min(gone, an.goneBy(e, victims, an.state.Now))
	case both != nil:
		gone = min(gone, an.explainBoth(e, reason, both))
	case t.Waits:
		reason.Preemption = "waiting costs least: a gang that can give more of its surplus is growing or shrinking just now"
		gone = min(gone, an.givenNext())
	case t.RestsUntil != 0:
		reason.Preemption = an.life.DescribeRest(e.Rep)
	case t.Cut:
		reason.CutShort = true
		reason.Preemption = "the search for victims was cut short: some that it did not look at might make room"
	case state.Earlier(t.ProtectedUntil, t.Limited) != 0:
		reason.Preemption = an.describeProtection(t)
	case e.Grows && !t.WithinGuarantee():
		reason.Preemption = an.overGuarantee(e.Rep.Job.Queue, asked)
	case len(protected) > 0:
		reason.Protected, reason.Preemption = protected, an.describeProtected(protected)
	case e.Grows:
		reason.Preemption = "no preemption would free enough for it, and no gang is moved so that another grows"
	default:
		reason.Preemption = an.overShare(e.Rep.Job.Queue, asked)
	}
	return gone, moves, both
}

// explainBoth adds to a reason the victims and the moves that would start an entry together, and
// returns by when they are gone.
func (an *Answers) explainBoth(e *record.Entry, reason *berth.Reason, b *evict.Bid) (gone berth.Time) {
	reason.PotentialVictims, reason.Moves = an.describeVictims(e.Rep, b.Evicted()), an.describeMoves(b)
	ready := an.life.VictimsReady(victim.Wholes(b.Going()))
	if reason.Preemption = "the next pass that looks for victims may take these for its guarantee, and has what moves go on elsewhere"; ready > an.state.Now {
		reason.Preemption = fmt.Sprintf("the preemption rate limit is reached: its guarantee may be collected, by victims and moves, in %v", ready.Sub(an.state.Now))
	}
	return an.goneBy(e, b.Going(), ready)
}

// describeProtected says which jobs stand for the guarantees of which queues.
func (an *Answers) describeProtected(list []berth.Protection) string {
	var parts []string
	for _, p := range list {
		var jobs []string
		for _, ref := range p.Jobs[:min(len(p.Jobs), 3)] {
			jobs = append(jobs, ref.String())
		}
		text := strings.Join(jobs, ", ")
		if more := len(p.Jobs) - len(jobs) + p.More; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		i, _ := an.state.Quota.Lookup(p.Queue)
		parts = append(parts, fmt.Sprintf("queue %s keeps %s of the %s that it uses, by its guarantee of %s%s, in %s",
			p.Queue, amountOf(p.KeptMilli), amountOf(p.UsedMilli), amountOf(p.GuaranteeMilli), an.shareOf(i, quota.GPUMilli, guaranteeOf), text))
	}
	return "no preemption would free enough for it: " + strings.Join(parts, "; ")
}

func amountOf(milli int64) string { return values.Amount(quota.GPUMilli, milli) }

// overShare names the queue that would have more than its fair share, if there is one.
func (an *Answers) overShare(q quota.QueueIndex, asked int64) string {
	for i := q; i != quota.RootQueue; i = an.state.Quota.Parent(i) {
		used, fair := an.state.Quota.Used(i, quota.GPUMilli), an.books.Shares.Of(i)
		if used < an.state.Quota.Used(an.state.Quota.Parent(i), quota.GPUMilli) && used+asked > fair { // others beside it have something
			return fmt.Sprintf("no running job is preempted for it: queue %s would use %s, more than its fair share of %s",
				an.state.Quota.Name(i), amountOf(used+asked), amountOf(fair))
		}
	}
	return "no preemption would free enough for it"
}

// overGuarantee says why no member above the minimum is taken from others.
func (an *Answers) overGuarantee(q quota.QueueIndex, asked int64) string {
	return fmt.Sprintf("no running job is preempted for it: a gang grows at the cost of others within its guarantee alone, and queue %s would use %s of %s%s",
		an.state.Quota.Name(q), amountOf(an.state.Quota.Used(q, quota.GPUMilli)+asked), amountOf(an.books.Shares.Guaranteed(q)), an.shareOf(q, quota.GPUMilli, guaranteeOf))
}

// describeProtection says for how long every possible victim is protected.
func (an *Answers) describeProtection(t *victim.Search) string {
	at := state.Earlier(t.ProtectedUntil, t.Limited)
	if at == t.ProtectedUntil {
		return fmt.Sprintf("no running job may be preempted for it yet: the first minimum run time or cooldown ends in %v", at.Sub(an.state.Now))
	}
	return fmt.Sprintf("no running job may be preempted for it yet: the preemption rate limit of a queue allows the next one in %v", at.Sub(an.state.Now))
}

// describeSpared says why running jobs that would make room for a job are spared, and until when.
func (an *Answers) describeSpared(t *victim.Search, spared []record.Piece) string {
	what := fmt.Sprintf("those that could go hold more than %d GPUs for each that it asks for", an.state.Config.Policy.Preemption.MaxRatio)
	if slices.ContainsFunc(spared, func(p record.Piece) bool { return p.Whole() && t.WouldSpare(p.Rep) }) {
		what = "those that could go write no checkpoints, and would lose all that they have done"
	}
	if at := sparedUntil(t); at != agenda.Never {
		return fmt.Sprintf("no running job is preempted for it for another %v: %s; after that they go, for the guarantee", at.Sub(an.state.Now), what)
	}
	return "no running job is preempted for it: " + what
}

// sparedUntil is when jobs are spared no longer, as the guarantee of the queue is taken at any cost
// from then on; never: it is not.
func sparedUntil(t *victim.Search) berth.Time { return cmp.Or(t.Guaranteed, t.CollectsFrom()) }

// describeWeighing says in a sentence why a preemption does not pay.
func describeWeighing(w *berth.Weighing, now berth.Time) string {
	when := "as things are"
	if w.From != 0 {
		when = "for another " + w.From.Sub(now).String()
	}
	return fmt.Sprintf("preemption does not pay %s: the victims would lose %v of GPU time, and the job would gain %v", when, berth.Duration(w.Cost), berth.Duration(w.Gain))
}

// potentialVictims looks for victims without an effect, also where they cost more than is gained;
// where there are none, for victims and moves together, for those that are spared for what they are
// (the search says SparesNone then), and for what queues keep.
func (an *Answers) potentialVictims(e *record.Entry) (t *victim.Search, victims []record.Piece, both *evict.Bid, protected []berth.Protection) {
	an.books.TellDemands()
	im, _ := an.evict.Imagine()
	defer im.Forget()
	how := evict.Seeking{Mode: berth.PreemptionOn, Chooser: new(preempt.Chooser)}
	t, victims, ok := an.seek(e, how)
	if ok || t.Weighing != nil {
		return t, victims, nil, nil
	}
	im.VictimSearches = an.state.Bounds.VictimSearches
	both, among := im.BothFor(e)
	t.Cut = t.Cut || among.Cut
	t.Add(among.Obstacles)
	if both != nil || t.Cut || t.Waits || state.Earlier(t.RestsUntil, state.Earlier(t.ProtectedUntil, t.Limited)) != 0 {
		return t, nil, both, nil
	}
	how.Mode, how.SparesNone = an.state.Config.Policy.Preemption.Mode, true
	if all, spared, ok := an.seek(e, how); ok || all.Weighing != nil {
		return all, spared, nil, nil
	}
	return t, nil, nil, an.victims.Protections(e)
}

// seek looks for victims of an entry with as many searches as a bid has.
func (an *Answers) seek(e *record.Entry, how evict.Seeking) (t *victim.Search, victims []record.Piece, ok bool) {
	searches := an.state.Bounds.VictimSearches
	return an.evict.Seek(e, how, &searches)
}
