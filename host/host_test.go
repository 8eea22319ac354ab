package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for r := range Resource(Resources) {
		unit, _ := r.Unit()
		for _, text := range []string{r.String(), r.Key(), r.Field(), unit} {
			require.NotEmpty(t, text)
			require.False(t, seen[text], text)
			seen[text] = true
		}
		found, ok := ByKey(r.Key())
		require.True(t, ok)
		require.Equal(t, r, found)
	}
	_, ok := ByKey("gpu")
	require.False(t, ok)
}

func TestAmounts(t *testing.T) {
	a, b := Amounts{CPU: 3000, Memory: 5}, Amounts{CPU: 1000, Memory: 7}
	require.Equal(t, Amounts{CPU: 4000, Memory: 12}, a.Plus(b))
	require.Equal(t, Amounts{CPU: 2000, Memory: -2}, a.Minus(b))
	require.Equal(t, Amounts{CPU: 2000}, a.Minus(b).Floor())
	require.Equal(t, Amounts{CPU: 9000, Memory: 15}, a.Times(3))
	require.Equal(t, Amounts{CPU: 1500, Memory: 2}, a.Over(2))
	require.Equal(t, Amounts{CPU: 3000, Memory: 5}, a, "the operands stay as they are")

	sum := a
	sum.Add(&b)
	require.Equal(t, Amounts{CPU: 4000, Memory: 12}, sum)
	sum.Subtract(&b)
	require.Equal(t, a, sum)

	r, beyond := a.Beyond(b)
	require.True(t, beyond)
	require.Equal(t, CPU, r)
	r, beyond = b.Beyond(a)
	require.True(t, beyond)
	require.Equal(t, Memory, r)
	require.False(t, a.Within(b))
	require.True(t, a.Within(a))

	require.Equal(t, 1, a.Compare(b))
	require.Equal(t, -1, b.Compare(a))
	require.Equal(t, 1, b.Compare(Amounts{CPU: 1000, Memory: 6}))
	require.Zero(t, a.Compare(a))
}

func TestAmountsDoNotAllocate(t *testing.T) {
	a, b := Amounts{CPU: 3000, Memory: 5}, Amounts{CPU: 1000, Memory: 7}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a = a.Plus(b).Minus(b).Floor()
		if !a.Within(a.Plus(b)) || a != a.Times(1) {
			t.Fatal("a is not itself")
		}
	}))
}
