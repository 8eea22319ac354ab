package gang

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

// vary gives groups kinds to choose from, and the gang variants.
func (r dice) vary(w *world, q *Request) {
	for i := range q.Groups {
		g := &q.Groups[i]
		if g.Claim.GPUs == 0 || r.chance(25) {
			continue
		}
		for _, class := range g.Classes {
			g.Kinds = append(g.Kinds, int32(class)/2) // 0 and 1 have 8 and 4 GPUs, and are one kind
		}
	}
	if r.chance(50) {
		texts := map[topology.NodeIndex]string{}
		for i := range w.nodes {
			texts[w.nodes[i].index] = string(rune('a' + r.IntN(3)))
		}
		q.Variant = func(n topology.NodeIndex) string { return texts[n] }
	}
}

// choices are the requests with one kind for each group and one variant, told apart node by node.
func choices(w *world, q *Request) []*Request {
	plain := *q
	plain.Groups, plain.Variant = slices.Clone(q.Groups), nil
	list := []*Request{&plain}
	restrict := func(groups func(i int) bool, match func(n topology.NodeIndex, choice int) bool, of int) {
		var longer []*Request
		for _, before := range list {
			for choice := range of {
				one := *before
				one.Groups = slices.Clone(before.Groups)
				for i := range one.Groups {
					if other := one.Groups[i].Match; groups(i) {
						one.Groups[i].Kinds = nil
						one.Groups[i].Match = func(n topology.NodeIndex) bool { return match(n, choice) && (other == nil || other(n)) }
					}
				}
				longer = append(longer, &one)
			}
		}
		list = longer
	}
	for i := range q.Groups {
		if len(q.Groups[i].Kinds) > 0 {
			restrict(func(j int) bool { return j == i }, func(n topology.NodeIndex, kind int) bool { return int(w.node(n).Class)/2 == kind }, 3)
		}
	}
	if q.Variant != nil {
		restrict(func(j int) bool { return q.Groups[j].Claim.GPUs > 0 },
			func(n topology.NodeIndex, v int) bool { return q.Variant(n) == string(rune('a'+v)) }, 3)
	}
	return list
}

// serves reports whether a placement is on nodes that a request allows.
func serves(q *Request, p *Placement) bool {
	return !slices.ContainsFunc(p.Members, func(m Member) bool {
		g := &q.Groups[m.Group]
		return g.Match != nil && !g.Match(m.Hold.Node)
	})
}

// requireAlike: the members of a group are on nodes of one kind, those of the gang on one variant.
func requireAlike(t *testing.T, w *world, q *Request, p *Placement) {
	kinds, texts := map[[2]int]bool{}, map[string]bool{}
	groups := map[int]bool{}
	for _, m := range p.Members {
		g := &q.Groups[m.Group]
		if len(g.Kinds) > 0 {
			kinds[[2]int{m.Group, int(w.node(m.Hold.Node).Class) / 2}], groups[m.Group] = true, true
		}
		if q.Variant != nil && g.Claim.GPUs > 0 {
			texts[q.Variant(m.Hold.Node)] = true
		}
	}
	require.Len(t, kinds, len(groups), "a group on several kinds")
	require.LessOrEqual(t, len(texts), 1, "a gang on several variants")
}

// TestOneKindAgreesWithTheOracle: on fleets of up to 12 nodes a gang is placed exactly if one kind
// of node for each group, and one variant for the gang, can hold it, and in the lowest domain of
// all. The oracle tries all placements on each.
func TestOneKindAgreesWithTheOracle(t *testing.T) {
	placed, refused, short, chosen := 0, 0, 0, 0
	for seed := range drawn.Seeds(500) {
		r := dice{rand.New(rand.NewPCG(seed, 18))}
		w := r.fleet(t)
		q := r.request(w)
		r.vary(w, q)
		if q.oneWay() || ways(w, q) > 2_000 {
			continue
		}
		require.NoError(t, w.fleet.Validate(q), describe(w, q))
		full, least, level := 0, 0, topology.Level(-1)
		list := choices(w, q)
		for _, one := range list {
			o := all(w, one, func(g *Group) int { return g.Members })
			if o.possible() {
				full++
				if _, l, ok := o.expect(o.level, q.Required); ok {
					level = max(level, l)
				}
			} else if all(w, one, (*Group).min).possible() {
				least++
			}
		}
		var p Placement
		ok := w.fleet.Place(q, &p)
		require.Equal(t, full+least > 0, ok, "seed %d: %s", seed, describe(w, q))
		if !ok {
			refused++
			require.Empty(t, p.Members)
			_, short := w.fleet.Diagnose(q)
			require.True(t, short, "seed %d", seed)
			for _, finding := range w.fleet.DiagnoseLevels(q) {
				require.Zero(t, finding.Fit, "seed %d: it fits at level %d, %s", seed, finding.Level, describe(w, q))
			}
			continue
		}
		placed++
		w.checkPlacement(t, list[slices.IndexFunc(list, func(one *Request) bool { return serves(one, &p) })], &p)
		requireAlike(t, w, q, &p)
		if full+least < len(list) {
			chosen++
		}
		members := 0
		for i := range q.Groups {
			members += q.Groups[i].Members
		}
		if full == 0 {
			short++
		} else {
			require.Len(t, p.Members, members, "seed %d: it starts short, %s", seed, describe(w, q))
		}
		if len(q.Groups) == 1 && full > 0 && q.Locality == LocalityStrict && q.Preferred+q.Groups[0].Preferred == 0 && q.Within == topology.RootDomain && q.Groups[0].Spread == 0 {
			require.GreaterOrEqual(t, p.Level, level, "seed %d: %s", seed, describe(w, q))
		}
		require.NoError(t, w.fleet.ReleaseAll(&p))
		require.NoError(t, w.fleet.Check())
	}
	if drawn.Many() {
		require.Greater(t, placed, 500)
		require.Greater(t, refused, 500)
		require.Positive(t, short)
		require.Greater(t, chosen, 100, "hardly any choice was in vain")
	}
}

// all is an oracle that has tried all placements of so many members of each group.
func all(w *world, q *Request, members func(*Group) int) *oracle {
	counts := make([]int, len(q.Groups))
	for i := range q.Groups {
		counts[i] = members(&q.Groups[i])
	}
	o := newOracle(w, q, counts)
	o.search(0, 0)
	return o
}

// TestOneKindDoesNotAllocate: a choice among kinds costs a search each, and no memory; where all
// classes are of one kind, or one member is wanted, it costs nothing.
func TestOneKindDoesNotAllocate(t *testing.T) {
	f := fleetOf(t, "p/a:8,8", "p/b:8,8,8")
	for _, n := range []string{"c0", "c1"} {
		_, err := f.AddNode(NodeSpec{Name: n, Path: []string{"p", "c"}, Class: 1, GPUs: 8})
		require.NoError(t, err)
	}
	for _, c := range []struct {
		members int
		kinds   []int32
	}{{2, []int32{0, 1}}, {3, []int32{0, 1}}, {9, []int32{0, 1}}, {5, []int32{7, 7}}, {1, []int32{0, 1}}} {
		r := Request{Groups: []Group{{Members: c.members, Claim: Claim{GPUs: 8}, Classes: []topology.NodeClass{0, 1}, Kinds: c.kinds}}}
		require.Equal(t, c.members == 5 || c.members == 1, r.oneWay())
		var p Placement
		place := func() {
			if f.Place(&r, &p) {
				require.NoError(t, f.ReleaseAll(&p))
			}
		}
		place()
		require.Zero(t, testing.AllocsPerRun(20, place), "%+v", c)
	}
}
