package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// A choice is where the next pass puts the member, and what it keeps is what one counts.
func TestAChoiceIsWhatComesAndKeepsWhatItSays(t *testing.T) {
	type hold struct {
		job  berth.JobID
		node berth.NodeID
		gpus int
	}
	kept := 0
	for seed := range drawn.Seeds(4) {
		random := rand.New(rand.NewPCG(seed, 20))
		c, err := core.New(berth.Config{})
		require.NoError(t, err)
		require.NoError(t, c.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}}))
		free := map[berth.NodeID]int{}
		var held []hold
		for i := range 12 {
			id := berth.NodeID(fmt.Sprintf("n%02d", i))
			free[id] = []int{2, 4, 8}[i%3]
			node := berth.Node{ID: id}
			for range free[id] {
				node.GPUs = append(node.GPUs, berth.GPU{Product: "H100"})
			}
			require.NoError(t, c.Apply(0, berth.NodeJoined{Node: node}))
		}
		for i := range 150 {
			event := berth.JobSubmitted{Job: berth.Job{
				ID: berth.JobID(fmt.Sprintf("j%d", i)), Queue: "q",
				Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1 << random.IntN(4))}},
			}}
			plan, err := c.StartPlan(0, event.Job.ID, 0, event)
			require.NoError(t, err)
			require.NoError(t, c.Apply(0, event))
			orders, err := c.Schedule(0)
			require.NoError(t, err)
			require.Equal(t, plan.Fits, len(orders) == 1)
			if !plan.Fits {
				require.Nil(t, plan.Choice)
				require.NoError(t, c.Apply(0, berth.JobCancelled{Job: event.Job.ID}))
				continue
			}
			bind := orders[0].(berth.Bind)
			require.NoError(t, c.Apply(0, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone}))
			at, gpus := bind.Members[0].Node, bind.Members[0].GPUs.Len()
			if plan.Choice != nil {
				require.Equal(t, at, plan.Choice.Node)
				for _, k := range plan.Choice.Keeps {
					lost := func(n berth.NodeID) int { return free[n]/k.Claim.GPUs - (free[n]-gpus)/k.Claim.GPUs }
					require.EqualValues(t, lost(plan.Choice.Instead)-lost(at), k.Members, "%s: %d GPUs a member", plan.Choice.Text, k.Claim.GPUs)
					kept++
				}
			}
			free[at] -= gpus
			held = append(held, hold{event.Job.ID, at, gpus})
			if len(held) <= 10 {
				continue
			}
			gone := random.IntN(len(held))
			require.NoError(t, c.Apply(0, berth.JobCancelled{Job: held[gone].job}))
			orders, err = c.Schedule(0)
			require.NoError(t, err)
			for _, o := range orders {
				require.NoError(t, c.Apply(0, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}))
			}
			free[held[gone].node] += held[gone].gpus
			held = slices.Delete(held, gone, gone+1)
		}
	}
	require.Positive(t, kept)
}
