package quota

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func gpuShare(thousandths int64) Thousandths { return Thousandths{GPUMilli: thousandths} }

func TestGuaranteesFollowTheFleet(t *testing.T) {
	tree := NewTree()
	set := func(q Queue) QueueIndex {
		i, err := tree.Set(q)
		require.NoError(t, err)
		require.NoError(t, tree.Check())
		return i
	}
	fleet := func(gpus int64, moves bool) {
		require.NoError(t, tree.SetFleet(GPUMilli, 1000*gpus))
		require.NoError(t, tree.Check())
		require.Equal(t, moves, tree.FollowFleet())
		require.NoError(t, tree.Check())
	}
	fleet(512, false)
	org := set(Queue{Name: "org", GuaranteeShare: gpuShare(300), LimitShare: gpuShare(500)})
	team := set(Queue{Name: "team", Parent: "org", GuaranteeShare: gpuShare(333)})
	lab := set(Queue{Name: "lab", Parent: "org", GuaranteeShare: gpuShare(667), LimitShare: gpuShare(1000)})
	bought := set(Queue{Name: "bought", Guarantee: GPUs(64)})
	part := set(Queue{Name: "part", Parent: "bought", GuaranteeShare: gpuShare(500)})
	limit := func(i QueueIndex) int64 {
		most, limited := tree.LimitOf(i, GPUMilli)
		require.True(t, limited)
		return most / 1000
	}
	guaranteed := func() (list []int64) {
		for _, i := range []QueueIndex{org, team, lab, bought, part} {
			list = append(list, tree.Guaranteed(i, GPUMilli)/1000)
		}
		return list
	}
	require.Equal(t, []int64{153, 50, 102, 64, 32}, guaranteed())
	require.Equal(t, []int64{256, 153}, []int64{limit(org), limit(lab)})
	fleet(504, true)
	require.Equal(t, []int64{151, 50, 100, 64, 32}, guaranteed())
	fleet(504, false)
	fleet(0, true)
	require.Equal(t, []int64{0, 0, 0, 64, 32}, guaranteed())
	require.Zero(t, limit(org))
	fleet(512, true)
	require.Equal(t, []int64{153, 50, 102, 64, 32}, guaranteed())

	// What is above changes, and what is below follows.
	set(Queue{Name: "org", GuaranteeShare: gpuShare(400)})
	require.Equal(t, []int64{204, 67, 136, 64, 32}, guaranteed())
	set(Queue{Name: "bought", Guarantee: GPUs(9)})
	require.EqualValues(t, 4, tree.Guaranteed(part, GPUMilli)/1000)
	set(Queue{Name: "bought"}) // part is of the fleet now
	require.EqualValues(t, 256, tree.Guaranteed(part, GPUMilli)/1000)
	guarantee, most, of := tree.Amounts(part)
	require.Equal(t, Amounts{GPUMilli: 256_000}, guarantee)
	require.Nil(t, most)
	require.Equal(t, Amounts{GPUMilli: 512_000}, of)
	require.NoError(t, tree.Remove("part"))
	require.NoError(t, tree.Check())
	fleet(10, true)
	require.Equal(t, []int64{4, 1, 2, 0}, guaranteed()[:4])
}

func TestSharesThatCannotBeKeptAreRefused(t *testing.T) {
	const gpu = `["gpuMilli"]`
	amounts := Amounts{GPUMilli: 1000}
	for name, c := range map[string]struct {
		before []Queue
		bad    Queue
		field  string
	}{
		"negative":            {nil, Queue{GuaranteeShare: gpuShare(-1)}, "guaranteeShare" + gpu},
		"more than all":       {nil, Queue{LimitShare: gpuShare(1001)}, "limitShare" + gpu},
		"no resource":         {nil, Queue{LimitShare: Thousandths{"gold": 1}}, `limitShare["gold"]`},
		"both guarantees":     {nil, Queue{Guarantee: amounts, GuaranteeShare: gpuShare(1)}, "guaranteeShare" + gpu},
		"both limits":         {nil, Queue{Limit: amounts, LimitShare: gpuShare(1)}, "limitShare" + gpu},
		"below its guarantee": {nil, Queue{GuaranteeShare: gpuShare(2), LimitShare: gpuShare(1)}, "limitShare" + gpu},
		"limit of an amount":  {nil, Queue{Guarantee: amounts, LimitShare: gpuShare(1)}, "limitShare" + gpu},
		"an amount limits":    {nil, Queue{GuaranteeShare: gpuShare(2), Limit: amounts}, "limit" + gpu},
		"more than the fleet": {[]Queue{{Name: "a", GuaranteeShare: gpuShare(600)}}, Queue{GuaranteeShare: gpuShare(401)}, "guaranteeShare" + gpu},
		"more than the fleet by queues that state nothing": {
			[]Queue{{Name: "a", GuaranteeShare: gpuShare(600)}, {Name: "b"}},
			Queue{Parent: "b", GuaranteeShare: gpuShare(401)},
			"guaranteeShare" + gpu,
		},
		"more than the queue above":      {[]Queue{{Name: "a", GuaranteeShare: gpuShare(10)}, {Name: "b", Parent: "a", GuaranteeShare: gpuShare(900)}}, Queue{Parent: "a", GuaranteeShare: gpuShare(101)}, "guaranteeShare" + gpu},
		"more than the limit above":      {[]Queue{{Name: "a", LimitShare: gpuShare(10)}, {Name: "b", Parent: "a", GuaranteeShare: gpuShare(9)}}, Queue{Parent: "a", GuaranteeShare: gpuShare(2)}, "guaranteeShare" + gpu},
		"below what is guaranteed below": {[]Queue{{Name: "x"}, {Name: "a", Parent: "x", GuaranteeShare: gpuShare(10)}}, Queue{LimitShare: gpuShare(9)}, "limitShare" + gpu},
		"an amount above limits":         {[]Queue{{Name: "a", Limit: amounts}}, Queue{Parent: "a", GuaranteeShare: gpuShare(1)}, "guaranteeShare" + gpu},
		"an amount comes to limit":       {[]Queue{{Name: "x"}, {Name: "a", Parent: "x", GuaranteeShare: gpuShare(1)}}, Queue{Limit: amounts}, "limit" + gpu},
		"an amount of a share":           {[]Queue{{Name: "a", GuaranteeShare: gpuShare(1)}}, Queue{Parent: "a", Guarantee: amounts}, "guarantee" + gpu},
		"an amount within a limit":       {[]Queue{{Name: "a", LimitShare: gpuShare(1)}}, Queue{Parent: "a", Guarantee: amounts}, "guarantee" + gpu},
		"a share holds amounts":          {[]Queue{{Name: "x"}, {Name: "a", Parent: "x", Guarantee: amounts}}, Queue{GuaranteeShare: gpuShare(1)}, "guaranteeShare" + gpu},
		"a share limits amounts":         {[]Queue{{Name: "x"}, {Name: "a", Parent: "x", Guarantee: amounts}}, Queue{LimitShare: gpuShare(1)}, "limitShare" + gpu},
		"amounts beside shares":          {[]Queue{{Name: "a", Guarantee: GPUs(9)}, {Name: "b", Parent: "a", GuaranteeShare: gpuShare(1)}}, Queue{Parent: "a", Guarantee: amounts}, "guarantee" + gpu},
		"shares beside amounts":          {[]Queue{{Name: "a", Guarantee: GPUs(9)}, {Name: "b", Parent: "a", Guarantee: amounts}}, Queue{Parent: "a", GuaranteeShare: gpuShare(1)}, "guaranteeShare" + gpu},
		"both come below a guarantee": {
			[]Queue{{Name: "x"}, {Name: "a", Parent: "x", Guarantee: amounts}, {Name: "b", Parent: "x", GuaranteeShare: gpuShare(1)}},
			Queue{Guarantee: GPUs(9)},
			"guarantee" + gpu,
		},
		"a guarantee withdrawn shows too much below": {
			[]Queue{{Name: "a", GuaranteeShare: gpuShare(600)}, {Name: "x", Guarantee: GPUs(1)}, {Name: "b", Parent: "x", GuaranteeShare: gpuShare(401)}},
			Queue{},
			"guarantee" + gpu,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := NewTree()
			require.NoError(t, tree.SetFleet(GPUMilli, 100_000))
			for _, q := range c.before {
				_, err := tree.Set(q)
				require.NoError(t, err)
			}
			c.bad.Name = "x"
			before := fmt.Sprintf("%+v", tree.nodes)
			_, err := tree.Set(c.bad)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			require.ErrorIs(t, err, ErrInvalid)
			require.Equal(t, c.field, refused.Field)
			require.Equal(t, before, fmt.Sprintf("%+v", tree.nodes))
			require.NoError(t, tree.Check())
		})
	}
	tree := NewTree()
	require.ErrorIs(t, tree.SetFleet("gold", 1), ErrInvalid)
	require.ErrorIs(t, tree.SetFleet(GPUMilli, -1), ErrInvalid)
}

// TestSharesAreKeptWhateverTheFleetHas draws trees, and fleets that come and go under them. Check
// adds up all promises, and sharesTwin works out the amounts from the top.
func TestSharesAreKeptWhateverTheFleetHas(t *testing.T) {
	refused, mixed := 0, 0
	for seed := range uint64(300) {
		g := rand.New(rand.NewPCG(seed, 7))
		tree := NewTree()
		for range 60 {
			name := QueueID(fmt.Sprintf("q%d", g.IntN(8)))
			switch g.IntN(6) {
			case 0:
				for _, r := range []Resource{GPUMilli, CPUMilli, GPUMilliOf("H100")} {
					if g.IntN(2) == 0 {
						require.NoError(t, tree.SetFleet(r, int64(g.IntN(30_000))))
					}
				}
				if g.IntN(2) == 0 {
					tree.FollowFleet()
				}
			case 1:
				_ = tree.Remove(name)
			default:
				q := Queue{Name: name}
				if i, known := tree.Lookup(name); known {
					q.Parent = tree.Config(i).Parent
				} else if names := tree.Queues(); len(names) > 0 && g.IntN(3) > 0 {
					q.Parent = names[g.IntN(len(names))]
				}
				r := []Resource{GPUMilli, GPUMilli, CPUMilli, GPUMilliOf("H100")}[g.IntN(4)]
				shares := func() Thousandths {
					if g.IntN(2) == 0 {
						return nil
					}
					return Thousandths{r: int64(g.IntN(1001)) >> g.IntN(5)}
				}
				amounts := func() Amounts {
					if g.IntN(4) > 0 {
						return nil
					}
					return Amounts{r: int64(g.IntN(20_000))}
				}
				q.GuaranteeShare, q.LimitShare, q.Guarantee, q.Limit = shares(), shares(), amounts(), amounts()
				q.LendingLimit = amounts()
				if _, err := tree.Set(q); err != nil {
					refused++
				}
			}
			require.NoError(t, tree.Check(), "seed %d", seed)
			if i, known := tree.Lookup(name); known && g.IntN(2) == 0 && tree.Leaf(i) {
				_ = tree.Charge(i, Charge{GPUMilli: int64(g.IntN(2000))})
				_ = tree.SetNext(i, Charge{GPUMilli: 1000})
			}
			if len(tree.moved) == 0 && len(tree.sharers) > 0 {
				sharesTwin(t, tree)
				mixed++
			}
		}
	}
	require.Greater(t, refused, 300)
	require.Greater(t, mixed, 300)
}

// sharesTwin works out what each queue is guaranteed and limited to by shares.
func sharesTwin(t *testing.T, tree *Tree) {
	t.Helper()
	for _, name := range tree.Queues() {
		i, _ := tree.Lookup(name)
		for _, r := range []Resource{GPUMilli, CPUMilli, GPUMilliOf("H100")} {
			var chain []Queue // from the queue up
			for j := i; j != RootQueue; j = tree.Parent(j) {
				chain = append(chain, tree.Config(j))
			}
			of := tree.Fleet(r)
			for k := len(chain) - 1; k >= 0; k-- {
				part := func(share int64) int64 {
					amount := of * share / 1000
					if r != CPUMilli {
						amount = amount / 1000 * 1000
					}
					return amount
				}
				if share, stated := chain[k].LimitShare[r]; stated && k == 0 {
					most, _ := tree.LimitOf(i, r)
					require.Equal(t, part(share), most)
				}
				if share, stated := chain[k].GuaranteeShare[r]; stated {
					of = part(share)
				} else if amount, stated := chain[k].Guarantee[r]; stated {
					of = amount
				} else {
					continue
				}
				if k == 0 {
					require.Equal(t, of, tree.Guaranteed(i, r))
				}
			}
		}
	}
}

func TestAFleetThatShrinksBringsNothingBeyondALimit(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetFleet(GPUMilli, 10_000))
	q, err := tree.Set(Queue{Name: "q", LimitShare: gpuShare(500)})
	require.NoError(t, err)
	lends, err := tree.Set(Queue{Name: "b", GuaranteeShare: gpuShare(500), BorrowingLimit: GPUs(0)})
	require.NoError(t, err)
	for _, i := range []QueueIndex{q, lends} {
		require.NoError(t, tree.Charge(i, Charge{GPUMilli: 5000}))
	}
	require.NoError(t, tree.SetFleet(GPUMilli, 8000))
	require.True(t, tree.FollowFleet())
	for _, i := range []QueueIndex{q, lends} {
		require.Empty(t, tree.Exceeded(nil, i))
		_, fits := tree.Fits(i, Charge{GPUMilli: 1})
		require.False(t, fits)
	}
}
