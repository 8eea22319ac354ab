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
		Host: c.Host,
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
