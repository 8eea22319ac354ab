package victim

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/quota"
)

// The part of a victim search about what of a replica may be taken now.

// consider adds what may be taken of a replica to the candidates.
func (t *Search) consider(victim *record.Replica, source int) {
	anySize := t.anySize(victim)
	for _, s := range t.surpluses(victim) {
		if anySize || !t.TooLarge(record.Piece{Rep: victim, Flats: s.Units[0]}) {
			t.addUnits(victim, s, source)
		}
	}
	if whole := (record.Piece{Rep: victim}); t.MayBeVictim(victim) && (anySize || !t.TooLarge(whole)) {
		t.add(Offer{Piece: whole, pieces: t.pieces(victim), source: source})
	}
}

// anySize reports whether a victim may hold however much.
func (t *Search) anySize(victim *record.Replica) bool {
	if victim.Job.Queue == t.Queue {
		return t.Rep.Job.Spec.Class > victim.Job.Spec.Class
	}
	return t.collects()
}

// sparesUnsaved reports whether no job of another queue is stopped that writes no checkpoints,
// unless that is of a lower class.
func (t *Search) sparesUnsaved() bool {
	p := &t.victims.state.Config.Policy.Preemption
	return !p.StopUnsaved && !p.Gain.IgnoreCost && !t.collects()
}

// WouldSpare reports whether a replica is one of those, also where SparesNone is set.
func (t *Search) WouldSpare(victim *record.Replica) bool {
	return t.sparesUnsaved() && victim.Job.Queue != t.Queue && t.Rep.Job.Spec.Class <= victim.Job.Spec.Class && victim.IsUnsaved()
}

// mayTake reports whether a replica ranks low enough: in other queues, any does.
func (t *Search) mayTake(victim *record.Replica) bool {
	return victim.Job.Queue != t.Queue || books.MayPreempt(t.Rep, victim)
}

// TooLarge reports whether a part holds too much to be stopped for what is asked.
func (t *Search) TooLarge(p record.Piece) bool {
	ratio := int64(t.victims.state.Config.Policy.Preemption.MaxRatio)
	return ratio > 0 && !t.SparesNone && p.GPUMilli()/ratio > max(t.Asked.GPUMilli, 1000)
}

// MayBeVictim reports whether a replica can be evicted now, as a whole.
func (t *Search) MayBeVictim(victim *record.Replica) bool {
	if victim.Job.Borrows() || victim.Job.Spec.NonPreemptible || victim.Order != nil || victim.Reserved != nil || victim.Beneficiary != nil || victim.Imagined || victim.Has(record.MemberStopping) ||
		slices.ContainsFunc(victim.Members, func(m record.Member) bool { return m.Imagined }) {
		return false
	}
	c := t.victims
	if t.PartsOnly {
		return false
	}
	if !t.SparesNone && t.WouldSpare(victim) {
		return false
	}
	limited := c.books.Queues[victim.Job.Queue].Evictions.Ready(c.state.Config.Policy.Preemption.QueueRateLimit, c.state.Now, 1)
	spared := c.life.ProtectedUntil(victim, t.withinGuarantee)
	switch at := max(spared, limited); {
	case at <= c.state.Now:
		return true
	case spared > limited:
		t.ProtectedUntil = state.Earlier(t.ProtectedUntil, at)
	default:
		t.Limited = state.Earlier(t.Limited, at)
	}
	return false
}

// lend discharges as many of the replicas of the sources from a position on as may go together, in
// their order, and adds them to what is lent. Of each source it also discharges, as an amount, the
// most that its other replicas may give in their stead: in another order more may go. Each choice
// is checked later against what it opens. It looks at so many.
func (t *Search) lend(lent *loan, from int) {
	t.noteTaken(nil)
	looked := 0
	for i := from; i < len(t.sources); i++ {
		q, others := t.sources[i].queue, int64(0)
		t.victims.books.Queues[q].Running.Ascend(func(rep *record.Replica) bool {
			if !t.MayBeVictim(rep) || !t.collects() && t.TooLarge(record.Piece{Rep: rep}) {
				return true
			}
			if looked++; looked > t.victims.state.Bounds.Victims {
				t.Cut = true
				return false
			}
			pieces := t.pieces(rep)
			if t.noteTake(q, pieces, 1); !t.leaveKept(q) {
				t.noteTake(q, pieces, -1)
				others += record.Piece{Rep: rep}.GPUMilli()
				return true
			}
			for _, p := range pieces {
				t.victims.books.DischargeAll(p)
				lent.pieces = append(lent.pieces, p)
			}
			return true
		})
		if others = min(others, t.mostLeft(q)); others > 0 {
			t.noteTakeOf(q, others, 1)
			t.victims.books.Discharge(q, quota.Charge{GPUMilli: others})
			lent.amounts = append(lent.amounts, Floor{q, others})
		}
	}
}

// A loan is what is discharged while a search asks which queues have to give back.
type loan struct {
	pieces  []record.Piece
	amounts []Floor
}

// takeBackLoan charges what is lent.
func (t *Search) takeBackLoan(lent *loan) {
	t.takeBack(lent.pieces)
	for _, a := range lent.amounts {
		t.victims.books.Charge(a.Queue, quota.Charge{GPUMilli: a.Milli})
	}
}
