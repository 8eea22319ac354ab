package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever happened before, a policy that finds its prices anew chooses as one that has seen
// nothing: rooms and moves that were kept are right.
func TestBerthForgetsNothingButPrices(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		p := &berthPolicy{}
		s, err := NewSession(drawNodes(t), p)
		require.NoError(t, err)
		var mix Mix
		for range 8 {
			k, err := s.Kind(drawRequest(t))
			require.NoError(t, err)
			mix = append(mix, KindCount{k, rapid.Int64Range(0, 5).Draw(t, "count")})
		}
		require.NoError(t, s.Know(mix))
		var running []Task
		var where []Node
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := mix[rapid.IntRange(0, len(mix)-1).Draw(t, "kind")].Kind
			if len(running) > 0 && rapid.IntRange(0, 3).Draw(t, "step") == 0 {
				require.NoError(t, s.Release(running[0].Kind, Place{where[0], running[0].GPUs}))
				running, where = running[1:], where[1:]
			}
			p.free, p.changed = amount{}, amount{gpu: 1}
			want, _, err := twin(t, s, Berth()).Choose(k)
			require.NoError(t, err)
			got, ok, err := s.Place(k)
			require.NoError(t, err)
			require.Equal(t, want, got)
			if ok {
				running, where = append(running, Task{k, got.GPUs}), append(where, got.Node)
			}
		}
	})
}

// What a room takes, by hand: two GPUs, of which one has 500 left, and 9 cores.
func TestRoomTakes(t *testing.T) {
	s, err := NewSession([]NodeSpec{{Name: "a", CPUMilli: 10_000, GPUs: 2, Model: "T4"}, {Name: "b"}}, Berth())
	require.NoError(t, err)
	var mix Mix
	for _, r := range []Request{
		{CPUMilli: 1000, GPUs: 1, Milli: 500},
		{CPUMilli: 4000, GPUs: 1, Milli: 400},
		{CPUMilli: 1000, GPUs: 2, Milli: 1000},
		{CPUMilli: 1000, GPUs: 1, Milli: 1000, Models: "A10"},
		{CPUMilli: 3000},
	} {
		k, err := s.Kind(r)
		require.NoError(t, err)
		mix = append(mix, KindCount{k, 1})
	}
	require.NoError(t, s.Know(mix[:2]))
	require.NoError(t, s.Hold(0, Place{0, 1}))
	p := s.policy.(*berthPolicy)
	_, _, err = s.Choose(0)
	require.NoError(t, err)
	takes := func() (alone, company map[int]int) {
		alone, company = map[int]int{}, map[int]int{}
		kinds := len(p.rooms.outlook.typical)
		for _, take := range p.nodes[0].takes {
			if int(take.kind) < kinds {
				alone[int(take.kind)] = int(take.count)
			} else {
				company[int(take.kind)-kinds] = int(take.count)
			}
		}
		return alone, company
	}
	alone, company := takes()
	require.Equal(t, map[int]int{0: 3, 1: 2}, alone, "three halves; of the others the GPUs take three, and the CPU two")
	// In each sequence halves come first, and fill up the GPUs.
	require.Equal(t, map[int]int{0: 3 * outlookFills}, company)

	require.NoError(t, s.Know(mix))
	_, _, err = s.Choose(0)
	require.NoError(t, err)
	alone, _ = takes()
	require.Equal(t, map[int]int{0: 3, 1: 2}, alone, "no pair of GPUs is free, and no GPU is an A10")
	require.Empty(t, p.nodes[1].takes, "a node without GPUs is worth nothing")
}

// Sequences are drawn anew when the mix has doubled or is another one, not before.
func TestBerthLearns(t *testing.T) {
	s, err := NewSession([]NodeSpec{{Name: "a", GPUs: 8}}, Berth())
	require.NoError(t, err)
	a, err := s.Kind(Request{GPUs: 1, Milli: 500})
	require.NoError(t, err)
	b, err := s.Kind(Request{GPUs: 1, Milli: 400})
	require.NoError(t, err)
	p := s.policy.(*berthPolicy)
	outlook := func(mix Mix) *outlook {
		require.NoError(t, s.Know(mix))
		_, _, err := s.Choose(a)
		require.NoError(t, err)
		return p.rooms.outlook
	}
	first := outlook(Mix{{a, 4}})
	require.Same(t, first, outlook(Mix{{a, 5}}))
	require.Same(t, first, outlook(Mix{{a, 5}, {b, 2}}))
	second := outlook(Mix{{a, 5}, {b, 3}})
	require.NotSame(t, first, second)
	require.NotSame(t, second, outlook(Mix{{a, 4}, {b, 5}}), "one is asked for less often than it was")
	require.NotNil(t, outlook(nil))
}

// The fractions of a demand do not get lost, and no number of tasks is too large.
func TestDemand(t *testing.T) {
	r := &Request{GPUs: 8, Milli: WholeGPU}
	require.Equal(t, int64(4000)<<priceBits, demand(1, 2, r))
	require.Equal(t, int64(4000)<<priceBits, demand(1<<61, 1<<62, r))
}
