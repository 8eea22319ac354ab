package report

import (
	"slices"
	"time"

	"github.com/berth-sched/berth"
)

// A Run is how a run went. Amounts of GPU are in thousandths of a GPU.
type Run struct {
	// Title and Subtitle head the page; the caller may set them.
	Title, Subtitle string
	// Wall is how long the run took in wall-clock time, with all that watched
	// it; the caller sets it. Zero: not told.
	Wall time.Duration

	Start, End berth.Time
	// Rows by category, of those that occurred, in order.
	Rows []Row
	// Samples in order of time.
	Samples []Sample
	// Longest lists those that wait longest at the end, the longest first.
	Longest []Waiting
	// Capacity, Held and Stranded are means over time; Stranded is known at the
	// samples, and stands until the next. Peak is the most that was held at any instant.
	Capacity, Held, Stranded float64
	// Most is the most that any scheduler could have held with work that is not lost, in the mean
	// over time; the caller sets it. Zero: not told.
	Most float64
	Peak int64
	// Events that were accepted, and that were refused.
	Events, Refused int
	Passes, Orders  int
	// Searches for a place, whether there was one or not: the decisions.
	Searches int64
}

// A Row is one category.
type Row struct {
	Category Category
	// Submitted replicas = Placed + Waiting that never had a place + Withdrawn
	// before they had one.
	Submitted, Placed, Withdrawn int
	// Waiting at the end, for a first place or after they lost one; WaitingFor is how long the
	// first of them does. Running at the end: they have a place.
	Waiting, Running int
	WaitingFor       berth.Duration
	// Evicted counts how often one lost its place to another, and Failed how often to hardware or
	// to a member that died. Again counts the places given after the first one was lost.
	Evicted, Failed, Again int
	// Waits of those that were placed, in ascending order, and SoFar those of the ones that were
	// never placed, until the end.
	Waits, SoFar []berth.Duration
	// GPUHours that were held, and those of them that brought nothing: work to be done again, and
	// restarts. The latter are known where Collector.Stopped is told.
	GPUHours, LostGPUHours float64
}

// Ended counts those that finished, and those that their owner cancelled or scaled down:
// Submitted = Ended + Running + Waiting.
func (r *Row) Ended() int { return r.Submitted - r.Running - r.Waiting }

// Quantile returns the shortest wait that a part p did not exceed (the nearest rank), of those
// placed and of those that wait for a first place, which count with their wait so far; 0 where
// there are none.
func (r *Row) Quantile(p float64) berth.Duration {
	all := slices.Concat(r.Waits, r.SoFar)
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	rank := int(p*float64(len(all)) + 0.999999)
	return all[min(max(rank, 1), len(all))-1]
}

// A Sample is the fleet at one instant, after a pass.
type Sample struct {
	At berth.Time
	// Capacity is all GPUs of the fleet, Held those held by category.
	Capacity int64
	Held     [categories]int64
	// Free and Stranded as berth.GPUCount has them.
	Free, Stranded int64
	// Waiting replicas.
	Waiting int
}

// held sums over the categories.
func (s *Sample) held() int64 {
	var sum int64
	for _, v := range s.Held {
		sum += v
	}
	return sum
}

// A Waiting is a replica that waits at the end.
type Waiting struct {
	Job      berth.JobID
	Queue    berth.QueueID
	Category Category
	// Replicas of the job that wait; For is how long the first of them does.
	Replicas int
	For      berth.Duration
	// Reason as Explain gives it.
	Reason berth.Reason
}

// total sums the rows.
func (r *Run) total() Row {
	var sum Row
	for i := range r.Rows {
		sum.Add(&r.Rows[i])
	}
	return sum
}

// Add counts another row with this one; the category stays.
func (r *Row) Add(other *Row) {
	r.Submitted += other.Submitted
	r.Placed += other.Placed
	r.Withdrawn += other.Withdrawn
	r.Waiting += other.Waiting
	r.Running += other.Running
	r.WaitingFor = max(r.WaitingFor, other.WaitingFor)
	r.Evicted += other.Evicted
	r.Failed += other.Failed
	r.Again += other.Again
	r.GPUHours += other.GPUHours
	r.LostGPUHours += other.LostGPUHours
	r.Waits = append(r.Waits, other.Waits...)
	r.SoFar = append(r.SoFar, other.SoFar...)
	slices.Sort(r.Waits)
}
