package record

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// A GPUState is what the core keeps of a GPU beside its description.
type GPUState struct {
	GPUStatePart
	GPUPart
	// Staged is how the GPU is, while a search looks at it as it could be.
	Staged *Partitioning
	// GPUHold keeps it for a member that waits; nil: it is open to all.
	GPUHold *GPUHold
	// Astray: it is in GPUs.Astray.
	Astray bool
}

// Nothing reports whether all that is known of a GPU is its description.
func (s GPUState) Nothing() bool { return s == GPUState{} }

// A Partitioning is how a GPU is divided.
type Partitioning struct {
	Mode      berth.GPUMode
	Instances []mig.Placement
}

// A single member that needs a large part of a GPU loses to smaller ones for ever: there is always
// another that fits in what becomes free. So a GPU may be held for it: new members stay away until
// it is empty. The idle part of the GPU is the cost of the hold, which begins when the wait of the
// member outweighs that.

// A GPUHold keeps one GPU for a member that waits.
type GPUHold struct {
	Rep  *Replica
	Node *Node
	GPUHoldPart
}

// A Repartition is an order about a GPU that is out. Members may be bound on what it
// will be: their Bind says that it comes after.
type Repartition struct {
	Order  berth.Repartition
	Node   *Node
	Before Partitioning
}

// Needs reports whether a member needs what was ordered: it could not stand on the GPU
// as it was.
func (p *Repartition) Needs(h *gang.Hold) bool {
	if !berth.GPUSet(h.GPUs).Has(p.Order.GPU) {
		return false
	}
	return p.Before.Mode != p.Order.Mode || slices.Contains(p.Order.Create, h.Instance)
}

// TouchesMIG reports whether the change costs more than a word to a driver.
func (p *Repartition) TouchesMIG() bool {
	return p.Before.Mode == berth.GPUModeMIG || p.Order.Mode == berth.GPUModeMIG
}
