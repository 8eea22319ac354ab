package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// recurring is another world, in which most reservations that are made in advance come back.
func (g *generator) recurring() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).gated)
	config, options, list := draw(g)
	var ids []berth.ReservationID
	for i := range list {
		if e, is := list[i].Event.(berth.ReservationSet); is && g.chance(80) {
			r := &e.Reservation
			r.Every = r.Until.Sub(r.From) + berth.Duration(1+g.Int64N(int64(4*berth.Minute)))
			if g.chance(30) { // as of an occurrence that is past
				ago := r.Every * berth.Duration(1+g.IntN(5))
				r.From, r.Until = r.From.Add(-ago), r.Until.Add(-ago)
			}
			list[i].Event = e
			ids = append(ids, r.ID)
		}
	}
	for _, id := range ids { // else no world would come to rest
		list = append(list, sim.Arrival{At: list[len(list)-1].At, Event: berth.ReservationRemoved{Reservation: id}})
	}
	return config, options, list
}

// Reservations come back when they say so, on the nodes that they had, and are kept as those that
// do not.
func TestRecurring(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).recurring, "advance reservation came back", "advance reservation changed", "advance reservation removed")
}
