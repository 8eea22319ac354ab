package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/sample"
)

// newVariedCore has a replica in every state, a short gang, a share, failed and
// cordoned hardware, and every kind of order out.
func newVariedCore(t testing.TB) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}})
	require.NoError(t, err)
	now := berth.Time(1000)
	apply := func(e berth.Event) {
		t.Helper()
		require.NoError(t, sched.Apply(now, e))
	}
	pass := func() []berth.Order {
		actions, err := sched.Schedule(now)
		require.NoError(t, err)
		return actions
	}
	for _, name := range []berth.NodeID{"n1", "n2", "n3", "n4", "n5", "n6", "n7"} {
		apply(berth.NodeJoined{Node: sample.Node(name)})
	}
	apply(queueSet("org", ""))
	apply(queueSet("team-a", "org"))
	elastic := gangJob("elastic", 3, 8)
	elastic.Groups[0].MinMembers = 1
	elastic.Topology.Required = "leaf"
	apply(berth.JobSubmitted{Job: elastic})
	pass()
	apply(berth.OrderReported{Order: 1, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}}})
	apply(berth.JobSubmitted{Job: gangJob("cancelled", 1, 4)})
	share := gangJob("share", 1, 0)
	share.Tenant, share.Groups[0].Claim = "acme", berth.Claim{Share: &berth.Share{GPUMilli: 300}, CPUMilli: 5}
	apply(berth.JobSubmitted{Job: share})
	apply(berth.JobSubmitted{Job: gangJob("fails", 1, 8)})
	for _, a := range pass() {
		switch a.Header().Job {
		case "cancelled", "share":
			apply(berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
		case "fails":
			apply(berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeFailed, Reason: "no image"})
		}
	}
	apply(berth.JobCancelled{Job: "cancelled"})
	pass()
	apply(berth.JobSubmitted{Job: gangJob("repairs", 2, 8)})
	var repairs berth.OrderID
	for _, a := range pass() {
		if a.Header().Job == "repairs" {
			repairs = a.Header().ID
		}
	}
	timed := gangJob("waits", 9, 8)
	timed.GangTimeout = berth.Hour
	apply(berth.JobSubmitted{Job: timed})
	apply(berth.JobSubmitted{Job: serviceJob("serves", 3)})
	pass()
	apply(berth.GPUFailed{Node: "n7", GPU: 7, Reason: "xid 79"})
	apply(berth.NodeCordoned{Node: "n7", Reason: "fan"})
	apply(berth.JobSubmitted{Job: gangJob("new", 1, 1)})
	apply(berth.OrderReported{Order: repairs, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 0}}})
	require.NoError(t, sched.Check())
	return sched
}

// newReservedCore has nodes set aside in all ways: for a gang that waits, for one that
// runs, in advance by name, by place and by number. An entry is fresh, a gang stalled.
func newReservedCore(t testing.TB) *core.Core {
	t.Helper()
	h := newHarbour(t, berth.Config{Levels: []string{"leaf"}, Policy: berth.Policy{ReservedGangs: 1, Stretch: berth.Off}})
	h.nodes("a", 3, "a")
	h.nodes("b", 2, "b")
	h.nodes("c", 2, "c")
	n := pairs("d")
	n.Domains = []string{"d"}
	h.tell(berth.NodeJoined{Node: n})
	until := berth.Time(0).Add(berth.Day)
	h.tell(berth.ReservationSet{Reservation: berth.Reservation{ID: "rack", From: until - 1, Until: until, Domain: []string{"d"}}})
	h.job("alone", 1, 8, berth.Hour, func(j *berth.Job) { j.Topology.Exclusive = "leaf" })
	h.minute()
	h.job("runs", 3, 8, berth.Hour)
	h.minute()
	h.tell(berth.ReservationSet{Reservation: berth.Reservation{ID: "number", From: until - 1, Until: until, GPUs: 8, Required: "leaf"}})
	h.tell(berth.ReservationSet{Reservation: berth.Reservation{ID: "name", From: until - 1, Until: until, Nodes: []berth.NodeID{"a-00", "later"}, Queue: "q"}})
	h.job("gang", 3, 8, berth.Hour)
	h.job("never", 4, 8, berth.Hour, func(j *berth.Job) { j.Topology.Required, j.Priority = "leaf", 1 })
	for range 7 {
		h.minute()
	}
	h.job("fresh", 3, 8, berth.Minute)
	require.NoError(t, h.core.Check())
	return h.core
}

// newSmallCore has a short snapshot, which a fuzzer gets through faster.
func newSmallCore(t testing.TB) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	for _, e := range []berth.Event{
		berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "T4"}, {Product: "T4"}}}},
		queueSet("team-a", ""),
		berth.JobSubmitted{Job: gangJob("a", 1, 1)},
		berth.JobSubmitted{Job: gangJob("b", 1, 2)},
	} {
		require.NoError(t, sched.Apply(0, e))
	}
	_, err = sched.Schedule(0)
	require.NoError(t, err)
	return sched
}

func TestSnapshotRoundTrip(t *testing.T) {
	sched := newVariedCore(t)
	first, err := sched.Snapshot()
	require.NoError(t, err)
	for _, state := range []string{"pending", "binding", "running", "repairing", "releasing"} {
		require.True(t, strings.Contains(string(first), `"state":"`+state+`","incarnation"`), state)
	}
	back, err := core.Restore(first)
	require.NoError(t, err)
	require.NoError(t, back.Check())
	second, err := back.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, sched.Outstanding(), back.Outstanding())
	require.NotEmpty(t, sched.JobIDs())
	require.IsIncreasing(t, sched.JobIDs())
	require.Equal(t, sched.JobIDs(), back.JobIDs())
	require.Equal(t, sched.Report(), back.Report())
	a, err := sched.Schedule(2000)
	require.NoError(t, err)
	b, err := back.Schedule(2000)
	require.NoError(t, err)
	require.NotEmpty(t, a)
	require.Equal(t, a, b)
}

// D2 for what is set aside: the restored core is the same now, and does the same
// until all is over.
func TestD2_SnapshotOfReservations(t *testing.T) {
	sched := newReservedCore(t)
	first, err := sched.Snapshot()
	require.NoError(t, err)
	for _, part := range []string{`"reserved":{`, `"exclusive":[[`, `"fresh":[`, `"hopeless":true`, `"links":[[`, `"endsAt":`} {
		require.Contains(t, string(first), part)
	}
	back, err := core.Restore(first)
	require.NoError(t, err)
	require.NoError(t, back.Check())
	for {
		a, err := sched.Snapshot()
		require.NoError(t, err)
		b, err := back.Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
		require.Equal(t, sched.Report(), back.Report())
		at, more := sched.NextWake()
		again, same := back.NextWake()
		require.Equal(t, at, again)
		require.Equal(t, more, same)
		if !more {
			break
		}
		orders, err := sched.Schedule(at)
		require.NoError(t, err)
		repeated, err := back.Schedule(at)
		require.NoError(t, err)
		require.Equal(t, orders, repeated)
		require.NoError(t, back.Check())
	}
}

// Promise R1 for snapshots: whatever the bytes, a core that holds together or a
// typed error.
func FuzzRestore(f *testing.F) {
	for _, seed := range []*core.Core{newVariedCore(f), newSmallCore(f)} {
		b, err := seed.Snapshot()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sched, err := core.Restore(b)
		if err != nil {
			require.True(t, sample.Complete(err), "%#v", err)
			return
		}
		require.NoError(t, sched.Check())
		now := sched.Now()
		if next, ok := sched.NextWake(); ok {
			now = next
		}
		_, err = sched.Schedule(now)
		require.NoError(t, err)
		require.NoError(t, sched.Check())
		again, err := sched.Snapshot()
		require.NoError(t, err)
		_, err = core.Restore(again)
		require.NoError(t, err)
	})
}
