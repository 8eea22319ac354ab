package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

func (d *divided) health(node berth.NodeID) (h berth.HealthReport) {
	d.Helper()
	for _, r := range d.Report().Health {
		if r.Node == node {
			return r
		}
	}
	return berth.HealthReport{}
}

// flap has a node go and come back.
func (d *divided) flap(leaf string, number int) {
	d.Helper()
	d.tell(berth.NodeLost{Node: berth.NodeID(fmt.Sprint(leaf, number))})
	d.stand(leaf, number)
}

// A node that is lost too often takes no work for a time, longer each time; what is long ago
// is forgotten.
func TestAFlappingNodeIsInQuarantine(t *testing.T) {
	d := standing(t, berth.Policy{Health: berth.Health{Losses: 2, Within: berth.Hour, Quarantine: 10 * berth.Minute}}, 1, "a")
	d.flap("a", 1)
	require.Zero(t, d.health("a1"))
	for i, minutes := range []berth.Duration{10, 20, 40, 80, 160, 160} {
		d.flap("a", 1)
		until := d.now.Add(minutes * berth.Minute)
		require.Equal(t, berth.HealthReport{Node: "a1", QuarantineUntil: until}, d.health("a1"))
		require.Equal(t, 1, d.Report().Nodes.Quarantined)
		if i > 0 {
			continue
		}
		d.tell(gang("waits", 1))
		require.Empty(t, d.pass())
		require.Contains(t, d.explain("waits").Reason.Remedy, "quarantine")
		wake, _ := d.NextWake()
		require.LessOrEqual(t, wake, until)
		d.now = until - 1
		require.Empty(t, d.pass())
		d.now = until
		orders := d.pass()
		require.Equal(t, []string{"bind waits fits"}, told(orders))
		d.carryOut(orders)
	}
	d.tell(berth.NodeUncordoned{Node: "a1"})
	require.Zero(t, d.health("a1"), "the operator vouches for it")
	d.now = d.now.Add(berth.Hour)
	d.flap("a", 1)
	require.Zero(t, d.health("a1"), "the losses of an hour ago are forgotten")
}

// The losses of no more nodes are remembered than the fleet may have.
func TestR3_LossesAreForgotten(t *testing.T) {
	sched, err := core.New(berth.Config{Limits: berth.Limits{Nodes: 3}, Policy: berth.Policy{Health: berth.Health{BurnIn: berth.Hour}}})
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	var sizes []int
	for i := range 200 {
		d.now += 10
		d.pooled(fmt.Sprintf("n%03d", i), 1)
		d.tell(berth.NodeLost{Node: berth.NodeID(fmt.Sprintf("n%03d", i))})
		b, err := d.Snapshot()
		require.NoError(t, err)
		sizes = append(sizes, len(b))
	}
	require.Less(t, sizes[199]-sizes[10], 100)
	d.pooled("n199", 1)
	d.pooled("n100", 1)
	require.NotZero(t, d.health("n199"))
	require.Zero(t, d.health("n100"))
}

// In burn-in are a node of which a GPU was repaired, and one that came back: they take what is
// on one node and not latency-critical, until burn-in is over.
func TestRepairedHardwareIsInBurnIn(t *testing.T) {
	for _, returns := range []func(d *divided){
		func(d *divided) { d.flap("a", 1) },
		func(d *divided) {
			d.tell(berth.GPUFailed{Node: "a1", GPU: 3})
			d.tell(berth.GPURepaired{Node: "a1", GPU: 3})
		},
	} {
		d := standing(t, berth.Policy{Health: berth.Health{BurnIn: 30 * berth.Minute}}, 2, "a")
		d.tell(berth.GPURepaired{Node: "a2", GPU: 3})
		require.Empty(t, d.Report().Health, "it had not failed")
		d.now += 1000
		returns(d)
		until := d.now.Add(30 * berth.Minute)
		require.Equal(t, []berth.HealthReport{{Node: "a1", BurnInUntil: until}}, d.Report().Health)
		d.tell(gang("two", 2))
		require.Empty(t, d.pass())
		require.Contains(t, d.explain("two").Reason.Text, "1 node in burn-in, the first for another 30m0s")
		require.Contains(t, d.explain("two").Reason.Remedy, "the end of burn-in")
		d.runs(gang("trusted", 1, func(j *berth.Job) { j.Class = berth.ClassLatencyCritical }))
		d.tell(gang("user", 1, func(j *berth.Job) { j.Class = berth.ClassLatencyCritical }))
		require.Empty(t, d.pass())
		d.tell(one("q", "cheap", 4))
		orders := d.pass()
		require.Equal(t, []string{"bind cheap fits"}, told(orders))
		require.Equal(t, []berth.NodeID{"a1"}, onto(t, orders[0]))
		d.carryOut(orders)
		d.tell(berth.JobFinished{Job: "cheap", Incarnation: 1})
		require.Empty(t, d.pass())
		wake, _ := d.NextWake()
		require.LessOrEqual(t, wake, until)
		d.now = until
		require.Equal(t, []string{"bind user fits"}, told(d.pass()))
		require.Empty(t, d.Report().Health)
	}
}

// What fails in burn-in is out until it is repaired again; and a fault that says nothing about
// hardware that is trusted condemns a GPU in burn-in.
func TestAFailureEndsBurnIn(t *testing.T) {
	d := standing(t, berth.Policy{Health: berth.Health{BurnIn: 30 * berth.Minute}}, 1, "a")
	failed := func() int64 { return d.Report().GPUs.OutOfServiceMilli / 1000 }
	d.tell(berth.XidReported{Node: "a1", GPU: 2, Xid: 94})
	require.Zero(t, failed())
	d.tell(berth.GPUFailed{Node: "a1", GPU: 2})
	d.tell(berth.GPURepaired{Node: "a1", GPU: 2})
	d.tell(berth.XidReported{Node: "a1", GPU: 2, Xid: 31})
	require.Zero(t, failed(), "the program's fault")
	d.tell(berth.XidReported{Node: "a1", GPU: 2, Xid: 94})
	require.EqualValues(t, 1, failed())
	d.now = d.now.Add(berth.Day)
	d.pass()
	require.EqualValues(t, 1, failed(), "time does not repair it")
	d.tell(berth.GPURepaired{Node: "a1", GPU: 2})
	require.Zero(t, failed())
	require.Equal(t, d.now.Add(30*berth.Minute), d.health("a1").BurnInUntil)
}

// An Xid condemns if it is the hardware's fault.
func TestXidsCondemn(t *testing.T) {
	for number, effect := range map[int]berth.XidEffect{
		13: berth.XidApplication, 31: berth.XidApplication, 43: berth.XidApplication,
		45: berth.XidApplication, 68: berth.XidApplication, 109: berth.XidCondemns, 151: berth.XidCondemns,
		48: berth.XidCondemns, 79: berth.XidCondemns, 95: berth.XidCondemns, 119: berth.XidCondemns,
		63: berth.XidSuspect, 74: berth.XidSuspect, 94: berth.XidSuspect, 171: berth.XidSuspect, 9999: berth.XidSuspect,
	} {
		require.Equal(t, effect, berth.LookupXid(number).Effect, number)
		d := standing(t, berth.Policy{}, 1, "a")
		d.runs(one("q", "job", 4, func(j *berth.Job) { j.Groups[0].Members = 2 }))
		d.tell(berth.XidReported{Node: "a1", GPU: 1, Xid: number, Reason: "in the log"})
		require.EqualValues(t, 1, d.Report().Totals.Xids)
		orders := d.pass()
		if effect != berth.XidCondemns {
			require.Empty(t, orders)
			continue
		}
		require.Equal(t, []string{"release job hardware-lost"}, told(orders))
		require.Contains(t, orders[0].Header().Cause.Detail, fmt.Sprintf("GPU 1 of node a1 failed: Xid %d, ", number))
		require.Contains(t, orders[0].Header().Cause.Detail, ": in the log")
	}
}

// A quarantine and a burn-in last over a change of the node's shape; a policy that knows
// neither ends them.
func TestTrustOutlastsAnUpdate(t *testing.T) {
	d := standing(t, berth.Policy{Health: berth.Health{Losses: 1, Quarantine: berth.Hour, BurnIn: berth.Hour}}, 1, "a")
	d.flap("a", 1)
	before := d.health("a1")
	require.Equal(t, berth.HealthReport{Node: "a1", QuarantineUntil: d.now.Add(berth.Hour), BurnInUntil: d.now.Add(2 * berth.Hour)}, before)
	d.tell(berth.NodeUpdated{Node: berth.Node{ID: "a1", Pool: "p", Domains: []string{"b"}, GPUs: []berth.GPU{{Product: "H100"}}}})
	require.Equal(t, before, d.health("a1"))
	d.pass()
	d.tell(berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{BurnIn: berth.Hour}}})
	require.Equal(t, berth.HealthReport{Node: "a1", BurnInUntil: before.BurnInUntil}, d.health("a1"))
	d.tell(berth.PolicyChanged{})
	require.Empty(t, d.Report().Health)
	d.flap("a", 1)
	require.Empty(t, d.Report().Health)
}
