package berth

import (
	"fmt"

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

const classNames enum.Names = "batch|interactive|latency-critical"

// parseClass is the inverse of Class.String.
func parseClass(s string) (Class, error) { return parseEnum[Class]("class", classNames, s) }

// String is the word for it, as in JSON.
func (c Class) String() string { return enum.Text(classNames, c, "Class(%d)") }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (c Class) MarshalText() ([]byte, error) { return marshalEnum("class", classNames, c) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (c *Class) UnmarshalText(b []byte) error { return unmarshalEnum(c, parseClass, b) }

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

// parseShareMode is the inverse of ShareMode.String.
func parseShareMode(s string) (ShareMode, error) {
	return parseEnum[ShareMode]("mode", shareModeNames, s)
}

// String is the word for it, as in JSON.
func (m ShareMode) String() string { return enum.Text(shareModeNames, m, "ShareMode(%d)") }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (m ShareMode) MarshalText() ([]byte, error) { return marshalEnum("mode", shareModeNames, m) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (m *ShareMode) UnmarshalText(b []byte) error { return unmarshalEnum(m, parseShareMode, b) }

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

const gpuModeNames enum.Names = "unset|whole|mig|mps|time-slice"

// parseGPUMode is the inverse of GPUMode.String.
func parseGPUMode(s string) (GPUMode, error) { return parseSet[GPUMode]("mode", gpuModeNames, s) }

// String is the word for it, as in JSON.
func (m GPUMode) String() string { return enum.Text(gpuModeNames, m, "GPUMode(%d)") }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (m GPUMode) MarshalText() ([]byte, error) { return marshalSet("mode", gpuModeNames, m) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (m *GPUMode) UnmarshalText(b []byte) error { return unmarshalEnum(m, parseGPUMode, b) }

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

const replicaStateNames enum.Names = "pending|binding|running|repairing|releasing"

// parseReplicaState is the inverse of ReplicaState.String.
func parseReplicaState(s string) (ReplicaState, error) {
	return parseEnum[ReplicaState]("state", replicaStateNames, s)
}

// String is the word for it, as in JSON.
func (s ReplicaState) String() string { return enum.Text(replicaStateNames, s, "State(%d)") }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (s ReplicaState) MarshalText() ([]byte, error) {
	return marshalEnum("state", replicaStateNames, s)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (s *ReplicaState) UnmarshalText(b []byte) error { return unmarshalEnum(s, parseReplicaState, b) }

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

const outcomeNames enum.Names = "unset|done|failed|partial"

// parseOutcome is the inverse of Outcome.String.
func parseOutcome(s string) (Outcome, error) { return parseSet[Outcome]("outcome", outcomeNames, s) }

// String is the word for it, as in JSON.
func (o Outcome) String() string { return enum.Text(outcomeNames, o, "Outcome(%d)") }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (o Outcome) MarshalText() ([]byte, error) { return marshalSet("outcome", outcomeNames, o) }

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (o *Outcome) UnmarshalText(b []byte) error { return unmarshalEnum(o, parseOutcome, b) }

func parseEnum[E ~uint8](field string, names enum.Names, s string) (E, error) {
	v, ok := enum.Parse[E](names, s)
	if !ok {
		return 0, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%q is none of %q", s, names.List())}
	}
	return v, nil
}

func marshalEnum[E ~uint8](field string, names enum.Names, v E) ([]byte, error) {
	if int(v) >= names.Len() {
		return nil, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%d is out of range", uint8(v))}
	}
	return []byte(enum.Text(names, v, "")), nil
}

// parseSet is parseEnum for an enumeration that says nothing by its zero value.
func parseSet[E ~uint8](field string, names enum.Names, s string) (E, error) {
	if v, ok := enum.Parse[E](names, s); ok && v != 0 {
		return v, nil
	}
	return 0, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%q is none of %q", s, names.List()[1:])}
}

// marshalSet is marshalEnum for an enumeration that says nothing by its zero value.
func marshalSet[E ~uint8](field string, names enum.Names, v E) ([]byte, error) {
	if v == 0 {
		return nil, &Error{Event: field, Kind: ErrInvalid, Reason: "is not set"}
	}
	return marshalEnum(field, names, v)
}

func unmarshalEnum[E ~uint8](into *E, parse func(string) (E, error), text []byte) error {
	v, err := parse(string(text))
	if err == nil {
		*into = v
	}
	return err
}
