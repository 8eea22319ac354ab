package scale

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// newVaried is a core with a fleet of which a tenth of the GPUs is free, in crumbs, and with jobs
// that wait for capacity: of so many shapes, none of which fits on any crumb.
func newVaried(tb builder, gpus, shapes, pending int) *crowd {
	tb.Helper()
	c := newCrowd(tb, gpus, 0)
	for i := range pending {
		shape := i % shapes
		job := jobOf(fmt.Sprintf("waits-%07d", i), fmt.Sprintf("queue-%03d", shape%queues), 1+shape%16, 3+shape%6)
		job.Groups[0].Claim.MemoryMiB += int64(shape)
		tell(tb, c.core, berth.JobSubmitted{Job: job})
	}
	rest(tb, c.core)
	return c
}
