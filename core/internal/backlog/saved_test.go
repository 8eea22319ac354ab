package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/state"
)

// saved is what the backlog saves of a replica.
func saved(m *roomtest.Machine, rep *record.Replica) record.SavedReplica {
	s := record.SavedReplica{LifePart: rep.LifePart}
	m.Backlog.SaveGangReservations(rep, &s)
	backlog.SaveWaiting(rep, &s)
	m.Backlog.SaveBids(rep, &s)
	s.Stalled, s.Hopeless = m.Backlog.Due.Stalled(rep), m.Backlog.Due.CannotPlan(rep)
	return s
}

// restore has the backlog of another machine take it back, with the replica that it is of there.
func restore(m *roomtest.Machine, rep *record.Replica, s record.SavedReplica) *berth.Error {
	s.Restored = rep
	noted := []state.Noted{{SavedReplica: &s}}
	if err := m.Backlog.RestoreGangReservations(noted); err != nil {
		return err
	}
	if err := m.Backlog.RestorePlans(noted); err != nil {
		return err
	}
	m.Backlog.RestoreBlocked([]record.SavedJob{{Replicas: []record.SavedReplica{s}}})
	if err := m.Backlog.RestoreStalled(noted); err != nil {
		return err
	}
	return m.Backlog.RestoreBids(noted)
}

// Each story is played on two machines; on the second the backlog is told of it by what the first
// one saves, and saves the same.
func TestWhatIsSavedIsRestored(t *testing.T) {
	for name, play := range map[string]struct {
		common  func(*roomtest.Machine) *record.Replica
		backlog func(*roomtest.Machine, *record.Replica)
	}{
		"a reservation": {
			func(m *roomtest.Machine) *record.Replica { return m.Wait(roomtest.Job("waits", "a", 1, 8)) },
			func(m *roomtest.Machine, rep *record.Replica) {
				m.Reserve(rep, m.State.Now.Add(berth.Hour), "n2", "n1")
			},
		},
		"a plan": {
			func(m *roomtest.Machine) *record.Replica { return m.Wait(roomtest.Job("waits", "a", 2, 4)) },
			func(m *roomtest.Machine, rep *record.Replica) { m.Plan(rep, []string{"n2", "n1"}) },
		},
		"what did not fit, and a newcomer": {
			func(m *roomtest.Machine) *record.Replica {
				m.Reserve(m.Wait(roomtest.Job("other", "b", 1, 8)), m.State.Now, "n1")
				return m.Wait(service("waits", "a", 3, 8))
			},
			func(m *roomtest.Machine, rep *record.Replica) {
				m.Backlog.Block(bucketOf(rep).Shape)
				m.Backlog.QuotaBlock(bucketOf(rep))
				m.Backlog.Freshen(rep.Entries[0])
				rep.Entries[0].Batch.Fresh = true
			},
		},
		"bids, a stall and no hope": {
			func(m *roomtest.Machine) *record.Replica { return m.Wait(roomtest.Job("waits", "a", 1, 8)) },
			func(m *roomtest.Machine, rep *record.Replica) {
				rep.Entries[0].Bid = record.BidPart{RipeAt: 7, Turn: m.Agenda.PreemptTurn, Round: 2}
				rep.Reserve.Note().StalledAt = m.Agenda.Stall()
				rep.Reserve.Note().HopelessAt = m.Agenda.Despair()
				m.Backlog.Due.NoteEntries(rep)
			},
		},
		"a place that is kept": {
			func(m *roomtest.Machine) *record.Replica {
				rep := m.Run(checkpointing(roomtest.Job("moves", "a", 1, 8)), "n1")
				m.Life.Depart(rep, berth.Cause{}, 0)
				return rep
			},
			func(m *roomtest.Machine, rep *record.Replica) { move(m, rep, "n2") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, twin := machine(t), machine(t)
			rep, again := play.common(m), play.common(twin)
			play.backlog(m, rep)
			s := saved(m, rep)
			require.NotEqual(t, s, saved(twin, again), "there is something to restore")
			twin.NoRefusal(restore(twin, again, s))
			require.Equal(t, s, saved(twin, again))
		})
	}
}

func TestVictimsAreRestoredWithTheirPlan(t *testing.T) {
	m, twin := machine(t), machine(t)
	play := func(m *roomtest.Machine) (victim, rep *record.Replica) {
		return m.Run(roomtest.Job("victim", "a", 1, 8), "n1"), m.Wait(roomtest.Job("waits", "a", 1, 8))
	}
	victim, rep := play(m)
	m.Plan(rep, []string{"n1"}, victim)
	s := saved(m, rep)
	stopped, again := play(twin)
	twin.Refused(restore(twin, again, s), berth.ErrInvalid, "jobs[0].replicas[0].reserved.victims[0]")
	twin.Life.TakeBack(stopped, berth.Cause{Code: berth.CausePreempted}, false)
	twin.NoRefusal(restore(twin, again, s))
	require.Same(t, again, stopped.Beneficiary)
	require.Equal(t, []*record.Replica{stopped}, again.Reserved.Plan.Victims)
	require.True(t, again.Reserved.Plan.OfQueue)
	require.Equal(t, s, saved(twin, again))
}

func TestReservationsInAdvanceAreSavedWithTheNodesThatTheCoreChose(t *testing.T) {
	m, twin := machine(t), machine(t)
	byNumber, byName := advance("by-number"), advance("by-name")
	byNumber.GPUs, byName.Nodes, byName.Queue = 8, []berth.NodeID{"n3", "absent"}, "a"
	m.NoRefusal(set(m, byNumber))
	m.NoRefusal(set(m, byName))
	list := m.Backlog.SaveReservations()
	require.Len(t, list, 2)
	require.Empty(t, list[0].Nodes)
	require.Equal(t, []berth.NodeID{"n1"}, list[1].Nodes)
	twin.NoRefusal(twin.Backlog.RestoreReservations(list))
	require.Equal(t, list, twin.Backlog.SaveReservations())
	require.Equal(t, []berth.NodeID{"n3"}, named(t, twin, "advance/by-name").NodeIDs())
	twin.Refused(twin.Backlog.RestoreReservations(list), berth.ErrDuplicate, "reservations[0].reservation.id")
}

// A snapshot says which reservations have begun to clear their nodes: the clock, which events move
// as well, does not.
func TestAReservationThatHasBegunToClearItsNodesIsSavedAsThat(t *testing.T) {
	m, twin := machine(t), machine(t)
	for _, id := range []berth.ReservationID{"early", "late"} {
		r := advance(id)
		r.Nodes, r.Clear = []berth.NodeID{"n1"}, true
		if id == "late" {
			r.From = r.From.Add(berth.Minute)
		}
		m.NoRefusal(set(m, r))
	}
	early := named(t, m, "advance/early")
	m.Later(m.State.NextDrain(early).Sub(m.State.Now))
	require.Equal(t, []*record.Reservation{early}, m.Backlog.BeginDrains())
	m.Later(berth.Minute) // the other is to begin, and no pass has come
	list := m.Backlog.SaveReservations()
	require.True(t, list[0].Draining)
	require.False(t, list[1].Draining)
	twin.Later(m.State.Now.Sub(twin.State.Now))
	twin.NoRefusal(twin.Backlog.RestoreReservations(list))
	require.Equal(t, list, twin.Backlog.SaveReservations())

	list[0].Reservation.Clear = false
	third := machine(t)
	third.Refused(third.Backlog.RestoreReservations(list), berth.ErrInvalid, "reservations[0].draining")
}

func TestTheDomainsOfAnExclusiveGangAreRestored(t *testing.T) {
	m := machine(t)
	job := roomtest.Job("exclusive", "a", 1, 8)
	job.Topology.Exclusive = "rack"
	rep := m.Run(job, "n1")
	s := saved(m, rep)
	require.Equal(t, [][]string{{"r1"}}, s.Exclusive)
	m.Backlog.EndReservation(rep.Exclusive)
	m.NoRefusal(restore(m, rep, s))
	require.Equal(t, []berth.NodeID{"n1", "n2"}, rep.Exclusive.NodeIDs())
}

func TestASnapshotIsRefusedOfWhichTheBacklogCannotHaveBeen(t *testing.T) {
	waits := func(m *roomtest.Machine) *record.Replica { return m.Wait(roomtest.Job("waits", "a", 2, 4)) }
	runs := func(m *roomtest.Machine) *record.Replica { return m.Run(roomtest.Job("runs", "a", 1, 8), "n1") }
	planned := func(change func(*record.SavedGangReservation)) func(*record.SavedReplica) {
		return func(s *record.SavedReplica) {
			s.Reserved = &record.SavedGangReservation{
				SpanPart: record.SpanPart{From: 1, Until: 2}, Nodes: []berth.NodeID{"n1", "n2"}, Cause: berth.CauseVictimsGone,
				Where: []berth.MemberPlacement{{Node: "n1", GPUs: 0xf}, {Index: 1, Node: "n2", GPUs: 0xf}},
			}
			change(s.Reserved)
		}
	}
	reserved := func(nodes ...berth.NodeID) *record.SavedGangReservation {
		return &record.SavedGangReservation{SpanPart: record.SpanPart{From: 1, Until: 2}, Nodes: nodes}
	}
	for name, c := range map[string]struct {
		of     func(*roomtest.Machine) *record.Replica
		tamper func(*record.SavedReplica)
		kind   error
		field  string
	}{
		"reserved for one that runs":  {runs, func(s *record.SavedReplica) { s.Reserved = reserved("n1") }, berth.ErrInvalid, "reserved"},
		"a move of one that waits":    {waits, func(s *record.SavedReplica) { s.Moving = reserved("n1") }, berth.ErrInvalid, "moving"},
		"exclusive without asking":    {runs, func(s *record.SavedReplica) { s.Exclusive = [][]string{{"r1"}} }, berth.ErrInvalid, "exclusive"},
		"reserved without a node":     {waits, func(s *record.SavedReplica) { s.Reserved = reserved() }, berth.ErrInvalid, "reserved.nodes"},
		"an unknown node":             {waits, func(s *record.SavedReplica) { s.Reserved = reserved("nowhere") }, berth.ErrInvalid, "reserved.nodes"},
		"nodes out of order":          {waits, func(s *record.SavedReplica) { s.Reserved = reserved("n2", "n1") }, berth.ErrInvalid, "reserved.nodes"},
		"another cause":               {waits, planned(func(s *record.SavedGangReservation) { s.Cause = berth.CauseFits }), berth.ErrInvalid, "reserved.cause"},
		"a part of a plan":            {waits, planned(func(s *record.SavedGangReservation) { s.Partial = true }), berth.ErrInvalid, "reserved.partial"},
		"an unknown group":            {waits, planned(func(s *record.SavedGangReservation) { s.Where[0].Group = "x" }), berth.ErrInvalid, "reserved.where[0]"},
		"a node not set aside":        {waits, planned(func(s *record.SavedGangReservation) { s.Nodes = s.Nodes[:1] }), berth.ErrInvalid, "reserved.where[1]"},
		"fewer GPUs than it asks for": {waits, planned(func(s *record.SavedGangReservation) { s.Where[1].GPUs = 1 }), berth.ErrInvalid, "reserved.where[1].gpus"},
		"a member short":              {waits, planned(func(s *record.SavedGangReservation) { s.Where = s.Where[:1] }), berth.ErrInvalid, "reserved.where"},
		"an unknown victim":           {waits, planned(func(s *record.SavedGangReservation) { s.Victims = []berth.ReplicaRef{{Job: "nobody"}} }), berth.ErrInvalid, "reserved.victims[0]"},
		"a victim of itself":          {waits, planned(func(s *record.SavedGangReservation) { s.Victims = []berth.ReplicaRef{{Job: "waits"}} }), berth.ErrInvalid, "reserved.victims[0]"},
		"a bid of another group":      {waits, func(s *record.SavedReplica) { s.Bids = []record.SavedBid{{Group: 1}} }, berth.ErrInvalid, "bids[0].group"},
		"a bid before the epoch":      {waits, func(s *record.SavedReplica) { s.Bids = []record.SavedBid{{BidPart: record.BidPart{At: -1}}} }, berth.ErrInvalid, "bids[0].at"},
		"ripe before the epoch":       {waits, func(s *record.SavedReplica) { s.Bids = []record.SavedBid{{BidPart: record.BidPart{RipeAt: -1}}} }, berth.ErrInvalid, "bids[0].ripeAt"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			rep := c.of(m)
			s := saved(m, rep)
			c.tamper(&s)
			m.Refused(restore(m, rep, s), c.kind, "jobs[0].replicas[0]."+c.field)
		})
	}
}

// Further members of a gang are of one group, and no more than it is short of.
func TestASnapshotIsRefusedThatLetsAGangGrowBeyondItsSize(t *testing.T) {
	for members, want := range map[int]bool{1: true, 2: true, 3: false} {
		m := machine(t)
		rep := m.Run(elastic("grows", "a", 3, 1), "n1")
		s := saved(m, rep)
		s.Reserved = &record.SavedGangReservation{SpanPart: record.SpanPart{From: 1, Until: 2}, Nodes: []berth.NodeID{"n1"}, Cause: berth.CauseVictimsGone}
		for i := range members {
			s.Reserved.Where = append(s.Reserved.Where, berth.MemberPlacement{Index: i, Node: "n1", GPUs: 2 << i})
		}
		if want {
			m.NoRefusal(restore(m, rep, s))
		} else {
			m.Refused(restore(m, rep, s), berth.ErrInvalid, "jobs[0].replicas[0].reserved.where")
		}
	}
}

// Those that wait are entered in the order of service, each with the batch behind it.
func TestWhatWaitsIsEnteredAnew(t *testing.T) {
	m := machine(t)
	low, high := m.Admit(service("low", "a", 3, 8)), m.Admit(urgent(service("high", "a", 1, 8)))
	m.State.NewBatch(low, 2)
	m.Backlog.RestoreWaiting([]record.SavedJob{{Replicas: []record.SavedReplica{{Restored: low}, {Restored: high}}}})
	require.Equal(t, 4, queueOf(m, "a").Waiting)
	require.Equal(t, 2, low.Entries[0].Batch.Len())
	require.Equal(t, []*record.Entry{high.Entries[0], low.Entries[0]}, m.Backlog.First(bucketOf(low), 2))
}
