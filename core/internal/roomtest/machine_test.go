package roomtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// The example of the package's comment: a gang gets the place of its victim.
func TestAPlannedGangStartsWhereItsVictimWas(t *testing.T) {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}})
	m.Nodes(2, 8, "r1")
	m.Queue("a", 8)
	runs := m.Run(roomtest.Job("runs", "a", 2, 8), "n1", "n2")
	waits := m.Wait(roomtest.Job("waits", "a", 1, 8))
	res := m.Plan(waits, []string{"n1"}, runs)
	require.Equal(t, berth.ReplicaReleasing, runs.State)
	require.True(t, runs.IsVictimOf(waits))
	require.Equal(t, []berth.NodeID{"n1"}, res.NodeIDs())
	require.NoError(t, m.Check())

	m.Later(berth.Minute)
	m.Stopped(runs)
	orders := m.Pass(m.Search.ServeReserved)
	require.Len(t, orders, 1)
	bind := orders[0].(berth.Bind)
	require.Equal(t, berth.JobID("waits"), bind.Job)
	require.Equal(t, berth.NodeID("n1"), bind.Members[0].Node)
	require.Equal(t, berth.CauseVictimsGone, bind.Cause.Code)
	m.Started(waits)
	require.Equal(t, berth.ReplicaRunning, waits.State)
	require.Nil(t, waits.Reserved)
}

// Members stand where a test puts them, on GPUs that are free or, of a share, in part.
func TestMembersStandWhereTheyAreNamed(t *testing.T) {
	m := roomtest.New(t, berth.Config{})
	m.Nodes(2, 4)
	m.Queue("a", 0)
	pair := m.Run(roomtest.Job("pair", "a", 2, 1), "n2", "n2")
	require.Equal(t, uint64(1), pair.Members[0].Hold.GPUs)
	require.Equal(t, uint64(2), pair.Members[1].Hold.GPUs)
	share := berth.Job{ID: "share", Queue: "a", Class: berth.ClassInteractive, Groups: []berth.Group{{Members: 2, Claim: berth.SharedGPU(berth.ShareTimeSlice, 500)}}}
	shares := m.Run(share, "n2", "n2")
	require.Equal(t, uint64(4), shares.Members[0].Hold.GPUs)
	require.Equal(t, uint64(4), shares.Members[1].Hold.GPUs)
	require.Equal(t, berth.GPUModeTimeSlice, m.NodeNamed("n2").Spec.GPUs[2].Mode)
	require.Len(t, m.Nodes(1, 4), 1) // the next number
	require.NotNil(t, m.NodeNamed("n3"))
}

// What a test breaks, Check finds.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	m := roomtest.New(t, berth.Config{})
	m.Nodes(1, 4)
	m.Queue("a", 0)
	waits := m.Wait(roomtest.Job("waits", "a", 1, 1))
	require.NoError(t, m.Check())
	m.Break()
	waits.Entries = nil
	require.ErrorContains(t, m.Check(), "waits for 1 places, stands in the pending index 0 times")
}
