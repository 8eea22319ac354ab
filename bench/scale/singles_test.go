package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core"
)

// BenchmarkVictimsOfSingles is a pass that finds the victims of one gang on fleets full of
// single-GPU jobs, and asks them for checkpoints.
func BenchmarkVictimsOfSingles(b *testing.B) {
	for _, nodes := range []int{500, 4_000, 16_384} {
		for _, lent := range []bool{true, false} {
			var sched *core.Core
			for _, gang := range []struct{ members, gpus int }{{1, 1}, {1, 4}, {1, 8}, {64, 8}} {
				b.Run(fmt.Sprintf("nodes=%d/%dx%d/lent=%t", nodes, gang.members, gang.gpus, lent), func(b *testing.B) {
					leaveOut(b, nodes*gpusPerNode > small)
					if sched == nil {
						sched = newSingles(b, nodes, lent)
						b.ResetTimer()
					}
					evict := evicting(sched, lent, gang.members, gang.gpus)
					b.ReportAllocs()
					for b.Loop() {
						evict(b)
					}
				})
			}
		}
	}
}

// BenchmarkVictimsOfMany is all passes until many gangs of distinct demands have their victims;
// ns/pass-max is the longest of them.
func BenchmarkVictimsOfMany(b *testing.B) {
	for _, nodes := range []int{500, 4_000, 16_384} {
		for _, lent := range []bool{true, false} {
			var sched *core.Core
			for _, jobs := range []int{64, 1000} {
				if !manyFit(jobs, nodes) {
					continue
				}
				b.Run(fmt.Sprintf("nodes=%d/jobs=%d/lent=%t", nodes, jobs, lent), func(b *testing.B) {
					leaveOut(b, nodes*gpusPerNode > small)
					if sched == nil {
						sched = newSingles(b, nodes, lent)
						evicting(sched, lent, 1, 1)(b)
						b.ResetTimer()
					}
					evict := evictingMany(sched, lent, jobs)
					longest, passes := time.Duration(0), 0
					for b.Loop() {
						many, most := evict(b)
						passes, longest = passes+many, max(longest, most)
					}
					b.ReportMetric(float64(longest.Nanoseconds()), "ns/pass-max")
					b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
				})
			}
		}
	}
}

// Victims are found among more jobs than a search can look at, whose order of age has nothing to do
// with where they stand.
func TestVictimsOnAFullFleet(t *testing.T) {
	for _, lent := range []bool{true, false} {
		sched := newSingles(t, 1000, lent)
		for _, gang := range []struct{ members, gpus int }{{1, 8}, {64, 8}} {
			burst(t, sched, fmt.Sprintf("burst-%d", gang.members), lent, gang.members, gang.gpus)
			require.Len(t, pass(t, sched), gang.members*gang.gpus, "%d x %d GPUs, lent: %t", gang.members, gang.gpus, lent)
		}
	}
}

// A pass looks for victims for about as many jobs on a large fleet as on a small one: a look at all
// places is cheap against the trials of a search.
func TestVictimsOfManyTakeAsManyPassesOnALargeFleet(t *testing.T) {
	for _, lent := range []bool{true, false} {
		var passes []int
		for _, nodes := range []int{200, 1600} {
			many, _ := evictingMany(newSingles(t, nodes, lent), lent, 40)(new(Taker))
			passes = append(passes, many)
		}
		require.LessOrEqual(t, passes[1], passes[0]+1, passes)
	}
}

// The more is under way for others, the fewer jobs does a pass look for victims for: what it
// imagines before it searches is work, too. Each pass gets ahead all the same.
func TestVictimsOfManyLeaveLessToSearch(t *testing.T) {
	sched := newSingles(t, 2000, true)
	bursts(t, sched, "bursts", true, 700)
	var victims []int
	for at, due := sched.Now(), true; due && at <= sched.Now(); at, due = sched.NextWake() {
		victims = append(victims, len(pass(t, sched)))
	}
	last := len(victims) - 1 // finds that nothing is left
	require.Zero(t, victims[last])
	require.NotContains(t, victims[:last], 0)
	early, late := 0, 0
	for i := range 10 {
		early, late = early+victims[i], late+victims[last-2-i]
	}
	require.Less(t, 4*late, 3*early, victims)
}
