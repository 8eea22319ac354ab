package openb_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/drawn"
)

const data = "../../../shared/data/traces/openb"

// openTrace reads a published trace, or skips the test.
func openTrace(t testing.TB, pods string) *openb.Trace {
	t.Helper()
	if _, err := os.Stat(data); err != nil {
		t.Skipf("the openb trace is not beside the checkout: %v", err)
	}
	trace, err := openb.Open(filepath.Join(data, workload.OpenBNodes), openb.PodFile(data, pods))
	require.NoError(t, err)
	return trace
}

// The lists of placements that an independent program made, which reproduced the published
// figures, are ours to the last of 10,866 tasks.
func TestGoldenPlacements(t *testing.T) {
	trace := openTrace(t, "default")
	for policy, file := range map[string]string{
		"best-fit": "BestFit", "dot-product": "DotProd", "fgd": "FGD", "gpu-clustering": "GpuClustering", "gpu-packing": "GpuPacking",
	} {
		t.Run(policy, func(t *testing.T) {
			golden := readGolden(t, filepath.Join(data, "golden", "default_"+file+"_42.txt.gz"))
			p, err := bench.Find(policy)
			require.NoError(t, err)
			at := 0
			_, err = trace.Draw(42, openb.Inflation).Play(p.New(42), openb.Options{Placed: func(pod, node string) {
				if node == "" {
					node = "-"
				}
				require.Less(t, at, len(golden))
				require.Equal(t, golden[at], fmt.Sprintf("%s %s", pod, node), "arrival %d", at)
				at++
			}})
			require.NoError(t, err)
			require.Len(t, golden, at)
		})
	}
}

// The published table of the default list, from the same ten seeds, by the policies that do not
// draw. A plain run plays the strongest of them.
func TestPublishedTable(t *testing.T) {
	trace := openTrace(t, "default")
	for policy, want := range map[string][6]float64{
		"dot-product":    {80.02, 89.98, 90.58, 90.62, 90.70, 90.85},
		"gpu-clustering": {80.02, 89.98, 91.61, 91.65, 91.73, 91.88},
		"gpu-packing":    {80.02, 89.98, 91.74, 91.78, 91.86, 92.00},
		"best-fit":       {80.02, 89.99, 92.82, 92.86, 92.94, 93.08},
		"fgd":            {80.02, 89.98, 94.91, 95.23, 95.30, 95.39},
	} {
		t.Run(policy, func(t *testing.T) {
			if policy != "fgd" && !drawn.Many() {
				t.Skip("the other policies run where BERTH_SEEDS draws many worlds")
			}
			t.Parallel()
			var sums [len(want)]float64
			for seed := int64(openb.PublishedFirst); seed <= openb.PublishedLast; seed++ {
				p, err := bench.Find(policy)
				require.NoError(t, err)
				run, err := trace.Draw(seed, openb.Inflation).Play(p.New(seed), openb.Options{})
				require.NoError(t, err)
				for i, load := range []int{80, 90, 95, 100, 110, 130} {
					sums[i] += run.Allocated(load)
				}
			}
			figure, ok := trace.Published(policy)
			require.True(t, ok)
			require.InDelta(t, figure, 100-sums[3]/10, 0.005+1e-9)
			for i := range want {
				require.InDelta(t, want[i], sums[i]/10, 0.005+1e-9)
			}
		})
	}
}

// The published lists are known by what is in them, and the policies by their names.
func TestPublished(t *testing.T) {
	trace := openTrace(t, "multigpu50")
	for _, p := range []string{"random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit", "fgd"} {
		_, err := bench.Find(p)
		require.NoError(t, err)
		_, ok := trace.Published(p)
		require.True(t, ok)
	}
	_, ok := trace.Published("core")
	require.False(t, ok)
	_, ok = openTrace(t, "cpu037").Published("fgd")
	require.False(t, ok)
}

func readGolden(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	plain, err := gzip.NewReader(file)
	require.NoError(t, err)
	var lines []string
	for in := bufio.NewScanner(plain); in.Scan(); {
		lines = append(lines, in.Text())
	}
	return lines
}
