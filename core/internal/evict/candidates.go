package evict

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
)

// The part of a victim search about the surplus of a replica: its units, and the units that may go
// together.

// A yieldable is a candidate: a unit of what a replica has above its minimum, or all of it.
type yieldable struct {
	record.Piece
	// pieces that go one by one: of a whole replica its minimum, and each unit above that.
	pieces []record.Piece
	// surplus that it is a unit of; nil: it is the whole replica.
	surplus *surplus
	// busy: it cannot be told just now, as the replica gives or gets other members.
	busy bool
}

// A giver is what a victim search knows of a replica.
type giver struct {
	surpluses []*surplus
	// units are the candidates among its parts.
	units []int
}

// giver finds what a replica that runs has above its minimum.
func (t *VictimSearch) giver(rep *record.Replica) *giver {
	if g := t.givers[rep]; g != nil {
		return g
	}
	if t.givers == nil {
		t.givers = map[*record.Replica]*giver{}
	}
	t.givers[rep] = &giver{}
	if rep.Job.IsElastic() {
		for group := range rep.Job.Spec.Groups {
			s := surplusOf(rep, group)
			t.core.arrange(s, rep, t.Request)
			t.givers[rep].surpluses = append(t.givers[rep].surpluses, s)
		}
	}
	return t.givers[rep]
}

// surpluses lists the surpluses of a replica of which something may go.
func (t *VictimSearch) surpluses(rep *record.Replica) []*surplus {
	// Nobody else may stand where a gang has the domain for itself.
	if rep.Imagined || rep.Beneficiary != nil || rep.Asked() || rep.Exclusive != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.giver(rep).surpluses), func(s *surplus) bool { return len(s.extras()) == 0 })
}

// elastic reports whether a part of something is among the candidates.
func (t *VictimSearch) elastic() bool {
	return slices.ContainsFunc(t.offers, func(y yieldable) bool { return y.surplus != nil })
}

// pieces lists what a replica is made of: what it has above its minimum, as far as it may go
// together, unit by unit, and the rest.
func (t *VictimSearch) pieces(rep *record.Replica) []record.Piece {
	var list []record.Piece
	extra := map[int]bool{}
	for _, s := range t.giver(rep).surpluses {
		for _, unit := range s.extras() {
			list = append(list, record.Piece{Rep: rep, Flats: unit})
			for _, flat := range unit {
				extra[flat] = true
			}
		}
	}
	rest := record.Piece{Rep: rep, Flats: []int{}}
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State.Holds() && !m.Imagined && !extra[flat] {
			rest.Flats = append(rest.Flats, flat)
		}
	}
	return append(list, rest)
}

// addUnits adds the units of a surplus to the candidates, of which so many members may go.
// That may be less than all candidates together.
func (t *VictimSearch) addUnits(rep *record.Replica, s *surplus, most, source int) {
	g := t.giver(rep)
	s.mayGo = most
	busy := rep.Order != nil || rep.Has(record.MemberStopping)
	for _, unit := range s.units {
		g.units = append(g.units, len(t.offers))
		p := record.Piece{Rep: rep, Flats: unit}
		t.add(yieldable{Piece: p, pieces: []record.Piece{p}, surplus: s, busy: busy}, source)
	}
}

// take discharges a candidate that goes beside those that go already, and reports whether it may:
// no more of a surplus goes than leaves the minimum.
func (t *VictimSearch) take(i int, goes []bool) bool {
	y := &t.offers[i]
	s := y.surplus
	switch {
	case s == nil:
		t.takeWhole(y, goes)
		return true
	case t.bounded && s.taken+len(y.Flats) > s.mayGo:
		return false
	}
	s.taken += len(y.Flats)
	t.core.discharge(y.Piece)
	return true
}

// takeWhole is take for a whole replica: with that, its units are no candidates of their own.
func (t *VictimSearch) takeWhole(y *yieldable, goes []bool) {
	for _, i := range t.giver(y.Rep).units {
		if goes[i] {
			t.core.recharge(t.offers[i].Piece)
			goes[i] = false
		}
	}
	for _, p := range y.pieces {
		t.core.discharge(p)
	}
}

// mostFavoured bounds on how many nodes the units of gangs are looked for together.
const mostFavoured = 4

// takesWhole reports whether somebody among those imagined gone goes as a whole.
func (t *VictimSearch) takesWhole() bool {
	for i, gone := range t.out {
		if gone && t.offers[i].surplus == nil {
			return true
		}
	}
	return false
}

// lookByNode looks for parts that suffice where whole gangs would have to go otherwise: units of
// several gangs on one node, on the nodes where the most of them may go. If there are none it
// looks as before.
func (t *VictimSearch) lookByNode(look func() (suffice, enough bool)) (suffice bool) {
	for _, n := range t.nodesOfUnits() {
		t.favoured = n
		if ok, _ := look(); ok && !t.takesWhole() {
			return true
		}
	}
	t.favoured = nil
	suffice, _ = look()
	return suffice
}

// nodesOfUnits lists the first nodes by how many members may go from there.
func (t *VictimSearch) nodesOfUnits() []*record.Node {
	type share struct {
		of   *surplus
		node *record.Node
	}
	units, on := map[share]int{}, map[*record.Node]int{}
	for i := range t.offers {
		y := &t.offers[i]
		if y.surplus == nil {
			continue
		}
		for _, flat := range y.Flats {
			s := share{y.surplus, y.Rep.Members[flat].Node}
			if units[s]++; units[s] <= y.surplus.mayGo {
				on[s.node]++
			}
		}
	}
	nodes := slices.SortedFunc(maps.Keys(on), func(a, b *record.Node) int {
		return cmp.Or(cmp.Compare(on[b], on[a]), record.CompareNodes(a, b))
	})
	return nodes[:min(len(nodes), mostFavoured)]
}

// favours reports whether a candidate is a unit with a member on the favoured node.
func (t *VictimSearch) favours(i int) bool {
	y := &t.offers[i]
	return t.favoured != nil && y.surplus != nil && slices.ContainsFunc(y.Flats, func(flat int) bool {
		return y.Rep.Members[flat].Node == t.favoured
	})
}

// add adds a candidate. Those of other queues come from a source above 0: the lower, the
// further that queue is over its share.
func (t *VictimSearch) add(y yieldable, source int) {
	candidate := t.core.Candidate(y.Piece, t.core.QueueingFor(t.rep))
	candidate.Backfilled, candidate.Borrowed, candidate.Source = t.rep.Reserved.LetIn(y.Rep), source > 0, source
	if !y.Whole() {
		candidate.Started -= int64(len(t.giver(y.Rep).units)) // in the order in which they go
	}
	t.candidates = append(t.candidates, candidate)
	t.offers = append(t.offers, y)
}
