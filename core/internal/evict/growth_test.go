package evict_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// Invariant 7, for gangs that run with fewer members than they want.

func TestAGangGrowsByAsMuchAsItsGuaranteeLeaves(t *testing.T) {
	m := machine(t, 4)
	m.Queue("prod", 12)
	m.Queue("research", 0)
	grows := m.Run(elastic("grows", "prod", 4, 1, 4), "n1")
	for i := 2; i <= 4; i++ {
		m.Run(job(berth.JobID(fmt.Sprintf("r%d", i)), "research", 1, 4), fmt.Sprintf("n%d", i))
	}
	require.Len(t, pass(m), 2, "three members are guaranteed")
	require.Len(t, nodesOf(m, grows.Reserved), 2)
}

// A member is of the group that lacks one, which is not the first.
func TestAGangGrowsInTheGroupThatLacksMembers(t *testing.T) {
	m := machine(t, 2)
	m.Queue("prod", 8)
	m.Queue("research", 0)
	spec := job("grows", "prod", 1, 1)
	spec.Groups[0].Name = "driver"
	spec.Groups = append(spec.Groups, berth.Group{Name: "workers", Members: 2, MinMembers: 1, Claim: berth.WholeGPUs(3)})
	grows := m.Run(spec, "n1", "n1")
	m.Run(job("r", "research", 1, 3), "n2")
	require.Equal(t, []string{"r"}, pass(m))
	require.Len(t, grows.Reserved.Plan.Where, 1)
	require.Equal(t, 1, grows.Reserved.Plan.Where[0].Group)
}

func TestAGangGrowsByHalfAsMuchWhereAllDoesNotFit(t *testing.T) {
	m := machine(t, 5)
	m.Queue("prod", 20)
	m.Queue("keeps", 2)
	m.Queue("research", 0)
	grows := m.Run(elastic("grows", "prod", 5, 1, 4), "n1")
	m.Run(job("r2", "research", 1, 4), "n2")
	m.Run(job("r3", "research", 1, 4), "n3")
	m.Run(roomtest.Job("k4", "keeps", 1, 1), "n4")
	m.Run(roomtest.Job("k5", "keeps", 1, 1), "n5")
	require.Equal(t, []string{"r2", "r3"}, pass(m), "two of the four that it lacks")
	require.Len(t, grows.Reserved.Plan.Where, 2)
}

func TestAGangGrowsAtTheCostOfNoOtherOfItsQueueAndOfNoFairShare(t *testing.T) {
	for name, c := range map[string]struct {
		guarantee int64
		of        berth.QueueID
	}{
		"its own queue":          {8, "prod"},
		"beyond its guarantee":   {4, "research"},
		"without any guarantees": {0, "research"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, 2)
			m.Queue("prod", c.guarantee)
			m.Queue("research", 0)
			grows := m.Run(roomtest.WithPriority(elastic("grows", "prod", 2, 1, 4), 1), "n1")
			m.Run(job("r", c.of, 1, 4), "n2")
			require.Empty(t, pass(m))
			require.Nil(t, grows.Reserved)
		})
	}
}

// Only what is set aside for a gang that grows keeps it from being a victim.
func TestGrowthEndsARoundOfBids(t *testing.T) {
	m := machine(t, 2)
	m.Nodes(1, 2, "r1")
	m.Queue("prod", 4)
	m.Queue("lab", 6)
	m.Queue("research", 0)
	grows := m.Run(elastic("grows", "prod", 2, 1, 2), "n1")
	m.Run(roomtest.Job("pair", "lab", 1, 2), "n2")
	for i, node := range []string{"n1", "n2", "n3"} {
		m.Run(dear(job(berth.JobID(fmt.Sprintf("r%d", i+1)), "research", 1, 2), berth.Duration(3-i)*berth.Minute), node)
	}
	solo := m.Wait(job("solo", "lab", 1, 4))
	require.Equal(t, []string{"r3"}, pass(m))
	require.NotNil(t, grows.Reserved)
	require.Nil(t, solo.Reserved)
	require.LessOrEqual(t, m.Evict.NextBid(), m.State.Now, "the next pass goes on")
}
