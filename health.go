package berth

import (
	"fmt"

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

func (h Health) withDefaults() Health {
	setOff(&h.Losses)
	setOff(&h.BurnIn)
	if h.Losses > 0 {
		setDefault(&h.Quarantine, Hour)
	}
	if h.Remembers() {
		setDefault(&h.Within, Day)
	}
	return h
}

// Remembers reports whether it matters that a node was lost.
func (h *Health) Remembers() bool { return h.Losses > 0 || h.BurnIn > 0 }

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
