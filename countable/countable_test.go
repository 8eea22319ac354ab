package countable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for r := range Resource(NumResources) {
		unit, _ := r.Unit()
		for _, text := range []string{r.Words(), r.Field(), unit} {
			require.NotEmpty(t, text)
			require.False(t, seen[text], text)
			seen[text] = true
		}
		require.Equal(t, r.Field(), r.String())
		found, ok := ResourceByField(r.Field())
		require.True(t, ok)
		require.Equal(t, r, found)
	}
	_, ok := ResourceByField("gpuMilli")
	require.False(t, ok)
}

func TestAmounts(t *testing.T) {
	a, b := Amounts{CPUMilli: 3000, MemoryMiB: 5}, Amounts{CPUMilli: 1000, MemoryMiB: 7}
	require.Equal(t, Amounts{CPUMilli: 4000, MemoryMiB: 12}, a.Plus(b))
	require.Equal(t, Amounts{CPUMilli: 2000, MemoryMiB: -2}, a.Minus(b))
	require.Equal(t, Amounts{CPUMilli: 2000}, a.Minus(b).Floor())
	require.Equal(t, Amounts{CPUMilli: 9000, MemoryMiB: 15}, a.Times(3))
	require.Equal(t, Amounts{CPUMilli: 1500, MemoryMiB: 2}, a.DividedBy(2))
	require.Equal(t, Amounts{CPUMilli: 3000, MemoryMiB: 5}, a, "the operands stay as they are")

	sum := a
	sum.Add(&b)
	require.Equal(t, Amounts{CPUMilli: 4000, MemoryMiB: 12}, sum)
	sum.Subtract(&b)
	require.Equal(t, a, sum)

	r, beyond := a.Beyond(b)
	require.True(t, beyond)
	require.Equal(t, CPUMilli, r)
	r, beyond = b.Beyond(a)
	require.True(t, beyond)
	require.Equal(t, MemoryMiB, r)
	require.False(t, a.Within(b))
	require.True(t, a.Within(a))

	require.Equal(t, 1, a.Compare(b))
	require.Equal(t, -1, b.Compare(a))
	require.Equal(t, 1, b.Compare(Amounts{CPUMilli: 1000, MemoryMiB: 6}))
	require.Zero(t, a.Compare(a))
}

func TestAmountsDoNotAllocate(t *testing.T) {
	a, b := Amounts{CPUMilli: 3000, MemoryMiB: 5}, Amounts{CPUMilli: 1000, MemoryMiB: 7}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a = a.Plus(b).Minus(b).Floor()
		if !a.Within(a.Plus(b)) || a != a.Times(1) {
			t.Fatal("a is not itself")
		}
	}))
}
