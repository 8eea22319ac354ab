package preempt

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// A table is figures that are read together.
type table struct {
	title   string
	figures []study.Figure[*run]
}

// tables are what is printed: a table of policies for each of these.
var tables = []table{
	{"GPU-hours lost to preemption, and to what", []study.Figure[*run]{
		{Name: "lost", Of: (*run).lost},
		{Name: "done again", Of: func(r *run) float64 { return study.GPUHours(float64(r.book.redone)) }},
		{Name: "writing", Of: func(r *run) float64 { return study.GPUHours(float64(r.book.sum(writing))) }},
		{Name: "stopping", Of: func(r *run) float64 { return study.GPUHours(float64(r.book.sum(stopping))) }},
		{Name: "restarting", Of: func(r *run) float64 { return study.GPUHours(float64(r.book.again[starting])) }},
		{Name: "regrouping", Of: func(r *run) float64 { return study.GPUHours(float64(r.book.again[regrouped])) }},
	}},
	{"Inference: seconds from arrival until it runs, and replicas", []study.Figure[*run]{
		{Name: "p50", Of: func(r *run) float64 { return r.wait(0.5) }},
		{Name: "p90", Of: func(r *run) float64 { return r.wait(0.9) }},
		{Name: "p99", Of: (*run).p99},
		{Name: "never ran", Of: func(r *run) float64 { return float64(r.book.missed) }},
		{Name: "replicas", Of: func(r *run) float64 { return float64(len(r.book.waits)) }},
		{Name: "GPUs", Of: func(r *run) float64 { return float64(r.book.admitted) }},
	}},
	{"Victims: gangs, for each inference GPU, and the largest gang stopped for the fewest GPUs", []study.Figure[*run]{
		{Name: "evicted", Of: func(r *run) float64 { return float64(r.book.evicted) }},
		{Name: "shrunk", Of: func(r *run) float64 { return float64(r.book.shrunk) }},
		{Name: "gangs hit/GPU", Of: func(r *run) float64 {
			return float64(r.book.evicted+r.book.shrunk) / float64(max(r.book.admitted, 1))
		}},
		{Name: "GPUs stopped/GPU", Of: func(r *run) float64 { return float64(r.book.stopped) / float64(max(r.book.admitted, 1)) }},
		{Name: "worst", Of: func(r *run) float64 { return float64(r.book.worst.gpus) }},
		{Name: "for", Of: func(r *run) float64 { return float64(r.book.worst.asked) }},
	}},
	{"The fleet's GPU time, percent", []study.Figure[*run]{
		{Name: "useful training", Of: func(r *run) float64 { return r.percent(r.book.useful()) }},
		{Name: "lost", Of: func(r *run) float64 { return r.percent(r.book.lost()) }},
		{Name: "other starts", Of: func(r *run) float64 {
			return r.percent(r.book.first[starting] + r.book.first[regrouped])
		}},
		{Name: "inference", Of: func(r *run) float64 { return r.percent(r.book.over[replicating]) }},
		{Name: "idle", Of: func(r *run) float64 { return 100 - r.percent(r.book.held+r.book.over[replicating]) }},
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

func (r *run) p99() float64 { return r.wait(0.99) }

// percent of the fleet's GPU time in the week.
func (r *run) percent(gpuTime int64) float64 {
	return 100 * float64(gpuTime) / (float64(r.b.gpus()) * float64(r.until.Sub(r.from)))
}
