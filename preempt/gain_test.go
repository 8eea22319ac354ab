package preempt_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/preempt"
)

// What a job gains grows with its wait until it is worth what its victims lose.
func ExampleScale_Gain() {
	const minute = 60_000
	scale := preempt.Scale{ClassGain: []int64{0, 60 * minute}, TurnGain: 10 * minute, WaitMilli: 1000}
	victims := []preempt.Candidate{{ID: "train", GPUMilli: 8000, Checkpointable: true, CheckpointCost: minute, RestartCost: 4 * minute}}
	for _, waited := range []int64{0, 10 * minute, 20 * minute} {
		gain := scale.Gain(&preempt.Beneficiary{GPUMilli: 2000, Waited: waited})
		fmt.Println(gain/minute, preempt.TotalCost(victims)/minute, gain > preempt.TotalCost(victims))
	}
	// Of a higher class it need not wait.
	fmt.Println(scale.Gain(&preempt.Beneficiary{Class: 1, GPUMilli: 2000}) / minute)
	// Output:
	// 20 40 false
	// 40 40 false
	// 60 40 true
	// 140
}

// The gain is what its documentation says, whatever the amounts: rounded up, and the largest
// value where it would exceed that. It never becomes less with the wait.
func TestGainIsWhatItSays(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<40), rapid.Int64Range(0, math.MaxInt64))
	drawn.Check(t, func(t *rapid.T) {
		s := preempt.Scale{
			ClassGain: rapid.SliceOfN(amount, 0, 3).Draw(t, "classes"), TurnGain: amount.Draw(t, "turn"),
			WaitMilli: rapid.Int64Range(0, 1_000_000).Draw(t, "waitMilli"),
		}
		b := preempt.Beneficiary{
			Class: rapid.IntRange(-1, 4).Draw(t, "class"), VictimClass: rapid.IntRange(-1, 4).Draw(t, "victims"),
			GPUMilli: amount.Draw(t, "gpus"), Waited: amount.Draw(t, "waited"),
		}
		class := func(i int) *big.Int {
			if i < 0 || i >= len(s.ClassGain) {
				return new(big.Int)
			}
			return big.NewInt(s.ClassGain[i])
		}
		up := func(x *big.Int) *big.Int { return x.Div(x.Add(x, big.NewInt(999)), big.NewInt(1000)) }
		most := big.NewInt(math.MaxInt64)
		capped := func(x *big.Int) *big.Int {
			if x.Cmp(most) > 0 {
				return most
			}
			return x
		}
		want := new(big.Int).Sub(class(b.Class), class(b.VictimClass))
		if want.Sign() < 0 {
			want = new(big.Int)
		}
		want.Add(want, big.NewInt(s.TurnGain))
		want.Add(want, capped(up(new(big.Int).Mul(big.NewInt(s.WaitMilli), big.NewInt(b.Waited)))))
		want = capped(up(want.Mul(want, big.NewInt(b.GPUMilli))))
		require.Equal(t, want.Int64(), int64(s.Gain(&b)))
		sooner := b
		sooner.Waited = rapid.Int64Range(0, b.Waited).Draw(t, "sooner")
		require.LessOrEqual(t, s.Gain(&sooner), s.Gain(&b))
	})
}

// Prices add up, to the largest value at the most.
func TestTotal(t *testing.T) {
	require.Zero(t, preempt.TotalCost(nil))
	one := preempt.Candidate{GPUMilli: 1500, RestartCost: 1}
	require.EqualValues(t, 4, preempt.TotalCost([]preempt.Candidate{one, one}), "each is rounded up")
	huge := preempt.Candidate{GPUMilli: math.MaxInt64, RestartCost: math.MaxInt64}
	require.EqualValues(t, int64(math.MaxInt64), preempt.TotalCost([]preempt.Candidate{huge, one, huge}))
}
