package quota

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
)

// Queues state what a tree was told of, by name, and charges have it by number.
func TestDeclaredResources(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.Declare(countable.Register{{Name: "scratch", Unit: "GiB"}, {Name: "vf"}}))
	require.ErrorIs(t, tree.Declare(countable.Register{{Name: "other"}}), ErrInUse)
	_, err := tree.Set(Queue{Name: "q", Limit: Amounts{"fpga": 1}})
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "scratch, vf")

	_, err = tree.Set(Queue{Name: "org", Limit: Amounts{"scratch": 10}})
	require.NoError(t, err)
	_, err = tree.Set(Queue{Name: "q", Parent: "org", Guarantee: Amounts{"scratch": 11}})
	require.ErrorIs(t, err, ErrInvalid, "more than the limit above")
	q, err := tree.Set(Queue{Name: "q", Parent: "org", Guarantee: Amounts{"scratch": 4}})
	require.NoError(t, err)
	org, _ := tree.Lookup("org")

	c := Charge{GPUMilli: 1000, Declared: &countable.Declared{6, 1}}
	_, fits := tree.Fits(q, c)
	require.True(t, fits)
	require.NoError(t, tree.Charge(q, c))
	require.Equal(t, int64(6), tree.Used(org, "scratch"))
	require.Equal(t, int64(4), tree.Covered(q, "scratch"))
	require.Equal(t, int64(1), tree.Used(RootQueue, "vf"))
	v, fits := tree.Fits(q, c)
	require.False(t, fits)
	require.Equal(t, Verdict{At: org, Resource: "scratch", Limit: 10, Used: 6, Asked: 6, Kind: VerdictLimit}, v)
	require.NoError(t, tree.Check())
	require.ErrorIs(t, tree.Discharge(q, Charge{Declared: &countable.Declared{7}}), ErrInvalid)
	require.ErrorIs(t, tree.Remove("q"), ErrInUse)

	_, err = tree.Set(Queue{Name: "org", Limit: Amounts{"scratch": 5}})
	require.NoError(t, err)
	over := tree.Exceeded(nil, org)
	require.Len(t, over, 1)
	require.Equal(t, Resource("scratch"), over[0].Resource)
	require.Equal(t, int64(6), over[0].Of(c))

	require.NoError(t, tree.SetCapacity("vf", 3))
	shares, err := NewShares(tree, "vf", 1)
	require.NoError(t, err)
	require.Equal(t, int64(1), shares.in(c))
	require.NoError(t, tree.Discharge(q, c))
	require.NoError(t, tree.Remove("q"))
	require.NoError(t, tree.Check())
	require.True(t, c.Equal(Charge{GPUMilli: 1000, Declared: &countable.Declared{6, 1}}))
	require.False(t, c.Equal(c.Times(2)))
}

func TestDeclareRefusesWhatIsNoName(t *testing.T) {
	require.ErrorIs(t, NewTree().Declare(countable.Register{{Name: "gpuMilli"}}), ErrInvalid)
	tree := NewTree()
	_, err := tree.Set(Queue{Name: "q"})
	require.NoError(t, err)
	require.ErrorIs(t, tree.Declare(countable.Register{{Name: "vf"}}), ErrInUse)
}

// A charge for what the tree was not told of is refused, and fits nowhere.
func TestUndeclaredResourcesAreRefused(t *testing.T) {
	for known := range countable.MaxDeclared {
		tree := NewTree()
		require.NoError(t, tree.Declare(countable.Register{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}}[:known]))
		q, err := tree.Set(Queue{Name: "q"})
		require.NoError(t, err)
		var one countable.Declared
		one[known] = 1
		c := Charge{Declared: &one}
		_, fits := tree.Fits(q, c)
		require.False(t, fits)
		require.ErrorIs(t, tree.Charge(q, c), ErrInvalid)
		require.ErrorIs(t, tree.Discharge(q, c), ErrInvalid)
		require.NoError(t, tree.Check())
	}
}
