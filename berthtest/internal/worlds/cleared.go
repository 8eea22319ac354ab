package worlds

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Cleared is another world, in which most reservations that are made in advance clear their nodes.
// Some come back, and some change while they do: for other reasons, or because they clear nothing.
func (g *Generator) Cleared() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Lending, (*Generator).Recurring)
	config, options, list := draw(g)
	for i, a := range list {
		e, is := a.Event.(berth.ReservationSet)
		if !is || !g.Chance(85) {
			continue
		}
		e.Reservation.Clear = true
		list[i].Event = e
		if g.Chance(30) {
			e.Reservation.Clear, e.Reservation.Reason = g.Chance(70), "changed"
			list = append(list, sim.Arrival{At: max(a.At, e.Reservation.From.Add(-berth.Duration(g.Int64N(int64(8*berth.Minute))))), Event: e})
		}
	}
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}
