package gang

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A Partitioning says how a GPU is divided.
type Partitioning uint8

const (
	// PartitioningNone: whole GPUs and shares.
	PartitioningNone Partitioning = iota
	// PartitioningFixed: into the instances that exist. A claim takes one that nobody holds.
	PartitioningFixed
	// PartitioningPerClaim: into instances that come and go with their members. A claim takes any
	// place that is open beside what is held.
	PartitioningPerClaim
)

const partitioningNames enum.Names = "Partitioning: undivided|fixed|per-claim"

// String returns the name of a division, such as "per-claim".
func (d Partitioning) String() string { return enum.Text(partitioningNames, d) }

func (d Partitioning) MarshalText() ([]byte, error) {
	return enum.Marshal(partitioningNames, d, invalidText)
}

func (d *Partitioning) UnmarshalText(b []byte) error {
	return enum.Unmarshal(partitioningNames, d, b, invalidText)
}

// A ranking is how the places of a lattice are weighed.
type ranking struct {
	lattice *mig.Lattice
	ranking *mig.Ranking
}

// SetPartitioning says how a GPU is divided from now on, and with Fixed into which instances; else
// exist is 0. A divided GPU is no free GPU, and gives no shares.
//
// Refusals: ErrUnknown for a node or GPU that is not there; ErrInvalid for a division that
// there is not, on a node without a lattice, and for a state that is none of it; ErrHeld
// for a GPU that is held whole or in shares, and where instances are held that
// would exist no more. O(levels + log GPUs).
func (f *Fleet) SetPartitioning(n topology.NodeIndex, gpu int, d Partitioning, exist mig.State) error {
	if err := f.checkNode(n); err != nil {
		return err
	}
	state := &f.nodes[n]
	refuse := func(kind error, field, format string, args ...any) error {
		return &Error{Node: f.tree.NodeName(n), Field: field, Reason: fmt.Sprintf(format, args...), Kind: kind}
	}
	if gpu < 0 || gpu >= len(state.slots) {
		return refuse(ErrUnknown, "gpu", "there is no GPU %d", gpu)
	}
	bit, slot, g := uint64(1)<<gpu, &state.slots[gpu], state.geometry
	switch {
	case d > PartitioningPerClaim:
		return refuse(ErrInvalid, "division", "there is no %s", d)
	case d != PartitioningNone && g == nil:
		return refuse(ErrInvalid, "division", "the node has no lattice by which GPU %d could be divided", gpu)
	case d != PartitioningFixed && exist != 0:
		return refuse(ErrInvalid, "exist", "a GPU that is %s has no state of its own", d)
	case d == PartitioningFixed && !g.has(exist):
		return refuse(ErrInvalid, "exist", "the lattice has no state %d", exist)
	case d != PartitioningNone && (state.whole|state.shared|state.borrowed)&bit != 0:
		return refuse(ErrHeld, "division", "GPU %d is held whole or in shares", gpu)
	case d == PartitioningNone && slot.held != 0:
		return refuse(ErrHeld, "division", "instances of GPU %d are held", gpu)
	case d == PartitioningFixed && !g.within(slot.held, exist):
		return refuse(ErrHeld, "exist", "other instances of GPU %d are held", gpu)
	}
	f.touch(n)
	f.unindex(n, gpu)
	slot.division, slot.exist = d, exist
	state.divided &^= bit
	if d != PartitioningNone {
		state.divided |= bit
	}
	f.index(n, gpu)
	f.recount(n)
	return nil
}

// Partitioning returns how a GPU is divided, the instances that exist and those that are held.
// With PerClaim the ones that exist are those held. Undivided for a GPU that is not there.
func (f *Fleet) Partitioning(n topology.NodeIndex, gpu int) (d Partitioning, exist, held mig.State) {
	if f.checkNode(n) != nil || gpu < 0 || gpu >= len(f.nodes[n].slots) {
		return PartitioningNone, 0, 0
	}
	slot := &f.nodes[n].slots[gpu]
	if slot.division == PartitioningPerClaim {
		return PartitioningPerClaim, slot.held, slot.held
	}
	return slot.division, slot.exist, slot.held
}

// SetRanking says how the places on GPUs of a lattice are weighed: an instance goes where
// what is held is then worth the least less for others. nil: by the ranking that has all
// profiles alike, as before the first call. The ranking should be one of that lattice;
// states that it does not know weigh nothing. O(lots x places), where a lot is all GPUs
// of a class that are divided and held alike.
func (f *Fleet) SetRanking(l *mig.Lattice, r *mig.Ranking) {
	if l == nil {
		return
	}
	f.rankings = slices.DeleteFunc(f.rankings, func(k ranking) bool { return k.lattice == l })
	if r != nil {
		f.rankings = append(f.rankings, ranking{l, r})
	}
	if !slices.ContainsFunc(f.divided, func(d divided) bool { return d.geometry.of() == l }) {
		return
	}
	r = f.rankingOf(l)
	for i := range f.divided {
		of := &f.divided[i]
		if of.geometry.of() != l {
			continue
		}
		of.geometry.ranking = r
		for j := range of.lots {
			of.offer(&of.lots[j])
		}
	}
}

// checkLattice refuses a node for a class whose nodes have another lattice.
func (f *Fleet) checkLattice(node string, class topology.NodeClass, l *mig.Lattice) error {
	if class < 0 || int(class) >= len(f.divided) || f.divided[class].nodes == 0 || f.divided[class].geometry.of() == l {
		return nil
	}
	return &Error{
		Node: node, Field: "lattice", Kind: ErrInvalid,
		Reason: fmt.Sprintf("it is not the one of the nodes of class %d", class),
	}
}

// ensureClass makes room for what is kept by class.
func (f *Fleet) ensureClass(class topology.NodeClass) {
	for int(class) >= len(f.shared) {
		f.shared = append(f.shared, nil)
		f.divided = append(f.divided, divided{})
	}
}

// join counts one more node of a class with a lattice that will do, and returns the generation of
// the class and the tables of the lattice. The first node begins a generation: what is kept of the
// nodes that had the number before is of no use for this one.
func (f *Fleet) join(class topology.NodeClass, l *mig.Lattice) (generation uint64, tables *geometry) {
	of := &f.divided[class]
	if of.nodes == 0 {
		f.generations++
		of.generation = f.generations
	}
	of.nodes++
	if of.geometry.of() != l {
		of.geometry, of.offers, of.vacant = f.geometryOf(l), nil, nil
	}
	return of.generation, of.geometry
}

// geometryOf returns the tables of a lattice, those of another class if one has them.
func (f *Fleet) geometryOf(l *mig.Lattice) *geometry {
	if l == nil {
		return nil
	}
	for i := range f.divided {
		if g := f.divided[i].geometry; g.of() == l {
			return g
		}
	}
	return newGeometry(l, f.rankingOf(l))
}

// rankingOf returns the ranking that was set for a lattice, or one with all profiles alike.
func (f *Fleet) rankingOf(l *mig.Lattice) *mig.Ranking {
	for _, k := range f.rankings {
		if k.lattice == l {
			return k.ranking
		}
	}
	return mig.NewRanking(l, nil)
}

// A lot is what divided GPUs have in common that offer the same places.
type lot struct {
	division Partitioning
	exist    mig.State // with Fixed, else 0
	held     mig.State
}

// A partKey is a divided GPU that can take more. In the index those of one lot stand
// together.
type partKey struct {
	lot
	node topology.NodeIndex // -1: before all nodes
	gpu  int32
}

// A divided is what is known of the divided GPUs of one class that can take more.
type divided struct {
	// nodes of the class, and their lattice; the one of the last node if there is none. generation
	// tells them from those of other classes, and from those that had the number before.
	nodes      int
	generation uint64
	geometry   *geometry
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
func (f *Fleet) partOf(n topology.NodeIndex, gpu int) (partKey, bool) {
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
