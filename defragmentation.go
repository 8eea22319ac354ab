package berth

import (
	"github.com/berth-sched/berth/internal/enum"
)

// A Defragmentation policy says whether running gangs are moved, so that one that waits finds
// in one piece what is free in pieces. It is for gangs that are blocked by fragmentation
// alone: enough is free for them and within their quota, but nowhere such that they fit. A
// move is asked for, and carried out, as a preemption is; but a gang that is moved has its new
// place kept for it, and goes on there. Latency-critical gangs are never moved.
//
// Moves have to pay: the wait that they save the gang that waits, times its GPUs, has to
// exceed what they cost, in GPU-milliseconds (package preempt: the checkpoint or the work
// since the last one, and the restart). The wait is as long as a reservation would expect it
// to be, or Policy.AssumedRuntime where none could be expected.
//
// Where evictions alone do not give a queue its guarantee back, gangs move for it at any cost,
// whether moves are proposed or on: see [Preemption].
type Defragmentation struct {
	Mode DefragmentationMode `json:"mode,omitzero"`
	// MaxMoves is how many gangs are moved for one at the most; default 8.
	MaxMoves int `json:"maxMoves,omitempty"`
}

// A DefragmentationMode says whether moves are made.
type DefragmentationMode uint8

const (
	// DefragmentationPropose: Explain and Core.StartPlan name moves; none is ordered but for a
	// guarantee.
	DefragmentationPropose DefragmentationMode = iota
	// DefragmentationOn: moves are ordered.
	DefragmentationOn
	// DefragmentationOff: none is looked for, and none is ordered.
	DefragmentationOff
)

const defragmentationModeNames enum.Names = "DefragmentationMode: propose|on|off"

// String is the word for it, as in JSON.
func (m DefragmentationMode) String() string {
	return enum.Text(defragmentationModeNames, m)
}

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (m DefragmentationMode) MarshalText() ([]byte, error) {
	return enum.Marshal(defragmentationModeNames, m, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (m *DefragmentationMode) UnmarshalText(b []byte) error {
	return enum.Unmarshal(defragmentationModeNames, m, b, invalidText)
}
