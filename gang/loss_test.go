package gang

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology"
)

// whims are losses for no reason, by what a node has left.
type whims struct {
	seed  int
	asked int
}

func (w *whims) Version() uint32 { return uint32(w.seed) + 1 }

func (w *whims) Loss(c *Claim, s *Stock, left int16) int64 {
	w.asked++
	return whim(w.seed, s.Class, s.Host, s.Left, left)
}

func whim(of ...any) int64 {
	h := fnv.New32a()
	fmt.Fprint(h, of...)
	return []int64{math.MinInt64, -1, 0, 7, math.MaxInt64 - 1}[h.Sum32()%5]
}

// whimOf is the loss of a place, from the node itself.
func (f *Fleet) whimOf(seed int, p *Place) int64 {
	state, lefts := &f.nodes[p.Node], []int16{}
	for gpu, left := range f.AppendLeft(nil, p.Node) {
		if state.shared>>gpu&1 == 1 && state.sharesLeft(&state.slots[gpu]) == 0 {
			left = 0
		}
		lefts = append(lefts, int16(left))
	}
	left := int16(-1)
	if p.GPU >= 0 {
		left = lefts[p.GPU]
	}
	slices.Sort(lefts)
	return whim(seed, state.class, f.HostFree(p.Node), lefts, left)
}

// TestStocksAreAsGoodAsNodes: a request goes where it goes if every node is asked about by itself,
// whatever happened to the fleet since it was counted.
func TestStocksAreAsGoodAsNodes(t *testing.T) {
	placed := 0
	drawn.Check(t, func(t *rapid.T) {
		w := drawFleet(t)
		for seed := range 8 {
			r := w.drawRequest(t, rapid.IntRange(1, 2).Draw(t, "groups"), rapid.IntRange(1, 6).Draw(t, "most"))
			r.Locality = Locality(rapid.IntRange(0, 2).Draw(t, "locality"))
			w.fleet.SetScorer(func(_ *Group, places []Place) {
				for i := range places {
					places[i].Score = -1 - w.fleet.whimOf(seed/3, &places[i])
				}
			}, nil)
			var own, found Placement
			ok := w.fleet.Place(r, &own)
			want := fmt.Sprint(own)
			if ok {
				require.NoError(t, w.fleet.ReleaseAll(&own))
			}
			w.fleet.SetScorer(nil, nil)
			w.fleet.SetLoss(&whims{seed: seed / 3})
			require.Equal(t, ok, w.fleet.Place(r, &found))
			w.fleet.SetLoss(nil)
			if ok {
				placed++
				require.Equal(t, want, fmt.Sprint(found))
				for _, m := range found.Members {
					w.holds = append(w.holds, m.Hold)
				}
			}
			w.check(t)
			if len(w.holds) > 0 && rapid.Bool().Draw(t, "release") {
				last := len(w.holds) - 1
				require.NoError(t, w.fleet.Release(w.holds[last]))
				w.holds = w.holds[:last]
			}
		}
	})
	require.Positive(t, placed)
}

// A decision looks at stocks, and asks about each once: as many on a large fleet as on a small one.
func TestADecisionLooksAtStocks(t *testing.T) {
	var looked, asked [2]int
	for i, nodes := range []int{64, 2048} {
		f, err := NewFleet()
		require.NoError(t, err)
		w := &whims{}
		f.SetLoss(w)
		for n := range nodes {
			_, err := f.AddNode(NodeSpec{Name: fmt.Sprint(n), GPUs: 8})
			require.NoError(t, err)
		}
		var p Placement
		for n := range 200 {
			r := Request{Groups: []Group{{Members: 1, Claim: Claim{GPUs: 1 + n%3}, Classes: []topology.NodeClass{0}}}}
			require.True(t, f.Place(&r, &p))
			if n%2 == 0 {
				require.NoError(t, f.ReleaseAll(&p))
			}
		}
		looked[i], asked[i] = f.losses.looked, w.asked
		require.NoError(t, f.Check())
		one := Request{Groups: []Group{{Members: 1, Claim: Claim{GPUs: 1}, Classes: []topology.NodeClass{0}}}}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if !f.Place(&one, &p) || f.ReleaseAll(&p) != nil {
				t.Error("it does not fit")
			}
		}))
	}
	require.Equal(t, looked[0], looked[1])
	require.Equal(t, asked[0], asked[1])
	require.Less(t, asked[0], 3*9+1)
}

// Of more stocks fewer claims are remembered, and each by its own key.
func TestClaimsAreForgottenWhole(t *testing.T) {
	var l losses
	for _, stocks := range []int{1, 2 * knownLosses / knownClaims, knownLosses / 8, 1} {
		for n := range knownClaims + 1 {
			c := Claim{GPUs: n}
			require.Equal(t, n, l.claim(&c, stocks).key.gpus)
		}
		require.Len(t, l.byClaim, len(l.claims), "%d stocks", stocks)
		for key, i := range l.byClaim {
			require.Equal(t, key, l.claims[i].key)
		}
	}
}
