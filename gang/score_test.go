package gang

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

// A fancy scores a node and a GPU for no reason, often to the limits of an int64.
func fancy(seed int, n topology.NodeIndex, gpu int) int64 {
	h := fnv.New32a()
	fmt.Fprint(h, seed, n, gpu)
	return []int64{math.MinInt64, -1, 0, 7, math.MaxInt64}[h.Sum32()%5]
}

// TestEqualScoresDecideNothing: with a scorer to which all is equal, a request goes where it goes
// without one, whatever the locality.
func TestEqualScoresDecideNothing(t *testing.T) {
	asked := 0
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		for range 3 {
			r := w.drawRequest(t, rapid.IntRange(1, 2).Draw(t, "groups"), 6)
			r.Locality = Locality(rapid.IntRange(0, 2).Draw(t, "locality"))
			var own, scored Placement
			ok := w.fleet.Place(r, &own)
			want := fmt.Sprint(own)
			if ok {
				require.NoError(t, w.fleet.ReleaseAll(&own))
			}
			w.fleet.SetScorer(func(_ *Group, places []Place) {
				asked++
				require.Greater(t, len(places), 1)
				for _, p := range places {
					for gpu, left := range w.fleet.AppendLeft(nil, p.Node) {
						milli, _ := w.fleet.ShareLeft(p.Node, gpu)
						require.Equal(t, milli, left)
					}
				}
			}, func(_ *Request, places []Place) { asked++; require.Greater(t, len(places), 1) })
			require.Equal(t, ok, w.fleet.Place(r, &scored))
			w.fleet.SetScorer(nil, nil)
			if ok {
				require.Equal(t, want, fmt.Sprint(scored))
				for _, m := range scored.Members {
					w.holds = append(w.holds, m.Hold)
				}
			}
			w.check(t)
		}
	})
	require.Positive(t, asked)
}

// TestTheHighestScoreWins: a single member goes to a place with the highest score of all places
// that would take it, found by trying each; and whatever is scored, a placement is found exactly
// if there is one, and keeps what the request requires.
func TestTheHighestScoreWins(t *testing.T) {
	chosen := 0
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		for seed := range 4 {
			r := w.drawRequest(t, rapid.IntRange(1, 2).Draw(t, "groups"), rapid.IntRange(1, 6).Draw(t, "most"))
			r.Locality = Locality(rapid.IntRange(0, 2).Draw(t, "locality"))
			var own Placement
			possible := w.fleet.Place(r, &own)
			if possible {
				require.NoError(t, w.fleet.ReleaseAll(&own))
			}
			best, scored := w.best(r, seed)
			w.fleet.SetScorer(func(_ *Group, places []Place) {
				for i := range places {
					places[i].Score = fancy(seed, places[i].Node, places[i].GPU)
				}
			}, func(_ *Request, places []Place) {
				for i := range places {
					places[i].Score = fancy(seed, topology.NodeIndex(places[i].Domain), int(places[i].Node))
				}
			})
			p, ok := w.place(t, r) // checks the placement
			w.fleet.SetScorer(nil, nil)
			require.Equal(t, possible, ok)
			if ok && scored {
				h := &p.Members[0].Hold
				require.Contains(t, best, holdPlace(h), "%v", h)
				chosen++
			}
		}
	})
	require.Positive(t, chosen)
}

// TestScoresDoNotAllocate: nor is anything allocated by a search with a scorer, once it has grown.
func TestScoresDoNotAllocate(t *testing.T) {
	f := loadedFleet(t, 8*256)
	f.SetScorer(func(_ *Group, places []Place) {
		for i := range places {
			places[i].Score = int64(places[i].Node % 7)
		}
	}, nil)
	for _, s := range shapes() {
		var p Placement
		place := func() {
			if f.Place(&s.request, &p) {
				require.NoError(t, f.ReleaseAll(&p))
			}
		}
		place()
		require.Zero(t, testing.AllocsPerRun(20, place), s.name)
	}
}

// holdPlace is the place of a hold.
func holdPlace(h *Hold) [2]int {
	gpu := -1
	for i := range 64 {
		if h.Share.GPUMilli > 0 && h.GPUs == 1<<i {
			gpu = i
		}
	}
	return [2]int{int(h.Node), gpu}
}

// best are the places with the highest score for a request of one member, of those that take it.
func (w *world) best(r *Request, seed int) (best map[[2]int]bool, scored bool) {
	g := &r.Groups[0]
	if len(r.Groups) > 1 || g.Members > 1 || len(g.Claim.Instances) > 0 || g.Claim.Share.Over {
		return nil, false
	}
	best = map[[2]int]bool{}
	top := int64(math.MinInt64)
	try := func(n topology.NodeIndex, gpu int) {
		if score := fancy(seed, n, gpu); score >= top {
			if score > top {
				clear(best)
			}
			top = score
			best[[2]int{int(n), gpu}] = true
		}
	}
	for i := range w.nodes {
		n := w.nodes[i].index
		one := *r
		one.Groups = []Group{*g}
		one.Groups[0].Match = func(m topology.NodeIndex) bool { return m == n && (g.Match == nil || g.Match(m)) }
		var p Placement
		if !w.fleet.Place(&one, &p) {
			continue
		}
		_ = w.fleet.ReleaseAll(&p)
		if g.Claim.Share.GPUMilli == 0 {
			try(n, -1)
			continue
		}
		state, free := &w.fleet.nodes[n], false
		var seen []Place
		for gpu := range state.slots {
			bit := uint64(1) << gpu
			if state.sharesIn(gpu, &g.Claim.Share) == 0 || state.free()&bit != 0 && free || state.shared&bit != 0 && state.anyAlike(seen, gpu) {
				continue
			}
			if state.free()&bit != 0 {
				free = true
			} else {
				seen = append(seen, Place{GPU: gpu})
			}
			try(n, gpu)
		}
	}
	return best, len(best) > 0
}
