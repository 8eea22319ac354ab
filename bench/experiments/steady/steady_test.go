package steady

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
	"github.com/berth-sched/berth/berthtest/sim"
)

// writeTrace writes a small trace in the format of the published one: 12 nodes with 72 GPUs, and
// tasks of a minute to some hours for them.
func writeTrace(t *testing.T) (dir string) {
	dir = t.TempDir()
	var nodes, pods strings.Builder
	nodes.WriteString("sn,cpu_milli,memory_mib,gpu,model\n")
	for i := range 12 {
		fmt.Fprintf(&nodes, "node-%02d,96000,262144,%d,%s\n", i, []int{8, 2, 8}[i%3], []string{"G2", "T4"}[i%2])
	}
	pods.WriteString("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n")
	for i := range 40 {
		asks := []string{"1,500,", "1,330,", "1,1000,T4", "0,0,", "2,1000,", "1,1000,", "8,1000,"}[i%7]
		fmt.Fprintf(&pods, "pod-%02d,%d,1024,%s,LS,Running,%d,%d,%d\n", i, 2000+500*(i%5), asks, 100*i, 100*i+60+300*(i%11)*(i%11), 100*i)
	}
	for name, text := range map[string]string{"openb_node_list_gpu_node.csv": nodes.String(), "openb_pod_list_default.csv": pods.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// anywhere has room for all.
func anywhere(*berth.Group) int { return 12 }

// In a part of the fleet some tasks fit on no node, and gangs of others on too few. They would wait
// for ever, and the run would tell nothing.
func TestPartOfTheFleet(t *testing.T) {
	o := few(writeTrace(t))
	o.Tolerance, o.TolerancePercent = 1e6, 100
	o.Nodes = 3 // of 8, 8 and 2 GPUs, which are G2 alone
	b := &experiment{Options: o}
	require.NoError(t, b.configure())
	require.NoError(t, b.open())
	require.Equal(t, 6, b.tasks.leftOut, "those that ask for a T4")
	for i := range b.tasks.jobs {
		require.NotZero(t, b.roomFor(&jobOf(&b.tasks.jobs[i]).Groups[0]))
		require.False(t, b.tasks.gangsFit[i], "two nodes have 8 GPUs")
	}
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Contains(t, out, "6 more tasks of the list fit on none of these nodes")
}

func few(dir string) Options {
	o := Defaults()
	o.Dir, o.Policies, o.Loads, o.Seeds, o.Warmup, o.Hours = dir, []string{"fgd", "best-fit"}, []int{60, 100}, []int64{1, 2}, 1, 3
	return o
}

// A small trace is played at two loads under three policies: the same on any run, for people and
// for programs.
func TestSteady(t *testing.T) {
	o := few(writeTrace(t))
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range []string{
		"default: 12 nodes with 72 GPUs; 40 tasks in the list, 50 % of those of 8 GPUs as gangs; 3 hours measured after 1; seeds [1 2]",
		"Load 60 %", "Load 100 %", "gang p99", "  figure", "core",
	} {
		require.Contains(t, out, text)
	}
	studytest.Repeats(t, Run, o, out)

	o.JSON = true
	out, err = studytest.Tell(Run, o)
	require.NoError(t, err)
	tables := studytest.Tables(t, out)
	require.Len(t, tables, 2, "one for each load")
	require.Len(t, tables[0].Rows, len(figures()))
	require.Equal(t, []string{"figure", "tasks", "core"}, tables[0].Columns[:3])
	require.Equal(t, "allocated, %", tables[0].Rows[0][0])
}

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, few(writeTrace(t)),
		func(o *Options) { o.Policies = []string{"best"} },
		func(o *Options) { o.Policies = []string{"fgd", "fgd"} },
		func(o *Options) { o.Policies = []string{"core"} },
		func(o *Options) { o.Loads = nil },
		func(o *Options) { o.Loads = []int{90, 90} },
		func(o *Options) { o.Loads = []int{201} },
		func(o *Options) { o.Seeds = nil },
		func(o *Options) { o.Seeds = []int64{3, 3} },
		func(o *Options) { o.Gangs = 101 },
		func(o *Options) { o.Nodes = -1 },
		func(o *Options) { o.Longest = -1 },
		func(o *Options) { o.Warmup = -1 },
		func(o *Options) { o.Hours = 0 },
	)
}

// Without the trace, or without times in it, the error says which file or column is missing.
func TestNoTrace(t *testing.T) {
	o := few(t.TempDir())
	_, err := studytest.Tell(Run, o)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "openb_node_list_gpu_node.csv")

	o = few(writeTrace(t))
	list := filepath.Join(o.Dir, "openb_pod_list_bare.csv")
	require.NoError(t, os.WriteFile(list, []byte("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1000\n"), 0o600))
	o.Pods = "bare"
	_, err = studytest.Tell(Run, o)
	require.ErrorContains(t, err, "openb_pod_list_bare.csv")
	require.ErrorContains(t, err, "there is no column")
}

// The GPU time that arrives is the load times that of the fleet, and so is what runs at the start,
// whatever part of it is gangs.
func TestLoadOfADraw(t *testing.T) {
	_, jobs, err := read(filepath.Join(writeTrace(t), "openb_node_list_gpu_node.csv"), filepath.Join(writeTrace(t), "openb_pod_list_default.csv"))
	require.NoError(t, err)
	const gpus, load, length = 72_000, 80, 4 * berth.Hour
	for _, gangs := range []int{0, 50, 100} {
		all, err := newTasks(append([]sim.Arrival(nil), jobs...), gangs, 0, anywhere)
		require.NoError(t, err)
		list := all.draw(7, load, gpus, berth.Time(0).Add(length))
		require.Equal(t, list, all.draw(7, load, gpus, berth.Time(0).Add(length)), "the same seed, the same arrivals")
		require.NotEqual(t, len(list), len(all.draw(8, load, gpus, berth.Time(0).Add(length))))
		runs, asked := 0.0, 0.0
		several, eights := 0, 0
		for i, a := range list {
			g := &jobOf(&a).Groups[0]
			if a.At == berth.Time(i) {
				runs += float64(study.Milli(g)) / 1000
			} else {
				asked += float64(study.Milli(g)) / 1000 * float64(a.Runtime)
			}
			require.True(t, i == 0 || list[i-1].At <= a.At)
			if g.Claim.GPUs == gangGPUs {
				eights++
				if g.Members > 1 {
					several++
				}
			} else {
				require.Equal(t, 1, g.Members)
			}
		}
		require.InEpsilon(t, gpus*load/100, runs, 0.06, "%d %% gangs: at the start", gangs)
		require.InEpsilon(t, gpus*load/100, asked/float64(length), 0.06, "%d %% gangs: later", gangs)
		require.InDelta(t, float64(gangs)/100, float64(several)/float64(eights), 0.02)
	}
	cut, err := newTasks(append([]sim.Arrival(nil), jobs...), 0, berth.Hour, anywhere)
	require.NoError(t, err)
	for _, a := range cut.jobs {
		require.LessOrEqual(t, a.Runtime, berth.Hour)
	}
}

// A task is turned away if it waits though as many GPUs are free that it accepts, and its wait ends
// when it is bound.
func TestBooks(t *testing.T) {
	node := func(id berth.NodeID, product string) berth.Node {
		return berth.Node{ID: id, GPUs: []berth.GPU{{Product: product}, {Product: product}}}
	}
	r := newRun([]berth.Node{node("a", "T4"), node("b", "T4"), node("c", "G2")}, 0, berth.Time(10*berth.Minute))
	submit := func(now berth.Time, id berth.JobID, gpus int, products ...string) {
		r.applied(now, berth.JobSubmitted{Job: berth.Job{ID: id, Groups: []berth.Group{{
			Members: 1, Claim: berth.WholeGPUs(gpus), Selector: berth.Selector{Products: products},
		}}}}, nil)
	}
	bind := func(id berth.JobID, node berth.NodeID, gpus int) berth.Order {
		return berth.Bind{OrderHeader: berth.OrderHeader{Job: id}, Members: []berth.MemberPlacement{{Node: node, GPUs: 1<<gpus - 1}}}
	}
	submit(0, "one", 1)
	submit(0, "two", 1)
	r.scheduled(0, []berth.Order{bind("one", "a", 1), bind("two", "b", 1)})
	submit(0, "pair", 2, "T4")  // one is free on each of two nodes
	submit(0, "three", 3, "G2") // there are but two
	r.scheduled(0, nil)
	r.scheduled(1, nil) // counted once
	require.Equal(t, 1, sum(r.turnedAway[:]))
	require.Equal(t, 4, sum(r.arrived[:]))
	later := berth.Time(5 * berth.Minute)
	r.applied(later, berth.JobFinished{Job: "one"}, nil)
	r.scheduled(later, []berth.Order{bind("pair", "a", 2)})
	submit(berth.Time(10*berth.Minute), "late", 1) // is not measured
	r.scheduled(berth.Time(20*berth.Minute), nil)
	require.NoError(t, r.broken)
	require.Equal(t, []float64{0, 0}, r.waits[2])
	require.Equal(t, []float64{5}, r.waits[3])
	require.Equal(t, 1, r.open, "three waits, late does not count")
	require.InDelta(t, 100*(2*5+3*5)/60.0, r.allocation(), 1e-9)

	r.scheduled(berth.Time(20*berth.Minute), []berth.Order{bind("late", "b", 2), bind("late", "b", 2)})
	require.ErrorContains(t, r.broken, "binds late, which is not known or runs")
}

// A policy is compared with the core seed by seed, over the seeds on which both have the figure.
func TestComparison(t *testing.T) {
	minutes := func(values ...float64) *run {
		r := &run{}
		r.waits[2] = values
		return r
	}
	core := []*run{minutes(10, 20), minutes(30), minutes(50), minutes()}
	other := []*run{minutes(5, 15), minutes(23), minutes(41), minutes(1)}
	f := figures()[slot(t, "1 mean")]
	c := compare(&f, other, core)
	require.Equal(t, 3, c.seeds)
	require.InDelta(t, (10.0+23+41)/3, c.mean, 1e-9)
	require.InDelta(t, -(5.0+7+9)/3, c.difference.Mean, 1e-9)
	require.InDelta(t, 4.303*2/math.Sqrt(3), c.difference.Half, 1e-2, "Student's t for two degrees of freedom")
	require.True(t, c.better(&f, 1))
	require.False(t, c.better(&f, 8), "within the tolerance")
	noise := compare(&f, []*run{minutes(10), minutes(30)}, []*run{minutes(90), minutes(31)})
	require.Less(t, noise.difference.Mean, -40.0)
	require.False(t, noise.better(&f, 1), "within the interval")
	back := compare(&f, core, other)
	require.False(t, back.better(&f, 1), "longer waits are not better")
	f.more = true
	require.True(t, back.better(&f, 1))
	one := compare(&f, core[:1], other[:1])
	require.False(t, one.better(&f, 0), "one seed tells nothing")

	p99 := figures()[slot(t, "1 p99")]
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(200 - i)
	}
	got, ok := p99.of(minutes(values...))
	require.True(t, ok)
	require.InDelta(t, 198, got, 0, "198 of 200 do not wait longer")
	require.InDelta(t, 200, values[0], 0, "they stay in their order")
	_, ok = p99.of(minutes())
	require.False(t, ok)
}

func slot(t *testing.T, name string) int {
	for i, f := range figures() {
		if f.name == name {
			return i
		}
	}
	t.Fatalf("there is no figure %q", name)
	return -1
}

// With -verify the experiment fails where another policy is better, and names it.
func TestVerdict(t *testing.T) {
	b := &experiment{Options: few(t.TempDir())}
	require.NoError(t, b.configure())
	b.Loads = []int{90}
	line := func(minutes float64) []*run {
		var list []*run
		for seed := range 3 {
			r := &run{from: 0, until: 1, capacity: 1}
			r.waits[5] = []float64{minutes + float64(seed)}
			list = append(list, r)
		}
		return list
	}
	var out strings.Builder
	p := study.Output{}.To(&out)
	require.Empty(t, b.Verdict(p, [][]*run{line(10), line(10.5), line(30)}))
	require.Contains(t, out.String(), "first, or level with the first, in all of")
	require.Equal(t, []string{"another policy is better than the core in 2 comparisons"}, b.Verdict(p, [][]*run{line(10), line(30), line(5)}))
	require.Contains(t, out.String(), "load 90 %, gang p99: best-fit has 6.00, the core 11.0")
	out.Reset()
	require.Empty(t, b.Verdict(p, [][]*run{line(10)[:1], line(30)[:1], line(5)[:1]}))
	require.Equal(t, "Seeds: 1. Whether a policy is better than the core can be said from 3 on.\n", out.String())
}
