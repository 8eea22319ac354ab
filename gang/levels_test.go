package gang

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

// TestLevels is what each level lacks, case by case.
func TestLevels(t *testing.T) {
	zero := []topology.NodeClass{0}
	fleet := []string{"p/a:8,4", "p/b:8,6", "q/c:8,2"}
	one := func(g Group) *Request {
		g.Classes = zero
		return &Request{Groups: []Group{g}}
	}
	for _, c := range []struct {
		what    string
		request *Request
		before  func(*Fleet)
		want    []LevelShortfall
	}{
		{
			"GPUs", one(Group{Members: 4, Claim: Claim{GPUs: 8}}), nil,
			[]LevelShortfall{
				{Level: 3, Domains: 6, GPUs: 6, Best: 2, BestNode: 0, BestMembers: 1, Needed: 4},
				{Level: 2, Domains: 3, GPUs: 3, Best: 2, BestNode: -1, BestMembers: 1, Needed: 4},
				{Level: 1, Domains: 2, GPUs: 2, Best: 1, BestNode: -1, BestMembers: 2, Needed: 4},
				{Level: 0, Domains: 1, GPUs: 1, Best: 0, BestNode: -1, BestMembers: 3, Needed: 4},
			},
		},
		{
			"whole segments, and GPUs that are out of order",
			&Request{Required: 1, Preferred: 2, Groups: []Group{{Members: 4, Claim: Claim{GPUs: 4}, Classes: zero, Segments: []Segment{{4, 2}}}}},
			func(f *Fleet) { f.SetSchedulable(4, false) },
			[]LevelShortfall{
				{Level: 2, Domains: 3, GPUs: 3, Best: 2, BestNode: -1, BestMembers: 0, Needed: 4},
				{Level: 1, Domains: 2, Enough: 1, GPUs: 1, Segments: 1, Best: 1, BestNode: -1, BestMembers: 0, Needed: 4},
			},
		},
		{
			"health", one(Group{Members: 3, Claim: Claim{GPUs: 8}}), func(f *Fleet) { f.SetHealthy(0, 3, false) },
			[]LevelShortfall{
				{Level: 3, Domains: 6, GPUs: 6, Best: 3, BestNode: 2, BestMembers: 1, Needed: 3},
				{Level: 2, Domains: 3, GPUs: 3, Best: 3, BestNode: -1, BestMembers: 1, Needed: 3},
				{Level: 1, Domains: 2, GPUs: 2, Best: 1, BestNode: -1, BestMembers: 1, Needed: 3},
				{Level: 0, Domains: 1, Health: 1, Best: 0, BestNode: -1, BestMembers: 2, Needed: 3},
			},
		},
		{
			"host CPU and memory",
			&Request{Required: 1, Preferred: 1, Groups: []Group{{Members: 2, Claim: Claim{GPUs: 8, Host: countable.Amounts{countable.CPUMilli: 64_001}}, Classes: zero}}}, nil,
			[]LevelShortfall{{Level: 1, Domains: 2, Enough: 1, GPUs: 1, Host: [countable.NumResources]int{countable.CPUMilli: 1}, Best: 1, BestNode: -1, BestMembers: 0, Needed: 2}},
		},
		{
			"rails",
			&Request{Required: 2, Preferred: 2, Groups: []Group{{Members: 2, Claim: Claim{GPUs: 2}, Classes: zero, RailLevel: 2}}},
			func(f *Fleet) {
				for n := range topology.NodeIndex(6) { // two GPUs of each node that no other one of its leaf has
					free := f.FreeMask(n)
					keep := uint64(0b11)
					if n%2 == 1 {
						keep <<= 6
					}
					_ = f.Hold(Hold{Node: n, GPUs: free &^ keep})
				}
			},
			[]LevelShortfall{{Level: 2, Domains: 3, Enough: 3, Rails: 3, Best: 2, BestNode: -1, BestMembers: 2, Needed: 2}},
		},
		{
			"spread",
			&Request{Groups: []Group{{Members: 4, Claim: Claim{GPUs: 8}, Classes: zero, Spread: 1, MaxSkew: 1}}},
			func(f *Fleet) { require.NoError(t, f.Release(Hold{Node: 1, GPUs: 0xf})) },
			[]LevelShortfall{{Level: 0, Domains: 1, Enough: 1, Spread: 1, Best: 0, BestNode: -1, BestMembers: 4, Needed: 4}},
		},
		{
			"together",
			&Request{Groups: []Group{{Members: 3, Claim: Claim{GPUs: 8}, Classes: zero}, {Members: 4, Claim: Claim{GPUs: 4}, Classes: zero}}, Preferred: 1, Required: 0},
			nil,
			[]LevelShortfall{
				{Level: 1, Domains: 2, GPUs: 2, Best: 1, BestNode: -1, BestMembers: 6, Needed: 7},
				{Level: 0, Domains: 1, Enough: 1, Together: 1, Best: 0, BestNode: -1, BestMembers: 7, Needed: 7},
			},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := fleetOf(t, fleet...)
			if c.before != nil {
				c.before(f)
			}
			before := dump(f)
			require.Equal(t, c.want, f.DiagnoseLevels(c.request))
			require.Equal(t, before, dump(f))
			require.NoError(t, f.Check())
		})
	}
	require.Nil(t, fleetOf(t, fleet...).DiagnoseLevels(&Request{}))
}

// TestLevelsAddUp: every domain is counted once, and what fits is what Place finds.
func TestLevelsAddUp(t *testing.T) {
	for i := range drawn.Seeds(100) {
		r := dice{rand.New(rand.NewPCG(i, 2))}
		w := r.fleet(t)
		q := r.request(w)
		before := dump(w.fleet)
		findings := w.fleet.DiagnoseLevels(q)
		require.Equal(t, before, dump(w.fleet))
		fit := 0
		for _, l := range findings {
			sum := l.Fit + l.Health + l.GPUs + l.Segments + l.Host[countable.CPUMilli] + l.Host[countable.MemoryMiB] + l.Declared[1] + l.Rails + l.Spread + l.Together
			require.Equal(t, l.Domains, sum, "seed %d: %+v", i, l)
			fit += l.Fit
		}
		var p Placement
		total, gpus := 0, 0
		for _, g := range q.Groups {
			total += g.min()
			gpus += g.Claim.GPUs
		}
		if ok := w.fleet.Place(q, &p); total > 1 && gpus > 0 {
			require.Equal(t, ok, fit > 0, "seed %d: %s\n%+v", i, describe(w, q), findings)
		}
	}
}
