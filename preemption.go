package berth

import "github.com/berth-sched/berth/internal/enum"

// A Preemption says who has to yield to whom, and how.
//
// What waits may take the place of what runs by two rules that know nothing of each
// other. Within a queue, a job of a higher class or, in the same class, of a higher
// priority takes the place of one that is not latency-critical (preemption). Between
// queues, what was lent is given back, whatever it is that runs there: by the rules of
// package quota, from queues that use more than they are guaranteed or than their fair
// share, to those that would stay within theirs (reclaim). Priorities of jobs say nothing
// between queues, and guarantees nothing within one.
//
// What is above the minimum of a gang goes first, whatever MinRuntime, Respite, Rate and
// QueueRate say of gangs that would end: they spare work, of which none is lost with it.
type Preemption struct {
	// Mode is which of the two rules hold.
	Mode PreemptionMode `json:"mode,omitzero"`
	// MinRuntime is how long a job runs at least before it has to yield; Job.MinRuntime
	// counts if it is longer. Default 0.
	MinRuntime Duration `json:"minRuntime,omitempty"`
	// MaxRatio is how many GPUs a gang that has to yield, or a segment of one that goes on,
	// may hold at the most for each GPU that is asked for, so that nobody stops a large gang for a small job. It does not
	// bind who takes back what it is guaranteed, nor a job of a higher class than that of
	// the gang. Default 16; -1: no bound.
	MaxRatio int `json:"maxRatio,omitempty"`
	// CheckpointTimeout is how long a job has to write a checkpoint before it is stopped;
	// default 5 minutes. Grace says so for single classes of jobs.
	CheckpointTimeout Duration `json:"checkpointTimeout,omitempty"`
	Grace             []Grace  `json:"grace,omitempty"`
	// Respite is for how much longer than MinRuntime a job runs before it has to yield if
	// it had to yield before; twice as long each time, up to eight times. A job that ran
	// for sixteen times as long at a stretch starts over. It does not bind who takes back
	// what it is guaranteed. Default 5 minutes; -1: none.
	Respite Duration `json:"respite,omitempty"`
	// Rate bounds how many have to yield in the fleet, QueueRate how many of any one queue:
	// each replica that is asked for a checkpoint or stopped at once counts, also if it
	// need not yield in the end. Those who yield for one beneficiary go together: of more
	// than the rate allows at once all may go when nobody had to for long enough, and then
	// it takes as much longer until the next. Both bind everybody, also who takes back
	// what it is guaranteed: it gets it, but later. Default: no limits.
	Rate      Rate `json:"rate,omitzero"`
	QueueRate Rate `json:"queueRate,omitzero"`
	// Worth says when it is worth it.
	Worth Worth `json:"worth,omitzero"`
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

const preemptionModeNames enum.Names = "on|reclaim|never"

// ParsePreemptionMode is the inverse of PreemptionMode.String.
func ParsePreemptionMode(s string) (PreemptionMode, error) {
	return parseEnum[PreemptionMode]("mode", preemptionModeNames, s)
}

func (m PreemptionMode) String() string {
	return enum.Text(preemptionModeNames, m, "PreemptionMode(%d)")
}

func (m PreemptionMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", preemptionModeNames, m)
}

func (m *PreemptionMode) UnmarshalText(b []byte) error {
	return unmarshalEnum(m, ParsePreemptionMode, b)
}
