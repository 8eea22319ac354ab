package due_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/due"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/drawn"
)

const reserveAfter = 5 * berth.Minute

// machine is a fleet of two nodes of 8 GPUs and two queues. Gangs come to wait by way of the
// backlog, whose calls of NoteHead and NoteBids are those that the room relies on.
func machine(t roomtest.TB) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{Policy: berth.Policy{ReserveAfter: reserveAfter, Stretch: berth.Off}})
	m.Nodes(2, 8)
	m.Queue("a", 8)
	m.Queue("b", 8)
	return m
}

// heads names the gangs that may get a reservation, or have one, as of the last SyncHeads.
func heads(m *roomtest.Machine, size due.Size) (names []string) {
	h := m.Backlog.Due.HeadsOf(size)
	h.EachQueue(func(q *record.Queue, first *record.Entry) bool {
		h.EachHead(q.Index, func(e *record.Entry) bool {
			names = append(names, string(e.Rep.Job.Spec.ID))
			return true
		})
		return true
	})
	slices.Sort(names)
	return names
}

// bids names the gangs of a queue that bid now for no more than so many GPUs.
func bids(m *roomtest.Machine, queue string, gpus int64) (names []string) {
	m.Backlog.SyncBids()
	m.Backlog.Due.EachDue(queueOf(m, queue), 1000*gpus, func(e *record.Entry) bool {
		names = append(names, string(e.Rep.Job.Spec.ID))
		return true
	})
	slices.Sort(names)
	return names
}

func queueOf(m *roomtest.Machine, name string) *record.Queue {
	i, _ := m.State.Quota.Lookup(berth.QueueID(name))
	return m.Books.Queues[i]
}

func TestAGangMayGetAReservationOnceItHasWaitedForLong(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("pair", "a", 2, 8))
	require.Equal(t, roomtest.Start.Add(reserveAfter), m.Backlog.Due.SyncHeads())
	require.Empty(t, heads(m, due.SeveralNodes))
	m.Later(reserveAfter - 1)
	m.Backlog.Due.SyncHeads()
	require.Empty(t, heads(m, due.SeveralNodes), "a millisecond too early")
	m.Later(1)
	require.Equal(t, agenda.Never, m.Backlog.Due.SyncHeads(), "the clock alone makes no other due")
	require.Equal(t, []string{"pair"}, heads(m, due.SeveralNodes))
	require.Equal(t, 1, m.Backlog.Due.HeadsOf(due.SeveralNodes).Len())
}

func TestAnotherReserveAfterMovesAllHeads(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("pair", "a", 2, 8))
	m.Backlog.Due.SyncHeads()
	policy := m.State.Config.Policy
	policy.ReserveAfter = berth.Minute
	m.State.SetPolicy(policy)
	require.Equal(t, roomtest.Start.Add(berth.Minute), m.Backlog.Due.SyncHeads())
}

// A member with one GPU or a part of one cannot lose to smaller work.
func TestASingleGPUGetsNoReservation(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("single", "a", 1, 1))
	m.Later(reserveAfter)
	require.Equal(t, agenda.Never, m.Backlog.Due.SyncHeads())
	require.Empty(t, heads(m, due.OneNode))
}

func TestSizesTellWhatFitsOnOneNode(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("node", "a", 1, 8))
	m.Wait(roomtest.Job("half", "a", 2, 4))
	m.Wait(roomtest.Job("pair", "b", 2, 8))
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"half", "node"}, heads(m, due.OneNode))
	require.Equal(t, []string{"pair"}, heads(m, due.SeveralNodes))

	m.Join(roomtest.Node("large", 16))
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"half", "node", "pair"}, heads(m, due.OneNode), "a larger node has come")
	require.Empty(t, heads(m, due.SeveralNodes))
}

// One that has a reservation stays a head: those behind it may be due.
func TestAGangWithAReservationStaysAHead(t *testing.T) {
	m := machine(t)
	pair := m.Wait(roomtest.Job("pair", "a", 2, 8))
	m.Reserve(pair, m.State.Now.Add(berth.Hour), "n1", "n2")
	_, may := m.Backlog.Due.At(pair.Entries[0])
	require.False(t, may)
	require.Equal(t, agenda.Never, m.Backlog.Due.SyncHeads())
	require.Equal(t, []string{"pair"}, heads(m, due.SeveralNodes))
}

func TestAStalledGangIsHeldUntilSomethingIsFree(t *testing.T) {
	m := machine(t)
	pair := m.Wait(roomtest.Job("pair", "a", 2, 8))
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	pair.Reserve.Note().StalledAt = m.Agenda.Stall()
	m.Backlog.Due.NoteEntries(pair)
	require.Equal(t, agenda.Never, m.Backlog.Due.SyncHeads())
	require.True(t, m.Backlog.Due.Stalled(pair))
	require.Empty(t, heads(m, due.SeveralNodes))
	m.Agenda.Grew(m.State.Now)
	m.Backlog.Due.SyncHeads()
	require.Empty(t, heads(m, due.SeveralNodes), "more to plan with is not something free")
	m.Agenda.Changed(m.State.Now)
	m.Backlog.Due.SyncHeads()
	require.False(t, m.Backlog.Due.Stalled(pair))
	require.Equal(t, []string{"pair"}, heads(m, due.SeveralNodes))
}

func TestAHopelessGangIsHeldUntilThereIsMoreToPlanWith(t *testing.T) {
	m := machine(t)
	pair := m.Wait(roomtest.Job("pair", "a", 2, 8))
	m.Later(reserveAfter)
	pair.Reserve.Note().HopelessAt = m.Agenda.Despair()
	m.Backlog.Due.NoteEntries(pair)
	m.Backlog.Due.SyncHeads()
	require.True(t, m.Backlog.Due.CannotPlan(pair))
	require.Empty(t, heads(m, due.SeveralNodes))
	m.Agenda.Changed(m.State.Now)
	m.Backlog.Due.SyncHeads()
	require.Empty(t, heads(m, due.SeveralNodes), "something free is not more to plan with")
	m.Agenda.Grew(m.State.Now)
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"pair"}, heads(m, due.SeveralNodes))
}

// A gang that was put off waits for longer than the others of its age.
func TestAGangIsDueNoSoonerThanItsNextReservationMayBe(t *testing.T) {
	m := machine(t)
	pair := m.Wait(roomtest.Job("pair", "a", 2, 8))
	pair.Reserve.Note().At = m.State.Now.Add(berth.Hour)
	require.Equal(t, m.State.Now.Add(berth.Hour), m.Backlog.Due.SyncHeads())
}

func TestABucketThatQuotaHoldsBackHasNoHead(t *testing.T) {
	m := machine(t)
	pair := m.Wait(roomtest.Job("pair", "a", 2, 8))
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	m.Backlog.QuotaBlock(pair.Entries[0].Bucket)
	m.Backlog.Due.SyncHeads()
	require.Empty(t, heads(m, due.SeveralNodes))
	m.Backlog.WakeLimited() // there is no limit
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"pair"}, heads(m, due.SeveralNodes))
}

// Of a bucket the first entry counts, by the order of service.
func TestTheFirstEntryIsTheHeadOfItsBucket(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("first", "a", 2, 8))
	m.Wait(roomtest.Job("second", "a", 2, 8))
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"first"}, heads(m, due.SeveralNodes))
	urgent := roomtest.Job("urgent", "a", 2, 8)
	urgent.Priority = 1
	rep := m.Wait(urgent)
	require.Equal(t, m.State.Now.Add(reserveAfter), m.Backlog.Due.SyncHeads())
	require.Empty(t, heads(m, due.SeveralNodes), "the first has not waited for long enough")
	m.Life.Forget(rep)
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"first"}, heads(m, due.SeveralNodes))
}

// Invariant 1: an empty bucket stands nowhere. Its number goes to the next one.
func TestAnEmptyBucketIsForgotten(t *testing.T) {
	m := machine(t)
	first := m.Wait(roomtest.Job("first", "a", 2, 8))
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	m.Backlog.SyncBids()
	bucket := first.Entries[0].Bucket
	number := bucket.Due
	require.NotZero(t, number)
	m.Life.Forget(first)
	require.Zero(t, bucket.Due)
	require.Zero(t, m.Backlog.Due.HeadsOf(due.SeveralNodes).Len())
	require.False(t, m.Backlog.Due.AnyBids(queueOf(m, "a")))
	m.Backlog.Due.EachQueue(func(*record.Queue) { t.Error("a queue without heads is listed") })

	second := m.Wait(roomtest.Job("second", "b", 1, 8))
	require.Equal(t, number, second.Entries[0].Bucket.Due)
}

// Invariant 4: the queues with heads are listed, each once.
func TestQueuesWithHeadsAreListedOnce(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("a-1", "a", 2, 8))
	m.Wait(roomtest.Job("a-2", "a", 1, 8))
	m.Wait(roomtest.Job("b-1", "b", 2, 8))
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	listed := map[*record.Queue]int{}
	m.Backlog.Due.EachQueue(func(q *record.Queue) { listed[q]++ })
	require.Equal(t, map[*record.Queue]int{queueOf(m, "a"): 1, queueOf(m, "b"): 1}, listed)
	asked := 0
	m.Backlog.Due.HeadsOf(due.SeveralNodes).EachQueue(func(*record.Queue, *record.Entry) bool { asked++; return false })
	require.Equal(t, 1, asked, "it ends when told to")
}

// A queue that may have the most that its heads ask for may have what any of them asks for.
func TestMostIsOfEachResourceTheMostThatAHeadAsksFor(t *testing.T) {
	m := machine(t)
	gpus := roomtest.Job("gpus", "a", 2, 8)
	host := roomtest.Job("host", "a", 2, 1)
	host.Groups[0].Claim = host.Groups[0].Claim.WithHost(50_000, 1<<10)
	m.Wait(gpus)
	m.Wait(host)
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	a := queueOf(m, "a")
	most, alike := m.Backlog.Due.Most(a.Index)
	require.True(t, alike)
	require.Equal(t, int64(16_000), most.GPUMilli)
	require.Equal(t, int64(100_000), most.Host[0])
	require.Equal(t, m.State.Quota.Product("H100"), most.Product)

	other := roomtest.Node("other", 8)
	for g := range other.GPUs {
		other.GPUs[g].Product, other.GPUs[g].MIGTable = "H200", ""
	}
	m.Join(other)
	only := roomtest.Job("only", "a", 1, 8)
	only.Groups[0].Selector.Products = []string{"H200"}
	h100 := roomtest.Job("h100", "a", 1, 8)
	h100.Groups[0].Selector.Products = []string{"H100"}
	m.Wait(only)
	m.Wait(h100)
	m.Later(reserveAfter)
	m.Backlog.Due.SyncHeads()
	_, alike = m.Backlog.Due.Most(a.Index)
	require.False(t, alike, "no charge is of two products")
}

// Bids.

func TestABidderIsDueAsSoonAsItsQueueMayHaveWhatItAsksFor(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("large", "a", 2, 8))
	m.Wait(roomtest.Job("small", "a", 1, 2))
	require.Empty(t, bids(m, "a", 1))
	require.Equal(t, []string{"small"}, bids(m, "a", 2))
	require.Equal(t, []string{"small"}, bids(m, "a", 15))
	require.Equal(t, []string{"large", "small"}, bids(m, "a", 16))
	require.Empty(t, bids(m, "b", 16))
	seen := 0
	m.Backlog.Due.EachDue(queueOf(m, "a"), 16_000, func(*record.Entry) bool { seen++; return false })
	require.Equal(t, 1, seen, "it ends when told to")
}

// What asks for no GPUs asks for the largest number of them: no amount lets it in.
func TestAGangWithoutGPUsAsksForTheLargestNumber(t *testing.T) {
	m := machine(t)
	host := roomtest.Job("host", "a", 1, 0)
	host.Groups[0].Claim = berth.HostOnly(1000, 1)
	m.Wait(host)
	m.Backlog.SyncBids()
	require.Equal(t, int64(math.MaxInt64), m.Backlog.Due.Outline(queueOf(m, "a")).Fewest)
	require.Empty(t, bids(m, "a", 1000))
}

func TestABidInVainIsMadeAgainAfterAChangeOrWhenItIsRipe(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("bids", "a", 1, 8))
	e := rep.Entries[0]
	m.Backlog.SyncBids()
	vain := func(ripe berth.Time) {
		e.Bid = record.BidPart{Turn: m.Agenda.PreemptTurn, RipeAt: ripe}
		m.Backlog.Due.NoteBids(e.Bucket)
	}
	vain(0)
	require.Equal(t, agenda.Never, m.Backlog.Due.LooksFor(e))
	require.Empty(t, bids(m, "a", 8))
	require.False(t, m.Backlog.Due.AnyBids(queueOf(m, "a")))
	m.Agenda.Reshare(m.State.Now)
	require.Equal(t, []string{"bids"}, bids(m, "a", 8), "another turn")

	vain(m.State.Now.Add(berth.Minute))
	require.Empty(t, bids(m, "a", 8))
	require.True(t, m.Backlog.Due.AnyBids(queueOf(m, "a")))
	m.Later(berth.Minute)
	require.Equal(t, []string{"bids"}, bids(m, "a", 8), "it is ripe")
}

// After a plan that did not come true a gang bids no sooner than its own instant.
func TestABidWaitsForTheInstantOfItsGang(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("bids", "a", 1, 8))
	rep.BidsAt = m.State.Now.Add(berth.Hour)
	m.Backlog.Due.NoteEntries(rep)
	require.Empty(t, bids(m, "a", 8))
	m.Later(berth.Hour)
	require.Equal(t, []string{"bids"}, bids(m, "a", 8))
}

func TestNextBidIsTheFirstInstantAtWhichABidderMay(t *testing.T) {
	m := machine(t)
	at := func(d berth.Duration) berth.Time { return m.State.Now.Add(d) }
	for i, after := range []berth.Duration{3, 1, 2} {
		rep := m.Wait(roomtest.Job(berth.JobID("job"+strconv.Itoa(i)), "a", 1, 2+i))
		rep.BidsAt = at(after * berth.Minute)
		m.Backlog.Due.NoteEntries(rep)
	}
	require.Empty(t, bids(m, "a", 8))
	a, any := queueOf(m, "a"), func(*record.Entry) berth.Time { return 0 }
	require.Equal(t, at(berth.Minute), m.Backlog.Due.NextBid(a, agenda.Never, any))
	require.Equal(t, at(berth.Second), m.Backlog.Due.NextBid(a, at(berth.Second), any), "none before the given instant")
	but := func(e *record.Entry) berth.Time {
		if e.Rep.Job.Spec.ID == "job1" {
			return agenda.Never
		}
		return 0
	}
	require.Equal(t, at(2*berth.Minute), m.Backlog.Due.NextBid(a, agenda.Never, but), "the first may not")
}

// A gang for which something is planned does not bid: the next of its bucket does.
func TestAGangWithAPlanDoesNotBid(t *testing.T) {
	m := machine(t)
	first := m.Wait(roomtest.Job("first", "a", 1, 8))
	m.Wait(roomtest.Job("second", "a", 1, 8))
	require.Equal(t, []string{"first"}, bids(m, "a", 8))
	res := m.Plan(first, []string{"n1"})
	require.Equal(t, []string{"second"}, bids(m, "a", 8))
	m.Backlog.EndReservation(res)
	require.Equal(t, []string{"first"}, bids(m, "a", 8))
}

// Of a bucket the first whole gang bids, and beside it the first gang that grows, if that comes
// before it: behind it, the whole gang may have whatever the other could.
func TestAGangThatGrowsBidsIfItComesBeforeAWholeOne(t *testing.T) {
	for priority, want := range map[int32][]string{1: {"grows", "whole"}, -1: {"whole"}} {
		m := machine(t)
		grows := roomtest.Job("grows", "a", 2, 0)
		grows.Groups[0].Claim = berth.SharedGPU(berth.ShareMPS, 500) // of whole GPUs it would prefer other nodes
		grows.Groups[0].MinMembers, grows.Priority = 1, priority
		rep := m.Run(grows, "n1")
		alike := roomtest.Job("whole", "a", 1, 0)
		alike.Groups[0].Claim = grows.Groups[0].Claim
		alike.Groups[0].Selector.Products = []string{"H100"} // as the gang that grows has to have them
		require.Same(t, rep.Entries[0].Bucket, m.Wait(alike).Entries[0].Bucket)
		require.Equal(t, want, bids(m, "a", 8))
	}
}

func TestTheOutlineOfAQueueIsThatOfAllItsBidders(t *testing.T) {
	m := machine(t)
	m.Wait(roomtest.Job("old", "a", 2, 8))
	m.Later(berth.Minute)
	small := m.Wait(roomtest.Job("small", "a", 1, 2))
	urgent := roomtest.Job("urgent", "a", 1, 4)
	urgent.Class = berth.ClassInteractive
	high := m.Wait(urgent)
	outline := func() due.Outline {
		m.Backlog.SyncBids()
		return *m.Backlog.Due.Outline(queueOf(m, "a"))
	}
	require.Equal(t, due.Outline{Since: roomtest.Start, Fewest: 2000, Class: berth.ClassInteractive}, outline())
	m.Life.Forget(high)
	require.Equal(t, due.Outline{Since: roomtest.Start, Fewest: 2000}, outline())
	m.Life.Forget(small)
	require.Equal(t, due.Outline{Since: roomtest.Start, Fewest: 16_000}, outline())
	m.Wait(roomtest.Job("more", "a", 1, 4))
	require.Equal(t, due.Outline{Since: roomtest.Start, Fewest: 4000}, outline(), "one that comes widens it")
}

// Check.

// Invariant 1, and 3: what changes without a note is found.
func TestCheckFindsWhatWasNotNoted(t *testing.T) {
	for name, forget := range map[string]func(*record.Replica){
		"stands otherwise among those that may get a reservation": func(rep *record.Replica) { rep.Reserve.Note().At = agenda.Never },
		"bids with other entries than it has":                     func(rep *record.Replica) { rep.BidsAt = agenda.Never },
	} {
		m := machine(t)
		rep := m.Wait(roomtest.Job("pair", "a", 2, 8))
		m.Later(reserveAfter)
		m.Backlog.Due.SyncHeads()
		m.Backlog.SyncBids()
		require.NoError(t, m.Backlog.CheckDue())
		forget(rep)
		require.ErrorContains(t, m.Backlog.CheckDue(), name)
		m.Backlog.Due.NoteEntries(rep)
		require.NoError(t, m.Backlog.CheckDue(), "once it is noted")
	}
}

// Invariant 2: a bucket that nobody noted has no standing.
func TestCheckFindsABucketWithoutAStanding(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("pair", "a", 2, 8))
	m.Backlog.Due.Forget(rep.Entries[0].Bucket)
	require.ErrorContains(t, m.Backlog.CheckDue(), "has no standing")
	m.Backlog.Due.NoteEntries(rep)
}

// Whatever happens, what is known of each bucket is what a look at it would find: Check is the slow
// twin.
func TestWhatIsDueIsWhatALookWouldFind(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		m := machine(t)
		var waiting []*record.Replica
		pick := func(t *rapid.T) *record.Replica {
			if len(waiting) == 0 {
				t.Skip("nothing waits")
			}
			return waiting[rapid.IntRange(0, len(waiting)-1).Draw(t, "which")]
		}
		many := 0
		t.Repeat(map[string]func(*rapid.T){
			"comes": func(t *rapid.T) {
				many++
				queue := rapid.SampledFrom([]berth.QueueID{"a", "b"}).Draw(t, "queue")
				job := roomtest.Job(berth.JobID("job"+strconv.Itoa(many)), queue, rapid.IntRange(1, 2).Draw(t, "members"), rapid.IntRange(1, 8).Draw(t, "GPUs"))
				job.Priority = int32(rapid.IntRange(0, 1).Draw(t, "priority"))
				waiting = append(waiting, m.Wait(job))
			},
			"goes": func(t *rapid.T) {
				rep := pick(t)
				m.Life.Forget(rep)
				waiting = slices.DeleteFunc(waiting, func(r *record.Replica) bool { return r == rep })
			},
			"is planned": func(t *rapid.T) {
				rep := pick(t)
				if rep.Reserved != nil {
					m.Backlog.EndReservation(rep.Reserved)
				} else {
					m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
				}
			},
			"is held": func(t *rapid.T) {
				rep := pick(t)
				if rapid.Bool().Draw(t, "stalled") && !m.Backlog.Due.Stalled(rep) {
					rep.Reserve.Note().StalledAt = m.Agenda.Stall()
				} else if !m.Backlog.Due.CannotPlan(rep) {
					rep.Reserve.Note().HopelessAt = m.Agenda.Despair()
				}
				m.Backlog.Due.NoteEntries(rep)
			},
			"bids in vain": func(t *rapid.T) {
				e := pick(t).Entries[0]
				e.Bid = record.BidPart{Turn: m.Agenda.PreemptTurn, RipeAt: m.State.Now.Add(berth.Duration(rapid.IntRange(0, 5).Draw(t, "ripe")) * berth.Minute)}
				m.Backlog.Due.NoteBids(e.Bucket)
			},
			"is limited": func(t *rapid.T) {
				if b := pick(t).Entries[0].Bucket; b.QuotaSlot < 0 {
					m.Backlog.QuotaBlock(b)
				} else {
					m.Backlog.WakeLimited()
				}
			},
			"changes":     func(*rapid.T) { m.Agenda.Changed(m.State.Now) },
			"grows":       func(*rapid.T) { m.Agenda.Grew(m.State.Now) },
			"turns":       func(*rapid.T) { m.Agenda.Reshare(m.State.Now) },
			"time goes":   func(*rapid.T) { m.Later(berth.Minute) },
			"looks heads": func(*rapid.T) { m.Backlog.Due.SyncHeads() },
			"looks bids": func(*rapid.T) {
				m.Backlog.SyncBids()
				for _, q := range []string{"a", "b"} {
					m.Backlog.Due.EachDue(queueOf(m, q), math.MaxInt64, func(*record.Entry) bool { return true })
					m.Backlog.Due.Outline(queueOf(m, q))
					if m.Backlog.Due.HeadsOf(due.OneNode).Len() > 0 {
						m.Backlog.Due.EachQueue(func(q *record.Queue) { m.Backlog.Due.Most(q.Index) })
					}
				}
			},
			"": func(t *rapid.T) { require.NoError(t, m.Backlog.CheckDue()) },
		})
	})
}

// A gang may get a reservation no sooner than its turn has come, also if it has waited for long
// before.
func TestAGangMayGetAReservationOnceItsTurnHasCome(t *testing.T) {
	m := roomtest.New(t, berth.Config{Policy: berth.Policy{ReserveAfter: reserveAfter, Stretch: 3}})
	m.Nodes(2, 8)
	m.Queue("a", 8)
	j := roomtest.Job("long", "a", 2, 8)
	j.ExpectedRuntime = berth.Hour
	rep := m.Wait(j)
	m.Later(3*berth.Hour - 1)
	require.Equal(t, rep.Created.Add(3*berth.Hour), m.Backlog.Due.SyncHeads())
	require.Empty(t, heads(m, due.SeveralNodes))
	m.Later(1)
	m.Backlog.Due.SyncHeads()
	require.Equal(t, []string{"long"}, heads(m, due.SeveralNodes))
}
