package openb

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/drawn"
)

// What is left over by the best that can be done with a few tasks, found by trying everything, is
// never less than the bound.
func TestBoundIsOne(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		trace := &Trace{}
		for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
			trace.Nodes = append(trace.Nodes, bench.NodeSpec{
				Name: fmt.Sprint(i), CPUMilli: rapid.Int64Range(1, 6).Draw(t, "cpu"), MemoryMiB: 8,
				GPUs: rapid.IntRange(1, 3).Draw(t, "gpus"), Model: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"),
			})
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "pods") {
			r := bench.Request{
				CPUMilli: rapid.Int64Range(0, 3).Draw(t, "cpu"), MemoryMiB: rapid.Int64Range(0, 5).Draw(t, "memory"),
				GPUs: rapid.IntRange(0, 3).Draw(t, "gpus"), Models: rapid.SampledFrom([]string{"", "a", "a|b"}).Draw(t, "models"),
			}
			if r.GPUs > 0 {
				r.Milli = bench.WholeGPU
			}
			if r.GPUs == 1 {
				r.Milli = rapid.SampledFrom([]int{190, 330, 500, 510, 810, 1000}).Draw(t, "milli")
			}
			trace.Pods = append(trace.Pods, workload.OpenBPod{Name: fmt.Sprint(i), Request: r})
		}
		d := trace.Draw(1, 300)
		d.arrivals = d.arrivals[:min(len(d.arrivals), 6)]
		s, err := bench.NewSession(d.nodes, bench.FirstFit())
		require.NoError(t, err)
		var pods []bench.Kind
		for _, i := range d.arrivals {
			k, err := s.Kind(trace.Pods[i].Request)
			require.NoError(t, err)
			pods = append(pods, k)
		}
		most := mostByTrying(t, s, pods)
		left := 100 * float64(trace.capacity()-most) / float64(trace.capacity())
		require.LessOrEqual(t, d.Bound(1000), left+1e-6)
	})
}

// mostByTrying is the most that tasks can be given in all, in thousandths.
func mostByTrying(t require.TestingT, s *bench.Session, pods []bench.Kind) int64 {
	if len(pods) == 0 {
		return 0
	}
	k, f := pods[0], s.Fleet()
	most := mostByTrying(t, s, pods[1:]) // without this one
	for n := range bench.Node(f.Nodes()) {
		if !f.Fits(k, n) {
			continue
		}
		places := []bench.Place{{Node: n, GPUs: bench.Free(f, k, n)}} // whole GPUs are alike
		if r := f.Request(k); r.Share() {
			places = places[:0]
			for g, milli := range f.Left(n) {
				if int(milli) >= r.Milli {
					places = append(places, bench.Place{Node: n, GPUs: 1 << g})
				}
			}
		}
		for _, place := range places {
			require.NoError(t, s.Hold(k, place))
			most = max(most, f.Request(k).TotalMilli()+mostByTrying(t, s, pods[1:]))
			require.NoError(t, s.Release(k, place))
		}
	}
	return most
}

// The bound sees that shares of 0.81 leave a part of each GPU over that nobody wants, and that
// tasks with most of the CPU of a node leave its other GPUs over.
func TestBoundSees(t *testing.T) {
	bound := func(node bench.NodeSpec, requests ...bench.Request) float64 {
		trace := &Trace{}
		for i := range 10 {
			node.Name = fmt.Sprint(i)
			trace.Nodes = append(trace.Nodes, node)
		}
		for i, r := range slices.Repeat(requests, 100) {
			trace.Pods = append(trace.Pods, workload.OpenBPod{Name: fmt.Sprint(i), Request: r})
		}
		return trace.Draw(1, 1000).Bound(1000)
	}
	node := bench.NodeSpec{CPUMilli: 10, GPUs: 4, Model: "a"}
	require.InDelta(t, 19, bound(node, bench.Request{GPUs: 1, Milli: 810}), 0.01)
	require.InDelta(t, 0, bound(node, bench.Request{GPUs: 1, Milli: 810}, bench.Request{GPUs: 1, Milli: 190}), 0.01)
	require.InDelta(t, 75, bound(node, bench.Request{CPUMilli: 6, GPUs: 1, Milli: 1000}), 0.01)
	require.InDelta(t, 25, bound(node, bench.Request{GPUs: 3, Milli: 1000}), 0.01)
	require.InDelta(t, 100, bound(node, bench.Request{GPUs: 1, Milli: 1000, Models: "b"}), 0.01)
}
