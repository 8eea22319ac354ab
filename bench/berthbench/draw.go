package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// benchQueue is the only queue of most experiments.
const benchQueue = "bench"

// newBenchCore makes a core with one queue.
func newBenchCore(config berth.Config) (*berth.Core, error) {
	core, err := berth.New(config)
	if err != nil {
		return nil, err
	}
	return core, core.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: benchQueue}})
}

// logNormal draws a span around a median: two thirds are within a factor of it, the
// others further off, none outside the bounds.
func logNormal(random *rand.Rand, median berth.Duration, factor float64, least, most berth.Duration) berth.Duration {
	d := float64(median) * math.Pow(factor, random.NormFloat64())
	return berth.Duration(min(max(d, float64(least)), float64(most)))
}

// pick draws one of the values, each as often as its weight says of 100.
func pick[T any](random *rand.Rand, values []T, of100 []int) T {
	kind, left := 0, random.IntN(100)
	for left >= of100[kind] {
		left -= of100[kind]
		kind++
	}
	return values[kind]
}

// quantile is the smallest value that a part of the values does not exceed. It sorts
// them.
func quantile[T ~int64 | ~float64](values []T, q float64) T {
	slices.Sort(values)
	at := int(math.Ceil(q*float64(len(values)))) - 1
	return values[min(max(at, 0), len(values)-1)]
}
