package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

func of(class berth.Class, j berth.Job) berth.Job {
	j.Class = class
	return j
}

// Within a queue rank decides, unless the one that ranks above would borrow and the other would
// not. Between queues the guarantee decides, then the class; priorities do not count.
func TestOutranks(t *testing.T) {
	within, borrows := func(q berth.QueueID) berth.Job { return roomtest.Job("", q, 1, 8) }, func(q berth.QueueID) berth.Job { return roomtest.Job("", q, 2, 8) }
	for name, c := range map[string]struct {
		job, other berth.Job
		want       bool
	}{
		"the same":                        {within("a"), within("a"), false},
		"of a higher priority":            {urgent(within("a")), within("a"), true},
		"of a higher class":               {of(berth.ClassInteractive, within("a")), urgent(within("a")), true},
		"of a higher rank, and borrows":   {urgent(borrows("a")), within("a"), false},
		"of a higher rank, both borrow":   {urgent(borrows("a")), borrows("a"), true},
		"within the guarantee, the other": {within("a"), borrows("b"), true},
		"both within the guarantee":       {urgent(within("a")), within("b"), false},
		"both, of a higher class":         {of(berth.ClassInteractive, within("a")), within("b"), true},
		"borrows, of a higher class":      {of(berth.ClassInteractive, borrows("a")), within("b"), false},
		"both borrow, of a higher class":  {of(berth.ClassInteractive, borrows("a")), borrows("b"), true},
		"both borrow, urgent":             {urgent(borrows("a")), borrows("b"), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			c.job.ID, c.other.ID = "job", "other"
			require.Equal(t, c.want, m.Backlog.Outranks(m.Wait(c.job), m.Wait(c.other)))
		})
	}
}

// What is earmarked for a gang is charged already: it is not counted twice.
func TestAGangWithAPlanIsWithinTheGuaranteeByWhatItIsToHave(t *testing.T) {
	m := machine(t)
	rep, other := m.Wait(roomtest.Job("planned", "a", 1, 8)), m.Wait(roomtest.Job("other", "a", 1, 8))
	m.Plan(rep, []string{"n1"})
	require.True(t, m.Backlog.WithinGuarantee(other))
	m.Backlog.Earmark(true)
	require.True(t, m.Backlog.WithinGuarantee(rep))
	require.False(t, m.Backlog.WithinGuarantee(other), "the guarantee is promised")
	m.Backlog.Earmark(false)
}

// Of a gang that grows, the rest of it counts.
func TestAGangThatGrowsIsWithinTheGuaranteeByItsRest(t *testing.T) {
	m := machine(t)
	require.True(t, m.Backlog.WithinGuarantee(m.Run(elastic("grows", "a", 4, 4), "n1")))
	require.False(t, m.Backlog.WithinGuarantee(m.Run(elastic("beyond", "b", 4, 8), "n2")))
}

func TestAReservationAdmitsItsGangAndWhatEndsInTime(t *testing.T) {
	m := machine(t)
	rep, other := m.Wait(roomtest.Job("own", "a", 1, 8)), m.Wait(roomtest.Job("other", "a", 1, 8))
	res := m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	require.True(t, m.Backlog.Admits(res, rep, agenda.Never), "its own, whenever it ends")
	require.True(t, m.Backlog.Admits(res, other, res.From), "it ends as the reservation begins")
	require.False(t, m.Backlog.Admits(res, other, res.From+1))
	require.True(t, m.Backlog.Admits(res, m.Wait(urgent(roomtest.Job("urgent", "a", 1, 8))), agenda.Never), "it outranks the holder")
}

func TestAReservationInAdvanceAdmitsTheJobsOfItsQueue(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "below", Parent: "a"})
	r := advance("r")
	r.Queue, r.Nodes = "a", []berth.NodeID{"n1"}
	m.NoRefusal(set(m, r))
	res := named(t, m, "advance/r")
	require.True(t, m.Backlog.Admits(res, m.Wait(roomtest.Job("below", "below", 1, 8)), agenda.Never))
	require.False(t, m.Backlog.Admits(res, m.Wait(urgent(roomtest.Job("other", "b", 1, 8))), agenda.Never))
	m.Backlog.EndReservation(res)
	r.Queue = ""
	m.NoRefusal(set(m, r))
	require.False(t, m.Backlog.Admits(named(t, m, "advance/r"), m.Wait(roomtest.Job("any", "b", 1, 8)), agenda.Never), "it is for nobody")
}

// Hardware in burn-in is for work whose loss is cheap, hot spares for what lost hardware.
func TestNodesThatAreKeptAdmitWhatTheyAreKeptFor(t *testing.T) {
	m := machine(t)
	var burnIn, spares *record.Reservation
	m.Backlog.NewNodeSet(&burnIn, record.KindBurnIn, "burn-in")
	m.Backlog.JoinNodeSet(burnIn, m.NodeNamed("n1"))
	m.Backlog.NewNodeSet(&spares, record.KindSpares, "spares")
	m.Backlog.JoinNodeSet(spares, m.NodeNamed("n2"))
	cheap, several := m.Wait(roomtest.Job("cheap", "a", 1, 8)), m.Wait(roomtest.Job("several", "a", 2, 8))
	critical := m.Wait(of(berth.ClassLatencyCritical, service("critical", "a", 1, 8)))
	require.True(t, m.Backlog.Admits(burnIn, cheap, agenda.Never))
	require.False(t, m.Backlog.Admits(burnIn, several, agenda.Never))
	require.False(t, m.Backlog.Admits(burnIn, critical, agenda.Never))
	require.False(t, m.Backlog.Admits(spares, cheap, agenda.Never))
	cheap.Retry.Note().LostHardware = true
	require.True(t, m.Backlog.Admits(spares, cheap, agenda.Never))
	cheap.Retry.Note().LostHardware = false
	m.Backlog.LeaveNodeSet(burnIn, m.NodeNamed("n1"))
	m.Backlog.LeaveNodeSet(spares, m.NodeNamed("n2"))
}

// The place of a beneficiary is for those of its queue that rank above it, and for other queues
// that claim their guarantee while the beneficiary would borrow.
func TestARoomIsTakenByRankInItsQueueAndByClaimFromOthers(t *testing.T) {
	m := machine(t)
	borrows := m.Wait(roomtest.Job("borrows", "a", 2, 8))
	res := m.Plan(borrows, []string{"n1", "n2"})
	takes := func(j berth.Job) bool { return m.Backlog.Takes(m.Wait(j).Entries[0], res) }
	require.False(t, takes(roomtest.Job("same-rank", "a", 1, 8)))
	require.True(t, takes(urgent(roomtest.Job("urgent", "a", 1, 8))))
	require.True(t, takes(roomtest.Job("claims", "b", 1, 8)))
	require.False(t, takes(of(berth.ClassInteractive, roomtest.Job("of-a-higher-class", "b", 2, 8))), "it would borrow too")

	within := m.Wait(roomtest.Job("within", "a", 1, 8))
	res = m.Plan(within, []string{"n3"})
	require.False(t, takes(of(berth.ClassInteractive, roomtest.Job("claims-too", "b", 1, 8))), "nobody borrows")
	rests := m.Wait(urgent(roomtest.Job("rests", "a", 1, 8)))
	require.True(t, m.Backlog.Takes(rests.Entries[0], res))
	m.Backlog.Unawait(rests)
	rests.Eviction.Note().RestsUntil = m.State.Now + 1
	m.Backlog.Await(rests)
	require.False(t, m.Backlog.Takes(rests.Entries[0], res), "while it rests it takes no room of its queue")
}

// A gang does not take the place of another of its queue if that takes the queue beyond the fair
// share in which the other leaves it: others would reclaim it.
func TestARoomIsNotTakenBeyondTheShareOfItsQueue(t *testing.T) {
	for demand, want := range map[int]bool{0: true, 4: false} { // nodes that queue b wants
		m := machine(t)
		m.Run(roomtest.Job("runs", "a", 1, 8), "n1")
		for i := range demand {
			m.Wait(roomtest.Job(berth.JobID(rune('0'+i)), "b", 1, 8))
		}
		low := m.Wait(roomtest.Job("low", "a", 1, 8)) // half of the fleet with what runs
		res := m.Plan(low, []string{"n2"})
		high := m.Wait(urgent(roomtest.Job("high", "a", 2, 8)))
		require.Equal(t, want, m.Backlog.Takes(high.Entries[0], res), "b waits for %d", demand)
		require.True(t, m.Backlog.Takes(m.Wait(urgent(roomtest.Job("as-large", "a", 1, 8))).Entries[0], res))
	}
}

// A gang that may come back to its own place leaves that of others alone.
func TestAGangWithAPlaceToComeBackToTakesNoOther(t *testing.T) {
	m := machine(t)
	low := m.Wait(roomtest.Job("low", "a", 1, 8))
	res := m.Reserve(low, m.State.Now.Add(berth.Hour), "n1")
	rep := m.Run(urgent(roomtest.Job("back", "a", 1, 8)), "n2")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseHardwareLost}, false)
	move(m, rep, "n3")
	m.Stopped(rep)
	require.True(t, rep.Reserved.IsAwaited())
	require.False(t, m.Backlog.Admits(res, rep, agenda.Never))
	m.Backlog.EndReservation(rep.Reserved)
	require.True(t, m.Backlog.Admits(res, rep, agenda.Never))
}

func TestTakersAreTheFirstOfTheirBucketsInTheOrderOfService(t *testing.T) {
	m := machine(t)
	res := m.Plan(m.Wait(roomtest.Job("low", "a", 1, 8)), []string{"n1"})
	m.Wait(urgent(roomtest.Job("second", "a", 1, 4)))
	m.Wait(of(berth.ClassInteractive, roomtest.Job("first", "a", 1, 2)))
	m.Wait(roomtest.Job("low-too", "a", 1, 1))
	planned := m.Wait(urgent(roomtest.Job("planned", "a", 1, 6)))
	m.Reserve(planned, m.State.Now.Add(berth.Hour), "n2")
	var ids []berth.JobID
	for _, b := range m.Backlog.Takers(res) {
		ids = append(ids, b.Entries.Min().Rep.Job.Spec.ID)
	}
	require.Equal(t, []berth.JobID{"first", "second"}, ids)
}

func TestABucketIsUntriedUntilThePassHasLookedAtItsFirst(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	b := bucketOf(rep)
	require.True(t, m.Backlog.Untried(b), "it is ready")
	m.Backlog.Block(b.Shape)
	require.False(t, m.Backlog.Untried(b))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	m.Backlog.Freshen(rep.Entries[0])
	require.True(t, m.Backlog.Untried(b), "not on what is set aside")
	m.Backlog.Unfresh(rep.Entries[0])
	m.Backlog.QuotaBlock(b)
	m.Agenda.QuotaFreed = false
	require.False(t, m.Backlog.Untried(b))
	m.Agenda.FreedQuota()
	require.True(t, m.Backlog.Untried(b), "there is more quota")
}
