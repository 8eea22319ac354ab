package grid

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/internal/pq"
)

// leastDelay is what no scheduler can go below: the mean delay by GPUs, in minutes, of a fleet that
// serves gangs as a fluid, stops them for nothing, and knows all run times.
//
// While a job that is served whole runs, it is served on average half its run time before its
// end: it ends no earlier than the mean instant of its service and half of its run time. Of all
// schedules that serve as much as the fleet does, the sum of the mean instants by GPUs is least
// where the job with the shortest run time goes first, as if the whole fleet could serve it:
// Goemans, Queyranne, Schulz, Skutella, Wang, "Single Machine Scheduling with Release Dates",
// SIAM J. Discrete Math. 15, 2002.
func leastDelay(w *life.Workload) float64 {
	fleet := 0.0
	for i := range w.Nodes {
		fleet += float64(len(w.Nodes[i].GPUs))
	}
	type flow struct{ at, runs, gpus, left float64 }
	flows := make([]flow, len(w.Jobs))
	for i, a := range w.Jobs {
		runs, gpus := float64(a.Runtime), float64(gpusOf(a.Event))
		flows[i] = flow{float64(a.At), runs, gpus, runs * gpus}
	}
	var delay, gpus float64
	waits := pq.New(func(a, b int) bool { return cmp.Or(cmp.Compare(flows[a].runs, flows[b].runs), cmp.Compare(a, b)) < 0 }, nil)
	now := 0.0
	serve := func(until float64) {
		for now < until && waits.Len() > 0 {
			f := &flows[waits.Min()]
			part := min(f.left, (until-now)*fleet)
			end := now + part/fleet
			// The part's mean instant, by its share of the job.
			delay += f.gpus * part / (f.runs * f.gpus) * (now + end) / 2
			if f.left -= part; f.left <= 0 || part == 0 {
				delay -= f.gpus * (f.at + f.runs/2)
				waits.Pop()
			}
			now = end
		}
		now = max(now, until)
	}
	order := make([]int, len(flows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(flows[a].at, flows[b].at) })
	for _, i := range order {
		serve(flows[i].at)
		waits.Push(i)
		gpus += flows[i].gpus
	}
	for waits.Len() > 0 {
		serve(now + 1e12)
	}
	return max(0, delay/gpus/float64(berth.Minute))
}

func gpusOf(e berth.Event) (sum int) {
	for _, g := range e.(berth.JobSubmitted).Job.Groups {
		sum += g.Members * g.Claim.GPUs
	}
	return sum
}
