package gang

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// Check compares everything that the fleet keeps twice with what it should be, and
// returns what is wrong. It is for tests: it walks all nodes.
func (f *Fleet) Check() error {
	found := []error{f.tree.Check()}
	indexed, parts := 0, 0
	for i := range f.nodes {
		n := topology.NodeIndex(i)
		if f.nodes[i].live != f.tree.Has(n) {
			found = append(found, fmt.Errorf("gang: node %d is live: %t, in the tree: %t", n, f.nodes[i].live, f.tree.Has(n)))
			continue
		}
		if f.nodes[i].live {
			entries, divided, err := f.checkState(n)
			found = append(found, err)
			indexed += entries
			parts += divided
		}
	}
	for _, index := range f.shared {
		if index != nil {
			indexed -= index.Len()
		}
	}
	if indexed != 0 {
		found = append(found, fmt.Errorf("gang: the index has %d shared GPUs too many", -indexed))
	}
	for c := range f.divided {
		entries, err := f.checkDivided(topology.NodeClass(c))
		found = append(found, err)
		parts -= entries
	}
	if parts != 0 {
		found = append(found, fmt.Errorf("gang: the index has %d divided GPUs too many", -parts))
	}
	return errors.Join(append(found, f.checkGenerations(), f.checkCensus(), f.checkStocks(), f.checkLosses(), f.checkScratch())...)
}

// checkDivided checks what is kept of the divided GPUs of a class, and returns how many the
// index has. Whether they should be there checkState tells.
func (f *Fleet) checkDivided(c topology.NodeClass) (int, error) {
	of := &f.divided[c]
	nodes := 0
	for i := range f.nodes {
		if state := &f.nodes[i]; state.live && state.class == c {
			nodes++
			if state.geometry != of.geometry {
				return 0, fmt.Errorf("gang: class %d: node %q has another lattice", c, f.tree.NodeName(topology.NodeIndex(i)))
			}
		}
	}
	if nodes != of.nodes {
		return 0, fmt.Errorf("gang: class %d counts %d nodes, %d are there", c, of.nodes, nodes)
	}
	if err := of.checkPositions(); err != nil {
		return 0, fmt.Errorf("gang: class %d: %w", c, err)
	}
	if of.gpus == nil {
		return 0, nil
	}
	var lots []countedLot
	of.gpus.Ascend(func(key partKey) bool {
		if len(lots) == 0 || lots[len(lots)-1].lot != key.lot {
			lots = append(lots, countedLot{lot: key.lot})
		}
		lots[len(lots)-1].gpus++
		return true
	})
	same := func(a, b countedLot) bool { return a.lot == b.lot && a.gpus == b.gpus }
	if !slices.EqualFunc(lots, of.lots, same) {
		return 0, fmt.Errorf("gang: class %d counts the lots %v, the index has %v", c, of.lots, lots)
	}
	for p := range of.offers {
		bids := 0
		for i := range of.lots {
			l := &of.lots[i]
			free, keeping := of.geometry.bids(l.lot, p)
			if of.offers[p].free[l.position] != free || of.offers[p].keeping[l.position] != keeping {
				return 0, fmt.Errorf("gang: class %d: the bid of lot %v for profile %d is an old one", c, l.lot, p)
			}
			if free.placement >= 0 {
				bids++
			}
		}
		for i := range of.offers[p].free {
			if of.offers[p].free[i].placement >= 0 {
				bids--
			}
		}
		if bids != 0 {
			return 0, fmt.Errorf("gang: class %d: %d bids too many for profile %d", c, -bids, p)
		}
	}
	return of.gpus.Len(), nil
}

// checkPositions checks that each position of the offers is of one lot, or vacant.
func (d *divided) checkPositions() error {
	taken := slices.Clone(d.vacant)
	for i := range d.lots {
		taken = append(taken, d.lots[i].position)
	}
	slices.Sort(taken)
	for p := range d.offers {
		if len(d.offers[p].free) != len(taken) || len(d.offers[p].keeping) != len(taken) {
			return fmt.Errorf("%d lots and vacancies, and %d bids for profile %d", len(taken), len(d.offers[p].free), p)
		}
	}
	for i, at := range taken {
		if int(at) != i {
			return fmt.Errorf("position %d is of two lots, or of none", i)
		}
	}
	return nil
}

// checkState checks one node and returns how many of its GPUs each index has.
func (f *Fleet) checkState(n topology.NodeIndex) (shared, divided int, err error) {
	state, name := &f.nodes[n], f.tree.NodeName(n)
	var found []error
	wrong := func(format string, args ...any) {
		found = append(found, fmt.Errorf("gang: node %q: "+format, append([]any{name}, args...)...))
	}
	all := lowMask(len(state.slots))
	want := -1
	if state.schedulable {
		want = bits.OnesCount64(all & state.healthy &^ (state.whole | state.shared | state.divided | state.borrowed))
	}
	switch {
	case state.class != f.tree.NodeClass(n) || len(state.slots) != f.tree.NodeGPUs(n):
		wrong("another class or number of GPUs than in the tree")
	case (state.whole|state.shared|state.divided|state.healthy|state.lent|state.borrowed)&^all != 0:
		wrong("GPUs that it does not have")
	case state.whole&state.shared != 0:
		wrong("GPUs %#x are held whole and shared", state.whole&state.shared)
	case (state.whole|state.shared)&state.divided != 0:
		wrong("GPUs %#x are divided and held otherwise", (state.whole|state.shared)&state.divided)
	case state.borrowed&(state.shared|state.divided) != 0:
		wrong("GPUs %#x have a borrower, and are shared or divided", state.borrowed&(state.shared|state.divided))
	case state.vacated != 0:
		wrong("GPUs %#x are imagined vacated", state.vacated)
	case f.tree.Free(n) != want:
		wrong("the tree has %d GPUs as free, %d are", f.tree.Free(n), want)
	case state.hostUsed.Floor() != state.hostUsed || state.holds < 0:
		wrong("less than nothing is held")
	case state.declaredUsed().Floor() != state.declaredUsed():
		wrong("less than nothing is held of what is declared")
	case state.holds == 0 && (state.declaredUsed() != nil || state.hostUsed != countable.Amounts{} || state.whole|state.shared|state.seated|state.borrowed != 0):
		wrong("something is held without a hold")
	}
	whole := uint64(0)
	for gpu := range state.slots {
		slot := &state.slots[gpu]
		if whole&slot.hold != 0 || slot.hold != 0 && bits.TrailingZeros64(slot.hold) != gpu {
			wrong("the hold at GPU %d overlaps another", gpu)
		}
		state.checkSlot(gpu, wrong)
		whole |= slot.hold
		if key, ok := f.keyOf(n, gpu); ok {
			shared++
			if !f.shared[state.class].Has(key) {
				wrong("the index misses GPU %d", gpu)
			}
		}
		if key, ok := f.partOf(n, gpu); ok {
			divided++
			if !f.divided[state.class].gpus.Has(key) {
				wrong("the index misses the divided GPU %d", gpu)
			}
		}
	}
	if whole != state.whole {
		wrong("GPUs %#x are held whole, %#x by the holds", state.whole, whole)
	}
	return shared, divided, errors.Join(found...)
}

// checkSlot checks that one GPU is held and divided as the node has it.
func (s *nodeState) checkSlot(gpu int, wrong func(format string, args ...any)) {
	slot, bit := &s.slots[gpu], uint64(1)<<gpu
	switch isShared := s.shared&bit != 0; {
	case isShared != (slot.shares > 0), !isShared && slot.milli|slot.shares != 0, !isShared && slot.memory != 0:
		wrong("GPU %d is shared: %t, with %d shares", gpu, isShared, slot.shares)
	case s.lent&bit != 0 != (slot.lent().owner != 0), s.borrowed&bit != 0 != (slot.over().owner != 0):
		wrong("GPU %d is lent as %v and borrowed as %v", gpu, slot.lent(), slot.over())
	case slot.milli < 0 || slot.milli > wholeMilli || slot.memory < 0 || isShared && slot.memory > s.gpuMemory:
		wrong("the shares of GPU %d come to %d thousandths and %d MiB", gpu, slot.milli, slot.memory)
	case s.maxShares > 0 && slot.shares > s.maxShares:
		wrong("GPU %d has %d shares of %d", gpu, slot.shares, s.maxShares)
	case s.divided&bit != 0 != (slot.division != PartitioningNone), s.seated&bit != 0 != (slot.held != 0),
		s.seated&^s.divided&bit != 0, slot.division != PartitioningFixed && slot.exist != 0,
		slot.division == PartitioningFixed && !s.geometry.within(slot.held, slot.exist):
		wrong("GPU %d is %s with the states %d and %d", gpu, slot.division, slot.exist, slot.held)
	}
}

// CheckHolds compares what is held with a list of all holds, in any order, and
// returns what is wrong. It is for tests of a caller that keeps the holds: O(nodes +
// holds).
func (f *Fleet) CheckHolds(holds []Hold) error {
	want := make([]nodeState, len(f.nodes))
	for i := range want {
		want[i].slots = make([]slot, len(f.nodes[i].slots))
	}
	for i := range holds {
		h := &holds[i]
		if err := f.checkShape(h); err != nil {
			return err
		}
		state := &want[h.Node]
		state.holds++
		state.hostUsed = state.hostUsed.Plus(h.Host)
		state.declared = declaredOf(nil, state.declaredUsed().Plus(h.Declared))
		switch {
		case h.Instance != mig.Placement{}:
			g := f.nodes[h.Node].geometry
			slot, j := &state.slots[bits.TrailingZeros64(h.GPUs)], g.find(h.Instance)
			if g.lattice.OpenSet(slot.held)>>j&1 == 0 {
				return f.refuse(ErrHeld, h.Node, "instance", "%s is listed beside what leaves no room for it", h.Instance)
			}
			slot.held = g.toggle(slot.held, j)
		case h.Share.Over:
			if (state.borrowed|state.shared)&h.GPUs != 0 {
				return f.refuse(ErrHeld, h.Node, "gpus", "%#x have two borrowers, or are shared", h.GPUs)
			}
			state.slots[bits.TrailingZeros64(h.GPUs)].setLoans(loan{}, loan{h.Share.MemoryMiB, h.Share.Owner})
			state.borrowed |= h.GPUs
		case h.GPUs&state.whole != 0, h.Share.GPUMilli == 0 && h.GPUs&state.shared != 0:
			return f.refuse(ErrHeld, h.Node, "gpus", "%#x are listed twice", h.GPUs)
		case h.Share.GPUMilli > 0:
			slot := &state.slots[bits.TrailingZeros64(h.GPUs)]
			*slot = slot.with(h.Share)
			state.shared |= h.GPUs
		case h.GPUs != 0:
			state.whole |= h.GPUs
		}
	}
	for i := range want {
		w, state := &want[i], &f.nodes[i]
		same := w.holds == state.holds && w.whole == state.whole && w.shared == state.shared && w.borrowed == state.borrowed &&
			w.hostUsed == state.hostUsed && w.declaredUsed().Equal(state.declaredUsed())
		for gpu := range w.slots {
			a, b := &w.slots[gpu], &state.slots[gpu]
			same = same && a.shares == b.shares && a.milli == b.milli && a.memory == b.memory && a.owner == b.owner && a.held == b.held && a.over() == b.over()
		}
		if !same {
			return f.refuse(ErrNotHeld, topology.NodeIndex(i), "node", "it does not hold what the list says")
		}
	}
	return nil
}

// with is a slot with one more share.
func (s slot) with(share Share) slot {
	s.shares++
	s.milli += share.GPUMilli
	s.memory += share.MemoryMiB
	s.owner = share.Owner
	return s
}
