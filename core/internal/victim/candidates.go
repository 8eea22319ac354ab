package victim

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
)

// The part of a victim search about the surplus of a replica: its units, and the units that may go
// together.

// An Offer is a candidate: a unit of what a replica has above its minimum, or all of it.
type Offer struct {
	record.Piece
	// pieces that go one by one: of a whole replica its minimum, and each unit above that.
	pieces []record.Piece
	// surplus that it is a unit of; nil: it is the whole replica.
	surplus *surplus
	// source is the position of its queue among the sources.
	source int
	// Busy: it cannot be told just now, as the replica gives or gets other members.
	Busy bool
}

// A giver is what a victim search knows of a replica.
type giver struct {
	surpluses []*surplus
	// units are the candidates among its parts.
	units []int
}

// giver finds what a replica that runs has above its minimum.
func (t *Search) giver(rep *record.Replica) *giver {
	if !rep.Job.IsElastic() {
		return &giver{}
	}
	if g := t.givers[rep]; g != nil {
		return g
	}
	if t.givers == nil {
		t.givers = map[*record.Replica]*giver{}
	}
	g := &giver{}
	t.givers[rep] = g
	for group := range rep.Job.Spec.Groups {
		s := &surplus{Surplus: record.SurplusOf(rep, group)}
		t.victims.arrange(s, rep, t.Request)
		g.surpluses = append(g.surpluses, s)
	}
	return g
}

// surpluses lists the surpluses of a replica of which something may go.
func (t *Search) surpluses(rep *record.Replica) []*surplus {
	// Nobody else may stand where a gang has the domain for itself.
	if !rep.Job.IsElastic() || rep.Imagined || rep.Beneficiary != nil || rep.Asked() || rep.Exclusive != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.giver(rep).surpluses), func(s *surplus) bool { return len(s.Extras()) == 0 })
}

// pieces lists what a replica is made of: what it has above its minimum, as far as it may go
// together, unit by unit, and the rest of what runs. What a gang grows by is being started yet.
func (t *Search) pieces(rep *record.Replica) []record.Piece {
	if !rep.Job.IsElastic() {
		return []record.Piece{{Rep: rep}}
	}
	var list []record.Piece
	extra := map[int]bool{}
	for _, s := range t.giver(rep).surpluses {
		for _, unit := range s.Extras() {
			list = append(list, record.Piece{Rep: rep, Flats: unit})
			for _, flat := range unit {
				extra[flat] = true
			}
		}
	}
	rest := record.Piece{Rep: rep, Flats: []int{}}
	for flat := range rep.Members {
		if m := &rep.Members[flat]; (m.State == record.MemberRunning || m.State == record.MemberStopping) && !m.Imagined && !extra[flat] {
			rest.Flats = append(rest.Flats, flat)
		}
	}
	return append(list, rest)
}

// addUnits adds the units of a surplus to the candidates, of which no more may go than leave the
// minimum: that may be less than all of them together.
func (t *Search) addUnits(rep *record.Replica, s *surplus, source int) {
	g := t.giver(rep)
	busy := rep.Order != nil || rep.Reserved != nil || rep.Has(record.MemberStopping)
	for _, unit := range s.Units {
		g.units = append(g.units, len(t.Offers))
		p := record.Piece{Rep: rep, Flats: unit}
		t.add(Offer{Piece: p, pieces: []record.Piece{p}, surplus: s, source: source, Busy: busy})
	}
}

// take discharges a candidate. With a whole replica, its units are no candidates of their own.
func (t *Search) take(i int, goes []bool) {
	goes[i] = true
	y := &t.Offers[i]
	if y.surplus == nil {
		for _, unit := range t.giver(y.Rep).units {
			if goes[unit] {
				t.victims.books.ChargeAll(t.Offers[unit].Piece)
				goes[unit] = false
			}
		}
	}
	for _, p := range y.pieces {
		t.victims.books.DischargeAll(p)
	}
}

// add adds a candidate. Those of other queues come from a source above 0: the lower, the
// further that queue is over its share.
func (t *Search) add(y Offer) {
	candidate := t.victims.Candidate(y.Piece, t.victims.QueueingFor(t.Rep))
	rank := t.sources[y.source].rank
	candidate.Backfilled, candidate.Borrowed, candidate.Source = t.Rep.Reserved.LetIn(y.Rep), rank > 0, rank
	if !y.Whole() {
		candidate.Started -= int64(len(t.giver(y.Rep).units)) // in the order in which they go
	}
	t.Candidates = append(t.Candidates, candidate)
	t.Offers = append(t.Offers, y)
}
