package quota

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// TestLedgerIsTheIntegral: what a ledger says is the sum over all milliseconds of
// what was allocated, active, covered and borrowed in each, and stays so when it is
// stored and restored in the middle.
func TestLedgerIsTheIntegral(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		mustSet(t, tree, Queue{Name: "org"})
		leaves := []QueueIndex{
			mustSet(t, tree, Queue{Name: "a", Parent: "org", Guarantee: Amounts{GPUMilli: 4000}}),
			mustSet(t, tree, Queue{Name: "b", Parent: "org"}),
		}
		ledger := &Ledger{}
		start := rapid.SampledFrom([]int64{0, 1_700_000_000_000, MaxTime - 1000}).Draw(t, "start")
		require.NoError(t, ledger.Advance(start))
		key := func(i QueueIndex, class string) LedgerKey { return LedgerKey{Queue: tree.Name(i), Class: class} }
		rates, sums := map[LedgerKey][2]int64{}, map[LedgerKey][2]int64{}
		splits := map[QueueID][2]int64{}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			i := rapid.SampledFrom(leaves).Draw(t, "leaf")
			k := key(i, rapid.SampledFrom([]string{"batch", "service"}).Draw(t, "class"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0: // a tick of the reference
				for range rapid.IntRange(1, 15).Draw(t, "milliseconds") {
					for k, r := range rates {
						sums[k] = [2]int64{sums[k][0] + r[0], sums[k][1] + r[1]}
					}
					for _, name := range tree.Queues() {
						i, _ := tree.Lookup(name)
						covered := tree.Covered(i, GPUMilli)
						splits[name] = [2]int64{splits[name][0] + covered, splits[name][1] + tree.Used(i, GPUMilli) - covered}
					}
					require.NoError(t, ledger.Advance(ledger.Now()+1))
				}
			case 1:
				mustSet(t, tree, Queue{Name: "a", Parent: "org", Guarantee: Amounts{GPUMilli: rapid.Int64Range(0, 9000).Draw(t, "guarantee")}})
				ledger.Follow(tree, leaves[0])
			case 2:
				text, err := json.Marshal(ledger.State())
				require.NoError(t, err)
				var state LedgerState
				require.NoError(t, json.Unmarshal(text, &state))
				ledger, err = RestoreLedger(state)
				require.NoError(t, err)
				again, err := json.Marshal(ledger.State())
				require.NoError(t, err)
				require.Equal(t, string(text), string(again))
			default:
				r := rates[k]
				more := rapid.Int64Range(-r[0], 5000).Draw(t, "allocated")
				active := rapid.Int64Range(-r[1], 3000).Draw(t, "active")
				rates[k] = [2]int64{r[0] + more, r[1] + active}
				require.NoError(t, ledger.Add(k, more, active))
				if more >= 0 {
					require.NoError(t, tree.Charge(i, gpus(more)))
				} else {
					require.NoError(t, tree.Discharge(i, gpus(-more)))
				}
				ledger.Follow(tree, i)
			}
			for k, sum := range sums {
				allocated, active := ledger.Read(k)
				require.Equal(t, [2]int64{sum[0] / 1000, sum[1] / 1000}, [2]int64{allocated, active})
			}
			for name, sum := range splits {
				guaranteed, borrowed := ledger.Split(name)
				require.Equal(t, [2]int64{sum[0] / 1000, sum[1] / 1000}, [2]int64{guaranteed, borrowed})
			}
		}
	})
}

// TestLedgerForALongTime: a fleet of 131,072 GPUs for a year, at instants of this
// century, to the last GPU-millisecond; and where a reading stops.
func TestLedgerForALongTime(t *testing.T) {
	const year = 365 * 24 * 3_600_000
	ledger := &Ledger{}
	k := LedgerKey{Tenant: "all"}
	require.NoError(t, ledger.Advance(1_800_000_000_000))
	require.NoError(t, ledger.Add(k, 131_072_000, 0))
	require.NoError(t, ledger.Advance(1_800_000_000_000+year))
	allocated, active := ledger.Read(k)
	require.Equal(t, int64(131_072*year), allocated)
	require.Zero(t, active)
	require.False(t, ledger.Forget(k))
	require.NoError(t, ledger.Add(k, maxUsage-131_072_000, 0))
	require.ErrorIs(t, ledger.Add(k, 1, 0), ErrInvalid)
	require.NoError(t, ledger.Advance(MaxTime))
	allocated, _ = ledger.Read(k)
	require.Equal(t, int64(math.MaxInt64), allocated)
	_, err := RestoreLedger(ledger.State())
	require.NoError(t, err)
	require.NoError(t, ledger.Add(k, -maxUsage, 0))
	require.True(t, ledger.Forget(k))
	require.False(t, ledger.Forget(k))
	require.Empty(t, ledger.Keys())
}

// TestLedgerForgetsWhatIsUndone: a change that is taken back at once leaves nothing.
func TestLedgerForgetsWhatIsUndone(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a"})
	ledger := &Ledger{}
	require.NoError(t, ledger.Advance(77))
	before := ledger.State()
	for range 2 {
		require.NoError(t, ledger.Add(LedgerKey{Queue: "a"}, 5, 3))
		require.NoError(t, tree.Charge(a, gpus(5)))
		ledger.Follow(tree, a)
		require.NotEqual(t, before, ledger.State())
		require.False(t, ledger.ForgetQueue("a"))
		require.NoError(t, tree.Discharge(a, gpus(5)))
		ledger.Follow(tree, a)
		require.NoError(t, ledger.Add(LedgerKey{Queue: "a"}, -5, -3))
		require.Equal(t, before, ledger.State())
	}
	require.ErrorIs(t, ledger.Add(LedgerKey{}, -1, 0), ErrInvalid)
	require.ErrorIs(t, ledger.Add(LedgerKey{}, 0, -1), ErrInvalid)
	require.ErrorIs(t, ledger.Add(LedgerKey{}, math.MinInt64, 0), ErrInvalid)
	require.ErrorIs(t, ledger.Advance(76), ErrInvalid)
	require.ErrorIs(t, ledger.Advance(MaxTime+1), ErrInvalid)
	require.Equal(t, before, ledger.State())
}

// FuzzRestoreLedger: any text that decodes is a ledger that says the same again, or
// is refused with a typed error.
func FuzzRestoreLedger(f *testing.F) {
	f.Add(`{"now":5,"entries":[{"key":{"queue":"a"},"allocated":{"rate":7,"high":-1,"low":18446744073709551600},"active":{}}],"queues":[{"queue":"a","guaranteed":{"rate":1},"borrowed":{}}]}`)
	f.Add(`{"now":-1}`)
	f.Add(`{"queues":[{"queue":"b"},{"queue":"a"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s LedgerState
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		ledger, err := RestoreLedger(s)
		if err != nil {
			var typed *Error
			require.ErrorAs(t, err, &typed)
			return
		}
		back := ledger.State()
		require.Equal(t, len(s.Entries), len(back.Entries))
		require.Equal(t, len(s.Queues), len(back.Queues))
		for k := range s.Entries {
			require.Equal(t, s.Entries[k], back.Entries[k])
		}
		require.NoError(t, ledger.Advance(MaxTime))
		for _, k := range ledger.Keys() {
			allocated, active := ledger.Read(k)
			require.GreaterOrEqual(t, min(allocated, active), int64(0))
		}
	})
}
