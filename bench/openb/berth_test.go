package openb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
)

// Berth leaves fewer GPUs over than fragmentation gradient descent, told the mix and learning
// it. The figures are of one seed; by how much over ten is said at bench.Berth.
func TestBerthLeavesLess(t *testing.T) {
	trace := openTrace(t, "default")
	for _, o := range []openb.Options{{}, {Learn: true}} {
		left := map[string]float64{}
		for _, name := range []string{"fgd", "berth"} {
			policy, err := bench.New(name, 42)
			require.NoError(t, err)
			run, err := trace.Draw(42, 102).Play(policy, o)
			require.NoError(t, err)
			left[name] = run.At(100).Unallocated()
		}
		require.Less(t, left["berth"], left["fgd"]-0.6, "%+v", o)
	}
}

// So does the scheduling core with berth as its scorer, which learns the mix from what is submitted
// to it, against fragmentation gradient descent that is told it.
func TestTheCoreWithBerthLeavesLess(t *testing.T) {
	trace := openTrace(t, "default")
	left := map[string]float64{}
	for _, name := range []string{"fgd", "core-berth"} {
		policy, err := bench.New(name, 42)
		require.NoError(t, err)
		run, err := trace.Draw(42, 101).Play(policy, openb.Options{})
		require.NoError(t, err)
		left[name] = run.At(100).Unallocated()
	}
	require.Less(t, left["core-berth"], left["fgd"]-0.6)
}

// The same mix, tasks and fleet give the same placements.
func TestBerthRepeats(t *testing.T) {
	trace := openTrace(t, "multigpu20")
	play := func() (placed []string) {
		_, err := trace.Draw(42, 60).Play(bench.Berth(), openb.Options{Placed: func(pod, node string) {
			placed = append(placed, pod+" "+node)
		}})
		require.NoError(t, err)
		return placed
	}
	require.Equal(t, play(), play())
}
