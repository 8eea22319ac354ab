package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth/quota"
)

// What of a trial is about the parts of a replica: which there are, by what they are due to
// their queue, and which may go together.

// A yieldable is a candidate: a unit of what a replica has above its minimum, or all of it.
type yieldable struct {
	piece
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
	piece
	due quota.Due
}

// A giver is what a trial knows of a replica.
type giver struct {
	surpluses []*surplus
	// rest is what is left without them, by what it is due to its queue.
	rest quota.Due
	// units are the candidates among its parts.
	units []int
}

// giver finds what a replica that runs has above its minimum.
func (t *trial) giver(rep *replica) *giver {
	if g := t.givers[rep]; g != nil {
		return g
	}
	if t.givers == nil {
		t.givers = map[*replica]*giver{}
	}
	t.givers[rep] = &giver{}
	if rep.job.isElastic() {
		for group := range rep.job.spec.Groups {
			s := rep.surplus(group)
			t.core.arrange(s, rep, t.request)
			t.givers[rep].surpluses = append(t.givers[rep].surpluses, s)
		}
	}
	return t.givers[rep]
}

// spare lists the surpluses of a replica of which something may go.
func (t *trial) spare(rep *replica) []*surplus {
	// Nobody else may stand where a gang has the domain for itself.
	if rep.imagined || rep.yieldsTo != nil || rep.asked() || rep.exclusive != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.giver(rep).surpluses), func(s *surplus) bool { return len(s.extras()) == 0 })
}

// elastic reports whether a part of something is among the candidates.
func (t *trial) elastic() bool {
	return slices.ContainsFunc(t.offers, func(y yieldable) bool { return y.surplus != nil })
}

// steps lists how a replica is taken back as a whole: first what it has above its minimum,
// as far as it may go together, then the rest.
func (t *trial) steps(rep *replica) []step {
	g := t.giver(rep)
	var steps []step
	extra := map[int]bool{}
	for _, s := range g.surpluses {
		for n, unit := range s.extras() {
			steps = append(steps, step{piece{rep, unit}, s.dueOf(n)})
			for _, flat := range unit {
				extra[flat] = true
			}
		}
	}
	rest := step{piece{rep, []int{}}, g.rest}
	for flat := range rep.members {
		if m := &rep.members[flat]; m.state.holds() && !m.imagined && !extra[flat] {
			rest.flats = append(rest.flats, flat)
		}
	}
	return append(steps, rest)
}

// addUnits adds the units of a surplus to the candidates, of which so many members may go.
// That may be less than all candidates together.
func (t *trial) addUnits(rep *replica, s *surplus, most, source int) {
	g := t.giver(rep)
	s.mayGo = most
	busy := rep.order != nil || rep.has(memberStopping)
	for _, unit := range s.units {
		g.units = append(g.units, len(t.offers))
		p := piece{rep, unit}
		t.add(yieldable{piece: p, steps: []step{{piece: p}}, surplus: s, busy: busy}, source)
	}
}

// lendUnits lists the units of a surplus, as far as they may be taken back, and discharges so
// many of them.
func (t *trial) lendUnits(rep *replica, s *surplus, source int) {
	most := 0
	for n, unit := range s.extras() {
		p := piece{rep, unit}
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
func (t *trial) lendWhole(rep *replica, source int) {
	steps, lent := t.steps(rep), 0
	for _, s := range t.giver(rep).surpluses {
		lent += s.lent
	}
	if lent > 0 && lent < len(steps)-1 {
		return // not even all of what is above its minimum
	}
	if t.giveBack(steps[lent:]) {
		t.add(yieldable{piece: piece{rep: rep}, steps: steps}, source)
		for _, s := range steps[lent:] {
			t.lent = append(t.lent, s.piece)
		}
	}
}

// giveBack discharges what is taken back step by step, all of it or nothing.
func (t *trial) giveBack(steps []step) bool {
	for i, s := range steps {
		if !t.mayReclaim(s.piece, s.due) {
			for _, s := range steps[:i] {
				t.core.recharge(s.piece)
			}
			return false
		}
		t.core.discharge(s.piece)
	}
	return true
}

// mayReclaim reports whether a part of a replica of another queue may be taken back for what
// is asked, by what it is due to its queue.
func (t *trial) mayReclaim(p piece, due quota.Due) bool {
	given := quota.Charge{GPUMilli: chargedOf(p), Product: quota.NoProduct}
	_, ok := t.core.shares.MayReclaimWhole(t.queue, t.asked, p.rep.job.queue, given, due)
	return ok
}

// take discharges a candidate if it may be taken beside those that go already, and reports
// whether it may.
func (t *trial) take(i int, goes []bool) bool {
	y := &t.offers[i]
	lent := y.rep.job.queue != t.queue
	s := y.surplus
	switch {
	case s == nil:
		return t.takeWhole(y, lent, goes)
	case t.bounded && s.taken+len(y.flats) > s.mayGo, lent && !t.mayReclaim(y.piece, s.dueOf(s.gone)):
		return false
	}
	s.taken, s.gone = s.taken+len(y.flats), s.gone+1
	t.core.discharge(y.piece)
	return true
}

// takeWhole is take for a whole replica: with that, its units are no candidates of their own.
func (t *trial) takeWhole(y *yieldable, lent bool, goes []bool) bool {
	units := slices.DeleteFunc(slices.Clone(t.giver(y.rep).units), func(i int) bool { return !goes[i] })
	for _, i := range units {
		t.core.recharge(t.offers[i].piece)
	}
	if lent && !t.giveBack(y.steps) {
		for _, i := range units {
			t.core.discharge(t.offers[i].piece)
		}
		return false
	}
	if !lent {
		for _, s := range y.steps {
			t.core.discharge(s.piece)
		}
	}
	for _, i := range units {
		goes[i] = false
	}
	return true
}

// findDues tells by what the replicas that run are due to their queue, those first that cannot
// be asked to yield and then those that yield last; and after all of them, in the same order,
// what they have above their minimums. See quota.Shares.MayReclaimWhole.
func (t *trial) findDues(q quota.Index) {
	c := t.core
	var list []*replica
	c.queues[q].running.Descend(func(rep *replica) bool {
		if !rep.imagined { // else it goes anyway
			list = append(list, rep)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b *replica) int { return compareBool(t.mayYield(a), t.mayYield(b)) })
	guaranteed := c.shares.Guaranteed(q)
	fair := max(guaranteed, c.shares.Of(q))
	due := func(milli int64) quota.Due {
		switch {
		case milli > fair:
			return quota.NotDue
		case milli > guaranteed:
			fair -= milli
			return quota.DueByShare
		}
		fair -= milli
		guaranteed -= milli
		return quota.DueByGuarantee
	}
	for _, rep := range list {
		steps := t.steps(rep)
		g := t.giver(rep)
		g.rest = due(chargedOf(steps[len(steps)-1].piece))
		for _, s := range g.surpluses {
			s.rest = g.rest
		}
	}
	for _, rep := range list {
		for _, s := range t.giver(rep).surpluses {
			s.dues = make([]quota.Due, len(s.extras()))
			for n, unit := range slices.Backward(s.extras()) {
				s.dues[n] = due(chargedOf(piece{rep, unit}))
			}
		}
	}
}

// mostFavoured bounds on how many nodes the units of gangs are looked for together.
const mostFavoured = 4

// takesWhole reports whether somebody among those imagined gone goes as a whole.
func (t *trial) takesWhole() bool {
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
func (t *trial) lookByNode(look func() (suffice, enough bool)) (suffice bool) {
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
func (t *trial) nodesOfUnits() []*node {
	type share struct {
		of   *surplus
		node *node
	}
	units, on := map[share]int{}, map[*node]int{}
	for i := range t.offers {
		y := &t.offers[i]
		if y.surplus == nil {
			continue
		}
		for _, flat := range y.flats {
			s := share{y.surplus, y.rep.members[flat].node}
			if units[s]++; units[s] <= y.surplus.mayGo {
				on[s.node]++
			}
		}
	}
	nodes := slices.SortedFunc(maps.Keys(on), func(a, b *node) int {
		return cmp.Or(cmp.Compare(on[b], on[a]), compareNodes(a, b))
	})
	return nodes[:min(len(nodes), mostFavoured)]
}

// favours reports whether a candidate is a unit with a member on the favoured node.
func (t *trial) favours(i int) bool {
	y := &t.offers[i]
	return t.favoured != nil && y.surplus != nil && slices.ContainsFunc(y.flats, func(flat int) bool {
		return y.rep.members[flat].node == t.favoured
	})
}
