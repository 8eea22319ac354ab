package gang

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A Division says how a GPU is divided.
type Division uint8

const (
	// Undivided: whole GPUs and shares.
	Undivided Division = iota
	// Fixed: into the instances that exist. A claim takes one that nobody holds.
	Fixed
	// PerClaim: into instances that come and go with their members. A claim takes any
	// place that is open beside what is held.
	PerClaim
)

const divisionNames enum.Names = "undivided|fixed|per claim"

// String returns the name of a division, such as "per claim".
func (d Division) String() string { return enum.Text(divisionNames, d, "division %d") }

// A ranking is how the places of a lattice are weighed.
type ranking struct {
	lattice *mig.Lattice
	ranking *mig.Ranking
}

// Divide says how a GPU is divided from now on, and with Fixed into which instances; else
// exist is 0. A divided GPU is no free GPU, and gives no shares.
//
// Refusals: ErrUnknown for a node or GPU that is not there; ErrInvalid for a division that
// there is not, on a node without a lattice, and for a state that is none of it; ErrHeld
// for a GPU that is held whole or in shares, and where instances are held that
// would exist no more. O(levels + log GPUs).
func (f *Fleet) Divide(n topology.Node, gpu int, d Division, exist mig.State) error {
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
	case d > PerClaim:
		return refuse(ErrInvalid, "division", "there is no %s", d)
	case d != Undivided && g == nil:
		return refuse(ErrInvalid, "division", "the node has no lattice by which GPU %d could be divided", gpu)
	case d != Fixed && exist != 0:
		return refuse(ErrInvalid, "exist", "a GPU that is %s has no state of its own", d)
	case d == Fixed && !g.has(exist):
		return refuse(ErrInvalid, "exist", "the lattice has no state %d", exist)
	case d != Undivided && (state.whole|state.shared)&bit != 0:
		return refuse(ErrHeld, "division", "GPU %d is held whole or in shares", gpu)
	case d == Undivided && slot.held != 0:
		return refuse(ErrHeld, "division", "instances of GPU %d are held", gpu)
	case d == Fixed && !g.within(slot.held, exist):
		return refuse(ErrHeld, "exist", "other instances of GPU %d are held", gpu)
	}
	f.unindex(n, gpu)
	slot.division, slot.exist = d, exist
	state.divided &^= bit
	if d != Undivided {
		state.divided |= bit
	}
	f.index(n, gpu)
	f.recount(n)
	return nil
}

// Divided returns how a GPU is divided, the instances that exist and those that are held.
// With PerClaim the ones that exist are those held. Undivided for a GPU that is not there.
func (f *Fleet) Divided(n topology.Node, gpu int) (d Division, exist, held mig.State) {
	if f.checkNode(n) != nil || gpu < 0 || gpu >= len(f.nodes[n].slots) {
		return Undivided, 0, 0
	}
	slot := &f.nodes[n].slots[gpu]
	if slot.division == PerClaim {
		return PerClaim, slot.held, slot.held
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
func (f *Fleet) checkLattice(node string, class topology.Class, l *mig.Lattice) error {
	if class < 0 || int(class) >= len(f.divided) || f.divided[class].nodes == 0 || f.divided[class].geometry.of() == l {
		return nil
	}
	return &Error{
		Node: node, Field: "lattice", Kind: ErrInvalid,
		Reason: fmt.Sprintf("it is not the one of the nodes of class %d", class),
	}
}

// ensureClass makes room for what is kept by class.
func (f *Fleet) ensureClass(class topology.Class) {
	for int(class) >= len(f.shared) {
		f.shared = append(f.shared, nil)
		f.divided = append(f.divided, divided{})
	}
}

// join counts one more node of a class with a lattice that will do, and returns the
// tables of the lattice.
func (f *Fleet) join(class topology.Class, l *mig.Lattice) *geometry {
	of := &f.divided[class]
	of.nodes++
	if of.geometry.of() == l {
		return of.geometry
	}
	of.geometry, of.offers, of.vacant = nil, nil, nil
	for i := range f.divided {
		if g := f.divided[i].geometry; l != nil && g.of() == l {
			of.geometry = g
			return g
		}
	}
	if l != nil {
		of.geometry = newGeometry(l, f.rankingOf(l))
	}
	return of.geometry
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
