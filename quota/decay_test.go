package quota

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// TestDecayTable: each entry is 2^(-i/64) to 2^-56.
func TestDecayTable(t *testing.T) {
	var d decay
	d.fill()
	half := new(big.Float).SetPrec(200).SetFloat64(0.5)
	for range 6 { // the sixth square root of a half's sixty-fourth root
		half.Sqrt(half)
	}
	want := new(big.Float).SetPrec(200).SetInt64(1)
	bound := new(big.Float).SetMantExp(big.NewFloat(1), -56)
	for i, have := range d.table {
		off := new(big.Float).SetPrec(200).SetMantExp(new(big.Float).SetUint64(have), -63)
		off.Sub(off, want).Abs(off)
		require.Negative(t, off.Cmp(bound), "entry %d is off by %v", i, off)
		want.Mul(want, half)
	}
}

// TestAverageAgainstSteps: the average is that of the definition, worked out step
// by step in floating point, within what is promised.
func TestAverageAgainstSteps(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		a := mustSet(t, tree, Queue{Name: "a"})
		width := rapid.Int64Range(1, 50).Draw(t, "step")
		require.NoError(t, tree.SetHalfLife(64*width))
		used, now, step := int64(0), int64(0), int64(0)
		average, integral := 0.0, 0.0
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			now += rapid.SampledFrom([]int64{0, 1, 7, width, 3*width + 1, 100 * width, 5000 * width}).Draw(t, "later")
			for at := step * width; (step+1)*width <= now; at += width {
				average = integral/float64(width)*(1-math.Exp2(-1.0/64)) + average*math.Exp2(-1.0/64)
				step, integral = step+1, float64(used*width)
			}
			require.NoError(t, tree.Advance(now))
			require.InDelta(t, average, float64(tree.nodes[a].history.average)/(1<<averageBits), 0.0015+average*1e-12)
			more := rapid.Int64Range(-used, 8000).Draw(t, "more")
			if more >= 0 {
				require.NoError(t, tree.Charge(a, Charge{GPUMilli: more, Product: NoProduct}))
			} else {
				require.NoError(t, tree.Discharge(a, Charge{GPUMilli: -more, Product: NoProduct}))
			}
			used += more
			integral += float64(more * ((step+1)*width - now))
		}
	})
}

// TestAnUndoneChargeLeavesNoTrace: what is charged and discharged at one instant,
// as for a question, is not remembered.
func TestAnUndoneChargeLeavesNoTrace(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		leaves := drawForest(t, tree)
		require.NoError(t, tree.SetHalfLife(6400))
		for range 10 {
			require.NoError(t, tree.Advance(tree.Now()+rapid.Int64Range(0, 300).Draw(t, "later")))
			i := rapid.SampledFrom(leaves).Draw(t, "leaf")
			before := tree.Past()
			c := Charge{GPUMilli: rapid.Int64Range(0, 9).Draw(t, "gpus"), Product: NoProduct}
			require.NoError(t, tree.Charge(i, c))
			after := tree.Past()
			require.NoError(t, tree.Discharge(i, c))
			require.Equal(t, before, tree.Past())
			require.NoError(t, tree.Charge(i, c))
			require.Equal(t, after, tree.Past())
			require.NoError(t, tree.Check())
		}
	})
}

// TestPastIsExact: a tree that was told the past of another goes on like it.
func TestPastIsExact(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		one := NewTree()
		leaves := drawForest(t, one)
		require.NoError(t, one.SetHalfLife(rapid.SampledFrom([]int64{0, 640, 64_000}).Draw(t, "half-life")))
		require.NoError(t, one.SetCapacity(GPUMilli, 50))
		live := func(trees ...*Tree) {
			for range 12 {
				later := rapid.Int64Range(0, 2000).Draw(t, "later")
				i := rapid.SampledFrom(leaves).Draw(t, "leaf")
				gpus := rapid.Int64Range(-9, 9).Draw(t, "gpus")
				for _, tree := range trees {
					require.NoError(t, tree.Advance(tree.Now()+later))
					if tree.activateUnknown(i); gpus >= 0 {
						require.NoError(t, tree.Charge(i, Charge{GPUMilli: gpus, Product: NoProduct}))
					} else {
						_ = tree.Discharge(i, Charge{GPUMilli: -gpus, Product: NoProduct})
					}
					require.NoError(t, tree.Check())
				}
			}
		}
		live(one)
		text, err := json.Marshal(one.Past())
		require.NoError(t, err)
		var past Past
		require.NoError(t, json.Unmarshal(text, &past))
		two := NewTree()
		require.NoError(t, two.SetCapacity(GPUMilli, 50))
		for i := range one.nodes {
			if i > 0 {
				mustSet(t, two, one.nodes[i].config)
			}
		}
		for _, i := range leaves {
			require.NoError(t, two.Charge(i, Charge{GPUMilli: one.Used(i, GPUMilli), Product: NoProduct}))
			if one.Active(i) {
				two.activateUnknown(i)
			}
		}
		require.NoError(t, two.SetPast(past))
		require.NoError(t, two.Check())
		require.Equal(t, one.Past(), two.Past())
		live(one, two)
		require.Equal(t, one.Past(), two.Past())
		next, _ := one.Next()
		again, _ := two.Next()
		require.Equal(t, next, again)
		for _, i := range leaves {
			require.Equal(t, one.Positions(nil, i), two.Positions(nil, i))
		}
	})
}

// TestNightIsPaidInTheMorning: of two equal tenants one takes the idle fleet all
// night; in the morning the other comes first and has the larger share, until the
// night is forgotten. Without a half-life they are equal at once.
func TestNightIsPaidInTheMorning(t *testing.T) {
	const hour = 3_600_000
	for _, halfLife := range []int64{0, 24 * hour} {
		tree := NewTree()
		require.NoError(t, tree.SetCapacity(GPUMilli, 100_000))
		require.NoError(t, tree.SetHalfLife(halfLife))
		night := mustSet(t, tree, Queue{Name: "by night"})
		day := mustSet(t, tree, Queue{Name: "daily"})
		shares, err := NewShares(tree, GPUMilli, 1)
		require.NoError(t, err)
		require.NoError(t, shares.SetDemand(night, 100_000))
		require.NoError(t, shares.SetDemand(day, 100_000))
		require.NoError(t, tree.Charge(night, Charge{GPUMilli: 100_000, Product: NoProduct}))
		require.NoError(t, tree.Advance(10*hour))
		require.NoError(t, tree.Discharge(night, Charge{GPUMilli: 50_000, Product: NoProduct}))
		require.NoError(t, tree.Charge(day, Charge{GPUMilli: 50_000, Product: NoProduct}))
		tree.activateUnknown(night)
		tree.activateUnknown(day)
		next, _ := tree.Next()
		if halfLife == 0 {
			require.Equal(t, night, next, "equal, and first by name")
			require.Equal(t, int64(50_000), shares.Of(day))
			continue
		}
		// The last of the 26 steps in ten hours ended after 9.75: of 100 GPUs that
		// is an average of 100 x (1 - 2^(-26/64)) = 24.54. Entitled to 50, the weight
		// is down to 4096 / (1 + 24.54/50) = 2747.
		require.Equal(t, day, next)
		standing := tree.Positions(nil, night)
		require.Len(t, standing, 1)
		require.Equal(t, Position{
			Queue: night, Position: 2, Siblings: 2, Used: 50_000, Weight: 1, Tilt: 2747, Average: 24_541, Entitled: 50_000,
		}, standing[0])
		require.Equal(t, int64(59_857), shares.Of(day), "4096 of 4096 + 2747")
		require.NoError(t, tree.Advance(400*hour))
		require.Equal(t, int64(50_000), shares.Of(day))
	}
}

// TestTiltIsBounded: nobody falls below a sixteenth of its weight, or is behind for
// what it was guaranteed.
func TestTiltIsBounded(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetHalfLife(64))
	hog := mustSet(t, tree, Queue{Name: "hog"})
	for k := range 100 {
		mustSet(t, tree, Queue{Name: QueueID(fmt.Sprintf("other%d", k))})
	}
	own := mustSet(t, tree, Queue{Name: "own", Guarantee: Amounts{GPUMilli: 1000}})
	require.NoError(t, tree.Charge(hog, Charge{GPUMilli: MaxAmount, Product: NoProduct}))
	require.NoError(t, tree.Charge(own, Charge{GPUMilli: 1000, Product: NoProduct}))
	require.NoError(t, tree.Advance(MaxTime))
	require.Equal(t, int32(leastTilt), tree.nodes[hog].history.tilt)
	require.Equal(t, int32(fullTilt), tree.nodes[own].history.tilt)
	require.ErrorIs(t, tree.Advance(MaxTime-1), ErrInvalid)
	require.ErrorIs(t, tree.Advance(MaxTime+1), ErrInvalid)
	require.ErrorIs(t, tree.SetHalfLife(-1), ErrInvalid)
	require.ErrorIs(t, tree.SetHalfLife(MaxHalfLife+1), ErrInvalid)
	require.NoError(t, tree.SetHalfLife(0))
	require.Equal(t, int32(fullTilt), tree.nodes[hog].history.tilt)
	require.NoError(t, tree.Check())
}

// TestWide: products, sums and quotients of 128 bits are those of big numbers.
func TestWide(t *testing.T) {
	value := func(w int128) *big.Int {
		v := new(big.Int).Lsh(big.NewInt(w.high), 64)
		return v.Add(v, new(big.Int).SetUint64(w.low))
	}
	drawn.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		c, d := rapid.Int64Range(-1<<61, 1<<61).Draw(t, "c"), rapid.Int64Range(-1<<61, 1<<61).Draw(t, "d")
		require.Zero(t, value(product128(a, b)).Cmp(new(big.Int).Mul(big.NewInt(a), big.NewInt(b))))
		v, w := product128(c, d), product128(b>>3, a>>3)
		require.Zero(t, value(v.plus(w)).Cmp(new(big.Int).Add(value(v), value(w))))
		require.Zero(t, value(v.minus(w)).Cmp(new(big.Int).Sub(value(v), value(w))))
		require.Equal(t, value(v).Sign() < 0, v.negative())
		by := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "by")
		if v.negative() {
			return
		}
		want := new(big.Int).Quo(value(v), new(big.Int).SetUint64(by))
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		require.Equal(t, want.Int64(), v.over(by, math.MaxInt64))
	})
}

func TestSetPastRefuses(t *testing.T) {
	good := PastUse{Queue: "a", Tilt: fullTilt}
	with := func(change func(*PastUse)) []PastUse {
		u := good
		change(&u)
		return []PastUse{u}
	}
	for name, p := range map[string]Past{
		"early":      {Now: -1},
		"late":       {Now: MaxTime + 1},
		"half-life":  {HalfLife: 65},
		"no past":    {Queues: []PastUse{good}},
		"unknown":    {HalfLife: 64, Queues: with(func(u *PastUse) { u.Queue = "b" })},
		"twice":      {HalfLife: 64, Queues: []PastUse{good, good}},
		"average":    {HalfLife: 64, Queues: with(func(u *PastUse) { u.Average = -1 })},
		"no tilt":    {HalfLife: 64, Queues: with(func(u *PastUse) { u.Tilt = 0 })},
		"entitled":   {HalfLife: 64, Queues: with(func(u *PastUse) { u.Entitled = -1 })},
		"integral":   {HalfLife: 64, Queues: with(func(u *PastUse) { u.High = -1 })},
		"integral 2": {HalfLife: 64, Queues: with(func(u *PastUse) { u.High = 1 << 50 })},
	} {
		tree := NewTree()
		mustSet(t, tree, Queue{Name: "a"})
		var typed *Error
		require.ErrorAs(t, tree.SetPast(p), &typed, name)
		require.NotEmpty(t, typed.Error())
		require.Zero(t, tree.HalfLife())
		require.Zero(t, tree.Now())
	}
}

// TestSharesWithoutPast: what was used of late tilts the shares, unless they are to go by
// the weights alone.
func TestSharesWithoutPast(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 9000))
	require.NoError(t, tree.SetHalfLife(64_000))
	a, b := mustSet(t, tree, Queue{Name: "a"}), mustSet(t, tree, Queue{Name: "b"})
	require.NoError(t, tree.Charge(a, gpus(9000)))
	require.NoError(t, tree.Advance(1_000_000))
	for _, c := range []struct {
		untilted bool
		want     int64
	}{{false, 2250}, {true, 4500}} {
		shares, err := NewShares(tree, GPUMilli, 1)
		require.NoError(t, err)
		if c.untilted {
			shares = shares.WithoutPast()
		}
		require.NoError(t, shares.SetDemand(a, 9000))
		require.NoError(t, shares.SetDemand(b, 9000))
		require.InDelta(t, c.want, shares.Of(a), 5)
	}
}
