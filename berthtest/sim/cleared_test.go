package sim_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// cleared is another world, in which most reservations that are made in advance clear their nodes.
// Some come back, and some change while they do: for other reasons, or because they clear nothing.
func (g *generator) cleared() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).lending, (*generator).recurring)
	config, options, list := draw(g)
	for i, a := range list {
		e, is := a.Event.(berth.ReservationSet)
		if !is || !g.chance(85) {
			continue
		}
		e.Reservation.Clear = true
		list[i].Event = e
		if g.chance(30) {
			e.Reservation.Clear, e.Reservation.Reason = g.chance(70), "changed"
			list = append(list, sim.Arrival{At: max(a.At, e.Reservation.From.Add(-berth.Duration(g.Int64N(int64(8*berth.Minute))))), Event: e})
		}
	}
	slices.SortStableFunc(list, func(a, b sim.Arrival) int { return cmp.Compare(a.At, b.At) })
	return config, options, list
}

// What does not belong on the nodes of a reservation leaves before it begins, if that says so, and
// goes on where it is if it need not any more.
func TestCleared(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).cleared, "an advance reservation clears its nodes", "left a node that is cleared",
		"leaves for another place", "has to leave, wherever it may go", "advance reservation changed")
}
