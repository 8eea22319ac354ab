package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Recurring is another world, in which most reservations that are made in advance come back.
func (g *Generator) Recurring() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Gated)
	config, options, list := draw(g)
	var ids []berth.ReservationID
	for i := range list {
		if e, is := list[i].Event.(berth.ReservationSet); is && g.Chance(80) {
			r := &e.Reservation
			r.Every = r.Until.Sub(r.From) + berth.Duration(1+g.Int64N(int64(4*berth.Minute)))
			if g.Chance(30) { // as of an occurrence that is past
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
