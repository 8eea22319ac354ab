package preempt

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// A figure is about a week under a policy.
type figure struct {
	name string
	of   func(*run) float64
}

// A table is figures that are read together.
type table struct {
	title   string
	figures []figure
}

// tables are what is printed: a table of policies for each of these.
var tables = []table{
	{"GPU-hours lost to preemption, and to what", []figure{
		{"lost", (*run).lost},
		{"done again", func(r *run) float64 { return study.GPUHours(float64(r.book.redone)) }},
		{"writing", func(r *run) float64 { return study.GPUHours(float64(r.book.sum(writing))) }},
		{"stopping", func(r *run) float64 { return study.GPUHours(float64(r.book.sum(stopping))) }},
		{"restarting", func(r *run) float64 { return study.GPUHours(float64(r.book.again[starting])) }},
		{"regrouping", func(r *run) float64 { return study.GPUHours(float64(r.book.again[regrouped])) }},
	}},
	{"Inference: seconds from arrival until it runs, and replicas", []figure{
		{"p50", func(r *run) float64 { return r.wait(0.5) }},
		{"p90", func(r *run) float64 { return r.wait(0.9) }},
		{"p99", func(r *run) float64 { return r.wait(0.99) }},
		{"never ran", func(r *run) float64 { return float64(r.book.missed) }},
		{"replicas", func(r *run) float64 { return float64(len(r.book.waits)) }},
		{"GPUs", func(r *run) float64 { return float64(r.book.admitted) }},
	}},
	{"Victims: gangs, for each inference GPU, and the largest gang stopped for the fewest GPUs", []figure{
		{"evicted", func(r *run) float64 { return float64(r.book.evicted) }},
		{"shrunk", func(r *run) float64 { return float64(r.book.shrunk) }},
		{"gangs hit/GPU", func(r *run) float64 {
			return float64(r.book.evicted+r.book.shrunk) / float64(max(r.book.admitted, 1))
		}},
		{"GPUs stopped/GPU", func(r *run) float64 { return float64(r.book.stopped) / float64(max(r.book.admitted, 1)) }},
		{"worst", func(r *run) float64 { return float64(r.book.worst.gpus) }},
		{"for", func(r *run) float64 { return float64(r.book.worst.asked) }},
	}},
	{"The fleet's GPU time, percent", []figure{
		{"useful training", func(r *run) float64 { return r.percent(r.book.useful()) }},
		{"lost", func(r *run) float64 { return r.percent(r.book.lost()) }},
		{"other starts", func(r *run) float64 {
			return r.percent(r.book.first[starting] + r.book.first[regrouped])
		}},
		{"inference", func(r *run) float64 { return r.percent(r.over(replicating)) }},
		{"idle", func(r *run) float64 { return 100 - r.percent(r.book.held+r.over(replicating)) }},
	}},
}

// lost to preemption, in GPU-hours.
func (r *run) lost() float64 { return study.GPUHours(float64(r.book.lost())) }

// wait is a quantile in seconds.
func (r *run) wait(q float64) float64 {
	if len(r.book.waits) == 0 {
		return 0
	}
	return float64(study.Quantile(slices.Clone(r.book.waits), q)) / float64(berth.Second)
}

// percent of the fleet's GPU time in the week.
func (r *run) percent(gpuTime int64) float64 {
	return 100 * float64(gpuTime) / (float64(r.b.gpus()) * float64(r.until.Sub(r.from)))
}

// over adds up a level over time.
func (r *run) over(level int) int64 {
	total := int64(0)
	for _, v := range r.book.slots[level] {
		total += v
	}
	return total
}
