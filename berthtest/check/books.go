package check

import (
	"maps"
	"math/big"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file keeps the books of GPU time by adding up, over the time between any two steps,
// what was held in it. Nothing is rounded on the way.

// books is what was used under each account, and by each queue.
type books struct {
	accounts map[account]*[2]meter       // allocated, active
	queues   map[berth.QueueID]*[2]meter // under guarantees, borrowed
}

// An account is what time is booked under.
type account struct {
	queue   berth.QueueID
	class   berth.Class
	product string
	tenant  berth.TenantID
	// borrowed: on what is booked in another account, too.
	borrowed bool
}

// A meter adds up a rate in thousandths of a GPU over milliseconds.
type meter struct {
	rate  int64
	sum   big.Int
	since berth.Time
}

func newBooks() *books {
	return &books{accounts: map[account]*[2]meter{}, queues: map[berth.QueueID]*[2]meter{}}
}

// metersOf are those of a key, new ones at first.
func metersOf[K comparable](all map[K]*[2]meter, key K) *[2]meter {
	if all[key] == nil {
		all[key] = &[2]meter{}
	}
	return all[key]
}

// set changes the rate from an instant on.
func (m *meter) set(rate int64, now berth.Time) {
	m.sum.Add(&m.sum, new(big.Int).Mul(big.NewInt(m.rate), big.NewInt(int64(now-m.since))))
	m.rate, m.since = rate, now
}

// read is what was added up until an instant, in whole GPUs x milliseconds.
func (m *meter) read(now berth.Time) int64 {
	m.set(m.rate, now)
	return new(big.Int).Quo(&m.sum, big.NewInt(1000)).Int64()
}

// bookTime: time goes to the account of a member that holds something from now on; sign
// -1: no longer. How much of a GPU is busy is rounded down for each member.
func (c *Checker) bookTime(m *member, sign int64) {
	milli := c.usedMilli(m)
	if c.books == nil || milli == 0 {
		return
	}
	c.bookRates(m, sign*milli, sign*(milli*m.rep.activeMilli/1000))
	c.splitTime(m.rep.job.queue)
}

// usedMilli is what a placed member uses of GPUs: what it costs, or what it borrows.
func (c *Checker) usedMilli(m *member) int64 {
	if m.claim().Borrow != nil {
		return 1000
	}
	return c.cost(m)[quota.GPUMilli]
}

// bookRates changes the rates of the account of a member.
func (c *Checker) bookRates(m *member, allocated, active int64) {
	spec := &m.rep.job.spec
	key := account{spec.Queue, spec.Class, m.node.spec.GPUs[0].Product, spec.Tenant, isBorrower(spec)}
	meters := metersOf(c.books.accounts, key)
	meters[0].set(meters[0].rate+allocated, c.now)
	meters[1].set(meters[1].rate+active, c.now)
}

// splitTime: the time of a queue, and of those above it, is split as its use is now.
func (c *Checker) splitTime(q *queue) {
	for ; c.books != nil && q != nil; q = q.parent {
		meters := metersOf(c.books.queues, q.spec.Name)
		covered := q.covered(quota.GPUMilli)
		meters[0].set(covered, c.now)
		meters[1].set(q.used[quota.GPUMilli]-covered, c.now)
	}
}

// activityReported takes how busy the GPUs of a life are from now on.
func (c *Checker) activityReported(e berth.ActivityReported) error {
	rep := c.find(gangKey{e.Job, e.Replica})
	if rep == nil {
		return broken(PromiseEvents, "the activity of %s/%d was accepted, which does not exist", e.Job, e.Replica)
	}
	if e.Incarnation != rep.incarnation || rep.state == berth.ReplicaPending {
		return broken(PromiseS9, "the activity of incarnation %d of %s was accepted, which is %s in incarnation %d", e.Incarnation, rep, rep.state, rep.incarnation)
	}
	if e.ActiveMilli < 0 || e.ActiveMilli > 1000 {
		return broken(PromiseEvents, "%d thousandths of %s were accepted as busy", e.ActiveMilli, rep)
	}
	c.saw("activity reported")
	before := rep.activeMilli
	rep.activeMilli, rep.quiet.told = int64(e.ActiveMilli), true
	c.noteActivity(rep)
	c.noteIdleness(rep)
	for _, m := range rep.members {
		if m.node == nil || c.books == nil {
			continue
		}
		if milli := c.usedMilli(m); milli > 0 {
			c.bookRates(m, 0, milli*rep.activeMilli/1000-milli*before/1000)
		}
	}
	return nil
}

// ledgerSettled closes the accounts of which nothing is in use.
func (c *Checker) ledgerSettled() error {
	if c.books == nil {
		return broken(PromiseEvents, "a ledger was settled, and none is kept")
	}
	c.saw("ledger settled")
	closed := func(meters *[2]meter) bool { return meters[0].rate == 0 && meters[1].rate == 0 }
	maps.DeleteFunc(c.books.accounts, func(_ account, meters *[2]meter) bool { return closed(meters) })
	maps.DeleteFunc(c.books.queues, func(_ berth.QueueID, meters *[2]meter) bool { return closed(meters) })
	return nil
}

// AgainstLedger holds what Core.Ledger says against the time for which members held GPUs
// since the last settlement. Accounts under which nothing was used yet may be left out.
func (c *Checker) AgainstLedger(lines []berth.LedgerLine, queues []berth.QueueTime) error {
	own := c.books
	if own == nil {
		own = newBooks()
	}
	listed := map[account]bool{}
	for _, l := range lines {
		key := account{l.Queue, l.Class, l.Product, l.Tenant, l.Borrowed}
		meters := metersOf(own.accounts, key)
		if allocated, active := meters[0].read(c.now), meters[1].read(c.now); listed[key] || l.Allocated != allocated || l.Active != active {
			return broken(PromiseLedger, "the ledger has %d GPU-milliseconds, %d of them active, under %+v; it is %d and %d", l.Allocated, l.Active, key, allocated, active)
		}
		listed[key] = true
	}
	for key, meters := range own.accounts {
		if !listed[key] && meters[0].read(c.now) > 0 {
			return broken(PromiseLedger, "the ledger leaves out the %d GPU-milliseconds under %+v", meters[0].read(c.now), key)
		}
	}
	return c.againstSplits(own, queues)
}

func (c *Checker) againstSplits(own *books, queues []berth.QueueTime) error {
	listed := map[berth.QueueID]bool{}
	for _, q := range queues {
		meters := metersOf(own.queues, q.Queue)
		if guaranteed, borrowed := meters[0].read(c.now), meters[1].read(c.now); listed[q.Queue] || q.Guaranteed != guaranteed || q.Borrowed != borrowed {
			return broken(PromiseLedger, "the ledger has queue %s use %d GPU-milliseconds under guarantees and %d borrowed; it is %d and %d",
				q.Queue, q.Guaranteed, q.Borrowed, guaranteed, borrowed)
		}
		listed[q.Queue] = true
	}
	for _, name := range slices.Sorted(maps.Keys(own.queues)) {
		if meters := own.queues[name]; !listed[name] && meters[0].read(c.now)+meters[1].read(c.now) > 0 {
			return broken(PromiseLedger, "the ledger leaves out queue %s", name)
		}
	}
	return nil
}
