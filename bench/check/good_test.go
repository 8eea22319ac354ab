package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// TestWhatIsRightPasses takes a gang through every state by orders that are right.
// Without it the zoo would be content with a checker that refuses everything.
func TestWhatIsRightPasses(t *testing.T) {
	z := newZoo(t)
	z.submit("a", 3, func(j *berth.Job) { j.Groups[0].Min = 2 })

	// Binding, and one member of two fails: repaired elsewhere.
	z.pass(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	require.Equal(t, 1, z.c.States()[berth.Binding])
	z.tell(berth.ActionReported{Action: 1, Outcome: berth.Partial, Members: []berth.MemberRef{{Index: 1}}})
	require.Equal(t, 1, z.c.States()[berth.Repairing])
	repair := z.bind("a", on(1, "n2", 0))
	repair.Cause.Code = berth.CauseRepair
	z.pass(repair)
	z.tell(berth.ActionReported{Action: 2})
	require.Equal(t, 1, z.c.States()[berth.Running])

	// It grows, but nobody says so: the new member is stopped again, the rest runs.
	grow := z.bind("a", on(2, "n2", 1))
	grow.Cause.Code = berth.CauseGrows
	z.pass(grow)
	z.now = grow.Deadline
	z.pass(z.release("a", berth.CauseBindExpired, on(2, "n2", 1)))
	z.tell(berth.ActionReported{Action: 4})
	require.Equal(t, 1, z.c.States()[berth.Running])

	// A node goes, and with it the minimum: all of it is taken back, three times in
	// vain, and is presumed dead.
	z.tell(berth.NodeLost{Node: "n2"})
	require.Equal(t, 1, z.c.States()[berth.Releasing])
	for attempt := 1; attempt <= 3; attempt++ {
		r := z.release("a", berth.CauseHardwareLost, on(0, "n1", 0))
		r.Attempt = attempt
		z.pass(r)
		z.now = r.Deadline
	}
	z.pass()
	require.Equal(t, 1, z.c.States()[berth.Pending])

	// The second life ends by itself.
	again := z.bind("a", on(0, "n1", 0), on(1, "n1", 1))
	again.Incarnation = 2
	z.pass(again)
	z.tell(berth.ActionReported{Action: again.ID})
	z.tell(berth.JobFinished{Job: "a", Incarnation: 2})
	require.Empty(t, z.c.States())
	require.NoError(t, z.c.Quiescent(z.now))

	require.NoError(t, z.c.Against(berth.FleetReport{
		Nodes: berth.NodeCount{All: 2}, FreeNodes: []int{0, 0, 2},
		GPUs:     berth.GPUCount{All: 4000, Free: 4000},
		Products: []berth.ProductCount{{Product: "H100", GPUCount: berth.GPUCount{All: 4000, Free: 4000}}},
		Queues:   []berth.QueueReport{{Queue: "free"}, {Queue: "org", Limit: amount(5000)}, {Queue: "q", Limit: amount(4000)}},
	}))
}
