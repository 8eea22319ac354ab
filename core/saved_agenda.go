package core

import (
	"slices"

	"github.com/berth-sched/berth"
)

// save saves what an agenda says, but for what follows from the records: the counts, which
// Restore counts anew, the turns, which only tell whether a record is up to date, and healthDue.
func (a *agenda) save(s *snapshot) {
	s.QuotaFreed, s.Lessened, s.BackfillDue = a.quotaFreed, a.lessened, a.backfillDue
	s.SparesDue, s.Homeless = a.sparesDue, a.homeless
	s.NextRank, s.NextReshape, s.NextReserve, s.NextPreempt = a.nextRank, a.nextReshape, a.nextReserve, a.nextPreempt
	if a.nextMove != never {
		s.NextMove = &a.nextMove
	}
}

// restore takes over what was saved, after all that Restore itself has noted.
func (a *agenda) restore(s *snapshot) {
	a.quotaFreed, a.lessened, a.backfillDue = s.QuotaFreed, s.Lessened, s.BackfillDue
	a.sparesDue, a.homeless = s.SparesDue, s.Homeless
	a.nextRank, a.nextReshape, a.nextReserve, a.nextPreempt = s.NextRank, s.NextReshape, s.NextReserve, s.NextPreempt
	if a.nextMove = never; s.NextMove != nil {
		a.nextMove = *s.NextMove
	}
}

// nextTurns begins turns at which nobody has looked for GPUs or victims, for Restore.
func (a *agenda) nextTurns() {
	a.reshapeTurn++
	a.preemptTurn++
}

// restoreAgenda takes over what is due, and has the next pass look at spares that are in use.
func (c *Core) restoreAgenda(s *snapshot) *berth.Error {
	c.agenda.restore(s)
	if slices.ContainsFunc(c.nodes, func(n *node) bool { return n != nil && n.trust.Spare && len(n.members) > 0 }) {
		c.agenda.wantSpares()
	}
	return nil
}
