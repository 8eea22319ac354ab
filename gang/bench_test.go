package gang

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

const (
	spineLevel topology.Level = 1
	leafLevel  topology.Level = 2
)

// loadedFleet is a fleet of nodes with 8 GPUs, 32 to a leaf and 16 leaves to a spine,
// on which 90% of the GPUs are held: of 16 nodes one is free, two have 2 GPUs free
// and one has 1.
func loadedFleet(tb testing.TB, gpus int) *Fleet {
	f, err := NewFleet("spine", "leaf")
	require.NoError(tb, err)
	for i := range gpus / 8 {
		n, err := f.AddNode(NodeSpec{
			Name: fmt.Sprintf("n%06d", i), Path: []string{fmt.Sprintf("s%03d", i/512), fmt.Sprintf("l%04d", i/32)},
			GPUs: 8, GPUMemoryMiB: 81559, Host: countable.Amounts{countable.CPUMilli: 192_000, countable.MemoryMiB: 2 << 20},
		})
		require.NoError(tb, err)
		held := 8
		switch i * 7 % 16 {
		case 3:
			held = 0
		case 5, 10:
			held = 6
		case 12:
			held = 7
		}
		if held > 0 {
			require.NoError(tb, f.Hold(Hold{Node: n, GPUs: lowMask(held), Host: countable.Amounts{countable.CPUMilli: int64(held) * 20_000, countable.MemoryMiB: int64(held) << 16}}))
		}
	}
	return f
}

type shape struct {
	name    string
	request Request
}

// shapes are the requests that the benchmarks and the guard on allocations place.
func shapes() []shape {
	all := []topology.NodeClass{0}
	withHost := func(c Claim) Claim {
		c.Host = countable.Amounts{countable.CPUMilli: 4_000, countable.MemoryMiB: 16 << 10}
		return c
	}
	one := func(g Group) Request { g.Classes = all; return Request{Groups: []Group{g}} }
	segmented := one(Group{Members: 64, Claim: Claim{GPUs: 8}, Segments: []Segment{{2, leafLevel}}})
	several := Request{Groups: []Group{
		{Members: 1, Claim: withHost(Claim{}), Classes: all},
		{Members: 16, Claim: withHost(Claim{GPUs: 8}), Classes: all},
		{Members: 4, Claim: withHost(Claim{Share: Share{GPUMilli: 250, Owner: 1}}), Classes: all},
	}, Required: spineLevel}
	wish := func(change func(*Group)) Request {
		g := Group{Members: 8, Claim: withHost(Claim{GPUs: 4})}
		change(&g)
		return one(g)
	}
	nested := wish(func(g *Group) { g.Segments = []Segment{{4, leafLevel}, {2, 3}} })
	even := wish(func(g *Group) { g.Members, g.Balance = 6, leafLevel })
	even.Preferred = spineLevel
	apart := wish(func(g *Group) { g.Spread, g.MaxSkew = leafLevel, 1; g.Members, g.Claim.GPUs = 16, 1 })
	apart.Required = spineLevel
	rails := wish(func(g *Group) { g.RailLevel = leafLevel; g.Members = 3 })
	loose := wish(func(*Group) {})
	loose.Locality = LocalityLoose
	parts := Request{
		Groups: []Group{
			{Members: 1, Part: 1, Claim: withHost(Claim{GPUs: 4}), Classes: all},
			{Members: 2, Part: 1, Claim: withHost(Claim{}), Classes: all},
			{Members: 2, Part: 2, Claim: withHost(Claim{GPUs: 8}), Classes: all},
		},
		Parts: []Part{{Required: leafLevel}, {Required: leafLevel}}, Required: spineLevel,
	}
	copies := Request{
		Groups: []Group{
			{Members: 8, Part: 1, Claim: withHost(Claim{GPUs: 1}), Classes: all},
			{Members: 8, Part: 1, Claim: withHost(Claim{GPUs: 8}), Classes: all},
		},
		Parts: []Part{{Required: leafLevel, Copies: 8}},
	}
	copiesApart := copies
	copiesApart.Apart = leafLevel
	return []shape{
		{"parts", parts},
		{"copies=8", copies},
		{"copies=8,apart", copiesApart},
		{"nested", nested},
		{"balanced", even},
		{"spread", apart},
		{"aligned", rails},
		{"loose", loose},
		{"gpus=1", one(Group{Members: 1, Claim: withHost(Claim{GPUs: 1})})},
		{"gpus=8", one(Group{Members: 1, Claim: withHost(Claim{GPUs: 8})})},
		{"share=0.25", one(Group{Members: 1, Claim: withHost(Claim{Share: Share{GPUMilli: 250, Owner: 7}})})},
		{"host", one(Group{Members: 1, Claim: withHost(Claim{})})},
		{"gpus=4x8", one(Group{Members: 4, Claim: withHost(Claim{GPUs: 8})})},
		{"gpus=32x8", one(Group{Members: 32, Claim: Claim{GPUs: 8}})},
		{"gpus=64x8", one(Group{Members: 64, Claim: Claim{GPUs: 8}})},
		{"gpus=64x8,segments", segmented},
		{"elastic", one(Group{Members: 128, MinMembers: 24, Claim: Claim{GPUs: 8}})},
		{"groups=3", several},
	}
}

func BenchmarkPlaceAndRelease(b *testing.B) {
	for _, gpus := range []int{4096, 131_072} {
		f := loadedFleet(b, gpus)
		for _, s := range shapes() {
			b.Run(fmt.Sprintf("%s/fleet=%d", s.name, gpus), func(b *testing.B) {
				var p Placement
				if !f.Place(&s.request, &p) {
					b.Skip("does not fit on this fleet")
				}
				members := len(p.Members)
				require.NoError(b, f.ReleaseAll(&p))
				b.ReportAllocs()
				for b.Loop() {
					if !f.Place(&s.request, &p) || f.ReleaseAll(&p) != nil {
						b.Fatal("does not fit any more")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(members), "ns/member")
			})
		}
	}
}

// BenchmarkPlaceByScore is BenchmarkPlaceAndRelease of single members where a scorer ranks the
// places, at next to no cost of its own.
func BenchmarkPlaceByScore(b *testing.B) {
	for _, gpus := range []int{4096, 131_072} {
		f := loadedFleet(b, gpus)
		shown := 0
		f.SetScorer(func(_ *Group, places []Place) {
			shown = len(places)
			for i := range places {
				places[i].Score = int64(places[i].Node % 7)
			}
		}, nil)
		for _, s := range shapes() {
			if g := s.request.Groups; len(g) > 1 || g[0].Members > 1 {
				continue
			}
			b.Run(fmt.Sprintf("%s/fleet=%d", s.name, gpus), func(b *testing.B) {
				var p Placement
				b.ReportAllocs()
				for b.Loop() {
					if !f.Place(&s.request, &p) || f.ReleaseAll(&p) != nil {
						b.Fatal("does not fit any more")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(shown), "ns/place")
			})
		}
	}
}

// BenchmarkRefuse is the answer no: to a gang that the counts rule out at once, and to
// one for which only the host has no room, so that every node has to be looked at.
func BenchmarkRefuse(b *testing.B) {
	all := []topology.NodeClass{0}
	f := loadedFleet(b, 131_072)
	for _, s := range []shape{
		{"counts", Request{Groups: []Group{{Members: 64, Claim: Claim{GPUs: 8}, Classes: all}}, Required: spineLevel}},
		{"host", Request{Groups: []Group{{Members: 1, Claim: Claim{GPUs: 1, Host: countable.Amounts{countable.CPUMilli: 1 << 30}}, Classes: all}}}},
	} {
		b.Run(s.name, func(b *testing.B) {
			var p Placement
			b.ReportAllocs()
			for b.Loop() {
				if f.Place(&s.request, &p) {
					b.Fatal("it fits")
				}
			}
		})
	}
}

// racks is a fleet of nodes with 8 GPUs, 16 to a rack and 16 racks to a block: idle, or 70%
// busy, with 1 to 8 idle nodes in a rack, two nodes with one GPU free, and the rest full.
func racks(tb testing.TB, nodes int, busy bool) *Fleet {
	f, err := NewFleet("block", "rack")
	require.NoError(tb, err)
	for i := range nodes {
		rack := i / 16
		n, err := f.AddNode(NodeSpec{
			Name: fmt.Sprintf("n%04d", i), Path: []string{fmt.Sprintf("b%02d", i/256), fmt.Sprintf("r%03d", rack)},
			GPUs: 8, GPUMemoryMiB: 81559, Host: countable.Amounts{countable.CPUMilli: 192_000, countable.MemoryMiB: 2 << 20},
		})
		require.NoError(tb, err)
		idle := 1 + rack*5%8
		switch at := (i + rack) % 16; {
		case !busy || at < idle:
		case at < idle+2:
			require.NoError(tb, f.Hold(Hold{Node: n, GPUs: lowMask(7)}))
		default:
			require.NoError(tb, f.Hold(Hold{Node: n, GPUs: lowMask(8)}))
		}
	}
	return f
}

// BenchmarkRequiredBlock places 512 GPUs, 8 on each of 64 nodes, in one block.
func BenchmarkRequiredBlock(b *testing.B) {
	for _, nodes := range []int{500, 4000} {
		for _, busy := range []bool{false, true} {
			f := racks(b, nodes, busy)
			state := map[bool]string{false: "idle", true: "busy"}[busy]
			for _, locality := range []Locality{LocalityStrict, LocalityLoose} {
				b.Run(fmt.Sprintf("nodes=%d/%s/%s", nodes, state, locality), func(b *testing.B) {
					looked := 0
					all := []topology.NodeClass{0}
					r := Request{Groups: []Group{{Members: 64, Claim: Claim{GPUs: 8}, Classes: all}}, Required: 1, Locality: locality}
					counted := r
					counted.Groups = []Group{r.Groups[0]}
					counted.Groups[0].Match = func(topology.NodeIndex) bool { looked++; return true }
					var p Placement
					require.True(b, f.Place(&counted, &p))
					require.NoError(b, f.ReleaseAll(&p))
					b.ReportAllocs()
					for b.Loop() {
						if !f.Place(&r, &p) || f.ReleaseAll(&p) != nil {
							b.Fatal("it does not fit")
						}
					}
					b.ReportMetric(float64(looked), "nodes/op")
				})
			}
		}
	}
}
