package record

import (
	"cmp"

	"github.com/berth-sched/berth"
)

// A Timer is something that falls due: at most one of each kind for a replica, or the
// deadline of an order about a GPU.
type Timer struct {
	At   berth.Time
	Kind timerKind
	Rep  *Replica
	// Repartition that expires; rep is nil.
	Repartition *Repartition
}

type timerKind uint8

const (
	// TimerLimit: the replica has run for as long as it may, or as long as leaves it the time for a
	// checkpoint. It comes before the deadline of an order that is out then.
	TimerLimit timerKind = iota
	// TimerDeadline: the replica's order expires.
	TimerDeadline
	// TimerBackoff: the replica may be tried again.
	TimerBackoff
	// TimerGang: the replica was pending for too long.
	TimerGang
	// TimerLending: the replica was quiet for long enough, or has to give back what it borrows.
	TimerLending
	// TimerIdle: the replica is to be warned, or was idle for too long.
	TimerIdle
	// TimerGate: the begin time of the replica's job has come, or its gate can never open.
	TimerGate
	// TimerRepartition: an order about a GPU expires.
	TimerRepartition
)

// Less orders timers by instant, then orders about GPUs by ID, then job, replica and kind.
func (t Timer) Less(u Timer) bool {
	switch {
	case t.At != u.At:
		return t.At < u.At
	case t.Rep == nil || u.Rep == nil:
		return t.Rep == nil && (u.Rep != nil || t.Repartition.Order.ID < u.Repartition.Order.ID)
	case t.Rep != u.Rep:
		return LessReplica(t.Rep, u.Rep)
	}
	return t.Kind < u.Kind
}

// CompareReplicas orders replicas by job and number.
func CompareReplicas(a, b *Replica) int {
	if d := cmp.Compare(a.Job.Spec.ID, b.Job.Spec.ID); d != 0 {
		return d
	}
	return cmp.Compare(a.Number, b.Number)
}

// LessReplica is CompareReplicas for ordered sets.
func LessReplica(a, b *Replica) bool { return CompareReplicas(a, b) < 0 }

// CompareGPUHolds orders GPU holds by the replicas that they are for.
func CompareGPUHolds(d, e *GPUHold) int { return CompareReplicas(d.Rep, e.Rep) }
