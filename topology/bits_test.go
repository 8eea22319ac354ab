package topology

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// TestBitset compares a row of bits with a slice of booleans.
func TestBitset(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		var b bitset
		var twin []bool
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch n := len(twin); {
			case n == 0 || rapid.IntRange(0, 3).Draw(t, "op") > 0:
				i := rapid.IntRange(0, n).Draw(t, "insert")
				b, twin = b.insert(i, n), slices.Insert(twin, i, false)
				if rapid.Bool().Draw(t, "set") {
					b.set(i)
					twin[i] = true
				}
			default:
				i := rapid.IntRange(0, n-1).Draw(t, "remove")
				b, twin = b.remove(i, n), slices.Delete(twin, i, i+1)
			}
			want := -1
			for i := len(twin) - 1; i >= 0; i-- {
				require.Equal(t, twin[i], b.has(i), "bit %d", i)
				if twin[i] {
					want = i
				}
				require.Equal(t, want, b.next(i), "next after %d", i)
			}
			require.Equal(t, -1, b.next(len(twin)))
			require.Len(t, b, (len(twin)+63)/64)
		}
	})
}

func TestVacanciesGiveTheLowest(t *testing.T) {
	var v vacancies
	require.Equal(t, 7, v.take(7), "with none vacant")
	for _, i := range []int{130, 3, 64, 5} {
		v.put(i)
	}
	var got []int
	for range 3 {
		got = append(got, v.take(200))
	}
	v.put(4)
	got = append(got, v.take(200), v.take(200), v.take(200))
	require.Equal(t, []int{3, 5, 64, 4, 130, 200}, got)
}
