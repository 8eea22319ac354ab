package meter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// Four in 100: one more every 25.
var rate = berth.RateLimit{Evictions: 4, Per: 100}

func TestAMeterHoldsEvictionsToItsRate(t *testing.T) {
	var m Meter
	m.Take(rate, 1000, 1000, 4)
	for evictions, at := range []berth.Time{1000, 1025, 1050, 1075, 1100, 1100} {
		require.Equal(t, at, m.Ready(rate, 1000, evictions), "%d at once", evictions)
	}
	require.Equal(t, berth.Time(1060), m.Ready(rate, 1060, 2), "what is there may go at once")
}

// More than the bucket holds go when it is full, and then it is as much longer until it is so
// again.
func TestMoreThanAMeterHoldsGoWhenItIsFull(t *testing.T) {
	var m Meter
	require.Equal(t, berth.Time(1000), m.Ready(rate, 1000, 6))
	m.Take(rate, 1000, 1000, 6)
	require.Equal(t, Meter{Full: 1150}, m)
}

// What there is is kept for those that have to wait for more, and not for those that wait for
// something else.
func TestAMeterKeepsWhatThereIsForThoseThatWait(t *testing.T) {
	m := Meter{Full: 1050}
	m.Take(rate, 1000, 1030, 2)
	require.Equal(t, Meter{Full: 1050}, m, "two may go now: what they wait for is something else")
	m.Take(rate, 1000, 1025, 3)
	require.Equal(t, Meter{Full: 1050, Held: 1025}, m)
	require.Equal(t, berth.Time(1025), m.Ready(rate, 1000, 1), "one alone waits as well")
}

func TestWithoutARateAMeterCountsNothing(t *testing.T) {
	m := Meter{Full: 5000}
	m.Take(berth.RateLimit{}, 1000, 1000, 9)
	require.Equal(t, Meter{Full: 5000}, m)
	require.Equal(t, berth.Time(1000), m.Ready(berth.RateLimit{}, 1000, 9))
}

// Three in 10 are one every 4, not every 3: where the time of a rate cannot be divided, evictions
// come no faster than it says.
func TestARateThatCannotBeDividedIsKept(t *testing.T) {
	var m Meter
	odd := berth.RateLimit{Evictions: 3, Per: 10}
	m.Take(odd, 1000, 1000, 3)
	for evictions, at := range []berth.Time{1000, 1004, 1008, 1012} {
		require.Equal(t, at, m.Ready(odd, 1000, evictions), "%d at once", evictions)
	}
}
