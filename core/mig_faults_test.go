package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// quiet runs passes until the core waits for an event, and fails if it never does.
func (d *divided) quiet() []berth.Order {
	d.Helper()
	var all []berth.Order
	for range 100 {
		all = append(all, d.pass()...)
		wake, ok := d.NextWake()
		if !ok {
			return all
		}
		d.now = max(wake, d.now)
	}
	d.Fatal("still awake after 100 passes without an event")
	return nil
}

func (d *divided) policy(g berth.Geometry) {
	d.Helper()
	d.tell(berth.PolicyChanged{Policy: berth.Policy{Geometry: []berth.Geometry{g}}})
}

// drained is a GPU that is kept for "large", while s0 and s1 still run on it.
func drained(t *testing.T, g berth.Geometry) *divided {
	t.Helper()
	d := newDivided(t, g)
	d.node("n", 1, berth.GPUModeMIG, at(t, "1g.10gb@0:1"), at(t, "1g.10gb@1:1"))
	for _, id := range []berth.JobID{"s0", "s1"} {
		d.tell(berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: "q", ExpectedRuntime: 10 * berth.Minute,
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: "1g.10gb"}}},
		}})
	}
	d.carryOut(d.pass())
	d.job("large", 1, berth.Claim{MIG: "7g.80gb", CPUMilli: 2000})
	d.settle(d.now + berth.Time(9*berth.Minute))
	e, err := d.Explain("large")
	require.NoError(t, err)
	require.NotNil(t, e.Replicas[0].Reason.GPUHold)
	return d
}

// A drain ends with the geometry that allowed it: nothing of a fixed pool is changed.
func TestADrainEndsWithItsGeometry(t *testing.T) {
	d := drained(t, berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Second})
	d.policy(berth.Geometry{Kind: berth.GeometryFixed})
	d.tell(berth.JobFinished{Job: "s0", Incarnation: 1})
	d.tell(berth.JobFinished{Job: "s1", Incarnation: 1})
	require.Empty(t, repartitions(d.pass()))
	d.job("small", 1, berth.Claim{MIG: "1g.10gb"})
	require.Len(t, d.pass(), 1, "the GPU is open again")
}

// A GPU that is clear and may be changed, for a member whose host has no room just then,
// does not keep the core awake.
func TestAClearGPUWithoutAHostDoesNotSpin(t *testing.T) {
	d := drained(t, berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Second})
	d.tell(berth.JobSubmitted{Job: berth.Job{
		ID: "hog", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{CPUMilli: 63000}}},
	}})
	d.carryOut(d.pass())
	d.tell(berth.JobFinished{Job: "s0", Incarnation: 1})
	d.tell(berth.JobFinished{Job: "s1", Incarnation: 1})
	require.Empty(t, repartitions(d.quiet()))
}

// Members that wait in vain do not wake each other.
func TestWaitingInVainIsQuiet(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Second, HoldLimit: -1})
	d.node("n", 1, berth.GPUModeMIG, at(t, "7g.80gb@0:8"))
	d.job("holder", 1, berth.Claim{MIG: "7g.80gb"})
	d.carryOut(d.pass())
	d.job("a", 1, berth.Claim{MIG: "3g.40gb"})
	d.pass()
	d.now += 400
	d.job("b", 1, berth.Claim{MIG: "4g.40gb"})
	require.Empty(t, d.quiet())
}

// A member that is being stopped stood on what was ordered: that cannot be told to have failed.
func TestAStoppedMemberProvesItsGPU(t *testing.T) {
	d := newDivided(t, berth.Geometry{})
	d.node("n", 1, berth.GPUModeWhole)
	d.job("a", 1, berth.Claim{Share: &berth.Share{GPUMilli: 400}})
	orders := d.pass()
	d.report(orders[1], berth.OutcomeDone)
	d.tell(berth.JobCancelled{Job: "a"})
	require.IsType(t, berth.Release{}, d.pass()[0])
	d.job("b", 1, berth.Claim{GPUs: 1})
	err := d.Apply(d.now, berth.OrderReported{Order: orders[0].Header().ID, Outcome: berth.OutcomeFailed})
	require.ErrorIs(t, err, berth.ErrConflict)
	require.Empty(t, d.pass(), "a still holds the GPU")
}

// What must not be changed, for a limit or for the topology, does not hide what may.
func TestOffersThatWillNotDoHideNoOther(t *testing.T) {
	t.Run("limit", func(t *testing.T) {
		d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Second, HoldLimit: -1})
		d.tell(berth.QueueSet{Queue: quota.Queue{Name: "limited", Limit: quota.Amounts{quota.GPUMilliOf("H100"): 0}}})
		for i := range 64 {
			d.node(berth.NodeID(fmt.Sprintf("n%03d", i)), 1, berth.GPUModeWhole)
		}
		d.tell(berth.NodeJoined{Node: berth.Node{ID: "z", Pool: "p", GPUs: []berth.GPU{{
			Product: "A100", MemoryMiB: 81559, ComputeCapability: berth.ComputeCapability{Major: 8}, MIGTable: "A100-80GB",
		}}}})
		d.tell(berth.JobSubmitted{Job: berth.Job{ID: "a", Queue: "limited", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: "3g.40gb"}}}}})
		require.Len(t, repartitions(d.settle(berth.Time(berth.Hour))), 1)
	})
	t.Run("leaf", func(t *testing.T) {
		sched, err := core.New(berth.Config{Levels: []string{"leaf"}, Policy: berth.Policy{Geometry: []berth.Geometry{{
			Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: berth.Second, PerHour: 1000, HoldLimit: -1,
		}}}})
		require.NoError(t, err)
		d := &divided{T: t, Core: sched}
		d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
		gpu := berth.GPU{Product: "H100", MemoryMiB: 81559, ComputeCapability: berth.ComputeCapability{Major: 9}, MIGTable: "H100-80GB"}
		for i := range 64 {
			d.tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprintf("n%03d", i)), Domains: []string{fmt.Sprint("leaf", i)}, GPUs: []berth.GPU{gpu}}})
		}
		d.tell(berth.NodeJoined{Node: berth.Node{ID: "z", Domains: []string{"last"}, GPUs: []berth.GPU{gpu, gpu}}})
		d.tell(berth.JobSubmitted{Job: berth.Job{ID: "a", Queue: "q", Topology: berth.Topology{Required: "leaf"}, Groups: []berth.Group{{Members: 2, Claim: berth.Claim{MIG: "7g.80gb"}}}}})
		require.Len(t, repartitions(d.settle(berth.Time(berth.Hour))), 2)
	})
}
