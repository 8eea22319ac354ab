package quota

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// A crowd is a tree with jobs that want to run in it, each whole or not at all.
type crowd struct {
	tree   *Tree
	shares *Shares
	jobs   []crowdJob
	floor  map[QueueIndex]int64 // what leaves kept when they last gave by rule 2
}

type crowdJob struct {
	leaf    QueueIndex
	gpus    int64
	running bool
}

func (j crowdJob) charge() Charge { return Charge{GPUMilli: j.gpus, Product: NoProduct} }

// drawCrowd makes jobs of up to "largest" GPUs, and demand of them all together.
func drawCrowd(t *rapid.T, lending bool, largest int64) *crowd {
	w, sum := &crowd{}, int64(0)
	w.tree, w.shares = drawShares(t, lending)
	w.shares.unit = 1
	for i := range w.tree.nodes {
		if !w.tree.Leaf(QueueIndex(i)) {
			continue
		}
		demand := int64(0)
		for range rapid.SampledFrom([]int{5, 8, 2, 0}).Draw(t, "jobs") {
			gpus := rapid.Int64Range(1, largest).Draw(t, "gpus")
			w.jobs = append(w.jobs, crowdJob{leaf: QueueIndex(i), gpus: gpus})
			demand += gpus
		}
		require.NoError(t, w.shares.SetDemand(QueueIndex(i), demand))
		sum += demand
	}
	require.NoError(t, w.tree.SetCapacity(GPUMilli, rapid.SampledFrom([]int64{sum / 2, sum / 3, sum * 3 / 4, sum / 5, 1}).Draw(t, "capacity for jobs")))
	return w
}

func (w *crowd) idle() int64 {
	capacity, _ := w.tree.Capacity(GPUMilli)
	return capacity - w.tree.Used(RootQueue, GPUMilli)
}

// start runs a job on idle capacity, if it fits.
func (w *crowd) start(t require.TestingT, k int) bool {
	j := &w.jobs[k]
	if _, fits := w.tree.Fits(j.leaf, j.charge()); j.running || !fits || j.gpus > w.idle() {
		return false
	}
	require.NoError(t, w.tree.Charge(j.leaf, j.charge()))
	j.running = true
	return true
}

// exchange starts a job in the place of others, in the order in which they are
// given, if that is allowed and enough.
func (w *crowd) exchange(t require.TestingT, k int, others []int) (victims []int) {
	j := &w.jobs[k]
	if j.running {
		return nil
	}
	for _, o := range others {
		if _, fits := w.tree.Fits(j.leaf, j.charge()); fits && w.idle() >= j.gpus {
			break
		}
		v := &w.jobs[o]
		if !v.running || v.leaf == j.leaf {
			continue
		}
		if _, ok := w.shares.MayReclaim(j.leaf, j.charge(), v.leaf, v.charge()); ok {
			require.NoError(t, w.tree.Discharge(v.leaf, v.charge()))
			v.running = false
			victims = append(victims, o)
		}
	}
	if len(victims) > 0 && w.start(t, k) {
		return victims
	}
	for _, o := range victims { // nothing comes of it
		require.NoError(t, w.tree.Charge(w.jobs[o].leaf, w.jobs[o].charge()))
		w.jobs[o].running = true
	}
	return nil
}

// potential is the pair that every exchange raises.
func (w *crowd) potential() (promised, fair int64) {
	for i := range w.tree.nodes {
		if i := QueueIndex(i); w.tree.Leaf(i) {
			promised += min(w.tree.Used(i, GPUMilli), w.shares.Guaranteed(i))
			fair += min(w.tree.Used(i, GPUMilli), w.shares.Of(i))
		}
	}
	return promised, fair
}

// used lists what every queue uses.
func (w *crowd) used() []int64 {
	used := make([]int64, len(w.tree.nodes))
	for i := range used {
		used[i] = w.tree.Used(QueueIndex(i), GPUMilli)
	}
	return used
}

// TestS4_ReclaimKeepsGuarantees and ends: in a random tree with random jobs, as
// long as anything can be started or exchanged in any order and by any choice of
// victims, no queue at any level falls below its guarantee by it, nobody is fed
// beyond its fair share, a queue that was displaced may not take from what displaced
// it, the potential rises with each exchange and falls with no start; and it
// ends. Then jobs come and go, and it begins again.
func TestS4_ReclaimKeepsGuarantees(t *testing.T) {
	exchanges := 0
	drawn.Check(t, func(t *rapid.T) {
		largest := rapid.Int64Range(1, 8).Draw(t, "largest")
		w := drawCrowd(t, true, largest)
		for k := range w.jobs { // the first come take all there is
			w.start(t, k)
		}
		for range 3 {
			exchanges += w.exchangeAtRandom(t)
			require.NoError(t, w.tree.Check())
			w.churn(t, largest)
		}
	})
	if drawn.Many() {
		require.Greater(t, exchanges, 10, "the test has to see some")
	}
}

// exchangeAtRandom starts and exchanges until nothing moves, and looks at each.
func (w *crowd) exchangeAtRandom(t *rapid.T) (exchanges int) {
	for moved := true; moved; {
		moved = false
		order := rapid.Permutation(count(len(w.jobs))).Draw(t, "order")
		for _, k := range order {
			promised, fair := w.potential()
			used := w.used()
			if w.start(t, k) {
				nowPromised, nowFair := w.potential()
				require.GreaterOrEqual(t, nowPromised, promised)
				require.GreaterOrEqual(t, nowFair, fair)
				moved = true
				continue
			}
			victims := w.exchange(t, k, rapid.Permutation(order).Draw(t, "victims"))
			if len(victims) == 0 {
				require.Equal(t, used, w.used())
				continue
			}
			moved = true
			exchanges++
			nowPromised, nowFair := w.potential()
			require.True(t, nowPromised > promised || nowPromised == promised && nowFair > fair,
				"from %d, %d to %d, %d", promised, fair, nowPromised, nowFair)
			leaf := w.jobs[k].leaf
			require.LessOrEqual(t, w.tree.Used(leaf, GPUMilli), max(w.shares.Of(leaf), w.shares.Guaranteed(leaf)))
			for i := range w.tree.nodes {
				i := QueueIndex(i)
				if u := w.tree.Used(i, GPUMilli); u < used[i] && !w.tree.Below(leaf, i) {
					require.GreaterOrEqual(t, w.shares.has(i), w.tree.Guaranteed(i, GPUMilli), "%s is below its guarantee", w.tree.Name(i))
				}
			}
			for _, v := range victims {
				back := w.jobs[v]
				_, ok := w.shares.MayReclaim(back.leaf, back.charge(), leaf, gpus(1))
				require.False(t, ok, "what was displaced may come back at the cost of what displaced it")
			}
		}
	}
	return exchanges
}

func count(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// settle starts and exchanges jobs, by the order of Victims, until nothing moves.
func (w *crowd) settle(t require.TestingT) {
	for again := true; again; {
		again = false
		for k := range w.jobs {
			var victims []int
			for _, v := range w.shares.Borrowers(nil, w.jobs[k].leaf, w.jobs[k].charge()) {
				for o := range w.jobs {
					if w.jobs[o].leaf == v.Leaf {
						victims = append(victims, o)
					}
				}
			}
			if w.start(t, k) || len(w.exchange(t, k, victims)) > 0 {
				again = true
			}
		}
	}
}

// churn ends some jobs, running or not, and brings in others.
func (w *crowd) churn(t *rapid.T, largest int64) {
	for range rapid.IntRange(0, 12).Draw(t, "ends") {
		if len(w.jobs) == 0 {
			break
		}
		k := rapid.IntRange(0, len(w.jobs)-1).Draw(t, "ended")
		if j := w.jobs[k]; j.running {
			require.NoError(t, w.tree.Discharge(j.leaf, j.charge()))
		}
		w.jobs = slices.Delete(w.jobs, k, k+1)
	}
	for range rapid.IntRange(0, 12).Draw(t, "comes") {
		if i := QueueIndex(rapid.IntRange(1, len(w.tree.nodes)-1).Draw(t, "to")); w.tree.Leaf(i) {
			w.jobs = append(w.jobs, crowdJob{leaf: i, gpus: rapid.Int64Range(1, largest).Draw(t, "gpus")})
		}
	}
	demand := map[QueueIndex]int64{}
	for _, j := range w.jobs {
		demand[j.leaf] += j.gpus
	}
	for i := range w.tree.nodes {
		if i := QueueIndex(i); w.tree.Leaf(i) {
			require.NoError(t, w.shares.SetDemand(i, demand[i]))
		}
	}
}

// TestGuaranteesHoldAtEveryLevel: with jobs of the least size, whichever runs first
// and whatever comes and goes, reclaim ends where every leaf has its fair share; so
// every queue that states a guarantee has it, or all it wants.
func TestGuaranteesHoldAtEveryLevel(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := drawCrowd(t, false, 1)
		capacity, _ := w.tree.Capacity(GPUMilli) // at least what is guaranteed: nobody is taken below that
		require.NoError(t, w.tree.SetCapacity(GPUMilli, max(capacity, w.tree.nodes[RootQueue].host[gpuID].below)))
		for k := range w.jobs { // the first come take all there is
			w.start(t, k)
		}
		for range 3 {
			w.settle(t)
			all, book := w.shares.All(nil), newDivider(w.shares)
			for i := range w.tree.nodes {
				i := QueueIndex(i)
				if i == RootQueue {
					continue
				}
				require.Equal(t, all[i], w.tree.Used(i, GPUMilli), w.tree.Name(i))
				require.GreaterOrEqual(t, w.tree.Used(i, GPUMilli), min(w.tree.Guaranteed(i, GPUMilli), book.most(i)), w.tree.Name(i))
			}
			w.churn(t, 1)
		}
	})
}

// TestVictimsAreThoseThatMayBeAsked: the list and the single question agree, on
// the victims, on how much and why; and those first where the paths of two of them part
// are further over their share.
func TestVictimsAreThoseThatMayBeAsked(t *testing.T) {
	seen := 0
	drawn.Check(t, func(t *rapid.T) {
		w := drawCrowd(t, true, 5)
		for k := range w.jobs {
			w.start(t, k)
		}
		for n := range 4 * len(w.tree.nodes) {
			b, asked := QueueIndex(n/4), Charge{GPUMilli: rapid.Int64Range(0, 6).Draw(t, "asked"), Product: NoProduct}
			victims := w.shares.Borrowers(nil, b, asked)
			most := map[QueueIndex]int64{}
			for _, v := range victims {
				most[v.Leaf] = v.Reclaimable
				verdict, ok := w.shares.MayReclaim(b, asked, v.Leaf, Charge{GPUMilli: v.Reclaimable, Product: NoProduct})
				require.True(t, ok)
				require.Equal(t, ReclaimVerdict{Reason: v.Reason, At: NoQueue}, verdict)
			}
			seen += len(victims)
			for j := range w.tree.nodes {
				verdict, ok := w.shares.MayReclaim(b, asked, QueueIndex(j), Charge{GPUMilli: most[QueueIndex(j)] + 1, Product: NoProduct})
				require.False(t, ok, "%v", verdict)
				require.NotContains(t, verdict.Reason.String(), "ReclaimReason")
			}
			for k := 1; k < len(victims); k++ {
				x, y := victims[k-1].Leaf, victims[k].Leaf
				at := w.tree.parting(x, y)
				for w.tree.Parent(x) != at {
					x = w.tree.Parent(x)
				}
				for w.tree.Parent(y) != at {
					y = w.tree.Parent(y)
				}
				require.GreaterOrEqual(t, w.shares.has(x)*w.shares.Of(y), w.shares.has(y)*w.shares.Of(x))
			}
		}
	})
	if drawn.Many() {
		require.Greater(t, seen, 20)
	}
}

// TestFlapIsRefused: three queues and four GPUs; "a" and "c" are guaranteed half
// each, and "b" runs two jobs, of three and of one, on all four while they are
// idle. A scheduler that compares the shares of two queues before and after lets a
// job of four of "c" displace both, then the small job of "b" displace that one, and
// the large one of "b" start beside it: where it began. Here the first exchange is
// refused, as with four GPUs "c" would be over its fair share of three; so is the
// second, had "c" got there when all was idle and "a" come back.
func TestFlapIsRefused(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 4000))
	mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 2000}})
	b := mustSet(t, tree, Queue{Name: "b"})
	c := mustSet(t, tree, Queue{Name: "c", Guarantee: Amounts{GPUMilli: 2000}})
	shares, err := NewShares(tree, GPUMilli, 1000)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(b, 4000))
	require.NoError(t, shares.SetDemand(c, 4000))
	gpus := func(n int64) Charge { return Charge{GPUMilli: n * 1000, Product: NoProduct} }

	require.NoError(t, tree.Charge(b, gpus(3)))
	require.NoError(t, tree.Charge(b, gpus(1)))
	verdict, ok := shares.MayReclaim(c, gpus(4), b, gpus(3))
	require.False(t, ok)
	require.Equal(t, ReclaimVerdict{Reason: ReclaimOverShare, At: c, Used: 4000, Bound: 3000}, verdict)
	require.Empty(t, shares.Borrowers(nil, c, gpus(4)))

	// What "c" may have it gets, and keeps.
	verdict, ok = shares.MayReclaim(c, gpus(2), b, gpus(3))
	require.True(t, ok)
	require.Equal(t, ReclaimForGuarantee, verdict.Reason)
	require.NoError(t, tree.Discharge(b, gpus(3)))
	require.NoError(t, tree.Charge(c, gpus(2)))
	_, ok = shares.MayReclaim(b, gpus(3), c, gpus(2))
	require.False(t, ok)

	// The second exchange: "c" has all, "b" comes for one GPU. Taking a job of four
	// would leave "c" below its guarantee.
	require.NoError(t, tree.Discharge(b, gpus(1)))
	require.NoError(t, tree.Charge(c, gpus(2)))
	verdict, ok = shares.MayReclaim(b, gpus(1), c, gpus(4))
	require.False(t, ok)
	require.Equal(t, ReclaimVerdict{Reason: ReclaimBelowGuarantee, At: c, Used: 0, Bound: 2000}, verdict)
	_, ok = shares.MayReclaim(b, gpus(1), c, gpus(1))
	require.True(t, ok, "a job of one GPU it may take: that leaves each its share")
}

// TestFlapEnds: the three jobs of the flap, from any of its states and in any order of
// asking: each exchange raises the potential, and in the end nobody moves.
func TestFlapEnds(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		w := &crowd{tree: NewTree()}
		require.NoError(t, w.tree.SetCapacity(GPUMilli, 4))
		mustSet(t, w.tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 2}})
		b := mustSet(t, w.tree, Queue{Name: "b"})
		c := mustSet(t, w.tree, Queue{Name: "c", Guarantee: Amounts{GPUMilli: 2}})
		w.shares, _ = NewShares(w.tree, GPUMilli, 1)
		require.NoError(t, w.shares.SetDemand(b, 4))
		require.NoError(t, w.shares.SetDemand(c, 4))
		w.jobs = []crowdJob{{leaf: b, gpus: 3}, {leaf: b, gpus: 1}, {leaf: c, gpus: 4}}
		for _, k := range rapid.Permutation(count(3)).Draw(t, "come") {
			w.start(t, k)
		}
		require.LessOrEqual(t, w.exchangeAtRandom(t), 4)
	})
}

// TestWhatIsKeptIsHad: a team uses no more than its project is guaranteed, but beside
// that the project keeps what it does not lend. What the sibling of the project has
// borrowed goes back to the queue that it is owed to.
func TestWhatIsKeptIsHad(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 10))
	team := mustSet(t, tree, Queue{Name: "team"})
	project := mustSet(t, tree, Queue{Name: "project", Parent: "team", Guarantee: Amounts{GPUMilli: 6}, LendingLimit: Amounts{GPUMilli: 0}})
	sibling := mustSet(t, tree, Queue{Name: "sibling", Parent: "team"})
	owner := mustSet(t, tree, Queue{Name: "owner", Guarantee: Amounts{GPUMilli: 1}})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(project, 2))
	require.NoError(t, shares.SetDemand(sibling, 5))
	require.NoError(t, shares.SetDemand(owner, 1))
	require.NoError(t, tree.Charge(project, gpus(2)))
	require.NoError(t, tree.Charge(sibling, gpus(4)))
	verdict, fits := tree.Fits(owner, gpus(1))
	require.False(t, fits)
	require.Equal(t, VerdictLendingLimit, verdict.Kind)
	require.Equal(t, []Borrower{{Leaf: sibling, Reclaimable: 4, Reason: ReclaimForGuarantee}}, shares.Borrowers(nil, owner, gpus(1)))
	_, ok := shares.MayReclaim(owner, gpus(1), sibling, gpus(1))
	require.True(t, ok)
	require.NoError(t, tree.Discharge(sibling, gpus(1)))
	_, fits = tree.Fits(owner, gpus(1))
	require.True(t, fits)

	// Nor may it go on borrowing at the cost of others.
	require.NoError(t, tree.Charge(owner, gpus(1)))
	mustSet(t, tree, Queue{Name: "owner"})
	verdict2, ok := shares.MayReclaim(sibling, gpus(1), owner, gpus(1))
	require.False(t, ok)
	require.Equal(t, ReclaimOverShare, verdict2.Reason)
	require.Equal(t, int64(10), shares.has(team)+1)
}

// TestALeafGivesNoMoreThanTheQueueAboveIt: a team has three more than its part of what is
// guaranteed to its organisation. As another team has not yet what is its own, the organisation
// has one more than its guarantee: that is all that others may take. The rest is between the two
// teams.
func TestALeafGivesNoMoreThanTheQueueAboveIt(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 12))
	mustSet(t, tree, Queue{Name: "org", Guarantee: Amounts{GPUMilli: 8}})
	large := mustSet(t, tree, Queue{Name: "large", Parent: "org"})
	small := mustSet(t, tree, Queue{Name: "small", Parent: "org"})
	owner := mustSet(t, tree, Queue{Name: "owner", Guarantee: Amounts{GPUMilli: 4}})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(large, 7))
	require.NoError(t, shares.SetDemand(small, 4))
	require.NoError(t, shares.SetDemand(owner, 4))
	require.NoError(t, tree.Charge(large, gpus(7)))
	require.NoError(t, tree.Charge(small, gpus(2)))
	require.Equal(t, []Borrower{{Leaf: large, Reclaimable: 1, Reason: ReclaimForGuarantee}}, shares.Borrowers(nil, owner, gpus(4)))
	require.Equal(t, []Borrower{{Leaf: large, Reclaimable: 3, Reason: ReclaimForGuarantee}}, shares.Borrowers(nil, small, gpus(2)))

	require.NoError(t, tree.Discharge(large, gpus(1)))
	require.Empty(t, shares.Borrowers(nil, owner, gpus(4)), "the organisation has its guarantee and no more")
}

// TestReclaimIsDecidedWhereThePathsPart: a team takes from its sibling what is
// over, though the organisation of both is over its share; from outside it may not.
func TestReclaimIsDecidedWhereThePathsPart(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 100))
	mustSet(t, tree, Queue{Name: "left"})
	mustSet(t, tree, Queue{Name: "right"})
	mine := mustSet(t, tree, Queue{Name: "mine", Parent: "left"})
	sibling := mustSet(t, tree, Queue{Name: "sibling", Parent: "left"})
	other := mustSet(t, tree, Queue{Name: "other", Parent: "right"})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	for _, i := range []QueueIndex{mine, sibling, other} {
		require.NoError(t, shares.SetDemand(i, 100))
	}
	one := Charge{GPUMilli: 1, Product: NoProduct}
	require.NoError(t, tree.Charge(sibling, Charge{GPUMilli: 60, Product: NoProduct}))
	require.NoError(t, tree.Charge(other, Charge{GPUMilli: 40, Product: NoProduct}))
	_, ok := shares.MayReclaim(mine, one, sibling, one)
	require.True(t, ok)
	verdict, ok := shares.MayReclaim(mine, one, other, one)
	require.False(t, ok)
	left, _ := tree.Lookup("left")
	require.Equal(t, ReclaimVerdict{Reason: ReclaimOverShare, At: left, Used: 61, Bound: 50}, verdict)
	require.Equal(t, []Borrower{{Leaf: sibling, Reclaimable: 35, Reason: ReclaimForShare}}, shares.Borrowers(nil, mine, one))
	require.True(t, tree.Below(mine, left))
	require.False(t, tree.Below(other, left))
	require.False(t, tree.Below(NoQueue, left))

	for _, c := range []struct {
		b, v   QueueIndex
		x      int64
		reason ReclaimReason
	}{
		{NoQueue, other, 1, ReclaimNoLeaf},
		{mine, left, 1, ReclaimNoLeaf},
		{mine, mine, 1, ReclaimSameQueue},
		{mine, sibling, 0, ReclaimNothing},
		{mine, sibling, 61, ReclaimNothing},
		{mine, sibling, 36, ReclaimBelowShare},
	} {
		verdict, ok := shares.MayReclaim(c.b, one, c.v, Charge{GPUMilli: c.x, Product: NoProduct})
		require.False(t, ok)
		require.Equal(t, c.reason, verdict.Reason)
	}
}

// Queues that have alike of their shares give at one rank, and their names order them there: a
// choice among what they give is not by name.
func TestBorrowersThatHaveAlikeAreOfOneRank(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 12))
	owner := mustSet(t, tree, Queue{Name: "owner", Guarantee: Amounts{GPUMilli: 4}})
	a, b, c := mustSet(t, tree, Queue{Name: "a"}), mustSet(t, tree, Queue{Name: "b"}), mustSet(t, tree, Queue{Name: "c"})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(owner, 4))
	for leaf, uses := range map[QueueIndex]int64{a: 3, b: 3, c: 6} {
		require.NoError(t, shares.SetDemand(leaf, 6))
		require.NoError(t, tree.Charge(leaf, gpus(uses)))
	}
	ranks := map[QueueIndex]int{}
	for _, borrower := range shares.Borrowers(nil, owner, gpus(4)) {
		ranks[borrower.Leaf] = borrower.Rank
	}
	require.Equal(t, map[QueueIndex]int{c: 0, b: 1, a: 1}, ranks)
}

// A queue with a guarantee is promised that and no more, though the queue above it is promised
// more than its children are together.
func TestAGuaranteeIsAllThatIsPromised(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 20))
	mustSet(t, tree, Queue{Name: "org", Guarantee: Amounts{GPUMilli: 10}})
	stated := mustSet(t, tree, Queue{Name: "stated", Parent: "org", Guarantee: Amounts{GPUMilli: 2}})
	silent := mustSet(t, tree, Queue{Name: "silent", Parent: "org"})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(stated, 10))
	require.NoError(t, shares.SetDemand(silent, 5))
	require.Equal(t, int64(2), shares.Guaranteed(stated))
	require.Equal(t, int64(10), shares.Of(stated), "of the capacity it may have more")
}

// What a queue asks for out of what is kept for it counts nothing above the queue that keeps it:
// the organisation has had that all along.
func TestWhatIsKeptIsAskedForOnce(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 10))
	org := mustSet(t, tree, Queue{Name: "org"})
	mustSet(t, tree, Queue{Name: "team", Parent: "org", Guarantee: Amounts{GPUMilli: 6}, LendingLimit: Amounts{GPUMilli: 0}})
	leaf := mustSet(t, tree, Queue{Name: "leaf", Parent: "team"})
	owner := mustSet(t, tree, Queue{Name: "owner", Guarantee: Amounts{GPUMilli: 4}})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(leaf, 6))
	require.NoError(t, shares.SetDemand(owner, 4))
	require.Equal(t, int64(6), shares.Of(org))
	require.Empty(t, shares.Exceeded(nil, leaf, gpus(2)))
	require.Equal(t, []QueueIndex{leaf, tree.nodes[leaf].parent, org}, shares.Exceeded(nil, leaf, gpus(7)))
}
