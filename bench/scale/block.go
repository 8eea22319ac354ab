package scale

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// The question of this file: what it takes to place a gang of 512 GPUs, 64 members of
// 8, that must stay in one block, on fleets of 500 and 4,000 nodes of 8 GPUs with 16
// nodes to a rack and 16 racks to a block. Of the schedulers that were measured on it,
// the fastest needs 0.22 ms and 1.5 ms of processor time.
const (
	nodesPerRack  = 16
	racksPerBlock = 16
)

var blockFleets = []int{500, 4000}

func blockDomains(i int) []string {
	rack := i / nodesPerRack
	return []string{fmt.Sprintf("block-%02d", rack/racksPerBlock), fmt.Sprintf("rack-%03d", rack)}
}

// fillBlocks says how many GPUs of each node are free. Idle: all. Busy: 28 nodes in 100
// are wholly free, a sixth of the others have 1 GPU left, all of them scattered, so that
// 70 % of the GPUs are held.
func fillBlocks(nodes int, busy bool) []int {
	random := rand.New(rand.NewPCG(5, uint64(nodes)))
	free := make([]int, nodes)
	for at, i := range random.Perm(nodes) {
		switch {
		case !busy, at < nodes*28/100:
			free[i] = gpusPerNode
		case at%6 == 0:
			free[i] = 1
		}
	}
	return free
}

// blockGang is the gang as package gang sees it.
func blockGang() *gang.Request {
	request := gangOf(64, 8)
	request.Required = topology.Level(1)
	return request
}

// searchingBlocks places the gang and gives the place back, by package gang alone.
func searchingBlocks(tb builder, free []int) decision {
	tb.Helper()
	fleet, _ := newFleet(tb, free, []string{"block", "rack"}, blockDomains)
	return searching(fleet, blockGang())
}

// newBlocks makes a core with that fleet.
func newBlocks(tb builder, free []int) *core.Core {
	tb.Helper()
	return newCoreOf(tb, free, []string{"block", "rack"}, blockDomains, quota.Queue{Name: "running"})
}

// livingInBlocks has the gang live a whole life through the core, as living does, and
// adds up how long the passes took that place it.
func livingInBlocks(tb builder, free []int) (d decision, passes *time.Duration) {
	tb.Helper()
	sched := newBlocks(tb, free)
	job := jobOf("job", "running", 64, 8)
	job.Topology.Required = "block"
	passes = new(time.Duration)
	return func() bool {
		tell(tb, sched, berth.JobSubmitted{Job: job})
		start := time.Now()
		orders := pass(tb, sched)
		*passes += time.Since(start)
		return liveOn(tb, sched, orders)
	}, passes
}
