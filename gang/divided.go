package gang

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A lot is what divided GPUs have in common that offer the same places.
type lot struct {
	division Division
	exist    mig.State // with Fixed, else 0
	held     mig.State
}

// A partKey is a divided GPU that can take more. In the index those of one lot stand
// together.
type partKey struct {
	lot
	node topology.Node // -1: before all nodes
	gpu  int32
}

// A divided is what is known of the divided GPUs of one class that can take more.
type divided struct {
	// nodes of the class, and their lattice; the one of the last node if there is none.
	nodes    int
	geometry *geometry
	// gpus are in the order of comparePart, lots the different ones of them in order.
	gpus *btree.BTreeG[partKey]
	lots []countedLot
	// offers are the bids of the lots, by profile and the position that each lot has there;
	// vacant are the positions that no lot has.
	offers []offer
	vacant []int32
}

// A countedLot is a lot with the number of its GPUs.
type countedLot struct {
	lot
	gpus     int32
	position int32
}

// An offer is what all lots bid for one profile, as geometry.bids has it.
type offer struct{ free, keeping []bid }

func (l lot) compare(m lot) int {
	return cmp.Or(cmp.Compare(l.division, m.division), cmp.Compare(l.exist, m.exist), cmp.Compare(l.held, m.held))
}

// comparePart orders divided GPUs by lot, name of the node and index of the GPU.
func (f *Fleet) comparePart(a, b partKey) int {
	if d := a.compare(b.lot); d != 0 {
		return d
	}
	return f.compareGPUs(a.node, a.gpu, b.node, b.gpu)
}

// lotOf is the lot of a divided GPU.
func (s *nodeState) lotOf(gpu int) lot {
	slot := &s.slots[gpu]
	return lot{division: slot.division, exist: slot.exist, held: slot.held}
}

// partOf returns the index entry of a divided GPU, and whether it has one.
func (f *Fleet) partOf(n topology.Node, gpu int) (partKey, bool) {
	state := &f.nodes[n]
	if bit := uint64(1) << gpu; state.divided&state.healthy&bit == 0 || !state.schedulable {
		return partKey{}, false
	}
	l := state.lotOf(gpu)
	return partKey{lot: l, node: n, gpu: int32(gpu)}, state.geometry.idle(l) != 0
}

// lacks reports whether the nodes of the class divide, but not by a profile of an index.
func (d *divided) lacks(profile int) bool {
	return d.nodes > 0 && d.geometry != nil && profile >= d.geometry.lattice.Profiles()
}

// find returns where a lot is among the lots, or would be.
func (d *divided) find(l lot) (int, bool) {
	return slices.BinarySearchFunc(d.lots, l, func(c countedLot, l lot) int { return c.compare(l) })
}

func (d *divided) add(f *Fleet, key partKey) {
	if d.gpus == nil {
		d.gpus = btree.NewG(32, func(a, b partKey) bool { return f.comparePart(a, b) < 0 })
	}
	d.gpus.ReplaceOrInsert(key)
	i, ok := d.find(key.lot)
	if !ok {
		d.lots = slices.Insert(d.lots, i, countedLot{lot: key.lot, position: d.vacancy()})
		d.offer(&d.lots[i])
	}
	d.lots[i].gpus++
}

func (d *divided) remove(key partKey) {
	d.gpus.Delete(key)
	i, _ := d.find(key.lot)
	if d.lots[i].gpus--; d.lots[i].gpus > 0 {
		return
	}
	at := d.lots[i].position
	for p := range d.offers {
		d.offers[p].free[at].placement, d.offers[p].keeping[at].placement = -1, -1
	}
	d.vacant = append(d.vacant, at)
	d.lots = slices.Delete(d.lots, i, i+1)
}

// vacancy returns a position for one more lot.
func (d *divided) vacancy() int32 {
	if last := len(d.vacant) - 1; last >= 0 {
		at := d.vacant[last]
		d.vacant = d.vacant[:last]
		return at
	}
	for len(d.offers) < d.geometry.lattice.Profiles() {
		d.offers = append(d.offers, offer{})
	}
	for p := range d.offers {
		o := &d.offers[p]
		o.free, o.keeping = append(o.free, bid{}), append(o.keeping, bid{})
	}
	return int32(len(d.offers[0].free) - 1) // a lattice has at least one profile
}

// offer works out what a lot bids.
func (d *divided) offer(l *countedLot) {
	for p := range d.offers {
		d.offers[p].free[l.position], d.offers[p].keeping[l.position] = d.geometry.bids(l.lot, p)
	}
}

// bids are the bids for a profile; those without a place are none.
func (d *divided) bids(profile int, keep bool) []bid {
	switch {
	case profile >= len(d.offers):
		return nil
	case keep:
		return d.offers[profile].keeping
	}
	return d.offers[profile].free
}

// best returns the best bid for a profile, and whether there is one. O(lots).
func (d *divided) best(profile int, keep bool) (bid, bool) {
	best := bid{placement: -1}
	list := d.bids(profile, keep)
	for i := range list {
		if b := &list[i]; b.placement >= 0 && (best.placement < 0 || b.beats(&best)) {
			best = *b
		}
	}
	return best, best.placement >= 0
}
