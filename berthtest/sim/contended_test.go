package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever happens to victims and to their beneficiaries, no promise is
// broken, and what is left comes to rest.
func TestYieldingUnderFaults(t *testing.T) {
	t.Parallel()
	// In 82 a victim finishes while it is asked.
	swarm(t, drawn.SeedsAnd(14, 82), (*worlds.Generator).Contended,
		"request done", "request failed", "request expired", "request expired in vain", "request withdrawn",
		"stale report of a request that was withdrawn",
		"finished while asked", "cancelled while asked", "scaled down while asked",
		"memberFailed while asked", "nodeLost while asked", "gpuFailed while asked",
		"room made for one that was cancelled", "room made for one that was scaled-down",
		"restored with a request for a checkpoint", "restored with a request that nobody needs",
		"restored with a victim being stopped", "restored with a victim being stopped in vain",
		"checkpoint told", "checkpoint told while asked", "was evicted again", "evicted at a rate",
		"worth what is lost", "worth what is lost by its wait alone",
		"shrinks", "shrinks for several", "no part of a gang was enough", "restored with a gang that shrinks",
		"preempted", "reclaimed", "taken back as a whole", "started where room was made", "grown where room was made",
		"a replica of a service is evicted",
	)
}
