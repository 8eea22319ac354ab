package search_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

func requestOf(m *roomtest.Machine, rep *record.Replica) *gang.Request {
	m.State.Compile(bucketOf(rep).Shape)
	return &bucketOf(rep).Shape.Minimum
}

func TestAPlanIsTheFirstInstantAtWhichARequestFits(t *testing.T) {
	m := busy(t, berth.Policy{})
	at, where, ok := m.Search.Plan(requestOf(m, m.Wait(roomtest.Job("three", "a", 3, 8))), agenda.Never)
	require.True(t, ok)
	require.Equal(t, roomtest.Start.Add(3*berth.Hour), at)
	require.Len(t, where, 3)
	require.NoError(t, m.Check(), "the fleet is as it was")
	_, _, ok = m.Search.Plan(requestOf(m, m.Wait(roomtest.Job("five", "a", 5, 8))), agenda.Never)
	require.False(t, ok)
	require.NoError(t, m.Check())
	m.Finished(m.State.Jobs["on-n4"].Replicas.At(0))
	at, _, _ = m.Search.Plan(requestOf(m, m.Wait(roomtest.Job("one", "a", 1, 8))), agenda.Never)
	require.Equal(t, m.State.Now, at, "it fits now")
}

// What should have ended is expected to go on for as long again as it is late, and for a minute at
// the least.
func TestAPlanCountsOnWhatIsLateForAsLongAgain(t *testing.T) {
	m := busy(t, berth.Policy{})
	one := m.Wait(roomtest.Job("one", "a", 1, 8))
	for late, want := range map[berth.Duration]berth.Duration{berth.Second: berth.Minute, 10 * berth.Minute: 10 * berth.Minute} {
		m.State.SetClock(roomtest.Start.Add(berth.Hour + late))
		at, where, _ := m.Search.Plan(requestOf(m, one), agenda.Never)
		require.Equal(t, m.State.Now.Add(want), at)
		require.Equal(t, m.NodeNamed("n1").Index, where[0].Hold.Node)
	}
	m.State.SetClock(roomtest.Start.Add(2*berth.Hour + berth.Minute))
	at, where, _ := m.Search.Plan(requestOf(m, one), agenda.Never)
	require.Equal(t, m.State.Now.Add(berth.Minute), at)
	require.Equal(t, m.NodeNamed("n2").Index, where[0].Hold.Node, "it is late for the shorter time")
}

// What is on its way out takes each of its orders until the deadline.
func TestAPlanCountsOnWhatIsOnItsWayOut(t *testing.T) {
	m := busy(t, berth.Policy{})
	rep := m.Wait(roomtest.Job("one", "a", 1, 8))
	m.Life.TakeBack(m.State.Jobs["on-n4"].Replicas.At(0), berth.Cause{Code: berth.CausePreempted}, false)
	at, where, _ := m.Search.Plan(requestOf(m, rep), agenda.Never)
	require.Equal(t, m.State.Now.Add(m.State.Config.Policy.ReleaseTimeout), at)
	require.Equal(t, m.NodeNamed("n4").Index, where[0].Hold.Node)
}

// Invariant 1, and the bisection: whatever runs, a plan finds the instant that trying one end after
// the other finds, and leaves no trace.
func TestAPlanFindsWhatOneEndAfterTheOtherFinds(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		m := machine(t)
		for _, node := range []string{"n1", "n2", "n3", "n4"} {
			for used := 0; used < 8; {
				gpus := min(rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "GPUs"), 8-used)
				runtime := berth.Duration(rapid.IntRange(1, 5).Draw(t, "hours")) * berth.Hour
				m.Run(running(runtime, roomtest.Job(berth.JobID(fmt.Sprint(node, "-", used)), "b", 1, gpus)), node)
				used += gpus
			}
		}
		waits := roomtest.Job("waits", "a", rapid.IntRange(1, 4).Draw(t, "members"), rapid.IntRange(1, 8).Draw(t, "each"))
		if waits.Groups[0].Members <= 2 && rapid.Bool().Draw(t, "in one rack") {
			waits.Topology.Required = "rack"
		}
		rep := m.Wait(waits)
		at, where, ok := m.Search.Plan(requestOf(m, rep), agenda.Never)
		require.True(t, ok)
		require.NoError(t, m.Check())
		before := roomtest.Start.Add(berth.Duration(rapid.IntRange(0, 6*60).Draw(t, "before")) * berth.Minute)
		soonerAt, soonerWhere, sooner := m.Search.Plan(requestOf(m, rep), before)
		require.NoError(t, m.Check())
		require.Equal(t, at < before, sooner)
		if sooner {
			require.Equal(t, at, soonerAt)
			require.Equal(t, where, soonerWhere)
		}
		for hour := 0; ; hour++ {
			now := roomtest.Start.Add(berth.Duration(hour) * berth.Hour)
			for _, id := range slices.Sorted(maps.Keys(m.State.Jobs)) {
				if rep := m.State.Jobs[id].Replicas.At(0); rep.EndsAt == now {
					m.Finished(rep)
				}
			}
			if m.Books.Place(requestOf(m, rep)) {
				m.Books.LetGo()
				require.Equal(t, now, at)
				return
			}
		}
	})
}

// The start that is expected of a gang is when its minimum and the quota for it are free.

func expected(m *roomtest.Machine, rep *record.Replica) berth.Time {
	return m.Search.ExpectedStart(rep, bucketOf(rep).Shape, rep.Entries[0].Grows)
}

func TestAStartIsExpectedWhenThereIsRoomAndQuota(t *testing.T) {
	m := busy(t, berth.Policy{})
	rep := m.Wait(roomtest.Job("pair", "a", 2, 8))
	require.Equal(t, roomtest.Start.Add(2*berth.Hour), expected(m, rep))
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(8)})
	require.Equal(t, agenda.Never, expected(m, rep))
	large := m.Wait(roomtest.Job("five", "b", 5, 8))
	require.Equal(t, agenda.Never, expected(m, large))

	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(16)})
	rep.Retry.Note().ReadyAt = roomtest.Start.Add(9 * berth.Hour)
	require.Equal(t, roomtest.Start.Add(9*berth.Hour), expected(m, rep), "its backoff is not over before")
	rep.Retry.Note().ReadyAt = 0
}

// The quota that what runs in the queue gives back counts, too.
func TestAStartIsExpectedWhenItsOwnQueueHasGivenBackEnough(t *testing.T) {
	m := machine(t)
	m.Run(running(berth.Hour, roomtest.Job("first", "a", 1, 8)), "n1")
	m.Run(running(3*berth.Hour, roomtest.Job("second", "a", 1, 8)), "n2")
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(16)})
	rep := m.Wait(roomtest.Job("pair", "a", 2, 8))
	require.Equal(t, roomtest.Start.Add(3*berth.Hour), expected(m, rep), "the nodes are free all the time")
	require.Equal(t, roomtest.Start.Add(berth.Hour), expected(m, m.Wait(roomtest.Job("one", "a", 1, 8))))
}

// What is set aside is open when it is over: of a reservation in advance at its end, of a gang when
// it has started there and ended, of domains when their gang has.
func TestAStartIsExpectedWhenWhatIsSetAsideIsOver(t *testing.T) {
	m := machine(t)
	m.Run(running(9*berth.Hour, roomtest.Job("others", "a", 2, 8)), "n3", "n4")
	alone := running(4*berth.Hour, roomtest.Job("alone", "b", 1, 1))
	alone.Topology.Exclusive = "node"
	m.Run(alone, "n1")
	m.NoRefusal(m.Backlog.ReservationSet(berth.ReservationSet{Reservation: berth.Reservation{
		ID: "r", From: m.State.Now, Until: m.State.Now.Add(2 * berth.Hour), Nodes: []berth.NodeID{"n2"},
	}}))
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	require.Equal(t, m.State.Now.Add(2*berth.Hour), expected(m, rep))
	m.NoRefusal(m.Backlog.ReservationRemoved(berth.ReservationRemoved{Reservation: "r"}))
	holder := m.Wait(running(3*berth.Hour, roomtest.Job("holder", "b", 1, 8)))
	m.Reserve(holder, m.State.Now.Add(berth.Hour/2), "n2")
	require.Equal(t, m.State.Now.Add(7*berth.Hour/2), expected(m, rep), "it starts in half an hour")
	m.Backlog.EndReservation(holder.Reserved)
	var burnIn *record.Reservation
	m.Backlog.NewNodeSet(&burnIn, record.KindBurnIn, "burn-in")
	m.NodeNamed("n2").Trust.BurnInUntil = m.State.Now.Add(berth.Hour)
	m.Backlog.JoinNodeSet(burnIn, m.NodeNamed("n2"))
	pair := m.Wait(roomtest.Job("pair", "a", 2, 4))
	require.Equal(t, m.State.Now.Add(berth.Hour), expected(m, pair))
	require.Equal(t, m.State.Now, expected(m, rep), "burn-in admits it")
	m.NodeNamed("n2").Trust.BurnInUntil = 0
	m.Backlog.LeaveNodeSet(burnIn, m.NodeNamed("n2"))
	require.Equal(t, m.State.Now, expected(m, pair))
}

func TestAGangIsExpectedToGrowWhenTheRestOfItFits(t *testing.T) {
	m := machine(t)
	m.Run(running(2*berth.Hour, roomtest.Job("others", "b", 3, 8)), "n2", "n3", "n4")
	rep := m.Run(running(24*berth.Hour, elastic(roomtest.Job("grows", "a", 2, 8))), "n1")
	require.Equal(t, roomtest.Start.Add(2*berth.Hour), expected(m, rep))
}
