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
)

const data = "../../../shared/data/traces/openb"

// openTrace reads a published trace, or skips the test.
func openTrace(t testing.TB, pods string) *openb.Trace {
	t.Helper()
	if _, err := os.Stat(data); err != nil {
		t.Skipf("the openb trace is not beside the checkout: %v", err)
	}
	trace, err := openb.Open(data, pods)
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
			p, err := bench.New(policy, 42)
			require.NoError(t, err)
			at := 0
			_, err = trace.Draw(42, openb.Inflation).Play(p, openb.Options{Placed: func(pod, node string) {
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
