package gang

import (
	"math/bits"

	"github.com/berth-sched/berth/mig"
)

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
