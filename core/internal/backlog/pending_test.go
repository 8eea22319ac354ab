package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// machine is a fleet of two racks with two nodes of 8 GPUs each, n1 and n2, n3 and n4, and two
// queues that are guaranteed a node each.
func machine(t roomtest.TB) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}})
	m.Nodes(2, 8, "r1")
	m.Nodes(2, 8, "r2")
	m.Queue("a", 8)
	m.Queue("b", 8)
	return m
}

// elastic is a job that runs with one member at the least.
func elastic(id berth.JobID, queue berth.QueueID, members, gpus int) berth.Job {
	j := roomtest.Job(id, queue, members, gpus)
	j.Groups[0].MinMembers = 1
	return j
}

func urgent(j berth.Job) berth.Job {
	j.Priority = 1
	return j
}

func queueOf(m *roomtest.Machine, name string) *record.Queue {
	i, _ := m.State.Quota.Lookup(berth.QueueID(name))
	return m.Books.Queues[i]
}

func bucketOf(rep *record.Replica) *record.Bucket { return rep.Entries[0].Bucket }

// Invariant 1, of what is Pending.
func TestAPendingGangStandsInTheIndexUnlessItBacksOff(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 2, 8))
	require.Len(t, rep.Entries, 1)
	require.Equal(t, 1, queueOf(m, "a").Waiting)
	m.Backlog.Await(rep)
	require.Len(t, rep.Entries, 1, "it stands there already")

	m.Backlog.Unawait(rep)
	require.Zero(t, queueOf(m, "a").Waiting)
	m.Life.BackOff(rep)
	m.Backlog.Await(rep)
	require.Empty(t, rep.Entries, "it backs off")
	require.NoError(t, m.Backlog.CheckWaiting())
	m.Later(m.State.Config.Policy.RetryBackoff)
	over, due := m.State.DueTimer()
	require.True(t, due)
	m.Life.BackoffOver(over.Rep)
	require.Len(t, rep.Entries, 1)
}

// Invariant 1, of what is Running.
func TestAGangThatRunsShortWaitsForTheRestUnlessItHasAnOrderOut(t *testing.T) {
	m := machine(t)
	rep := m.Run(elastic("grows", "a", 3, 8), "n1")
	require.Len(t, rep.Entries, 1)
	require.True(t, rep.Entries[0].Grows)
	require.Equal(t, 2, bucketOf(rep).Shape.Spec.Groups[0].Members, "it is short of two")

	rep.Order = berth.Bind{}
	m.Backlog.Unawait(rep)
	m.Backlog.Await(rep)
	require.Empty(t, rep.Entries, "a Bind is out")
	rep.Order = nil
	m.Backlog.Await(rep)
	require.Len(t, rep.Entries, 1)
	full := m.Run(roomtest.Job("full", "a", 1, 8), "n2")
	require.Empty(t, full.Entries, "it is short of nothing")
}

func TestAGangGrowsByEachGroupThatIsShort(t *testing.T) {
	m := machine(t)
	group := func(name string) berth.Group {
		return berth.Group{Name: name, Members: 2, MinMembers: 1, Claim: berth.WholeGPUs(4)}
	}
	rep := m.Observe(m.State.Now, berth.Job{ID: "grows", Queue: "a", Groups: []berth.Group{group("x"), group("y")}}, []berth.MemberPlacement{
		{Group: "x", Node: "n1", GPUs: 0xf}, {Group: "y", Node: "n1", GPUs: 0xf0},
	})
	require.Len(t, rep.Entries, 2)
	require.Equal(t, []int{0, 1}, []int{rep.Entries[0].Part(), rep.Entries[1].Part()})
	require.Equal(t, 1, queueOf(m, "a").Waiting, "one replica waits, in two places")
}

func TestGangsThatAskForTheSameShareABucketInTheOrderOfService(t *testing.T) {
	m := machine(t)
	first := m.Wait(roomtest.Job("first", "a", 2, 8))
	second := m.Wait(roomtest.Job("second", "a", 2, 8))
	other := m.Wait(roomtest.Job("other", "b", 2, 8))
	require.Same(t, bucketOf(first), bucketOf(second))
	require.NotSame(t, bucketOf(first), bucketOf(other), "one for each queue")
	require.Same(t, bucketOf(first).Shape, bucketOf(other).Shape)
	m.Wait(urgent(roomtest.Job("urgent", "a", 2, 8)))
	var order []berth.JobID
	for _, e := range m.Backlog.First(bucketOf(first), 3) {
		order = append(order, e.Rep.Job.Spec.ID)
	}
	require.Equal(t, []berth.JobID{"urgent", "first", "second"}, order)
	require.Equal(t, 3, bucketOf(first).Entries.Len(), "they are back in the bucket")
}

// Invariant 2.
func TestAQueueIsActiveWhileABucketIsReady(t *testing.T) {
	m := machine(t)
	a := queueOf(m, "a").Index
	require.False(t, m.State.Quota.Active(a))
	large := m.Wait(roomtest.Job("large", "a", 4, 8))
	small := m.Wait(roomtest.Job("small", "a", 1, 8))
	require.True(t, m.State.Quota.Active(a))
	m.Backlog.Block(bucketOf(large).Shape)
	require.True(t, m.State.Quota.Active(a), "the small one is ready")
	m.Backlog.QuotaBlock(bucketOf(small))
	require.False(t, m.State.Quota.Active(a))
	m.Backlog.Unblock(bucketOf(large).Shape)
	require.True(t, m.State.Quota.Active(a))
	m.Life.Forget(large)
	require.False(t, m.State.Quota.Active(a))
}

// Invariant 3: what blocks a shape is no matter of queues.
func TestABlockedShapeIsReadyInNoQueueUntilItIsTriedAgain(t *testing.T) {
	m := machine(t)
	a, b := m.Wait(roomtest.Job("in-a", "a", 4, 8)), m.Wait(roomtest.Job("in-b", "b", 4, 8))
	s := bucketOf(a).Shape
	m.Backlog.Block(s)
	m.Backlog.Block(s)
	require.Equal(t, 1, m.Backlog.Blocked.Len(), "blocked once")
	require.Negative(t, bucketOf(a).Slot)
	require.Negative(t, bucketOf(b).Slot)
	late := m.Wait(roomtest.Job("late", "b", 4, 8))
	require.Negative(t, bucketOf(late).Slot, "what comes to it is not ready either")
	m.Backlog.Unblock(s)
	require.Zero(t, bucketOf(a).Slot)
	require.Zero(t, bucketOf(b).Slot)
	require.Zero(t, m.Backlog.Blocked.Len())
}

func TestABlockedShapeIsForgottenWithTheLastThatWaitsForIt(t *testing.T) {
	m := machine(t)
	a, b := m.Wait(roomtest.Job("in-a", "a", 4, 8)), m.Wait(roomtest.Job("in-b", "b", 4, 8))
	s := bucketOf(a).Shape
	m.Backlog.Block(s)
	m.Life.Forget(a)
	require.Equal(t, 1, m.Backlog.Blocked.Len())
	require.Contains(t, m.State.Shapes, s.Key)
	m.Life.Forget(b)
	require.Zero(t, m.Backlog.Blocked.Len())
	require.NotContains(t, m.State.Shapes, s.Key)
}

// A bucket that quota holds back is ready as soon as its queue may have what it asks for, but not
// before its shape fits.
func TestWhatQuotaHoldsBackIsReadyWhenItMayHaveIt(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(8)})
	runs := m.Run(roomtest.Job("runs", "a", 1, 8), "n1")
	waits, blocked := m.Wait(roomtest.Job("waits", "a", 1, 8)), m.Wait(roomtest.Job("blocked", "a", 1, 4))
	m.Backlog.QuotaBlock(bucketOf(waits))
	m.Backlog.QuotaBlock(bucketOf(blocked))
	m.Backlog.Block(bucketOf(blocked).Shape)
	m.Backlog.WakeLimited()
	require.Len(t, m.Backlog.QuotaBlocked, 2, "the limit is reached")
	m.Finished(runs)
	m.Backlog.WakeLimited()
	require.Empty(t, m.Backlog.QuotaBlocked)
	require.Zero(t, bucketOf(waits).Slot)
	require.Negative(t, bucketOf(blocked).Slot)
}

// Those that lost hardware, and they alone, are in the list of those that may use hot spares.
func TestWhatLostHardwareAndWaitsIsListed(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("lost", "a", 1, 8))
	m.Wait(roomtest.Job("sound", "a", 1, 8))
	m.Backlog.Unawait(rep)
	rep.Retry.Note().LostHardware = true
	m.Backlog.Await(rep)
	require.True(t, m.Backlog.LostHardware.Has(rep))
	require.Equal(t, 1, m.Backlog.LostHardware.Len())
	m.Backlog.Unawait(rep)
	require.Zero(t, m.Backlog.LostHardware.Len())
	m.Backlog.Await(rep)
}

// The search breaks whole domains the less, the more gangs wait for one.
func TestTheSearchIsToldHowManyWaitForAWholeDomain(t *testing.T) {
	m := machine(t)
	rack, _ := m.State.Fleet.Tree().Level("rack")
	job := roomtest.Job("in-a-rack", "a", 2, 8)
	job.Topology.Required = "rack"
	rep := m.Wait(job)
	m.Wait(roomtest.Job("anywhere", "a", 2, 8))
	require.Equal(t, 1, m.Backlog.Demand[rack])
	m.Life.Forget(rep)
	require.Zero(t, m.Backlog.Demand[rack])
}

func TestFreeForCountsTheProductOfWhichTheMostIsFree(t *testing.T) {
	m := machine(t)
	other := roomtest.Node("other", 4, "r3")
	for g := range other.GPUs {
		other.GPUs[g].Product, other.GPUs[g].MIGTable = "H200", ""
	}
	m.Join(other)
	m.Run(roomtest.Job("runs", "a", 1, 8), "n1")
	alike := m.Wait(roomtest.Job("alike", "a", 2, 4))
	m.State.Compile(bucketOf(alike).Shape)
	require.Equal(t, 24, m.Backlog.FreeFor(bucketOf(alike).Shape), "of one product, as its members are to have")
	one := m.Wait(roomtest.Job("one", "a", 1, 4))
	m.State.Compile(bucketOf(one).Shape)
	require.Equal(t, 28, m.Backlog.FreeFor(bucketOf(one).Shape), "of any")
}

func TestANodeHelpsWhatHasAMemberThatFitsThere(t *testing.T) {
	m := machine(t)
	m.Run(roomtest.Job("runs", "a", 1, 6), "n1")
	pair, large := m.Wait(roomtest.Job("pair", "a", 2, 2)), m.Wait(roomtest.Job("large", "a", 2, 4))
	for _, rep := range []*record.Replica{pair, large} {
		m.State.Compile(bucketOf(rep).Shape)
	}
	require.True(t, m.Backlog.Helps(m.NodeNamed("n1"), bucketOf(pair).Shape))
	require.False(t, m.Backlog.Helps(m.NodeNamed("n1"), bucketOf(large).Shape))
	require.True(t, m.Backlog.Helps(m.NodeNamed("n2"), bucketOf(large).Shape))
}

// Nobody is fresh where nothing is set aside: there is nothing to be tried on.
func TestWhatComesToABlockedBucketIsFreshWhileNodesAreSetAside(t *testing.T) {
	m := machine(t)
	first := m.Wait(roomtest.Job("first", "a", 4, 8))
	m.Backlog.Block(bucketOf(first).Shape)
	m.Wait(roomtest.Job("second", "a", 4, 8))
	require.Empty(t, m.Backlog.Fresh)

	res := m.Reserve(first, m.State.Now.Add(berth.Hour), "n1")
	third := m.Wait(roomtest.Job("third", "a", 4, 8))
	require.Equal(t, []*record.Entry{third.Entries[0]}, m.Backlog.Fresh)
	m.Backlog.EndReservation(res)
	require.Empty(t, m.Backlog.Fresh)
	require.Negative(t, third.Entries[0].FreshAt)
}

func TestWhatLeavesTheIndexGivesUpWhatWasKeptForIt(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 1))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	m.Backlog.Attach(&record.GPUHold{Rep: rep, Node: m.NodeNamed("n2"), GPUHoldPart: record.GPUHoldPart{GPU: 3}})
	rep.BidsAt = m.State.Now
	m.Backlog.Unawait(rep)
	require.Nil(t, rep.Reserved)
	require.Nil(t, rep.GPUHold)
	require.Zero(t, rep.BidsAt)
	require.Empty(t, m.Backlog.Reservations)
	m.Backlog.Await(rep)
}

// A GPU that is held takes nobody else.
func TestAHeldGPUIsClosedUntilTheHoldEnds(t *testing.T) {
	m := machine(t)
	n := m.NodeNamed("n1")
	rep := m.Wait(roomtest.Job("waits", "a", 1, 1))
	m.Backlog.Attach(&record.GPUHold{Rep: rep, Node: n, GPUHoldPart: record.GPUHoldPart{GPU: 3}})
	require.False(t, m.State.Fleet.Healthy(n.Index, 3))
	m.Backlog.Lapse(n, 2)
	require.NotNil(t, rep.GPUHold, "another GPU")
	m.Backlog.Lapse(n, 3)
	require.Nil(t, rep.GPUHold)
	require.True(t, m.State.Fleet.Healthy(n.Index, 3))
	require.Contains(t, m.State.FreedNodes, n, "the next pass looks at it")
}

// A service that rests is of a shape of its own, and gives it up.
func TestAGangThatRestsIsNoMeasureForTheOthers(t *testing.T) {
	m := machine(t)
	rep, other := m.Wait(roomtest.Job("rests", "a", 1, 8)), m.Wait(roomtest.Job("other", "a", 1, 8))
	m.Backlog.Unawait(rep)
	rep.Eviction.Note().RestsUntil = m.State.Now.Add(berth.Hour)
	m.Backlog.Await(rep)
	require.NotSame(t, bucketOf(other).Shape, bucketOf(rep).Shape)
	key := bucketOf(rep).Shape.Key
	m.Backlog.Unawait(rep)
	require.NotContains(t, m.State.Shapes, key)
	m.Backlog.Await(rep)
}

// What the quota tree is told a queue would be served next is of its first bucket, and is told anew
// where other nodes make it another charge.
func TestTheTreeKnowsWhatAQueueIsServedNext(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("large", "a", 4, 8))
	m.Wait(urgent(roomtest.Job("small", "a", 1, 1)))
	m.Wait(roomtest.Job("other", "b", 1, 4))
	m.Backlog.TellAllNext()
	require.Equal(t, m.State.Classes.Version, m.Backlog.ToldNext)
	next, ok := m.State.Quota.Next()
	require.True(t, ok)
	require.EqualValues(t, "a", m.State.Quota.Name(next), "it asks for less of its share")
}
