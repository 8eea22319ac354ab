package berth

import (
	"github.com/berth-sched/berth/internal/enum"
)

// A Class is a job's service level: what it may expect, and what it has to give
// way to. The higher class is served first within a queue.
type Class uint8

const (
	// ClassBatch work is preemptible: training, evaluation, anything that can wait.
	ClassBatch Class = iota
	// ClassInteractive work has a person waiting: notebooks, debugging.
	ClassInteractive
	// ClassLatencyCritical work serves users. Nothing of its own queue has it yield; what it has
	// borrowed of another queue's guarantee it gives back like all others.
	ClassLatencyCritical
)

const classNames enum.Names = "Class: batch|interactive|latency-critical"

// ParseClass is the inverse of Class.String.
func ParseClass(s string) (Class, error) { return enum.Value[Class](classNames, s, invalidText) }

func (c Class) String() string { return enum.Text(classNames, c) }

func (c Class) MarshalText() ([]byte, error) { return enum.Marshal(classNames, c, invalidText) }

func (c *Class) UnmarshalText(b []byte) error { return enum.Unmarshal(classNames, c, b, invalidText) }

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

// ParseShareMode is the inverse of ShareMode.String.
func ParseShareMode(s string) (ShareMode, error) {
	return enum.Value[ShareMode](shareModeNames, s, invalidText)
}

func (m ShareMode) String() string { return enum.Text(shareModeNames, m) }

func (m ShareMode) MarshalText() ([]byte, error) { return enum.Marshal(shareModeNames, m, invalidText) }

func (m *ShareMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(shareModeNames, m, b, invalidText)
}

// A GPUMode is how a GPU may be used. It is in one mode at a time, and a change is an
// order: see Repartition.
type GPUMode uint8

const (
	// GPUModeWhole: by one member at a time.
	GPUModeWhole GPUMode = iota
	// GPUModeMIG: divided into instances, each for one member of anybody.
	GPUModeMIG
	// GPUModeMPS: by members of one tenant side by side, under NVIDIA's Multi-Process
	// Service.
	GPUModeMPS
	// GPUModeTimeSlice: by interactive members of one tenant in turn.
	GPUModeTimeSlice
)

const gpuModeNames enum.Names = "GPUMode: whole|mig|mps|time-slice"

// ParseGPUMode is the inverse of GPUMode.String.
func ParseGPUMode(s string) (GPUMode, error) {
	return enum.Value[GPUMode](gpuModeNames, s, invalidText)
}

func (m GPUMode) String() string { return enum.Text(gpuModeNames, m) }

func (m GPUMode) MarshalText() ([]byte, error) { return enum.Marshal(gpuModeNames, m, invalidText) }

func (m *GPUMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(gpuModeNames, m, b, invalidText)
}

// A ReplicaState is where one replica of a job stands.
type ReplicaState uint8

const (
	// ReplicaPending replicas wait for capacity and hold none.
	ReplicaPending ReplicaState = iota
	// ReplicaBinding replicas have a Bind order out and hold its capacity.
	ReplicaBinding
	// ReplicaRunning replicas have their minimum placed and confirmed.
	ReplicaRunning
	// ReplicaRepairing replicas lost members before their Bind was complete. They are
	// made whole or taken back by the next pass, so no batch of orders leaves one.
	ReplicaRepairing
	// ReplicaReleasing replicas are being stopped and hold their capacity until that is
	// reported.
	ReplicaReleasing
)

const replicaStateNames enum.Names = "ReplicaState: pending|binding|running|repairing|releasing"

// ParseReplicaState is the inverse of State.String.
func ParseReplicaState(s string) (ReplicaState, error) {
	return enum.Value[ReplicaState](replicaStateNames, s, invalidText)
}

func (s ReplicaState) String() string { return enum.Text(replicaStateNames, s) }

func (s ReplicaState) MarshalText() ([]byte, error) {
	return enum.Marshal(replicaStateNames, s, invalidText)
}

func (s *ReplicaState) UnmarshalText(b []byte) error {
	return enum.Unmarshal(replicaStateNames, s, b, invalidText)
}

// An Outcome is how an order ended, as its report tells.
type Outcome uint8

const (
	// OutcomeDone: every member of the order is as it was ordered.
	OutcomeDone Outcome = iota
	// OutcomeFailed: none is. A failed Bind left nothing running.
	OutcomeFailed
	// OutcomePartial: the members that the report lists failed, the others are done.
	OutcomePartial
)

const outcomeNames enum.Names = "Outcome: done|failed|partial"

// ParseOutcome is the inverse of Outcome.String.
func ParseOutcome(s string) (Outcome, error) {
	return enum.Value[Outcome](outcomeNames, s, invalidText)
}

func (o Outcome) String() string { return enum.Text(outcomeNames, o) }

func (o Outcome) MarshalText() ([]byte, error) { return enum.Marshal(outcomeNames, o, invalidText) }

func (o *Outcome) UnmarshalText(b []byte) error {
	return enum.Unmarshal(outcomeNames, o, b, invalidText)
}
