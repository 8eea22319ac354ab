package recorded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/hostile"
	"github.com/berth-sched/berth/internal/input"
)

// What a file of jobs allocates is bounded by its length, whatever it holds: a dump is read object
// by object, and only what is played is kept; what gzip makes of very little is refused.
func TestHostileFilesCostLittle(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(`{"items":[` + strings.Repeat("\n", 8<<20)))
	require.NoError(t, errors.Join(err, w.Close()))
	for _, c := range []struct{ name, text string }{
		{"a list on one line", hostile.List(`{"items":[`, `{"kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"b"}]}}`, 20_000, "]}")},
		{"short objects", hostile.List(`{"items":[`, `{"kind":"Pod"}`, 50_000, "]}")},
		{"ends of lines", `{"items":[` + strings.Repeat("\n", 1<<20) + "]}"},
		{"what stands before the list", `{"other":[` + strings.Repeat("0,", 500_000) + `0],"items":[]}`},
		{"rows of blanks", "JobID|Submit|Elapsed|Account|ReqTRES\n" + strings.Repeat("|\n", 100_000)},
		{"much in little", packed.String()},
	} {
		hostile.Bounded(t, c.name, c.text, 16*input.MostFree, func(text string) {
			_, err := readJobs(&Options{Jobs: File{"f", strings.NewReader(text)}, NodeGPUs: 8, ProcessorsPerGPU: 1}, nil)
			requireTyped(t, err)
		})
	}
	_, err = readJobs(&Options{Jobs: File{"f", bytes.NewReader(packed.Bytes())}}, nil)
	require.ErrorIs(t, err, workload.ErrLimit)
}
