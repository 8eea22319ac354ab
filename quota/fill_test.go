package quota

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// TestFillTwin compares Fill with all sums.
func TestFillTwin(t *testing.T) {
	for seed := range drawn.Seeds(2000) {
		r := rand.New(rand.NewPCG(seed, 4))
		unit := []int64{1, 1000, 250}[r.IntN(3)]
		amount := unit * r.Int64N(200)
		sums := map[int64]bool{0: true}
		var sizes []SizeCount
		for range r.IntN(6) {
			l := SizeCount{Size: unit * (1 + r.Int64N(90)), Count: r.Int64N(6)}
			sizes = append(sizes, l)
			for range l.Count {
				next := map[int64]bool{}
				for sum := range sums {
					next[sum], next[sum+l.Size] = true, true
				}
				sums = next
			}
		}
		want := int64(0)
		for sum := range sums {
			if sum <= amount {
				want = max(want, sum)
			}
		}
		require.Equal(t, want, Fill(amount, slices.Clone(sizes)), "seed %d: %d of %v", seed, amount, sizes)
	}
	require.Zero(t, Fill(-1, []SizeCount{{1, 1}}))
	require.Equal(t, int64(1<<40-1), Fill(1<<40-1, []SizeCount{{1, 1 << 41}, {0, 7}}))
	require.EqualValues(t, 3, Fill(1<<40, []SizeCount{{3, 1}, {1 << 41, 1}}))
	require.Zero(t, testing.AllocsPerRun(10, func() { Fill(8000, []SizeCount{{1000, 20}, {4000, 3}}) }))
}

// TestWholeGangsAreGivenBack: two queues with a guarantee of one GPU each, and a
// gang of two of the one on both. It is not to keep the other from its own.
func TestWholeGangsAreGivenBack(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 2))
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 1}})
	b := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPUMilli: 1}})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(a, 2))
	require.NoError(t, shares.SetDemand(b, 2))
	require.NoError(t, tree.Charge(a, gpus(2)))
	verdict, ok := shares.MayReclaim(b, gpus(1), a, gpus(2))
	require.False(t, ok)
	require.Equal(t, ReclaimVerdict{Reason: ReclaimBelowGuarantee, At: a, Used: 0, Bound: 1}, verdict)
	stakes, reason := shares.Stakes(nil, b, gpus(1), a)
	require.Equal(t, ReclaimForGuarantee, reason)
	require.Equal(t, []Stake{{Queue: a, Has: 2, Guaranteed: 1, Fair: 1}}, stakes)
	require.Zero(t, Fill(stakes[0].Guaranteed, []SizeCount{{Size: 2, Count: 1}}), "a gang of two fills nothing of one")
	stakes, reason = shares.Stakes(stakes, b, gpus(2), a)
	require.Equal(t, ReclaimOverShare, reason)
	require.Empty(t, stakes)
	for _, at := range []struct {
		beneficiary, victim QueueIndex
		asked               int64
		reason              ReclaimReason
	}{{b, b, 1, ReclaimSameQueue}, {RootQueue, a, 1, ReclaimNoLeaf}, {b, a, 0, ReclaimNothing}} {
		_, reason = shares.Stakes(nil, at.beneficiary, gpus(at.asked), at.victim)
		require.Equal(t, at.reason, reason)
	}
}

// sizes lists the running jobs at and below a queue, and sums them up, without some.
func (w *crowd) sizes(at QueueIndex, without []int) (sizes []SizeCount, sum int64) {
	for k, j := range w.jobs {
		if j.running && w.tree.Below(j.leaf, at) && !slices.Contains(without, k) {
			sizes = append(sizes, SizeCount{Size: j.gpus, Count: 1})
			sum += j.gpus
		}
	}
	return sizes, sum
}

func (w *crowd) fills(share int64, at QueueIndex, without []int) int64 {
	sizes, _ := w.sizes(at, without)
	return Fill(share, sizes)
}

// kept is what a queue keeps of a guaranteed share.
func (w *crowd) kept(share int64, at QueueIndex) int64 {
	_, used := w.sizes(at, nil)
	return max(w.fills(share, at, nil), min(w.floor[at], share, used))
}

// rule is the first of the rules by which some jobs may go for another, 0: by none.
func (w *crowd) rule(k int, victims []int) int {
	rule := 1
	j := &w.jobs[k]
	for _, v := range victims {
		stakes, reason := w.shares.Stakes(nil, j.leaf, j.charge(), w.jobs[v].leaf)
		if reason > ReclaimForShare {
			return 0
		}
		for _, s := range stakes {
			_, left := w.sizes(s.Queue, victims)
			_, used := w.sizes(s.Queue, nil)
			kept := s.Has - used // by those below, for themselves
			guaranteed, fair := s.Guaranteed-kept, s.Fair-kept
			floor := left >= min(w.floor[s.Queue], guaranteed, used)
			filled := floor && w.fills(guaranteed, s.Queue, victims) >= w.fills(guaranteed, s.Queue, nil)
			switch {
			case reason == ReclaimForShare && (!filled || w.fills(fair, s.Queue, victims) < w.fills(fair, s.Queue, nil)):
				return 0
			case reason == ReclaimForShare || filled:
			case left >= min(guaranteed, used):
				rule = 2
			default:
				return 0
			}
		}
	}
	return rule
}

// exchangeWhole starts a job, if need be in the place of others. With places, some victims that it
// must have go first; it tells by which rule they went.
func (w *crowd) exchangeWhole(t require.TestingT, k int, others []int, first int) (given, rule int, started bool) {
	j := &w.jobs[k]
	if first == 0 && w.start(t, k) {
		return 0, 0, true
	}
	if j.running {
		return 0, 0, false
	}
	var victims []int
	enough := func() bool {
		for _, v := range victims {
			require.NoError(t, w.tree.Discharge(w.jobs[v].leaf, w.jobs[v].charge()))
		}
		_, fits := w.tree.Fits(j.leaf, j.charge())
		fits = fits && w.idle() >= j.gpus
		for _, v := range victims {
			require.NoError(t, w.tree.Charge(w.jobs[v].leaf, w.jobs[v].charge()))
		}
		return fits && len(victims) >= first
	}
	for _, allowed := range []int{1, 2} {
		for _, o := range others {
			if v := &w.jobs[o]; !enough() && v.running && v.leaf != j.leaf && !slices.Contains(victims, o) {
				if by := w.rule(k, append(slices.Clip(victims), o)); by > 0 && by <= allowed {
					victims = append(victims, o)
				}
			}
		}
	}
	if !enough() {
		return 0, 0, false
	}
	rule = w.rule(k, victims)
	for _, v := range victims {
		if leaf := w.jobs[v].leaf; rule == 2 {
			w.floor[leaf] = max(w.floor[leaf], w.kept(w.shares.Guaranteed(leaf), leaf))
		}
	}
	for _, v := range victims {
		require.NoError(t, w.tree.Discharge(w.jobs[v].leaf, w.jobs[v].charge()))
		w.jobs[v].running = false
	}
	require.True(t, w.start(t, k))
	return len(victims), rule, true
}

// TestWholeReclaimEnds: with jobs of any size, those that must go for their places and others, the
// potential rises with each exchange, falls with no start, and it ends.
func TestWholeReclaimEnds(t *testing.T) {
	given, second := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		largest := rapid.Int64Range(3, 9).Draw(t, "largest")
		w := drawCrowd(t, false, largest)
		potential := func() (each []int64, kept, fair int64) {
			for i := range w.tree.nodes {
				if i := QueueIndex(i); w.tree.Leaf(i) {
					each = append(each, w.kept(w.shares.Guaranteed(i), i))
					kept += each[len(each)-1]
					fair += w.fills(max(w.shares.Guaranteed(i), w.shares.Of(i)), i, nil)
				}
			}
			return each, kept, fair
		}
		for round := range 3 {
			if round > 0 {
				w.churn(t, largest)
			}
			w.floor = map[QueueIndex]int64{}
			for k := range w.jobs {
				w.start(t, k)
			}
			for moved := true; moved; {
				moved = false
				order := rapid.Permutation(count(len(w.jobs))).Draw(t, "order")
				for _, k := range order {
					each, kept, fair := potential()
					victims, rule, started := w.exchangeWhole(t, k, rapid.Permutation(order).Draw(t, "victims"), rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "places"))
					if !started {
						continue
					}
					moved = true
					given += victims
					if rule == 2 {
						second++
					}
					nowEach, nowKept, nowFair := potential()
					for i := range each {
						require.GreaterOrEqual(t, nowEach[i], each[i])
					}
					if victims > 0 {
						require.True(t, nowKept > kept || nowFair > fair, "from %d, %d to %d, %d", kept, fair, nowKept, nowFair)
					}
				}
			}
		}
	})
	if drawn.Many() {
		require.Positive(t, given, "the test has to see some")
		require.Positive(t, second, "the test has to see some that leave a queue less that fills its share")
	}
}

// TestS4_OwnersAreServed: whatever the sizes of jobs, the limits and what is lent, and
// whichever job was there first, reclaim ends where no queue waits for a job that is within
// its guaranteed share with what it uses. So with demand for it every queue has its
// guarantee, but for less than the least of its jobs that wait.
func TestS4_OwnersAreServed(t *testing.T) {
	taken, waiting := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		largest := rapid.Int64Range(1, 9).Draw(t, "largest")
		w := drawCrowd(t, true, largest)
		capacity, _ := w.tree.Capacity(GPUMilli) // at least what is guaranteed, or nobody can have it
		require.NoError(t, w.tree.SetCapacity(GPUMilli, max(capacity, w.tree.nodes[RootQueue].host[gpuID].below)))
		for round := range 3 {
			if round > 0 {
				w.churn(t, largest)
			}
			for k := range w.jobs { // the first come take all there is
				w.start(t, k)
			}
			for moved := true; moved; {
				moved = false
				for _, k := range rapid.Permutation(count(len(w.jobs))).Draw(t, "order") {
					given, rule, started := w.exchangeWhole(t, k, w.servable(), 0)
					require.Less(t, rule, 2, "without places the first rule does")
					taken += given
					moved = moved || started
				}
			}
			require.NoError(t, w.tree.Check())
			for _, j := range w.jobs {
				if j.running {
					continue
				}
				waiting++
				used := w.tree.Used(j.leaf, GPUMilli)
				require.Greater(t, used+j.gpus, w.shares.Guaranteed(j.leaf), "%d more for %s, which uses %d", j.gpus, w.tree.Name(j.leaf), used)
			}
		}
	})
	if drawn.Many() {
		require.Positive(t, taken)
		require.Positive(t, waiting)
	}
}

// servable lists the jobs, those last that fill the guaranteed share of their leaf best: a
// lender that gives the others first gives enough.
func (w *crowd) servable() []int {
	list := count(len(w.jobs))
	best := map[int]bool{}
	for i := range w.tree.nodes {
		i := QueueIndex(i)
		if !w.tree.Leaf(i) {
			continue
		}
		var without []int
		most := w.fills(w.shares.Guaranteed(i), i, nil)
		for k := range w.jobs {
			if j := &w.jobs[k]; j.leaf == i && j.running && w.fills(w.shares.Guaranteed(i), i, append(slices.Clip(without), k)) == most {
				without = append(without, k)
			} else if j.leaf == i {
				best[k] = true
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		switch {
		case best[a] == best[b]:
			return 0
		case best[a]:
			return 1
		}
		return -1
	})
	return list
}

// What is at stake for a leaf where a job of its own takes the place of others is what others see
// of it, from the leaf up to where their paths part, and all above that.
func TestStakesOfALeafBeginWithWhatOthersSee(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, shares := drawShares(t, true)
		var leaves []QueueIndex
		for _, name := range tree.Queues() {
			i, _ := tree.Lookup(name)
			if tree.Leaf(i) {
				leaves = append(leaves, i)
			} else {
				require.Empty(t, shares.StakesOf(nil, i), "no leaf")
			}
		}
		for _, leaf := range leaves {
			own := shares.StakesOf(nil, leaf)
			at := leaf
			for _, s := range own {
				require.Equal(t, at, s.Queue)
				require.GreaterOrEqual(t, s.Fair, s.Guaranteed)
				at = tree.Parent(at)
			}
			require.Equal(t, RootQueue, at)
			for _, other := range leaves {
				if stakes, _ := shares.Stakes(nil, other, gpus(1), leaf); len(stakes) > 0 {
					require.Equal(t, own[:len(stakes)], stakes)
				}
			}
		}
	})
}
