package bench_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
)

var (
	whole = bench.Request{CPUMilli: 4000, GPUs: 1, Milli: 1000}
	pair  = bench.Request{CPUMilli: 4000, GPUs: 2, Milli: 1000}
	half  = bench.Request{CPUMilli: 4000, GPUs: 1, Milli: 500}
	slice = bench.Request{CPUMilli: 4000, GPUs: 1, Milli: 200}
	host  = bench.Request{CPUMilli: 4000}
)

// Three nodes, worked out by hand: a has four GPUs and is empty; b has four, of which 0 and 1 are
// held by a pair and 2 is half used; c has two, of which 0 has 300 left, and little CPU.
func threeNodes(t *testing.T, policy string) *bench.Session {
	p, err := bench.Find(policy)
	require.NoError(t, err)
	s, err := bench.NewSession([]bench.NodeSpec{
		{Name: "a", CPUMilli: 64_000, MemoryMiB: 1 << 18, GPUs: 4, Model: "T4"},
		{Name: "b", CPUMilli: 64_000, MemoryMiB: 1 << 18, GPUs: 4, Model: "T4"},
		{Name: "c", CPUMilli: 16_000, MemoryMiB: 1 << 18, GPUs: 2, Model: "P100"},
	}, p.New(1))
	require.NoError(t, err)
	var mix bench.Mix
	for i, r := range []bench.Request{whole, pair, half, slice, host} {
		k, err := s.Kind(r)
		require.NoError(t, err)
		mix = append(mix, bench.KindCount{Kind: k, Count: int64(1 + i)})
	}
	hold := func(r bench.Request, n bench.Node, gpus ...int) {
		k, err := s.Kind(r)
		require.NoError(t, err)
		require.NoError(t, s.Hold(k, bench.Place{Node: n, GPUs: berth.GPUSetOf(gpus...)}))
	}
	hold(pair, 1, 0, 1)
	hold(half, 1, 2)
	hold(half, 2, 0)
	hold(slice, 2, 0)
	require.NoError(t, s.Know(mix))
	return s
}

// Where each policy puts a whole GPU, a pair (for which there is room on a alone), a half, a slice
// of 200 and a task without GPUs, and with which score.
func TestChoices(t *testing.T) {
	type choice struct {
		place string
		score int64
	}
	for policy, want := range map[string][5]choice{
		"first-fit": {{"a 0", 0}, {"a 0-1", 0}, {"a 0", 0}, {"a 0", 0}, {"a ", 0}},
		// b and c differ only after the point for a whole GPU and a slice.
		"dot-product": {{"b 3", 98}, {"a 0-1", 92}, {"c 1", 99}, {"b 2", 99}, {"a ", 99}},
		"best-fit":    {{"c 1", 96}, {"a 0-1", 64}, {"c 1", 93}, {"c 0", 91}, {"c ", 90}},
		// The tasks of c are shares alone; no node has whole GPUs of one alone, and a has nothing.
		"gpu-clustering": {{"a 0", 37}, {"a 0-1", 37}, {"c 1", 95}, {"c 0", 95}, {"a ", 0}},
		"gpu-packing":    {{"b 3", 49}, {"a 0-1", 29}, {"b 2", 95}, {"c 0", 97}, {"a ", 0}},
		// The pair splits the cell of 4; 3 of b and 1 of c are cells of 1.
		"buddy": {{"b 3", -1}, {"a 0-1", -4}, {"b 2", 500}, {"c 0", 700}, {"a ", 0}},
		// b and c have one free GPU each, and P100 comes before T4.
		"gang": {{"c 1", 0}, {"a 0-1", 0}, {"b 2", 0}, {"c 0", 0}, {"c ", 0}},
		// What is left of c is for two tasks, for lack of CPU: its whole GPU goes first, and
		// the slice goes where CPU is left. A task without GPUs costs nothing on b.
		"berth": {{"c 1", -42}, {"a 0-1", -265}, {"c 1", -28}, {"b 2", 7}, {"b ", 0}},
		"fgd":   {{"b 3", 61}, {"a 0-1", 66}, {"b 2", 56}, {"c 0", 52}, {"a ", 50}},
	} {
		t.Run(policy, func(t *testing.T) {
			s := threeNodes(t, policy)
			for i, r := range []bench.Request{whole, pair, half, slice, host} {
				k, err := s.Kind(r)
				require.NoError(t, err)
				got, ok, err := s.Choose(k)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, want[i], choice{s.Fleet().Spec(got.Node).Name + " " + got.GPUs.String(), got.Score}, "%+v", r)
			}
		})
	}
}

// Every feasible node, and every GPU with room, comes up.
func TestRandomDrawsAll(t *testing.T) {
	s := threeNodes(t, "random")
	k, err := s.Kind(slice)
	require.NoError(t, err)
	seen := map[bench.Place]int{}
	for range 1000 {
		choice, ok, err := s.Choose(k)
		require.NoError(t, err)
		require.True(t, ok)
		seen[choice.Place]++
	}
	require.Len(t, seen, 4+2+2) // GPUs of a, 2 and 3 of b, both of c
	for place, times := range seen {
		require.Greater(t, times, 40, place) // a third of the draws over at most four GPUs
	}
}

// What is fragmented of a node, by the definition and by hand. 1,000 tasks of 2 GPUs and 3,000 of
// half a GPU; the node has GPUs with 1000, 400 and 700 left.
func TestFragmentation(t *testing.T) {
	s, err := bench.NewSession([]bench.NodeSpec{{Name: "a", CPUMilli: 10_000, GPUs: 3, Model: "T4"}}, bench.FGD())
	require.NoError(t, err)
	kinds := map[string]bench.Kind{}
	for name, r := range map[string]bench.Request{
		"pair": {CPUMilli: 2000, GPUs: 2, Milli: 1000}, "half": {CPUMilli: 2000, GPUs: 1, Milli: 500},
		"rare": {GPUs: 1, Milli: 1}, "600": {GPUs: 1, Milli: 600}, "300": {GPUs: 1, Milli: 300},
		"cpu": {CPUMilli: 9000}, "other": {GPUs: 1, Milli: 500, Models: "A10"},
	} {
		kinds[name], err = s.Kind(r)
		require.NoError(t, err)
	}
	require.NoError(t, s.Hold(kinds["600"], bench.Place{GPUs: berth.GPUSetOf(1)}))
	require.NoError(t, s.Hold(kinds["300"], bench.Place{GPUs: berth.GPUSetOf(2)}))
	measure := func(mix bench.Mix) float64 { return bench.NewFragmentation(s.Fleet(), mix).Of(0) }
	pair, half := bench.KindCount{Kind: kinds["pair"], Count: 1000}, bench.KindCount{Kind: kinds["half"], Count: 3000}
	require.InDelta(t, 2100, measure(bench.Mix{pair}), 1e-9, "one GPU is whole, so nothing is of use to a pair")
	require.InDelta(t, 400, measure(bench.Mix{half}), 1e-9, "all but the 400")
	require.InDelta(t, 0.25*2100+0.75*400, measure(bench.Mix{pair, half}), 1e-9)
	require.InDelta(t, 2100, measure(bench.Mix{{Kind: kinds["cpu"], Count: 1}}), 1e-9, "a task without GPUs has no use for them")
	require.InDelta(t, 2100, measure(bench.Mix{{Kind: kinds["other"], Count: 1}}), 1e-9, "another model")
	rare := bench.KindCount{Kind: kinds["rare"], Count: 210}
	require.InDelta(t, 400, measure(bench.Mix{{Kind: half.Kind, Count: 3990}, rare}), 1e-9, "what is rare is not typical")
	require.Zero(t, measure(nil))
}
