package quota_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

// A queue exceeds a limit that is lowered below what it and those below it use, by each resource,
// and by what it may borrow; the root exceeds nothing.
func TestExceeded(t *testing.T) {
	tree := quota.NewTree()
	h100, err := tree.RetainProduct("H100")
	require.NoError(t, err)
	org, err := tree.Set(quota.Queue{Name: "org"})
	require.NoError(t, err)
	team, err := tree.Set(quota.Queue{Name: "team", Parent: "org", Guarantee: quota.GPUs(2)})
	require.NoError(t, err)
	charge := quota.Charge{GPUMilli: 8000, Host: countable.Amounts{countable.CPUMilli: 500}, Product: h100}
	require.NoError(t, tree.Charge(team, charge))
	require.Empty(t, tree.Exceeded(nil, org))
	require.Empty(t, tree.Exceeded(nil, quota.RootQueue))
	require.Empty(t, tree.Exceeded(nil, 99))

	set := func(q quota.Queue) {
		_, err := tree.Set(q)
		require.NoError(t, err)
	}
	set(quota.Queue{Name: "org", Limit: quota.Amounts{quota.GPUMilli: 8000, quota.CPUMilli: 400, quota.GPUMilliOf("H100"): 6000}})
	set(quota.Queue{Name: "team", Parent: "org", Guarantee: quota.GPUs(2), BorrowingLimit: quota.GPUs(3)})
	list := tree.Exceeded(nil, org)
	require.Len(t, list, 2) // exactly the limit is not too much
	require.Equal(t, quota.CPUMilli, list[0].Resource)
	require.Equal(t, quota.GPUMilliOf("H100"), list[1].Resource)
	require.Equal(t, [2]int64{400, 500}, [2]int64{list[0].Most, list[0].Used})
	require.Equal(t, int64(500), list[0].Of(charge))
	require.Equal(t, int64(8000), list[1].Of(charge))
	require.Zero(t, list[1].Of(quota.Charge{GPUMilli: 8000}))

	list = tree.Exceeded(list, team)
	require.Len(t, list, 1)
	require.Equal(t, [2]int64{5000, 8000}, [2]int64{list[0].Most, list[0].Used})
}
