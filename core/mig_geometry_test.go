package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
)

// carryOut reports everything as done.
func (d *divided) carryOut(orders []berth.Order) {
	d.Helper()
	for _, o := range orders {
		d.report(o, berth.OutcomeDone)
	}
}

// settle runs passes and reports everything as done until nothing is to do before an
// instant, and returns the orders given.
func (d *divided) settle(until berth.Time) []berth.Order {
	d.Helper()
	var all []berth.Order
	for range 1000 {
		orders := d.pass()
		d.carryOut(orders)
		all = append(all, orders...)
		wake, ok := d.NextWake()
		switch {
		case len(orders) > 0:
		case !ok || wake >= until:
			d.now = until
			return all
		default:
			d.now = max(wake, d.now)
		}
	}
	d.Fatal("it does not settle")
	return nil
}

func repartitions(orders []berth.Order) []berth.Repartition {
	var list []berth.Repartition
	for _, o := range orders {
		if r, ok := o.(berth.Repartition); ok {
			list = append(list, r)
		}
	}
	return list
}

// However the demand turns, a GPU is not repartitioned more often than the rates allow.
func TestARepartitionStormIsRefused(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, Cost: berth.Second, Interval: 10 * berth.Minute, PerHour: 3})
	d.node("n", 1, berth.GPUModeMIG)
	var times []berth.Time
	for i := range 60 {
		claim := berth.Claim{MIG: "1g.10gb"}
		if i%2 == 1 {
			claim.MIG = "7g.80gb"
		}
		id := berth.JobID(rune('a'+i%26)) + berth.JobID(rune('a'+i/26))
		d.job(id, 1, claim)
		for _, r := range repartitions(d.settle(d.now + berth.Time(2*berth.Minute))) {
			times = append(times, r.At)
		}
		for j := range i + 1 { // what runs ends
			id := berth.JobID(rune('a'+j%26)) + berth.JobID(rune('a'+j/26))
			if e, err := d.Explain(id); err == nil && e.Replicas[0].State == berth.ReplicaRunning {
				d.tell(berth.JobFinished{Job: id, Incarnation: e.Replicas[0].Incarnation})
			}
		}
	}
	require.NotEmpty(t, times)
	for i := range times {
		if i > 0 {
			require.GreaterOrEqual(t, times[i].Sub(times[i-1]), 10*berth.Minute)
		}
		if i >= 3 {
			require.GreaterOrEqual(t, times[i].Sub(times[i-3]), berth.Hour)
		}
	}
	require.GreaterOrEqual(t, len(times), 4, "but it goes on")
}

// A large instance that loses to small ones gets a GPU for itself, once it has waited for
// what that costs, and nobody slips in between.
func TestAGPUIsKeptForALargeInstance(t *testing.T) {
	for _, kind := range []berth.GeometryKind{berth.GeometryAdaptive, berth.GeometryPerClaim} {
		t.Run(kind.String(), func(t *testing.T) {
			d := newDivided(t, berth.Geometry{Kind: kind, Cost: berth.Second, Interval: berth.Second})
			d.node("n", 1, berth.GPUModeMIG, at(t, "1g.10gb@0:1"), at(t, "1g.10gb@1:1"))
			small := func(id berth.JobID) {
				d.tell(berth.JobSubmitted{Job: berth.Job{
					ID: id, Queue: "q", ExpectedRuntime: 10 * berth.Minute,
					Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: "1g.10gb"}}},
				}})
			}
			small("s0")
			small("s1")
			d.carryOut(d.pass())
			d.job("large", 1, berth.Claim{MIG: "7g.80gb"})
			d.settle(d.now + berth.Time(9*berth.Minute))
			e, err := d.Explain("large")
			require.NoError(t, err)
			require.Equal(t, &berth.GPURef{Node: "n"}, e.Replicas[0].Reason.GPUHold, e.Replicas[0].Reason.Text)
			d.tell(berth.JobFinished{Job: "s0", Incarnation: 1})
			small("s2")
			require.Empty(t, d.settle(d.now+1), "the GPU is kept")
			d.tell(berth.JobFinished{Job: "s1", Incarnation: 1})
			orders := d.settle(d.now + 1)
			b := bindOf(t, orders[len(orders)-1])
			require.Equal(t, berth.JobID("large"), b.Job)
			require.Equal(t, kind == berth.GeometryAdaptive, len(b.After) == 1)
		})
	}
}

// GPUs change between whole use and division when that pays, and an idle one goes back
// to its pool's layout when nobody waits for it.
func TestGPUsGoBackToTheLayoutOfTheirPool(t *testing.T) {
	base := []mig.ProfileName{{ComputeSlices: 3, MemoryGB: 40}, {ComputeSlices: 3, MemoryGB: 40}}
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, Layout: base, Cost: 10 * berth.Second})
	d.node("n", 2, berth.GPUModeMIG, at(t, "3g.40gb@0:4"), at(t, "3g.40gb@4:4"))
	d.job("whole", 1, berth.Claim{GPUs: 2})
	orders := d.settle(d.now + berth.Time(20*berth.Minute))
	require.Len(t, repartitions(orders), 2)
	for _, r := range repartitions(orders) {
		require.Equal(t, berth.GPUModeWhole, r.Mode)
		require.Len(t, r.Destroy, 2)
		require.GreaterOrEqual(t, r.At, berth.Time(20*berth.Second), "there and back")
	}
	d.tell(berth.JobFinished{Job: "whole", Incarnation: 1})
	back := repartitions(d.settle(d.now + berth.Time(20*berth.Minute)))
	require.Len(t, back, 2)
	for _, r := range back {
		require.Equal(t, berth.CauseLayout, r.Cause.Code)
		require.Equal(t, berth.GPUModeMIG, r.Mode)
		require.Len(t, r.Create, 2)
	}
	d.job("half", 1, berth.Claim{MIG: "3g.40gb"})
	require.Empty(t, bindOf(t, d.pass()[0]).After)
}

// A gang of several instances gets as many GPUs repartitioned as it needs, or none.
func TestAGangOfInstancesIsRepartitionedForTogether(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, HoldLimit: -1})
	for _, id := range []berth.NodeID{"n1", "n2", "n3"} {
		d.node(id, 1, berth.GPUModeWhole)
	}
	d.job("gang", 5, berth.Claim{MIG: "3g.40gb"})
	orders := d.settle(d.now + berth.Time(berth.Hour))
	require.Len(t, repartitions(orders), 3)
	b := bindOf(t, orders[3])
	require.Len(t, b.Members, 5)
	require.Len(t, b.After, 3)
	d.job("other", 3, berth.Claim{MIG: "3g.40gb"})
	require.Empty(t, d.settle(d.now+berth.Time(berth.Hour)), "one place is left, and nothing is held for the gang")
}

// What a lost order leaves behind is not used before somebody has looked.
func TestALostRepartition(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, HoldLimit: -1})
	d.node("n", 1, berth.GPUModeMIG, at(t, "7g.80gb@0:8"))
	d.job("a", 1, berth.Claim{MIG: "1g.10gb"})
	for len(d.Outstanding()) == 0 {
		d.pass()
		if wake, ok := d.NextWake(); ok {
			d.now = max(wake, d.now)
		}
	}
	orders := d.Outstanding()
	require.IsType(t, berth.Repartition{}, orders[0])
	d.report(orders[1], berth.OutcomeDone)
	d.now += berth.Time(berth.Hour)
	d.pass()
	e, err := d.Explain("a")
	require.NoError(t, err)
	require.Equal(t, berth.ReplicaRunning, e.Replicas[0].State, "since it runs, the order was carried out")
	require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: orders[0].Header().ID, Outcome: berth.OutcomeDone}), berth.ErrStale)
	require.ErrorIs(t, d.Apply(d.now, berth.GPUPartitioned{Node: "n", Mode: berth.GPUModeMIG}), berth.ErrConflict, "a stands there")
	require.ErrorIs(t, d.Apply(d.now, berth.GPUPartitioned{Node: "n", Mode: berth.GPUModeWhole}), berth.ErrConflict)
	instance := e.Replicas[0].Members[0].Instance
	d.tell(berth.GPUPartitioned{Node: "n", Mode: berth.GPUModeMIG, Instances: []mig.Placement{instance}})
	d.job("b", 1, berth.Claim{MIG: "1g.10gb"})
	require.Empty(t, d.pass(), "there is one, and a has it")
}

// The charge of an instance is the part of the memory slices that it has.
func TestInstancesAreCharged(t *testing.T) {
	d := newDivided(t, berth.Geometry{Kind: berth.GeometryPerClaim})
	d.node("n", 1, berth.GPUModeMIG)
	for _, profile := range []string{"3g.40gb", "2g.20gb", "1g.10gb"} {
		d.job(berth.JobID(profile), 1, berth.Claim{MIG: profile})
	}
	orders := d.pass()
	require.Len(t, orders, 3)
	r := d.Core.Report()
	require.EqualValues(t, 875, r.Queues[0].UsedMilli)
	require.EqualValues(t, 875, r.GPUs.HeldMilli)
	require.EqualValues(t, 125, r.GPUs.FreeMilli)
	require.Equal(t, 3, r.WorstBlastRadius.Jobs)
	i := slices.IndexFunc(r.Partitioned[0].Instances, func(c berth.InstanceCount) bool { return c.Profile == "1g.10gb" })
	require.Equal(t, 1, r.Partitioned[0].Instances[i].Held)
	require.LessOrEqual(t, r.Partitioned[0].Instances[i].Free, 1)
}

// A pass changes GPUs for so many members that ask for the same, and the next one goes on.
func TestMoreMembersThanAPassChangesGPUsFor(t *testing.T) {
	for members := 1; members <= 4; members++ {
		d := newDivided(t, berth.Geometry{Kind: berth.GeometryAdaptive, HoldLimit: -1})
		core.LowerBounds(d.Core, func(b *core.Bounds) { b.Singles = 1 })
		for i := range members {
			d.node(berth.NodeID(fmt.Sprint("n", i)), 1, berth.GPUModeWhole)
			d.job(berth.JobID(fmt.Sprint("j", i)), 1, berth.Claim{MIG: "7g.80gb"})
		}
		d.now = berth.Time(berth.Hour) // it pays by now
		passes := 0
		for repartitioned := 0; repartitioned < members; passes++ {
			repartitioned += len(repartitions(d.pass()))
			require.Less(t, passes, members)
		}
		require.Equal(t, members, passes)
	}
}
