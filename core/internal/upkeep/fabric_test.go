package upkeep_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/limits"
)

func inDomain(name berth.NodeID, pool string, path ...string) berth.Node {
	n := roomtest.Node(name, 1, path...)
	n.Pool = pool
	return n
}

func left(m *roomtest.Machine, milli int, path ...string) *berth.Error {
	return m.Upkeep.FabricReported(berth.FabricReported{Domain: path, LeftMilli: milli})
}

// Invariant 3: the smallest part that a domain on the path of a node has left counts, whatever was
// told first, and the whole ends it.
func TestTheSmallestPartThatIsLeftCounts(t *testing.T) {
	m := roomtest.New(t, berth.Config{Levels: []string{"spine", "leaf"}})
	one, other := m.Join(inDomain("a", "p", "s", "l1")), m.Join(inDomain("b", "p", "s", "l2"))
	require.Nil(t, left(m, 500, "s", "l1"))
	require.Nil(t, left(m, 800, "s"))
	require.Equal(t, []int{500, 200}, []int{one.LostMilli, other.LostMilli})
	require.NotEqual(t, one.Class, other.Class)
	require.Nil(t, left(m, 1000, "s", "l1"))
	require.Equal(t, []int{200, 200}, []int{one.LostMilli, other.LostMilli})
	require.Equal(t, one.Class, other.Class)
	require.Nil(t, left(m, 1000, "s"))
	require.Nil(t, left(m, 1000, "s"), "told twice")
	require.Empty(t, m.Upkeep.SaveFabric())
	require.Zero(t, one.LostMilli+other.LostMilli)
}

// A report that makes too many kinds of node is refused, and changes nothing.
func TestTooManyKindsByTheirBandwidth(t *testing.T) {
	m := roomtest.New(t, berth.Config{Levels: []string{"leaf"}})
	m.Join(inDomain("beside", "0", "other"))
	for i := range limits.MaxKinds {
		m.Join(inDomain(berth.NodeID(fmt.Sprint(i)), fmt.Sprint(i), "leaf"))
	}
	err := left(m, 500, "leaf")
	require.ErrorIs(t, err, berth.ErrLimit)
	require.Equal(t, "domain", err.Field)
	require.Empty(t, m.Upkeep.SaveFabric())
	require.NoError(t, m.Upkeep.CheckRates())
}
