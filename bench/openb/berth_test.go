package openb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/internal/drawn"
)

// Berth leaves fewer GPUs over than fragmentation gradient descent, told the mix and learning it.
// So does the scheduling core with berth as its scorer, which learns the mix from submissions,
// against fragmentation gradient descent that is told it. The figures are of one seed; bench.Berth
// has those of ten.
func TestBerthLeavesLess(t *testing.T) {
	trace := openTrace(t, "default")
	left := func(name string, o openb.Options) float64 {
		policy, err := bench.Find(name)
		require.NoError(t, err)
		run, err := trace.Draw(42, 102).Play(policy.New(42), o)
		require.NoError(t, err)
		return run.Unallocated(100)
	}
	told := left("fgd", openb.Options{}) - 0.6
	require.Less(t, left("core-berth", openb.Options{}), told)
	if drawn.Plain() {
		return // the core learns, which is the harder of the two
	}
	require.Less(t, left("berth", openb.Options{}), told)
	require.Less(t, left("berth", openb.Options{Learn: true}), left("fgd", openb.Options{Learn: true})-0.6)
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
