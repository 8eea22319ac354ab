package gang

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

// upTo is a request with the classes of tiers up to one, and all members or none; nil: a group has
// none.
func upTo(q *Request, most int32) *Request {
	one := *q
	one.Groups = slices.Clone(q.Groups)
	for i := range one.Groups {
		g := &one.Groups[i]
		g.MinMembers = g.Members
		if len(g.Tiers) == 0 {
			continue
		}
		var classes []topology.NodeClass
		var kinds []int32
		for k, class := range g.Classes {
			if g.Tiers[k] <= most {
				classes = append(classes, class)
				if len(g.Kinds) > 0 {
					kinds = append(kinds, g.Kinds[k])
				}
			}
		}
		if g.Classes, g.Kinds, g.Tiers = classes, kinds, nil; len(classes) == 0 {
			return nil
		}
	}
	return &one
}

// TestTiers: a gang goes where a request for the least tiers that hold all of it puts it, and where
// none but all do, where one without tiers does.
func TestTiers(t *testing.T) {
	first, second, all, nowhere := 0, 0, 0, 0
	for seed := range drawn.Seeds(500) {
		r := dice{rand.New(rand.NewPCG(seed, 61))}
		w := r.fleet(t)
		q := r.request(w)
		if r.chance(30) {
			r.vary(w, q)
		}
		some := false
		for i := range q.Groups {
			g := &q.Groups[i]
			if g.Claim.GPUs == 0 {
				continue
			}
			some = true
			for range g.Classes {
				g.Tiers = append(g.Tiers, int32(r.IntN(3)))
			}
		}
		if !some {
			continue
		}
		require.NoError(t, w.fleet.Validate(q), describe(w, q))
		var expected, got Placement
		ok, tier := false, int32(0)
		for ; tier < 2 && !ok; tier++ {
			if one := upTo(q, tier); one != nil {
				ok = w.fleet.Place(one, &expected)
			}
		}
		if !ok {
			plain := upTo(q, 2)
			for i := range plain.Groups {
				plain.Groups[i].MinMembers = q.Groups[i].MinMembers
			}
			ok, tier = w.fleet.Place(plain, &expected), 3
		}
		members, domain := slices.Clone(expected.Members), expected.Domain
		if ok {
			require.NoError(t, w.fleet.ReleaseAll(&expected))
		}
		require.Equal(t, ok, w.fleet.Place(q, &got), describe(w, q))
		switch {
		case !ok:
			nowhere++
			continue
		case tier == 1:
			first++
		case tier == 2:
			second++
		default:
			all++
		}
		require.Equal(t, members, got.Members, describe(w, q))
		require.Equal(t, domain, got.Domain)
	}
	if drawn.Many() {
		require.Greater(t, min(first, second, all, nowhere), 50, "%d %d %d %d", first, second, all, nowhere)
	}
}

// TestTiersDoNotAllocate: each tier costs a search and no memory.
func TestTiersDoNotAllocate(t *testing.T) {
	f := fleetOf(t, "p/a:8,8", "p/b:8,8,8")
	for _, n := range []string{"c0", "c1"} {
		_, err := f.AddNode(NodeSpec{Name: n, Path: []string{"p", "c"}, Class: 1, GPUs: 8})
		require.NoError(t, err)
	}
	var p Placement
	for members, class := range map[int]int{2: 1, 3: 0} { // three are too many for the nodes of tier 0
		q := &Request{Groups: []Group{{Members: members, Claim: Claim{GPUs: 8}, Classes: []topology.NodeClass{0, 1}, Tiers: []int32{1, 0}}}}
		place := func() {
			require.True(t, f.Place(q, &p))
			require.Equal(t, topology.NodeClass(class), f.Tree().NodeClass(p.Members[0].Hold.Node))
			require.NoError(t, f.ReleaseAll(&p))
		}
		place()
		require.Zero(t, testing.AllocsPerRun(10, place))
	}
}
