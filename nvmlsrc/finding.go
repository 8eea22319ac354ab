package nvmlsrc

import (
	"fmt"
	"strings"
)

// A Finding is something about a GPU that is not as it should be.
type Finding struct {
	// GPU is the index.
	GPU int
	// Query that it was found in.
	Query Query
	// Condemns: the GPU can take no work. Else it goes on, and somebody should know.
	Condemns bool
	// Reason in words.
	Reason string
}

func (f Finding) String() string {
	effect := "suspect"
	if f.Condemns {
		effect = "condemned"
	}
	return fmt.Sprintf("gpus[%d]: %s: %s (%s)", f.GPU, f.Query, f.Reason, effect)
}

// findings judges a reading. A GPU is condemned for what leaves it unusable until it is
// reset, or for ever: it does not answer, the driver asks for what stops all work (a reset, a
// restart, an action that is not known here), or it has no spare row for a row of memory that
// went bad. The rest is suspect: most of it is over after the next reset, and none of it stops
// what runs. What an operator wants to be stricter about is to be told to the core with
// berth.GPUFailed.
//
// Source: NVIDIA, "GPU Memory Error Management" (a row that could not be remapped is a
// case for replacement, a pending one for a reset at the next opportunity), and the
// comments on the recovery actions in nvml.h.
func (h Health) findings() []Finding {
	var found []Finding
	find := func(is bool, query Query, condemns bool, format string, of ...any) {
		if is {
			found = append(found, Finding{GPU: h.GPU, Query: query, Condemns: condemns, Reason: fmt.Sprintf(format, of...)})
		}
	}
	if h.Failure != nil {
		find(true, h.Failure.Query, true, "%s: %s", h.Failure.Kind, h.Failure.Reason)
		return found
	}
	find(h.Recovery != RecoveryNone, queryRecovery, !h.Recovery.takesWork(),
		"the driver says: %s", h.Recovery)
	find(h.Rows.Failed, queryRows, true, "a row of memory is bad and there is no spare one")
	find(h.Rows.Pending, queryRows, false, "a row of memory is to be replaced by a spare one: reset the GPU when it is idle")
	find(h.Pages.Pending, queryPages, false, "a page of memory is to be retired: reset the GPU when it is idle")
	find(h.Repairs.Unrepairable, queryRepairs, true, "there is memory that cannot be repaired")
	find(h.Repairs.ChannelPending, queryRepairs, false, "a channel of memory is to be repaired: reset the GPU when it is idle")
	find(h.Repairs.TPCPending, queryRepairs, false, "a cluster of SMs is to be repaired: reset the GPU when it is idle")
	find(h.Repairs.SRAMThreshold, queryRepairs, false, "more errors in caches than a GPU may have that is to stay")
	find(h.ECC.Volatile > 0, queryECC, false, "%d memory errors that could not be corrected", h.ECC.Volatile)
	find(h.Links.Lost > 0, queryNVLink, false, "%d of %d NVLinks are down", h.Links.Lost, h.Links.Active+h.Links.Lost)
	find(h.Links.NewErrors > 0, queryNVLinkErrors, false, "%d errors on NVLinks since the last reading", h.Links.NewErrors)
	find(h.Fabric.bad() != "", queryFabric, false, "NVLink fabric: %s", h.Fabric.bad())
	find(h.Clocks.throttled(), queryClocks, false, "slowed down: %s", h.Clocks)
	return found
}

// condemned joins the reasons for which a GPU is condemned; empty: it is not.
func condemned(found []Finding) string {
	var reasons []string
	for _, f := range found {
		if f.Condemns {
			reasons = append(reasons, f.Reason)
		}
	}
	return strings.Join(reasons, "; ")
}
