package gang

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// Check compares everything that the fleet keeps twice with what it should be, and
// returns what is wrong. It is for tests: it walks all nodes.
func (f *Fleet) Check() error {
	found := []error{f.tree.Check()}
	indexed := 0
	for i := range f.nodes {
		n := topology.Node(i)
		if f.nodes[i].live != f.tree.Has(n) {
			found = append(found, fmt.Errorf("gang: node %d is live: %t, in the tree: %t", n, f.nodes[i].live, f.tree.Has(n)))
			continue
		}
		if f.nodes[i].live {
			entries, err := f.checkState(n)
			found = append(found, err)
			indexed += entries
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
	return errors.Join(found...)
}

// checkState checks one node and returns how many of its GPUs the index has.
func (f *Fleet) checkState(n topology.Node) (int, error) {
	state, name := &f.nodes[n], f.tree.NodeName(n)
	var found []error
	wrong := func(format string, args ...any) {
		found = append(found, fmt.Errorf("gang: node %q: "+format, append([]any{name}, args...)...))
	}
	all := lowMask(len(state.slots))
	want := -1
	if state.schedulable {
		want = bits.OnesCount64(all & state.healthy &^ (state.whole | state.shared))
	}
	switch {
	case state.class != f.tree.NodeClass(n) || len(state.slots) != f.tree.NodeGPUs(n):
		wrong("another class or number of GPUs than in the tree")
	case (state.whole|state.shared|state.healthy)&^all != 0:
		wrong("GPUs that it does not have")
	case state.whole&state.shared != 0:
		wrong("GPUs %#x are held whole and shared", state.whole&state.shared)
	case f.tree.Free(n) != want:
		wrong("the tree has %d GPUs as free, %d are", f.tree.Free(n), want)
	case state.cpuUsed < 0 || state.memoryUsed < 0 || state.holds < 0:
		wrong("less than nothing is held")
	case state.holds == 0 && (state.cpuUsed != 0 || state.memoryUsed != 0 || state.whole|state.shared != 0):
		wrong("something is held without a hold")
	}
	whole, indexed := uint64(0), 0
	for gpu := range state.slots {
		slot := &state.slots[gpu]
		bit := uint64(1) << gpu
		switch shared := state.shared&bit != 0; {
		case whole&slot.hold != 0 || slot.hold != 0 && bits.TrailingZeros64(slot.hold) != gpu:
			wrong("the hold at GPU %d overlaps another", gpu)
		case shared != (slot.shares > 0), !shared && slot.milli|slot.shares != 0, !shared && slot.memory != 0:
			wrong("GPU %d is shared: %t, with %d shares", gpu, shared, slot.shares)
		case slot.milli < 0 || slot.milli > wholeMilli || slot.memory < 0 || shared && slot.memory > state.gpuMemory:
			wrong("the shares of GPU %d come to %d thousandths and %d MiB", gpu, slot.milli, slot.memory)
		}
		whole |= slot.hold
		if key, ok := f.keyOf(n, gpu); ok {
			indexed++
			if !f.shared[state.class].Has(key) {
				wrong("the index misses GPU %d", gpu)
			}
		}
	}
	if whole != state.whole {
		wrong("GPUs %#x are held whole, %#x by the holds", state.whole, whole)
	}
	return indexed, errors.Join(found...)
}

// CheckHolds compares what is held with a list of all holds, in any order, and
// returns what is wrong. It is for tests of those who keep the holds: O(nodes +
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
		state.cpuUsed += h.CPUMilli
		state.memoryUsed += h.MemoryMiB
		switch {
		case h.GPUs&state.whole != 0, h.Share.Milli == 0 && h.GPUs&state.shared != 0:
			return f.refuse(ErrHeld, h.Node, "gpus", "%#x are listed twice", h.GPUs)
		case h.Share.Milli > 0:
			slot := &state.slots[bits.TrailingZeros64(h.GPUs)]
			*slot = slot.with(h.Share)
			state.shared |= h.GPUs
		case h.GPUs != 0:
			state.whole |= h.GPUs
		}
	}
	for i := range want {
		w, state := &want[i], &f.nodes[i]
		same := w.holds == state.holds && w.whole == state.whole && w.shared == state.shared &&
			w.cpuUsed == state.cpuUsed && w.memoryUsed == state.memoryUsed
		for gpu := range w.slots {
			a, b := &w.slots[gpu], &state.slots[gpu]
			same = same && a.shares == b.shares && a.milli == b.milli && a.memory == b.memory && a.owner == b.owner
		}
		if !same {
			return f.refuse(ErrNotHeld, topology.Node(i), "node", "it does not hold what the list says")
		}
	}
	return nil
}

// with is a slot with one more share.
func (s slot) with(share Share) slot {
	s.shares++
	s.milli += share.Milli
	s.memory += share.MemoryMiB
	s.owner = share.Owner
	return s
}
