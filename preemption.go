package berth

// A Preemption says who has to yield to whom, and how.
//
// What waits may take the place of what runs by two rules that know nothing of each
// other. Within a queue, a job of a higher class or, in the same class, of a higher
// priority takes the place of one that is not latency-critical (preemption). Between
// queues, what was lent is given back, whatever it is that runs there: by the rules of
// package quota, from queues that use more than they are guaranteed or than their fair
// share, to those that would stay within theirs (reclaim). Priorities of jobs say nothing
// between queues, and guarantees nothing within one.
type Preemption struct {
	// Mode is which of the two rules hold.
	Mode PreemptionMode `json:"mode,omitzero"`
	// MinRuntime is how long a job runs at least before it has to yield; Job.MinRuntime
	// counts if it is longer. Default 0.
	MinRuntime Duration `json:"minRuntime,omitempty"`
	// MaxRatio is how many GPUs a gang that has to yield may hold at the most for each GPU
	// that is asked for, so that nobody stops a large gang for a small job. It does not
	// bind who takes back what it is guaranteed, nor a job of a higher class than that of
	// the gang. Default 16; -1: no bound.
	MaxRatio int `json:"maxRatio,omitempty"`
	// CheckpointTimeout is how long a job has to write a checkpoint before it is stopped;
	// default 5 minutes.
	CheckpointTimeout Duration `json:"checkpointTimeout,omitempty"`
}

// A PreemptionMode says by what rules something that runs has to yield.
type PreemptionMode uint8

const (
	// PreemptAndReclaim: within queues and between them.
	PreemptAndReclaim PreemptionMode = iota
	// PreemptReclaim: between queues alone.
	PreemptReclaim
	// PreemptNever: nothing that runs is stopped for something else.
	PreemptNever
)

var preemptionModeNames = [...]string{"on", "reclaim", "never"}

// ParsePreemptionMode is the inverse of PreemptionMode.String.
func ParsePreemptionMode(s string) (PreemptionMode, error) {
	v, err := parseEnum("mode", preemptionModeNames[:], s)
	return PreemptionMode(v), err
}

func (m PreemptionMode) String() string {
	return enumName("PreemptionMode", preemptionModeNames[:], uint8(m))
}

func (m PreemptionMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", preemptionModeNames[:], uint8(m))
}

func (m *PreemptionMode) UnmarshalText(b []byte) error {
	v, err := ParsePreemptionMode(string(b))
	if err == nil {
		*m = v
	}
	return err
}
