package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// call runs the program.
func call(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return status, out.String(), err.String()
}

func TestUsage(t *testing.T) {
	status, out, _ := call("-h")
	require.Zero(t, status)
	for _, e := range experiments {
		require.Contains(t, out, e.summary)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "usage"},
		{[]string{"moon"}, `no experiment "moon"`},
		{[]string{"philly"}, "-file has to name the trace"},
		{[]string{"philly", "-file", "x", "-gpus", "7"}, "-gpus: 7 is not between"},
		{[]string{"philly", "-file", "x", "-policies", "best"}, `there is no "best"; there are FIFO, EASY, LAS, cells, berth`},
		{[]string{"cases"}, "-file is missing"},
		{[]string{"cases", "stray"}, `"stray" is no flag`},
		{[]string{"cases", "-csv", "-json", "-file", "x"}, "exclude"},
		{[]string{"topo", "-fleet", "moon"}, `no fleet "moon"`},
		{[]string{"nvl72", "-trays", "3"}, "out of range"},
		{[]string{"nvl72", "-locality", "close"}, "close"},
		{[]string{"nvl72", "-unknown"}, "unknown"},
	} {
		status, out, err := call(c.args...)
		require.Equal(t, 2, status, c.args)
		require.Contains(t, err, c.says, c.args)
		require.Empty(t, out, c.args)
	}
	status, _, err := call("topo", "-h")
	require.Zero(t, status)
	require.Contains(t, err, "-fleet")
}

func TestCasesStatus(t *testing.T) {
	write := func(expect string) string {
		path := filepath.Join(t.TempDir(), "cases.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"tas_cases":[{"id":"x","levels":["host"],"options":{},
			"nodes":[{"name":"a","path":["a"],"capacity":{"cpu_milli":1000,"pods":9}}],
			"requests":[{"name":"w","count":1,"per_pod":{"cpu_milli":1000},"mode":"required","level":"host"}],
			"expect":[{"name":"w",`+expect+`}]}]}`), 0o600))
		return path
	}
	status, out, _ := call("cases", "-file", write(`"assignment":[{"domain":["a"],"count":1}]`))
	require.Zero(t, status)
	require.Contains(t, out, "agree")
	status, out, err := call("cases", "-v", "-file", write(`"failure":{"kueue_message":"no"}`))
	require.Equal(t, 1, status)
	require.Contains(t, out, "UNEXPLAINED")
	require.Contains(t, out, "places it nowhere")
	require.Contains(t, err, "1 of 1 scenarios")

	path := filepath.Join(t.TempDir(), "kai.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"format":"x","cases":{}}`), 0o600))
	status, _, err = call("cases", "-file", path)
	require.Equal(t, 2, status)
	require.Contains(t, err, "malformed: cases")
	status, _, _ = call("cases", "-file", filepath.Join(t.TempDir(), "absent"))
	require.Equal(t, 1, status)
}

func TestTables(t *testing.T) {
	table := newTable("title", "name", "n", "x")
	table.add("a", 1, 2.5)
	table.add("bcd", nil, 12.25)
	var text, csv, lines bytes.Buffer
	require.NoError(t, table.writeText(&text))
	require.Equal(t, "title\n  name  n     x\n  a     1  2.50\n  bcd   -  12.2\n\n", text.String())
	require.NoError(t, table.writeCSV(&csv))
	require.Equal(t, "table,name,n,x\ntitle,a,1,2.5\ntitle,bcd,,12.25\n", csv.String())
	require.NoError(t, table.writeJSON(&lines))
	require.JSONEq(t, `{"title":"title","columns":["name","n","x"],"rows":[["a",1,2.5],["bcd",null,12.25]]}`, lines.String())
}

// Sums of the mix, and that it can fill the fleet: a segment of 16 leaves two trays of
// its block, an eighth of what it takes itself.
func TestNVL72Mix(t *testing.T) {
	jobs, small, large := 0, 0, 0
	for _, m := range nvl72Mix {
		jobs += m.of1000
		use := m.gpus * m.of1000 * m.minutes
		switch g := nvl72Group(m.gpus, true); {
		case m.gpus >= segmentTrays*trayGPUs:
			large += use
			require.Equal(t, berth.Segment{Size: segmentTrays, Level: levelBlock}, g.Topology.Segments[0], m.gpus)
			require.Zero(t, g.Replicas%segmentTrays, m.gpus)
		case m.gpus > trayGPUs:
			require.Equal(t, g.Replicas, g.Topology.Segments[0].Size, m.gpus)
		}
		if m.gpus <= (blockTrays-segmentTrays)*trayGPUs {
			small += use
		}
	}
	require.Equal(t, 1000, jobs)
	require.Greater(t, small*8, large)
}

// A small fleet for a few hours: no segment is split with constraints, and the same seed
// gives the same figures.
func TestNVL72(t *testing.T) {
	o := nvl72Options{trays: 396, backlog: 40, days: 0.25, warmup: 0.1, seed: 3, verify: true}
	simulate := func(constrained bool) *nvl72Run {
		r, err := newNVL72Run(&o, constrained)
		require.NoError(t, err)
		require.NoError(t, r.simulate())
		return r
	}
	with, again, without := simulate(true), simulate(true), simulate(false)
	require.Zero(t, with.split)
	require.Positive(t, without.split, "without constraints some are, or the count cannot be trusted")
	for _, r := range []*nvl72Run{with, without} {
		require.Greater(t, r.occupancy(), 0.8)
		require.LessOrEqual(t, r.occupancy(), 1.0)
		require.Positive(t, r.started)
		require.Positive(t, r.idle.samples)
	}
	require.Equal(t, with.heldFor, again.heldFor)
	require.Equal(t, with.waits, again.waits)
	require.NotEqual(t, with.heldFor, without.heldFor)
}

// The books of a fleet agree with the core, before and after gangs are measured.
func TestTopo(t *testing.T) {
	f, err := h100Fleet()
	require.NoError(t, err)
	require.NoError(t, f.fill(1))
	agree := func() {
		report := f.core.Report()
		require.EqualValues(t, f.held*1000, report.GPUs.Held)
		require.Zero(t, report.Replicas.Pending)
	}
	agree()
	require.InDelta(t, fillAtLast, 100*float64(f.held)/float64(f.gpus), 2)
	o := topoOptions{budget: time.Microsecond}
	for _, gpus := range topoSizes {
		row, err := o.row(f, gpus, berth.Strict)
		require.NoError(t, err)
		require.Len(t, row, 12)
		require.Equal(t, gpus, row[0])
	}
	agree()
}

func TestEffect(t *testing.T) {
	var nodes []berth.Node
	for _, at := range [][2]string{{"s", "a"}, {"s", "a"}, {"s", "b"}, {"t", "c"}} {
		nodes = append(nodes, boxNode(boxH100, string(rune('k'+len(nodes))), at[0], at[1]))
	}
	f, err := newTopoFleet("test", "", berth.Config{Levels: []string{"spine", "su"}}, nodes)
	require.NoError(t, err)
	on := func(members ...string) *berth.Bind {
		b := &berth.Bind{}
		for _, m := range members { // node and a number of GPUs
			b.Members = append(b.Members, berth.MemberPlacement{Node: berth.NodeID(m[:1]), GPUs: berth.GPUSet(1)<<(m[1]-'0') - 1})
		}
		return b
	}
	require.Equal(t, effect{"node", 1, []int{1, 1}, 1, 2}, f.effect(on("k1")))
	require.Equal(t, effect{"node", 1, []int{1, 1}, 0, 2}, f.effect(on("k8")))
	require.Equal(t, effect{"su", 2, []int{1, 1}, 0, 1}, f.effect(on("k8", "l8")))
	require.Equal(t, effect{"spine", 2, []int{1, 2}, 0, 2}, f.effect(on("k8", "m8")))
	require.Equal(t, effect{"fleet", 2, []int{2, 2}, 0, 1}, f.effect(on("m8", "n8")), "spine s; spine t is used up")
	f.free[0] = 7
	require.Equal(t, effect{"node", 1, []int{1, 1}, 0, 0}, f.effect(on("k7")), "what is not whole cannot be broken")
	require.True(t, strings.HasPrefix(f.describeFill(), "0 of 32 GPUs held"))
}
