package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/flagline"
)

// The table has the rule beside those that come with the package.
func TestOwnScorer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openb_node_list_gpu_node.csv": "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,4,T4\nb,64000,262144,4,T4\n",
		"openb_pod_list_default.csv":   "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,8000,1024,2,1000\np2,8000,1024,2,1000\np3,8000,1024,4,1000\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"-dir", dir}, &out))
	require.Regexp(t, `(?m)^  core +\d`, out.String())
	require.Regexp(t, `(?m)^  fgd +\d`, out.String())
	require.Regexp(t, `(?m)^  core-least-left +\d`, out.String())
	require.Contains(t, out.String(), "seeds 42-43;")
	out.Reset()
	require.NoError(t, run([]string{"-dir", dir, "-seeds", "3"}, &out))
	require.Contains(t, out.String(), "seeds 42-44;")
	require.ErrorIs(t, run(nil, &out), flagline.ErrMisuse)
	require.ErrorIs(t, run([]string{"-dir", dir, "-seeds", "0"}, &out), flagline.ErrMisuse)
}
