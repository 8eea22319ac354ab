package core

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// saveAgenda saves what is due. The fields of a snapshot stand in the order in which they came.
func (c *Core) saveAgenda(s *record.Snapshot) {
	d := c.agenda.Save()
	s.QuotaFreed, s.Lessened, s.BackfillDue = d.QuotaFreed, d.Lessened, d.BackfillDue
	s.SparesDue, s.Homeless, s.MovesLeft, s.TakersLeft = d.SparesDue, d.Homeless, d.MovesLeft, d.TakersLeft
	s.NextRank, s.NextReshape, s.NextReserve, s.NextPreempt = d.NextRank, d.NextReshape, d.NextReserve, d.NextPreempt
	if d.NextMove != agenda.Never {
		s.NextMove = &d.NextMove
	}
}

// restoreAgenda takes over what is due, after all that Restore itself has noted, and has the
// next pass look at spares that are in use, too many or too few, and for places of gangs that
// have none.
func (c *Core) restoreAgenda(s *record.Snapshot) *berth.Error {
	d := agenda.Dues{
		QuotaFreed: s.QuotaFreed, Lessened: s.Lessened, BackfillDue: s.BackfillDue, SparesDue: s.SparesDue, Homeless: s.Homeless, MovesLeft: s.MovesLeft,
		TakersLeft: s.TakersLeft,
		NextRank:   s.NextRank, NextReshape: s.NextReshape, NextReserve: s.NextReserve, NextPreempt: s.NextPreempt, NextMove: agenda.Never,
	}
	if s.NextMove != nil {
		d.NextMove = *s.NextMove
	}
	c.agenda.Restore(d)
	if c.upkeep.SparesAmiss() {
		c.agenda.WantSpares()
	}
	if !d.Homeless && c.life.SomeUprooted() {
		c.agenda.MoveBy(c.state.Now)
	}
	return nil
}
