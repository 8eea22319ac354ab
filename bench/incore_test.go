package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	scheduling "github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// coreNodes are of three kinds, in an order of no meaning.
func coreNodes(r *rand.Rand) (nodes []NodeSpec) {
	for i := range 6 {
		n := NodeSpec{Name: fmt.Sprintf("node %d", i), CPUMilli: 32_000, MemoryMiB: 1 << 16}
		switch r.IntN(4) {
		case 0:
			n.GPUs, n.Model = 8, "A"
		case 1:
			n.GPUs, n.Model = 4, "B"
		case 2:
			n.GPUs, n.Model = 2, "A"
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func coreRequest(r *rand.Rand) Request {
	q := Request{CPUMilli: int64(1000 * (1 + r.IntN(4))), MemoryMiB: int64(1024 * r.IntN(3))}
	switch r.IntN(4) {
	case 0:
	case 1, 2:
		q.GPUs, q.Milli = 1, 100*(1+r.IntN(9))
	default:
		q.GPUs, q.Milli = 1<<r.IntN(3), WholeGPU
	}
	if q.GPUs > 0 && r.IntN(5) == 0 {
		q.Models = []string{"A", "B", "B|A"}[r.IntN(3)]
	}
	return q
}

// TestEveryPolicyRunsInTheCore: in the core a policy puts tasks where it does in a Session, as they
// come and go, and after the core was restored; its books come back as they were.
func TestEveryPolicyRunsInTheCore(t *testing.T) {
	for _, named := range Policies() {
		if named.Name == "gang" { // it is in the core anyway
			continue
		}
		t.Run("policy "+named.Name, func(t *testing.T) {
			for seed := range drawn.Seeds(4) {
				runInCore(t, named, rand.New(rand.NewPCG(seed, 20)))
			}
		})
	}
}

// backwards takes the node with the last name.
type backwards struct{}

func (backwards) Name() string { return "backwards" }

func (backwards) Score(_ *berth.Group, places []berth.Place) {
	for i := range places {
		n, err := strconv.Atoi(string(places[i].Node.ID))
		must(err)
		places[i].Score = int64(n)
	}
}

// An embedder's own scorer decides in the core as a policy of this package does.
func TestCoreScoredBy(t *testing.T) {
	for want, named := range map[Node]NamedPolicy{2: CoreScoredBy(backwards{}), 0: InCore()} {
		nodes := slices.Repeat([]NodeSpec{{CPUMilli: 64_000, MemoryMiB: 1 << 18, GPUs: 4, Model: "T4"}}, 3)
		for i := range nodes {
			nodes[i].Name = fmt.Sprint(i)
		}
		s, err := NewSession(nodes, named.New(1))
		require.NoError(t, err)
		k, err := s.Kind(Request{CPUMilli: 2000, GPUs: 1, Milli: WholeGPU})
		require.NoError(t, err)
		choice, ok, err := s.Place(k)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, choice.Node, named.Name)
	}
	require.Equal(t, "core-backwards", CoreScoredBy(backwards{}).Name)
}

func runInCore(t *testing.T, named NamedPolicy, r *rand.Rand) {
	nodes := coreNodes(r)
	in := CoreWith(named, 1).(*realCore)
	s, err := NewSession(nodes, in)
	require.NoError(t, err)
	alone := named.New(1)
	twin, err := NewSession(nodes, alone)
	require.NoError(t, err)
	type task struct {
		kind, twin Kind
		place      Place
	}
	var tasks []task
	seen, arrived, next := []int64{}, int64(0), int64(0)
	// In the core a policy settles what it decides by after each change, and not when it is asked.
	settle := func() {
		if p, ok := alone.(settler); ok {
			p.settle(twin.fleet)
		}
	}
	for range 120 {
		if len(tasks) > 0 && r.IntN(3) == 0 {
			i := r.IntN(len(tasks))
			require.NoError(t, s.Release(tasks[i].kind, tasks[i].place))
			require.NoError(t, twin.Release(tasks[i].twin, tasks[i].place))
			settle()
			tasks[i] = tasks[len(tasks)-1]
			tasks = tasks[:len(tasks)-1]
			continue
		}
		if in.core != nil && r.IntN(8) == 0 {
			in.restart(t)
		}
		q := coreRequest(r)
		k, err := s.Kind(q)
		require.NoError(t, err)
		if !fitsSomewhere(s.fleet, k) {
			_, ok, err := s.Place(k)
			require.NoError(t, err)
			require.False(t, ok)
			continue
		}
		other, err := twin.Kind(q) // what fits nowhere is not submitted, and so not known
		require.NoError(t, err)
		for len(seen) <= int(other) {
			seen = append(seen, 0)
		}
		seen[other]++
		if arrived++; arrived >= next {
			next = arrived + (arrived+7)/8
			require.NoError(t, twin.Know(mixOf(seen)))
			settle()
		}
		want, ok, err := twin.Choose(other)
		require.NoError(t, err)
		require.True(t, ok)
		got, ok, err := s.Place(k)
		require.NoError(t, err, "%+v", q)
		require.True(t, ok)
		if named.Name != "random" {
			require.Equal(t, want.Node, got.Node, "%+v", q)
			if q.Share() {
				require.Equal(t, milliOf(twin.fleet, want.Place), milliOf(twin.fleet, got.Place))
			}
		}
		require.NoError(t, twin.Hold(other, got.Place))
		settle()
		tasks = append(tasks, task{k, other, got.Place})
	}
}

func fitsSomewhere(f *Fleet, k Kind) bool { return len(f.appendFits(nil, k)) > 0 }

func mixOf(seen []int64) (mix Mix) {
	for k, count := range seen {
		if count > 0 {
			mix = append(mix, KindCount{Kind: Kind(k), Count: count})
		}
	}
	return mix
}

// milliOf is what the GPU of a share has left.
func milliOf(f *Fleet, p Place) int16 {
	for g, milli := range f.Left(p.Node) {
		if p.GPUs.Has(g) {
			return milli
		}
	}
	return -1
}

// restart replaces the core by a restored one, which has the same state.
func (p *realCore) restart(t *testing.T) {
	before, err := p.core.Snapshot()
	require.NoError(t, err)
	p.core, err = scheduling.Restore(before, scheduling.WithScorer(p.core.Config().Scorer))
	require.NoError(t, err)
	after, err := p.core.Snapshot()
	require.NoError(t, err)
	require.True(t, string(before) == string(after), "the state is another")
}
