package scale

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A case that fails has the figures that were taken before.
func TestACaseThatFails(t *testing.T) {
	c := Case{"odd", func(t *Taker) {
		t.addPass(1, "first", "", time.Second, 0)
		t.Fatal(3, " victims")
	}}
	figures, err := c.Take(time.Millisecond)
	require.EqualError(t, err, "odd: 3 victims")
	require.Len(t, figures, 1)
}

// What stands between StopTimer and StartTimer does not count, neither its time nor what it
// allocates.
func TestATakerMeasuresWhatIsAskedFor(t *testing.T) {
	c := Case{"work", func(t *Taker) {
		var kept [][]byte
		s := t.repeatTimes(5, func() time.Duration {
			kept = append(kept, make([]byte, 1000))
			t.StopTimer()
			kept = append(kept, make([]byte, 1<<20))
			work(30 * time.Millisecond)
			t.StartTimer()
			return time.Duration(len(kept))
		})
		t.addMedian(1, "work", "", s, time.Millisecond)
		t.addPass(1, "work", "", s.pass, 9)
	}}
	figures, err := c.Take(time.Hour)
	require.NoError(t, err)
	require.Less(t, figures[0].Value, float64(10*time.Millisecond))
	require.InDelta(t, 1100, *figures[0].Allocated, 500)
	require.Equal(t, 10.0, figures[1].Value)
	require.False(t, figures[1].Met())
}

// work keeps this thread busy for so long.
func work(span time.Duration) {
	for began := threadTime(); threadTime() < began+span; {
	}
}

// Time in which the thread has no processor does not count where the machine tells so, and time
// in which it has one does.
func TestATakerMeasuresProcessorTime(t *testing.T) {
	var slept, worked time.Duration
	c := Case{"sleep", func(t *Taker) {
		began := instant(t)
		time.Sleep(50 * time.Millisecond)
		slept = instant(t) - began
		began = instant(t)
		work(20 * time.Millisecond)
		worked = instant(t) - began
	}}
	_, err := c.Take(time.Hour)
	require.NoError(t, err)
	if runtime.GOOS == "linux" {
		require.Less(t, slept, 40*time.Millisecond)
	}
	require.InDelta(t, 20*time.Millisecond, worked, float64(15*time.Millisecond))
}
