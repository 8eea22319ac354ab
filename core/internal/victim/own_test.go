package victim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// Invariant 2, within a queue: the lower in rank, the latest to begin.

func TestAQueueGivesTheLowestInRankThatBeganLast(t *testing.T) {
	m := machine(t, 3)
	m.Queue("a", 0)
	m.RunSince(m.State.Now-2, roomtest.WithPriority(job("old", "a", 1, 4), 0), "n1")
	m.RunSince(m.State.Now-1, roomtest.WithPriority(job("new", "a", 1, 4), 0), "n2")
	m.Run(roomtest.WithPriority(job("above", "a", 1, 4), 1), "n3")
	m.Later(berth.Hour)
	rep := m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1))
	victims, _ := own(m, rep)
	require.Equal(t, []string{"new"}, victims)
	require.True(t, m.Victims.OutranksAny(rep))
	low := m.Wait(roomtest.WithPriority(job("low", "a", 1, 4), 0))
	victims, _ = own(m, low)
	require.Nil(t, victims)
	require.False(t, m.Victims.OutranksAny(low))
	victims, _ = own(m, m.Wait(roomtest.WithPriority(job("three", "a", 3, 4), 1)))
	require.Nil(t, victims, "what is of the same rank stays")
}

// Rule: while a gang rests it takes the place of others of its queue only if that leaves the queue
// within its shares.
func TestAGangThatRestsEvictsItsQueueWithinTheSharesAlone(t *testing.T) {
	for _, c := range []struct {
		name      string
		guarantee int64
		takes     bool
	}{
		{"within the guarantee", 4, true},
		{"within the fair share, and its jobs fill less of the guarantee", 2, false},
		{"within the fair share, and nothing is guaranteed", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, 2)
			m.Queue("a", c.guarantee)
			m.Queue("b", 0)
			m.Run(job("small", "a", 1, 2), "n1")
			m.Run(job("other", "b", 1, 4), "n2")
			rep := m.Wait(roomtest.WithPriority(job("large", "a", 1, 4), 1))
			until := m.State.Now.Add(berth.Hour)
			rep.Eviction.Note().RestsUntil, rep.Eviction.Note().Rests = until, 1
			victims, s := own(m, rep)
			require.Equal(t, c.takes, victims != nil)
			if !c.takes {
				require.Equal(t, until, s.RestsUntil)
				require.Equal(t, until, s.RipeAt(0), "it looks again when that is over")
			}
		})
	}
}

// What may not be taken now.

func TestNothingIsTakenThatHasSomethingElseGoingOn(t *testing.T) {
	m := machine(t, 1)
	m.Queue("a", 0)
	rep := m.Run(job("runs", "a", 1, 4), "n1")
	m.Books.TellDemands()
	s := m.Victims.NewSearch(m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1)).Entries[0], nil)
	require.True(t, s.MayBeVictim(rep))
	for name, spoil := range map[string]func(on bool){
		"an order is out": func(on bool) {
			rep.Order = nil
			if on {
				rep.Order = berth.Bind{}
			}
		},
		"something is set aside for it": func(on bool) {
			rep.Reserved = nil
			if on {
				rep.Reserved = &record.Reservation{}
			}
		},
		"it is a victim already": func(on bool) {
			rep.Beneficiary = nil
			if on {
				rep.Beneficiary = s.Rep
			}
		},
		"it is imagined gone": func(on bool) { rep.Imagined = on },
		"a part of it is":     func(on bool) { rep.Members[0].Imagined = on },
		"a part of it is being stopped": func(on bool) {
			rep.Members[0].State = record.MemberRunning
			if on {
				rep.Members[0].State = record.MemberStopping
			}
		},
		"no whole gang may go just now": func(on bool) { s.PartsOnly = on },
	} {
		spoil(true)
		require.False(t, s.MayBeVictim(rep), name)
		spoil(false)
		require.True(t, s.MayBeVictim(rep), name)
	}
	require.Zero(t, s.ProtectedUntil)
	require.Zero(t, s.Limited)
}

func TestASearchSaysWhenTheFirstProtectionEnds(t *testing.T) {
	m := machine(t, 2, func(p *berth.Policy) { p.Preemption.MinRuntime = berth.Hour })
	m.Queue("a", 0)
	m.RunSince(m.State.Now.Add(-berth.Minute), job("old", "a", 1, 4), "n1")
	m.Run(job("new", "a", 1, 4), "n2")
	victims, s := own(m, m.Wait(roomtest.WithPriority(job("urgent", "a", 1, 4), 1)))
	require.Nil(t, victims)
	require.Equal(t, m.State.Now.Add(59*berth.Minute), s.ProtectedUntil)
	require.Zero(t, s.Limited)
	require.Equal(t, m.State.Now.Add(59*berth.Minute), s.RipeAt(0))
}

func TestASearchSaysWhenTheRateLimitOfAQueueAllowsAnother(t *testing.T) {
	m := machine(t, 2, func(p *berth.Policy) { p.Preemption.QueueRateLimit = berth.RateLimit{Evictions: 1, Per: berth.Hour} })
	m.Queue("a", 0)
	m.Life.MeterVictims([]*record.Replica{m.Run(job("runs", "a", 1, 4), "n1")})
	victims, s := own(m, m.Wait(roomtest.WithPriority(job("urgent", "a", 2, 4), 1)))
	require.Nil(t, victims)
	require.Zero(t, s.ProtectedUntil)
	require.Equal(t, m.State.Now.Add(berth.Hour), s.Limited)
}

// Rule: a job is not stopped that holds MaxRatio times as much as is asked for, unless a guarantee
// or a higher class asks.
func TestAVictimMayHoldSoManyTimesWhatIsAskedFor(t *testing.T) {
	ratio := func(p *berth.Policy) { p.Preemption.MaxRatio = 2 }
	for _, c := range []struct {
		name  string
		asks  int
		class berth.Class
		queue berth.QueueID
		takes bool
	}{
		{"four of two", 2, berth.ClassBatch, "a", true},
		{"four of one", 1, berth.ClassBatch, "a", false},
		{"four of one, of a higher class", 1, berth.ClassInteractive, "a", true},
		{"four of one, within a guarantee", 1, berth.ClassBatch, "owner", true},
		{"four of one, within a fair share", 1, berth.ClassBatch, "fair", false},
		{"four of two, within a fair share", 2, berth.ClassBatch, "fair", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, 1, ratio)
			m.Queue("a", 0)
			m.Queue("owner", 4)
			m.Queue("fair", 0)
			m.Run(job("runs", "a", 1, 4), "n1")
			spec := roomtest.WithPriority(job("asks", c.queue, 1, c.asks), 1)
			spec.Class = c.class
			rep := m.Wait(spec)
			victims, _ := own(m, rep)
			if c.queue != "a" {
				victims, _ = reclaim(m, rep)
			}
			require.Equal(t, c.takes, victims != nil)
		})
	}
}

// A share of a GPU counts as one: the least that a preemption is for.
func TestLessThanAGPUCountsAsOne(t *testing.T) {
	m := machine(t, 1, func(p *berth.Policy) { p.Preemption.MaxRatio = 2 })
	m.Queue("a", 0)
	two := m.Run(job("two", "a", 1, 2), "n1")
	m.Books.TellDemands()
	host := job("host", "a", 1, 0)
	host.Groups[0].Claim = berth.HostOnly(1, 1)
	s := m.Victims.NewSearch(m.Wait(host).Entries[0], nil)
	require.False(t, s.TooLarge(record.Piece{Rep: two}))
}

// What queues keep, for an answer.

func TestAnAnswerNamesTheJobsThatStandForAGuarantee(t *testing.T) {
	m := machine(t, 3)
	m.Queue("owner", 4)
	m.Queue("keeps", 4)
	m.Queue("gives", 0)
	m.Run(job("k1", "keeps", 1, 2), "n1")
	m.Run(job("k2", "keeps", 1, 2), "n1")
	m.Run(job("g", "gives", 1, 4), "n2")
	rep := m.Wait(job("o", "owner", 1, 4))
	m.Books.TellDemands()
	list := m.Victims.Protections(rep.Entries[0])
	require.Equal(t, []berth.Protection{{
		Queue: "keeps", GuaranteeMilli: 4000, UsedMilli: 4000, KeptMilli: 4000,
		Jobs: []berth.ReplicaRef{{Job: "k2"}, {Job: "k1"}},
	}}, list)
	beyond := m.Wait(job("beyond", "owner", 2, 4))
	m.Books.TellDemands()
	require.Nil(t, m.Victims.Protections(beyond.Entries[0]), "it is not within its own guarantee")
}

// The minimum of a gang fills a guarantee as one job, and each unit above it as another.
func TestTheMinimumOfAGangCountsAsOneJob(t *testing.T) {
	m := machine(t, 1)
	m.Queue("owner", 1)
	m.Queue("keeps", 2)
	m.Run(stretches("stretches", "keeps", 4, 3, 1), "n1", "n1", "n1", "n1")
	rep := m.Wait(job("o", "owner", 1, 1))
	m.Books.TellDemands()
	list := m.Victims.Protections(rep.Entries[0])
	require.Len(t, list, 1)
	require.Equal(t, int64(1000), list[0].KeptMilli, "three GPUs do not fit in two")
}

// Place and fit.

func TestAPlaceIsWithinTheLimitsOfTheQueue(t *testing.T) {
	m := machine(t, 2)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(4)})
	fits := m.Victims.NewSearch(m.Wait(job("fits", "a", 1, 4)).Entries[0], nil)
	require.Len(t, fits.Place(), 1)
	_, ok := fits.FitsNow()
	require.True(t, ok)
	require.True(t, fits.FitsWithout())
	_, ok = m.Victims.NewSearch(m.Wait(job("large", "a", 2, 4)).Entries[0], nil).FitsNow()
	require.False(t, ok)

	avoids := m.Victims.NewSearch(m.Wait(job("avoids", "a", 1, 4)).Entries[0], []berth.NodeID{"n1", "n2"})
	require.Nil(t, avoids.Place())
	_, ok = avoids.FitsNow()
	require.False(t, ok)
}
