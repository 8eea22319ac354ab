package sim_test

import (
	"iter"
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// TestSwarm runs tiny worlds with random faults under the checker, some with hardware that is
// swapped; then the faults stop, and each must come to rest. Many worlds, as CI draws them, must
// together have gone through everything that mattersCases lists, and through each report of a Bind.
// One that failed is replayed by its seed:
//
//	BERTH_SEED=1234 go test -run TestSwarm ./berthtest/sim
func TestSwarm(t *testing.T) {
	t.Parallel()
	// In 211 a Bind is reported done after a part of its hardware was lost, in 155 and 184 a GPU is
	// not divided under a gang that runs, and that is released.
	swarm(t, drawn.SeedsAnd(24, 155, 184, 211), (*worlds.Generator).Swapping, append(reportsOfBinds(), mattersCases...)...)
}

// reportsOfBinds are the cases in which a Bind is reported, as the checker names them.
func reportsOfBinds() (cases []string) {
	for _, outcome := range []string{"done", "partial", "failed"} {
		cases = append(cases, "bind "+outcome+": binding to repairing", "bind "+outcome+": binding to pending", "bind "+outcome+": running to running")
	}
	return append(cases, "bind done: binding to running", "bind partial: binding to running")
}

// swarm runs the worlds that a generator draws of seeds; if they are many, each of the cases must
// have come up in one of them.
func swarm(t *testing.T, seeds iter.Seq[uint64], draw worlds.Drawing, cases ...string) {
	t.Helper()
	seen := map[string]int{}
	for seed := range seeds {
		r := worlds.RunOf(draw(worlds.NewGenerator(seed)))
		must(t, r, seed)
		for _, counts := range []map[string]int{r.Checker.Cases(), r.Cases} {
			for name, n := range counts {
				seen[name] += n
			}
		}
	}
	t.Logf("%v", seen)
	covers(t, seen, cases...)
}

// covers requires of many worlds that each of the cases came up.
func covers(t *testing.T, seen map[string]int, cases ...string) {
	t.Helper()
	if !drawn.Many() {
		return
	}
	for _, name := range cases {
		if seen[name] == 0 {
			t.Errorf("no run went through %q", name)
		}
	}
}

// mattersCases are the situations without which a swarm has tested too little.
var mattersCases = []string{
	"bind expired", "growth expired", "presumed dead", "release expired", "release failed", "release partial",
	"bind of a pending gang", "bind of a repairing gang", "bind of a running gang", "repair given up",
	"nodeLost while binding", "nodeLost while running", "nodeLost while releasing",
	"gpuFailed while binding", "gpuFailed while running", "gpuFailed while releasing",
	"memberFailed while binding", "memberFailed while running",
	"asked what a fault takes down where a member died", "asked what is out where a member died",
	"hardware lost under a member that had died", "a member was seen that had died",
	"finished while running",
	"cancelled while pending", "cancelled while binding", "cancelled while running", "cancelled while releasing",
	"scaled up", "scaled down while pending", "scaled down while binding", "scaled down while running",
	"release because hardware-lost", "release because member-failed", "release because bind-expired",
	"release because bind-failed", "release because cancelled", "release because scaled-down",
	"a run time was learned", "expected to run as others did",
	"gang reserved", "reservation of a gang timed out", "reservation of a gang ended with a node",
	"placed on its reservation", "passed the reservation of a gang by rank", "backfilled onto the reservation of a gang",
	"advance reservation made", "advance reservation changed", "advance reservation removed",
	"advance reservation ended by itself", "backfilled before an advance reservation", "placed on nodes reserved for its queue",
	"kept out by an advance reservation", "kept out by the reservation of a gang", "kept out by an exclusive gang",
	"exclusive gang placed", "nested segments placed", "rails aligned", "spread placed",
	"restored with a reservation of a gang", "restored with an advance reservation",
	"explained turn", "explained backoff", "explained quota", "explained no-nodes", "explained too-large",
	"explained gpus", "explained shares", "explained host", "explained reserved", "explained fragmented",
	"dropped", "observed", "share placed", "segments placed", "required level kept",
	"one product of several", "labels of one value",
	"stale report", "stale incarnation", "limit lowered below usage",
	"borrowed", "borrowing limit lowered below usage", "guarantee raised", "guarantee lowered",
	"lending limit raised", "lending limit lowered", "priority of a queue changed",
	"what is owed came before what would be borrowed", "the queue of higher priority came first",
	"there is room, and what holds back is the limit", "there is room, and what holds back is the borrowing limit",
	"there is room, and what holds back is the capacity that is not lent",
	"activity reported", "ledger settled", "checkpoint told", "worth what is lost",
	"nodeUpdated while in use", "nodeUpdated to less than is held",
	"restored with pending", "restored with binding", "restored with running", "restored with repairing",
	"restored with releasing",

	"instance placed", "fraction placed", "two tenants on one GPU", "as many shares as may be",
	"repartition because mode", "repartition because geometry", "repartition because layout",
	"mode ordered: whole to mps", "mode ordered: mps to whole", "mode ordered: time-slice to whole", "mode ordered: whole to time-slice",
	"mode ordered: whole to mig", "mode ordered: mig to whole", "mode ordered: mig to mps", "mode ordered: mps to mig",
	"repartition beside instances in use", "bind after a repartition from earlier",
	"repartition done", "repartition failed", "repartition expired", "repartition expired, and done", "repartition failed under a runner",
	"repartition failed while binding", "repartition failed while releasing", "repartition failed while running",
	"release because repartition-failed", "stale report of a repartition",
	"gpuFailed while a repartition is out", "nodeLost while a repartition is out", "restored with a repartition",
	"gpuPartitioned", "gpuPartitioned refused", "gpuPartitioned after nobody knew", "table told", "table refused",
	"geometry changed to fixed", "geometry changed to adaptive", "geometry changed to per-claim",
	"at rest in the pool's layout", "an instance observed",
	"explained instances", "explained geometry", "drained",

	// What is rarer about victims is for TestYieldingUnderFaults.
	"preempted", "reclaimed", "a replica of a service is evicted", "checkpoint requested", "stopped without a checkpoint",
	"release because preempted", "release because reclaimed", "started where room was made",
	"request done", "request failed", "request expired", "request withdrawn",
	"stale report of a request that was withdrawn", "finished while asked", "nodeLost while asked",
	"room made for one that was cancelled", "restored with a request for a checkpoint",
	"restored with a victim being stopped", "restored with a victim being stopped in vain",
	"what is taken back leaves the guarantees", "what is taken back is for a queue within its share",
	"room is enough", "none of the victims could be spared",
}

// must runs a world to its end, and ends the test where a promise is broken.
func must(t *testing.T, r *worlds.Run, seed uint64) {
	t.Helper()
	r.Thorough = drawn.Named()
	if err := r.All(); err != nil {
		t.Fatalf("seed %d: %v\n\nthe journal's end:\n%s", seed, err, r.Tail())
	}
}
