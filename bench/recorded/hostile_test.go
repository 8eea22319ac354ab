package recorded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/hostile"
	"github.com/berth-sched/berth/internal/input"
	"github.com/berth-sched/berth/internal/skipped"
)

// numbered repeats a form with numbers from zero on.
func numbered(form string, many int) string {
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}

// deep are accounts each below the one before.
func deep(many int) string {
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, "%*sa%d|1\n", i, "", i)
	}
	return b.String()
}

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
		{"objects of nothing", hostile.List(`{"items":[`, `{}`, 300_000, "]}")},
		{"no objects", hostile.List(`{"items":[`, `1`, 300_000, "]}")},
		{"containers of nothing", hostile.List(`{"items":[{"kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[`, `{}`, 300_000, "]}}]}")},
		{"owners of nothing", hostile.List(`{"items":[{"kind":"Pod","metadata":{"name":"a","ownerReferences":[`, `{"UID":"a"}`, 90_000, "]}}]}")},
		{"conditions", hostile.List(`{"items":[{"kind":"Pod","status":{"conditions":[`, `{"type":"a"}`, 90_000, "]}}]}")},
		{"labels", `{"items":[{"kind":"Node","metadata":{"name":"a","labels":{` + strings.TrimSuffix(numbered(`"l%d":"",`, 80_000), ",") + `}}}]}`},
		{"claims", hostile.List(`{"items":[{"kind":"Pod","metadata":{"name":"a"},"spec":{"resourceClaims":[`, `{"name":"ab"}`, 80_000, "]}}]}")},
		{"pods with claims", `{"items":[` + strings.TrimSuffix(numbered(`{"kind":"Pod","metadata":{"name":"p%d"},"spec":{"resourceClaims":[{}]}},`, 15_000), ",") + `]}`},
		{"ends of lines", `{"items":[` + strings.Repeat("\n", 1<<20) + "]}"},
		{"what stands before the list", `{"other":[` + strings.Repeat("0,", 500_000) + `0],"items":[]}`},
		{"rows of blanks", "JobID|Submit|Elapsed|Account|ReqTRES\n" + strings.Repeat("|\n", 100_000)},
		{"runs of one job", "JobID|Submit|Start|Elapsed|Account|ReqTRES\n" + strings.Repeat("1|2026-03-02T01:00:00|2026-03-02T01:00:00|00:01|a|gres/gpu=1\n", 20_000)},
		{"parts of one job", "JobID|Submit|Start|Elapsed|Account|ReqTRES\n" + numbered("1+%d|2026-03-02T01:00:00|2026-03-02T01:00:00|00:01|a|gres/gpu=1\n", 20_000)},
		{"columns that nobody knows", "JobID|Submit|Elapsed|Account|ReqTRES" + numbered("|c%d", 100_000) + "\n"},
		{"resources that nobody knows", "JobID|Submit|Elapsed|Account|ReqTRES\n1|2026-03-02T01:00:00|00:01|a|gres/gpu=1" + numbered(",gres/x%d=1", 80_000) + "\n"},
		{"much in little", packed.String()},
	} {
		hostile.Bounded(t, c.name, c.text, 16*input.MostFree, func(text string) {
			_, err := readJobs(&Options{Jobs: File{"f", strings.NewReader(text)}, NodeGPUs: 8, ProcessorsPerGPU: 1}, nil)
			requireTyped(t, err)
		})
	}
	for _, c := range []struct{ name, text string }{
		{"accounts", "Account|Shares\n" + numbered("a%d|1\n", 100_000)},
		{"deep accounts", "Account|Shares\n" + deep(1000)},
		{"columns", "Account|Shares" + numbered("|c%d", 8_000)},
	} {
		hostile.Bounded(t, c.name, c.text, 16*input.MostFree, func(text string) {
			_, err := readShares("f", strings.NewReader(text), &skipped.List{})
			requireTyped(t, err)
		})
	}
	_, err = readJobs(&Options{Jobs: File{"f", bytes.NewReader(packed.Bytes())}}, nil)
	require.ErrorIs(t, err, workload.ErrLimit)
}
