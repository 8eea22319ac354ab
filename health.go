package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// A Health policy says how hardware that failed is trusted again. The zero value is: at once.
//
// Hardware that failed need not be trusted at once when it is back. A node that was lost too
// often takes no work for a time: quarantine. Repaired hardware, and a node that was lost
// once, take only low-cost work for a time: burn-in.
//
// Good values to begin with: three losses within a day, a quarantine of an hour, a burn-in of
// half an hour. In 54 days on 16,384 GPUs, Meta counted 419 interruptions of one training run
// that nobody had planned, and for more than half of them GPUs or their memory were to blame
// ("The Llama 3 Herd of Models", 2024, table 5): one in three hours, each of which stops all
// GPUs. So it pays to find out with one GPU whether a repair has helped.
type Health struct {
	// Losses is how often a node has to be lost within Within to be in quarantine when it
	// joins again. Default: Off, never. At most 64.
	Losses int `json:"losses,omitempty"`
	// Within is for how long a loss is remembered; default 24 hours. As many nodes that are
	// gone are remembered as the fleet may have (Limits.Nodes): the oldest losses go first.
	Within Duration `json:"within,omitempty"`
	// Quarantine is how long a node takes no work the first time; each further time, unless it
	// was not lost for Within, twice as long, up to 16 times. Default 1 hour.
	Quarantine Duration `json:"quarantine,omitempty"`
	// BurnIn is how long a node is in burn-in when a GPU of it was repaired, or when it joins
	// again after a loss (and after its quarantine): as a whole, as gangs of several nodes
	// take it whole. It takes new work then that is on one node for certain (one member, or
	// required to be on one node) and is not latency-critical. Running jobs go on. A GPU that
	// fails in burn-in, or reports a suspect Xid, is out: it needs another GPURepaired, which
	// begins another burn-in; and so is a node that is lost, until it joins again. Default: Off,
	// none.
	BurnIn Duration `json:"burnIn,omitempty"`
}

func (h *Health) check() *Error {
	if h.Losses < Off || h.Losses > limits.MaxLosses {
		return refuse(ErrInvalid, "losses", fmt.Sprintf("%d is outside -1..%d", h.Losses, limits.MaxLosses))
	}
	for _, f := range []struct {
		name  string
		value Duration
	}{{"within", h.Within}, {"quarantine", h.Quarantine}, {"burnIn", unlessOff(h.BurnIn)}} {
		if err := checkSpan(f.value); err != nil {
			return err.in(f.name)
		}
	}
	return nil
}

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

// A FabricReport is what [FabricReported] told of a domain that has lost bandwidth.
type FabricReport struct {
	Domain    []string `json:"domain"`
	LeftMilli int      `json:"leftMilli"`
	Reason    string   `json:"reason,omitempty"`
}

// A HealthReport names a node that is not trusted yet.
type HealthReport struct {
	Node NodeID `json:"node"`
	// QuarantineUntil is when the node takes work again, BurnInUntil when it takes all work;
	// zero: it does already.
	QuarantineUntil Time `json:"quarantineUntil,omitempty"`
	BurnInUntil     Time `json:"burnInUntil,omitempty"`
}
