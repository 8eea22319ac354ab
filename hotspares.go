package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/errtext"
)

// A HotSpares policy says how many nodes of a pool are kept for gangs that lose hardware, so
// that a gang of thousands of GPUs need not wait for a repair to go on.
//
// A hot spare takes no replica but one that was stopped because hardware was lost, until that
// runs again; and of an elastic gang the minimum. Priorities, preemption and reservations do
// not change that. When one is used, or lost, another idle node of the pool takes its place as
// soon as there is one; no job is stopped for it, so a pool that is full gets its hot spares
// only as work ends, and is short of them until then. New ones are spread: in the widest
// domain with the fewest of them, there in the narrower one, and so on, so that a gang which
// has to stay in its leaf is likely to find one there; ties go to the smaller name.
//
// Hot spares count as capacity of the fleet in the arithmetic of quota: guarantees are given
// for the fleet as it is when all is well, and would else change with every failure.
//
// Good values to begin with: 10 to 20, one or two per cent. A fleet of 2,048 nodes that loses
// one every three hours (see [Health]) and has it back after two days has 16 of them out on
// average, 0.8 %.
type HotSpares struct {
	// Pool is that of [Node]; empty: of nodes that state none. Once for each pool.
	Pool string `json:"pool,omitempty"`
	// NodesMilli is how many thousandths of the pool's nodes are kept, rounded up: of those
	// that have GPUs, all sound, and are neither cordoned nor in quarantine. 0..1000; Off: none, as
	// 0.
	NodesMilli int `json:"nodesMilli"`
}

// checkHotSpares refuses what makes no sense.
func checkHotSpares(list []HotSpares) *Error {
	for i := range list {
		s := &list[i]
		if err := checkText(s.Pool); err != nil {
			return err.in("pool").in(errtext.Index("hotSpares", i))
		}
		if s.NodesMilli < Off || s.NodesMilli > 1000 {
			return refuse(ErrInvalid, errtext.Index("hotSpares", i)+".nodesMilli", fmt.Sprintf("%d is outside -1..1000", s.NodesMilli))
		}
		if slices.ContainsFunc(list[:i], func(other HotSpares) bool { return other.Pool == s.Pool }) {
			return refuse(ErrDuplicate, errtext.Index("hotSpares", i)+".pool", fmt.Sprintf("pool %q has an entry already", errtext.Short(s.Pool)))
		}
	}
	return nil
}

// A HotSparesReport counts the hot spares of a pool.
type HotSparesReport struct {
	Pool string `json:"pool,omitempty"`
	// Wanted is how many there are to be, Free how many there are: the pool is short of the
	// others. InUse counts the nodes that were hot spares until a gang that had lost hardware
	// came there, and is there yet.
	Wanted int `json:"wanted"`
	Free   int `json:"free"`
	InUse  int `json:"inUse"`
	// Nodes that are hot spares, in order of name.
	Nodes []NodeID `json:"nodes,omitempty"`
}

// A HealthReport names a node that is not trusted yet.
type HealthReport struct {
	Node NodeID `json:"node"`
	// QuarantineUntil is when the node takes work again, BurnInUntil when it takes all work;
	// zero: it does already.
	QuarantineUntil Time `json:"quarantineUntil,omitempty"`
	BurnInUntil     Time `json:"burnInUntil,omitempty"`
}
