package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// A member that died, or did not start, while its gang was being bound keeps its place until the
// Bind is reported and a pass decides about the gang. Of the member itself nothing is left.

// A death is a way in which a member of a Bind comes to be dead and to keep its place.
type death struct {
	name string
	// tell tells of the death of the member.
	tell func(d *divided, bind berth.Bind, dead berth.MemberRef)
}

var deaths = []death{
	{"died while the Bind is out", func(d *divided, bind berth.Bind, dead berth.MemberRef) {
		d.tell(berth.MemberFailed{Job: bind.Job, Incarnation: bind.Incarnation, Members: []berth.MemberRef{dead}})
	}},
	{"did not start", func(d *divided, bind berth.Bind, dead berth.MemberRef) {
		d.tell(berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{dead}})
	}},
}

// eachDeath runs a test for each kind of death: of the gang "pair", the member on node n is dead,
// where it has an instance of the GPU, and so has the gang "neighbor". The other one is on node o.
func eachDeath(t *testing.T, test func(t *testing.T, d *divided, dead, alive berth.MemberPlacement)) {
	for _, death := range deaths {
		t.Run(death.name, func(t *testing.T) {
			d := newDivided(t, berth.Geometry{})
			d.node("n", 1, berth.GPUModeMIG, at(t, "3g.40gb@0:4"), at(t, "3g.40gb@4:4"))
			d.job("neighbor", 1, berth.Claim{MIG: "3g.40gb"})
			d.report(d.pass()[0], berth.OutcomeDone)
			d.node("o", 1, berth.GPUModeMIG, at(t, "3g.40gb@0:4"))
			d.job("pair", 2, berth.Claim{MIG: "3g.40gb"})
			bind := bindOf(t, d.pass()[0])
			dead, alive := bind.Members[0], bind.Members[1]
			if dead.Node != "n" {
				dead, alive = alive, dead
			}
			require.Equal(t, []berth.NodeID{"n", "o"}, []berth.NodeID{dead.Node, alive.Node})
			death.tell(d, bind, dead.Ref())
			n, _ := d.Node("n")
			require.Len(t, n.Members, 2, "it keeps its place")
			test(t, d, dead, alive)
		})
	}
}

func TestFaultsTakeNothingOfTheDead(t *testing.T) {
	eachDeath(t, func(t *testing.T, d *divided, dead, alive berth.MemberPlacement) {
		blast, err := d.BlastRadius(dead.Node, 0)
		require.NoError(t, err)
		neighbor := []berth.AffectedReplica{{Job: "neighbor", Members: 1, Down: true}}
		require.Equal(t, neighbor, blast.Device)
		require.Len(t, blast.Processes, 1)
		require.Equal(t, neighbor, blast.Processes[0].Affected)
		blast, err = d.BlastRadius(alive.Node, 0)
		require.NoError(t, err)
		require.Equal(t, []berth.AffectedReplica{{Job: "pair", Members: 1, Down: true}}, blast.Device)

		require.Nil(t, d.Report().WorstBlastRadius, "no GPU has two gangs to lose")
		require.Nil(t, d.explain("pair").BlastRadius)
		require.Nil(t, d.explain("neighbor").BlastRadius)
	})
}

func TestHardwareLosesNothingOfTheDead(t *testing.T) {
	for _, event := range []berth.Event{berth.NodeLost{Node: "n"}, berth.GPUFailed{Node: "n", GPU: 0}} {
		eachDeath(t, func(t *testing.T, d *divided, dead, alive berth.MemberPlacement) {
			d.tell(event)
			lost := d.Lost()
			require.Len(t, lost, 1)
			require.Equal(t, berth.JobID("neighbor"), lost[0].Job)
			d.tell(berth.NodeLost{Node: "o"})
			lost = d.Lost()
			require.Len(t, lost, 2)
			require.Equal(t, []berth.MemberPlacement{alive}, lost[1].Members)
		})
	}
}

// What is given again after a crash starts no member that has died: the core does not count on it.
func TestOutstandingLeavesOutTheDead(t *testing.T) {
	eachDeath(t, func(t *testing.T, d *divided, dead, alive berth.MemberPlacement) {
		b, err := d.Snapshot()
		require.NoError(t, err)
		restored, err := core.Restore(b)
		require.NoError(t, err)
		out := d.Outstanding()
		require.Equal(t, out, restored.Outstanding())
		if len(out) == 0 {
			return // the Bind is reported
		}
		require.Equal(t, []berth.MemberPlacement{alive}, bindOf(t, out[0]).Members)
		d.report(out[0], berth.OutcomeDone)
		require.Equal(t, berth.ReplicaRepairing, d.explain("pair").State, "the other one alone has started")
	})
}

// A member that was told to be dead, and is seen all the same, is to be stopped.
func TestTheDeadShouldNotBeSeen(t *testing.T) {
	eachDeath(t, func(t *testing.T, d *divided, dead, alive berth.MemberPlacement) {
		n, _ := d.Node("n")
		o, _ := d.Node("o")
		differences := d.Diff(berth.World{Nodes: []berth.Node{n.Node, o.Node}, Running: append(n.Members, o.Members...)})
		require.Len(t, differences, 1)
		require.Equal(t, berth.DifferenceMemberUnknown, differences[0].Kind)
		require.Equal(t, dead.Ref(), *differences[0].Member)
		require.Nil(t, differences[0].Event)
	})
}
