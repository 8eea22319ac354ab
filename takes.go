package berth

import (
	"github.com/berth-sched/berth/preempt"
)

// Takes is what it would take to start a replica that waits.
type Takes struct {
	// Fits: nothing. The next pass is expected to start it.
	Fits bool `json:"fits,omitempty"`
	// Moves of others that would make room, and what they cost and are worth, in
	// GPU-milliseconds: see Policy.Moves.
	Moves      []Move                  `json:"moves,omitempty"`
	MovesPrice preempt.GPUMilliseconds `json:"movesPrice,omitempty"`
	MovesGain  preempt.GPUMilliseconds `json:"movesGain,omitempty"`
	// Victims are those who would have to yield, or do already: the least harm by which it
	// would fit. Price is what they would lose, in GPU-milliseconds. Why they do not yield, if
	// they do not, is in Reason.Preemption.
	Victims []Yielding              `json:"victims,omitempty"`
	Price   preempt.GPUMilliseconds `json:"price,omitempty"`
	// Reason why it waits, and why nothing helps, if nothing does; nil: it does not wait.
	Reason *Reason `json:"reason,omitempty"`
	// Text is the answer in a sentence.
	Text string `json:"text"`
}

// A Move takes a gang from the nodes it is on to others.
type Move struct {
	Job     JobID   `json:"job"`
	Replica int     `json:"replica,omitempty"`
	Queue   QueueID `json:"queue"`
	// GPUMilli is what it has, in thousandths of a GPU.
	GPUMilli int64 `json:"gpuMilli"`
	// From and To are the nodes, in order of name.
	From []NodeID `json:"from"`
	To   []NodeID `json:"to"`
}
