package baseline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
)

// One node of eight: a job of 6 until minute 10, then one of 4 waits, and small ones come.
func blocked() []berth.Node { return []berth.Node{box("n", "r", 8)} }

// Nobody overtakes.
func TestFIFOKeepsTheOrder(t *testing.T) {
	require.Equal(t, map[string]string{"first": "0-10", "wide": "10-20", "short": "10-12", "late": "10-11"},
		starts(t, baseline.FIFO{}, baseline.BestFit, world(blocked(),
			job(0, "first", "a", 1, 6, 10),
			job(1, "wide", "a", 1, 4, 10),
			job(2, "short", "b", 1, 2, 2),
			job(3, "late", "b", 1, 1, 1),
		)))
}

// What ends before the first in the queue will start goes before it, and so does what finds a
// place beside it; what would delay it does not.
func TestEASYFillsAroundTheFirst(t *testing.T) {
	require.Equal(t, map[string]string{
		"first": "0-10", "wide": "10-20",
		"short":  "2-4",   // ends before minute 10
		"long":   "20-50", // would be in the way of "wide", which takes all eight
		"shorty": "5-10",  // ends at that very minute
	}, starts(t, baseline.EASY{}, baseline.BestFit, world(blocked(),
		job(0, "first", "a", 1, 6, 10),
		job(1, "wide", "a", 1, 8, 10),
		job(2, "short", "b", 1, 2, 2),
		job(3, "long", "b", 1, 1, 30),
		job(5, "shorty", "b", 1, 2, 5),
	)))
	require.Equal(t, "3-33", starts(t, baseline.EASY{}, baseline.BestFit, world(blocked(),
		job(0, "first", "a", 1, 6, 10),
		job(1, "wide", "a", 1, 4, 10), // which leaves four
		job(3, "long", "b", 1, 1, 30),
	))["long"])
}

// By priority the one that goes first is another, and what would delay it does not start before.
func TestEASYServesAHigherPriorityFirst(t *testing.T) {
	raised := func(j *berth.Job) { j.Priority = 7 }
	for policy, want := range map[baseline.EASY]map[string]string{
		{}:                 {"first": "0-10", "wide": "10-20", "urgent": "20-25", "same": "25-30", "short": "30-32"},
		{ByPriority: true}: {"first": "0-10", "urgent": "10-15", "same": "15-20", "wide": "20-30", "short": "30-32"},
	} {
		require.Equal(t, want, starts(t, policy, baseline.BestFit, world(blocked(),
			job(0, "first", "a", 1, 8, 10),
			job(1, "wide", "a", 1, 8, 10),
			job(2, "urgent", "b", 1, 8, 5, raised),
			job(3, "same", "b", 1, 8, 5, raised),
			job(4, "short", "a", 1, 1, 2),
		)))
	}
}

// The job that had the most makes room for one that had less, with a checkpoint first, and goes on
// later with what is left.
func TestLASServesTheJobThatHadTheLeast(t *testing.T) {
	policy := baseline.LAS{Thresholds: []int64{8 * 10 * int64(berth.Minute)}}
	require.Equal(t, map[string]string{
		"long": "0-48", // gone at 21, back at 28 with a restart: 19 of 40 are left
		"new":  "21-26",
		"next": "26-28",
	}, starts(t, policy, baseline.BestFit, world(blocked(),
		job(0, "long", "a", 1, 8, 40, checkpoints),
		job(20, "new", "a", 1, 8, 5, checkpoints),
		job(26, "next", "a", 1, 8, 2, checkpoints),
	)))
}

// Before the threshold no job is evicted.
func TestLASWaitsForTheThreshold(t *testing.T) {
	policy := baseline.LAS{Thresholds: []int64{8 * 10 * int64(berth.Minute)}}
	require.Equal(t, map[string]string{"long": "0-46", "new": "11-16"}, starts(t, policy, baseline.BestFit, world(blocked(),
		job(0, "long", "a", 1, 8, 40, checkpoints),
		job(3, "new", "a", 1, 8, 5, checkpoints),
	)))
}

// A job that is not in the way goes on, though it comes last.
func TestLASSparesJobsThatAreNotInTheWay(t *testing.T) {
	policy := baseline.LAS{Thresholds: []int64{4 * 10 * int64(berth.Minute)}}
	require.Equal(t, map[string]string{
		"wide":  "0-61", // has to go at 31, is back at 36
		"late":  "1-41", // would not be enough with what is free beside it
		"fresh": "25-33", "new": "31-36",
	}, starts(t, policy, baseline.BestFit, world([]berth.Node{box("n1", "r", 8), box("n2", "r", 8)},
		job(0, "wide", "a", 1, 8, 55, checkpoints),
		job(1, "late", "a", 1, 4, 40, checkpoints),
		job(25, "fresh", "a", 1, 4, 8, checkpoints),
		job(30, "new", "a", 1, 8, 5, checkpoints),
	)))
}

// A queue that is alone has all; when another wants its cell, the job there has to leave.
func TestCellsAreThereForTheirQueue(t *testing.T) {
	policy := baseline.NewCells(map[berth.QueueID]map[int]int{"a": {8: 1}, "b": {8: 1}})
	two := []berth.Node{box("n1", "r", 8), box("n2", "r", 8)}
	require.Equal(t, map[string]string{
		"own":      "0-30",
		"borrowed": "0-37", // has a checkpoint at 11, is back at 27: a restart, and 9 of 20 are left
		"back":     "11-27",
	}, starts(t, policy, baseline.Buddy, world(two,
		job(0, "own", "a", 1, 8, 30, checkpoints),
		job(0, "borrowed", "a", 1, 8, 20, checkpoints),
		job(10, "back", "b", 1, 8, 16, checkpoints),
	)))
}

// Members of a gang go to one rack if one has room, the one with the least.
func TestGangsStayTogether(t *testing.T) {
	nodes := []berth.Node{box("n1", "x", 8), box("n2", "x", 8), box("n3", "x", 8), box("n4", "y", 8), box("n5", "y", 8)}
	s := baseline.New(baseline.FIFO{}, baseline.BestFit)
	for _, n := range nodes {
		require.NoError(t, s.Apply(0, berth.NodeJoined{Node: n}))
	}
	w := world(nil)
	require.NoError(t, s.Apply(0, berth.QueueSet{Queue: w.Queues[0]}))
	for _, a := range []string{"gang", "more"} {
		require.NoError(t, s.Apply(0, job(0, a, "a", 2, 8, 1).Event))
	}
	orders, err := s.Schedule(0)
	require.NoError(t, err)
	var at [][]berth.NodeID
	for _, a := range orders {
		var list []berth.NodeID
		for _, m := range a.(berth.Bind).Members {
			list = append(list, m.Node)
		}
		at = append(at, list)
	}
	require.Equal(t, [][]berth.NodeID{{"n4", "n5"}, {"n1", "n2"}}, at)
}
