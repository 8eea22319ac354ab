package cases

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study/studytest"
)

func TestCases(t *testing.T) {
	write := func(expect string) string {
		path := filepath.Join(t.TempDir(), "cases.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"tas_cases":[{"id":"x","levels":["host"],"options":{},
			"nodes":[{"name":"a","path":["a"],"capacity":{"cpu_milli":1000,"pods":9}}],
			"requests":[{"name":"w","count":1,"per_pod":{"cpu_milli":1000},"mode":"required","level":"host"}],
			"expect":[{"name":"w",`+expect+`}]}]}`), 0o600))
		return path
	}
	out, err := studytest.Tell(Run, Options{File: write(`"assignment":[{"domain":["a"],"count":1}]`)})
	require.NoError(t, err)
	require.Contains(t, out, "agree")
	out, err = studytest.Tell(Run, Options{Verbose: true, File: write(`"failure":{"kueue_message":"no"}`)})
	require.Contains(t, out, "UNEXPLAINED")
	require.Contains(t, out, "places it nowhere")
	require.ErrorContains(t, err, "1 of 1 scenarios")
	require.NotErrorIs(t, err, flagline.ErrMisuse)

	out, err = studytest.Tell(Run, Options{Markdown: true, File: write(`"failure":{"kueue_message":"no"}`)})
	require.NoError(t, err)
	require.Contains(t, out, "| required |  | Kueue places it nowhere | w is placed on a=1 | UNEXPLAINED |  |")

	path := filepath.Join(t.TempDir(), "kai.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"format":"x","cases":{}}`), 0o600))
	_, err = studytest.Tell(Run, Options{File: path})
	require.ErrorIs(t, err, flagline.ErrMisuse)
	require.ErrorContains(t, err, "malformed: cases")
	_, err = studytest.Tell(Run, Options{})
	require.ErrorIs(t, err, flagline.ErrMisuse)
	_, err = studytest.Tell(Run, Options{File: filepath.Join(t.TempDir(), "absent")})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The tables of docs/results.md are those that the program prints.
func TestResults(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "results.md"))
	require.NoError(t, err)
	for _, name := range []string{"kai.json", "kueue_tas.json", "kueue_preemption.json"} {
		path := filepath.Join("..", "..", "..", "..", "shared", "data", "peers", name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the scenarios are not at %s", path)
		}
		out, err := studytest.Tell(Run, Options{Markdown: true, File: path})
		require.NoError(t, err)
		require.Contains(t, string(page), out, name)
	}
}
