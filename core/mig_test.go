package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// divided is a core with nodes of H100s that divide, in pool "p".
type divided struct {
	*testing.T
	*core.Core
	now  berth.Time
	told int
}

func newDivided(t *testing.T, geometry berth.Geometry) *divided {
	sched, err := core.New(berth.Config{Policy: berth.Policy{
		Geometry: []berth.Geometry{geometry}, Preemption: berth.Preemption{Mode: berth.PreemptionOff},
	}})
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	return d
}

// tell tells the core an event. After many it is checked now and then, and in each pass: a large
// fleet that joins node by node would be looked at as often as it has nodes.
func (d *divided) tell(e berth.Event) {
	d.Helper()
	require.NoError(d, d.Apply(d.now, e))
	if d.told++; d.told <= 64 || d.told%16 == 0 {
		require.NoError(d, d.Check())
	}
}

// pass runs a pass, and holds the core against what a restored one does.
func (d *divided) pass() []berth.Order {
	d.Helper()
	b, err := d.Snapshot()
	require.NoError(d, err)
	twin, err := core.Restore(b, core.WithGain(d.Config().Gain))
	require.NoError(d, err)
	again, err := twin.Snapshot()
	require.NoError(d, err)
	require.Equal(d, string(b), string(again))
	want, err := twin.Schedule(d.now)
	require.NoError(d, err)
	orders, err := d.Schedule(d.now)
	require.NoError(d, err)
	require.Equal(d, want, orders)
	require.NoError(d, d.Check())
	return orders
}

func (d *divided) node(id berth.NodeID, gpus int, mode berth.GPUMode, instances ...mig.Placement) {
	d.Helper()
	n := berth.Node{ID: id, Pool: "p", CPUMilli: 64000, MemoryMiB: 1 << 20}
	for range gpus {
		n.GPUs = append(n.GPUs, berth.GPU{
			Product: "H100", MemoryMiB: 81559, ComputeCapability: berth.ComputeCapability{Major: 9}, MIGTable: "H100-80GB",
			Mode: mode, Instances: instances,
		})
	}
	d.tell(berth.NodeJoined{Node: n})
}

func (d *divided) job(id berth.JobID, members int, claim berth.Claim) {
	d.Helper()
	d.tell(berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "q", Tenant: berth.TenantID("tenant of " + id), Class: berth.ClassInteractive,
		Groups: []berth.Group{{Members: members, Claim: claim}},
	}})
}

func (d *divided) report(a berth.Order, outcome berth.Outcome) {
	d.Helper()
	d.tell(berth.OrderReported{Order: a.Header().ID, Outcome: outcome})
}

func at(t *testing.T, text string) mig.Placement {
	p, err := mig.ParsePlacement(text)
	require.NoError(t, err)
	return p
}

func bindOf(t *testing.T, a berth.Order) berth.Bind {
	t.Helper()
	require.IsType(t, berth.Bind{}, a)
	return a.(berth.Bind)
}

// A fixed layout is used as it is, by any tenants side by side, and no further.
func TestInstancesThatExistAreUsed(t *testing.T) {
	d := newDivided(t, berth.Geometry{})
	d.node("n", 1, berth.GPUModeMIG, at(t, "3g.40gb@0:4"), at(t, "2g.20gb@4:2"), at(t, "1g.10gb@6:1"))
	for _, id := range []berth.JobID{"a", "b"} {
		d.job(id, 1, berth.Claim{MIG: "3g.40gb"})
	}
	d.job("c", 1, berth.Claim{MinInstance: &berth.MinInstance{MinSMs: 20}})
	d.job("e", 1, berth.Claim{MinInstance: &berth.MinInstance{MinMemoryMiB: 9000}})
	orders := d.pass()
	require.Len(t, orders, 3)
	want := []string{"3g.40gb@0:4", "2g.20gb@4:2", "1g.10gb@6:1"}
	for i, o := range orders {
		b := bindOf(t, o)
		require.Empty(t, b.After)
		require.Equal(t, want[i], b.Members[0].Instance.String())
	}
	e, err := d.Explain("b")
	require.NoError(t, err)
	require.Equal(t, berth.ReasonInstances, e.Replicas[0].Reason.Code)
	require.EqualValues(t, 500+250+125, d.Core.Report().Queues[0].UsedMilli)
	for _, o := range orders {
		d.report(o, berth.OutcomeDone)
	}
	d.tell(berth.JobFinished{Job: "a", Incarnation: 1})
	orders = d.pass()
	require.Len(t, orders, 1)
	require.Equal(t, berth.JobID("b"), orders[0].Header().Job)
	blast, err := d.BlastRadius("n", 0)
	require.NoError(t, err)
	require.Len(t, blast.Device, 3)
	require.Len(t, blast.Processes, 3)
	for _, p := range blast.Processes {
		require.Len(t, p.Affected, 1, "MIG contains it")
	}
}

// A member in another mode comes after an order that the GPU go into that mode.
func TestModesChangeByOrder(t *testing.T) {
	d := newDivided(t, berth.Geometry{})
	d.node("n", 1, berth.GPUModeWhole)
	d.job("a", 1, berth.Claim{Share: &berth.Share{GPUMilli: 400}})
	orders := d.pass()
	require.Len(t, orders, 2)
	require.Equal(t, berth.GPUModeMPS, orders[0].(berth.Repartition).Mode)
	require.Equal(t, []berth.OrderID{1}, bindOf(t, orders[1]).After)
	d.report(orders[0], berth.OutcomeFailed)
	d.report(orders[1], berth.OutcomeFailed)
	require.Empty(t, d.pass(), "it backs off")
	d.now += berth.Time(berth.Minute)
	orders = d.pass()
	require.Len(t, orders, 2)
	d.report(orders[0], berth.OutcomeDone)
	d.report(orders[1], berth.OutcomeDone)
	d.tell(berth.JobFinished{Job: "a", Incarnation: 2})
	d.job("b", 1, berth.Claim{GPUs: 1})
	orders = d.pass()
	require.Len(t, orders, 2)
	require.Equal(t, berth.GPUModeWhole, orders[0].(berth.Repartition).Mode)
	d.now += berth.Time(berth.Hour)
	orders = d.pass()
	require.Len(t, orders, 1, "neither was reported: what may have come up is stopped")
	require.Len(t, orders[0].(berth.Release).Members, 1)
	d.report(orders[0], berth.OutcomeDone)
	d.now += berth.Time(berth.Hour)
	require.Empty(t, d.pass(), "how the GPU is is not known")
	require.Empty(t, d.Outstanding())
	d.tell(berth.GPUPartitioned{Node: "n", Mode: berth.GPUModeWhole})
	require.Empty(t, bindOf(t, d.pass()[0]).After)
}

// Instances in the way are destroyed only once the member has waited for what that
// costs, and those in use never.
func TestGeometryChangesWhenItPays(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, Cost: 30 * berth.Second, HoldLimit: -1})
	d.node("n", 1, berth.GPUModeMIG, at(t, "1g.10gb@0:1"), at(t, "1g.10gb@4:1"))
	d.job("small", 1, berth.Claim{MIG: "1g.10gb"})
	require.Len(t, d.pass(), 1)
	d.job("large", 1, berth.Claim{MIG: "3g.40gb"})
	require.Empty(t, d.pass(), "nobody has waited yet")
	wake, ok := d.NextWake()
	require.True(t, ok)
	d.now = wake
	orders := d.pass()
	require.NotEmpty(t, orders, "at %v", d.now)
	r := orders[0].(berth.Repartition)
	t.Log(d.now, r.Destroy, r.Create)
	require.Equal(t, r.ID, bindOf(t, orders[1]).After[0])
}

// Per claim, instances come and go with their members, and nothing is ordered for them.
func TestInstancesPerClaim(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryPerClaim, HoldLimit: -1})
	d.node("n", 2, berth.GPUModeMIG)
	d.job("a", 7, berth.Claim{MIG: "1g.10gb"})
	d.job("b", 1, berth.Claim{MIG: "7g.80gb"})
	orders := d.pass()
	require.Len(t, orders, 2)
	gpus := map[berth.GPUSet]int{}
	for _, m := range bindOf(t, orders[0]).Members {
		gpus[m.GPUs]++
	}
	require.Len(t, gpus, 1, "they are packed")
}

// A claim for an instance by need is served however many kinds of node there are. Each has profiles
// of its own.
func TestAnInstanceOnManyKindsOfNodes(t *testing.T) {
	for _, pools := range []int{1, 12, 40} {
		h := newHarbour(t, berth.Config{})
		for i := range pools {
			h.tell(berth.NodeJoined{Node: berth.Node{
				ID: berth.NodeID(fmt.Sprintf("n-%02d", i)), Pool: fmt.Sprintf("p-%02d", i), CPUMilli: 64_000, MemoryMiB: 64_000,
				GPUs: []berth.GPU{{Product: "H100", MemoryMiB: 81920, MIGTable: "H100-80GB", Mode: berth.GPUModeMIG, Instances: []mig.Placement{at(t, "1g.10gb@0:1")}}},
			}})
		}
		h.tell(berth.JobSubmitted{Job: berth.Job{ID: "small", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MinInstance: &berth.MinInstance{MinSMs: 1}}}}}})
		h.minute()
		require.Equal(t, berth.ReplicaRunning, h.explain("small").State, "%d pools", pools)
	}
}
