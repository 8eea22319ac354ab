package check_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about what queues lend and borrow, their
// turns, and the books of it.

// queue states of a queue what differs from nothing; amounts are whole GPUs.
func (z *zoo) queue(name, parent string, change ...func(*quota.Queue)) {
	q := quota.Queue{Name: berth.QueueID(name), Parent: berth.QueueID(parent)}
	for _, c := range change {
		c(&q)
	}
	z.queues[name] = q
	z.tell(berth.QueueSet{Queue: q})
}

func gpus(n int64) quota.Amounts { return quota.Amounts{quota.GPUMilli: 1000 * n} }

func promised(n int64) func(*quota.Queue) { return func(q *quota.Queue) { q.Guarantee = gpus(n) } }
func lends(n int64) func(*quota.Queue)    { return func(q *quota.Queue) { q.LendingLimit = gpus(n) } }

func borrows(n int64) func(*quota.Queue) { return func(q *quota.Queue) { q.BorrowingLimit = gpus(n) } }
func limited(n int64) func(*quota.Queue) { return func(q *quota.Queue) { q.Limit = gpus(n) } }
func first(q *quota.Queue)               { q.Priority = 1 }

// in puts a job into a queue.
func in(queue berth.QueueID) func(*berth.Job) { return func(j *berth.Job) { j.Queue = queue } }

// tenants are two queues, each with a team, and show what is reserved: nothing.
func (z *zoo) tenants(a, b func(*quota.Queue)) {
	z.queue("a", "", a)
	z.queue("a1", "a")
	z.queue("b", "", b)
	z.queue("b1", "b")
}

// look shows the checker an idle fleet in which nothing is reserved, and so many wait in
// each queue.
func (z *zoo) look(waiting map[berth.QueueID]int) {
	r := z.report(0)
	for _, n := range waiting {
		r.Replicas.Pending += n
	}
	r.Waiting.Capacity = r.Replicas.Pending
	for name, q := range z.queues {
		at := slices.IndexFunc(r.Queues, func(have berth.QueueReport) bool { return string(have.Queue) == name })
		if at < 0 {
			at, r.Queues = len(r.Queues), append(r.Queues, berth.QueueReport{Queue: berth.QueueID(name)})
		}
		r.Queues[at].LimitMilli = nil
		if limit, limited := q.Limit[quota.GPUMilli]; limited {
			r.Queues[at].LimitMilli = &limit
		}
	}
	for i := range r.Queues {
		r.Queues[i].WaitingReplicas = waiting[r.Queues[i].Queue]
	}
	slices.SortFunc(r.Queues, func(a, b berth.QueueReport) int { return cmp.Compare(a.Queue, b.Queue) })
	require.NoError(z.t, z.against(r))
}

// turns has a job wait in a1 and one in b1, and starts that of b1.
func (z *zoo) turns(a, b func(*quota.Queue), change ...func(*berth.Job)) error {
	z.tenants(a, b)
	z.submit("mine", 1, append(change, in("a1"))...)
	z.submit("theirs", 1, in("b1"))
	z.look(map[berth.QueueID]int{"a1": 1, "b1": 1})
	return z.try(z.bind("theirs", on(0, "n1", 0)))
}

func plain(*quota.Queue) {}

// forGood has a job be never preempted.
func forGood(j *berth.Job) { j.NonPreemptible = true }

func both(changes ...func(*quota.Queue)) func(*quota.Queue) {
	return func(q *quota.Queue) {
		for _, c := range changes {
			c(q)
		}
	}
}

// six places a gang of as many members, one GPU each, as the fleet has.
func six(n int) []berth.MemberPlacement {
	var at []berth.MemberPlacement
	for i := range n {
		at = append(at, on(i, berth.NodeID(fmt.Sprintf("n%d", 1+i/2)), i%2))
	}
	return at
}

var lending = []animal{
	{check.PromiseLimits, "jobs that are never preempted hold more than a guarantee", func(z *zoo) error {
		z.queue("a", "", func(q *quota.Queue) { q.Guarantee = quota.Amounts{quota.GPUMilli: 1000} })
		z.singles("a", "u", forGood)
		z.submit("one", 1, in("a"), forGood)
		return z.try(z.bind("one", on(0, "n1", 1)))
	}},
	{check.PromiseLimits, "a queue borrows more than it may", func(z *zoo) error {
		z.tenants(plain, both(promised(1), borrows(1)))
		z.submit("j", 3, in("b1"))
		return z.try(z.bind("j", six(3)...))
	}},
	{check.PromiseLimits, "a queue above borrows more than those below it are guaranteed and it may", func(z *zoo) error {
		z.tenants(plain, borrows(0))
		z.queue("b1", "b", promised(1))
		z.submit("j", 2, in("b1"))
		return z.try(z.bind("j", six(2)...))
	}},
	{check.PromiseLimits, "a borrowing limit on a product is not kept", func(z *zoo) error {
		z.tenants(plain, func(q *quota.Queue) { q.BorrowingLimit = quota.Amounts{quota.GPUMilliOf("H100"): 0} })
		z.submit("j", 1, in("b1"))
		return z.try(z.bind("j", on(0, "n1", 0)))
	}},
	{check.PromiseLimits, "what is not lent is taken", func(z *zoo) error {
		z.tenants(both(promised(3), lends(1)), plain)
		z.submit("j", 5, in("b1"))
		return z.try(z.bind("j", six(5)...))
	}},
	{check.PromiseLimits, "what is not lent is taken by a sibling, of what a limit leaves to both", func(z *zoo) error {
		z.queue("q", "org", promised(2), lends(0))
		z.submit("j", 4, in("free"))
		return z.try(z.bind("j", six(4)...))
	}},
	{check.PromiseLimits, "what is not lent is taken when a node has gone", func(z *zoo) error {
		z.tenants(both(promised(3), lends(1)), plain)
		z.tell(berth.NodeCordoned{Node: "n3"})
		z.submit("j", 3, in("b1"))
		return z.try(z.bind("j", six(3)...))
	}},
	{check.PromiseLimits, "what is not lent of a product is taken", func(z *zoo) error {
		z.tenants(func(q *quota.Queue) {
			q.Guarantee = quota.Amounts{quota.GPUMilli: 6000, quota.GPUMilliOf("H100"): 6000}
			q.LendingLimit = quota.Amounts{quota.GPUMilliOf("H100"): 1000}
		}, plain)
		z.submit("j", 2, in("b1"))
		return z.try(z.bind("j", six(2)...))
	}},
	{check.PromiseLimits, "what a team does not lend is taken by a team that has borrowed from its organisation", func(z *zoo) error {
		z.tenants(promised(4), plain)
		z.queue("a1", "a", promised(3), lends(1))
		z.submit("j", 5, in("b1"))
		return z.try(z.bind("j", six(5)...))
	}},
	{check.PromiseEvents, "children are guaranteed more than their parent", func(z *zoo) error {
		z.tenants(promised(1), plain)
		return z.c.Applied(z.now, berth.QueueSet{Queue: quota.Queue{Name: "a1", Parent: "a", Guarantee: gpus(2)}})
	}},
	{check.PromiseEvents, "a guarantee exceeds a limit above it", func(z *zoo) error {
		z.tenants(limited(1), plain)
		return z.c.Applied(z.now, berth.QueueSet{Queue: quota.Queue{Name: "a1", Parent: "a", Guarantee: gpus(2)}})
	}},

	{check.PromiseEligibility, "a queue that borrows is served before one within its guarantee", func(z *zoo) error {
		return z.turns(promised(1), plain)
	}},
	{check.PromiseEligibility, "a queue that would borrow with it is served before one within its guarantee", func(z *zoo) error {
		return z.turns(promised(1), func(q *quota.Queue) { q.Guarantee = quota.Amounts{quota.GPUMilli: 999} })
	}},
	{check.PromiseEligibility, "a team that borrows is started before its sibling that is owed", func(z *zoo) error {
		z.tenants(promised(4), plain)
		z.queue("a1", "a", promised(1))
		z.queue("a2", "a")
		z.submit("mine", 1, in("a1"))
		z.submit("theirs", 1, in("a2"))
		z.look(map[berth.QueueID]int{"a1": 1, "a2": 1})
		return z.try(z.bind("theirs", on(0, "n1", 0)))
	}},
	{check.PromiseEligibility, "a silent team is not owed what its project is", func(z *zoo) error {
		z.tenants(plain, plain)
		z.queue("a1", "a", promised(1))
		z.submit("mine", 1, in("a1"))
		z.submit("theirs", 1, in("b1"))
		z.look(map[berth.QueueID]int{"a1": 1, "b1": 1})
		return z.try(z.bind("theirs", on(0, "n1", 0)))
	}},
	{check.PromiseEligibility, "priority between borrowers is ignored", func(z *zoo) error {
		return z.turns(first, plain)
	}},
	{check.PromiseEligibility, "priority between queues within their guarantees is ignored", func(z *zoo) error {
		return z.turns(both(first, promised(1)), promised(4))
	}},

	{check.PromiseLedger, "time is booked that nobody had", func(z *zoo) error {
		lines, queues := z.booked()
		lines[0].Allocated++
		return z.c.AgainstLedger(lines, queues)
	}},
	{check.PromiseLedger, "time is booked twice", func(z *zoo) error {
		lines, queues := z.booked()
		return z.c.AgainstLedger(append(lines, lines[0]), queues)
	}},
	{check.PromiseLedger, "time is booked for somebody else", func(z *zoo) error {
		lines, queues := z.booked()
		lines[0].Tenant = "bob"
		return z.c.AgainstLedger(lines, queues)
	}},
	{check.PromiseLedger, "idle time is called active", func(z *zoo) error {
		lines, queues := z.booked()
		lines[0].Active = lines[0].Allocated
		return z.c.AgainstLedger(lines, queues)
	}},
	{check.PromiseLedger, "an account is left out", func(z *zoo) error {
		_, queues := z.booked()
		return z.c.AgainstLedger(nil, queues)
	}},
	{check.PromiseLedger, "borrowed time is called guaranteed", func(z *zoo) error {
		lines, queues := z.booked()
		queues[0].Guaranteed, queues[0].Borrowed = queues[0].Guaranteed+1, queues[0].Borrowed-1
		return z.c.AgainstLedger(lines, queues)
	}},
	{check.PromiseLedger, "a queue is left out", func(z *zoo) error {
		lines, queues := z.booked()
		return z.c.AgainstLedger(lines, queues[1:])
	}},
	{check.PromiseLedger, "what was billed is kept", func(z *zoo) error {
		lines, queues := z.booked()
		z.tell(berth.JobFinished{Job: "j", Incarnation: 1})
		z.tell(berth.LedgerSettled{})
		return z.c.AgainstLedger(lines, queues)
	}},
	{check.PromiseEvents, "a ledger is settled that is not kept", func(z *zoo) error {
		z.c = check.New(berth.Config{})
		return z.c.Applied(0, berth.LedgerSettled{})
	}},
	{check.PromiseEvents, "a gang is busier than can be", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.ActivityReported{Job: "a", Incarnation: 1, ActiveMilli: 1001})
	}},
	{check.PromiseS9, "the activity of a former life is accepted", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.ActivityReported{Job: "a"})
	}},
}

// booked has a job of two GPUs run for ten milliseconds in b1, which is guaranteed one,
// half busy, and returns what a ledger has of it.
func (z *zoo) booked() ([]berth.LedgerLine, []berth.QueueTime) {
	z.tenants(plain, plain)
	z.queue("b1", "b", promised(1))
	z.running("j", 2, in("b1"))
	z.tell(berth.ActivityReported{Job: "j", Incarnation: 1, ActiveMilli: 500})
	z.now += 10
	z.pass()
	lines := []berth.LedgerLine{{Queue: "b1", Product: "H100", Allocated: 20, Active: 10}}
	queues := []berth.QueueTime{{Queue: "b", Guaranteed: 10, Borrowed: 10}, {Queue: "b1", Guaranteed: 10, Borrowed: 10}}
	require.NoError(z.t, z.c.AgainstLedger(lines, queues))
	return lines, queues
}

// TestLendingRightly: what looks wrong at first sight and is right.
func TestLendingRightly(t *testing.T) {
	for name, do := range map[string]func(z *zoo) error{
		"a queue uses what it keeps": func(z *zoo) error {
			z.tenants(both(promised(6), lends(0)), plain)
			z.submit("j", 6, in("a1"))
			return z.try(z.bind("j", six(6)...))
		},
		"and all that it lends is borrowed": func(z *zoo) error {
			z.tenants(both(promised(3), lends(1)), plain)
			z.submit("j", 4, in("b1"))
			return z.try(z.bind("j", six(4)...))
		},
		"a queue uses what it keeps, though the fleet has less than is in use and kept": func(z *zoo) error {
			z.tenants(both(promised(3), lends(0)), plain)
			z.running("theirs", 3, in("b1"))
			z.tell(berth.NodeCordoned{Node: "n1"})
			z.submit("mine", 1, in("a1"))
			return z.try(z.bind("mine", on(0, "n3", 0)))
		},
		"what is in use where no work is taken is none of what is kept": func(z *zoo) error {
			z.tenants(both(promised(3), lends(0)), plain)
			z.running("theirs", 2, in("b1"))
			z.tell(berth.NodeCordoned{Node: "n1"})
			z.submit("more", 1, in("b1"))
			return z.try(z.bind("more", on(0, "n2", 0)))
		},
		"a borrower grows up to its bound": func(z *zoo) error {
			z.tenants(plain, both(promised(1), borrows(2)))
			z.submit("j", 3, in("b1"))
			return z.try(z.bind("j", six(3)...))
		},
		"a queue within its guarantee comes first":                    func(z *zoo) error { return z.turns(plain, promised(1)) },
		"of two that borrow anyone":                                   func(z *zoo) error { return z.turns(plain, plain) },
		"of two that are owed anyone":                                 func(z *zoo) error { return z.turns(promised(1), promised(4)) },
		"a queue within its guarantee comes before a higher priority": func(z *zoo) error { return z.turns(first, promised(1)) },
		"a queue within its guarantee cannot start": func(z *zoo) error {
			return z.turns(promised(1), plain, func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{"red"} })
		},
		"a queue within its guarantee may have no more": func(z *zoo) error {
			z.tenants(plain, plain)
			z.queue("a", "", promised(1), limited(1))
			z.submit("mine", 2, in("a1"))
			z.submit("theirs", 1, in("b1"))
			z.look(map[berth.QueueID]int{"a1": 1, "b1": 1})
			return z.try(z.bind("theirs", on(0, "n1", 0)))
		},
		"it is not certain that the queue stands for the job that is owed": func(z *zoo) error {
			z.tenants(promised(1), plain)
			z.submit("mine", 1, in("a1"))
			z.submit("large", 2, in("a1"))
			z.submit("theirs", 1, in("b1"))
			z.look(map[berth.QueueID]int{"a1": 2, "b1": 1})
			return z.try(z.bind("theirs", on(0, "n1", 0)))
		},
	} {
		require.NoError(t, do(newZoo(t)), name)
	}
}

// TestBooksRightly: accounts go on over lives and settlements.
func TestBooksRightly(t *testing.T) {
	z := newZoo(t)
	z.booked()
	z.tell(berth.LedgerSettled{})
	require.NoError(t, z.c.AgainstLedger(
		[]berth.LedgerLine{{Queue: "b1", Product: "H100", Allocated: 20, Active: 10}},
		[]berth.QueueTime{{Queue: "b", Guaranteed: 10, Borrowed: 10}, {Queue: "b1", Guaranteed: 10, Borrowed: 10}},
	), "what is in use is not settled")
	z.queue("b1", "b", promised(2))
	z.now += 10
	z.pass()
	z.tell(berth.JobFinished{Job: "j", Incarnation: 1})
	z.now += 10
	z.pass()
	require.NoError(t, z.c.AgainstLedger(
		[]berth.LedgerLine{{Queue: "b1", Product: "H100", Allocated: 40, Active: 20}},
		[]berth.QueueTime{{Queue: "b", Guaranteed: 30, Borrowed: 10}, {Queue: "b1", Guaranteed: 30, Borrowed: 10}},
	))
	z.tell(berth.LedgerSettled{})
	require.NoError(t, z.c.AgainstLedger(nil, nil))
}

// Room is made for a gang that is never preempted, and a node of it is cordoned: another job that
// is never preempted may have the guarantee instead, in a pass before a report tells of it.
func TestAPlanThatMayBeOverHoldsNoGuarantee(t *testing.T) {
	z := newZoo(t)
	z.tenants(plain, plain)
	z.queue("a1", "a", func(q *quota.Queue) { q.Guarantee = quota.Amounts{quota.GPUMilli: 2000} })
	z.singles("a1", "uvwxyz")
	z.submit("gang", 2, in("a1"), ahead, forGood)
	z.submit("one", 1, in("a1"), ahead, forGood)
	z.pass(z.stop("y", berth.CausePreempted, "gang"), z.stop("z", berth.CausePreempted, "gang"))
	z.tell(berth.NodeCordoned{Node: "n3"})
	z.tell(berth.JobFinished{Job: "u", Incarnation: 1})
	z.pass(z.bind("one", z.places["u"]))
}
