package evict

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// The part of a victim search about the surplus of a replica: its units, their rank by the
// guarantee of their queue, and the units that may go together.

// An offer is a candidate: a unit of what a replica has above its minimum, or all of it.
type offer struct {
	record.Piece
	// steps in which it is taken back.
	steps []step
	// surplus that it is a unit of; nil: it is the whole replica.
	surplus *surplus
	// busy: it cannot be told just now, as the replica gives or gets other members.
	busy bool
}

// A step is a part of a replica that is taken back, after those before it, and by what that
// is due to its queue.
type step struct {
	record.Piece
	due quota.Due
}

// A giver is what a victim search knows of a replica.
type giver struct {
	surpluses []*surplus
	// rest is what is left without them, by what it is due to its queue.
	rest quota.Due
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
	return slices.ContainsFunc(t.offers, func(y offer) bool { return y.surplus != nil })
}

// steps lists how a replica is taken back as a whole: first what it has above its minimum,
// as far as it may go together, then the rest.
func (t *VictimSearch) steps(rep *record.Replica) []step {
	g := t.giver(rep)
	var steps []step
	extra := map[int]bool{}
	for _, s := range g.surpluses {
		for n, unit := range s.extras() {
			steps = append(steps, step{record.Piece{Rep: rep, Flats: unit}, s.dueOf(n)})
			for _, flat := range unit {
				extra[flat] = true
			}
		}
	}
	rest := step{record.Piece{Rep: rep, Flats: []int{}}, g.rest}
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State.Holds() && !m.Imagined && !extra[flat] {
			rest.Flats = append(rest.Flats, flat)
		}
	}
	return append(steps, rest)
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
		t.add(offer{Piece: p, steps: []step{{Piece: p}}, surplus: s, busy: busy}, source)
	}
}

// lendUnits lists the units of a surplus, as far as they may be taken back, and discharges so
// many of them.
func (t *VictimSearch) lendUnits(rep *record.Replica, s *surplus, source int) {
	most := 0
	for n, unit := range s.extras() {
		p := record.Piece{Rep: rep, Flats: unit}
		if !t.mayReclaim(p, s.dueOf(n)) {
			break
		}
		t.core.discharge(p)
		t.lent = append(t.lent, p)
		s.lent++
		most += len(unit)
	}
	if most > 0 {
		t.addUnits(rep, s, most, source)
	}
}

// lendWhole lists a replica as a whole, if what is left of it may be taken back after what it
// has lent already, and discharges that.
func (t *VictimSearch) lendWhole(rep *record.Replica, source int) {
	steps, lent := t.steps(rep), 0
	for _, s := range t.giver(rep).surpluses {
		lent += s.lent
	}
	if lent > 0 && lent < len(steps)-1 {
		return // not even all of what is above its minimum
	}
	if t.giveBack(steps[lent:]) {
		t.add(offer{Piece: record.Piece{Rep: rep}, steps: steps}, source)
		for _, s := range steps[lent:] {
			t.lent = append(t.lent, s.Piece)
		}
	}
}

// giveBack discharges what is taken back step by step, all of it or nothing.
func (t *VictimSearch) giveBack(steps []step) bool {
	for i, s := range steps {
		if !t.mayReclaim(s.Piece, s.due) {
			for _, s := range steps[:i] {
				t.core.recharge(s.Piece)
			}
			return false
		}
		t.core.discharge(s.Piece)
	}
	return true
}

// mayReclaim reports whether a part of a replica of another queue may be taken back for what
// is asked, by what it is due to its queue.
func (t *VictimSearch) mayReclaim(p record.Piece, due quota.Due) bool {
	given := quota.Charge{GPUMilli: ChargedOf(p), Product: quota.NoProduct}
	_, ok := t.core.books.Shares.MayReclaimWhole(t.Queue, t.Asked, p.Rep.Job.Queue, given, due)
	return ok
}

// take discharges a candidate if it may be taken beside those that go already, and reports
// whether it may.
func (t *VictimSearch) take(i int, goes []bool) bool {
	y := &t.offers[i]
	lent := y.Rep.Job.Queue != t.Queue
	s := y.surplus
	switch {
	case s == nil:
		return t.takeWhole(y, lent, goes)
	case t.bounded && s.taken+len(y.Flats) > s.mayGo, lent && !t.mayReclaim(y.Piece, s.dueOf(s.gone)):
		return false
	}
	s.taken, s.gone = s.taken+len(y.Flats), s.gone+1
	t.core.discharge(y.Piece)
	return true
}

// takeWhole is take for a whole replica: with that, its units are no candidates of their own.
func (t *VictimSearch) takeWhole(y *offer, lent bool, goes []bool) bool {
	units := slices.DeleteFunc(slices.Clone(t.giver(y.Rep).units), func(i int) bool { return !goes[i] })
	for _, i := range units {
		t.core.recharge(t.offers[i].Piece)
	}
	if lent && !t.giveBack(y.steps) {
		for _, i := range units {
			t.core.discharge(t.offers[i].Piece)
		}
		return false
	}
	if !lent {
		for _, s := range y.steps {
			t.core.discharge(s.Piece)
		}
	}
	for _, i := range units {
		goes[i] = false
	}
	return true
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
func (t *VictimSearch) add(y offer, source int) {
	candidate := t.core.Candidate(y.Piece, t.core.QueueingFor(t.rep))
	candidate.Backfilled, candidate.Borrowed, candidate.Source = t.rep.Reserved.LetIn(y.Rep), source > 0, source
	if !y.Whole() {
		candidate.Started -= int64(len(t.giver(y.Rep).units)) // in the order in which they go
	}
	t.candidates = append(t.candidates, candidate)
	t.offers = append(t.offers, y)
}
