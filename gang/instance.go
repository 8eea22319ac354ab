package gang

import (
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// placeInstance places one more member of a group with instances in a domain: the
// first of the profiles that can be had, on the GPU and at the place where it takes
// the least from others. Ties go to an instance that exists, the GPU with the fewest
// places left, the lower state of what exists and what is held, the smaller name of
// the node, the lower GPU and the lower start. With keep the place is not in the way of
// others for the same profile.
func (f *Fleet) placeInstance(d topology.DomainIndex, group int, keep bool) bool {
	s := &f.search
	s.group, s.scope = group, nil
	s.within, s.withinLevel = d, f.tree.DomainLevel(d)
	for _, p := range s.request.Groups[group].Claim.Instances {
		if int(p.Class) < len(f.divided) && f.placeProfile(p, keep) {
			return true
		}
	}
	return false
}

// placeProfile is placeInstance for one profile. In a small domain it looks at all nodes,
// else lot by lot, the one with the best bid first.
func (f *Fleet) placeProfile(p ClassProfile, keep bool) bool {
	s := &f.search
	of := &f.divided[p.Class]
	best, ok := of.best(p.Index, keep)
	if !ok {
		return false
	}
	if f.tree.NodeCount(s.within) <= f.walked {
		s.bid = bid{placement: -1}
		f.bidIn(s.within, p, keep)
		return s.bid.placement >= 0 && f.putPart(of.geometry)
	}
	if f.acceptBid(of, best) {
		return true
	}
	s.bids = append(s.bids[:0], of.bids(p.Index, keep)...)
	slices.SortFunc(s.bids, compareBids)
	for i := range s.bids {
		if s.bids[i].placement >= 0 && s.bids[i].lot != best.lot && f.acceptBid(of, s.bids[i]) {
			return true
		}
	}
	return false
}

func compareBids(a, b bid) int {
	switch {
	case a.beats(&b):
		return -1
	case b.beats(&a):
		return 1
	}
	return 0
}

// acceptBid places the member on the first GPU of a lot that will do.
func (f *Fleet) acceptBid(of *divided, b bid) bool {
	s := &f.search
	s.bid, s.found = b, false
	of.gpus.AscendGreaterOrEqual(partKey{lot: b.lot, node: -1}, s.visitPart)
	return s.found && f.putPart(of.geometry)
}

// tryPart is the visit of the divided GPUs of a lot; false ends it.
func (f *Fleet) tryPart(key partKey) bool {
	s := &f.search
	switch {
	case key.lot != s.bid.lot:
		return false
	case f.tree.DomainOf(key.node, s.withinLevel) != s.within, !f.mayHold(key.node):
		return true
	}
	s.part, s.found = key, true
	return false
}

// mayHold reports whether a node will do for the group, whatever is free of its GPUs.
func (f *Fleet) mayHold(n topology.NodeIndex) bool {
	s := &f.search
	return f.hasHost(n, &s.request.Groups[s.group].Claim) && f.admits(s.group, n)
}

// bidIn finds the best bid of the GPUs at or below a domain.
func (f *Fleet) bidIn(d topology.DomainIndex, p ClassProfile, keep bool) {
	s := &f.search
	for _, child := range f.tree.Children(d) {
		f.bidIn(child, p, keep)
	}
	for _, n := range f.tree.NodesOf(d, p.Class) {
		state := &f.nodes[n]
		if !state.schedulable || !f.mayHold(n) {
			continue
		}
		if b, gpu := state.bestBid(p.Index, keep); gpu >= 0 && (s.bid.placement < 0 || b.beats(&s.bid) ||
			b.lot == s.bid.lot && f.tree.Compare(n, s.part.node) < 0) {
			s.bid, s.part = b, partKey{lot: b.lot, node: n, gpu: int32(gpu)}
		}
	}
}

// putPart places the member where the search has found a place.
func (f *Fleet) putPart(g *geometry) bool {
	s := &f.search
	c := &s.request.Groups[s.group].Claim
	f.put(s.group, &Hold{
		Node: s.part.node, GPUs: 1 << s.part.gpu, Instance: g.placements[s.bid.placement],
		Host: c.Host, Declared: c.Declared,
	})
	return true
}

// seats is how many members with one instance each fit on a node, whatever its host has:
// each gets the first of the profiles that is left.
func (s *nodeState) seats(c *Claim) int {
	total := 0
	for gpus := s.divided & s.healthy; gpus != 0; gpus &= gpus - 1 {
		total += s.seatsIn(bits.TrailingZeros64(gpus), c)
	}
	return total
}

// seatsIn is seats of one GPU. It does what fillNode does, so that what is counted can be
// placed.
func (s *nodeState) seatsIn(gpu int, c *Claim) int {
	l, total := s.lotOf(gpu), 0
	last := len(c.Instances) - 1
	for last >= 0 && c.Instances[last].Class != s.class {
		last--
	}
	for i := range last + 1 {
		p := c.Instances[i]
		if p.Class != s.class {
			continue
		}
		room := s.geometry.room(l, p.Index)
		total += room
		if i == last {
			break // nobody needs to know what is held then
		}
		for range room {
			b, ok := s.geometry.bid(l, p.Index, true)
			if !ok {
				break
			}
			l.held = s.geometry.toggle(l.held, int(b.placement))
		}
	}
	return total
}

// chooseInstance returns the GPU of a node, as a set, and the place of it that a claim
// gets, by the rules of placeInstance. There is one.
func (s *nodeState) chooseInstance(c *Claim, keep bool) (uint64, mig.Placement) {
	for _, p := range c.Instances {
		if p.Class != s.class {
			continue
		}
		if b, gpu := s.bestBid(p.Index, keep); gpu >= 0 {
			return 1 << gpu, s.geometry.placements[b.placement]
		}
	}
	return 0, mig.Placement{}
}

// bestBid returns the best bid for a profile on a node, and its GPU, -1 if there is none.
func (s *nodeState) bestBid(profile int, keep bool) (best bid, at int) {
	at = -1
	for gpus := s.divided & s.healthy; gpus != 0; gpus &= gpus - 1 {
		gpu := bits.TrailingZeros64(gpus)
		if b, ok := s.geometry.bid(s.lotOf(gpu), profile, keep); ok && (at < 0 || b.beats(&best)) {
			best, at = b, gpu
		}
	}
	return best, at
}

// extent is how large the instances are that a claim asks for: the memory slices, and
// after them the compute slices, of the first of its profiles.
func (f *Fleet) extent(c *Claim) int64 {
	if len(c.Instances) == 0 {
		return 0
	}
	p := c.Instances[0]
	if int(p.Class) >= len(f.divided) {
		return 1
	}
	return f.divided[p.Class].geometry.extent(p.Index)
}

// checkInstance refuses to hold an instance that is not to be had.
func (f *Fleet) checkInstance(h *Hold) error {
	state := &f.nodes[h.Node]
	gpu := bits.TrailingZeros64(h.GPUs)
	j, l := state.geometry.find(h.Instance), state.lotOf(gpu)
	bit := uint64(1) << j
	switch {
	case l.division == PartitioningNone && state.shared&h.GPUs != 0:
		return f.refuse(ErrHeld, h.Node, "gpus", "shared by others: %s", indexes(h.GPUs))
	case l.division == PartitioningNone:
		return f.refuse(ErrUnavailable, h.Node, "instance", "GPU %d is not partitioned", gpu)
	case state.geometry.lattice.PlacementSet(l.held)&bit != 0:
		return f.refuse(ErrHeld, h.Node, "instance", "%s of GPU %d is held by others", h.Instance, gpu)
	case l.division == PartitioningFixed && state.geometry.lattice.PlacementSet(l.exist)&bit == 0:
		return f.refuse(ErrUnavailable, h.Node, "instance", "GPU %d has no instance %s", gpu, h.Instance)
	case state.geometry.idle(l)&bit == 0:
		return f.refuse(ErrCapacity, h.Node, "instance", "%s does not fit on GPU %d beside %s", h.Instance, gpu,
			state.geometry.lattice.Layout(l.held))
	}
	return nil
}

// checkReleaseInstance refuses to give back an instance that is not held.
func (f *Fleet) checkReleaseInstance(h *Hold) error {
	state := &f.nodes[h.Node]
	gpu := bits.TrailingZeros64(h.GPUs)
	if held := state.geometry.lattice.PlacementSet(state.slots[gpu].held); held>>state.geometry.find(h.Instance)&1 == 0 {
		return f.refuse(ErrNotHeld, h.Node, "instance", "no member holds %s of GPU %d", h.Instance, gpu)
	}
	return nil
}

// seat lets an instance be held, or not any more.
func (f *Fleet) seat(n topology.NodeIndex, gpu int, placement mig.Placement) {
	f.unindex(n, gpu)
	state := &f.nodes[n]
	slot := &state.slots[gpu]
	slot.held = state.geometry.toggle(slot.held, state.geometry.find(placement))
	state.seated &^= 1 << gpu
	if slot.held != 0 {
		state.seated |= 1 << gpu
	}
	f.index(n, gpu)
}

// A geometry is a lattice, how its places are weighed, and what of it is asked for often.
type geometry struct {
	lattice    *mig.Lattice
	ranking    *mig.Ranking
	placements []mig.Placement // in the lattice's order
	extents    []int64         // by profile
}

func newGeometry(lattice *mig.Lattice, ranking *mig.Ranking) *geometry {
	g := &geometry{lattice: lattice, ranking: ranking, placements: lattice.Placements()}
	for p := range lattice.Profiles() {
		profile, _ := lattice.Profile(p)
		g.extents = append(g.extents, int64(profile.MemorySlices)<<32|int64(profile.ComputeSlices))
	}
	return g
}

// of returns the lattice; nil for no geometry.
func (g *geometry) of() *mig.Lattice {
	if g == nil {
		return nil
	}
	return g.lattice
}

// find returns the number of a placement; -1 for none of the lattice.
func (g *geometry) find(placement mig.Placement) int {
	if g != nil {
		for j := range g.placements {
			if g.placements[j] == placement {
				return j
			}
		}
	}
	return -1
}

// has reports whether the lattice has a state.
func (g *geometry) has(s mig.State) bool { return int(s) < g.lattice.States() }

// within reports whether all placements of a state are in another.
func (g *geometry) within(s, other mig.State) bool {
	return g.lattice.PlacementSet(s)&^g.lattice.PlacementSet(other) == 0
}

// toggle returns a state with a placement joined or gone, which is open or there.
func (g *geometry) toggle(s mig.State, placement int) mig.State {
	next, _ := g.lattice.Toggle(s, placement)
	return next
}

// idle is the set of placements at which a member can get an instance of a GPU, one at a
// time: with Fixed those that exist and nobody holds.
func (g *geometry) idle(l lot) uint64 {
	idle := g.lattice.OpenSet(l.held)
	if l.division == PartitioningFixed {
		idle &= g.lattice.PlacementSet(l.exist) // what is held is a part of it, so all else of it is open
	}
	return idle
}

// room is how many instances of a profile members can get of a GPU, all at a time.
func (g *geometry) room(l lot, profile int) int {
	switch {
	case profile >= g.lattice.Profiles():
		return 0
	case l.division == PartitioningFixed:
		return bits.OnesCount64(g.idle(l) & g.lattice.ProfileSet(profile))
	}
	return g.lattice.Free(l.held, profile)
}

// A bid is the best place for an instance on the GPUs of a lot.
type bid struct {
	// loss is what the GPU is worth less for others.
	loss int64
	// rank settles ties: an instance that exists, then the GPU with the fewest places left
	// open, then the lot that comes first, one number each.
	rank uint64
	// placement is the place, -1 if there is none.
	placement int8
	lot       lot
}

// newBid returns the bid of a lot for a place that leaves so many places open.
func newBid(l lot, placement, left int, loss int64) bid {
	return bid{
		loss: loss, placement: int8(placement), lot: l,
		rank: uint64(l.division)<<40 | uint64(left)<<32 | uint64(l.exist)<<16 | uint64(l.held),
	}
}

// beats reports whether a bid is better than one of another lot: the least loss, then the
// lower rank.
func (b *bid) beats(o *bid) bool { return b.loss < o.loss || b.loss == o.loss && b.rank < o.rank }

// bids returns the best place for an instance of a profile: the one with the least loss, of
// equals the one that leaves the most places open, then the lowest start. And the best
// of those places at which the GPU loses room for no more than this one instance of the
// profile: of a gang, all members but the last go there, so that as many find room as can.
func (g *geometry) bids(l lot, profile int) (free, keeping bid) {
	free, keeping = bid{lot: l, placement: -1}, bid{lot: l, placement: -1}
	if profile >= g.lattice.Profiles() {
		return free, keeping
	}
	room := 0
	if l.division == PartitioningPerClaim { // instances that exist are in nobody's way
		room = g.lattice.Free(l.held, profile)
	}
	for rest := g.idle(l) & g.lattice.ProfileSet(profile); rest != 0; rest &= rest - 1 {
		j := bits.TrailingZeros64(rest)
		next := g.toggle(l.held, j)
		this := newBid(l, j, bits.OnesCount64(g.lattice.OpenSet(next)), g.ranking.Loss(l.held, next))
		if this.precedes(&free) {
			free = this
		}
		if this.precedes(&keeping) && (room == 0 || g.lattice.Free(next, profile) == room-1) {
			keeping = this
		}
	}
	return free, keeping
}

// precedes reports whether a place is better than one on the same GPU that comes before it.
func (b *bid) precedes(o *bid) bool {
	return o.placement < 0 || b.loss < o.loss || b.loss == o.loss && b.rank > o.rank // more are left open
}

// bid is one of bids, and whether there is one.
func (g *geometry) bid(l lot, profile int, keep bool) (bid, bool) {
	best, keeping := g.bids(l, profile)
	if keep {
		best = keeping
	}
	return best, best.placement >= 0
}

// extent is how large the instances of a profile are, compared with others: by memory
// slices, then compute slices. 1 where that is not known.
func (g *geometry) extent(profile int) int64 {
	if g == nil || profile >= len(g.extents) {
		return 1
	}
	return g.extents[profile]
}
