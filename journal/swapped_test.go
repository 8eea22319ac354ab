package journal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
)

// swapped is a story in which the nodes of one kind go, those of another come, and a job is placed
// that goes by what the fleet has of each. Nil: a pass.
func swapped() []berth.Event {
	node := func(id berth.NodeID, gpus int, product string) berth.Event {
		return berth.NodeJoined{Node: berth.Node{ID: id, Domains: []string{"leaf1"}, GPUs: berth.EqualGPUs(gpus, berth.GPU{Product: product})}}
	}
	asked := func(id berth.JobID, product string, members, replicas int) berth.Event {
		return berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: "q", Service: &berth.Service{Replicas: replicas}, Groups: []berth.Group{{
				Members: members, Claim: berth.WholeGPUs(1), Selector: berth.Selector{Products: []string{product}}, Topology: berth.Topology{Required: "node"},
			}},
		}}
	}
	return []berth.Event{
		queueOf("q"), node("a", 2, "X"), node("w", 8, "W"), asked("jx", "X", 3, 1000), asked("jw", "W", 9, 100), nil, jobOf("one"), nil,
		berth.NodeLost{Node: "a"},
		nil, node("b", 2, "Y"), nil, jobOf("two"), nil,
	}
}

// A process that dies after its hardware was exchanged comes back: the core that is restored of the
// last snapshot gives the orders that the log says.
func TestAFleetComesBackAfterASwap(t *testing.T) {
	story := swapped()
	for snapshot := range story {
		h := newHost(t)
		h.schedule() // what is outstanding is handed over before a snapshot is taken
		for i, e := range story {
			if i == snapshot {
				require.NoError(t, h.Snapshot(t.Context()))
			}
			if e != nil {
				h.tell(e)
			} else {
				h.schedule()
			}
		}
		state := h.state()
		h.open()
		require.Equal(t, state, h.state(), "snapshot before step %d", snapshot)
	}
}

// So does a core that reads its journal from a snapshot on.
func TestRecoverAfterASwap(t *testing.T) {
	story := swapped()
	for snapshot := range story {
		sched := fresh(t)
		var saved []byte
		var text bytes.Buffer
		var w *journal.Writer
		for i, e := range story {
			if i == snapshot {
				var err error
				saved, err = sched.Snapshot()
				require.NoError(t, err)
				w, err = journal.NewWriter(&text, sched.Config())
				require.NoError(t, err)
			}
			if e != nil {
				require.NoError(t, sched.Apply(berth.Time(i), e))
				if w != nil {
					w.Applied(berth.Time(i), e, nil)
				}
				continue
			}
			orders, err := sched.Schedule(berth.Time(i))
			require.NoError(t, err)
			if w != nil {
				w.Scheduled(berth.Time(i), orders)
			}
		}
		require.NoError(t, w.Flush())
		restored, err := core.Restore(saved)
		require.NoError(t, err)
		_, err = journal.Recover(restored, &text)
		require.NoError(t, err, "snapshot before step %d", snapshot)
	}
}
