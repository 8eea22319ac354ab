package openb

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// writeOpenB writes a small trace in the format of the published one: 12 nodes with 36 GPUs, and
// tasks for some of them. The list of tasks has no more columns than some of the published ones.
func writeOpenB(t *testing.T, list string) (dir string) {
	dir = t.TempDir()
	var nodes, pods strings.Builder
	nodes.WriteString("sn,cpu_milli,memory_mib,gpu,model\n")
	for i := range 12 {
		fmt.Fprintf(&nodes, "node-%02d,%d,65536,%d,%s\n", i, 32_000+16_000*(i%3), 2+i%3, []string{"T4", "P100"}[i%2])
	}
	nodes.WriteString("node-99,8000,65536,0,\n")
	pods.WriteString("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n")
	for i := range 40 {
		fmt.Fprintf(&pods, "pod-%02d,%d,1024,%s\n", i, 2000+1000*(i%7), []string{"1,810", "1,470", "1,1000", "0,0", "2,1000"}[i%5])
	}
	for name, text := range map[string]string{"openb_node_list_gpu_node.csv": nodes.String(), "openb_pod_list_" + list + ".csv": pods.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// few are options that play a small trace with two or three seeds.
func few(dir string, seeds ...int64) Options {
	o := Defaults()
	o.Dir, o.Pods, o.Seeds = dir, []string{"ours"}, seeds
	return o
}

func TestOpenB(t *testing.T) {
	dir := writeOpenB(t, "ours")
	o := few(dir, 1, 2, 3)
	var progress bytes.Buffer
	o.Bound, o.Progress = true, &progress
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Empty(t, progress.String(), "no bar where there is no terminal")
	require.Contains(t, out, "ours: 13 nodes with 36 GPUs, 40 tasks in the list; seeds 1-3; policies that use the mix are told")
	require.Contains(t, out, "Any policy leaves at least")
	for _, p := range bench.Policies() {
		require.Contains(t, out, "\n  "+p.Name+" ")
	}
	for _, pods := range []string{filepath.Join(dir, "openb_pod_list_ours.csv"), "all"} {
		o.Pods = []string{pods}
		again, err := studytest.Tell(Run, o)
		require.NoError(t, err)
		require.Equal(t, out, again, "the same by any name, and on any run")
	}

	short := few(dir, 1, 2)
	short.Policies = []string{"first-fit", "fgd"}
	plain, err := studytest.Tell(Run, short)
	require.NoError(t, err)
	for says, change := range map[string]func(*Options){
		"learn it as tasks arrive": func(o *Options) { o.Play.Learn = true },
		"at 100  unallocated":      func(o *Options) { o.Load = 100 },
		"seeds [5]":                func(o *Options) { o.Seeds = []int64{5} },
	} {
		o := short
		change(&o)
		other, err := studytest.Tell(Run, o)
		require.NoError(t, err)
		require.Contains(t, other, says)
		require.NotEqual(t, plain, other)
	}
}

// Programs read a row for each policy.
func TestOpenBForPrograms(t *testing.T) {
	dir := writeOpenB(t, "ours")
	o := few(dir, 1, 2)
	o.Policies, o.JSON = []string{"best-fit", "fgd"}, true
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	tables := studytest.Tables(t, out)
	require.Len(t, tables, 1)
	require.Len(t, tables[0].Rows, 2)
	require.Equal(t, []string{"policy", "at 80"}, tables[0].Columns[:2])
}

// Figures that are published have to be met to the rounding, by policies that play what was
// published.
func TestOpenBVerdict(t *testing.T) {
	require.NoError(t, missed("default", "best-fit", 7.14, 7.138))
	require.NoError(t, missed("default", "best-fit", 7.14, 7.145))
	require.ErrorContains(t, missed("default", "best-fit", 7.14, 7.146), "default: best-fit leaves 7.146 % of the GPUs instead of 7.14 %")

	o := Defaults()
	o.Dir, o.Policies = writeOpenB(t, "default"), []string{"best-fit", "fgd"}
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	require.NotContains(t, out, "7.14", "another list by the same name has no published figures")

	o.Dir, o.Pods, o.Policies = "../../../../shared/data/traces/openb", []string{"multigpu20", "multigpu50"}, []string{"best-fit"}
	if _, err := os.Stat(o.Dir); err != nil {
		t.Skipf("the openb trace is not beside the checkout: %v", err)
	}
	out, err = studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Contains(t, out, "6.27")
	require.Contains(t, out, "4.38")
}

func TestOptions(t *testing.T) {
	dir := writeOpenB(t, "ours")
	for says, change := range map[string]func(*Options){
		`no policy "best"`:                     func(o *Options) { o.Policies = []string{"best"} },
		`policy "fgd" is named twice`:          func(o *Options) { o.Policies = []string{"all", "fgd"} },
		"-seeds: at least one is needed":       func(o *Options) { o.Seeds = nil },
		"-policies and -pods each need a name": func(o *Options) { o.Policies = nil },
		"-pods each need":                      func(o *Options) { o.Pods = nil },
		`-seeds: "2" is named twice`:           func(o *Options) { o.Seeds = []int64{1, 2, 3, 2} },
		"-load: 0 is not between 100 and 1000": func(o *Options) { o.Load = 0 },
	} {
		o := few(dir, 1, 2)
		change(&o)
		_, err := studytest.Tell(Run, o)
		require.ErrorIs(t, err, flagline.ErrMisuse, says)
		require.ErrorContains(t, err, says)
	}
}

// A list that cannot be read is no misuse, and the error says where it is wrong.
func TestOpenBRefusesLists(t *testing.T) {
	dir := writeOpenB(t, "ours")
	list := filepath.Join(dir, "bad.csv")
	refused := func(o Options, says string) {
		_, err := studytest.Tell(Run, o)
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, flagline.ErrMisuse)
	}
	o := few(dir, 1)
	o.Pods = []string{list}
	for text, says := range map[string]string{
		"name,cpu_milli\na,1\n": `bad.csv:1: there is no column "memory_mib"`,
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\nb,1,1,1,2000\n":   "bad.csv:3:9: gpu_milli: 2000 is more than 1000",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\na,1,1,1,1000\n":   "bad.csv:3:1: name: is the name of an earlier row",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,2,500\n":                  "bad.csv:2:9: gpu_milli: is a part, and of several GPUs",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,1000,T4||G2\n": "bad.csv:2:14: gpu_spec",
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli\n":                               "no task in",
	} {
		require.NoError(t, os.WriteFile(list, []byte(text), 0o600))
		refused(o, says)
	}
	o.Pods = []string{"absent"}
	refused(o, "openb_pod_list_absent.csv")
	o.Dir, o.Pods = t.TempDir(), []string{"all"}
	refused(o, "no list of tasks")
}
