package quota

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// TestSpendingIsTheIntegral: what an account says is the sum over the milliseconds of its time, and
// it says beforehand in which of them a budget is used up, also after it is stored and restored.
func TestSpendingIsTheIntegral(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		const start = 1_700_000_000_000
		from := start + rapid.Int64Range(-20, 40).Draw(t, "from")
		until := rapid.SampledFrom([]int64{0, from + 1, from + 30, from + 100}).Draw(t, "until")
		budget := rapid.Int64Range(0, 4).Draw(t, "budget") // in thousandths of a GPU-hour
		s, rate, sum := NewSpending(from, until), int64(0), int64(0)
		foretold, ok := s.SpentAt(budget, start)
		for now := int64(start); now < start+150; now++ {
			in := now >= from && (until == 0 || now < until)
			require.Equal(t, in, s.InForce(now))
			require.Equal(t, sum/milliHour, s.Used(now))
			require.Equal(t, sum >= budget*milliHour, s.IsSpent(budget, now))
			if in && ok {
				require.Equal(t, now >= foretold, s.IsSpent(budget, now), "at %d, foretold for %d", now, foretold)
			} else if in {
				require.False(t, s.IsSpent(budget, now), "at %d", now)
			}
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				rate = rapid.SampledFrom([]int64{0, 1000, 8000, 400_000, 1_000_000}).Draw(t, "rate")
				s.Use(rate, now)
				foretold, ok = s.SpentAt(budget, now)
			case 2:
				text, err := json.Marshal(s.State())
				require.NoError(t, err)
				var state LedgerAccount
				require.NoError(t, json.Unmarshal(text, &state))
				s = NewSpending(from, until)
				require.NoError(t, s.Restore(state, now))
			}
			if in {
				sum += rate
			}
		}
	})
}

// TestSpendingForALongTime: 131,072 GPUs against the largest budget, and one that is never used up.
func TestSpendingForALongTime(t *testing.T) {
	const now, year = 1_800_000_000_000, 365 * 24 * 3_600_000
	s := NewSpending(0, 0)
	s.Use(131_072_000, now)
	require.Equal(t, int64(131_072_000*365*24), s.Used(now+year))
	at, ok := s.SpentAt(1<<42, now)
	require.True(t, ok)
	require.Equal(t, int64(now+(1<<42)*(milliHour/1000)/131_072), at)
	require.False(t, s.IsSpent(1<<42, at-1))
	require.True(t, s.IsSpent(1<<42, at))
	s.Use(0, now+year)
	_, ok = s.SpentAt(1<<42, now+year)
	require.False(t, ok)
	s.Use(1, now+year)
	_, ok = s.SpentAt(1<<62, now+year)
	require.False(t, ok, "not before the last instant")
}

func TestSpendingRefusesWhatCannotBe(t *testing.T) {
	s := NewSpending(1000, 2000)
	require.ErrorIs(t, s.Restore(LedgerAccount{Rate: -1}, 1500), ErrInvalid)
	require.ErrorIs(t, s.Restore(LedgerAccount{Rate: 1, High: -1}, 1500), ErrInvalid)
	require.ErrorIs(t, s.Restore(LedgerAccount{Low: 1}, 1000), ErrInvalid, "it has not begun")
	require.NoError(t, s.Restore(LedgerAccount{Low: 1}, 1001))
	require.Zero(t, s.Rate())
}
