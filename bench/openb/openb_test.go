package openb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/workload"
)

// small is a trace of 4 nodes with 2 GPUs each, and tasks that are the requests, over and over.
func small(tasks int, requests ...bench.Request) *Trace {
	t := &Trace{}
	for i := range 4 {
		t.Nodes = append(t.Nodes, bench.NodeSpec{Name: fmt.Sprint("node", i), CPUMilli: 10_000, MemoryMiB: 100, GPUs: 2, Model: "T4"})
	}
	for i := range tasks {
		t.Pods = append(t.Pods, workload.OpenBPod{Name: fmt.Sprintf("pod%03d", i), Request: requests[i%len(requests)]})
	}
	return t
}

var (
	whole = bench.Request{CPUMilli: 1000, GPUs: 1, Milli: 1000}
	half  = bench.Request{CPUMilli: 1000, GPUs: 1, Milli: 500}
	most  = bench.Request{CPUMilli: 1000, GPUs: 1, Milli: 900}
	host  = bench.Request{CPUMilli: 1000}
)

func (d *Draw) asked() (milli int64) {
	for _, pod := range d.arrivals {
		milli += d.trace.Pods[pod].Request.TotalMilli()
	}
	return milli
}

// A draw has every task once, in another order for another seed, and then copies up to the load; a
// list that asks for more loses tasks.
func TestDraw(t *testing.T) {
	few := small(6, half, whole, host)
	d := few.Draw(1, 130)
	first := slices.Sorted(slices.Values(d.arrivals[:6]))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, first)
	require.InDelta(t, 10_400, d.asked(), 1000)
	require.LessOrEqual(t, d.asked(), int64(10_400))
	require.Equal(t, d, few.Draw(1, 130))
	require.NotEqual(t, d.arrivals, few.Draw(2, 130).arrivals)
	require.NotEqual(t, d.nodes, few.Draw(2, 130).nodes)
	for i, n := range d.nodes {
		require.True(t, strings.HasPrefix(n.Name, fmt.Sprintf("%04d-node", i)), n.Name)
	}

	many := small(60, whole)
	d = many.Draw(1, 130)
	require.Equal(t, int64(10_000), d.asked(), "as much as fits below 130 %")
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(d.arrivals))), 10, "without copies")

	require.Len(t, small(5, host).Draw(1, 130).arrivals, 5, "nothing that asks for GPUs could be copied")
}

// Loads are rounded half to even, a figure is the mean while the load rounds to it, and the latest
// one below where there is none.
func TestPoints(t *testing.T) {
	d := small(10, whole).Draw(1, 125)
	require.Len(t, d.arrivals, 10)
	run, err := d.Play(bench.FirstFit(), Options{})
	require.NoError(t, err)
	require.Equal(t, 10, run.Arrived)
	require.Equal(t, 8, run.Placed)
	// Each task is 12.5 %: 12, 25, 38, 50, 62, 75, 88, 100, 112 and 125.
	for load, want := range map[int]float64{0: 0, 11: 0, 12: 12.5, 13: 12.5, 24: 12.5, 38: 37.5, 100: 100, 112: 100, 125: 100, 999: 100} {
		require.InDelta(t, want, run.Allocated(load), 1e-9, "at %d", load)
	}
	require.InDelta(t, 87.5, run.Unallocated(12), 1e-9)

	d = small(8, whole, host).Draw(1, 50) // those without GPUs come while the load stays the same
	run, err = d.Play(bench.FirstFit(), Options{})
	require.NoError(t, err)
	require.InDelta(t, 50, run.Allocated(50), 1e-9)
}

// A task that fits nowhere is dropped, and told of without a node.
func TestDropped(t *testing.T) {
	d := small(6, whole, whole, bench.Request{GPUs: 2, Milli: 1000}).Draw(1, 130)
	var dropped []string
	run, err := d.Play(bench.FirstFit(), Options{Placed: func(pod, node string) {
		if node == "" {
			dropped = append(dropped, pod)
		}
	}})
	require.NoError(t, err)
	require.NotEmpty(t, dropped)
	require.Len(t, dropped, run.Arrived-run.Placed)
}

// A policy that learns is told of what has arrived, and of nothing else.
func TestLearn(t *testing.T) {
	d := small(40, half, whole, most, host).Draw(5, 130)
	p := &student{}
	_, err := d.Play(p, Options{Learn: true})
	require.NoError(t, err)
	require.Equal(t, int64(1), p.totals[0], "already when the first one is placed")
	for i, total := range p.totals {
		require.LessOrEqual(t, total, int64(i+1), "what has arrived")
		require.GreaterOrEqual(t, 9*total, int64(8*(i+1)-8), "an eighth behind at the most")
	}
	p = &student{}
	_, err = d.Play(p, Options{})
	require.NoError(t, err)
	require.Equal(t, int64(40), p.totals[0], "all of the list, but no copies")
}

// student notes how many tasks the mix is made from.
type student struct{ totals []int64 }

func (p *student) Choose(f *bench.Fleet, k bench.Kind, feasible []bench.Node) bench.Choice {
	mix, _ := f.Mix()
	total := int64(0)
	for _, c := range mix {
		total += c.Count
	}
	p.totals = append(p.totals, total)
	return bench.Choice{Place: bench.Place{Node: feasible[0], GPUs: bench.Tightest(f, k, feasible[0])}}
}

// A policy that chooses what is not there ends the run.
func TestBadPolicy(t *testing.T) {
	_, err := small(4, whole).Draw(1, 130).Play(liar{}, Options{})
	require.ErrorIs(t, err, bench.ErrCapacity)
}

type liar struct{}

func (liar) Choose(*bench.Fleet, bench.Kind, []bench.Node) bench.Choice { return bench.Choice{} }
