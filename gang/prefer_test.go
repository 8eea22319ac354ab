package gang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// fleetOf builds a fleet from a map of it: one word a leaf, "spine/leaf:free,free,…",
// each number a node with that many of its 8 GPUs free. Nodes are named by leaf and
// position. An "s" after the number gives the node class 1 instead of 0.
func fleetOf(tb testing.TB, leaves ...string) *Fleet {
	f, err := NewFleet("spine", "leaf")
	require.NoError(tb, err)
	for _, word := range leaves {
		path, nodes, _ := strings.Cut(word, ":")
		for i, node := range strings.Split(nodes, ",") {
			var free int
			_, err := fmt.Sscan(strings.TrimSuffix(node, "s"), &free)
			require.NoError(tb, err)
			s := NodeSpec{Path: strings.Split(path, "/"), GPUs: 8, GPUMemoryMiB: 80_000, Host: countable.Amounts{countable.CPUMilli: 64_000, countable.MemoryMiB: 1 << 20}}
			s.Name = fmt.Sprint(s.Path[1], i)
			if strings.HasSuffix(node, "s") {
				s.Class = 1
			}
			n, err := f.AddNode(s)
			require.NoError(tb, err)
			if free < 8 {
				require.NoError(tb, f.Hold(Hold{Node: n, GPUs: lowMask(8 - free)}))
			}
		}
	}
	return f
}

// where tells a placement: for each node in the order of members its name and how
// many members it has, and the level and domain of it all.
func where(f *Fleet, p *Placement) string {
	var b strings.Builder
	for i, m := range p.Members {
		if i > 0 && p.Members[i-1].Hold.Node == m.Hold.Node {
			b.WriteString("+")
			continue
		}
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(f.Tree().NodeName(m.Hold.Node))
	}
	if p.Level == f.Tree().NodeLevel() {
		return b.String()
	}
	return b.String() + " in " + f.Tree().DomainString(p.Domain)
}

// TestPreferences is what Place prefers, case by case. A "+" is one more member on
// the same node.
func TestPreferences(t *testing.T) {
	zero, both := []topology.NodeClass{0}, []topology.NodeClass{1, 0}
	gpus := func(count, gpus int) Request {
		return Request{Groups: []Group{{Members: count, Claim: Claim{GPUs: gpus}, Classes: zero}}}
	}
	with := func(r Request, change func(*Request)) Request { change(&r); return r }
	for _, c := range []struct {
		what    string
		fleet   []string
		request Request
		want    string
	}{
		{"the fewest free GPUs that will do", []string{"p/a:8,4", "p/b:3,1"}, gpus(1, 2), "b0"},
		{"of equal nodes the one in the fullest leaf", []string{"p/a:8,8", "p/b:8,1"}, gpus(1, 8), "b0"},
		{"of equal leaves the one in the fullest spine", []string{"p/a:8", "p/b:8", "q/c:8"}, gpus(1, 8), "c0"},
		{"of equals the smaller name", []string{"p/b:8", "p/a:8"}, gpus(1, 8), "a0"},
		{"the class that comes first", []string{"p/a:8,8s"}, with(gpus(1, 8), func(r *Request) { r.Groups[0].Classes = both }), "a1"},
		{"a tighter node of another class", []string{"p/a:4,8s"}, with(gpus(1, 4), func(r *Request) { r.Groups[0].Classes = both }), "a0"},
		{"one node for a whole gang", []string{"p/a:8,6,4"}, gpus(3, 2), "a1++"},
		{"one leaf before two tight ones", []string{"p/a:4", "p/b:8,8,8,8", "p/c:4"}, gpus(2, 8), "b0 b1 in p/b"},
		{"the tightest leaf", []string{"p/a:8,8,8", "p/b:8,8", "p/c:8,8,8,8"}, gpus(2, 8), "b0 b1 in p/b"},
		{"one spine before the fleet", []string{"p/a:8", "q/b:8,8", "q/c:8", "q/d:8,8"}, gpus(5, 8), "b0 b1 d0 d1 c0 in q"},
		{"the roomiest leaves first, the rest where it fits best", []string{"p/a:8,8,8", "p/b:8", "p/c:8,8", "p/d:8,8,8,8"}, gpus(5, 8), "d0 d1 d2 d3 b0 in p"},
		{"the fleet if it must be", []string{"p/a:8", "q/b:8"}, gpus(2, 8), "a0 b0 in fleet"},
		{"the roomiest nodes first, the rest on the tightest", []string{"p/a:8,5,8,2,1"}, gpus(9, 2), "a0+++ a2+++ a3 in p/a"},
		{"not below the preferred level", []string{"p/a:8,8", "p/b:4,4", "q/c:7"}, with(gpus(2, 4), func(r *Request) { r.Preferred = leafLevel }), "b0 b1 in p/b"},
		{"a wider level if the preferred one is full", []string{"p/a:4", "p/b:4"}, with(gpus(2, 4), func(r *Request) { r.Preferred = leafLevel }), "a0 b0 in p"},
		{"the required level or nothing", []string{"p/a:4", "p/b:4"}, with(gpus(2, 4), func(r *Request) { r.Required = leafLevel }), "nothing"},
		{"only within a domain", []string{"p/a:1", "p/b:8"}, with(gpus(1, 1), func(r *Request) { r.Within = 3 }), "b0"},
		{"segments on a leaf each", []string{"p/a:8,8,8", "p/b:8", "p/c:8,8"}, with(gpus(4, 8), func(r *Request) { r.Groups[0].Segments = []Segment{{2, leafLevel}} }), "a0 a1 c0 c1 in p"},
		{"segments on a node each", []string{"p/a:6,3,4,4"}, with(gpus(4, 2), func(r *Request) { r.Groups[0].Segments = []Segment{{2, 3}} }), "a2+ a3+ in p/a"},
		{"the last segment where it fits best", []string{"p/a:8,8,8", "p/c:8,8", "p/d:8,8,8,8"}, with(gpus(6, 8), func(r *Request) { r.Groups[0].Segments = []Segment{{2, leafLevel}} }), "d0 d1 d2 d3 c0 c1 in p"},
		{"room for segments is what counts", []string{"p/a:8,8,8", "p/b:8,8,8", "p/e:8", "q/c:8,8", "q/d:8,8", "q/f:8,8"}, with(gpus(4, 8), func(r *Request) { r.Groups[0].Segments = []Segment{{2, leafLevel}} }), "a0 a1 b0 b1 in p"},
		{"no fewer than whole segments", []string{"p/a:8,8,8", "p/b:8"}, with(gpus(4, 8), func(r *Request) { r.Groups[0].Segments = []Segment{{2, leafLevel}} }), "nothing"},
		{"the minimum, and then what fits", []string{"p/a:8,8", "q/b:8"}, with(gpus(8, 8), func(r *Request) { r.Groups[0].MinMembers = 2 }), "a0 a1 b0 in fleet"},
		{"the minimum, and then what fits in the required level", []string{"p/a:8,8,8", "q/b:8"}, with(gpus(8, 8), func(r *Request) { r.Groups[0].MinMembers, r.Required = 2, spineLevel }), "a0 a1 a2 in p/a"},
		{"host members in the lowest domain, where the fewest GPUs are free", []string{"p/a:8,3", "p/b:1"}, Request{Groups: []Group{{Members: 3, Claim: Claim{Host: countable.Amounts{countable.CPUMilli: 32_000}}, Classes: zero}}}, "a1+ a0 in p/a"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := fleetOf(t, c.fleet...)
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

// TestSharesPackTight: shares go onto the fullest GPU of their owner that has enough,
// and open a new one by the rule for single GPUs.
func TestSharesPackTight(t *testing.T) {
	f := fleetOf(t, "p/a:8,8", "p/b:8,2", "p/c:0s")
	place := func(owner Owner, milli int32, memory int64) string {
		r := Request{Groups: []Group{{Members: 1, Claim: Claim{Share: Share{GPUMilli: milli, MemoryMiB: memory, Owner: owner}}, Classes: []topology.NodeClass{1, 0}}}}
		var p Placement
		if !f.Place(&r, &p) {
			return "nothing"
		}
		require.NoError(t, f.Check())
		h := p.Members[0].Hold
		for gpu := range 64 {
			if h.GPUs == 1<<gpu {
				return fmt.Sprint(where(f, &p), " ", gpu, " ", h.Share.MemoryMiB)
			}
		}
		return "several GPUs"
	}
	require.Equal(t, "b1 6 24000", place(1, 300, 0), "a GPU of the node with the fewest free")
	require.Equal(t, "b1 6 48000", place(1, 600, 0), "beside the first")
	require.Equal(t, "b1 7 16000", place(1, 200, 0), "the first GPU has only 100 thousandths left")
	require.Equal(t, "b1 6 8000", place(1, 100, 0), "the fullest that has enough")
	require.Equal(t, "b0 0 16000", place(2, 200, 0), "never beside another owner")
	require.Equal(t, "b1 7 64000", place(1, 100, 64_000), "all the memory of a GPU")
	require.Equal(t, "b0 1 1", place(1, 100, 1), "there is compute left, but no memory")
	require.Equal(t, "nothing", place(1, 100, 80_001))

	// A GPU that fails, and a node that takes no work, are not filled up.
	b, ok := f.Tree().Lookup("p", "b")
	require.True(t, ok)
	b0 := f.Tree().Nodes(b)[0]
	f.SetHealthy(b0, 1, false)
	require.Equal(t, "b0 2 1", place(1, 100, 1))
	f.SetHealthy(b0, 1, true)
	f.SetSchedulable(b0, false)
	require.Equal(t, "a0 0 1", place(1, 100, 1))
	f.SetSchedulable(b0, true)
	require.Equal(t, "a0 0 1", place(1, 900, 1), "of three equally full GPUs the one of the smaller name")
	require.Equal(t, "b0 1 1", place(1, 900, 1))
}

// TestSharesOfSeveralClasses: the fullest GPU comes before the class, also on one
// node.
func TestSharesOfSeveralClasses(t *testing.T) {
	f := fleetOf(t, "p/a:8,8s")
	share := func(milli int32) Share { return Share{GPUMilli: milli, MemoryMiB: 1, Owner: 1} }
	for _, h := range []Hold{{Node: 0, GPUs: 1 << 3, Share: share(700)}, {Node: 0, GPUs: 1 << 2, Share: share(400)}, {Node: 1, GPUs: 1, Share: share(500)}} {
		require.NoError(t, f.Hold(h))
	}
	r := Request{Groups: []Group{{Members: 1, Claim: Claim{Share: share(200)}, Classes: []topology.NodeClass{1, 0}}}}
	var p Placement
	require.True(t, f.Place(&r, &p))
	require.Equal(t, Hold{Node: 0, GPUs: 1 << 3, Share: share(200)}, p.Members[0].Hold)
	require.NoError(t, f.ReleaseAll(&p))

	r.Groups[0].Members, r.Required = 2, f.Tree().NodeLevel()
	require.True(t, f.Place(&r, &p))
	require.Equal(t, "a0+", where(f, &p), "the node with the fewest free GPUs")
	require.EqualValues(t, 1<<3, p.Members[0].Hold.GPUs)
	require.EqualValues(t, 1<<2, p.Members[1].Hold.GPUs)
}

// TestTheHostInTheWay: where GPUs are free but the host is short the search goes on, in
// order.
func TestTheHostInTheWay(t *testing.T) {
	node := func(f *Fleet, leaf string, i int) topology.NodeIndex {
		d, ok := f.Tree().Lookup("p", leaf)
		require.True(t, ok)
		return f.Tree().Nodes(d)[i]
	}
	zero := []topology.NodeClass{0}
	var p Placement

	// The tightest leaf only seems to have room; the next one is the next tightest.
	f := fleetOf(t, "p/a:8,8", "p/b:8,8,8,8", "p/c:8,8,8")
	require.NoError(t, f.SetHost(node(f, "a", 1), countable.Amounts{}))
	r := Request{Groups: []Group{{Members: 2, Claim: Claim{GPUs: 8, Host: countable.Amounts{countable.CPUMilli: 1}}, Classes: zero}}}
	require.True(t, f.Place(&r, &p))
	require.Equal(t, "c0 c1 in p/c", where(f, &p))

	// Segments on a node each: a node with CPU for three members takes two.
	f = fleetOf(t, "p/a:8,8")
	require.NoError(t, f.SetHost(node(f, "a", 0), countable.Amounts{countable.CPUMilli: 3_000}))
	r = Request{Groups: []Group{{Members: 6, Claim: Claim{GPUs: 1, Host: countable.Amounts{countable.CPUMilli: 1_000}}, Classes: zero, Segments: []Segment{{2, 3}}}}}
	r.Preferred = leafLevel
	require.NoError(t, f.SetHost(node(f, "a", 1), countable.Amounts{countable.CPUMilli: 5_000}))
	require.True(t, f.Place(&r, &p))
	require.Equal(t, "a0+ a1+++ in p/a", where(f, &p))

	// The larger group would take the CPU that the other one needs.
	f = fleetOf(t, "p/a:2,2")
	require.NoError(t, f.SetHost(node(f, "a", 0), countable.Amounts{countable.CPUMilli: 8_000}))
	require.NoError(t, f.SetHost(node(f, "a", 1), countable.Amounts{countable.CPUMilli: 2_000}))
	r = Request{Groups: []Group{
		{Members: 2, Claim: Claim{GPUs: 1, Host: countable.Amounts{countable.CPUMilli: 1_000}}, Classes: zero},
		{Members: 1, Claim: Claim{GPUs: 1, Host: countable.Amounts{countable.CPUMilli: 8_000}}, Classes: zero},
	}}
	require.True(t, f.Place(&r, &p))
	require.Equal(t, "a1+ a0 in p/a", where(f, &p))
	require.NoError(t, f.Check())
}

// TestGroupsOfAGang: gangs with several groups keep their levels, hardest first.
func TestGroupsOfAGang(t *testing.T) {
	zero := []topology.NodeClass{0}
	f := fleetOf(t, "p/a:8,8", "p/b:8,4", "q/c:8,8,8,8")
	r := Request{
		Groups: []Group{
			{Members: 1, Claim: Claim{Host: countable.Amounts{countable.CPUMilli: 1_000}}, Classes: zero},
			{Members: 2, Claim: Claim{GPUs: 8}, Classes: zero, Required: leafLevel},
			{Members: 3, Claim: Claim{GPUs: 4}, Classes: zero, Required: leafLevel},
			{Members: 2, Claim: Claim{Share: Share{GPUMilli: 500, Owner: 1}}, Classes: zero},
		},
		Required: spineLevel,
	}
	var p Placement
	require.True(t, f.Place(&r, &p))
	// By group: the host member on a full node, two whole nodes, two members of 4 on
	// one node and one on the next, and both shares on a GPU beside it.
	require.Equal(t, "c0+ c1 c2+ c3++ in q/c", where(f, &p))
	require.Equal(t, p.Members[6].Hold.GPUs, p.Members[7].Hold.GPUs)
	require.Equal(t, 3, f.Tree().FreeOfClass(p.Domain, 0))
}

// TestDiagnose is the reason given, case by case.
func TestDiagnose(t *testing.T) {
	zero := []topology.NodeClass{0}
	fleet := []string{"p/a:8,4", "p/b:8,0", "q/c:8,2"}
	one := func(g Group) Request {
		if g.Classes == nil {
			g.Classes = zero
		}
		return Request{Groups: []Group{g}}
	}
	spread := one(Group{Members: 3, Claim: Claim{GPUs: 8}})
	spread.Required = spineLevel
	node := one(Group{Members: 2, Claim: Claim{GPUs: 8}})
	node.Required = 3
	for _, c := range []struct {
		what    string
		request Request
		want    Shortfall
	}{
		{
			"no node of the class", one(Group{Members: 1, Claim: Claim{GPUs: 1}, Classes: []topology.NodeClass{4}}),
			Shortfall{Needed: 1, Bottleneck: BottleneckNodes},
		},
		{
			"no node that matches", one(Group{Members: 1, Claim: Claim{GPUs: 1}, Match: func(topology.NodeIndex) bool { return false }}),
			Shortfall{Needed: 1, Bottleneck: BottleneckNodes},
		},
		{
			"too few GPUs", one(Group{Members: 5, MinMembers: 4, Claim: Claim{GPUs: 8}}),
			Shortfall{Needed: 4, EligibleNodes: 6, FittingNodes: 3, Members: 3, MembersInDomain: 3, IfIdle: 6, IfIdleInDomain: 6, Bottleneck: BottleneckGPUs},
		},
		{
			"more than there will ever be", one(Group{Members: 7, Claim: Claim{GPUs: 8}}),
			Shortfall{Needed: 7, EligibleNodes: 6, FittingNodes: 3, Members: 3, MembersInDomain: 3, IfIdle: 6, IfIdleInDomain: 6, Bottleneck: BottleneckGPUs},
		},
		{
			"too little CPU", one(Group{Members: 4, Claim: Claim{GPUs: 1, Host: countable.Amounts{countable.CPUMilli: 64_001}}}),
			Shortfall{Needed: 4, EligibleNodes: 6, FittingNodes: 5, Bottleneck: bottleneckOf(countable.CPUMilli)},
		},
		{
			"too little memory", one(Group{Members: 1, Claim: Claim{Host: countable.Amounts{countable.MemoryMiB: 1<<20 + 1}}}),
			Shortfall{Needed: 1, EligibleNodes: 6, FittingNodes: 6, Bottleneck: bottleneckOf(countable.MemoryMiB)},
		},
		{
			"shares", one(Group{Members: 61, Claim: Claim{Share: Share{GPUMilli: 501, Owner: 1}}}),
			Shortfall{Needed: 61, EligibleNodes: 6, FittingNodes: 5, Members: 30, MembersInDomain: 30, IfIdle: 48, IfIdleInDomain: 48, Bottleneck: BottleneckShares},
		},
		{
			"not in one spine", spread,
			Shortfall{Needed: 3, EligibleNodes: 6, FittingNodes: 3, Members: 3, MembersInDomain: 2, Domain: 1, IfIdle: 6, IfIdleInDomain: 4, LargestDomain: 1, Bottleneck: BottleneckFragmentation},
		},
		{
			"not on one node", node,
			Shortfall{Needed: 2, EligibleNodes: 6, FittingNodes: 3, Members: 3, MembersInDomain: 1, Domain: 2, IfIdle: 6, IfIdleInDomain: 1, LargestDomain: 2, Bottleneck: BottleneckFragmentation},
		},
		{
			"not together",
			Request{Groups: []Group{
				{Members: 1, Claim: Claim{GPUs: 1}, Classes: zero},
				{Members: 3, Claim: Claim{GPUs: 8}, Classes: zero},
				{Members: 2, Claim: Claim{GPUs: 4}, Classes: zero},
			}},
			Shortfall{Group: 1, Needed: 3, EligibleNodes: 6, FittingNodes: 3, Members: 3, MembersInDomain: 3, IfIdle: 6, IfIdleInDomain: 6, Bottleneck: BottleneckFragmentation},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := fleetOf(t, fleet...)
			before := dump(f)
			got, short := f.Diagnose(&c.request)
			require.True(t, short)
			require.Equal(t, c.want, got)
			require.Equal(t, before, dump(f))
			require.NoError(t, f.Check())
		})
	}
	f := fleetOf(t, fleet...)
	fits := one(Group{Members: 3, Claim: Claim{GPUs: 8}})
	_, short := f.Diagnose(&fits)
	require.False(t, short)
	require.Equal(t, 30, f.Tree().FreeOfClass(topology.RootDomain, 0), "nothing is held")
	require.Equal(t, "fragmentation", BottleneckFragmentation.String())
	require.Equal(t, "Bottleneck(99)", Bottleneck(99).String())
}
