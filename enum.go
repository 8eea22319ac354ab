package berth

import (
	"github.com/berth-sched/berth/internal/enum"
)

// A Class is a job's service level: what it may expect, and what it has to give
// way to. The higher class is served first within a queue.
type Class uint8

const (
	// ClassBatch is preemptible work: training, evaluation, anything that can wait.
	ClassBatch Class = iota
	// ClassInteractive is work that a person waits for: notebooks, debugging.
	ClassInteractive
	// ClassLatencyCritical is work that serves users. No job of its own queue evicts it; its
	// use of another queue's guarantee is reclaimed like all other.
	ClassLatencyCritical
)

const classNames enum.Names = "Class: batch|interactive|latency-critical"

// String is the word for it, as in JSON.
func (c Class) String() string { return enum.Text(classNames, c) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (c Class) MarshalText() ([]byte, error) { return enum.Marshal(classNames, c, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (c *Class) UnmarshalText(b []byte) error { return enum.Unmarshal(classNames, c, b, invalidText) }

// A DependencyKind says which ends of a job count for one that depends on it.
type DependencyKind uint8

const (
	// DependencyOK: the job completes. If it ends otherwise, the one that depends on it is dropped.
	DependencyOK DependencyKind = iota
	// DependencyAny: the job ends, well or badly.
	DependencyAny
)

const dependencyKindNames enum.Names = "DependencyKind: ok|any"

// String is the word for it, as in JSON.
func (k DependencyKind) String() string { return enum.Text(dependencyKindNames, k) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (k DependencyKind) MarshalText() ([]byte, error) {
	return enum.Marshal(dependencyKindNames, k, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (k *DependencyKind) UnmarshalText(b []byte) error {
	return enum.Unmarshal(dependencyKindNames, k, b, invalidText)
}

// A Choice says for which of its alternatives a job has a place kept while it waits: see
// [Alternative].
type Choice uint8

const (
	// ChooseFirst: the first, in the order of the list, that fits once all that runs has ended.
	ChooseFirst Choice = iota
	// ChooseSoonest: the one that is expected to start the soonest, by the expected ends of what
	// runs; of those that start at one instant, the first.
	ChooseSoonest
)

const choiceNames enum.Names = "Choice: first|soonest"

// String is the word for it, as in JSON.
func (c Choice) String() string { return enum.Text(choiceNames, c) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (c Choice) MarshalText() ([]byte, error) { return enum.Marshal(choiceNames, c, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (c *Choice) UnmarshalText(b []byte) error {
	return enum.Unmarshal(choiceNames, c, b, invalidText)
}

// A ShareMode says how members share one GPU.
type ShareMode uint8

const (
	// ShareMPS: NVIDIA's Multi-Process Service. Members run side by side; a fault of
	// one can take down all, so they belong to one tenant.
	ShareMPS ShareMode = iota
	// ShareTimeSlice: members take turns. For interactive work of one tenant.
	ShareTimeSlice
)

const shareModeNames enum.Names = "ShareMode: mps|time-slice"

// String is the word for it, as in JSON.
func (m ShareMode) String() string { return enum.Text(shareModeNames, m) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (m ShareMode) MarshalText() ([]byte, error) { return enum.Marshal(shareModeNames, m, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (m *ShareMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(shareModeNames, m, b, invalidText)
}

// A GPUMode is how a GPU may be used. It is in one mode at a time, and a change is an
// order: see Repartition.
type GPUMode uint8

const (
	// GPUModeUnset, the zero value: nothing was said. A GPU of a [Node] is whole then; events
	// about one GPU are refused, and nothing else marshals it.
	GPUModeUnset GPUMode = iota
	// GPUModeWhole: by one member at a time.
	GPUModeWhole
	// GPUModeMIG: divided into instances, each for one member of anybody.
	GPUModeMIG
	// GPUModeMPS: by members of one tenant side by side, under NVIDIA's Multi-Process
	// Service.
	GPUModeMPS
	// GPUModeTimeSlice: by interactive members of one tenant in turn.
	GPUModeTimeSlice
)

const gpuModeNames enum.Names = "GPUMode: unset|whole|mig|mps|time-slice"

// String is the word for it, as in JSON.
func (m GPUMode) String() string { return enum.Text(gpuModeNames, m) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (m GPUMode) MarshalText() ([]byte, error) { return enum.Marshal(gpuModeNames, m, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (m *GPUMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(gpuModeNames, m, b, invalidText)
}

// A ReplicaState is where one replica of a job stands. The drawing in the manual has the steps
// between them.
type ReplicaState uint8

const (
	// ReplicaPending: it waits for capacity and holds none.
	ReplicaPending ReplicaState = iota
	// ReplicaBinding: it has a Bind out and holds its capacity.
	ReplicaBinding
	// ReplicaRunning: its minimum is placed and confirmed.
	ReplicaRunning
	// ReplicaRepairing: it lost members before its Bind was complete. The next pass makes it
	// whole or takes it back, so no batch of orders leaves one.
	ReplicaRepairing
	// ReplicaReleasing: it is being stopped and holds its capacity until that is reported.
	ReplicaReleasing
)

const replicaStateNames enum.Names = "ReplicaState: pending|binding|running|repairing|releasing"

// String is the word for it, as in JSON.
func (s ReplicaState) String() string { return enum.Text(replicaStateNames, s) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (s ReplicaState) MarshalText() ([]byte, error) {
	return enum.Marshal(replicaStateNames, s, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (s *ReplicaState) UnmarshalText(b []byte) error {
	return enum.Unmarshal(replicaStateNames, s, b, invalidText)
}

// An Outcome is how an order ended, as its report tells.
type Outcome uint8

const (
	// OutcomeUnset, the zero value: nothing was said. Apply refuses it, and nothing marshals it.
	OutcomeUnset Outcome = iota
	// OutcomeDone: every member of the order is as it was ordered.
	OutcomeDone
	// OutcomeFailed: none is. A failed Bind left nothing running.
	OutcomeFailed
	// OutcomePartial: the members that the report lists failed, the others are done.
	OutcomePartial
)

const outcomeNames enum.Names = "Outcome: unset|done|failed|partial"

// String is the word for it, as in JSON.
func (o Outcome) String() string { return enum.Text(outcomeNames, o) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (o Outcome) MarshalText() ([]byte, error) { return enum.Marshal(outcomeNames, o, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (o *Outcome) UnmarshalText(b []byte) error {
	return enum.Unmarshal(outcomeNames, o, b, invalidText)
}

// A Fault is what is to blame for members that died.
type Fault uint8

const (
	// FaultUnset, the zero value: nothing was said. The place of the gang is kept.
	FaultUnset Fault = iota
	// FaultJob: the job itself, as with an error in its program. No place is kept for it.
	FaultJob
	// FaultNode: the nodes of these members are suspect. The place is kept but for those, and
	// the gang goes there again only if it fits nowhere else. A node that certainly failed is
	// told of by [NodeLost] or [GPUFailed] instead.
	FaultNode
)

const faultNames enum.Names = "Fault: unset|job|node"

// String is the word for it, as in JSON.
func (f Fault) String() string { return enum.Text(faultNames, f) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (f Fault) MarshalText() ([]byte, error) { return enum.Marshal(faultNames, f, invalidText) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (f *Fault) UnmarshalText(b []byte) error { return enum.Unmarshal(faultNames, f, b, invalidText) }
