package recorded

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/skipped"
)

// requireTyped fails on an error that does not say where it is.
func requireTyped(t *testing.T, err error) {
	var e *workload.TraceError
	require.True(t, err == nil || errors.As(err, &e), "%v", err)
}

func FuzzJobs(f *testing.F) {
	for _, name := range []string{"jobs.txt", "jobs.swf", "pods.json"} {
		text, err := os.ReadFile("../experiments/week/testdata/" + name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := readJobs(&Options{Jobs: File{"f", bytes.NewReader(text)}, NodeGPUs: 8, ProcessorsPerGPU: 1}, nil)
		if err != nil {
			if !bytes.HasPrefix(text, []byte("\x1f\x8b")) { // a damaged archive has no lines
				requireTyped(t, err)
			}
			return
		}
		for i := range s.Jobs {
			require.Positive(t, s.Jobs[i].GPUs)
			require.Positive(t, s.Jobs[i].Runtime)
		}
	})
}

func FuzzShares(f *testing.F) {
	text, err := os.ReadFile("../experiments/week/testdata/shares.txt")
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := readShares("f", bytes.NewReader(text), &skipped.List{})
		requireTyped(t, err)
	})
}
