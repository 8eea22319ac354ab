package berth

import "fmt"

// A Class is a job's service level: what it may expect, and what it has to give
// way to. The higher class is served first within a queue.
type Class uint8

const (
	// Batch work is preemptible: training, evaluation, anything that can wait.
	Batch Class = iota
	// Interactive work has a person waiting: notebooks, debugging.
	Interactive
	// LatencyCritical work serves users. Nothing of its own queue has it yield; what it has
	// borrowed of another queue's guarantee it gives back like all others.
	LatencyCritical
)

var classNames = [...]string{"batch", "interactive", "latency-critical"}

// ParseClass is the inverse of Class.String.
func ParseClass(s string) (Class, error) {
	v, err := parseEnum("class", classNames[:], s)
	return Class(v), err
}

func (c Class) String() string               { return enumName("Class", classNames[:], uint8(c)) }
func (c Class) MarshalText() ([]byte, error) { return marshalEnum("class", classNames[:], uint8(c)) }

func (c *Class) UnmarshalText(b []byte) error {
	v, err := ParseClass(string(b))
	if err == nil {
		*c = v
	}
	return err
}

// A ShareMode says how members share one GPU.
type ShareMode uint8

const (
	// MPS: NVIDIA's Multi-Process Service. Members run side by side; a fault of
	// one can take down all, so they belong to one tenant.
	MPS ShareMode = iota
	// TimeSlice: members take turns. For interactive work of one tenant.
	TimeSlice
)

var shareModeNames = [...]string{"mps", "time-slice"}

// ParseShareMode is the inverse of ShareMode.String.
func ParseShareMode(s string) (ShareMode, error) {
	v, err := parseEnum("mode", shareModeNames[:], s)
	return ShareMode(v), err
}

func (m ShareMode) String() string { return enumName("ShareMode", shareModeNames[:], uint8(m)) }
func (m ShareMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", shareModeNames[:], uint8(m))
}

func (m *ShareMode) UnmarshalText(b []byte) error {
	v, err := ParseShareMode(string(b))
	if err == nil {
		*m = v
	}
	return err
}

// A GPUMode is how a GPU may be used. It is in one mode at a time, and a change is an
// order: see Repartition.
type GPUMode uint8

const (
	// ModeWhole: by one member at a time.
	ModeWhole GPUMode = iota
	// ModeMIG: divided into instances, each for one member of anybody.
	ModeMIG
	// ModeMPS: by members of one tenant side by side, under NVIDIA's Multi-Process
	// Service.
	ModeMPS
	// ModeTimeSlice: by interactive members of one tenant in turn.
	ModeTimeSlice
)

var gpuModeNames = [...]string{"whole", "mig", "mps", "time-slice"}

// ParseGPUMode is the inverse of GPUMode.String.
func ParseGPUMode(s string) (GPUMode, error) {
	v, err := parseEnum("mode", gpuModeNames[:], s)
	return GPUMode(v), err
}

func (m GPUMode) String() string { return enumName("GPUMode", gpuModeNames[:], uint8(m)) }
func (m GPUMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", gpuModeNames[:], uint8(m))
}

func (m *GPUMode) UnmarshalText(b []byte) error {
	v, err := ParseGPUMode(string(b))
	if err == nil {
		*m = v
	}
	return err
}

// A State is where one replica of a job stands.
type State uint8

const (
	// Pending replicas wait for capacity and hold none.
	Pending State = iota
	// Binding replicas have a Bind order out and hold its capacity.
	Binding
	// Running replicas have their minimum placed and confirmed.
	Running
	// Repairing replicas lost members before their Bind was complete. They are
	// made whole or taken back by the next pass, so no batch of orders leaves one.
	Repairing
	// Releasing replicas are being stopped and hold their capacity until that is
	// reported.
	Releasing
)

var stateNames = [...]string{"pending", "binding", "running", "repairing", "releasing"}

// ParseState is the inverse of State.String.
func ParseState(s string) (State, error) {
	v, err := parseEnum("state", stateNames[:], s)
	return State(v), err
}

func (s State) String() string               { return enumName("State", stateNames[:], uint8(s)) }
func (s State) MarshalText() ([]byte, error) { return marshalEnum("state", stateNames[:], uint8(s)) }

func (s *State) UnmarshalText(b []byte) error {
	v, err := ParseState(string(b))
	if err == nil {
		*s = v
	}
	return err
}

// An Outcome is how an order ended, as its report tells.
type Outcome uint8

const (
	// Done: every member of the order is as it was ordered.
	Done Outcome = iota
	// Failed: none is. A failed Bind left nothing running.
	Failed
	// Partial: the members that the report lists failed, the others are done.
	Partial
)

var outcomeNames = [...]string{"done", "failed", "partial"}

// ParseOutcome is the inverse of Outcome.String.
func ParseOutcome(s string) (Outcome, error) {
	v, err := parseEnum("outcome", outcomeNames[:], s)
	return Outcome(v), err
}

func (o Outcome) String() string { return enumName("Outcome", outcomeNames[:], uint8(o)) }
func (o Outcome) MarshalText() ([]byte, error) {
	return marshalEnum("outcome", outcomeNames[:], uint8(o))
}

func (o *Outcome) UnmarshalText(b []byte) error {
	v, err := ParseOutcome(string(b))
	if err == nil {
		*o = v
	}
	return err
}

func parseEnum(field string, names []string, s string) (uint8, error) {
	for i, name := range names {
		if name == s {
			return uint8(i), nil
		}
	}
	return 0, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%q is none of %q", s, names)}
}

func enumName(kind string, names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}

func marshalEnum(field string, names []string, v uint8) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, &Error{Event: field, Kind: ErrInvalid, Reason: fmt.Sprintf("%d is out of range", v)}
	}
	return []byte(names[v]), nil
}
