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
	z.submit("a", 3, func(j *berth.Job) { j.Groups[0].MinMembers = 2 })

	// Binding, and one member of two fails: repaired elsewhere.
	z.pass(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	require.Equal(t, 1, z.c.States()[berth.ReplicaBinding])
	z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}}})
	require.Equal(t, 1, z.c.States()[berth.ReplicaRepairing])
	repair := z.bind("a", on(1, "n2", 0))
	repair.Cause.Code = berth.CauseRepair
	z.pass(repair)
	z.tell(berth.OrderReported{Order: 2, Outcome: berth.OutcomeDone})
	require.Equal(t, 1, z.c.States()[berth.ReplicaRunning])

	// It grows, but nobody says so: the new member is stopped again, the rest runs.
	grow := z.bind("a", on(2, "n2", 1))
	grow.Cause.Code = berth.CauseGrows
	z.pass(grow)
	z.now = grow.Deadline
	stopped := z.release("a", berth.CauseBindExpired, on(2, "n2", 1))
	stopped.Remaining = []berth.GroupSize{{Members: 2}}
	z.pass(stopped)
	z.tell(berth.OrderReported{Order: 4, Outcome: berth.OutcomeDone})
	require.Equal(t, 1, z.c.States()[berth.ReplicaRunning])

	// A node goes, and with it the minimum: all of it is taken back, three times in
	// vain, and is presumed dead.
	z.tell(berth.NodeLost{Node: "n2"})
	require.Equal(t, 1, z.c.States()[berth.ReplicaReleasing])
	for attempt := 1; attempt <= 3; attempt++ {
		r := z.release("a", berth.CauseHardwareLost, on(0, "n1", 0))
		r.Attempt = attempt
		z.pass(r)
		z.now = r.Deadline
	}
	z.pass()
	require.Equal(t, 1, z.c.States()[berth.ReplicaPending])

	// The second life ends by itself.
	again := z.bind("a", on(0, "n1", 0), on(1, "n1", 1))
	again.Incarnation = 2
	z.pass(again)
	z.tell(berth.OrderReported{Order: again.ID, Outcome: berth.OutcomeDone})
	z.tell(berth.JobFinished{Job: "a", Incarnation: 2})
	require.Empty(t, z.c.States())
	require.NoError(t, z.c.Quiescent(z.now))

	require.NoError(t, z.against(berth.FleetReport{
		Nodes: berth.NodeCount{All: 2}, NodesByFreeGPUs: []int{0, 0, 2},
		GPUs:     berth.GPUCount{AllMilli: 4000, FreeMilli: 4000},
		Products: []berth.ProductCount{{Product: "H100", GPUCount: berth.GPUCount{AllMilli: 4000, FreeMilli: 4000}}},
		Queues:   []berth.QueueReport{{Queue: "free"}, {Queue: "org", LimitMilli: amount(5000)}, {Queue: "q", LimitMilli: amount(4000)}},
	}))
}

// TestWhatIsSetAsideRightly goes through what is allowed about nodes that are set aside.
func TestWhatIsSetAsideRightly(t *testing.T) {
	z := newZoo(t)
	z.reserve("r", func(r *berth.Reservation) { r.Domain, r.Queue = []string{"x"}, "free" })
	z.submit("short", 1, shorter(100*berth.Second))
	z.submit("its", 1, func(j *berth.Job) { j.Queue = "free" })
	z.submit("beside", 2)
	z.submit("kept", 1)
	z.pass(z.bind("short", on(0, "n1", 0)), z.bind("its", on(0, "n1", 1)), z.bind("beside", on(0, "n3", 0), on(1, "n3", 1)))
	for id := range berth.OrderID(3) {
		z.tell(berth.OrderReported{Order: id + 1, Outcome: berth.OutcomeDone})
	}
	require.NoError(t, z.c.Quiescent(z.now), "two GPUs of n2 are free, and set aside for others than kept")

	// Changed to n3, it lets kept in on the other leaf.
	z.reserve("r", func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n3"} })
	z.pass(z.bind("kept", on(0, "n2", 0)))

	// At its end it is over for all.
	z.tell(berth.JobFinished{Job: "beside", Incarnation: 1})
	z.submit("late", 1)
	z.now = 200_000
	z.pass(z.release("kept", berth.CauseBindExpired, on(0, "n2", 0)), z.bind("late", on(0, "n3", 1)))
	for name, n := range map[string]int{
		"backfilled before an advance reservation": 1, "placed on nodes reserved for its queue": 1,
		"advance reservation changed": 1, "advance reservation ended by itself": 1,
	} {
		require.Equal(t, n, z.c.Cases()[name], name)
	}
}

// TestReservedGangsRightly: a gang that leaves in time is placed on the reservation of a gang,
// and so is anybody when it ended in that pass.
func TestReservedGangsRightly(t *testing.T) {
	for _, test := range []struct {
		runtime berth.Duration
		ended   bool
	}{{9 * berth.Minute, false}, {10 * berth.Minute, true}} {
		z := newZoo(t)
		z.waited(shorter(test.runtime))
		z.pass()
		held := reserved("a", z.now.Add(9*berth.Minute), "n1", "n2", "n3")
		require.NoError(t, z.against(z.report(2, held)))
		require.Equal(t, 1, z.c.Cases()["gang reserved"])
		if test.ended {
			require.NoError(t, z.c.Served(), "b is kept out")
		} else {
			require.ErrorContains(t, z.c.Served(), "b/0 is pending, waits for a place, and would fit")
		}
		z.pass(z.bind("b", on(0, "n1", 0)))
		r := z.report(1, held)
		if test.ended {
			r.Reservations = nil
		}
		r.Replicas.Binding, r.NodesByFreeGPUs = 1, []int{0, 1, 2}
		r.GPUs = berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 5000}
		r.Products[0].GPUCount = r.GPUs
		r.Queues[1].UsedMilli, r.Queues[2].UsedMilli = 1000, 1000
		require.NoError(t, z.against(r))
	}
}

// TestServedRightly: a gang that cannot be spread, or be alone, does not count as left out.
func TestServedRightly(t *testing.T) {
	z := newZoo(t)
	z.running("b", 2)
	z.submit("spread", 3, topo(berth.Topology{Spread: "node"}))
	z.submit("alone", 1, onLeaf, func(j *berth.Job) { j.Groups[0].Members = 3 })
	require.NoError(t, z.c.Served(), "n1 is full, and only n3 stands alone")
}

// TestTopologyRightly: what looks wrong at first sight and is right.
func TestTopologyRightly(t *testing.T) {
	for name, test := range map[string]struct {
		topology berth.Topology
		before   berth.Event
		at       []berth.MemberPlacement
		saw      string
	}{
		"a leaf without nodes for it does not count": {
			berth.Topology{Spread: "leaf"},
			berth.NodeCordoned{Node: "n3"},
			[]berth.MemberPlacement{on(0, "n1", 0), on(1, "n2", 0)},
			"spread placed",
		},
		"a skew of two": {
			berth.Topology{Spread: "leaf", MaxSkew: 2},
			nil,
			[]berth.MemberPlacement{on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0), on(3, "n3", 1)},
			"spread placed",
		},
		"one node with fewer rails": {
			berth.Topology{RailAligned: true},
			nil,
			[]berth.MemberPlacement{on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 1)},
			"rails aligned",
		},
		"segments in segments": {
			berth.Topology{Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}}},
			nil,
			[]berth.MemberPlacement{on(0, "n2", 0), on(1, "n2", 1), on(2, "n1", 1), on(3, "n1", 0)},
			"nested segments placed",
		},
	} {
		z := newZoo(t)
		if test.before != nil {
			z.tell(test.before)
		}
		z.submit("a", len(test.at), topo(test.topology))
		require.NoError(t, z.try(z.bind("a", test.at...)), name)
		require.Positive(t, z.c.Cases()[test.saw], name)
	}
}
