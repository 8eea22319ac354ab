package core_test

import (
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
	now berth.Time
}

func newDivided(t *testing.T, geometry berth.Geometry) *divided {
	sched, err := core.New(berth.Config{Policy: berth.Policy{
		Geometry: []berth.Geometry{geometry}, Preemption: berth.Preemption{Mode: berth.PreemptNever},
	}})
	require.NoError(t, err)
	d := &divided{t, sched, 0}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	return d
}

func (d *divided) tell(e berth.Event) {
	d.Helper()
	require.NoError(d, d.Apply(d.now, e))
	require.NoError(d, d.Check())
}

// pass runs a pass, and holds the core against what a restored one does.
func (d *divided) pass() []berth.Action {
	d.Helper()
	b, err := d.Snapshot()
	require.NoError(d, err)
	twin, err := core.RestoreWith(b, d.Config().Gain)
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
			Product: "H100", MemoryMiB: 81559, ComputeCapability: berth.ComputeCapability{Major: 9}, Table: "H100-80GB",
			Mode: mode, Instances: instances,
		})
	}
	d.tell(berth.NodeJoined{Node: n})
}

func (d *divided) job(id berth.JobID, members int, claim berth.Claim) {
	d.Helper()
	d.tell(berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "q", Tenant: berth.TenantID("tenant of " + id), Class: berth.Interactive,
		Groups: []berth.Group{{Replicas: members, Claim: claim}},
	}})
}

func (d *divided) report(a berth.Action, outcome berth.Outcome) {
	d.Helper()
	d.tell(berth.ActionReported{Action: a.Header().ID, Outcome: outcome})
}

func at(t *testing.T, text string) mig.Placement {
	p, err := mig.ParsePlacement(text)
	require.NoError(t, err)
	return p
}

func bindOf(t *testing.T, a berth.Action) berth.Bind {
	t.Helper()
	require.IsType(t, berth.Bind{}, a)
	return a.(berth.Bind)
}

// A fixed layout is used as it is, by any tenants side by side, and no further.
func TestInstancesThatExistAreUsed(t *testing.T) {
	d := newDivided(t, berth.Geometry{})
	d.node("n", 1, berth.ModeMIG, at(t, "3g.40gb@0:4"), at(t, "2g.20gb@4:2"), at(t, "1g.10gb@6:1"))
	for _, id := range []berth.JobID{"a", "b"} {
		d.job(id, 1, berth.Claim{MIG: "3g.40gb"})
	}
	d.job("c", 1, berth.Claim{Fraction: &berth.Fraction{MinSMs: 20}})
	d.job("e", 1, berth.Claim{Fraction: &berth.Fraction{MinMemoryMiB: 9000}})
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
		d.report(o, berth.Done)
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
		require.Len(t, p.Takes, 1, "MIG contains it")
	}
}

// A member in another mode comes after an order that the GPU go into that mode.
func TestModesChangeByOrder(t *testing.T) {
	d := newDivided(t, berth.Geometry{})
	d.node("n", 1, berth.ModeWhole)
	d.job("a", 1, berth.Claim{Share: &berth.Share{Milli: 400}})
	orders := d.pass()
	require.Len(t, orders, 2)
	require.Equal(t, berth.ModeMPS, orders[0].(berth.Repartition).Mode)
	require.Equal(t, []berth.ActionID{1}, bindOf(t, orders[1]).After)
	d.report(orders[0], berth.Failed)
	d.report(orders[1], berth.Failed)
	require.Empty(t, d.pass(), "it backs off")
	d.now += berth.Time(berth.Minute)
	orders = d.pass()
	require.Len(t, orders, 2)
	d.report(orders[0], berth.Done)
	d.report(orders[1], berth.Done)
	d.tell(berth.JobFinished{Job: "a", Incarnation: 2})
	d.job("b", 1, berth.Claim{GPUs: 1})
	orders = d.pass()
	require.Len(t, orders, 2)
	require.Equal(t, berth.ModeWhole, orders[0].(berth.Repartition).Mode)
	d.now += berth.Time(berth.Hour)
	require.Empty(t, d.pass(), "neither was reported, and how the GPU is is not known")
	d.now += berth.Time(berth.Hour)
	require.Empty(t, d.pass())
	require.Empty(t, d.Outstanding())
	d.tell(berth.GPUPartitioned{Node: "n", Mode: berth.ModeWhole})
	require.Empty(t, bindOf(t, d.pass()[0]).After)
}

// Instances in the way are destroyed only once the member has waited for what that
// costs, and those in use never.
func TestGeometryChangesWhenItPays(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.Adaptive, Cost: 30 * berth.Second, DrainLimit: -1})
	d.node("n", 1, berth.ModeMIG, at(t, "1g.10gb@0:1"), at(t, "1g.10gb@4:1"))
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
	d := newDivided(t, berth.Geometry{Kind: berth.PerClaim, DrainLimit: -1})
	d.node("n", 2, berth.ModeMIG)
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
