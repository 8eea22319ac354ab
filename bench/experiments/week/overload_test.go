package week

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// overload draws a log in the Standard Workload Format: jobs of 1 to 32 GPUs in three days, which
// ask 128 GPUs for 1.45 times as much as these have until half a day after the last. Limits are one
// to five times the run time.
func overload(seed uint64, accounts int) string {
	const gpus, submitted, day = 128, 3 * 86400, 86400
	draw := rand.New(rand.NewPCG(seed, 0))
	sizes := slices.Concat(slices.Repeat([]int{1}, 40), slices.Repeat([]int{2}, 18), slices.Repeat([]int{4}, 14),
		slices.Repeat([]int{8}, 16), slices.Repeat([]int{16}, 8), slices.Repeat([]int{32}, 4))
	var jobs [][5]int
	for work := 0; work < 145*gpus*(submitted+day/2)/100; {
		size := sizes[draw.IntN(len(sizes))]
		run := min(max(60, int(math.Exp(8.3+1.4*draw.NormFloat64()))), day)
		limit := run * []int{2, 2, 3, 4, 6, 10}[draw.IntN(6)] / 2
		jobs = append(jobs, [5]int{draw.IntN(submitted), run, size, limit, 1 + draw.IntN(accounts)*draw.IntN(accounts)/accounts})
		work += run * size
	}
	slices.SortFunc(jobs, func(a, b [5]int) int { return slices.Compare(a[:], b[:]) })
	var log strings.Builder
	for i, j := range jobs {
		fmt.Fprintf(&log, "%d %d -1 %d %d -1 -1 %d %d -1 1 1 1 -1 %d -1 -1 -1\n", i+1, j[0], j[1], j[2], j[2], j[3], j[4])
	}
	return log.String()
}

// With one account and without evictions jobs wait for less than under EASY backfill where far more
// is asked for than there is: the short ones go first.
func TestOverload(t *testing.T) {
	o := Defaults()
	o.GPUs = 128
	o.Jobs = write(t, overload(1, 1))
	b, err := load(o)
	require.NoError(t, err)
	require.Greater(t, len(b.Jobs), 1000)
	runs, err := b.play(context.Background())
	require.NoError(t, err)
	mean := map[string]float64{}
	for _, r := range runs {
		if r.guess == 0 {
			mean[r.scheduler] = stat.Mean(b.delays(r, all), nil)
		}
	}
	require.Greater(t, mean["EASY"], 200.0, "the fleet is not overloaded")
	require.Less(t, mean[tame], mean["EASY"], "one reservation, and the short jobs first: %v", mean)
	require.InDelta(t, mean[tame], mean[own], 1, "between accounts alone jobs are evicted: %v", mean)
}

// The logs of docs/results.md are drawn into the folder that OVERLOAD names.
func TestOverloadLogs(t *testing.T) {
	folder := os.Getenv("OVERLOAD")
	if folder == "" {
		t.Skip("OVERLOAD names no folder")
	}
	for seed := range uint64(6) {
		require.NoError(t, writeFile(filepath.Join(folder, fmt.Sprintf("overload-%d.swf", seed+1)), overload(seed+1, 6)))
	}
}
