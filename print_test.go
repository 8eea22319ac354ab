package berth_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
)

// nine is 2026-01-02 at 09:00 UTC.
const nine berth.Time = 1_767_344_400_000

func ExampleExplanation_String() {
	fmt.Println(berth.Explanation{
		Job: "serve", Queue: "web",
		Replicas: []berth.ReplicaExplanation{
			{
				State: berth.ReplicaRunning, Since: nine, Incarnation: 1,
				Members: []berth.MemberPlacement{{Node: "n1", GPUs: berth.GPUSetOf(0, 1)}},
			},
			{
				Replica: 1, State: berth.ReplicaPending, Since: nine.Add(berth.Minute), Position: 3,
				Reason: &berth.Reason{
					Code: berth.ReasonGPUs, Text: "the gang (2 GPUs) does not fit now", Remedy: "free GPUs for 1 more member (2 GPUs)",
					ExpectedStart: berth.Forecast{Earliest: nine.Add(berth.Hour), Middle: nine.Add(2 * berth.Hour), Late: nine.Add(7 * berth.Hour)},
				},
			},
		},
	})
	// Output:
	// serve (queue web, batch)
	//   serve/0: running since 2026-01-02T09:00:00.000Z, incarnation 1: [0] on n1, GPUs 0-1
	//   serve/1: pending since 2026-01-02T09:01:00.000Z, at position 3
	//     waits: the gang (2 GPUs) does not fit now
	//     would help: free GPUs for 1 more member (2 GPUs)
	//     is expected to start at 2026-01-02T11:00:00.000Z, at the earliest at 2026-01-02T10:00:00.000Z, late at 2026-01-02T16:00:00.000Z
}

func ExampleForecast_String() {
	fmt.Println(berth.Forecast{Earliest: nine, Middle: nine, Late: nine.Add(4 * berth.Hour)})
	fmt.Println(berth.Forecast{})
	// Output:
	// 2026-01-02T09:00:00.000Z, late at 2026-01-02T13:00:00.000Z
	// unset
}

func ExampleFleetReport_String() {
	limit := int64(12_000)
	fmt.Println(berth.FleetReport{
		Now: nine, Nodes: berth.NodeCount{All: 2, Cordoned: 1}, GPUs: berth.GPUCount{AllMilli: 16_000, HeldMilli: 8500, FreeMilli: 7500},
		Replicas: berth.ReplicaCount{Pending: 1, Running: 2},
		Queues:   []berth.QueueReport{{Queue: "web", UsedMilli: 8500, GuaranteedMilli: 8000, LimitMilli: &limit, WaitingReplicas: 1}},
		Draining: []berth.DrainReport{{Node: "n2", MembersLeft: 3}},
	})
	// Output:
	// at 2026-01-02T09:00:00.000Z: 2 nodes, 1 cordoned
	//   GPUs: 16, of which 8.5 held, 7.5 free
	//   replicas: 1 pending, 0 binding, 2 running, 0 repairing, 0 releasing
	//   queue web: uses 8.5 GPUs, 8 guaranteed, limit 12, 1 replicas wait
	//   node n2 drains: 3 members left
}

func ExampleStartPlan_String() {
	fmt.Println(berth.StartPlan{
		Text:    "it would start if one gang moved and one was evicted",
		Moves:   []berth.Move{{Job: "a", Queue: "web", GPUMilli: 4000, From: []berth.NodeID{"n1"}, To: []berth.NodeID{"n2", "n3"}}},
		Victims: []berth.Victim{{Job: "b", Queue: "lab", GPUMilli: 8000, Cost: 240_000}},
	})
	// Output:
	// it would start if one gang moved and one was evicted
	//   move a/0 (4 GPUs) from n1 to n2, n3
	//   evict b/0 of queue lab (8 GPUs, at the cost of 4m0s of a GPU)
}

func ExampleBlastRadius_String() {
	down := berth.AffectedReplica{Job: "a", Members: 1, Down: true}
	fmt.Println(berth.BlastRadius{
		Node: "n1", GPU: 3, Mode: berth.GPUModeMIG, Device: []berth.AffectedReplica{down, {Job: "b", Members: 2}},
		Processes: []berth.ProcessFault{{Job: "a", Affected: []berth.AffectedReplica{down}}},
	})
	// Output:
	// GPU 3 of node n1 (mig)
	//   a fault of the GPU: 1 members of a/0, which is down then; 2 members of b/0
	//   a fault of a process of a/0: 1 members of a/0, which is down then
}

func ExampleDifference_String() {
	fmt.Println(berth.Difference{Kind: berth.DifferenceNodeMissing, Node: "n2", Text: "node n2 is in the core's fleet, but was not observed"})
	// Output: node-missing: node n2 is in the core's fleet, but was not observed
}

func ExampleClaim_String() {
	fmt.Println(berth.WholeGPUs(8).WithHost(96_000, 1<<20))
	fmt.Println(berth.SharedGPU(berth.ShareMPS, 250))
	// Output:
	// 8 GPUs, 96 CPU, 1048576 MiB
	// 0.25 of a GPU (mps)
}

// An answer of which everything is said prints in a few lines, and so does one of which nothing is:
// with no Go syntax, and no date for an instant that nobody set.
func TestAnswersPrintForPeople(t *testing.T) {
	for _, answer := range []fmt.Stringer{
		berth.Explanation{},
		berth.ReplicaExplanation{},
		berth.FleetReport{},
		berth.GPUCount{},
		berth.ProductCount{},
		berth.QueueReport{},
		berth.StartPlan{},
		berth.Move{},
		berth.Victim{},
		berth.BlastRadius{},
		berth.Difference{},
		berth.Claim{},
	} {
		filled := fields.Unboxed(fields.Filled(reflect.TypeOf(answer)))
		for _, text := range []string{fmt.Sprintf("%v", answer), fmt.Sprintf("%v", filled)} {
			require.NotContains(t, text, "{", "%T", answer)
			require.NotContains(t, text, "%!", "%T", answer)
			require.NotContains(t, text, "1970-01-01T00:00:00.000Z", "%T", answer)
			require.Less(t, strings.Count(text, "\n"), 12, text)
		}
	}
	long := berth.ReplicaExplanation{Members: make([]berth.MemberPlacement, 70)}
	require.Contains(t, long.String(), "; 66 more members")
}
