package workload

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A Summary says what a workload holds: a quick look at a trace, and what the shares of
// its queues may be fitted to.
type Summary struct {
	// Nodes that join, and their GPUs.
	Nodes, GPUs int
	// Jobs that are submitted, services among them.
	Jobs int
	// First and Last are when jobs arrive; zero without jobs.
	First, Last berth.Time
	// Endless are jobs without a run time. They add nothing to GPU-hours.
	Endless int
	// MedianRuntime, the upper one of two, and MeanRuntime are of the jobs that have a run
	// time; zero where none has.
	MedianRuntime, MeanRuntime berth.Duration
	// GPUHours are GPUs times run times, as if no job ever waited or was stopped.
	GPUHours float64
	// Sizes by rising number of GPUs.
	Sizes []SizeSummary
	// Queues by name, those alone that jobs come from.
	Queues []QueueSummary
}

// A SizeSummary counts the jobs of one size.
type SizeSummary struct {
	// Milli are thousandths of a GPU that a job claims in all: 0 is the host alone, 500 is half a
	// GPU. An instance of a divided GPU counts as the whole, because how much it is depends on the
	// product.
	Milli    int64
	Jobs     int
	GPUHours float64
}

// A QueueSummary counts the jobs of a queue.
type QueueSummary struct {
	Name     string
	Jobs     int
	GPUHours float64
}

// Summarize reads a workload to its end. If that is a Trace, ask its Err afterwards.
// O(jobs log jobs), and 8 bytes for each job, for the median.
func Summarize(w sim.Workload) Summary {
	s := Summary{}
	sizes, queues := map[int64]SizeSummary{}, map[string]QueueSummary{}
	var runtimes []berth.Duration
	for a, more := w.Next(); more; a, more = w.Next() {
		switch e := a.Event.(type) {
		case berth.NodeJoined:
			s.Nodes++
			s.GPUs += len(e.Node.GPUs)
		case berth.JobSubmitted:
			milli := milliOf(&e.Job)
			hours := float64(milli) / 1000 * float64(a.Runtime) / float64(berth.Hour)
			s.add(a, hours)
			if a.Runtime > 0 {
				runtimes = append(runtimes, a.Runtime)
			}
			size, queue := sizes[milli], queues[string(e.Job.Queue)]
			sizes[milli] = SizeSummary{milli, size.Jobs + 1, size.GPUHours + hours}
			queues[string(e.Job.Queue)] = QueueSummary{string(e.Job.Queue), queue.Jobs + 1, queue.GPUHours + hours}
		}
	}
	s.setRuntimes(runtimes)
	s.Sizes = slices.SortedFunc(maps.Values(sizes), func(a, b SizeSummary) int { return cmp.Compare(a.Milli, b.Milli) })
	s.Queues = slices.SortedFunc(maps.Values(queues), func(a, b QueueSummary) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (s *Summary) add(a sim.Arrival, hours float64) {
	if s.Jobs == 0 {
		s.First = a.At
	}
	s.Jobs++
	s.Last = a.At
	s.GPUHours += hours
	if a.Runtime == 0 {
		s.Endless++
	}
}

func (s *Summary) setRuntimes(runtimes []berth.Duration) {
	if len(runtimes) == 0 {
		return
	}
	slices.Sort(runtimes)
	s.MedianRuntime = runtimes[len(runtimes)/2]
	sum := 0.0
	for _, r := range runtimes {
		sum += float64(r)
	}
	s.MeanRuntime = berth.Duration(math.Round(sum / float64(len(runtimes))))
}

// milliOf is what a job claims of GPUs, in thousandths. Of a service it is all replicas.
func milliOf(job *berth.Job) int64 {
	var milli int64
	for i := range job.Groups {
		g := &job.Groups[i]
		each := int64(g.Claim.GPUs) * 1000
		switch {
		case g.Claim.Share != nil:
			each = int64(g.Claim.Share.GPUMilli)
		case g.Claim.MIG != "", g.Claim.MinInstance != nil:
			each = 1000
		}
		milli += each * int64(g.Members)
	}
	if job.Service != nil {
		milli *= int64(job.Service.Replicas)
	}
	return milli
}
