package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A snapshot in which orders have placed a gang over several domains of a level that it requires
// is none that the core has made. Where a life was observed the world may have put it anywhere.
func TestS8_ATornGangIsNotRestored(t *testing.T) {
	for name, topology := range map[string]berth.Topology{
		"the group":   {Required: "block"},
		"its segment": {Segments: []berth.Segment{{Size: 2, Level: "block"}}},
	} {
		sched, err := core.New(berth.Config{Levels: []string{"block"}})
		require.NoError(t, err)
		tell := func(e berth.Event) { require.NoError(t, sched.Apply(0, e)) }
		tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
		tell(berth.NodeJoined{Node: berth.Node{ID: "n1", Domains: []string{"x"}, CPUMilli: 2000}})
		tell(berth.NodeJoined{Node: berth.Node{ID: "n2", Domains: []string{"y"}, CPUMilli: 2000}})
		tell(berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{
			Members: 2, Claim: berth.Claim{CPUMilli: 1000}, Topology: topology,
		}}}})
		orders, err := sched.Schedule(0)
		require.NoError(t, err)
		require.Len(t, orders, 1)
		tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
		require.NoError(t, sched.Check())
		whole, err := sched.Snapshot()
		require.NoError(t, err)
		_, err = core.Restore(whole)
		require.NoError(t, err)

		at := strings.LastIndex(string(whole), `"node":"n1"`)
		torn := string(whole[:at]) + `"node":"n2"` + string(whole[at+len(`"node":"n1"`):])
		_, err = core.Restore([]byte(torn))
		require.ErrorIs(t, err, berth.ErrInvalid, name)
		require.ErrorContains(t, err, "several domains of level block", name)
		life := `"replica":0,"state":"running",`
		require.Contains(t, torn, life)
		_, err = core.Restore([]byte(strings.Replace(torn, life, life+`"observed":true,`, 1)))
		require.NoError(t, err, name)
	}
}

// A gang stands on GPUs of two products because its job mixes them, because the world has put it
// there, or because members came to some that the world had put there, and outlived these.
// Snapshots of it are restored.
func TestAGangOfTwoProductsIsRestored(t *testing.T) {
	for name, mix := range map[string]bool{"mixed": true, "observed": false} {
		d := fleetOf(t)
		for _, product := range []string{"A100", "H100"} {
			d.tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(product), GPUs: []berth.GPU{{Product: product}, {Product: product}}}})
		}
		j := berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 4, MinMembers: 1, Claim: berth.Claim{GPUs: 1}, MixProducts: mix}}}
		if mix {
			d.tell(berth.JobSubmitted{Job: j})
		} else {
			d.tell(berth.JobObserved{Job: j, Running: []berth.ObservedReplica{{Incarnation: 1, Members: []berth.MemberPlacement{
				{Index: 0, Node: "A100", GPUs: berth.GPUSetOf(0)}, {Index: 1, Node: "H100", GPUs: berth.GPUSetOf(0)},
			}}}})
		}
		d.carryOut(d.pass())
		for _, dies := range []int{0, 1} { // and is followed by one that is like the first of the others
			d.now = d.now.Add(berth.Hour)
			d.tell(berth.MemberFailed{Job: "j", Incarnation: 1, Members: []berth.MemberRef{{Index: dies}}})
			d.pass()
			d.now, _ = d.NextWake()
			d.carryOut(d.pass())
			require.NoError(t, d.Check(), name)
		}
		products := map[berth.NodeID]bool{}
		for m := range d.Running() {
			products[m.Node] = true
		}
		require.Len(t, products, 2, name)
		require.NoError(t, d.restored().Check(), name)
	}
}
