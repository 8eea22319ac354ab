package quota

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// drawShares makes a random tree of up to 14 queues with guarantees that add up,
// limits, priorities, and demand at its leaves.
func drawShares(t *rapid.T, lending bool) (*Tree, *Shares) {
	tree := NewTree()
	names := []QueueID{""}
	left := map[QueueID]int64{"": 40}   // of the guarantee, to be promised to those below
	pool := map[QueueID]QueueID{"": ""} // the queue that has this guarantee
	for n := range rapid.IntRange(4, 14).Draw(t, "queues") {
		q := Queue{
			Name: QueueID(fmt.Sprintf("q%02d", n)), Parent: rapid.SampledFrom(names).Draw(t, "parent"),
			Weight:   rapid.Int64Range(0, 5).Draw(t, "weight"),
			Priority: rapid.SampledFrom([]int32{0, 0, 0, 1}).Draw(t, "priority"),
		}
		from := pool[q.Parent]
		pool[q.Name] = from
		if rapid.Bool().Draw(t, "guaranteed") {
			g := rapid.Int64Range(0, left[from]).Draw(t, "guarantee")
			left[from] -= g
			left[q.Name], pool[q.Name] = g, q.Name
			q.Guarantee = Amounts{GPUMilli: g}
			if rapid.IntRange(0, 3).Draw(t, "limited") == 3 {
				q.Limit = Amounts{GPUMilli: g + rapid.Int64Range(0, 10).Draw(t, "limit")}
			}
		}
		if lending && rapid.Bool().Draw(t, "lends") {
			q.LendingLimit = Amounts{GPUMilli: rapid.Int64Range(0, 10).Draw(t, "lends at most")}
		}
		if rapid.IntRange(0, 4).Draw(t, "borrows") == 4 {
			q.BorrowingLimit = Amounts{GPUMilli: rapid.Int64Range(0, 10).Draw(t, "borrows at most")}
		}
		mustSet(t, tree, q)
		names = append(names, q.Name)
	}
	unit := rapid.SampledFrom([]int64{1, 1, 3}).Draw(t, "unit")
	shares, err := NewShares(tree, GPUMilli, unit)
	require.NoError(t, err)
	for _, name := range tree.Queues() {
		if i, _ := tree.Lookup(name); tree.Leaf(i) {
			require.NoError(t, shares.SetDemand(i, rapid.Int64Range(0, 30).Draw(t, "demand")))
		}
	}
	require.NoError(t, tree.SetCapacity(GPUMilli, rapid.Int64Range(0, 80).Draw(t, "capacity")))
	return tree, shares
}

// TestSharesAgainstTwin: shares are those of the book, at every queue.
func TestSharesAgainstTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, shares := drawShares(t, true)
		d := newDivider(shares)
		capacity, _ := tree.Capacity(GPUMilli)
		d.divide(RootQueue, capacity)
		all, guaranteed := shares.All(nil), shares.AllGuaranteed(nil)
		require.Len(t, all, len(tree.nodes))
		require.Len(t, guaranteed, len(tree.nodes))
		for i := range tree.nodes {
			require.Equal(t, d.share[QueueIndex(i)], all[i], tree.Name(QueueIndex(i)))
			require.Equal(t, all[i], shares.Of(QueueIndex(i)))
			require.Equal(t, guaranteed[i], shares.Guaranteed(QueueIndex(i)))
		}
		clear(all) // it is the caller's
		require.Equal(t, guaranteed, shares.AllGuaranteed(nil))
		for i, share := range shares.All(all) {
			require.Equal(t, d.share[QueueIndex(i)], share)
		}
	})
}

// TestExceededAgainstTwin: the queue that would be over its share is the first on the way up that
// would have more than that, with what it keeps for those below it.
func TestExceededAgainstTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, shares := drawShares(t, rapid.Bool().Draw(t, "lending"))
		for i := range tree.nodes {
			leaf, more := QueueIndex(i), rapid.Int64Range(1, 12).Draw(t, "more")
			if !tree.Leaf(leaf) {
				require.Empty(t, shares.Exceeded(nil, leaf, gpus(more)), "no leaf")
				continue
			}
			bound := shares.All(nil)
			for at := range bound {
				bound[at] = max(bound[at], shares.Guaranteed(QueueIndex(at)))
			}
			tree.Charge(leaf, gpus(more))
			var over []QueueIndex
			for at := leaf; at != RootQueue; at = tree.Parent(at) {
				if shares.has(at) > bound[at] {
					over = append(over, at)
				}
			}
			tree.Discharge(leaf, gpus(more))
			require.Equal(t, over, shares.Exceeded(nil, leaf, gpus(more)), tree.Name(leaf))
		}
	})
}

// TestOneLevelAgainstTwin looks closer at what one queue divides among siblings:
// units, rooms that are no multiple of them, and levels at which one is just full.
func TestOneLevelAgainstTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		shares, err := NewShares(tree, GPUMilli, rapid.Int64Range(1, 4).Draw(t, "unit"))
		require.NoError(t, err)
		sum := int64(0)
		for k := range rapid.IntRange(2, 7).Draw(t, "queues") {
			i := mustSet(t, tree, Queue{Name: QueueID(fmt.Sprint(k)), Weight: rapid.Int64Range(1, 3).Draw(t, "weight")})
			demand := rapid.Int64Range(0, 12).Draw(t, "demand")
			require.NoError(t, shares.SetDemand(i, demand))
			sum += demand
		}
		d := newDivider(shares)
		for capacity := range sum + 1 {
			require.NoError(t, tree.SetCapacity(GPUMilli, capacity))
			d.divide(RootQueue, capacity)
			for i, share := range shares.All(nil) {
				require.Equal(t, d.share[QueueIndex(i)], share, "%d of %d", i, capacity)
			}
		}
	})
}

// TestSharesAreMaxMin: what is given out is all there is or all that is wanted;
// everybody has what it wants of its guarantee; and nobody of the same priority has
// a unit more for its weight than one that wants more.
func TestSharesAreMaxMin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, shares := drawShares(t, false)
		all := shares.All(nil)
		for i := range tree.nodes {
			children := tree.nodes[i].below
			if len(children) == 0 {
				require.LessOrEqual(t, all[i], shares.Demand(QueueIndex(i)))
				continue
			}
			sum, wanted, base := int64(0), int64(0), int64(0)
			for _, j := range children {
				sum, wanted, base = sum+all[j], wanted+shares.wants[j].most, base+shares.wants[j].base
			}
			require.Equal(t, min(all[i], wanted), sum)
			if all[i] < base {
				continue
			}
			for _, a := range children {
				wantA := &shares.wants[a]
				overA := all[a] - wantA.base
				require.GreaterOrEqual(t, overA, int64(0))
				for _, b := range children {
					overB := all[b] - shares.wants[b].base
					switch pa, pb := tree.nodes[a].config.Priority, tree.nodes[b].config.Priority; {
					case all[a] == wantA.most || pa < pb:
					case pa > pb:
						require.Zero(t, overB, "%s has more while %s wants more", tree.Name(b), tree.Name(a))
					default:
						require.LessOrEqual(t, (overB-shares.unit)*tree.nodes[a].weight, (overA+shares.unit)*tree.nodes[b].weight)
					}
				}
			}
		}
	})
}

// TestMaxMinAgainstAllDivisions: where the level at which water stands is a whole
// number, shares are the best of all divisions there are: that in which the one with the
// least for its weight has the most, of those the one in which the next has, and so on.
func TestMaxMinAgainstAllDivisions(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		shares, err := NewShares(tree, GPUMilli, 1)
		require.NoError(t, err)
		level, capacity := rapid.Int64Range(0, 3).Draw(t, "level"), int64(0)
		var weights, bases, wanted []int64
		for k := range rapid.IntRange(1, 4).Draw(t, "queues") {
			weight, base := rapid.Int64Range(1, 3).Draw(t, "weight"), rapid.Int64Range(0, 2).Draw(t, "guarantee")
			demand := base + rapid.Int64Range(0, 6).Draw(t, "demand")
			i := mustSet(t, tree, Queue{Name: QueueID(fmt.Sprint(k)), Weight: weight, Guarantee: Amounts{GPUMilli: base}})
			require.NoError(t, shares.SetDemand(i, demand))
			capacity += base + min(demand-base, weight*level)
			weights, bases, wanted = append(weights, weight), append(bases, base), append(wanted, demand)
		}
		require.NoError(t, tree.SetCapacity(GPUMilli, capacity))
		var best []int64
		eachDivision(bases, wanted, capacity, func(division []int64) {
			if best == nil || fairer(division, best, bases, weights) {
				best = slices.Clone(division)
			}
		})
		require.Equal(t, best, shares.All(nil)[1:])
	})
}

// eachDivision calls f with all ways to divide no more than an amount, each part
// within its bounds.
func eachDivision(least, most []int64, amount int64, f func([]int64)) {
	division := make([]int64, len(least))
	var from func(k int, left int64)
	from = func(k int, left int64) {
		if k == len(division) {
			f(division)
			return
		}
		for division[k] = least[k]; division[k] <= min(most[k], left); division[k]++ {
			from(k+1, left-division[k])
		}
	}
	from(0, amount)
}

// fairer compares two divisions by what is over the bases for the weights, the least
// first.
func fairer(a, b, bases, weights []int64) bool {
	sorted := func(division []int64) []int64 {
		var list []int64
		for k, v := range division {
			list = append(list, (v-bases[k])*6/weights[k]) // 6 is a multiple of all weights
		}
		slices.Sort(list)
		return list
	}
	return slices.Compare(sorted(a), sorted(b)) > 0
}

// TestSharesFollowChanges: after any changes of demand, configuration and capacity
// a Shares says what a new one would.
func TestSharesFollowChanges(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, shares := drawShares(t, true)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			var leaves []QueueIndex
			for _, name := range tree.Queues() {
				if i, _ := tree.Lookup(name); tree.Leaf(i) {
					leaves = append(leaves, i)
				}
			}
			i := rapid.SampledFrom(leaves).Draw(t, "leaf")
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				require.NoError(t, tree.SetCapacity(GPUMilli, rapid.Int64Range(-1, 60).Draw(t, "capacity")))
			case 1:
				q := tree.Config(i)
				q.Weight, q.Priority = rapid.Int64Range(0, 5).Draw(t, "weight"), rapid.Int32Range(0, 1).Draw(t, "priority")
				mustSet(t, tree, q)
			default:
				require.NoError(t, shares.SetDemand(i, rapid.Int64Range(0, 30).Draw(t, "demand")))
			}
			fresh, err := NewShares(tree, GPUMilli, shares.unit)
			require.NoError(t, err)
			for _, j := range leaves {
				require.NoError(t, fresh.SetDemand(j, shares.Demand(j)))
			}
			if rapid.Bool().Draw(t, "look") {
				j := QueueIndex(rapid.IntRange(0, len(tree.nodes)-1).Draw(t, "at"))
				require.Equal(t, fresh.Of(j), shares.Of(j))
				require.Equal(t, fresh.Guaranteed(j), shares.Guaranteed(j))
			}
			require.Equal(t, fresh.All(nil), shares.All(nil))
			require.NoError(t, shares.Check())
		}
	})
}

// A demand ends with its queue: another one that gets the index wants nothing before it is told.
func TestADemandEndsWithItsQueue(t *testing.T) {
	tree := NewTree()
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, tree.SetCapacity(GPUMilli, 100))
	i := mustSet(t, tree, Queue{Name: "old"})
	require.NoError(t, shares.SetDemand(i, 7))
	require.EqualValues(t, 7, shares.Of(i))
	require.NoError(t, tree.Remove("old"))
	require.Equal(t, i, mustSet(t, tree, Queue{Name: "new"}))
	require.Zero(t, shares.Of(i))
	require.Zero(t, shares.Demand(i))
	require.NoError(t, shares.SetDemand(i, 7))
	require.EqualValues(t, 7, shares.Of(i))
	require.NoError(t, shares.Check())
}

// TestSharesAtExtremes: the largest amounts and weights neither wrap nor panic, and
// many rounds of filling end.
func TestSharesAtExtremes(t *testing.T) {
	tree := NewTree()
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	sum := int64(0)
	for k := range 3000 {
		q := Queue{Name: QueueID(fmt.Sprintf("q%04d", k)), Weight: MaxAmount >> (k % 41)}
		if k%3 == 0 {
			q.Guarantee = Amounts{GPUMilli: MaxAmount >> (k % 29)}
		}
		i := mustSet(t, tree, q)
		require.NoError(t, shares.SetDemand(i, MaxAmount>>(k%37)))
	}
	require.NoError(t, tree.SetHalfLife(64_000))
	for _, capacity := range []int64{0, 1, 12345, MaxAmount / 3, MaxAmount} {
		require.NoError(t, tree.SetCapacity(GPUMilli, capacity))
		sum = 0
		for _, share := range shares.All(nil)[1:] {
			sum += share
		}
		require.Equal(t, capacity, sum)
	}
}

// TestManyHeavySiblings: the weights of many siblings, with their tilts, do not wrap.
func TestManyHeavySiblings(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 20_000))
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	for k := range 5000 {
		require.NoError(t, shares.SetDemand(mustSet(t, tree, Queue{Name: QueueID(fmt.Sprint(k)), Weight: MaxAmount}), 10))
	}
	for i, share := range shares.All(nil) {
		if i > 0 {
			require.Equal(t, int64(4), share)
		}
	}
}

// TestCutOffSelects: selection finds the cut that sorting finds.
func TestCutOffSelects(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		portions := make([]portion, rapid.IntRange(1, 200).Draw(t, "portions"))
		total := int64(0)
		for k := range portions {
			portions[k] = portion{
				over: rapid.Int64Range(0, 3).Draw(t, "over"), rest: rapid.Uint64Range(0, 3).Draw(t, "rest"),
				rank: int32(k), room: rapid.Int64Range(1, 4).Draw(t, "room"),
			}
			total += portions[k].room
		}
		left := rapid.Int64Range(1, total).Draw(t, "left")
		sorted := slices.SortedFunc(slices.Values(portions), comparePortions)
		cut, last := cutOff(portions, left)
		for _, p := range sorted {
			if left <= p.room {
				require.Equal(t, p, cut)
				require.Equal(t, left, last)
				return
			}
			left -= p.room
		}
	})
}

func TestSharesRefuse(t *testing.T) {
	tree := NewTree()
	org := mustSet(t, tree, Queue{Name: "org"})
	a := mustSet(t, tree, Queue{Name: "a", Parent: "org"})
	_, err := NewShares(tree, "disk", 1)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = NewShares(tree, GPUMilli, 0)
	require.ErrorIs(t, err, ErrInvalid)
	shares, err := NewShares(tree, GPUMilliOf("H100"), 1000)
	require.NoError(t, err)
	require.ErrorIs(t, shares.SetDemand(org, 1), ErrInvalid)
	require.ErrorIs(t, shares.SetDemand(NoQueue, 1), ErrUnknown)
	require.ErrorIs(t, shares.SetDemand(99, 1), ErrUnknown)
	require.ErrorIs(t, shares.SetDemand(a, -1), ErrInvalid)
	require.Zero(t, shares.Of(99))
	require.Zero(t, shares.Guaranteed(NoQueue))
	require.Zero(t, shares.Demand(NoQueue))
	require.NoError(t, shares.SetDemand(a, 7))
	require.Equal(t, int64(7), shares.Of(a), "a product that nobody speaks of is divided as if there were enough")
	require.Empty(t, shares.Borrowers(nil, NoQueue, Charge{GPUMilli: 1}))
}
