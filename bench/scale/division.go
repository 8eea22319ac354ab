package scale

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newDivisible makes a core with GPUs that may be divided. None is yet; every second node is empty
// and the others are held.
func newDivisible(tb builder, gpus int, geometry berth.Geometry) *core.Core {
	tb.Helper()
	sched, err := core.New(berth.Config{
		Levels: []string{"spine", "leaf"},
		Policy: berth.Policy{Geometry: []berth.Geometry{geometry}},
	})
	must(tb, err)
	tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: "running", Guarantee: quota.Amounts{quota.GPUMilli: int64(gpus) * 1000}}})
	for i := range gpus / gpusPerNode {
		node := nodeOf(i)
		for g := range node.GPUs {
			node.GPUs[g].MIGTable = "H100-80GB"
		}
		tell(tb, sched, berth.NodeJoined{Node: node})
		if i%2 == 1 {
			observe(tb, sched, jobOf(nodeName(i), "running", 1, gpusPerNode), 0, nodeName(i), 1<<gpusPerNode-1)
		}
	}
	rest(tb, sched)
	return sched
}

// claimParts submits so many jobs of one instance each, of six profiles in turns.
func claimParts(tb builder, sched *core.Core, many int) {
	profiles := [...]string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}
	for i := range many {
		job := jobOf(fmt.Sprintf("part-%06d", i), "running", 1, 0)
		job.Groups[0].Claim = berth.MIGInstance(profiles[i%len(profiles)]).WithHost(1000, 1000)
		tell(tb, sched, berth.JobSubmitted{Job: job})
	}
}
