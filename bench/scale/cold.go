package scale

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newCold makes a core with an empty fleet and jobs of mixed sizes that wait, most of them on one
// node: about four times as many as fit. A single queue owns the fleet; several own nothing.
func newCold(tb builder, gpus, queues, jobs int) *core.Core {
	tb.Helper()
	sched := newCore(tb, slices.Repeat([]int{gpusPerNode}, gpus/gpusPerNode))
	if queues > 1 {
		for q := range queues {
			tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: throngQueue(q)}})
		}
	}
	for i := range jobs {
		queue, members, each := "running", 1, 1<<(i%4)
		if queues > 1 {
			queue = string(throngQueue(i % queues))
		}
		if i%100 == 99 {
			members, each = 1<<(i/100%7), gpusPerNode
		}
		tell(tb, sched, berth.JobSubmitted{Job: jobOf(fmt.Sprintf("cold-%06d", i), queue, members, each)})
	}
	return sched
}
