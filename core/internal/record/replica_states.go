package record

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/internal/enum"
)

// The states of a replica. Package life leads a replica by After, and no other way. The manual and
// docs/states.md print what After says; nobody writes that down a second time.

// A ReplicaStatePart is the state of a replica, which this package alone writes.
type ReplicaStatePart struct {
	State berth.ReplicaState `json:"state"`
}

// ReplicaGone is the state of a replica that is forgotten.
const ReplicaGone = berth.ReplicaReleasing + 1

// A ReplicaSignal leads a replica from one state to the next. What becomes of an event depends on
// what it leaves of the gang, so the signals say that: see Replica.Left.
type ReplicaSignal uint8

const (
	// ReplicaObserved: the world began its life, and its members run.
	ReplicaObserved ReplicaSignal = iota
	// ReplicaBound: a Bind starts it, or starts its missing members anew.
	ReplicaBound
	// ReplicaAwaited: its Bind is out, and the report decides.
	ReplicaAwaited
	// ReplicaComplete: each of its groups has its minimum.
	ReplicaComplete
	// ReplicaReduced: some members are left, too few to run.
	ReplicaReduced
	// ReplicaVacant: no member is left.
	ReplicaVacant
	// ReplicaStopped: all that is left of it is to be stopped.
	ReplicaStopped
	// ReplicaEnded: no member is left, and it does not come back.
	ReplicaEnded
	replicaSignals
)

const replicaSignalNames enum.Names = "ReplicaSignal: observed|bound|awaited|complete|reduced|vacant|stopped|ended"

// String is the name in the tables of the states.
func (on ReplicaSignal) String() string { return enum.Text(replicaSignalNames, on) }

// After is the state after a signal. It reports false for a signal that cannot come in this state.
func (on ReplicaSignal) After(s berth.ReplicaState) (berth.ReplicaState, bool) {
	switch s {
	case berth.ReplicaPending:
		switch on {
		case ReplicaObserved:
			return berth.ReplicaRunning, true
		case ReplicaBound:
			return berth.ReplicaBinding, true
		case ReplicaEnded:
			return ReplicaGone, true
		}
	case berth.ReplicaBinding:
		switch on {
		case ReplicaAwaited:
			return berth.ReplicaBinding, true
		case ReplicaComplete:
			return berth.ReplicaRunning, true
		case ReplicaReduced:
			return berth.ReplicaRepairing, true
		case ReplicaVacant:
			return berth.ReplicaPending, true
		case ReplicaStopped:
			return berth.ReplicaReleasing, true
		}
	case berth.ReplicaRepairing:
		switch on {
		case ReplicaBound:
			return berth.ReplicaBinding, true
		case ReplicaReduced:
			return berth.ReplicaRepairing, true
		case ReplicaVacant:
			return berth.ReplicaPending, true
		case ReplicaStopped:
			return berth.ReplicaReleasing, true
		}
	case berth.ReplicaRunning:
		switch on {
		case ReplicaComplete:
			return berth.ReplicaRunning, true
		case ReplicaReduced, ReplicaVacant, ReplicaStopped:
			return berth.ReplicaReleasing, true
		}
	case berth.ReplicaReleasing:
		switch on {
		case ReplicaReduced:
			return berth.ReplicaReleasing, true
		case ReplicaVacant:
			return berth.ReplicaPending, true
		case ReplicaEnded:
			return ReplicaGone, true
		}
	}
	return s, false
}

// Next is the state in which a signal puts a replica.
func (rep *Replica) Next(on ReplicaSignal) berth.ReplicaState {
	next, ok := on.After(rep.State)
	invariant.Hold(ok, "a replica gets a signal that cannot come in its state")
	return next
}

// Become puts a replica in the state after a signal.
func (rep *Replica) Become(on ReplicaSignal) { rep.State = rep.Next(on) }

// ImaginedReplica is a part of a replica that would run.
func ImaginedReplica(of *Replica, members []Member) *Replica {
	rep := &Replica{Job: of.Job, LifePart: LifePart{Number: of.Number}, Imagined: true, Members: members}
	rep.State = berth.ReplicaRunning
	return rep
}

// Left is the signal of what is left of a replica that holds something, or did until now.
func (rep *Replica) Left() ReplicaSignal {
	switch {
	case rep.State == berth.ReplicaReleasing && rep.Has(MemberStopping):
		return ReplicaReduced
	case rep.State == berth.ReplicaReleasing && rep.Release.Get().Gone:
		return ReplicaEnded
	case rep.State == berth.ReplicaReleasing:
		return ReplicaVacant
	case rep.State == berth.ReplicaBinding && rep.Order != nil:
		return ReplicaAwaited
	case rep.Enough(MemberRunning):
		return ReplicaComplete
	case rep.Has(MemberRunning):
		return ReplicaReduced
	}
	return ReplicaVacant
}
