package books_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// ranked is a job of one member of one GPU, of a class and a priority.
func ranked(id berth.JobID, class berth.Class, priority int32) berth.Job {
	j := roomtest.Job(id, "a", 1, 1)
	j.Class, j.Priority = class, priority
	return j
}

func TestOnlyALowerRankIsPreemptedAndNothingLatencyCritical(t *testing.T) {
	m := machine(t, berth.Config{})
	mid := m.Wait(ranked("mid", berth.ClassInteractive, 5))
	for _, c := range []struct {
		class    berth.Class
		priority int32
		may      bool
	}{
		{berth.ClassBatch, 9, true},
		{berth.ClassInteractive, 4, true},
		{berth.ClassInteractive, 5, false},
		{berth.ClassInteractive, 6, false},
		{berth.ClassLatencyCritical, 0, false},
	} {
		victim := m.Wait(ranked(berth.JobID("v"+c.class.String()+string('0'+c.priority)), c.class, c.priority))
		require.Equal(t, c.may, books.MayPreempt(mid, victim), "%v %d", c.class, c.priority)
	}
	critical := m.Wait(ranked("critical", berth.ClassLatencyCritical, 9))
	require.False(t, books.MayPreempt(critical, m.Wait(ranked("other", berth.ClassLatencyCritical, 0))))
}

// Order: the lower class, the lower priority, the latest to begin; then the last by name.
func TestTheFirstVictimIsTheLowestInRankThatCameLast(t *testing.T) {
	m := machine(t, berth.Config{})
	want := []string{"batch-new", "batch-old-b", "batch-old-a", "batch-high", "interactive"}
	m.Run(ranked("interactive", berth.ClassInteractive, 0), "n1")
	m.Run(ranked("batch-high", berth.ClassBatch, 1), "n1")
	m.RunSince(m.State.Now-5, ranked("batch-old-a", berth.ClassBatch, 0), "n1")
	m.RunSince(m.State.Now-5, ranked("batch-old-b", berth.ClassBatch, 0), "n1")
	m.RunSince(m.State.Now-1, ranked("batch-new", berth.ClassBatch, 0), "n1")
	var got []string
	queueOf(m, "a").Running.Ascend(func(rep *record.Replica) bool {
		got = append(got, string(rep.Job.Spec.ID))
		return true
	})
	require.Equal(t, want, got)
}

// Sizes: what runs and has no surplus, by what it is charged.

func TestQueuesCountWhatRunsBySize(t *testing.T) {
	m := machine(t, berth.Config{})
	a := queueOf(m, "a")
	m.Run(roomtest.Job("one", "a", 1, 1), "n1")
	pair := m.Run(roomtest.Job("pair", "a", 2, 1), "n1", "n1")
	m.Run(roomtest.Job("two", "a", 1, 2), "n1")
	stretches := roomtest.Job("stretches", "a", 2, 1)
	stretches.Groups[0].MinMembers = 1
	m.Run(stretches, "n2", "n2")
	require.Equal(t, []quota.SizeCount{{Size: 2000, Count: 2}, {Size: 1000, Count: 1}}, a.Sizes)
	require.Equal(t, 1, a.Elastic.Len(), "a gang that may shrink has no one size")
	require.Equal(t, int64(2000), pair.RunsMilli)
	m.Life.TakeBack(pair, berth.Cause{Code: berth.CausePreempted}, false)
	require.Equal(t, []quota.SizeCount{{Size: 2000, Count: 1}, {Size: 1000, Count: 1}}, a.Sizes)
	require.Zero(t, pair.RunsMilli)
}

func TestSizesGoFromTheLargestToTheSmallestAndNoneIsEmpty(t *testing.T) {
	var sizes []quota.SizeCount
	for _, size := range []int64{3, 1, 2, 3} {
		sizes = books.AddSize(sizes, size, 1)
	}
	require.Equal(t, []quota.SizeCount{{Size: 3, Count: 2}, {Size: 2, Count: 1}, {Size: 1, Count: 1}}, sizes)
	sizes = books.AddSize(sizes, 2, -1)
	sizes = books.AddSize(sizes, 3, -1)
	require.Equal(t, []quota.SizeCount{{Size: 3, Count: 1}, {Size: 1, Count: 1}}, sizes)
}

// Shares. The fleet has 20 GPUs, of which a is guaranteed 8.

func left(m *roomtest.Machine, queue string) (share, guaranteed int64, lent bool) {
	m.Books.TellDemands()
	return m.Books.AllShares().Left(queueOf(m, queue))
}

func TestAQueueMayHaveItsShareBeyondWhatItUses(t *testing.T) {
	m := machine(t, berth.Config{})
	m.Run(roomtest.Job("b1", "b", 2, 8), "n1", "n2")
	m.Wait(roomtest.Job("a1", "a", 1, 8))
	share, guaranteed, lent := left(m, "a")
	require.Equal(t, int64(8000), share)
	require.Equal(t, int64(8000), guaranteed)
	require.True(t, lent, "b uses more than it is guaranteed")
	require.Equal(t, int64(8000), m.Books.Owed(queueOf(m, "a")))
	share, guaranteed, lent = left(m, "b")
	require.Equal(t, int64(-4000), share, "of its fair share, 12")
	require.Equal(t, int64(-16_000), guaranteed)
	require.False(t, lent, "it alone is beyond its guarantee")
	require.Equal(t, []quota.QueueIndex{queueOf(m, "b").Index}, m.Books.AllShares().Over(nil))
}

// The shares follow what was told alone: a queue that nothing has touched is not looked at again.
func TestDemandIsToldOfTheQueuesThatWereTouched(t *testing.T) {
	m := machine(t, berth.Config{})
	m.Books.TellDemands()
	require.Empty(t, m.Books.Touched)
	rep := m.Wait(roomtest.Job("a1", "a", 2, 8))
	require.Equal(t, []*record.Queue{queueOf(m, "a")}, m.Books.Touched)
	require.Equal(t, int64(16_000), queueOf(m, "a").WaitingMilli)
	m.Books.TellDemands()
	require.Equal(t, int64(16_000), m.Books.Shares.Of(rep.Job.Queue))
	m.Life.Forget(rep)
	m.Books.TellDemands()
	require.Zero(t, queueOf(m, "a").WaitingMilli)
	require.Zero(t, m.Books.Shares.Of(rep.Job.Queue))
}

func TestWhatAllQueuesWaitForIsAsked(t *testing.T) {
	m := machine(t, berth.Config{})
	require.Zero(t, m.Books.AskedMilli())
	first := m.Wait(roomtest.Job("a1", "a", 2, 8))
	m.Wait(roomtest.Job("b1", "b", 1, 4))
	require.Equal(t, int64(20_000), m.Books.AskedMilli())
	m.Life.Forget(first)
	require.Equal(t, int64(4000), m.Books.AskedMilli())
	for _, q := range []string{"a", "b"} {
		queueOf(m, q).WaitingMilli = quota.MaxAmount
	}
	require.Equal(t, int64(quota.MaxAmount), m.Books.AskedMilli(), "and no more")
	queueOf(m, "a").WaitingMilli, queueOf(m, "b").WaitingMilli = 0, 4000
}

// Where a node of another product joins, a request may be charged differently, and all demand is
// counted anew.
func TestDemandIsCountedAnewWithTheKindsOfNodes(t *testing.T) {
	m := machine(t, berth.Config{})
	rep := m.Wait(roomtest.Job("a1", "a", 2, 8))
	m.Books.TellDemands()
	queueOf(m, "a").WaitingMilli = 1
	m.Books.TellDemands()
	require.Equal(t, int64(1), queueOf(m, "a").WaitingMilli, "as it was")
	third := roomtest.Node("h1", 8)
	for g := range third.GPUs {
		third.GPUs[g].Product, third.GPUs[g].MIGTable = "H200", ""
	}
	m.Join(third)
	m.Books.TellDemands()
	require.Equal(t, int64(16_000), queueOf(m, "a").WaitingMilli)
	m.Life.Forget(rep)
}

func TestAShareIsExceededByTheOneAndNotByTheOther(t *testing.T) {
	m := machine(t, berth.Config{})
	m.Run(roomtest.Job("b1", "b", 2, 5), "n1", "n2")
	m.Wait(roomtest.Job("a1", "a", 1, 8))
	m.Wait(roomtest.Job("b2", "b", 2, 8))
	m.Books.TellDemands() // a 8, b 12
	b := queueOf(m, "b").Index
	require.False(t, m.Books.ExceedsShare(b, 2000, 1000))
	require.True(t, m.Books.ExceedsShare(b, 3000, 2000))
	require.False(t, m.Books.ExceedsShare(b, 4000, 3000), "both do")
}

// Invariant 3: earmarks are charged between two instants of a pass alone. While they are, a queue
// is not said to borrow on their account.
func TestWhatIsEarmarkedIsNotCountedAsBorrowed(t *testing.T) {
	m := machine(t, berth.Config{})
	victim := m.Run(roomtest.Job("victim", "a", 1, 8), "n1")
	to := m.Wait(roomtest.Job("to", "b", 1, 8))
	m.Plan(to, []string{"n1"}, victim)
	m.Backlog.Earmark(true)
	require.True(t, m.Books.Earmarked)
	require.Equal(t, int64(8000), used(m, "b"))
	m.Stopped(victim)
	require.False(t, queueOf(m, "b").Over)
	m.Backlog.Earmark(false)
	require.False(t, m.Books.Earmarked)
	require.Zero(t, used(m, "b"))
	require.False(t, queueOf(m, "a").Over, "what was charged meanwhile is counted then")
}

func TestAQueueThatUsesMoreThanItsGuaranteeIsOver(t *testing.T) {
	m := machine(t, berth.Config{})
	m.Run(roomtest.Job("a1", "a", 1, 8), "n1")
	require.False(t, queueOf(m, "a").Over)
	extra := m.Run(roomtest.Job("a2", "a", 1, 1), "n2")
	require.True(t, queueOf(m, "a").Over)
	_, _, lent := left(m, "b")
	require.True(t, lent)
	m.Life.TakeBack(extra, berth.Cause{Code: berth.CausePreempted}, false)
	m.Stopped(extra)
	require.False(t, queueOf(m, "a").Over)
}

func TestKeepersAreQueuesThatDoNotLendAll(t *testing.T) {
	m := machine(t, berth.Config{})
	require.Zero(t, m.Books.Keeping)
	keeps := quota.Queue{Name: "b", LendingLimit: quota.GPUs(0)}
	m.SetQueue(keeps)
	m.SetQueue(keeps)
	require.Equal(t, 1, m.Books.Keeping)
	m.SetQueue(quota.Queue{Name: "b"})
	require.Zero(t, m.Books.Keeping)
}

// PolicyOrder: entries of many queues in policy order, each charged as if it had started.

func entries(reps ...*record.Replica) (list []*record.Entry) {
	for _, rep := range reps {
		list = append(list, rep.Entries[0])
	}
	return list
}

// served takes the entries in turn off a policy order, and names them.
func served(m *roomtest.Machine, r *books.PolicyOrder) (order []string) {
	for e := r.Next(); e != nil; e = r.Next() {
		order = append(order, string(e.Rep.Job.Spec.ID))
		r.Charge(e)
		r.Pop(e)
	}
	return order
}

// block takes all that waits out of the ready list, so that no queue is active.
func block(m *roomtest.Machine, reps ...*record.Replica) {
	for _, rep := range reps {
		m.State.Compile(rep.Job.Shape())
		if rep.Job.Shape().BlockedAt < 0 {
			m.Backlog.Block(rep.Job.Shape())
		}
	}
}

func TestARotaServesQueuesAsIfWhatHadItsTurnHadStarted(t *testing.T) {
	m := machine(t, berth.Config{})
	a1, a2, a3 := m.Wait(roomtest.Job("a1", "a", 1, 4)), m.Wait(roomtest.Job("a2", "a", 1, 4)), m.Wait(roomtest.Job("a3", "a", 1, 4))
	b1, b2 := m.Wait(roomtest.Job("b1", "b", 1, 4)), m.Wait(roomtest.Job("b2", "b", 1, 4))
	block(m, a1, a2, a3, b1, b2)
	r := m.Books.NewPolicyOrder(entries(b2, a3, a1, b1, a2))
	require.Equal(t, []string{"a1", "a2", "a3", "b1", "b2"}, served(m, r), "a is owed 8 GPUs; then both borrow, and ties go to the smaller name")
	require.Equal(t, int64(12_000), used(m, "a"))
	require.Equal(t, 5, m.Books.Turns)
	r.End()
	require.Zero(t, used(m, "a"))
	_, some := m.State.Quota.Next()
	require.False(t, some, "it leaves no trace")
}

func TestARotaTakesMoreAndDropsWhatIsAlike(t *testing.T) {
	m := machine(t, berth.Config{})
	a1, a2 := m.Wait(roomtest.Job("a1", "a", 1, 4)), m.Wait(roomtest.Job("a2", "a", 1, 2))
	b1 := m.Wait(roomtest.Job("b1", "b", 1, 4))
	block(m, a1, a2, b1)
	r := m.Books.NewPolicyOrder(entries(a1))
	r.Add(a2.Entries[0])
	r.Add(b1.Entries[0])
	r.RemoveAll(a1.Job.Queue, func(e *record.Entry) bool { return e.Rep == a1 })
	require.Equal(t, []string{"a2", "b1"}, served(m, r))
	r.End()
}

// heads lists the queues and their entries, and counts the queues that were asked for all.
type heads struct {
	by    map[*record.Queue][]*record.Entry
	order []*record.Queue
	asked int
}

func (h *heads) EachQueue(f func(*record.Queue, *record.Entry) bool) {
	for _, q := range h.order {
		if !f(q, h.by[q][0]) {
			return
		}
	}
}

func (h *heads) EachHead(q quota.QueueIndex, f func(*record.Entry) bool) {
	h.asked++
	for _, queue := range h.order {
		for _, e := range h.by[queue] {
			if queue.Index == q && !f(e) {
				return
			}
		}
	}
}

func TestARotaOfHeadsLooksAtAQueueWhenItHasItsTurn(t *testing.T) {
	m := machine(t, berth.Config{})
	a1, a2 := m.Wait(roomtest.Job("a1", "a", 1, 4)), m.Wait(roomtest.Job("a2", "a", 1, 3))
	b1 := m.Wait(roomtest.Job("b1", "b", 1, 4))
	block(m, a1, a2, b1)
	a, b := queueOf(m, "a"), queueOf(m, "b")
	h := &heads{by: map[*record.Queue][]*record.Entry{a: entries(a1, a2), b: entries(b1)}, order: []*record.Queue{a, b}}
	r := m.Books.NewPolicyOrderOfHeads(h)
	e := r.Next()
	require.Same(t, a1, e.Rep)
	require.Equal(t, 1, h.asked)
	r.Charge(e)
	r.Pop(e)
	require.Same(t, a2, r.Next().Rep)
	require.Equal(t, 1, h.asked, "b has not had its turn")
	r.End()
	require.Zero(t, used(m, "a"))
}
