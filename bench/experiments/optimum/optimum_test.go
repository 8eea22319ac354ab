package optimum

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
)

type nodes = []struct{ gpus, cores int }

// On one node of two GPUs that is asked for one or two, twice, three of the four sequences fill it;
// after one GPU and then two there is one left. To refuse the first GPU gains in that one what it
// loses in another. On two such nodes two single GPUs go together.
func TestOptimumByHand(t *testing.T) {
	f := &fleet{"hand", nodes{{2, 0}}, []kind{{1, 0, 0, 1}, {2, 0, 0, 1}}}
	require.Equal(t, 2, f.arrivals())
	require.InDelta(t, 1000*(2+1+2+2)/4.0, f.solve(false).expected(), 1e-9)
	require.InDelta(t, 1000*(2+1+2+2)/4.0, f.solve(true).expected(), 1e-9)

	joined := &fleet{"joined", nodes{{2, 0}, {2, 0}}, []kind{{1, 0, 0, 3}, {2, 0, 0, 1}}}
	s := joined.solve(false)
	_, next := s.best(coming{joined.begin(), joined.arrivals()}, joined.kinds[0])
	_, next = s.best(coming{next, joined.arrivals() - 1}, joined.kinds[0])
	require.Equal(t, newNode(2, 0), next[mostNodes-1], "two single GPUs go together, and a whole node is left")
}

// The mean of what the best policy places is what it expects, and the core does no better.
func TestTheOptimumIsOne(t *testing.T) {
	for _, f := range fleets() {
		best, refusing := f.solve(false), f.solve(true)
		require.GreaterOrEqual(t, refusing.expected(), best.expected()-1e-9)
		var placed []float64
		for seed := range uint64(300) {
			placed = append(placed, best.play(f.draw(rand.New(rand.NewPCG(seed, 3)))))
		}
		mean := study.EstimateOf(placed)
		require.InDelta(t, best.expected(), mean.Mean, 2*mean.Half, f.name)
		core, err := compare(t.Context(), f, best, bench.NamedPolicy{}, Options{Runs: 40}, report.NewCount(nil, 0, "runs"))
		require.NoError(t, err)
		require.LessOrEqual(t, core.over.Mean-core.over.Half, 0.0)
		require.Greater(t, core.placed.Mean, 0.9*core.best, f.name)
	}
}

func TestOptimum(t *testing.T) {
	o := Defaults()
	o.Runs, o.JSON = 5, true
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	tables := studytest.Tables(t, out)
	require.Len(t, tables, 1)
	require.Len(t, tables[0].Rows, len(fleets()))
	require.Equal(t, "core", tables[0].Columns[5])
	studytest.Repeats(t, Run, o, out)
	studytest.Refuses(t, Run, o, func(o *Options) { o.Runs = 1 }, func(o *Options) { o.Policies = []string{"core"} }, func(o *Options) { o.Policies = []string{"best"} })
}
