package record

import (
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/internal/enum"
)

// A GPUKnowledge is what is known of how a GPU is divided. The Mode and Instances of its
// description are those that were told or ordered last. It goes from one state to the next by
// After, and no other way.
type GPUKnowledge uint8

const (
	// GPUKnown: as it is described.
	GPUKnown GPUKnowledge = iota
	// GPUChanging: a Repartition is out about it, and it is described as it will be.
	GPUChanging
	// GPUUnknown: a Repartition got lost, so it takes no member.
	GPUUnknown
	// GPUProvable: the same, and members hold it that need what was ordered. They may be coming up:
	// if one runs, the order was carried out.
	GPUProvable
	gpuStates
)

const gpuNames enum.Names = "GPUKnowledge: known|changing|unknown|provable"

// String is the name in the tables of the states.
func (s GPUKnowledge) String() string { return enum.Text(gpuNames, s) }

// A GPUSignal leads a GPU from one state to the next.
type GPUSignal uint8

const (
	// GPUOrdered: a Repartition is given.
	GPUOrdered GPUSignal = iota
	// GPUReported: it is reported as done, or as failed.
	GPUReported
	// GPUExpired: it is not reported in time, and no member holds what was ordered.
	GPUExpired
	// GPUExpiredHeld: it is not reported in time, and members hold what was ordered.
	GPUExpiredHeld
	// GPUProven: a member runs on what was ordered, and the order is overdue.
	GPUProven
	// GPUTold: GPUPartitioned tells how it is divided.
	GPUTold
	// GPULost: it fails, or its node is lost.
	GPULost
	gpuSignals
)

const gpuSignalNames enum.Names = "GPUSignal: ordered|reported|expired|expired, held|proven|told|lost"

// String is the name in the tables of the states.
func (on GPUSignal) String() string { return enum.Text(gpuSignalNames, on) }

// After is the state after a signal. It reports false for a signal that cannot come in this state.
func (on GPUSignal) After(s GPUKnowledge) (GPUKnowledge, bool) {
	switch s {
	case GPUKnown:
		switch on {
		case GPUOrdered:
			return GPUChanging, true
		case GPUTold, GPULost:
			return GPUKnown, true
		}
	case GPUChanging:
		switch on {
		case GPUReported, GPUProven:
			return GPUKnown, true
		case GPUExpired, GPULost:
			return GPUUnknown, true
		case GPUExpiredHeld:
			return GPUProvable, true
		}
	case GPUUnknown, GPUProvable:
		switch {
		case on == GPUTold, on == GPUProven && s == GPUProvable:
			return GPUKnown, true
		case on == GPULost:
			return GPUUnknown, true
		}
	}
	return s, false
}

// A GPUStatePart is what is known of a GPU, which this package alone writes.
type GPUStatePart struct {
	Knowledge GPUKnowledge
	// By is the order of which Knowledge speaks: that is out, or overdue; nil: there is none.
	By *Repartition
}

// Become puts a GPU in the state after a signal, of an order.
func (s *GPUStatePart) Become(on GPUSignal, p *Repartition) {
	next, ok := on.After(s.Knowledge)
	invariant.Hold(ok, "a GPU gets a signal that cannot come in its state")
	s.set(next, p)
}

func (s *GPUStatePart) set(to GPUKnowledge, p *Repartition) {
	if s.Knowledge, s.By = to, nil; to == GPUChanging || to == GPUProvable {
		s.By = p
	}
}

// Restore puts a GPU in the state in which it was saved, p being its order.
func (s *GPUStatePart) Restore(saved *SavedGPU, p *Repartition) {
	switch {
	case saved.Overdue:
		s.set(GPUProvable, p)
	case saved.Unknown:
		s.set(GPUUnknown, nil)
	case p != nil:
		s.set(GPUChanging, p)
	}
}

// Order is the order that is out; nil: none.
func (s GPUStatePart) Order() *Repartition {
	if s.Knowledge == GPUChanging {
		return s.By
	}
	return nil
}

// Overdue is the order that members may prove; nil: none.
func (s GPUStatePart) Overdue() *Repartition {
	if s.Knowledge == GPUProvable {
		return s.By
	}
	return nil
}

// Unknown reports whether it takes nothing, as an order about it got lost.
func (s GPUStatePart) Unknown() bool { return s.Knowledge == GPUUnknown || s.Knowledge == GPUProvable }

// Inherit keeps what is known of a GPU of a node that is described anew.
func (s *GPUState) Inherit(old *GPUState) {
	s.GPUPart = old.GPUPart
	if old.Unknown() {
		s.set(GPUUnknown, nil)
	}
}
