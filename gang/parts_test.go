package gang

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

func (o *oracle) copies() (n int) {
	for i := range o.r.Parts {
		n += max(1, o.r.Parts[i].Copies)
	}
	return n
}

// parted draws a request with parts.
func (r dice) parted(w *world) *Request {
	node := w.levels + 1
	q := r.request(w)
	if len(q.Groups) < 3 && r.chance(60) {
		q.Groups = append(q.Groups, r.group(w, 3))
	}
	parts := r.one(1, 1, 2, 2, 3)
	for range parts {
		q.Parts = append(q.Parts, Part{Required: r.level(0, node), Copies: r.one(0, 0, 1, 2, 2, 3)})
	}
	if r.chance(40) {
		q.Apart = r.level(1, w.levels)
	}
	for i := range q.Parts {
		if p := &q.Parts[i]; p.Required < q.Apart && p.Required > 0 {
			p.Required = q.Apart
		}
	}
	if q.standApart() && q.Apart <= q.Required {
		q.Required, q.Preferred = q.Apart-1, 0
	}
	for i := range q.Groups {
		g := &q.Groups[i]
		g.Part = r.in(0, parts)
		if g.Part == 0 {
			continue
		}
		if copies := q.Parts[g.Part-1].Copies; copies > 1 {
			g.MinMembers, g.Spread, g.MaxSkew, g.Balance, g.RailLevel = 0, 0, 0, 0, 0
			g.Members = g.outermost() * copies * r.in(1, 2)
		}
	}
	return q
}

// TestPartsAgreeWithTheOracle: a request with parts is placed whenever it can be, at the lowest
// level, in the tightest domain, and at the least cost. 100,000 cases: BERTH_SEEDS=200.
func TestPartsAgreeWithTheOracle(t *testing.T) {
	var sum tally
	list := slices.Collect(drawn.Seeds(500))
	together, apart, copied := 0, 0, 0
	for _, i := range list {
		r := dice{rand.New(rand.NewPCG(i, 36))}
		w := r.fleet(t)
		q := r.parted(w)
		for ways(w, q) > 4000 {
			q = r.parted(w)
		}
		placed := sum.placed
		if !sum.try(t, w, q) {
			t.Errorf("seed %d: %s parts %+v, apart %d", i, describe(w, q), q.Parts, q.Apart)
			if sum.missed+sum.wider+sum.looser+sum.dearer > 10 {
				break
			}
		}
		if sum.placed > placed {
			for a := range q.Groups {
				for b := range a {
					if q.mates(a, b) {
						together++
					}
				}
			}
			if q.standApart() {
				apart++
			}
			if slices.ContainsFunc(q.Parts, func(p Part) bool { return p.Copies > 1 }) {
				copied++
			}
		}
	}
	t.Logf("%+v; placed with groups together %d, parts apart %d, copies %d", sum, together, apart, copied)
	if drawn.Many() {
		require.Greater(t, sum.placed, len(list)/4)
		require.Less(t, sum.placed, sum.cases)
		require.Greater(t, min(together, apart, copied), 20)
	}
}

// TestPartsAreKeptOnceTheSearchIsLong: on fleets that no oracle enumerates, whatever is placed
// keeps its parts, also where a gang starts short and is filled up.
func TestPartsAreKeptOnceTheSearchIsLong(t *testing.T) {
	placed := 0
	for i := range drawn.Seeds(300) {
		r := dice{rand.New(rand.NewPCG(i, 37))}
		w := r.fleet(t)
		q := r.parted(w)
		for range r.in(1, 3) {
			q.Groups = append(q.Groups, Group{Members: 6, Claim: Claim{GPUs: r.one(0, 1, 2), Host: countable.Amounts{countable.CPUMilli: 1}}, Classes: []topology.NodeClass{0, 2, 1}, Part: 0})
		}
		if r.chance(50) { // too many members for the solver, but for that of one copy
			q.Groups = append(q.Groups, Group{Members: maxStates + 1, Classes: []topology.NodeClass{0, 2, 1}})
		}
		var p Placement
		fits := w.fleet.Place(q, &p)
		if fits {
			placed++
			w.checkPlacement(t, q, &p)
			require.NoError(t, w.fleet.ReleaseAll(&p))
		}
		require.NoError(t, w.fleet.Check())
		_, short := w.fleet.Diagnose(q)
		require.Equal(t, !fits, short)
		w.fleet.DiagnoseLevels(q)
		require.NoError(t, w.fleet.CheckHolds(w.holds))
	}
	require.Positive(t, placed)
}

// TestACopyIsFoundWhereTheGangIsTooMuchForTheSolver: a part is placed exactly in the domains of its
// level, also beside a group that has too many members for the solver.
func TestACopyIsFoundWhereTheGangIsTooMuchForTheSolver(t *testing.T) {
	placed, rescued := 0, 0
	for i := range drawn.Seeds(400) {
		r := dice{rand.New(rand.NewPCG(i, 38))}
		w := r.fleet(t)
		q := &Request{Parts: []Part{{Required: r.level(1, w.levels)}}}
		for range 2 + r.IntN(2) {
			g := Group{Members: r.in(1, 3), Claim: Claim{GPUs: r.in(1, 4)}, Classes: []topology.NodeClass{0, 2, 1}, Part: 1}
			g.Claim.Host[countable.CPUMilli], g.Claim.Host[countable.MemoryMiB] = int64(r.in(0, 2)), int64(r.in(0, 4))
			q.Groups = append(q.Groups, g)
		}
		if ways(w, q) > 4000 {
			continue
		}
		counts := []int{}
		for k := range q.Groups {
			counts = append(counts, q.Groups[k].Members)
		}
		o := newOracle(w, q, counts)
		o.search(0, 0)
		q.Groups = append(q.Groups, Group{Members: maxStates + 1, Classes: []topology.NodeClass{0, 2, 1, 3, 4}})
		var p Placement
		fits := w.fleet.Place(q, &p)
		require.Equal(t, o.possible(), fits, "seed %d: %s", i, describe(w, q))
		if fits {
			placed++
			if w.fleet.search.solver.spent > 0 {
				rescued++
			}
			w.checkPlacement(t, q, &p)
			require.NoError(t, w.fleet.ReleaseAll(&p))
		}
	}
	t.Logf("placed %d, of these %d by the solver", placed, rescued)
	require.Positive(t, placed)
}

// TestWhatAGroupRequiresHoldsInEachCopy: the solver keeps the members of a copy of a group together
// as well. A copy with 2 x 3 GPUs on one node and 2 x 4 anywhere does not fit on two nodes with 7.
func TestWhatAGroupRequiresHoldsInEachCopy(t *testing.T) {
	f, err := NewFleet("rack")
	require.NoError(t, err)
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		_, err := f.AddNode(NodeSpec{Name: name, Path: []string{name[:1]}, GPUs: 7, GPUMemoryMiB: 80})
		require.NoError(t, err)
	}
	all := []topology.NodeClass{0}
	for _, filler := range []int{1, maxStates + 1} { // the solver sees all of it, or one copy at a time
		for required, fits := range []bool{true, true, false} {
			r := Request{
				Groups: []Group{
					{Part: 1, Members: 4, Claim: Claim{GPUs: 3}, Required: topology.Level(required), Classes: all},
					{Part: 1, Members: 4, Claim: Claim{GPUs: 4}, Classes: all},
					{Members: filler, Classes: all},
				},
				Parts: []Part{{Required: 1, Copies: 2}},
			}
			var p Placement
			require.Equal(t, fits, f.Place(&r, &p), "%d members beside it, required %d", filler, required)
			require.NoError(t, f.ReleaseAll(&p))
		}
	}
}

// TestPartsThatMakeNoSenseAreRefused: no part is wider than the domains in which parts stand apart,
// and copies divide their groups into whole segments.
func TestPartsThatMakeNoSenseAreRefused(t *testing.T) {
	fleet, err := NewFleet("spine", "leaf")
	require.NoError(t, err)
	request := func(members, copies int, required, apart topology.Level) *Request {
		return &Request{
			Groups: []Group{{Members: members, Claim: Claim{GPUs: 1}, Part: 1, Classes: []topology.NodeClass{0}}},
			Parts:  []Part{{Required: required, Copies: copies}}, Apart: apart,
		}
	}
	require.NoError(t, fleet.Validate(request(4, 2, 2, 2)))
	require.ErrorContains(t, fleet.Validate(request(5, 2, 2, 2)), "5 cannot be divided into 2 copies of whole segments")
	require.ErrorContains(t, fleet.Validate(request(4, 2, 1, 2)), "spine is wider than the leaf in which parts stand apart")
	require.ErrorContains(t, fleet.Validate(request(4, 2, 3, 3)), "parts stand apart in domains, not on nodes")
	segments := request(8, 2, 2, 2)
	segments.Groups[0].Segments = []Segment{{Size: 3, Level: 3}}
	require.Error(t, fleet.Validate(segments))
}
