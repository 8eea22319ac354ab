package gang

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// A GPU that one member holds whole may be lent: another member, of the owner that it is lent to,
// stands over it with what the holder leaves of its memory. The hold of the lender is as it was.
//
// The law, with W the GPUs that are held whole, L those that are lent, B those with a borrower, S
// and D those that are shared and divided, and V those of holders that a plan imagines gone:
//
//	free = healthy - W - S - D - (B - V)
//
// and a new borrower goes to healthy GPUs of W and L that are not in B. So a GPU that a borrower
// still holds is not free, also once its lender is gone; and while a plan is made in which the
// lender is gone, so is its borrower, as it is asked to go at the same instant.

// loan is what of a GPU is lent, or borrowed.
type loan struct {
	memory int64
	owner  Owner
}

// loans are what is lent of a GPU, and to which owner; and what a borrower has of it.
type loans struct{ lent, over loan }

// lent is what is lent of a GPU; the zero value: nothing.
func (s *slot) lent() loan {
	if s.loans == nil {
		return loan{}
	}
	return s.loans.lent
}

// over is what a borrower has of a GPU; the zero value: there is none.
func (s *slot) over() loan {
	if s.loans == nil {
		return loan{}
	}
	return s.loans.over
}

// setLoans notes what is lent and borrowed. Few GPUs have either, so that most keep a pointer
// alone.
func (s *slot) setLoans(lent, over loan) {
	if s.loans = nil; lent != (loan{}) || over != (loan{}) {
		s.loans = &loans{lent, over}
	}
}

// overMilli stands for all of the compute that the holder leaves.
const overMilli = wholeMilli - 1

// Over returns the share of a member of some owner that stands over a GPU which another holds
// whole and lends (see [Fleet.Lend]): with so much of its memory, and one such share for a GPU.
func Over(owner Owner, memoryMiB int64) Share {
	return Share{GPUMilli: overMilli, MemoryMiB: memoryMiB, Owner: owner, Over: true}
}

// Lend marks GPUs of a node as lent to an owner, with so much of the memory of each; an owner of 0
// takes the marks away. What holds such a GPU stays: a borrower that is there, and the lender, for
// which nothing changes. A mark outlasts the hold of the lender, and counts while it is held whole.
// Refusals: ErrUnknown, ErrInvalid. O(GPUs log shared GPUs).
func (f *Fleet) Lend(n topology.NodeIndex, gpus uint64, owner Owner, memoryMiB int64) error {
	if err := f.checkNode(n); err != nil {
		return err
	}
	state := &f.nodes[n]
	switch {
	case gpus&^lowMask(len(state.slots)) != 0:
		return f.refuse(ErrUnknown, n, "gpus", "%#x names GPUs that a node with %d does not have", gpus, len(state.slots))
	case owner > MaxOwner:
		return f.refuse(ErrInvalid, n, "share.owner", "owner %d is not within 0 and %d", owner, MaxOwner)
	case memoryMiB < 0 || memoryMiB > MaxAmount:
		return f.refuse(ErrInvalid, n, "share.memoryMiB", "%d MiB are not within 0 and %d", memoryMiB, int64(MaxAmount))
	}
	is := loan{memory: memoryMiB, owner: owner}
	if owner == 0 {
		is = loan{}
	}
	for rest := gpus; rest != 0; rest &= rest - 1 {
		gpu := bits.TrailingZeros64(rest)
		slot := &state.slots[gpu]
		if slot.lent() == is {
			continue
		}
		f.touch(n)
		f.unindex(n, gpu)
		slot.setLoans(is, slot.over())
		state.lent &^= 1 << gpu
		if owner != 0 {
			state.lent |= 1 << gpu
		}
		f.index(n, gpu)
	}
	return nil
}

// Lent returns the GPUs of a node that are marked as lent, bit i for GPU i.
func (f *Fleet) Lent(n topology.NodeIndex) uint64 {
	if f.checkNode(n) != nil {
		return 0
	}
	return f.nodes[n].lent
}

// Borrowed returns the GPUs of a node that a borrower holds, bit i for GPU i, whether or not
// somebody holds them whole.
func (f *Fleet) Borrowed(n topology.NodeIndex) uint64 {
	if f.checkNode(n) != nil {
		return 0
	}
	return f.nodes[n].borrowed
}

// SetVacated says of GPUs whether their holder is imagined gone, and a borrower with it: the
// borrower is not in the way of others then. A node that is not there is passed over.
func (f *Fleet) SetVacated(n topology.NodeIndex, gpus uint64, gone bool) {
	if f.checkNode(n) != nil {
		return
	}
	f.touch(n)
	state := &f.nodes[n]
	gpus &= lowMask(len(state.slots))
	state.vacated &^= gpus
	if gone {
		state.vacated |= gpus
	}
	f.recount(n)
}

// occupied is the set of GPUs of which nothing is left to others: held whole, or by a borrower that
// is there.
func (s *nodeState) occupied() uint64 { return s.whole | s.borrowed&^s.vacated }

// lends reports whether a GPU may have a new borrower, of the owner that it is lent to.
func (s *nodeState) lends(gpu int) bool {
	return s.lent&s.whole&s.healthy&^s.borrowed>>gpu&1 != 0
}

// overIn is how many members with a share over a lent GPU it can take now: one or none.
func (s *nodeState) overIn(gpu int, share *Share) int {
	if lent := s.slots[gpu].lent(); s.lends(gpu) && lent.owner == share.Owner && share.MemoryMiB <= lent.memory {
		return 1
	}
	return 0
}

// checkOver refuses the hold of a new borrower.
func (f *Fleet) checkOver(h *Hold) error {
	state := &f.nodes[h.Node]
	gpu := bits.TrailingZeros64(h.GPUs)
	switch lent := state.slots[gpu].lent(); {
	case state.lent&state.whole&h.GPUs == 0:
		return f.refuse(ErrUnavailable, h.Node, "gpus", "GPU %d is not lent", gpu)
	case lent.owner != h.Share.Owner:
		return f.refuse(ErrHeld, h.Node, "share.owner", "GPU %d is lent to another owner", gpu)
	case h.Share.MemoryMiB > lent.memory:
		return f.refuse(ErrCapacity, h.Node, "share.memoryMiB", "%d MiB of GPU %d are lent, %d are asked for", lent.memory, gpu, h.Share.MemoryMiB)
	}
	return nil
}

// checkOverHeld refuses the hold of a borrower that cannot be, also where it is told.
func (f *Fleet) checkOverHeld(h *Hold) error {
	state := &f.nodes[h.Node]
	switch {
	case h.GPUs&state.borrowed != 0:
		return f.refuse(ErrHeld, h.Node, "gpus", "GPU %s has a borrower", indexes(h.GPUs))
	case h.GPUs&state.shared != 0:
		return f.refuse(ErrHeld, h.Node, "gpus", "shared by others: %s", indexes(h.GPUs))
	case h.GPUs&state.divided != 0:
		return f.refuse(ErrUnavailable, h.Node, "gpus", "divided into instances: %s", indexes(h.GPUs))
	case state.gpuMemory > 0 && h.Share.MemoryMiB > state.gpuMemory:
		return f.refuse(ErrCapacity, h.Node, "share.memoryMiB", "GPU %s has %d MiB, %d are asked for", indexes(h.GPUs), state.gpuMemory, h.Share.MemoryMiB)
	}
	return nil
}

// setOver enters a checked borrower, or takes it out.
func (f *Fleet) setOver(h *Hold, there bool) {
	state, gpu := &f.nodes[h.Node], bits.TrailingZeros64(h.GPUs)
	f.unindex(h.Node, gpu)
	slot, over := &state.slots[gpu], loan{}
	state.borrowed &^= h.GPUs
	if there {
		state.borrowed |= h.GPUs
		over = loan{h.Share.MemoryMiB, h.Share.Owner}
	}
	slot.setLoans(slot.lent(), over)
	f.index(h.Node, gpu)
	f.recount(h.Node)
}
