package backlog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// advance describes a reservation of an hour that begins in an hour, for nobody.
func advance(id berth.ReservationID) berth.Reservation {
	return berth.Reservation{ID: id, From: roomtest.Start.Add(berth.Hour), Until: roomtest.Start.Add(2 * berth.Hour)}
}

func set(m *roomtest.Machine, r berth.Reservation) *berth.Error {
	return m.Backlog.ReservationSet(berth.ReservationSet{Reservation: r})
}

func named(t *testing.T, m *roomtest.Machine, name string) *record.Reservation {
	for _, res := range m.Backlog.Reservations {
		if res.Name == name {
			return res
		}
	}
	require.Fail(t, "no reservation", name)
	return nil
}

func TestAReservationIsRefusedThatMakesNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*berth.Reservation)
		kind   error
		field  string
	}{
		"over":             {func(r *berth.Reservation) { r.From, r.Until = 0, 1 }, berth.ErrInvalid, "reservation.until"},
		"backwards":        {func(r *berth.Reservation) { r.From = r.Until }, berth.ErrInvalid, "reservation.until"},
		"nameless":         {func(r *berth.Reservation) { r.ID = "" }, berth.ErrInvalid, "reservation.id"},
		"unknown queue":    {func(r *berth.Reservation) { r.Queue = "nobody" }, berth.ErrUnknown, "reservation.queue"},
		"control sequence": {func(r *berth.Reservation) { r.Reason = "\x00" }, berth.ErrInvalid, "reservation.reason"},
		"no place":         {func(r *berth.Reservation) { r.Nodes = nil }, berth.ErrInvalid, "reservation"},
		"two places":       {func(r *berth.Reservation) { r.Domain = []string{"r1"} }, berth.ErrInvalid, "reservation"},
		"deep domain":      {func(r *berth.Reservation) { r.Nodes, r.Domain = nil, []string{"r1", "n1"} }, berth.ErrInvalid, "reservation.domain"},
		"odd domain":       {func(r *berth.Reservation) { r.Nodes, r.Domain = nil, []string{""} }, berth.ErrInvalid, "reservation.domain[0]"},
		"odd node":         {func(r *berth.Reservation) { r.Nodes = []berth.NodeID{""} }, berth.ErrInvalid, "reservation.nodes[0]"},
		"many nodes":       {func(r *berth.Reservation) { r.Nodes = make([]berth.NodeID, 100) }, berth.ErrLimit, "reservation.nodes"},
		"negative GPUs":    {func(r *berth.Reservation) { r.Nodes, r.GPUs = nil, -1 }, berth.ErrInvalid, "reservation.gpus"},
		"unknown level":    {func(r *berth.Reservation) { r.Required = "row" }, berth.ErrUnknown, "reservation.required"},
		"odd selector":     {func(r *berth.Reservation) { r.Selector.Pools = []string{""} }, berth.ErrInvalid, "reservation.selector.pools[0]"},
		"too many GPUs":    {func(r *berth.Reservation) { r.Nodes, r.GPUs = nil, 40 }, berth.ErrConflict, "reservation.gpus"},
	} {
		t.Run(name, func(t *testing.T) {
			m := roomtest.New(t, berth.Config{Levels: []string{"rack"}, Limits: berth.Limits{Nodes: 10}})
			m.Nodes(4, 8, "r1")
			r := advance("r")
			r.Nodes = []berth.NodeID{"n1"}
			c.change(&r)
			m.Refused(set(m, r), c.kind, c.field)
			require.Empty(t, m.Backlog.Reservations)
		})
	}
}

func TestAReservationSetsItsNodesAsideUntilItIsRemoved(t *testing.T) {
	m := machine(t)
	r := advance("maintenance")
	r.Nodes = []berth.NodeID{"n3", "n1", "n3", "absent"}
	m.NoRefusal(set(m, r))
	res := named(t, m, "advance/maintenance")
	require.Equal(t, []berth.NodeID{"n1", "n3"}, res.NodeIDs(), "in order of name, each once")
	require.NotEqual(t, m.NodeNamed("n1").Class, m.NodeNamed("n2").Class, "a class of its own")
	require.Equal(t, m.NodeNamed("n1").Class, m.NodeNamed("n3").Class)
	r.Nodes[0] = "n2"
	require.Equal(t, berth.NodeID("n3"), res.Advance.Nodes[0], "the caller's memory is the caller's")

	absent := m.Join(roomtest.Node("absent", 8, "r2"))
	require.Equal(t, []*record.Reservation{res}, absent.Reservations, "it is named")
	m.NoRefusal(m.Backlog.ReservationRemoved(berth.ReservationRemoved{Reservation: "maintenance"}))
	require.Empty(t, m.Backlog.Reservations)
	require.Equal(t, m.NodeNamed("n1").Class, m.NodeNamed("n2").Class)
	m.Refused(m.Backlog.ReservationRemoved(berth.ReservationRemoved{Reservation: "maintenance"}), berth.ErrUnknown, "reservation")
}

func TestADomainIsSetAsideWithTheNodesThatJoinIt(t *testing.T) {
	m := machine(t)
	r := advance("rack")
	r.Domain = []string{"r1"}
	m.NoRefusal(set(m, r))
	m.Join(roomtest.Node("later", 8, "r1"))
	m.Join(roomtest.Node("elsewhere", 8, "r2"))
	require.Equal(t, []berth.NodeID{"later", "n1", "n2"}, named(t, m, "advance/rack").NodeIDs())
}

// By number, a reservation takes the domain in which enough nodes are empty soonest.
func TestNodesByNumberAreThoseThatAreEmptySoonest(t *testing.T) {
	m := machine(t)
	long, short := roomtest.Job("long", "a", 1, 1), roomtest.Job("short", "a", 2, 1)
	long.ExpectedRuntime, short.ExpectedRuntime = 3*berth.Hour, berth.Hour
	m.Run(long, "n1")
	m.Run(short, "n3", "n4")
	r := advance("r")
	r.GPUs = 10
	m.NoRefusal(set(m, r))
	require.Equal(t, []berth.NodeID{"n2", "n3"}, named(t, m, "advance/r").NodeIDs(), "n2 is empty, n3 and n4 are before n1")
	r.Required = "rack"
	m.NoRefusal(set(m, r))
	require.Equal(t, []berth.NodeID{"n3", "n4"}, named(t, m, "advance/r").NodeIDs(), "rack r1 is empty with n1 alone")
	r.GPUs = 8
	m.NoRefusal(set(m, r))
	require.Equal(t, []berth.NodeID{"n2"}, named(t, m, "advance/r").NodeIDs())
	r.Required, r.GPUs = "node", 9
	m.Refused(set(m, r), berth.ErrConflict, "reservation.gpus")
	require.Equal(t, []berth.NodeID{"n2"}, named(t, m, "advance/r").NodeIDs(), "what is refused leaves it as it was")
}

func TestNodesByNumberQualify(t *testing.T) {
	m := roomtest.New(t, berth.Config{})
	pooled := roomtest.Node("pooled", 8)
	pooled.Pool, pooled.Labels = "new", map[string]string{"os": "b"}
	m.Join(pooled)
	labelled := roomtest.Node("right", 8)
	labelled.Pool, labelled.Labels = "new", map[string]string{"os": "a"}
	m.Join(labelled)
	m.Nodes(2, 8)
	m.Join(roomtest.Node("host", 0))
	m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
	r := advance("r")
	r.GPUs, r.Selector = 8, berth.Selector{Pools: []string{"new"}, Labels: map[string]string{"os": "a"}}
	m.NoRefusal(set(m, r))
	require.Equal(t, []berth.NodeID{"right"}, named(t, m, "advance/r").NodeIDs())

	other := advance("other")
	other.GPUs = 8
	m.NoRefusal(set(m, other))
	require.Equal(t, []berth.NodeID{"n2"}, named(t, m, "advance/other").NodeIDs(), "n1 is cordoned, right is set aside")
	other.GPUs = 17
	err := set(m, other)
	m.Refused(err, berth.ErrConflict, "reservation.gpus")
	require.True(t, strings.HasSuffix(err.Reason, "the most is 16"), err.Reason)
}

// What counted on nodes that are set aside from now on plans anew, around that.
func TestANewReservationEndsWhatCountedOnItsNodes(t *testing.T) {
	m := machine(t)
	waits := m.Wait(roomtest.Job("waits", "a", 1, 8))
	m.Reserve(waits, m.State.Now.Add(berth.Minute), "n1")
	r := advance("r")
	r.Nodes = []berth.NodeID{"n1"}
	m.NoRefusal(set(m, r))
	require.Nil(t, waits.Reserved)
	require.Len(t, m.Backlog.Reservations, 1)
}

func TestThereIsALimitOfReservations(t *testing.T) {
	m := roomtest.New(t, berth.Config{Limits: berth.Limits{Reservations: 1}})
	m.Nodes(2, 8)
	r := advance("one")
	r.Nodes = []berth.NodeID{"n1"}
	m.NoRefusal(set(m, r))
	r.Until++
	m.NoRefusal(set(m, r))
	r.ID = "two"
	m.Refused(set(m, r), berth.ErrLimit, "reservation")
}

// Nodes that are kept are set aside one by one, and their reservation ends with the last.
func TestANodeSetEndsWithItsLastNode(t *testing.T) {
	m := machine(t)
	var home *record.Reservation
	m.Backlog.NewNodeSet(&home, record.KindBurnIn, "kept")
	res := home
	n1, n2 := m.NodeNamed("n1"), m.NodeNamed("n2")
	for _, n := range []*record.Node{n2, n1, n2} {
		m.Backlog.JoinNodeSet(res, n)
	}
	require.Equal(t, []berth.NodeID{"n1", "n2"}, res.NodeIDs(), "each once")
	m.Backlog.LeaveNodeSet(res, n1)
	require.Same(t, res, home)
	require.Empty(t, n1.Reservations)
	m.Backlog.LeaveNodeSet(res, n2)
	require.Nil(t, home)
	require.Empty(t, m.Backlog.Reservations)
}

// A gang with exclusive topology has the domains that it is on for itself, those that join them
// too.
func TestAnExclusiveGangHasItsDomainsForItself(t *testing.T) {
	m := machine(t)
	job := elastic("exclusive", "a", 3, 8)
	job.Topology.Exclusive = "rack"
	rep := m.Run(job, "n1")
	require.Equal(t, []berth.NodeID{"n1", "n2"}, rep.Exclusive.NodeIDs())
	later := m.Join(roomtest.Node("later", 8, "r1"))
	require.Equal(t, []*record.Reservation{rep.Exclusive}, later.Reservations)

	hold := m.Where(rep, []string{"n3"})[0].Hold
	require.True(t, m.Books.Hold(m.Where(rep, []string{"n3"})))
	m.Books.Book(rep, 1, hold, record.MemberObserved)
	m.Backlog.Unawait(rep)
	m.Backlog.EncloseExclusive(rep)
	m.Backlog.Await(rep)
	require.Equal(t, []berth.NodeID{"later", "n1", "n2", "n3", "n4"}, rep.Exclusive.NodeIDs(), "it is wider than before")

	job.ID, job.Topology.Exclusive = "on-a-node", "node"
	m.Join(roomtest.Node("apart", 8, "r3"))
	require.Equal(t, []berth.NodeID{"apart"}, m.Run(job, "apart").Exclusive.NodeIDs())
}
