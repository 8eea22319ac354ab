package journal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

const year = 365 * 24 * time.Hour

// TestAWallClockThatJumps: spans last as long as they are to, whatever the wall clock says.
func TestAWallClockThatJumps(t *testing.T) {
	const start = berth.Time(1_000_000)
	type step struct {
		wall    time.Duration // what the wall clock is set by
		sleep   time.Duration
		instant time.Duration // from the start
	}
	for name, steps := range map[string][]step{
		"keeps time":                {{0, time.Second, time.Second}, {0, time.Hour, time.Hour + time.Second}},
		"steps back":                {{-time.Hour, time.Second, time.Second}, {0, time.Minute, 61 * time.Second}, {time.Hour, 0, 61 * time.Second}},
		"drifts ahead":              {{time.Second, time.Minute, 61 * time.Second}, {time.Second, time.Minute, 122 * time.Second}},
		"was suspended for a while": {{5 * time.Minute, 0, 5 * time.Minute}},
		"jumps a year ahead, and is corrected": {
			{year, time.Minute, time.Minute},
			{0, 8 * time.Minute, 9 * time.Minute},
			{-year, time.Minute, 10 * time.Minute},
			{0, time.Hour, 70 * time.Minute},
		},
		"jumps ahead twice": { // the time to confirm it begins anew
			{year, time.Minute, time.Minute}, {-year, 8 * time.Minute, 9 * time.Minute}, {year, 8 * time.Minute, 17 * time.Minute},
		},
		"was right after an outage": {
			{24 * time.Hour, time.Minute, time.Minute},
			{0, time.Minute, 2 * time.Minute},
			{0, 7 * time.Minute, 9 * time.Minute},
			{0, time.Minute, 24*time.Hour + 10*time.Minute},
			{0, time.Second, 24*time.Hour + 10*time.Minute + time.Second},
		},
		"was wrong for long": { // spans go on
			{year, time.Minute, time.Minute}, {0, 10 * time.Minute, year + 11*time.Minute}, {-year, time.Minute, year + 12*time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			require.Equal(t, start, h.Now())
			h.tell(nodeOf("n", 1)) // so the core has seen the start
			h.schedule()
			h.open()
			for i, s := range steps {
				h.wallJumps(s.wall)
				h.Now() // it is looked at, as by an event
				h.sleep(s.sleep)
				require.Equal(t, s.instant, h.Now().Sub(start).Std(), "step %d", i)
			}
		})
	}
}

// TestABadInstantIsNotForEver starts the process with a clock that is a year ahead, and with clocks
// that are behind.
func TestABadInstantIsNotForEver(t *testing.T) {
	h := newHost(t)
	h.tell(nodeOf("n", 1), queueOf("q"), jobOf("a"))
	bind := h.schedule()[0]
	for _, jump := range []time.Duration{year, -2 * year, -time.Hour} {
		h.wallJumps(jump)
		h.open()
		require.Less(t, h.Now().Sub(bind.Header().At).Std(), 10*time.Minute)
		require.Contains(t, ids(h.schedule()), bind.Header().ID, "it does not expire by a jump")
	}
	h.sleep(3 * time.Minute)
	orders := h.schedule()
	require.NotEmpty(t, orders, "and it does by its own time")
	require.Equal(t, "release", orders[0].Kind())
}

// TestTheFirstStartBelievesTheWall, as there is nothing else.
func TestTheFirstStartBelievesTheWall(t *testing.T) {
	h := newHost(t)
	require.EqualValues(t, 1_000_000, h.Now())
	h.clock.SetWall(-5) // before 1970 is no instant
	h.open()
	require.Zero(t, h.Now())
}
