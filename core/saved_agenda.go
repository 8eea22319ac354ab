package core

import (
	"slices"

	"github.com/berth-sched/berth"
)

// saveAgenda saves what is due. The fields of a snapshot stand in the order in which they came.
func (c *Core) saveAgenda(s *snapshot) {
	d := c.agenda.save()
	s.QuotaFreed, s.Lessened, s.BackfillDue = d.quotaFreed, d.lessened, d.backfillDue
	s.SparesDue, s.Homeless = d.sparesDue, d.homeless
	s.NextRank, s.NextReshape, s.NextReserve, s.NextPreempt = d.nextRank, d.nextReshape, d.nextReserve, d.nextPreempt
	if d.nextMove != never {
		s.NextMove = &d.nextMove
	}
}

// restoreAgenda takes over what is due, after all that Restore itself has noted, and has the
// next pass look at spares that are in use.
func (c *Core) restoreAgenda(s *snapshot) *berth.Error {
	d := dues{
		quotaFreed: s.QuotaFreed, lessened: s.Lessened, backfillDue: s.BackfillDue, sparesDue: s.SparesDue, homeless: s.Homeless,
		nextRank: s.NextRank, nextReshape: s.NextReshape, nextReserve: s.NextReserve, nextPreempt: s.NextPreempt, nextMove: never,
	}
	if s.NextMove != nil {
		d.nextMove = *s.NextMove
	}
	c.agenda.restore(d)
	if slices.ContainsFunc(c.nodes, func(n *node) bool { return n != nil && n.trust.Spare && len(n.members) > 0 }) {
		c.agenda.wantSpares()
	}
	return nil
}
