package study

import (
	"math"
	"math/rand/v2"

	"github.com/berth-sched/berth"
)

// LogNormal draws a span around a median: two thirds are within a factor of it, the
// others further off, none outside the bounds.
func LogNormal(random *rand.Rand, median berth.Duration, factor float64, least, most berth.Duration) berth.Duration {
	d := float64(median) * math.Pow(factor, random.NormFloat64())
	return berth.Duration(min(max(d, float64(least)), float64(most)))
}

// Milli is what a group asks of GPUs, in thousandths.
func Milli(g *berth.Group) int64 {
	if g.Claim.Share != nil {
		return int64(g.Members * g.Claim.Share.GPUMilli)
	}
	return int64(g.Members*g.Claim.GPUs) * 1000
}

// Pick draws one of the values, each as often as its weight says of all weights.
func Pick[T any](random *rand.Rand, values []T, weights []int) T {
	return values[PickIndex(random, weights)]
}

// PickIndex draws the index of one of the weights.
func PickIndex(random *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	kind, left := 0, random.IntN(sum)
	for left >= weights[kind] {
		left -= weights[kind]
		kind++
	}
	return kind
}
