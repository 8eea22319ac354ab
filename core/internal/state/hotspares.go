package state

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/topology"
)

// SparesOf is what keeps the spares of a pool; nil: it has none.
func (st *State) SparesOf(pool string) *record.SparePool {
	i, found := slices.BinarySearchFunc(st.Spares, pool, func(p *record.SparePool, pool string) int { return cmp.Compare(p.Pool, pool) })
	if !found {
		return nil
	}
	return st.Spares[i]
}

// MaySpare reports whether a replica may be placed on a spare: hardware was taken from it,
// and it does not run, or it has to leave a node that is drained or cleared. It is the one place
// where that is decided.
func (st *State) MaySpare(rep *record.Replica) bool {
	if rep.State != berth.ReplicaRunning {
		return rep.Retry.Get().LostHardware
	}
	return st.DrainOf(rep).Node != nil
}

// CountAs counts a node as sound, or as not, among those of its pool, of which a part are spares.
func (st *State) CountAs(n *record.Node, sound bool) {
	if p := st.SparesOf(n.Spec.Pool); p != nil && sound != n.Counted {
		Count(&p.Sound, &n.Counted, sound)
		st.agenda.WantSpares()
	}
}

// MayStandBy reports whether a node can become a spare: it is idle, trusted, and set aside for
// nobody, but for gangs that only wait for their turn and could not use a spare. Those plan
// anew; else there would be no spares for as long as somebody has a reservation where the next
// node becomes free.
func (st *State) MayStandBy(n *record.Node) bool {
	return len(n.Members) == 0 && n.Sound() &&
		!slices.ContainsFunc(n.Reservations, func(res *record.Reservation) bool { return !res.GivesWay() || st.MaySpare(res.Rep) }) &&
		!slices.ContainsFunc(n.GPUs, func(r values.Rare[record.GPUState]) bool {
			g := r.Get()
			return g.Unknown() || g.Order() != nil || g.GPUHold != nil
		})
}

// offersSpare has the next pass look whether a node that has become free is to be a spare.
func (st *State) offersSpare(n *record.Node) {
	if len(st.Spares) == 0 || len(n.Members) > 0 {
		return
	}
	if p := st.SparesOf(n.Spec.Pool); p != nil && p.Free() < p.Wanted() {
		st.agenda.WantSpares()
	}
}

// A spread chooses the nodes of a pool that are to be spares, one after the other. Nodes of one
// narrowest domain differ by what does not change, so that it looks at one of each.
// O(narrowest domains x levels) for each.
type spread struct {
	state  *State
	levels int
	// count is how many spares each domain has, at all levels.
	count map[topology.DomainIndex]int
	// places has the candidates of each narrowest domain, in order.
	places [][]*record.Node
}

// NewSpread gathers the nodes that can be spares of a pool. It is good until one of them changes.
func (st *State) NewSpread(p *record.SparePool) *spread {
	s := &spread{state: st, levels: len(st.Config.Levels), count: map[topology.DomainIndex]int{}}
	if p.Reservation != nil {
		for _, n := range p.Reservation.Nodes {
			s.Note(n)
		}
	}
	var list []*record.Node
	for _, n := range st.Nodes {
		if n != nil && n.Spec.Pool == p.Pool && st.MayStandBy(n) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, compareReadiness)
	at := map[topology.DomainIndex]int{}
	for _, n := range list {
		d := s.domain(n, s.levels)
		i, known := at[d]
		if !known {
			i = len(s.places)
			at[d] = i
			s.places = append(s.places, nil)
		}
		s.places[i] = append(s.places[i], n)
	}
	return s
}

// domain is that of a node at a level, from 1, the widest; 0 is the fleet.
func (s *spread) domain(n *record.Node, level int) topology.DomainIndex {
	return s.state.Fleet.Tree().DomainOf(n.Index, topology.Level(level))
}

// Note counts a spare more in the domains of a node.
func (s *spread) Note(n *record.Node) {
	for level := 1; level <= s.levels; level++ {
		s.count[s.domain(n, level)]++
	}
}

// Next is the node that comes first, and no candidate from then on; nil: there is none.
func (s *spread) Next() *record.Node {
	best := -1
	for i, place := range s.places {
		if len(place) > 0 && (best < 0 || s.compare(place[0], s.places[best][0]) < 0) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	n := s.places[best][0]
	s.places[best] = s.places[best][1:]
	return n
}

// compare orders candidates: the fewest spares in the widest domain first, then in the
// narrower ones, then those that nobody has a reservation on, then the smaller name.
func (s *spread) compare(a, b *record.Node) int {
	for level := 1; level <= s.levels; level++ {
		if d := cmp.Compare(s.count[s.domain(a, level)], s.count[s.domain(b, level)]); d != 0 {
			return d
		}
	}
	return compareReadiness(a, b)
}

// Count counts a node in a state that it entered, or out of one that it left.
func Count(n *int, is *bool, now bool) {
	switch {
	case now && !*is:
		*n++
	case *is && !now:
		*n--
	}
	*is = now
}

// NoteLoss remembers that a node is lost.
func (st *State) NoteLoss(id berth.NodeID) {
	h := &st.Config.Policy.Health
	if !values.RemembersLosses(h) {
		return
	}
	st.losses.Forget(st.Now, st.Config.Limits.Nodes)
	r := st.losses.ByID[id]
	if r == nil {
		r = &losses.Record{Node: id}
	} else {
		st.losses.Remove(r)
	}
	r.Losses = append(r.Losses, st.Now)
	r.Losses = slices.Delete(r.Losses, 0, max(0, len(r.Losses)-max(h.Losses, 1)))
	r.Until = st.Now.Add(h.Within)
	st.losses.Add(r)
	st.losses.Forget(st.Now, st.Config.Limits.Nodes)
}

// compareReadiness orders candidates that are equally far from other spares.
func compareReadiness(a, b *record.Node) int {
	return cmp.Or(values.CompareBool(len(a.Reservations) > 0, len(b.Reservations) > 0), record.CompareNodes(a, b))
}
