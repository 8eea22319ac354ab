package gang

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// TestWishes is what nesting, balance, spread, alignment and the locality do, case by case.
func TestWishes(t *testing.T) {
	zero, both := []topology.NodeClass{0}, []topology.NodeClass{0, 1}
	one := func(g Group) Request {
		if g.Classes == nil {
			g.Classes = zero
		}
		return Request{Groups: []Group{g}}
	}
	with := func(r Request, change func(*Request)) Request { change(&r); return r }
	for _, c := range []struct {
		what    string
		fleet   []string
		request Request
		want    string
	}{
		{"segments inside segments", []string{"p/a:8,4", "p/b:2,2", "p/c:6,6"}, one(Group{Members: 8, Claim: Claim{GPUs: 2}, Segments: []Segment{{4, 2}, {2, 3}}}), "a0+++ c0+ c1+ in p"},
		{"inner segments are rounded first", []string{"p/a:6,6", "q/b:8,0"}, one(Group{Members: 6, Claim: Claim{GPUs: 2}, Segments: []Segment{{6, 2}, {2, 3}}}), "nothing"},
		{"as many as come together, wherever they are", []string{"p/a:6", "q/b:0"}, one(Group{Members: 8, MinMembers: 4, Claim: Claim{GPUs: 1}, Segments: []Segment{{4, 0}, {2, 2}}}), "a0+++"},
		{"balanced over two leaves", []string{"p/a:8,8,8,8", "p/b:8,8,8,8"}, one(Group{Members: 6, Claim: Claim{GPUs: 8}, Balance: 2}), "a0 a1 a2 b0 b1 b2 in p"},
		{"balanced as far as there is room", []string{"p/a:8,8,8,8", "p/b:8", "q/c:8,8"}, with(one(Group{Members: 5, Claim: Claim{GPUs: 8}, Balance: 2}), func(r *Request) { r.Required = 1 }), "a0 a1 a2 a3 b0 in p"},
		{"balanced in segments", []string{"p/a:8,8,8,8", "p/b:8,8,8,8"}, one(Group{Members: 6, Claim: Claim{GPUs: 8}, Segments: []Segment{{2, 2}}, Balance: 2}), "a0 a1 a2 a3 b0 b1 in p"},
		{"no balance where one domain holds all", []string{"p/a:8,8,8", "p/b:8,8,8"}, one(Group{Members: 3, Claim: Claim{GPUs: 8}, Balance: 2}), "a0 a1 a2 in p/a"},
		{"spread over all leaves, and one of them used up", []string{"p/a:8,8,8", "p/b:8,8,8", "p/c:8,8"}, one(Group{Members: 4, Claim: Claim{GPUs: 8}, Spread: 2, MaxSkew: 1}), "a0 b0 c0 c1 in p"},
		{"a full leaf is in the way of a spread", []string{"p/a:8,8,8", "p/b:8,8,8", "p/c:0,7"}, one(Group{Members: 4, Claim: Claim{GPUs: 8}, Spread: 2, MaxSkew: 1}), "nothing"},
		{"a larger skew", []string{"p/a:8,8,8", "p/b:8,8,8", "p/c:0,7"}, one(Group{Members: 4, Claim: Claim{GPUs: 8}, Spread: 2, MaxSkew: 2}), "a0 a1 b0 b1 in p"},
		{"a skew counts in whole segments", []string{"p/a:8,8,8,8,8,8", "p/b:8,8,8,8,8,8", "p/c:8,8"}, one(Group{Members: 10, Claim: Claim{GPUs: 8}, Segments: []Segment{{2, 2}}, Spread: 2, MaxSkew: 3}), "a0 a1 a2 a3 b0 b1 b2 b3 c0 c1 in p"},
		{"spread in the tightest domain of the required level", []string{"p/a:8,8", "p/b:8,8", "q/c:8,8", "q/d:8"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}, Spread: 2, MaxSkew: 1}), func(r *Request) { r.Required = 1 }), "c0 d0 in q"},
		{"the same GPUs on every node", []string{"p/a:4,4,6,6"}, one(Group{Members: 3, Claim: Claim{GPUs: 4}, RailLevel: 2}), "a0 a1 a2 in p/a"},
		{"equally many nodes and free GPUs, so the lowest mask", []string{"p/a:8,8", "p/b:2,2,2"}, one(Group{Members: 5, Claim: Claim{GPUs: 2}, RailLevel: 2}), "a0++ a1+ in p/a"},
		{"several classes side by side", []string{"p/a:8s,8"}, one(Group{Members: 2, Claim: Claim{GPUs: 8}, Classes: both}), "a1 a0 in p/a"},
		{"close by default", []string{"p/a:8,8,8,8", "p/b:8,4,4", "p/c:8,4,4"}, one(Group{Members: 2, Claim: Claim{GPUs: 8}}), "a0 a1 in p/a"},
		{"loose takes the pieces", []string{"p/a:8,8,8,8", "p/b:8,4,4", "p/c:8,4,4"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}}), func(r *Request) { r.Locality = LocalityLoose }), "b0 c0 in p"},
		{"balanced climbs one level", []string{"p/a:8,8,8,8", "p/b:8,4,4", "p/c:8,4,4"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}}), func(r *Request) { r.Locality = LocalityBalanced }), "b0 c0 in p"},
		{"balanced does not climb two", []string{"p/a:8,8,8,8", "q/b:8,4,4", "s/c:8,4,4"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}}), func(r *Request) { r.Locality = LocalityBalanced }), "a0 a1 in p/a"},
		{"loose climbs as far as is allowed", []string{"p/a:8,8,8,8", "q/b:8,4,4", "s/c:8,4,4"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}}), func(r *Request) { r.Locality = LocalityLoose }), "b0 c0 in fleet"},
		{"loose and required", []string{"p/a:8,8,8,8", "q/b:8,4,4", "s/c:8,4,4"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}}), func(r *Request) { r.Locality, r.Required = LocalityLoose, 1 }), "a0 a1 in p/a"},
		{"the leaf that is broken already", []string{"p/a:8,8,8", "p/b:8,8,8,4"}, one(Group{Members: 1, Claim: Claim{GPUs: 8}}), "b0"},
		{"the leaf that is used up", []string{"p/a:8,8", "p/b:8,8,4", "p/c:8"}, one(Group{Members: 2, Claim: Claim{GPUs: 8}}), "a0 a1 in p/a"},
		{"host members close by, if they ask for it", []string{"p/a:8,3", "p/b:1,1"}, with(one(Group{Members: 4, Claim: Claim{Host: countable.Amounts{countable.CPUMilli: 32_000}}}), func(r *Request) { r.Required = 2 }), "a1+ a0+ in p/a"},
		{"room for segments is what counts for host members, too", []string{"p/a:1,1,1", "p/b:1,1,1", "p/e:1", "q/c:1,1", "q/d:1,1", "q/f:1,1"}, with(one(Group{Members: 4, Claim: Claim{Host: countable.Amounts{countable.CPUMilli: 64_000}}, Segments: []Segment{{2, 2}}}), func(r *Request) { r.Required = 1 }), "a0 a1 b0 b1 in p"},
		{"a spread group in its own domain, the gang in a lower one than required", []string{"p/a:8,8", "p/b:8,8", "q/c:8", "q/d:8"}, Request{Groups: []Group{
			{Members: 2, Claim: Claim{GPUs: 8}, Classes: zero, Required: 1, Spread: 2, MaxSkew: 1},
			{Members: 2, Claim: Claim{GPUs: 8}, Classes: zero},
		}}, "a0 b0 a1 b1 in p"},
		{"equally tight leaves, one in a spine that is broken already", []string{"p/a:8,8,8", "p/b:8,8", "q/c:8,8,8", "q/d:8,4"}, with(one(Group{Members: 2, Claim: Claim{GPUs: 8}}), func(r *Request) { r.Within = 0 }), "b0 b1 in p/b"},
		{"equally tight leaves, both broken, one in a spine that is whole", []string{"p/a:8,8,8", "p/b:8,8,8", "q/c:8,8,8", "q/d:8,4"}, one(Group{Members: 2, Claim: Claim{GPUs: 8}}), "c0 c1 in q/c"},
		{"shares close by, if they ask for it", []string{"p/a:2,1", "p/b:1,1"}, with(one(Group{Members: 4, Claim: Claim{Share: Share{GPUMilli: 500, Owner: 1}}}), func(r *Request) { r.Required = 2 }), "a0+++"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := fleetOf(t, c.fleet...)
			require.NoError(t, f.Validate(&c.request))
			var p Placement
			got := "nothing"
			if f.Place(&c.request, &p) {
				got = where(f, &p)
			}
			require.Equal(t, c.want, got)
			require.NoError(t, f.Check())
		})
	}
}

// TestAlignChoosesItsMask: of equally few nodes the mask that strands the fewest GPUs, then
// the lowest.
func TestAlignChoosesItsMask(t *testing.T) {
	f := fleetOf(t, "p/a:8,8,8")
	for n, held := range []uint64{0b0000_0001, 0b0000_0011, 0b1111_0000} {
		require.NoError(t, f.Hold(Hold{Node: topology.NodeIndex(n), GPUs: held}))
	}
	r := Request{Groups: []Group{{Members: 3, Claim: Claim{GPUs: 2}, Classes: []topology.NodeClass{0}, RailLevel: 2}}}
	var p Placement
	require.True(t, f.Place(&r, &p)) // on one node
	require.Equal(t, "a1++", where(f, &p))
	require.NoError(t, f.ReleaseAll(&p))

	r.Groups[0].Members = 4
	require.True(t, f.Place(&r, &p))
	// Three on one node and one on another: a mask of six needs them to be free, and a0 has
	// seven, a1 six.
	require.Equal(t, "a1++ a2 in p/a", where(f, &p))
	require.EqualValues(t, 0b1111_1100, p.Members[0].Hold.GPUs|p.Members[1].Hold.GPUs|p.Members[2].Hold.GPUs)
	require.EqualValues(t, 0b0000_1100, p.Members[3].Hold.GPUs)
	require.NoError(t, f.Check())
}

// TestElasticWishes: what is added beyond the minimum keeps segments, skew and rails.
func TestElasticWishes(t *testing.T) {
	zero := []topology.NodeClass{0}
	for _, c := range []struct {
		what  string
		group Group
		want  string
	}{
		{"segments", Group{Members: 12, MinMembers: 4, Claim: Claim{GPUs: 4}, Segments: []Segment{{4, 2}, {2, 3}}}, "b0+ b1+ a0+ a1+ in p"},
		{"spread", Group{Members: 20, MinMembers: 2, Claim: Claim{GPUs: 8}, Spread: 2, MaxSkew: 1}, "a0 b0 c0 a1 b1 in fleet"},
		{"spread in segments", Group{Members: 20, MinMembers: 6, Claim: Claim{GPUs: 4}, Segments: []Segment{{2, 2}}, Spread: 2, MaxSkew: 3}, "a0+ b0+ c0+ a1+ b1+ in fleet"},
		{"rails", Group{Members: 20, MinMembers: 2, Claim: Claim{GPUs: 8}, RailLevel: 2}, "a0 a1 a2 in p/a"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := fleetOf(t, "p/a:8,8,8", "p/b:8,8", "q/c:8,4")
			c.group.Classes = zero
			r := Request{Groups: []Group{c.group}}
			if c.group.Spread == 0 {
				r.Required = 1
			}
			var p Placement
			require.True(t, f.Place(&r, &p))
			require.Equal(t, c.want, where(f, &p))
			require.NoError(t, f.Check())
		})
	}
}

// TestDemand: pending work that wants whole leaves makes them dearer than whole nodes.
func TestDemand(t *testing.T) {
	build := func() *Fleet { return fleetOf(t, "p/a:8,8", "p/b:8,8,8,7", "q/c:8,8,8,8") }
	r := Request{Groups: []Group{{Members: 3, Claim: Claim{GPUs: 4}, Classes: []topology.NodeClass{0}}}, Required: 2, Preferred: 2}
	var p Placement
	f := build()
	require.True(t, f.Place(&r, &p))
	require.Equal(t, "a0+ a1 in p/a", where(f, &p), "the tightest leaf")
	require.Equal(t, placementCost{Span: 2, Broken: 24}, f.costOf(&r, &p))
	f.SetBreakCost(2, 3)
	f.SetBreakCost(99, 3)
	require.Equal(t, placementCost{Span: 2, Broken: 16*4 + 8}, f.costOf(&r, &p))
	require.NoError(t, f.ReleaseAll(&p))

	r.Locality = LocalityLoose
	require.True(t, f.Place(&r, &p))
	require.Equal(t, "b0+ b3 in p/b", where(f, &p))
	require.Zero(t, f.costOf(&r, &p).Broken)
}

// TestChooser: a node's function says which GPUs a member gets, unless it talks nonsense.
func TestChooser(t *testing.T) {
	f := fleetOf(t, "p/a:8")
	highest := func(free uint64, k int) uint64 {
		for bits.OnesCount64(free) > k {
			free &= free - 1
		}
		return free
	}
	r := Request{Groups: []Group{{Members: 2, Claim: Claim{GPUs: 2}, Classes: []topology.NodeClass{0}}}}
	for _, c := range []struct {
		choose func(uint64, int) uint64
		align  topology.Level
		want   string
	}{
		{nil, 0, "3 c"},
		{highest, 0, "c0 30"},
		{highest, 2, "3 c"},
		{func(uint64, int) uint64 { return 1 }, 0, "3 c"},
		{func(uint64, int) uint64 { return 3 << 40 }, 0, "3 c"},
	} {
		f.SetChooser(0, c.choose)
		f.SetChooser(77, c.choose)
		r.Groups[0].RailLevel = c.align
		var p Placement
		require.True(t, f.Place(&r, &p))
		require.Equal(t, c.want, fmt.Sprintf("%x %x", p.Members[0].Hold.GPUs, p.Members[1].Hold.GPUs))
		require.NoError(t, f.ReleaseAll(&p))
	}
}

// TestSetClass: a node changes class with whatever it holds.
func TestSetClass(t *testing.T) {
	f := fleetOf(t, "p/a:8,8")
	require.NoError(t, f.Hold(Hold{Node: 0, GPUs: 1, Share: Share{GPUMilli: 500, Owner: 1}}))
	require.NoError(t, f.Hold(Hold{Node: 0, GPUs: 6}))
	require.NoError(t, f.SetClass(0, 9))
	require.NoError(t, f.Check())
	r := Request{Groups: []Group{{Members: 1, Claim: Claim{Share: Share{GPUMilli: 500, Owner: 1}}, Classes: []topology.NodeClass{9}}}}
	var p Placement
	require.True(t, f.Place(&r, &p))
	require.EqualValues(t, 1, p.Members[0].Hold.GPUs, "the shared GPU is found under the new class")
	require.NoError(t, f.Check())
	require.ErrorIs(t, f.SetClass(7, 9), ErrUnknown)
	require.ErrorIs(t, f.SetClass(0, -1), topology.ErrInvalid)
	small, err := f.AddNode(NodeSpec{Name: "small", Path: []string{"p", "a"}, Class: 3, GPUs: 4})
	require.NoError(t, err)
	require.ErrorIs(t, f.SetClass(small, 9), topology.ErrConflict)
	require.NoError(t, f.Check())
}
