package main

import (
	"slices"

	"github.com/berth-sched/berth"
)

// A yieldFigure is about a week under a policy.
type yieldFigure struct {
	name string
	of   func(*yieldRun) float64
}

// A yieldTable is figures that are read together.
type yieldTable struct {
	title   string
	figures []yieldFigure
}

// yieldTables are what is printed: a table of policies for each of these.
var yieldTables = []yieldTable{
	{"GPU-hours lost to preemption in the week, and to what", []yieldFigure{
		{"lost", (*yieldRun).lost},
		{"done again", func(r *yieldRun) float64 { return gpuHours(float64(r.book.redone)) }},
		{"writing", func(r *yieldRun) float64 { return gpuHours(float64(r.book.sum(yieldWriting))) }},
		{"stopping", func(r *yieldRun) float64 { return gpuHours(float64(r.book.sum(yieldStopping))) }},
		{"restarting", func(r *yieldRun) float64 { return gpuHours(float64(r.book.again[yieldStarting])) }},
		{"regrouping", func(r *yieldRun) float64 { return gpuHours(float64(r.book.again[yieldRegrouped])) }},
	}},
	{"Inference: seconds from arrival until it runs, and replicas", []yieldFigure{
		{"p50", func(r *yieldRun) float64 { return r.wait(0.5) }},
		{"p90", func(r *yieldRun) float64 { return r.wait(0.9) }},
		{"p99", func(r *yieldRun) float64 { return r.wait(0.99) }},
		{"never ran", func(r *yieldRun) float64 { return float64(r.book.missed) }},
		{"replicas", func(r *yieldRun) float64 { return float64(len(r.book.waits)) }},
		{"GPUs", func(r *yieldRun) float64 { return float64(r.book.admitted) }},
	}},
	{"Who yields: gangs, for each inference GPU, and the largest gang stopped for the fewest GPUs", []yieldFigure{
		{"evicted", func(r *yieldRun) float64 { return float64(r.book.evicted) }},
		{"shrunk", func(r *yieldRun) float64 { return float64(r.book.shrunk) }},
		{"gangs hit/GPU", func(r *yieldRun) float64 {
			return float64(r.book.evicted+r.book.shrunk) / float64(max(r.book.admitted, 1))
		}},
		{"GPUs stopped/GPU", func(r *yieldRun) float64 { return float64(r.book.stopped) / float64(max(r.book.admitted, 1)) }},
		{"worst", func(r *yieldRun) float64 { return float64(r.book.worst.gpus) }},
		{"for", func(r *yieldRun) float64 { return float64(r.book.worst.asked) }},
	}},
	{"The fleet's GPU time, percent", []yieldFigure{
		{"useful training", func(r *yieldRun) float64 { return r.percent(r.book.useful()) }},
		{"lost", func(r *yieldRun) float64 { return r.percent(r.book.lost()) }},
		{"other starts", func(r *yieldRun) float64 {
			return r.percent(r.book.first[yieldStarting] + r.book.first[yieldRegrouped])
		}},
		{"inference", func(r *yieldRun) float64 { return r.percent(r.over(yieldReplicating)) }},
		{"idle", func(r *yieldRun) float64 { return 100 - r.percent(r.book.held+r.over(yieldReplicating)) }},
	}},
}

// lost to preemption, in GPU-hours.
func (r *yieldRun) lost() float64 { return gpuHours(float64(r.book.lost())) }

// wait is a quantile in seconds.
func (r *yieldRun) wait(q float64) float64 {
	if len(r.book.waits) == 0 {
		return 0
	}
	return float64(quantile(slices.Clone(r.book.waits), q)) / float64(berth.Second)
}

// percent of the fleet's GPU time in the week.
func (r *yieldRun) percent(gpuTime int64) float64 {
	return 100 * float64(gpuTime) / (float64(r.b.gpus()) * float64(r.until.Sub(r.from)))
}

// over adds up a level over time.
func (r *yieldRun) over(level int) int64 {
	total := int64(0)
	for _, v := range r.book.slots[level] {
		total += v
	}
	return total
}
