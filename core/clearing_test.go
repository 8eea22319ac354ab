package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// The nodes that are the cheapest to clear come in the same order one by one, from the least that
// each may cost, and from a list of all of them: whatever runs there, and at whatever instant.
func TestNodesToClearInOrder(t *testing.T) {
	for seed := range drawn.Seeds(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		const nodes = 24
		d := fleetOf(t)
		for _, i := range random.Perm(nodes) {
			d.node(berth.NodeID(fmt.Sprintf("n%02d", i)), 8, berth.GPUModeWhole)
		}
		for i := range nodes {
			d.now += berth.Time(random.Int64N(int64(berth.Hour)))
			job := berth.Job{ID: berth.JobID(fmt.Sprint("job", i)), Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1 + random.IntN(4)}}}}
			switch random.IntN(5) {
			case 0:
				job.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute}
			case 1, 4:
				job.Checkpoint.Interval = berth.Duration(1+random.IntN(18)) * berth.Minute
			case 2:
				job.Groups[0].Members, job.Groups[0].MinMembers = 3, 1
			case 3:
				job.Groups[0].Members, job.MinRuntime = 2, berth.Duration(random.IntN(20))*berth.Hour
			}
			job.Checkpoint.RestartCost = berth.Duration(random.IntN(3)) * 10 * berth.Minute
			d.tell(berth.JobSubmitted{Job: job})
			d.carryOut(d.pass())
		}
		waits := berth.Job{ID: "waits", Queue: "q", Groups: []berth.Group{{Members: nodes, Claim: berth.Claim{GPUs: 8}}}}
		d.tell(berth.JobSubmitted{Job: waits})
		d.carryOut(d.pass())
		some := 0
		for k := range 12 {
			fast, slow := core.NodesToClear(d.Core, "waits")
			require.Equal(t, slow, fast)
			some += len(fast)
			d.now += berth.Time(random.Int64N(int64(2 * berth.Hour)))
			switch n := berth.NodeID(fmt.Sprintf("n%02d", random.IntN(nodes))); random.IntN(5) {
			case 0:
				_ = d.Apply(d.now, berth.NodeCordoned{Node: n}) // unless it is lost already
			case 1:
				_ = d.Apply(d.now, berth.NodeLost{Node: n}) // likewise
			case 2, 3: // another node comes to its position
				if d.Apply(d.now, berth.NodeLost{Node: n}) == nil {
					d.node("a"+n, 8, berth.GPUModeWhole)
				}
			case 4:
				d.tell(one("q", berth.JobID(fmt.Sprint("more", k)), 8))
			}
			d.carryOut(d.pass())
			require.NoError(t, d.Check())
		}
		require.Positive(t, some, "seed %d", seed)
	}
}

// Where a count says that a job and the gangs that would move for it have no room, no search finds
// places for them.
func TestAHeadroomIsNeverTooSmall(t *testing.T) {
	var seen [2][2]int
	for seed := range drawn.Seeds(100) {
		random := rand.New(rand.NewPCG(seed, 8))
		d := fleetOf(t)
		for i := range 6 {
			d.node(berth.NodeID(fmt.Sprint("n", i)), 8-4*random.IntN(2), berth.GPUModeWhole)
		}
		for i := range 12 {
			job := one("q", berth.JobID(fmt.Sprint("job", i)), 1+random.IntN(4), members(1+random.IntN(2)))
			d.tell(job)
		}
		d.carryOut(d.pass())
		for range 6 {
			d.now += berth.Time(berth.Hour)
			_ = d.Apply(d.now, berth.JobFinished{Job: berth.JobID(fmt.Sprint("job", random.IntN(12))), Incarnation: 1}) // if it runs
		}
		d.tell(one("q", "waits", 4+random.IntN(5), members(1+random.IntN(2))))
		d.carryOut(d.pass())
		if d.explain("waits").Reason == nil {
			continue // it runs
		}
		core.MovesFit(d.Core, "waits", func(may, do bool) {
			require.False(t, do && !may, "seed %d", seed)
			at := func(b bool) int {
				if b {
					return 1
				}
				return 0
			}
			seen[at(may)][at(do)]++
		})
	}
	require.Positive(t, seen[0][0], "none may fit")
	require.Positive(t, seen[1][1], "some fit")
}

// To find out whether moves would start a job, the core looks at the nodes that are the cheapest to
// clear, and at no more of them on a larger fleet.
func TestExplainClearsNoMoreNodesOfALargerFleet(t *testing.T) {
	for _, nodes := range []int{50, 400} {
		d := fleetOf(t)
		for i := range nodes {
			d.node(berth.NodeID(fmt.Sprintf("n%03d", i)), 8, berth.GPUModeWhole)
			d.tell(one("q", berth.JobID(fmt.Sprint("job", i)), 7))
		}
		d.carryOut(d.pass())
		d.lower(func(b *core.Bounds) { b.Movers = 8 })
		d.tell(one("q", "waits", 8))
		d.carryOut(d.pass())
		before := core.NodesCleared(d.Core)
		require.Empty(t, d.explain("waits").Reason.Moves)
		cleared := core.NodesCleared(d.Core) - before
		require.Positive(t, cleared)
		require.LessOrEqual(t, cleared, 16, "of %d", nodes)
	}
}
