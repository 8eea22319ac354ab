package scale

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/scale"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// The short form goes through all states. Every point has figures, no two have the same name, and
// what is known of peers stands beside figures that there are.
func TestShortForm(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	o := Options{Short: true, Time: time.Millisecond}
	figures, err := o.take(t.Context(), o.To(&bytes.Buffer{}))
	require.NoError(t, err)
	points, names, beside := map[int]int{}, map[string]bool{}, map[string]bool{}
	for _, f := range figures {
		points[f.Point]++
		name := f.What + " on " + f.Size
		require.False(t, names[name], name)
		names[name] = true
		for _, p := range peers {
			if p.stands(&f) {
				beside[p.says] = true
			}
		}
	}
	for point := range 8 {
		require.Positive(t, points[point], point)
	}
	for _, p := range peers {
		// The short form has no victims on 4,000 nodes.
		require.True(t, beside[p.says] || strings.HasPrefix(p.what, "victims"), p.what)
	}
}

func someFigures() []scale.Figure {
	allocated := 12.4
	return []scale.Figure{
		{Point: 2, What: "victims for 64 x 8 GPUs", Size: "nodes=4000/between queues", Value: 12_345_678, Unit: scale.Nanoseconds, Target: 10_000_000},
		{Point: 4, What: "replay", Size: "events=9", Value: 250_000, Unit: scale.PerSecond, Target: 200_000},
		{What: "a life", Size: "gpus=8", Value: 45.6, Unit: scale.Nanoseconds, Allocated: &allocated},
	}
}

// A line says whether its target is met, how it compares with the earlier run, and what a peer
// needs; what is not known is left out.
func TestTable(t *testing.T) {
	earlier := someFigures()[:2]
	earlier[0].Value *= 2
	var out bytes.Buffer
	table, o := tableOf(someFigures(), earlier), Options{Output: study.Output{JSON: true}}
	require.NoError(t, o.print(o.To(&out), &out, table))
	require.JSONEq(t, `{"title": "scale",
		"columns": ["point", "what", "size", "figure", "target", "met", "B", "allocs", "peer", "against"],
		"rows": [
			[2, "victims for 64 x 8 GPUs", "nodes=4000/between queues", "12.3 ms", "10 ms", "missed", null, null, "Kueue 0.4 to 3.1 s, a preempting cycle", "x0.50"],
			[4, "replay", "events=9", "250000 /s", "200000 /s", "met", null, null, null, "x1.00"],
			[null, "a life", "gpus=8", "45.6 ns", null, null, 12, null, null, null]]}`, out.String())
	out.Reset()
	o.Markdown = true
	require.NoError(t, o.print(o.To(&out), &out, table))
	require.Contains(t, out.String(), "| point | what |")
	require.Contains(t, out.String(), "\n| --- | --- |")
	require.Contains(t, out.String(), "\n| - | a life | gpus=8 | 45.6 ns | - | - | 12 | - | - | - |\n")
}

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit scale.Unit
		text string
	}{
		{0, scale.Bytes, "0 B"},
		{999.6, scale.Nanoseconds, "1 us"},
		{1234, scale.Bytes, "1.23 kB"},
		{123_456, scale.Nanoseconds, "123 us"},
		{99.96e9, scale.Nanoseconds, "100 s"},
		{12_345_678, scale.PerSecond, "12345678 /s"},
	} {
		require.Equal(t, c.text, amount(c.v, c.unit))
	}
}

// What one run saves the next one reads.
func TestAgainst(t *testing.T) {
	name := filepath.Join(t.TempDir(), "figures.json")
	o := Options{Short: true, Only: []string{"placement of one-GPU/gpus=4096", "one-node/gpus=4096"}, Time: time.Millisecond, Save: name}
	_, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	o.Save, o.Against = "", name
	text, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Regexp(t, `placement of one-GPU .* x\d+\.\d\d\n.* one-node .* x\d+\.\d\d\n`, text)
}

func TestVerdict(t *testing.T) {
	require.NoError(t, verdict(someFigures()[1:]))
	require.EqualError(t, verdict(someFigures()), "1 of 3 figures miss their target")
}

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, Options{Short: true, Time: time.Millisecond},
		func(o *Options) { o.Time = 0 },
		func(o *Options) { o.Only = []string{"nothing of the kind"} },
		func(o *Options) { o.Against = filepath.Join(t.TempDir(), "absent") },
		func(o *Options) { o.Against = "scale.go" })
}
