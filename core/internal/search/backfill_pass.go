package search

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// Backfill tries waiting work on the nodes that are set aside: what belongs there, and what leaves
// in time. It looks at what fits nowhere else, in policy order: after something has changed there
// at the first few of each bucket, else at newcomers alone. It makes as many searches as the policy
// allows; the rest goes on in the next pass.
func (se *Search) Backfill() {
	if !se.agenda.BackfillDue && len(se.backlog.Fresh) == 0 {
		return
	}
	if se.agenda.BackfillDue && len(se.backlog.Reservations) > 0 {
		free := se.state.Fleet.Tree().FreeTotal(topology.RootDomain)
		for _, res := range se.backlog.Reservations {
			if !res.IsAwaitedPlan() {
				continue
			}
			if e := se.backlog.EntryOf(res); e.Bucket.Shape.GPUs <= free { // it need not be the first of its bucket
				se.backlog.Freshen(e)
			}
		}
		se.freshenLostHardware(nil)
		for s := range se.backlog.Blocked.Within(free) {
			se.freshenShape(s)
		}
		for _, b := range se.backlog.QuotaBlocked {
			if b.Shape.BlockedAt < 0 && b.Shape.GPUs <= free {
				se.freshen(b)
			}
		}
	}
	for budget := se.state.Config.Policy.BackfillBudget; len(se.backlog.Fresh) > 0 && budget > 0; {
		list := slices.Clone(se.backlog.Fresh)
		slices.SortFunc(list, record.CompareEntries)
		for i := 0; i < len(list) && budget > 0; i++ {
			budget = se.backfillFrom(list[i], budget)
		}
	}
	se.agenda.Backfilled()
}

// backfillFrom tries an entry, and those of the batch behind it that are as fresh, and returns
// what is left of the budget.
func (se *Search) backfillFrom(e *record.Entry, budget int) int {
	t := e.Batch
	if t != nil && !t.Fresh {
		t = nil
	}
	for first := true; ; first = false {
		se.backlog.Unfresh(e)
		tried := false
		se.backlog.Try(e, func() { tried = se.backfillEntry(e) })
		if tried {
			budget--
		}
		waits := e.Slot >= 0
		if !waits {
			e.Bucket.EachAsHandy(e, se.state.Now, se.state.Config.Policy.AssumedRuntime, se.backlog.Freshen)
		}
		switch {
		case t == nil || t.Len() == 0 && (waits || e == t.Head):
			return budget
		case waits && !first && budget > 0:
			return se.skipFresh(t, tried, budget)
		case waits:
			se.backlog.Reveal(t)
		}
		if e = t.Head; budget == 0 {
			return 0
		}
	}
}

// skipFresh has those of a batch that has just been tried with its head, in vain, fare likewise,
// as far as the budget goes, and returns what is left of it. No search is made for them: it would
// be the same one.
func (se *Search) skipFresh(t *record.Batch, tried bool, budget int) int {
	if !tried || t.Head.Bucket.QuotaSlot >= 0 {
		se.backlog.Skip(t, t.Len())
		return budget
	}
	many := min(budget, t.Len())
	se.state.Totals.PlacementAttempts += int64(many)
	se.backlog.Skip(t, many)
	return budget - many
}
