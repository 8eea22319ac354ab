package drawn

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// How many worlds are drawn, and which, is for the two variables to say.
func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		times, one string
		seeds      []uint64
		many       bool
	}{
		{"", "", []uint64{1}, false},
		{"1", "", []uint64{1, 2}, false},
		{"3", "", []uint64{1, 2, 3, 4, 5, 6}, false},
		{"10", "", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, true},
		{"10", "77", []uint64{77}, false},
		{"", "18446744073709551615", []uint64{1<<64 - 1}, false},
		{"10", "77-80", []uint64{77, 78, 79, 80}, false},
		{"", "18446744073709551614-18446744073709551615", []uint64{1<<64 - 2, 1<<64 - 1}, false},
	} {
		t.Setenv("BERTH_SEEDS", c.times)
		t.Setenv("BERTH_SEED", c.one)
		require.Equal(t, c.seeds, slices.Collect(Seeds(2)), "%+v", c)
		require.Equal(t, c.many, Many(), "%+v", c)
		rare := slices.Collect(SeedsAnd(2, 901, 902))
		if c.many {
			require.Equal(t, append(c.seeds, 901, 902), rare, "%+v", c)
		} else {
			require.Equal(t, c.seeds, rare, "%+v", c)
		}
	}
}

// What is no number is not taken for the usual few.
func TestSlipsAreRefused(t *testing.T) {
	for _, slip := range []string{"0", "-1", "many", "1e3"} {
		t.Setenv("BERTH_SEEDS", slip)
		require.Panics(t, func() { Many() }, slip)
	}
	t.Setenv("BERTH_SEEDS", "")
	for _, slip := range []string{"0", "-1", "1-", "3-2", "1-2-3", "many"} {
		t.Setenv("BERTH_SEED", slip)
		require.Panics(t, func() { Many() }, slip)
	}
}

// Two runs of a property draw the same.
func TestCheckDrawsTheSame(t *testing.T) {
	draw := func() (list []int64) {
		Check(t, func(t *rapid.T) { list = append(list, rapid.Int64().Draw(t, "x")) })
		return list
	}
	first := draw()
	require.NotEmpty(t, first)
	require.Equal(t, first, draw())
}
