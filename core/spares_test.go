package core_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// standing is a core with leaves of nodes with 8 GPUs each, all of pool "p", named after
// leaf and number: "a1", "a2", ...
func standing(t *testing.T, policy berth.Policy, perLeaf int, leaves ...string) *divided {
	t.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}, Policy: policy})
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	for _, leaf := range leaves {
		for i := range perLeaf {
			d.stand(leaf, i+1)
		}
	}
	return d
}

// stand has a node join.
func (d *divided) stand(leaf string, number int) {
	d.Helper()
	n := berth.Node{ID: berth.NodeID(fmt.Sprint(leaf, number)), Pool: "p", Domains: []string{leaf}}
	for range 8 {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "H100"})
	}
	d.tell(berth.NodeJoined{Node: n})
}

// gang is a job of members with 8 GPUs each.
func gang(id berth.JobID, members int, change ...func(*berth.Job)) berth.Event {
	return one("q", id, 8, append(change, func(j *berth.Job) { j.Groups[0].Members = members })...)
}

func inOneLeaf(j *berth.Job) { j.Topology.Required = "leaf" }

func kept(milli int) berth.Policy {
	return berth.Policy{HotSpares: []berth.HotSpares{{Pool: "p", NodesMilli: milli}}}
}

// spares are those of the only pool.
func (d *divided) spares() berth.HotSparesReport {
	d.Helper()
	list := d.Report().HotSpares
	require.Len(d, list, 1)
	return list[0]
}

// onto lists the nodes of a Bind, in order of member.
func onto(t *testing.T, a berth.Order) []berth.NodeID {
	t.Helper()
	var list []berth.NodeID
	for _, m := range bindOf(t, a).Members {
		list = append(list, m.Node)
	}
	return list
}

// Spares are spread over the leaves, and no gang gets them that has lost nothing.
func TestSparesAreKeptFree(t *testing.T) {
	d := standing(t, kept(300), 3, "a", "b")
	d.pass()
	require.Equal(t, berth.HotSparesReport{Pool: "p", Wanted: 2, Free: 2, Nodes: []berth.NodeID{"a1", "b1"}}, d.spares())
	d.tell(gang("never", 3, inOneLeaf))
	require.Empty(t, d.pass())
	reason := d.explain("never").Reason
	require.Equal(t, berth.ReasonReserved, reason.Code)
	require.Contains(t, reason.Text, "2 hot spares")
	require.Equal(t, "fewer hot spares in the policy", reason.Remedy)
	d.runs(gang("fits", 4))
	d.tell(gang("waits", 1, ranks(9), func(j *berth.Job) { j.Class = berth.ClassLatencyCritical }))
	require.NotContains(t, told(d.pass()), "bind waits fits", "not for priority or class")
	require.Equal(t, 2, d.Report().Nodes.HotSpares)
}

// resumesInItsLeaf is a core in which a gang of four nodes stands in leaf a, has to go because of
// what is told about node a3, and is bound again by these orders, on the spare of the leaf.
func resumesInItsLeaf(t *testing.T, event berth.Event, cause berth.CauseCode) (d *divided, orders []berth.Order) {
	t.Helper()
	d = standing(t, kept(180), 5, "a", "b")
	d.pass()
	d.runs(gang("left", 4, inOneLeaf), gang("right", 4, inOneLeaf))
	d.tell(event)
	orders = d.pass()
	require.Equal(t, []string{"release left " + string(cause)}, told(orders))
	d.carryOut(orders)
	orders = d.pass()
	require.Equal(t, []string{"bind left resumed"}, told(orders))
	require.ElementsMatch(t, []berth.NodeID{"a1", "a2", "a4", "a5"}, onto(t, orders[0]))
	return d, orders
}

// A gang that has to stay in its leaf loses a node, and goes on where it was, on the spare;
// what is repaired is the next spare.
func TestASpareLetsAGangResumeInItsLeaf(t *testing.T) {
	d, orders := resumesInItsLeaf(t, berth.NodeLost{Node: "a3"}, berth.CauseHardwareLost)
	d.carryOut(orders)
	d.tell(gang("waits", 1))
	require.Empty(t, d.pass())
	require.Equal(t, berth.HotSparesReport{Pool: "p", Wanted: 2, Free: 1, InUse: 1, Nodes: []berth.NodeID{"b1"}}, d.spares())
	d.stand("a", 3)
	require.Empty(t, d.pass(), "the pool is short of spares, and that comes first")
	require.Equal(t, berth.HotSparesReport{Pool: "p", Wanted: 2, Free: 2, InUse: 1, Nodes: []berth.NodeID{"a3", "b1"}}, d.spares())
	d.stand("a", 6)
	require.Equal(t, []string{"bind waits fits"}, told(d.pass()))
	require.EqualValues(t, 1, d.Report().Totals.HotSparesUsed)
}

// A pool that is full is short of spares until work ends.
func TestAPoolMayBeShortOfSpares(t *testing.T) {
	d := standing(t, berth.Policy{}, 2, "a", "b")
	d.runs(gang("one", 1), gang("two", 1), gang("three", 2))
	d.tell(berth.PolicyChanged{Policy: kept(250)})
	d.tell(gang("next", 1))
	require.Empty(t, d.pass())
	require.Equal(t, berth.HotSparesReport{Pool: "p", Wanted: 1}, d.spares())
	_, due := d.NextWake()
	require.True(t, due) // for a reservation
	d.tell(berth.JobFinished{Job: "one", Incarnation: 1})
	require.Empty(t, d.pass())
	require.Equal(t, 1, d.spares().Free)
	d.tell(berth.JobFinished{Job: "two", Incarnation: 1})
	require.Equal(t, []string{"bind next fits"}, told(d.pass()))
}

// A snapshot in which a pool is to have other spares than it has, and which says that no pass
// is to look for them, makes a core of which the next pass does.
func TestR1_SparesOfATamperedSnapshotAreMended(t *testing.T) {
	for nodesMilli, free := range map[string]int{"250": 1, "750": 3} {
		d := standing(t, kept(500), 2, "a", "b")
		require.Empty(t, d.pass())
		require.Equal(t, 2, d.spares().Free)
		b, err := d.Snapshot()
		require.NoError(t, err)
		d.Core, err = core.Restore(bytes.Replace(b, []byte(`"nodesMilli":500`), []byte(`"nodesMilli":`+nodesMilli), 1))
		require.NoError(t, err)
		require.NoError(t, d.Check())
		require.Empty(t, d.pass())
		require.Equal(t, free, d.spares().Free)
	}
}

// The policy is in force at once, and spares that are not wanted any more are free for all.
func TestSparesFollowThePolicy(t *testing.T) {
	d := standing(t, kept(1000), 2, "a")
	d.tell(gang("waits", 1))
	require.Empty(t, d.pass())
	require.Equal(t, 2, d.spares().Free)
	d.tell(berth.NodeCordoned{Node: "a1"})
	require.Empty(t, d.pass())
	require.Equal(t, berth.HotSparesReport{Pool: "p", Wanted: 1, Free: 1, Nodes: []berth.NodeID{"a2"}}, d.spares())
	d.tell(berth.PolicyChanged{})
	require.Equal(t, []string{"bind waits fits"}, told(d.pass()))
	require.Empty(t, d.Report().HotSpares)
}

// What is elastic gets its minimum on spares, and no more; and a beneficiary takes none.
func TestSparesAreForMinimums(t *testing.T) {
	d := standing(t, kept(500), 4, "a")
	d.pass()
	d.runs(gang("elastic", 4, func(j *berth.Job) { j.Groups[0].MinMembers = 1 }))
	running := d.Report().GPUs.HeldMilli
	require.EqualValues(t, 16_000, running)
	d.tell(berth.NodeLost{Node: "a3"})
	d.settle(d.now + 1000)
	d.tell(berth.NodeLost{Node: "a4"})
	orders := d.settle(d.now + 1000)
	require.Equal(t, []string{"bind elastic fits"}, told(orders))
	require.Len(t, onto(t, orders[0]), 1)
	require.EqualValues(t, 8_000, d.Report().GPUs.HeldMilli)
}

// When many wait, those that lost hardware get the spares, wherever they stand in the queue.
func TestTheStruckAreFoundAmongMany(t *testing.T) {
	policy := kept(500)
	policy.Preemption.Mode = berth.PreemptionOff
	d := standing(t, policy, 2, "a")
	d.pass()
	d.runs(gang("struck", 1))
	for i := range 40 {
		d.tell(gang(berth.JobID(fmt.Sprintf("w%02d", i)), 1, ranks(3)))
	}
	d.pass()
	d.tell(berth.GPUFailed{Node: "a2", GPU: 7})
	orders := d.pass()
	d.carryOut(orders)
	all := told(append(orders, d.settle(d.now+1000)...))
	require.True(t, slices.Contains(all, "bind struck fits"), all)
}

// A gang that has to leave a node for maintenance may use a spare as well.
func TestASpareTakesADrainedGang(t *testing.T) {
	resumesInItsLeaf(t, berth.NodeDraining{Node: "a3"}, berth.CauseDrained)
}

// A node on which somebody else has a reservation becomes a spare all the same: that one plans
// anew. Else a pool in which jobs wait for whole nodes would never get its spares back.
func TestReservationsDoNotEatSpares(t *testing.T) {
	policy := kept(250)
	policy.ReserveAfter, policy.Stretch = berth.Second, berth.Off
	d := standing(t, policy, 4, "a")
	d.pass()
	for i := range 3 {
		d.runs(gang(berth.JobID(fmt.Sprint("runs", i)), 1, func(j *berth.Job) { j.ExpectedRuntime = berth.Duration(i+1) * berth.Hour }))
	}
	d.tell(gang("waits", 1))
	d.settle(d.now + 10_000)
	require.Equal(t, []berth.NodeID{"a2"}, d.Report().Reservations[0].Nodes)
	d.tell(berth.NodeLost{Node: "a1"})
	require.Zero(t, d.spares().Free)
	d.tell(berth.JobFinished{Job: "runs0", Incarnation: 1})
	require.Empty(t, d.settle(d.now+10_000))
	require.Equal(t, []berth.NodeID{"a2"}, d.spares().Nodes)
	require.Equal(t, []berth.NodeID{"a3"}, d.Report().Reservations[0].Nodes)
}

// A fleet of as many kinds of nodes as there may be has no room for another spare, and is not short
// of one by mistake. When one kind is gone, the spare is found.
func TestSparesOfAFleetOfManyKinds(t *testing.T) {
	d := fleetOf(t)
	d.tell(berth.PolicyChanged{Policy: kept(500)})
	for i := range 4096 - 2 {
		require.NoError(t, d.Apply(0, berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprint("kind", i)), Pool: fmt.Sprint(i)}}))
	}
	for i := range 4 {
		d.node(berth.NodeID(fmt.Sprint("n", i)), 8, berth.GPUModeWhole)
	}
	_, err := d.Schedule(0)
	require.NoError(t, err)
	require.Equal(t, 1, d.spares().Free)
	require.NoError(t, d.Check())
	d.tell(berth.NodeLost{Node: "kind0"})
	_, err = d.Schedule(0)
	require.NoError(t, err)
	require.Equal(t, 2, d.spares().Free)
	require.NoError(t, d.Check())
}
