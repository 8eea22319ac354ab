package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// elastic makes a job one of so many members, of which so many suffice.
func elastic(replicas, least int, segments ...berth.Segment) func(*berth.Job) {
	return func(j *berth.Job) {
		g := &j.Groups[0]
		g.Members, g.MinMembers, g.Topology.Segments = replicas, least, segments
	}
}

// stretched is a core of which the only node is held by "wide": eight members of one GPU each,
// of which two suffice, and which writes checkpoints.
func stretched(t *testing.T, change ...func(*berth.Job)) *divided {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "wide", 1, append([]func(*berth.Job){elastic(8, 2), writesCheckpoints}, change...)...))
	d.now += 1000
	return d
}

// released are the indexes of the members that an order stops.
func released(order berth.Order) []int {
	var list []int
	for _, m := range order.(berth.Release).Members {
		list = append(list, m.Index)
	}
	return list
}

// What a gang has above its minimum goes at once, without a checkpoint, and as much as is
// needed; the gang runs on, is told how large it is then, and grows back.
func TestElasticGangsShrinkBeforeAnythingEnds(t *testing.T) {
	d := stretched(t)
	d.tell(one("a", "high", 3, ranks(1)))
	orders := d.pass()
	require.Equal(t, []string{"release wide preempted"}, told(orders))
	release := orders[0].(berth.Release)
	require.Equal(t, []int{5, 6, 7}, released(release), "the last of them")
	require.Equal(t, []berth.GroupSize{{Members: 5}}, release.Remaining)
	high := berth.ReplicaRef{Job: "high"}
	require.Equal(t, high, release.Cause.Beneficiary)
	require.Equal(t, []berth.SurplusEviction{{Beneficiary: high, Members: []berth.MemberRef{{Index: 5}, {Index: 6}, {Index: 7}}}}, release.SurplusEvictions)
	require.Equal(t, berth.ReplicaRunning, d.explain("wide").State)
	require.Equal(t, []berth.Victim{{Job: "wide", Queue: "a", GPUMilli: 3000, Members: 3}}, d.explain("high").Reason.Victims)
	require.Empty(t, d.pass())
	d.report(release, berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"bind high victims-gone"}, told(orders), "and what was given is not taken back")
	d.carryOut(orders)
	require.EqualValues(t, 1, d.Report().Totals.ReplicasShrunk)
	require.Zero(t, d.Report().Totals.ReplicasEvicted)
	require.EqualValues(t, 1, d.explain("wide").Incarnation)

	d.tell(berth.JobFinished{Job: "high", Incarnation: 1})
	orders = d.pass()
	require.Equal(t, []string{"bind wide grows"}, told(orders))
	require.Len(t, orders[0].(berth.Bind).Members, 3)
}

// Below its minimum a gang does not go: then it goes as a whole, and is asked first.
func TestAGangThatCannotGiveEnoughGoesAsAWhole(t *testing.T) {
	d := stretched(t)
	d.tell(one("a", "high", 7, ranks(1)))
	require.Equal(t, []string{"requestCheckpoint wide preempted"}, told(d.pass()))

	d = stretched(t, func(j *berth.Job) { j.MinRuntime = berth.Hour })
	d.tell(one("a", "high", 7, ranks(1)))
	require.Empty(t, d.pass(), "that is not before its minimum run time")
	d.tell(one("a", "higher", 6, ranks(2)))
	require.Equal(t, []string{"release wide preempted"}, told(d.pass()), "which does not protect the rest")
}

// Several that wait are served by one Release; and a later one waits until it is over instead of
// evicting another job.
func TestOneReleaseServesSeveral(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "whole", 2), one("a", "wide", 1, elastic(6, 2)))
	d.now += 1000
	d.tell(one("a", "h1", 1, ranks(1)))
	d.tell(one("a", "h2", 2, ranks(1)))
	orders := d.pass()
	require.Equal(t, []string{"release wide preempted"}, told(orders))
	release := orders[0].(berth.Release)
	require.Equal(t, []berth.GroupSize{{Members: 3}}, release.Remaining)
	require.Len(t, release.SurplusEvictions, 2)
	require.Len(t, d.Report().Reservations, 2)
	d.tell(one("a", "h3", 1, ranks(1)))
	require.Empty(t, d.pass())
	require.Contains(t, d.explain("h3").Reason.Preemption, "waiting costs least")
	d.tell(berth.OrderReported{Order: release.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 5}}})
	require.Equal(t, []string{"bind h2 victims-gone"}, told(d.pass()))
	d.report(release, berth.OutcomeDone)
	require.Equal(t, []string{"bind h1 victims-gone", "release wide preempted"}, told(d.pass()))
}

// A gang of segments gives whole segments.
func TestElasticGangsGiveWholeSegments(t *testing.T) {
	d := stretched(t, elastic(8, 4, berth.Segment{Size: 2, Level: "node"}))
	d.tell(one("a", "high", 1, ranks(1)))
	orders := d.pass()
	require.Equal(t, []int{6, 7}, released(orders[0]))
	require.Equal(t, []berth.GroupSize{{Members: 6}}, orders[0].(berth.Release).Remaining)
	d.carryOut(orders)
	d.carryOut(d.pass())
	d.tell(one("a", "higher", 3, ranks(2)))
	require.Equal(t, []string{"release wide preempted"}, told(d.pass()), "one GPU is free, and one segment more is above the minimum")
}

// Those of which one is of use go, wherever they stand in the gang.
func TestElasticGangsGiveWhatIsOfUse(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.pooled("m", 4)
	d.runs(one("a", "wide", 1, elastic(12, 10)))
	for _, pool := range []string{"m", "p"} {
		d.tell(one("a", "in "+berth.JobID(pool), 2, ranks(1), inPool(pool)))
		orders := d.pass()
		require.Equal(t, []string{"release wide preempted"}, told(orders))
		for _, m := range orders[0].(berth.Release).Members {
			require.Equal(t, pool == "m", m.Node == "m")
		}
		d.tell(berth.JobCancelled{Job: "in " + berth.JobID(pool)})
		d.carryOut(orders)
		d.carryOut(d.pass())
		require.Len(t, d.explain("wide").Members, 12)
	}
}

// What a queue has borrowed above its gangs' minimums is given back before its gangs are, and
// no more than it has over its share.
func TestS4_ExtrasAreGivenBackFirst(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "wide", 1, elastic(6, 2)), one("a", "young", 2))
	d.now += 1000
	d.tell(one("b", "back", 3))
	orders := d.pass()
	require.Equal(t, []string{"release wide reclaimed"}, told(orders))
	require.Equal(t, []int{3, 4, 5}, released(orders[0]))
	d.carryOut(orders)
	d.carryOut(d.pass())
	d.tell(one("b", "more", 1))
	orders = d.pass()
	require.Equal(t, []int{2}, released(orders[0]))
	d.carryOut(orders)
	d.carryOut(d.pass())
	d.tell(one("b", "too-much", 1))
	require.Empty(t, d.pass(), "a has its guarantee and no more")
}

// Whatever becomes of victims and of beneficiaries, no job counts on what is not so.
func TestShrinkingThatIsDisturbed(t *testing.T) {
	start := func(t *testing.T) (*divided, berth.Release) {
		d := stretched(t)
		d.tell(one("a", "high", 3, ranks(1)))
		return d, d.pass()[0].(berth.Release)
	}
	for name, story := range map[string]func(*testing.T, *divided, berth.Release){
		"the beneficiary is cancelled": func(t *testing.T, d *divided, r berth.Release) {
			d.tell(berth.JobCancelled{Job: "high"})
			require.Empty(t, d.pass(), "what is being stopped is stopped all the same")
			d.report(r, berth.OutcomeDone)
			require.Equal(t, []string{"bind wide grows"}, told(d.pass()))
		},
		"the gang ends": func(t *testing.T, d *divided, _ berth.Release) {
			d.tell(berth.JobFinished{Job: "wide", Incarnation: 1})
			require.ElementsMatch(t, []string{"release wide finished", "bind high fits"}, told(d.pass()))
		},
		"the gang is cancelled": func(t *testing.T, d *divided, _ berth.Release) {
			d.tell(berth.JobCancelled{Job: "wide"})
			orders := d.pass()
			require.Equal(t, []string{"release wide cancelled"}, told(orders))
			require.Len(t, orders[0].(berth.Release).Members, 8)
			require.Empty(t, orders[0].(berth.Release).Remaining)
			d.report(orders[0], berth.OutcomeDone)
			require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))
		},
		"the gang loses too many": func(t *testing.T, d *divided, _ berth.Release) {
			d.tell(berth.MemberFailed{Job: "wide", Incarnation: 1, Members: []berth.MemberRef{{Index: 0}, {Index: 1}, {Index: 2}, {Index: 3}}})
			orders := d.pass()
			require.Equal(t, []string{"release wide member-failed"}, told(orders), "its place is kept for it, beside that of the other")
			d.report(orders[0], berth.OutcomeDone)
			require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))
		},
		"the node is lost": func(t *testing.T, d *divided, _ berth.Release) {
			d.tell(berth.NodeLost{Node: "n"})
			require.Empty(t, d.pass())
			require.Empty(t, d.Report().Reservations)
		},
		"nothing is heard": func(t *testing.T, d *divided, r berth.Release) {
			for attempt := 2; attempt <= 3; attempt++ {
				d.now = d.now.Add(berth.Minute)
				again := d.pass()[0].(berth.Release)
				require.Equal(t, attempt, again.Attempt)
				require.Equal(t, r.SurplusEvictions, again.SurplusEvictions)
			}
			d.now = d.now.Add(berth.Minute)
			require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))
		},
		"it does not stop": func(t *testing.T, d *divided, r berth.Release) {
			d.report(r, berth.OutcomeFailed)
			require.Empty(t, d.pass())
			d.report(r, berth.OutcomeDone)
			require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone}), berth.ErrStale)
			require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))
		},
		"the policy forbids it by now": func(t *testing.T, d *divided, r berth.Release) {
			d.mode(berth.PreemptionOff)
			require.Empty(t, d.pass())
			d.report(r, berth.OutcomeDone)
			require.Equal(t, []string{"bind high fits"}, told(d.pass()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, r := start(t)
			story(t, d, r)
		})
	}
}

// A gang that has its domains for itself has nothing to give: nobody else may stand there.
func TestExclusiveGangsGiveNoParts(t *testing.T) {
	d := stretched(t, func(j *berth.Job) { j.Topology.Exclusive = "node" })
	d.carryOut(d.pass()) // it grows by and by
	d.tell(one("a", "high", 3, ranks(1)))
	require.Empty(t, d.pass())
}

// newShrinkingCore is a core in which a gang gives a part of itself to two that wait.
func newShrinkingCore(t *testing.T) *core.Core {
	d := stretched(t)
	d.tell(one("a", "h1", 2, ranks(1)))
	d.tell(one("a", "h2", 1, ranks(2)))
	release := d.pass()[0].(berth.Release)
	require.Len(t, release.SurplusEvictions, 2)
	d.tell(berth.OrderReported{Order: release.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 5}, {Index: 7}}})
	return d.Core
}

// A gang that had its minimum in one place and gets more of it in another leaves the first to those
// that were refused because of it.
func TestWhatAnElasticGangLeavesWhenItIsEnlargedIsFree(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "full", 8))
	d.pooled("small", 3)
	d.pooled("large", 4)
	d.tell(one("a", "wide", 1, elastic(4, 3), ranks(1)))
	d.tell(one("a", "behind", 2, inPool("small")))
	orders := d.pass()
	require.Equal(t, []string{"bind wide fits"}, told(orders))
	require.Len(t, orders[0].(berth.Bind).Members, 4)
	wake, due := d.NextWake()
	require.True(t, due)
	require.Equal(t, d.now, wake)
	require.Equal(t, []string{"bind behind fits"}, told(d.pass()))
}
