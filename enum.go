package berth

import (
	"fmt"

	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
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

const classNames enum.Names = "batch|interactive|latency-critical"

// ParseClass is the inverse of Class.String.
func ParseClass(s string) (Class, error) { return parseEnum[Class]("class", classNames, s) }

func (c Class) String() string { return enum.Text(classNames, c, "Class(%d)") }

func (c Class) MarshalText() ([]byte, error) { return marshalEnum("class", classNames, c) }

func (c *Class) UnmarshalText(b []byte) error { return unmarshalEnum(c, ParseClass, b) }

// A ShareMode says how members share one GPU.
type ShareMode uint8

const (
	// ShareMPS: NVIDIA's Multi-Process Service. Members run side by side; a fault of
	// one can take down all, so they belong to one tenant.
	ShareMPS ShareMode = iota
	// ShareTimeSlice: members take turns. For interactive work of one tenant.
	ShareTimeSlice
)

const shareModeNames enum.Names = "mps|time-slice"

// ParseShareMode is the inverse of ShareMode.String.
func ParseShareMode(s string) (ShareMode, error) {
	return parseEnum[ShareMode]("mode", shareModeNames, s)
}

func (m ShareMode) String() string { return enum.Text(shareModeNames, m, "ShareMode(%d)") }

func (m ShareMode) MarshalText() ([]byte, error) { return marshalEnum("mode", shareModeNames, m) }

func (m *ShareMode) UnmarshalText(b []byte) error { return unmarshalEnum(m, ParseShareMode, b) }

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

const gpuModeNames enum.Names = "whole|mig|mps|time-slice"

// ParseGPUMode is the inverse of GPUMode.String.
func ParseGPUMode(s string) (GPUMode, error) { return parseEnum[GPUMode]("mode", gpuModeNames, s) }

func (m GPUMode) String() string { return enum.Text(gpuModeNames, m, "GPUMode(%d)") }

func (m GPUMode) MarshalText() ([]byte, error) { return marshalEnum("mode", gpuModeNames, m) }

func (m *GPUMode) UnmarshalText(b []byte) error { return unmarshalEnum(m, ParseGPUMode, b) }

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

const replicaStateNames enum.Names = "pending|binding|running|repairing|releasing"

// ParseReplicaState is the inverse of State.String.
func ParseReplicaState(s string) (ReplicaState, error) {
	return parseEnum[ReplicaState]("state", replicaStateNames, s)
}

func (s ReplicaState) String() string { return enum.Text(replicaStateNames, s, "State(%d)") }

func (s ReplicaState) MarshalText() ([]byte, error) {
	return marshalEnum("state", replicaStateNames, s)
}

func (s *ReplicaState) UnmarshalText(b []byte) error { return unmarshalEnum(s, ParseReplicaState, b) }

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

const outcomeNames enum.Names = "done|failed|partial"

// ParseOutcome is the inverse of Outcome.String.
func ParseOutcome(s string) (Outcome, error) { return parseEnum[Outcome]("outcome", outcomeNames, s) }

func (o Outcome) String() string { return enum.Text(outcomeNames, o, "Outcome(%d)") }

func (o Outcome) MarshalText() ([]byte, error) { return marshalEnum("outcome", outcomeNames, o) }

func (o *Outcome) UnmarshalText(b []byte) error { return unmarshalEnum(o, ParseOutcome, b) }

func parseEnum[E ~uint8](field string, names enum.Names, s string) (E, error) {
	v, ok := enum.Parse[E](names, s)
	if !ok {
		return 0, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%q is none of %q", errtext.Short(s), names.List())}
	}
	return v, nil
}

func marshalEnum[E ~uint8](field string, names enum.Names, v E) ([]byte, error) {
	if int(v) >= names.Len() {
		return nil, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%d is out of range", uint8(v))}
	}
	return []byte(enum.Text(names, v, "")), nil
}

func unmarshalEnum[E ~uint8](into *E, parse func(string) (E, error), text []byte) error {
	v, err := parse(string(text))
	if err == nil {
		*into = v
	}
	return err
}
