package search_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// soon is a policy by which a gang may get a reservation a second after it has begun to wait.
var soon = berth.Policy{ReserveAfter: berth.Second, ReservedGangs: 1, Stretch: berth.Off}

// reserve places what fits, and makes reservations once that is due.
func reserve(m *roomtest.Machine) {
	place(m)
	m.Later(berth.Second)
	m.Pass(m.Search.Reserve)
}

// busy is a fleet on which n1 is free in an hour, n2 in two, n3 in three and n4 in four.
func busy(t *testing.T, policy berth.Policy) *roomtest.Machine {
	m := machine(t, policy)
	for i, node := range []string{"n1", "n2", "n3", "n4"} {
		m.Run(running(berth.Duration(i+1)*berth.Hour, roomtest.Job(berth.JobID("on-"+node), "b", 1, 8)), node)
	}
	return m
}

func TestAReservationIsOfTheNodesOnWhichTheGangIsExpectedToFitFirst(t *testing.T) {
	m := busy(t, soon)
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	reserve(m)
	require.NotNil(t, rep.Reserved)
	require.Equal(t, []berth.NodeID{"n1", "n2"}, rep.Reserved.NodeIDs())
	require.Equal(t, roomtest.Start.Add(2*berth.Hour), rep.Reserved.From)
	require.Equal(t, rep.Reserved.From.Add(m.State.Config.Policy.ReservationTimeout), rep.Reserved.Until)
	require.EqualValues(t, 1, m.State.Totals.Reservations)

	inOneRack := urgent(roomtest.Job("in-one-rack", "a", 1, 8))
	inOneRack.Topology.Required = "rack"
	require.Nil(t, m.Wait(inOneRack).Reserved)
}

// Of each size so many gangs have a reservation, the first in policy order; one that outranks the
// last of them has it in its stead.
func TestAReservationIsForTheFirstOfItsSize(t *testing.T) {
	m := busy(t, soon)
	first := m.Wait(roomtest.Job("first", "a", 2, 8))
	second := m.Wait(roomtest.Job("second", "a", 2, 8))
	small := m.Wait(roomtest.Job("small", "a", 1, 8))
	reserve(m)
	require.NotNil(t, first.Reserved)
	require.Nil(t, second.Reserved)
	require.NotNil(t, small.Reserved, "of another size")
	above := m.Wait(urgent(roomtest.Job("above", "a", 2, 8)))
	reserve(m)
	require.NotNil(t, above.Reserved)
	require.Nil(t, first.Reserved)
}

func TestNoGangHasAReservationWhereThePolicyWantsNone(t *testing.T) {
	m := busy(t, berth.Policy{ReserveAfter: berth.Second, ReservedGangs: -1})
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	reserve(m)
	require.Nil(t, rep.Reserved)
}

// What fits comes first: while a bucket is ready, no reservation is made.
func TestNoReservationIsMadeWhileSomethingIsReady(t *testing.T) {
	m := busy(t, soon)
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	place(m)
	m.Later(berth.Second)
	ready := m.Wait(roomtest.Job("ready", "a", 1, 1))
	m.Pass(m.Search.Reserve)
	require.Nil(t, rep.Reserved)
	m.Life.Forget(ready)
	m.Pass(m.Search.Reserve)
	require.NotNil(t, rep.Reserved)
}

// One that quota holds back cannot start next: it is put off until something is free.
func TestAGangBeyondItsQuotaIsPutOff(t *testing.T) {
	m := busy(t, soon)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(16)})
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	place(m)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(8)})
	m.Later(berth.Second)
	m.Pass(m.Search.Reserve)
	require.Nil(t, rep.Reserved)
	require.True(t, m.Backlog.Due.Stalled(rep))
	require.Equal(t, m.State.Now.Add(berth.Second), rep.Reserve.Get().At)
}

func TestAGangThatWillNeverFitIsHopelessUntilThereIsMoreToPlanWith(t *testing.T) {
	m := busy(t, soon)
	rep := m.Wait(roomtest.Job("too-large", "a", 5, 8))
	reserve(m)
	require.True(t, m.Backlog.Due.CannotPlan(rep))
	m.Nodes(1, 8, "r3")
	require.False(t, m.Backlog.Due.CannotPlan(rep))
	reserve(m)
	require.NotNil(t, rep.Reserved)
	require.Equal(t, roomtest.Start.Add(4*berth.Hour), rep.Reserved.From)
}

// A plan that was cut short sees further as time goes by: it is made again later.
func TestAPlanThatWasCutShortIsMadeAgain(t *testing.T) {
	m := busy(t, soon)
	m.State.Bounds.Ends = 1
	rep := m.Wait(roomtest.Job("large", "a", 4, 8))
	reserve(m)
	require.Nil(t, rep.Reserved)
	require.False(t, m.Backlog.Due.CannotPlan(rep))
	require.Equal(t, 1, rep.Reserve.Get().Vain)
}

// A pass makes so many plans; the rest goes on in the next one.
func TestAPassMakesSoManyPlans(t *testing.T) {
	m := busy(t, soon)
	var reps []*record.Replica
	for gpus := range 3 {
		reps = append(reps, m.Wait(roomtest.Job(berth.JobID(fmt.Sprint("too-large-", gpus)), "a", 5, 6+gpus)))
	}
	hopeless := func() (many int) {
		for _, rep := range reps {
			if m.Backlog.Due.CannotPlan(rep) {
				many++
			}
		}
		return many
	}
	reserve(m)
	require.Equal(t, 2, hopeless(), "twice as many as may have a reservation")
	m.Pass(m.Search.Reserve)
	require.Equal(t, 3, hopeless())
}

// Nodes that are to be left for a reservation in advance serve a gang that ends before it.
func TestAReservationIsMadeAroundThoseInAdvance(t *testing.T) {
	for runtime, want := range map[berth.Duration]berth.NodeID{berth.Hour: "n1", berth.Hour + 1: "n2"} {
		m := busy(t, soon)
		m.NoRefusal(m.Backlog.ReservationSet(berth.ReservationSet{Reservation: berth.Reservation{
			ID: "r", From: roomtest.Start.Add(2 * berth.Hour), Until: roomtest.Start.Add(9 * berth.Hour), Nodes: []berth.NodeID{"n1"},
		}}))
		rep := m.Wait(running(runtime, roomtest.Job("waits", "a", 1, 8)))
		reserve(m)
		require.Equal(t, []berth.NodeID{want}, rep.Reserved.NodeIDs(), "n1 is free in an hour, and for an hour")
	}
}

// The domains of a gang that runs are free when it has ended.
func TestAReservationBeginsWhenTheDomainsOfAnotherAreFree(t *testing.T) {
	m := machine(t, soon)
	alone := running(berth.Hour, roomtest.Job("alone", "b", 1, 1))
	alone.Topology.Exclusive = "rack"
	m.Run(alone, "n1")
	m.Run(roomtest.Job("other", "b", 2, 8), "n3", "n4")
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	reserve(m)
	require.Equal(t, []berth.NodeID{"n2"}, rep.Reserved.NodeIDs(), "it is idle, and not its own")
	require.Equal(t, roomtest.Start.Add(berth.Hour), rep.Reserved.From)
}

// A gang that needs several nodes may end the reservation of one that fits on one of them, if that
// does not rank above it.
func TestALargeGangMayEndTheReservationOfASmallOne(t *testing.T) {
	for name, c := range map[string]struct {
		small berth.Job
		ends  bool
	}{
		"of the same rank": {roomtest.Job("small", "a", 1, 8), true},
		"ranks above":      {urgent(roomtest.Job("small", "a", 1, 8)), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := busy(t, soon)
			small := m.Wait(c.small)
			reserve(m)
			require.Equal(t, []berth.NodeID{"n1"}, small.Reserved.NodeIDs())
			large := m.Wait(roomtest.Job("large", "a", 2, 8))
			m.Agenda.ReserveNow(m.State.Now)
			reserve(m)
			require.NotNil(t, large.Reserved)
			require.Equal(t, c.ends, slices.Contains(large.Reserved.NodeIDs(), "n1"))
		})
	}
}

// A gang whose reservation did not come true gets the next one after twice as long each time, and
// none once it has waited for longer than any span.
func TestAReservationThatExpiredIsMadeAgainAfterTwiceAsLong(t *testing.T) {
	m := busy(t, soon)
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	for i := range 3 {
		m.Reserve(rep, m.State.Now, "n1", "n2")
		m.Later(m.State.Config.Policy.ReservationTimeout - 1)
		m.Search.EndReservations()
		require.NotNil(t, rep.Reserved)
		m.Later(1)
		m.Search.EndReservations()
		require.Nil(t, rep.Reserved)
		require.Equal(t, m.State.Now.Add(berth.Second<<i), rep.Reserve.Get().At)
	}
	require.EqualValues(t, 3, m.State.Totals.ReservationsExpired)
	m.Reserve(rep, m.State.Now, "n1", "n2")
	m.State.SetClock(m.State.Now.Add(limits.MaxSpan + berth.Hour))
	rep.Reserve.Note().Vain = 16 // it is not put off any more
	m.Search.EndReservations()
	require.Equal(t, agenda.Never, rep.Reserve.Get().At)
}

func TestAPlanThatExpiredCountsAsABidInVain(t *testing.T) {
	m, rep, _ := plan(t)
	m.Later(rep.Reserved.Until.Sub(m.State.Now))
	m.Search.EndReservations()
	require.Nil(t, rep.Reserved)
	require.EqualValues(t, 1, rep.FailedBids)
}
