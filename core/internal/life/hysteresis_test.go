package life_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// hysteresis is a machine with a cooldown of a minute, and limits of two evictions an hour in all
// and of one in each queue.
func hysteresis(t *testing.T) *roomtest.Machine {
	return machine(t, func(c *berth.Config) {
		p := &c.Policy.Preemption
		p.MinRuntime, p.Cooldown = berth.Minute, berth.Minute
		p.RateLimit = berth.RateLimit{Evictions: 2, Per: berth.Hour}
		p.QueueRateLimit = berth.RateLimit{Evictions: 1, Per: berth.Hour}
	})
}

// evicted has a gang be evicted for another, and comes back to it when it has stopped.
func evicted(m *roomtest.Machine, victim *record.Replica, by berth.QueueID) {
	to := m.Wait(roomtest.Job("to", by, 1, 8))
	m.Plan(to, []string{"n1"}, victim)
	mend(m)
	m.Stopped(victim)
	m.Life.TakeBack(to, berth.Cause{Code: berth.CauseCancelled}, true)
}

// again has a gang that was evicted run on its node again.
func again(t *testing.T, m *roomtest.Machine, rep *record.Replica) {
	bind(t, m, rep, "n1")
	m.Started(rep)
}

func TestAGangIsProtectedForItsMinimumRuntimeAndACooldown(t *testing.T) {
	m := hysteresis(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	require.Equal(t, rep.Started.Add(berth.Minute), m.Life.ProtectedUntil(rep, false))
	rep.Job.Spec.MinRuntime = berth.Hour
	require.Equal(t, rep.Started.Add(berth.Hour), m.Life.ProtectedUntil(rep, false), "its own is longer")
	rep.Job.Spec.MinRuntime = 0
	for evictions, minutes := range map[int]int{1: 1 + 1, 2: 1 + 2, 3: 1 + 4, 4: 1 + 8, 5: 1 + 8} {
		rep.Eviction.Note().Evictions = evictions
		require.Equal(t, rep.Started.Add(berth.Duration(minutes)*berth.Minute), m.Life.ProtectedUntil(rep, false), "after %d evictions in a row", evictions)
		require.Equal(t, rep.Started.Add(berth.Minute), m.Life.ProtectedUntil(rep, true), "a guarantee does not wait for the cooldown")
	}
}

func TestALongLifeEndsARowOfEvictions(t *testing.T) {
	m := hysteresis(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	evicted(m, rep, "a")
	require.Equal(t, 1, rep.Eviction.Get().Evictions)
	again(t, m, rep)
	m.Later(15 * berth.Minute)
	evicted(m, rep, "a")
	require.Equal(t, 2, rep.Eviction.Get().Evictions)
	again(t, m, rep)
	m.Later(16 * berth.Minute) // as long as a cooldown that was doubled four times
	evicted(m, rep, "a")
	require.Equal(t, 1, rep.Eviction.Get().Evictions)
	require.Zero(t, rep.Eviction.Get().Rests, "its own queue does not reclaim")
}

// Rule: a gang that was reclaimed rests for 10 minutes, twice as long each time, at the fifth time
// for good; and from the first time on again once it has run for a day.
func TestAGangThatIsReclaimedRestsLongerEachTimeUntilItHasRunForADay(t *testing.T) {
	m := hysteresis(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	for _, minutes := range []berth.Duration{10, 20, 40, 80} {
		m.Later(berth.Hour)
		evicted(m, rep, "b")
		require.Equal(t, m.State.Now.Add(minutes*berth.Minute), rep.Eviction.Get().RestsUntil)
		require.True(t, rep.RestsAt(m.State.Now))
		require.Equal(t, "no job of its queue is preempted for it for another "+(minutes*berth.Minute).String()+": it rests, after it was reclaimed or others took the place made for it", m.Life.DescribeRest(rep))
		again(t, m, rep)
	}
	m.Later(berth.Hour)
	evicted(m, rep, "b")
	require.Equal(t, agenda.Never, rep.Eviction.Get().RestsUntil)
	require.Contains(t, m.Life.DescribeRest(rep), "for it any more")

	again(t, m, rep)
	m.Later(24*berth.Hour - 1)
	evicted(m, rep, "b")
	require.Equal(t, agenda.Never, rep.Eviction.Get().RestsUntil, "not quite a day")
	again(t, m, rep)
	m.Later(24 * berth.Hour)
	evicted(m, rep, "b")
	require.Equal(t, 1, rep.Eviction.Get().Rests)
	again(t, m, rep)
	m.Later(24 * berth.Hour)
	evicted(m, rep, "a")
	require.Equal(t, 0, rep.Eviction.Get().Rests, "its own queue evicts it, and what was is forgotten all the same")
	require.Zero(t, rep.Eviction.Get().RestsUntil)
}

// The end of a rest is a full minute, so that gangs that are reclaimed together ask together.
func TestARestEndsAtAFullMinute(t *testing.T) {
	m := hysteresis(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	m.Later(1)
	evicted(m, rep, "b")
	require.Equal(t, roomtest.Start.Add(11*berth.Minute), rep.Eviction.Get().RestsUntil)
}

// A gang whose room others took in the pass rests from then on, and waits in another bucket: its
// searches ask for something else.
func TestAGangOfWhichOthersTookTheRoomRests(t *testing.T) {
	m := machine(t)
	victim := m.Run(roomtest.Job("victim", "a", 1, 8), "n1")
	to := m.Wait(roomtest.Job("to", "a", 1, 8))
	res := m.Plan(to, []string{"n1"}, victim)
	before := to.Entries[0].Bucket
	m.Backlog.EndDisplaced(res)
	m.Life.RestDisplaced()
	require.Equal(t, m.State.Now.Add(10*berth.Minute), to.Eviction.Get().RestsUntil)
	require.NotSame(t, before, to.Entries[0].Bucket)
	m.Life.RestDisplaced()
	require.Equal(t, 1, to.Eviction.Get().Rests, "once for each room")
}

// Rate limits.

func TestVictimsCountOnTheMetersOfTheFleetAndOfTheirQueues(t *testing.T) {
	m := hysteresis(t)
	now := m.State.Now
	a1 := m.Run(roomtest.Job("a1", "a", 1, 8), "n1")
	a2 := m.Run(roomtest.Job("a2", "a", 1, 8), "n2")
	b1 := m.Run(roomtest.Job("b1", "b", 1, 8), "n3")
	list := func(reps ...*record.Replica) []*record.Replica { return reps }
	require.Equal(t, now, m.Life.EvictionsReady())
	require.Equal(t, now, m.Life.VictimsReady(list(a1, b1)))
	require.Equal(t, now, m.Life.VictimsReady(list(a1, a2)), "more than a limit allows at once go while none has gone")
	require.Equal(t, now, m.Life.MeterVictims(list(a1)))
	require.Equal(t, now.Add(berth.Hour), m.Life.VictimsReady(list(a2)), "a queue gives one an hour")
	require.Equal(t, now, m.Life.VictimsReady(list(b1)))
	require.Equal(t, now, m.Life.MeterVictims(list(b1)))
	require.Equal(t, now.Add(30*berth.Minute), m.Life.EvictionsReady(), "the fleet gives two an hour")
}

// Victims that have to wait keep what is left for themselves: small bids would go first for ever.
func TestVictimsThatWaitKeepWhatTheMetersHaveLeft(t *testing.T) {
	m := hysteresis(t)
	a1 := m.Run(roomtest.Job("a1", "a", 1, 8), "n1")
	a2 := m.Run(roomtest.Job("a2", "a", 1, 8), "n2")
	b1 := m.Run(roomtest.Job("b1", "b", 1, 8), "n3")
	m.Life.MeterVictims([]*record.Replica{a1})
	now := m.State.Now
	require.Equal(t, now, m.Life.VictimsReady([]*record.Replica{b1}))
	at := m.Life.MeterVictims([]*record.Replica{a2, b1})
	require.Equal(t, now.Add(berth.Hour), at, "the fleet has one left, and queue a none")
	require.Equal(t, at, m.Life.VictimsReady([]*record.Replica{b1}))
	m.Later(berth.Hour)
	require.Equal(t, m.State.Now, m.Life.MeterVictims([]*record.Replica{a2, b1}))
}

// Saved and restored.

func TestMetersAndFloorsComeBackAsTheyWere(t *testing.T) {
	m := hysteresis(t)
	require.Equal(t, record.RatesPart{}, m.Life.SaveMeters(), "of what never counted there is nothing to save")
	m.Life.MeterVictims([]*record.Replica{m.Run(roomtest.Job("a1", "a", 1, 8), "n1")})
	q := queueOf(m, "b")
	q.RaiseFloor(3000)
	saved := m.Life.SaveMeters()
	require.NotNil(t, saved.Evictions)
	require.Len(t, saved.QueueEvictions, 1)
	require.Equal(t, []record.SavedFloor{{Queue: "b", GPUMilli: 3000}}, saved.Floors)

	other := hysteresis(t)
	other.NoRefusal(other.Life.RestoreMeters(&saved))
	require.Equal(t, saved, other.Life.SaveMeters())
	require.Equal(t, m.Life.EvictionsReady(), other.Life.EvictionsReady())
}

func TestMetersOfNoQueueAreRefused(t *testing.T) {
	m := hysteresis(t)
	for field, bad := range map[string]record.RatesPart{
		"evictions":         {Evictions: &record.SavedMeter{Queue: "a"}},
		"queueEvictions[0]": {QueueEvictions: []record.SavedMeter{{Queue: "other"}}},
		"queueEvictions[1]": {QueueEvictions: []record.SavedMeter{{Queue: "b"}, {Queue: "a"}}},
		"floors[0]":         {Floors: []record.SavedFloor{{Queue: "a"}}},
		"floors[1]":         {Floors: []record.SavedFloor{{Queue: "a", GPUMilli: 1}, {Queue: "a", GPUMilli: 1}}},
	} {
		m.Refused(m.Life.RestoreMeters(&bad), berth.ErrInvalid, field)
	}
}

func queueOf(m *roomtest.Machine, name string) *record.Queue {
	i, _ := m.State.Quota.Lookup(berth.QueueID(name))
	return m.Books.Queues[i]
}

// A floor ends when a job of its queue ends by itself, and not when one is evicted: see package
// quota, entitlement.go.
func TestAFloorEndsWithAJobThatIsNotEvicted(t *testing.T) {
	m := machine(t)
	evict := m.Run(roomtest.Job("evict", "a", 1, 4), "n1")
	ends := m.Run(roomtest.Job("ends", "a", 1, 4), "n1")
	q := queueOf(m, "a")
	q.RaiseFloor(4000)
	m.Plan(m.Wait(roomtest.Job("to", "a", 1, 4)), []string{"n1"}, evict)
	require.Equal(t, int64(4000), q.FloorMilli)
	m.Life.TakeBack(ends, berth.Cause{Code: berth.CauseCancelled}, true)
	require.Zero(t, q.FloorMilli)
	require.Equal(t, int64(8000), m.State.Quota.Used(q.Index, quota.GPUMilli), "nothing has stopped yet")
}
