package gang

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

const (
	// MaxAmount is the most host CPU or memory, or GPU memory, that anything can have
	// or ask for, in the unit of its field.
	MaxAmount = 1 << 40
	// MaxMembers is the most members that a group can have.
	MaxMembers = 1 << 20
	// MaxRails is the most GPUs of a node that takes part in rail alignment, which
	// compares all sets of them.
	MaxRails = 8
	// MaxOwner is the largest owner.
	MaxOwner Owner = 1<<24 - 1

	// MaxClaimProfiles is the most profiles that a claim can name, those of all classes together.
	MaxClaimProfiles = 1 << 18

	wholeMilli = 1000
)

// An Owner names the members that may share one GPU: a small number, 1 to MaxOwner, that
// the caller gives to each pair of trust domain and mode of sharing. A GPU carries shares
// of one owner at a time. 0 is nobody, and a share of nobody is refused: two callers that
// left it out would share a GPU.
type Owner uint32

// A Claim is what one member needs, all of it on one node. GPUs, Share and Instances
// exclude each other; with none of them the member needs the host alone.
type Claim struct {
	// GPUs is a number of whole GPUs.
	GPUs int
	// Share is a part of one GPU, unless its Milli is 0.
	Share Share
	// Instances asks for one instance of a divided GPU, of the first of these profiles
	// that can be had. Empty: none.
	Instances []ClassProfile
	// Host is what it needs of the host.
	Host countable.Amounts
	// Declared is what it needs of declared resources of the node; nil: nothing.
	Declared *countable.Declared
}

// A ClassProfile is a profile of the lattice by which the nodes of a class divide their GPUs:
// the one with that index, as the methods of mig.Lattice take it.
type ClassProfile struct {
	Class topology.NodeClass
	Index int
}

// A Share is a part of one GPU.
type Share struct {
	// Milli is the part of the compute, in thousandths: 1 to 999. 0 is no share.
	GPUMilli int32
	// MemoryMiB is the part of the GPU's memory. In a Claim zero means in proportion to
	// Milli, rounded down; in a Hold it is what it says.
	MemoryMiB int64
	// Owner of the share; a share has one.
	Owner Owner
	// Over: the GPU is one that another holds whole, and lends: see the function Over.
	Over bool
}

// A Hold is what one placed member holds.
type Hold struct {
	Node topology.NodeIndex
	// GPUs is a set of GPUs, bit i for the GPU with index i. It is empty where the
	// member needs the host alone.
	GPUs uint64
	// Share says, unless its Milli is 0, that the one GPU in GPUs is held in part.
	Share Share
	// Instance is the instance that is held of the one GPU in GPUs; zero: none.
	Instance mig.Placement
	Host     countable.Amounts
	Declared *countable.Declared // as in Claim
}

// Equal reports whether two are of the same. Where one has declared resources, == does not tell.
func (h Hold) Equal(o Hold) bool {
	same := h.Declared.Equal(o.Declared)
	h.Declared, o.Declared = nil, nil
	return same && h == o
}

// Hold takes what a member is to hold on a node that the caller chose. It refuses
// what the node cannot give: GPUs or instances that are held (ErrHeld), more compute, GPU
// memory, host CPU or memory than is left, more shares than the node allows, an instance
// that does not fit beside the others (ErrCapacity), a failed GPU, one that is divided
// otherwise, an instance that does not exist, or a node that takes no work
// (ErrUnavailable), or what makes no sense (ErrInvalid, ErrUnknown).
// O(levels).
func (f *Fleet) Hold(h Hold) error {
	if err := f.checkHold(&h, false); err != nil {
		return err
	}
	if err := f.checkAvailable(&h); err != nil {
		return err
	}
	f.take(&h)
	return nil
}

// Adopt takes what a member is known to hold already: after a restore, or when it
// runs by somebody else's doing. The world wins: the node may be unschedulable, the
// GPU may have failed, and the host may end up with less than nothing left. GPUs that are
// held, or divided otherwise, and more than a GPU has, are refused all the same. A borrower may be
// there before its lender, or after it.
func (f *Fleet) Adopt(h Hold) error {
	if err := f.checkHold(&h, true); err != nil {
		return err
	}
	f.take(&h)
	return nil
}

// Release gives back what a member holds. It refuses with ErrNotHeld what is not
// held: a hold of whole GPUs must be given back exactly as it was taken; of shares,
// of the host and of declared resources, which are kept as sums, no more than the sum
// can be given back, and the last hold all of it. An instance must be held. O(levels).
func (f *Fleet) Release(h Hold) error {
	return f.release(&h)
}

func (f *Fleet) release(h *Hold) error {
	if err := f.checkRelease(h); err != nil {
		return err
	}
	f.give(h)
	return nil
}

// ReleaseAll gives back a whole placement and empties it. If any of its members does
// not hold what it says, nothing is given back.
func (f *Fleet) ReleaseAll(p *Placement) error {
	for i := range p.Members {
		err := f.release(&p.Members[i].Hold)
		if err == nil {
			continue
		}
		for i--; i >= 0; i-- {
			f.take(&p.Members[i].Hold)
		}
		return err
	}
	p.Members = p.Members[:0]
	p.Domain, p.Level = topology.RootDomain, topology.LevelFleet
	return nil
}

func (f *Fleet) refuse(kind error, n topology.NodeIndex, field, format string, args ...any) error {
	return &Error{Node: f.tree.NodeName(n), Field: "hold." + field, Reason: fmt.Sprintf(format, args...), Kind: kind}
}

// checkShape refuses a hold that makes no sense on its node.
func (f *Fleet) checkShape(h *Hold) error {
	if err := f.checkNode(h.Node); err != nil {
		return err
	}
	gpus := len(f.nodes[h.Node].slots)
	switch s := &h.Share; {
	case h.GPUs&^lowMask(gpus) != 0:
		return f.refuse(ErrUnknown, h.Node, "gpus", "%#x names GPUs that a node with %d does not have", h.GPUs, gpus)
	case s.GPUMilli < 0 || s.GPUMilli >= wholeMilli:
		return f.refuse(ErrInvalid, h.Node, "share.gpuMilli", "%d thousandths are not within 1 and 999", s.GPUMilli)
	case s.GPUMilli == 0 && *s != Share{}:
		return f.refuse(ErrInvalid, h.Node, "share.gpuMilli", "a share of no compute")
	case s.Over && s.GPUMilli != overMilli:
		return f.refuse(ErrInvalid, h.Node, "share.gpuMilli", "%d thousandths of a lent GPU, which are not divided", s.GPUMilli)
	case s.GPUMilli > 0 && bits.OnesCount64(h.GPUs) != 1:
		return f.refuse(ErrInvalid, h.Node, "share", "a share of %d GPUs", bits.OnesCount64(h.GPUs))
	case s.MemoryMiB < 0 || s.MemoryMiB > MaxAmount:
		return f.refuse(ErrInvalid, h.Node, "share.memoryMiB", "%d MiB are not within 0 and %d", s.MemoryMiB, int64(MaxAmount))
	case s.GPUMilli > 0 && (s.Owner == 0 || s.Owner > MaxOwner):
		return f.refuse(ErrInvalid, h.Node, "share.owner", "owner %d is not within 1 and %d", s.Owner, MaxOwner)
	case h.Instance != mig.Placement{} && (s.GPUMilli != 0 || bits.OnesCount64(h.GPUs) != 1):
		return f.refuse(ErrInvalid, h.Node, "instance", "an instance of %d GPUs, with a share of %d thousandths",
			bits.OnesCount64(h.GPUs), s.GPUMilli)
	case h.Instance != mig.Placement{} && f.nodes[h.Node].geometry.find(h.Instance) < 0:
		return f.refuse(ErrUnknown, h.Node, "instance", "GPUs of this node have no place for %s", h.Instance)
	}
	for r := range h.Host {
		if amount := h.Host[r]; amount < 0 || amount > MaxAmount {
			return f.refuse(ErrInvalid, h.Node, countable.Resource(r).Field(), "%d is not within 0 and %d", amount, int64(MaxAmount))
		}
	}
	if i := outOfRange(h.Declared); i >= 0 {
		return f.refuse(ErrInvalid, h.Node, declaredField(i), "%d is not within 0 and %d", h.Declared[i], int64(MaxAmount))
	}
	return nil
}

// outOfRange is the first declared resource of an amount that nothing can have, or -1.
func outOfRange(d *countable.Declared) int {
	if d == nil {
		return -1
	}
	return slices.IndexFunc(d[:], func(amount int64) bool { return amount < 0 || amount > MaxAmount })
}

// declaredField names a declared resource, of which the caller alone knows the name.
func declaredField(i int) string { return fmt.Sprintf("declared[%d]", i) }

// indexes prints a set of GPUs, as in "0,3".
func indexes(set uint64) string {
	var b strings.Builder
	for ; set != 0; set &= set - 1 {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(bits.TrailingZeros64(set)))
	}
	return b.String()
}

// checkHold refuses a hold on what others hold; told: somebody says that it is held already.
func (f *Fleet) checkHold(h *Hold, told bool) error {
	if err := f.checkShape(h); err != nil {
		return err
	}
	state := &f.nodes[h.Node]
	if h.Share.Over {
		if err := f.checkOverHeld(h); err != nil || told {
			return err
		}
		return f.checkOver(h)
	}
	taken := h.GPUs & state.occupied()
	if told && h.Share.GPUMilli == 0 && h.Instance == (mig.Placement{}) {
		taken = h.GPUs & state.whole
	}
	if taken != 0 {
		return f.refuse(ErrHeld, h.Node, "gpus", "held by others: %s", indexes(taken))
	}
	if h.Instance != (mig.Placement{}) {
		return f.checkInstance(h)
	}
	if divided := h.GPUs & state.divided; divided != 0 {
		return f.refuse(ErrUnavailable, h.Node, "gpus", "divided into instances: %s", indexes(divided))
	}
	if h.Share.GPUMilli == 0 {
		if taken := h.GPUs & state.shared; taken != 0 {
			return f.refuse(ErrHeld, h.Node, "gpus", "shared by others: %s", indexes(taken))
		}
		return nil
	}
	gpu := bits.TrailingZeros64(h.GPUs)
	switch slot := &state.slots[gpu]; {
	case slot.shares > 0 && slot.owner != h.Share.Owner:
		return f.refuse(ErrHeld, h.Node, "share.owner", "GPU %d is shared by another owner", gpu)
	case slot.milli+h.Share.GPUMilli > wholeMilli:
		return f.refuse(ErrCapacity, h.Node, "share.gpuMilli", "%d thousandths of GPU %d are left, %d are asked for",
			wholeMilli-slot.milli, gpu, h.Share.GPUMilli)
	case state.sharesLeft(slot) == 0:
		return f.refuse(ErrCapacity, h.Node, "share", "there are %d shares of GPU %d, and no more can be", slot.shares, gpu)
	case slot.memory+h.Share.MemoryMiB > state.gpuMemory:
		return f.refuse(ErrCapacity, h.Node, "share.memoryMiB", "%d MiB of GPU %d are left, %d are asked for",
			state.gpuMemory-slot.memory, gpu, h.Share.MemoryMiB)
	}
	return nil
}

// checkAvailable refuses what a new member may not have although nobody holds it.
func (f *Fleet) checkAvailable(h *Hold) error {
	state := &f.nodes[h.Node]
	switch failed := h.GPUs &^ state.healthy; {
	case !state.schedulable:
		return f.refuse(ErrUnavailable, h.Node, "node", "the node takes no work")
	case failed != 0:
		return f.refuse(ErrUnavailable, h.Node, "gpus", "failed: %s", indexes(failed))
	}
	left := state.hostFree()
	if r, beyond := h.Host.Beyond(left.Floor()); beyond {
		return f.refuse(ErrCapacity, h.Node, r.Field(), "%d are left, %d are asked for", left[r], h.Host[r])
	}
	if h.Declared != nil {
		left := state.declaredFree().Floor()
		if i := h.Declared.Beyond(left); i >= 0 {
			return f.refuse(ErrCapacity, h.Node, declaredField(i), "%d are left, %d are asked for", left.Of(i), h.Declared[i])
		}
	}
	return nil
}

// checkRelease refuses to give back what is not held so.
func (f *Fleet) checkRelease(h *Hold) error {
	if err := f.checkShape(h); err != nil {
		return err
	}
	state := &f.nodes[h.Node]
	r, beyond := h.Host.Beyond(state.hostUsed)
	switch {
	case state.holds == 0:
		return f.refuse(ErrNotHeld, h.Node, "node", "nothing is held there")
	case beyond:
		return f.refuse(ErrNotHeld, h.Node, r.Field(), "only %d are held", state.hostUsed[r])
	case !h.Declared.Within(state.declaredUsed()):
		i := h.Declared.Beyond(state.declaredUsed())
		return f.refuse(ErrNotHeld, h.Node, declaredField(i), "only %d are held", state.declaredUsed().Of(i))
	case state.holds == 1 && !h.Declared.Equal(state.declaredUsed()), state.holds == 1 && (h.GPUs != state.whole|state.shared|state.seated|state.borrowed || h.Host != state.hostUsed):
		return f.refuse(ErrNotHeld, h.Node, "node", "its last hold is another one")
	case h.GPUs == 0:
		return nil
	}
	gpu := bits.TrailingZeros64(h.GPUs)
	slot := &state.slots[gpu]
	if h.Instance != (mig.Placement{}) {
		return f.checkReleaseInstance(h)
	}
	if h.Share.Over {
		if state.borrowed&h.GPUs == 0 || slot.over() != (loan{h.Share.MemoryMiB, h.Share.Owner}) {
			return f.refuse(ErrNotHeld, h.Node, "share", "no borrower has GPU %d like that", gpu)
		}
		return nil
	}
	if h.Share.GPUMilli == 0 {
		if slot.hold != h.GPUs || slot.host != h.Host {
			return f.refuse(ErrNotHeld, h.Node, "gpus", "%#x are not held as one, or not with that much of the host", h.GPUs)
		}
		return nil
	}
	switch left := (Share{GPUMilli: slot.milli, MemoryMiB: slot.memory, Owner: slot.owner}); {
	case slot.shares == 0 || left.Owner != h.Share.Owner:
		return f.refuse(ErrNotHeld, h.Node, "share.owner", "the owner has no share of GPU %d", gpu)
	case h.Share.GPUMilli > left.GPUMilli, h.Share.MemoryMiB > left.MemoryMiB, slot.shares == 1 && h.Share != left:
		return f.refuse(ErrNotHeld, h.Node, "share", "the shares of GPU %d come to %d thousandths and %d MiB",
			gpu, left.GPUMilli, left.MemoryMiB)
	}
	return nil
}

// take enters a checked hold.
func (f *Fleet) take(h *Hold) {
	f.touch(h.Node)
	state := &f.nodes[h.Node]
	state.holds++
	state.hostUsed.Add(&h.Host)
	if h.Declared != nil {
		state.declared = declaredOf(state.declaredHas(), state.declaredUsed().Plus(h.Declared))
	}
	if h.GPUs == 0 {
		return
	}
	gpu := bits.TrailingZeros64(h.GPUs)
	if h.Instance != (mig.Placement{}) {
		f.seat(h.Node, gpu, h.Instance)
		return
	}
	slot := &state.slots[gpu]
	switch {
	case h.Share.Over:
		f.setOver(h, true)
		return
	case h.Share.GPUMilli == 0:
		f.setWhole(h, true)
		slot.hold, slot.host = h.GPUs, h.Host
		f.recount(h.Node)
		return
	}
	f.unindex(h.Node, gpu)
	slot.shares++
	slot.milli += h.Share.GPUMilli
	slot.memory += h.Share.MemoryMiB
	slot.owner = h.Share.Owner
	state.shared |= h.GPUs
	f.index(h.Node, gpu)
	if slot.shares == 1 {
		f.recount(h.Node)
	}
}

// give undoes take.
func (f *Fleet) give(h *Hold) {
	f.touch(h.Node)
	state := &f.nodes[h.Node]
	state.holds--
	state.hostUsed.Subtract(&h.Host)
	if h.Declared != nil {
		state.declared = declaredOf(state.declaredHas(), state.declaredUsed().Minus(h.Declared))
	}
	if h.GPUs == 0 {
		return
	}
	gpu := bits.TrailingZeros64(h.GPUs)
	if h.Instance != (mig.Placement{}) {
		f.seat(h.Node, gpu, h.Instance)
		return
	}
	slot := &state.slots[gpu]
	switch {
	case h.Share.Over:
		f.setOver(h, false)
		return
	case h.Share.GPUMilli == 0:
		f.setWhole(h, false)
		slot.hold, slot.host = 0, countable.Amounts{}
		f.recount(h.Node)
		return
	}
	f.unindex(h.Node, gpu)
	slot.shares--
	slot.milli -= h.Share.GPUMilli
	slot.memory -= h.Share.MemoryMiB
	if slot.shares == 0 {
		slot.owner = 0
		state.shared &^= h.GPUs
		f.recount(h.Node)
	}
	f.index(h.Node, gpu)
}

// setWhole notes that GPUs are held whole, or not any more. Those that are lent may have borrowers
// while they are.
func (f *Fleet) setWhole(h *Hold, held bool) {
	state := &f.nodes[h.Node]
	lent := state.lent & h.GPUs
	for gpus := lent; gpus != 0; gpus &= gpus - 1 {
		f.unindex(h.Node, bits.TrailingZeros64(gpus))
	}
	if state.whole &^= h.GPUs; held {
		state.whole |= h.GPUs
	}
	for gpus := lent; gpus != 0; gpus &= gpus - 1 {
		f.index(h.Node, bits.TrailingZeros64(gpus))
	}
}
