package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// What is kept of a kind of hardware ends with it: another kind that comes later, and has as much
// left, is not taken for it. A core that had gone through one of these stories once decided
// otherwise than what was restored of it.

// A swap is a story in which the nodes of one kind of hardware go, and others come.
type swap struct {
	name   string
	events []berth.Event // nil: a pass
}

// askedOf is a service of many replicas with single GPUs of a product, in gangs of so many on one
// node.
func askedOf(id berth.JobID, product string, members, replicas int) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "q", Service: &berth.Service{Replicas: replicas}, Groups: []berth.Group{{
			Members: members, Claim: berth.WholeGPUs(1), Selector: berth.Selector{Products: []string{product}},
			Topology: berth.Topology{Required: "node"},
		}},
	}}
}

// nodeWith is a node of so many GPUs of a product.
func nodeWith(id berth.NodeID, gpus int, product string) berth.Event {
	return berth.NodeJoined{Node: berth.Node{ID: id, GPUs: berth.EqualGPUs(gpus, berth.GPU{Product: product})}}
}

func single(id berth.JobID) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}}
}

func setAside(id berth.ReservationID, node berth.NodeID) berth.Event {
	return berth.ReservationSet{Reservation: berth.Reservation{ID: id, Nodes: []berth.NodeID{node}, Until: 50}}
}

// swaps are stories of which the last step is a pass that decides.
func swaps() []swap {
	queue := berth.QueueSet{Queue: quota.Queue{Name: "q"}}
	return []swap{
		// Many ask for X and for W, and nobody for Y: a job that may go anywhere goes there.
		{"a place that nobody else wants", []berth.Event{
			queue, nodeWith("a", 2, "X"), nodeWith("w", 8, "W"), askedOf("jx", "X", 3, 1000), askedOf("jw", "W", 9, 100), nil,
			single("one"), nil,
			berth.NodeLost{Node: "a"},
			nil, nodeWith("b", 2, "Y"), nil, single("two"), nil,
		}},
		// The prices of X and Y are what the fleet has of them.
		{"what there is of each kind", []berth.Event{
			queue, nodeWith("a", 2, "X"), askedOf("jx", "X", 1, 100), askedOf("jy", "Y", 1, 100), nil,
			berth.NodeLost{Node: "a"},
			nodeWith("b", 2, "Y"), nil,
			berth.OrderReported{Order: 3, Outcome: berth.OutcomeFailed},
			nil,
		}},
		// Nodes that are set aside are a kind of their own: there is X no longer that is not, and Y
		// that is takes its number.
		{"nodes that are set aside", []berth.Event{
			queue, nodeWith("a", 2, "X"), nodeWith("b", 2, "Y"), nodeWith("w", 8, "W"), askedOf("jx", "X", 1, 100), askedOf("jy", "Y", 1, 100),
			berth.JobCancelled{Job: "jx"},
			berth.JobCancelled{Job: "jy"},
			nil, setAside("r", "a"), setAside("s", "b"), single("one"), nil,
		}},
	}
}

// step tells a core an event, or runs a pass, and returns the orders.
func step(t *testing.T, sched *core.Core, at int, e berth.Event) (orders []string) {
	t.Helper()
	if e != nil {
		require.NoError(t, sched.Apply(berth.Time(at), e))
		return nil
	}
	list, err := sched.Schedule(berth.Time(at))
	require.NoError(t, err)
	for _, o := range list {
		text, err := berth.EncodeOrder(o)
		require.NoError(t, err)
		orders = append(orders, string(text))
	}
	return orders
}

func TestD2_AKindThatTakesTheNumberOfAnother(t *testing.T) {
	for _, s := range swaps() {
		t.Run(s.name, func(t *testing.T) {
			sched, err := core.New(berth.Config{})
			require.NoError(t, err)
			cores := []*core.Core{sched} // the first was never restored, the others after each step
			for i, e := range s.events {
				want := step(t, cores[0], i, e)
				state, err := cores[0].Snapshot()
				require.NoError(t, err)
				for after, c := range cores[1:] {
					require.Equal(t, want, step(t, c, i, e), "restored after step %d", after)
					again, err := c.Snapshot()
					require.NoError(t, err)
					require.Equal(t, string(state), string(again), "restored after step %d", after)
				}
				restored, err := core.Restore(state)
				require.NoError(t, err)
				cores = append(cores, restored)
			}
		})
	}
}

func TestD4_WhatIfAKindTookTheNumberOfAnother(t *testing.T) {
	for _, s := range swaps() {
		t.Run(s.name, func(t *testing.T) {
			sched, err := core.New(berth.Config{})
			require.NoError(t, err)
			for i, e := range s.events {
				if e == nil {
					orders, err := sched.WhatIf(berth.Time(i))
					require.NoError(t, err)
					var texts []string
					for _, o := range orders {
						text, err := berth.EncodeOrder(o)
						require.NoError(t, err)
						texts = append(texts, string(text))
					}
					require.Equal(t, texts, step(t, sched, i, e), "step %d", i)
					continue
				}
				step(t, sched, i, e)
			}
		})
	}
}

// What an instance is charged follows from the nodes that divide, also once there are none: by that
// the queues have their turns.
func TestD2_TheLastNodeThatDividesGoes(t *testing.T) {
	sched, err := core.New(berth.Config{Policy: berth.Policy{PassBudget: 1}})
	require.NoError(t, err)
	gpu := berth.GPU{Product: "A100", MIGTable: "A100-80GB", MemoryMiB: 81_920, Mode: berth.GPUModeMIG}
	job := func(id berth.JobID, queue berth.QueueID, claim berth.Claim) berth.Event {
		return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: queue, Groups: []berth.Group{{Members: 1, Claim: claim}}}}
	}
	for i, e := range []berth.Event{
		berth.QueueSet{Queue: quota.Queue{Name: "p"}},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
		berth.NodeJoined{Node: berth.Node{ID: "m", GPUs: berth.EqualGPUs(1, gpu)}},
		nodeWith("n", 1, "X"), nil,
		job("instance", "p", berth.Claim{MIG: "1g.10gb"}), job("share", "q", berth.Claim{Share: &berth.Share{GPUMilli: 100}}),
		berth.NodeLost{Node: "m"},
	} {
		step(t, sched, i, e)
	}
	state, err := sched.Snapshot()
	require.NoError(t, err)
	restored, err := core.Restore(state)
	require.NoError(t, err)
	for at := 10; at < 13; at++ {
		require.Equal(t, step(t, restored, at, nil), step(t, sched, at, nil))
	}
}
