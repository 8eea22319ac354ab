package evict_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/preempt"
)

func machine(t roomtest.TB, nodes int, change ...func(*berth.Policy)) *roomtest.Machine {
	return roomtest.AtAnyCost(t, nodes, change...)
}

func withoutMoves(p *berth.Policy) { p.Defragmentation.Mode = berth.DefragmentationOff }

// weighing has the standard function: 10 minutes of a GPU for a turn, and as much as the wait for
// the wait.
func weighing(p *berth.Policy) { p.Preemption.Gain = berth.GainPolicy{Queueing: berth.Off} }

// job is one of a queue, of members of so many GPUs each, that writes a checkpoint when it is
// asked: so a victim is asked, and has not stopped yet.
func job(id berth.JobID, queue berth.QueueID, members, gpus int) berth.Job {
	j := roomtest.Job(id, queue, members, gpus)
	j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute}
	return j
}

// dear is a job that costs so much of each of its GPUs when it is stopped.
func dear(j berth.Job, cost berth.Duration) berth.Job {
	j.Checkpoint.Cost = cost
	return j
}

func elastic(id berth.JobID, queue berth.QueueID, members, least, gpus int) berth.Job {
	j := job(id, queue, members, gpus)
	j.Groups[0].MinMembers = least
	return j
}

// inPool has the members of a job be in a pool.
func inPool(j berth.Job, pools ...string) berth.Job {
	j.Groups[0].Selector.Pools = pools
	return j
}

// pass is a pass up to Preempt, and names the gangs that it asks for a checkpoint.
func pass(m *roomtest.Machine) (asked []string) {
	for _, order := range m.Pass(m.Evict.Relocate, m.Search.ServeReserved, m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place, m.Search.Backfill, m.Evict.Preempt) {
		if request, ok := order.(berth.RequestCheckpoint); ok {
			asked = append(asked, string(request.Job))
		}
	}
	return asked
}

// gone has gangs that were asked to go write their checkpoints and stop.
func gone(m *roomtest.Machine, victims ...*record.Replica) {
	for _, rep := range victims {
		m.NoRefusal(m.Life.CheckpointReported(rep, &berth.OrderReported{Outcome: berth.OutcomeDone}))
		m.State.NoteTodo(rep, false)
		m.Stopped(rep)
	}
}

// nodesOf names the nodes of members that are planned, a member each.
func nodesOf(m *roomtest.Machine, res *record.Reservation) (names []string) {
	for _, at := range res.Plan.Where {
		names = append(names, string(m.State.Nodes[at.Hold.Node].Spec.ID))
	}
	return names
}

// A bid.

// Invariant 2.
func TestAGangGetsVictimsAndNodesThatAreSetAsideForIt(t *testing.T) {
	m := machine(t, 2)
	m.Queue("owner", 8)
	gives := m.Queue("gives", 3)
	b1, b2 := m.Run(job("b1", "gives", 1, 4), "n1"), m.Run(job("b2", "gives", 1, 4), "n2")
	rep := m.Wait(job("o", "owner", 2, 4))
	require.Equal(t, []string{"b1", "b2"}, pass(m))
	res := rep.PlannedReservation()
	require.NotNil(t, res)
	require.Equal(t, []string{"n1", "n2"}, nodesOf(m, res))
	require.Equal(t, berth.CauseVictimsGone, res.Kind.Cause())
	require.Equal(t, []*record.Replica{b1, b2}, res.Plan.Victims)
	require.Same(t, rep, b1.Beneficiary)
	require.Equal(t, int64(1), m.State.Totals.Preemptions)
	require.Zero(t, gives.FloorMilli, "jobs of four fill nothing of three")
	require.NoError(t, m.Check())
	require.Empty(t, pass(m), "it has what it bid for")

	gone(m, b1, b2)
	orders := m.Pass(m.Search.ServeReserved)
	require.Len(t, orders, 1)
	require.Equal(t, berth.JobID("o"), orders[0].Header().Job)
}

// Package quota, entitlement.go, rule 2: a queue that gives so that less fills its guarantee
// keeps from then on what it kept.
func TestAQueueThatGivesWhatFillsItsGuaranteeGetsAFloor(t *testing.T) {
	m := machine(t, 2)
	m.Queue("owner", 4)
	gives := m.Queue("gives", 3)
	m.Run(job("large", "gives", 1, 4), "n1")
	for i := 1; i <= 3; i++ {
		m.Run(job(berth.JobID(fmt.Sprintf("s%d", i)), "gives", 1, 1), "n2")
	}
	m.Wait(job("o", "owner", 1, 4))
	require.Equal(t, []string{"s1", "s2", "s3"}, pass(m))
	require.Equal(t, int64(3000), gives.FloorMilli)
}

// What is departing anyway is no victim: a gang that fits on what it leaves bids for nothing, and
// is asked again only when something changes.
func TestNothingIsTakenWhereWhatDepartsSuffices(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	leaves := m.Run(job("leaves", "borrows", 1, 2), "n1")
	m.Run(job("stays", "borrows", 1, 2), "n1")
	m.Life.TakeBack(leaves, berth.Cause{Code: berth.CauseCancelled}, false)
	rep := m.Wait(job("o", "owner", 1, 2))
	require.Empty(t, pass(m))
	require.Nil(t, rep.Reserved)
	require.Equal(t, agenda.Never, m.Evict.NextBid())
}

// A gang avoids the nodes on which it failed as long as there are others, and not longer.
func TestVictimsAreLookedForFirstWhereTheGangDidNotFail(t *testing.T) {
	for name, c := range map[string]struct {
		shunned []berth.NodeID
		want    string
	}{
		"nowhere":    {nil, "cheap"},
		"on one":     {[]berth.NodeID{"n1"}, "costly"},
		"everywhere": {[]berth.NodeID{"n1", "n2"}, "cheap"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, 2)
			m.Queue("owner", 4)
			m.Queue("borrows", 0)
			m.Run(job("cheap", "borrows", 1, 4), "n1")
			m.Run(dear(job("costly", "borrows", 1, 4), berth.Hour), "n2")
			rep := m.Wait(job("o", "owner", 1, 4))
			for _, n := range c.shunned {
				rep.Shun(n)
			}
			require.Equal(t, []string{c.want}, pass(m))
		})
	}
}

func TestAGangTakesVictimsWhereItFailedIfThereAreNoOthers(t *testing.T) {
	m := machine(t, 2, withoutMoves) // moves avoid nothing
	m.Queue("owner", 4)
	m.Queue("keeps", 4)
	m.Queue("borrows", 0)
	m.Run(job("b", "borrows", 1, 4), "n1")
	m.Run(job("k", "keeps", 1, 4), "n2")
	m.Wait(job("o", "owner", 1, 4)).Shun("n1")
	require.Equal(t, []string{"b"}, pass(m))
}

// Invariant 4: the mode, and one side alone.

func TestTheModeOfThePolicySaysWhatIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		mode    berth.PreemptionMode
		lent    []string
		outrank []string
	}{
		"on":      {berth.PreemptionOn, []string{"b"}, []string{"low"}},
		"reclaim": {berth.PreemptionReclaim, []string{"b"}, nil},
		"off":     {berth.PreemptionOff, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			mode := func(p *berth.Policy) { p.Preemption.Mode = c.mode }
			m := machine(t, 1, mode, withoutMoves)
			m.Queue("owner", 4)
			m.Queue("borrows", 0)
			m.Run(job("b", "borrows", 1, 4), "n1")
			m.Wait(job("o", "owner", 1, 4))
			require.Equal(t, c.lent, pass(m))

			m = machine(t, 1, mode, withoutMoves)
			m.Queue("a", 0)
			m.Run(job("low", "a", 1, 4), "n1")
			m.Wait(roomtest.WithPriority(job("high", "a", 1, 4), 1))
			require.Equal(t, c.outrank, pass(m))
		})
	}
}

func TestVictimsOfBothSidesAreNotCombined(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 0)
	m.Queue("b", 0)
	m.Run(job("low", "a", 1, 2), "n1")
	m.Run(job("b1", "b", 1, 4), "n2")
	m.Run(job("b2", "b", 1, 2), "n1")
	rep := m.Wait(roomtest.WithPriority(job("high", "a", 2, 3), 1))
	require.Empty(t, pass(m))
	require.Nil(t, rep.Reserved)
}

// Invariant 3: turns.

func TestBidsAreMadeInPolicyOrder(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 4)
	m.Queue("b", 4)
	m.Queue("borrows", 0)
	m.Run(job("x1", "borrows", 1, 4), "n1")
	m.Run(job("x2", "borrows", 1, 4), "n2")
	second := m.Wait(job("second", "b", 1, 4))
	first := m.Wait(roomtest.WithPriority(job("first", "a", 1, 4), 1))
	third := m.Wait(job("third", "a", 1, 4))
	require.Len(t, pass(m), 2)
	require.NotNil(t, first.Reserved)
	require.NotNil(t, second.Reserved)
	require.NotEqual(t, first.Reserved.NodeIDs(), second.Reserved.NodeIDs())
	require.Nil(t, third.Reserved)
}

// Where the first of a bucket has found victims, a pass goes on with the next.
func TestAllOfABucketMayBidInAPass(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	for i := 1; i <= 3; i++ {
		m.Run(job(berth.JobID(fmt.Sprintf("b%d", i)), "borrows", 1, 4), fmt.Sprintf("n%d", i))
	}
	var waiting []*record.Replica
	for i := range 4 {
		waiting = append(waiting, m.Wait(job(berth.JobID(fmt.Sprintf("o%d", i)), "owner", 1, 4)))
	}
	require.Len(t, pass(m), 2, "two are guaranteed")
	require.NotNil(t, waiting[0].Reserved)
	require.NotNil(t, waiting[1].Reserved)
	require.Nil(t, waiting[2].Reserved)
	require.Nil(t, waiting[3].Reserved)
}

// Only what is set aside for a gang keeps others out of the domains that it has for itself, so
// nothing bids after it in the pass.
func TestAGangWithARackForItselfEndsARoundOfBids(t *testing.T) {
	m := machine(t, 1)
	m.Nodes(1, 4, "r2")
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	m.Run(job("b1", "borrows", 1, 4), "n1")
	m.Run(job("b2", "borrows", 1, 4), "n2")
	exclusive := roomtest.WithPriority(job("exclusive", "owner", 1, 4), 1)
	exclusive.Topology.Exclusive = "rack"
	rep, next := m.Wait(exclusive), m.Wait(job("next", "owner", 1, 4))
	require.Len(t, pass(m), 1)
	require.NotNil(t, rep.Reserved)
	require.Nil(t, next.Reserved)
	require.Len(t, pass(m), 1)
	require.NotNil(t, next.Reserved)
}

// What a pass has no time for comes first in the next one.
func TestAPassLooksForVictimsForSoManyGangs(t *testing.T) {
	m := machine(t, 3)
	m.State.Bounds.Bids = 1
	m.Queue("a", 4)
	m.Queue("b", 4)
	m.Queue("borrows", 0)
	for i := 1; i <= 3; i++ {
		m.Run(job(berth.JobID(fmt.Sprintf("x%d", i)), "borrows", 1, 4), fmt.Sprintf("n%d", i))
	}
	first, second := m.Wait(job("first", "a", 1, 4)), m.Wait(job("second", "b", 1, 4))
	require.Len(t, pass(m), 1)
	require.NotNil(t, first.Reserved)
	require.Nil(t, second.Reserved)
	require.Equal(t, m.State.Now, m.Evict.NextBid())
	require.Len(t, pass(m), 1)
	require.NotNil(t, second.Reserved)
}

// Bids in vain.

func TestABidInVainIsMadeAgainWhenSomethingChanges(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 4)
	m.Queue("keeps", 4)
	m.Run(job("k", "keeps", 1, 4), "n1")
	m.Wait(job("o", "owner", 1, 4))
	require.Empty(t, pass(m))
	require.Greater(t, m.Evict.NextBid(), m.State.Now)
	m.Queue("keeps", 0)
	m.Later(berth.Minute)
	require.Equal(t, []string{"k"}, pass(m))
}

func TestAProtectionThatEndsIsWhenToBidAgain(t *testing.T) {
	m := machine(t, 1, func(p *berth.Policy) { p.Preemption.MinRuntime = berth.Hour })
	m.Queue("owner", 4)
	m.Queue("borrows", 0)
	m.Run(job("b", "borrows", 1, 4), "n1")
	m.Wait(job("o", "owner", 1, 4))
	require.Empty(t, pass(m))
	require.Equal(t, m.State.Now.Add(berth.Hour), m.Evict.NextBid())
	m.Later(berth.Hour)
	require.Equal(t, []string{"b"}, pass(m))
}

// Invariant 5: a bid like an earlier one of the pass that was in vain is answered as a search of
// its own would be.
func TestAReplyIsWhatASearchWouldSay(t *testing.T) {
	m := machine(t, 2, withoutMoves, func(p *berth.Policy) { p.Preemption.MinRuntime = berth.Hour })
	m.Queue("o1", 4)
	m.Queue("o2", 4)
	m.Queue("borrows", 0)
	m.Run(job("b1", "borrows", 1, 4), "n1")
	m.Run(job("b2", "borrows", 1, 4), "n2")
	replied := 0
	m.Evict.Replied = func(e *record.Entry, reply *victim.Search) {
		replied++
		trials := m.State.Bounds.VictimSearches
		s, _, ok := m.Evict.Seek(e, evict.Seeking{Mode: berth.PreemptionOn, Chooser: new(preempt.Chooser)}, &trials)
		require.False(t, ok)
		require.Equal(t, m.State.Now.Add(berth.Hour), s.RipeAt(0))
		require.Equal(t, s.RipeAt(0), reply.RipeAt(0))
	}
	m.Wait(job("first", "o1", 1, 4))
	m.Wait(job("second", "o2", 1, 4))
	require.Empty(t, pass(m))
	require.Equal(t, 1, replied)
	require.Equal(t, m.State.Now.Add(berth.Hour), m.Evict.NextBid())
	m.Later(berth.Hour)
	require.Len(t, pass(m), 2)
}

// Rate limits.

func oneAnHour(p *berth.Policy) {
	p.Preemption.RateLimit = berth.RateLimit{Evictions: 1, Per: berth.Hour}
}

func TestTheRateLimitOfTheFleetIsWaitedFor(t *testing.T) {
	m := machine(t, 2, oneAnHour)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	m.Run(job("b1", "borrows", 1, 4), "n1")
	m.Run(job("b2", "borrows", 1, 4), "n2")
	m.Wait(job("o1", "owner", 1, 4))
	m.Wait(job("o2", "owner", 1, 4))
	require.Len(t, pass(m), 1)
	require.Equal(t, m.State.Now.Add(berth.Hour), m.Evict.NextBid())
	require.Empty(t, pass(m))
	m.Later(berth.Hour)
	require.Len(t, pass(m), 1)
}

func TestTheRateLimitOfAQueueIsWaitedFor(t *testing.T) {
	m := machine(t, 2, func(p *berth.Policy) {
		p.Preemption.QueueRateLimit = berth.RateLimit{Evictions: 1, Per: berth.Hour}
	})
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	m.Run(job("b1", "borrows", 1, 4), "n1")
	m.Run(job("b2", "borrows", 1, 4), "n2")
	m.Wait(job("o1", "owner", 1, 4))
	m.Wait(job("o2", "owner", 1, 4))
	require.Len(t, pass(m), 1)
	require.Empty(t, pass(m))
	require.Equal(t, m.State.Now.Add(berth.Hour), m.Evict.NextBid())
	m.Later(berth.Hour)
	require.Len(t, pass(m), 1)
}

// Victims that go together wait until all of them may, and meanwhile nothing is searched for.
func TestVictimsTogetherWaitUntilTheRateLimitAllowsAllOfThem(t *testing.T) {
	m := machine(t, 3, func(p *berth.Policy) {
		p.Preemption.RateLimit = berth.RateLimit{Evictions: 2, Per: berth.Hour}
	})
	m.Queue("owner", 8)
	m.Queue("keeps", 4)
	m.Queue("borrows", 0)
	k := m.Run(job("k", "keeps", 1, 4), "n1")
	b1, b2 := m.Run(job("b1", "borrows", 1, 4), "n2"), m.Run(job("b2", "borrows", 1, 4), "n3")
	m.Life.MeterVictims([]*record.Replica{k})
	at := m.Life.VictimsReady([]*record.Replica{b1, b2})
	require.Greater(t, at, m.State.Now)
	require.Equal(t, m.State.Now, m.Life.EvictionsReady(), "one may go")
	m.Wait(job("o", "owner", 2, 4))
	require.Empty(t, pass(m))
	require.Equal(t, at, m.Evict.NextBid())
	m.Later(at.Sub(m.State.Now))
	require.Equal(t, []string{"b1", "b2"}, pass(m))
}

// A surplus is no eviction: it is taken though the limit is reached.
func TestASurplusGoesThoughTheRateLimitIsReached(t *testing.T) {
	m := machine(t, 2, oneAnHour)
	m.Queue("owner", 8)
	m.Queue("borrows", 0)
	b1 := m.Run(job("b1", "borrows", 1, 4), "n1")
	m.Life.MeterVictims([]*record.Replica{b1})
	gives := m.Run(elastic("gives", "borrows", 4, 1, 1), "n2", "n2", "n2", "n2")
	whole, part := m.Wait(roomtest.WithPriority(job("whole", "owner", 1, 4), 1)), m.Wait(job("part", "owner", 1, 2))
	require.Empty(t, pass(m), "nothing is asked for a checkpoint")
	require.Nil(t, whole.Reserved)
	require.NotNil(t, part.Reserved)
	require.Equal(t, 2, gives.Count(0, record.MemberStopping))
	require.LessOrEqual(t, m.Evict.NextBid(), m.State.Now.Add(berth.Hour))
}
