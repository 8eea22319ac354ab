package core

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
)

// Who of those that wait may take from others is told from what is kept of each queue, so
// that a pass looks no further where nobody may.

// touch notes that what a queue uses or waits for has changed.
func (c *Core) touch(q *queue) {
	if !q.touched {
		q.touched = true
		c.touched = append(c.touched, q)
	}
}

// countKeeper counts the queues that do not lend all that they are guaranteed.
func (c *Core) countKeeper(q *queue, keeps bool) { count(&c.keeping, &q.keeps, keeps) }

// count counts who is something now that it was not, or no longer.
func count(n *int, is *bool, now bool) {
	switch {
	case now && !*is:
		*n++
	case *is && !now:
		*n--
	}
	*is = now
}

// recountQueue brings up to date what follows from a queue's place in the tree.
func (c *Core) recountQueue(i quota.Index) {
	c.countLender(i)
	c.touch(c.queues[i])
}

// countDemand counts what entries of a bucket wait for, or wait for no longer.
func (c *Core) countDemand(b *bucket, entries int64) {
	c.compile(b.shape)
	b.queue.waitingMilli += entries * b.shape.charge.GPUMilli
	c.touch(b.queue)
}

// countLender keeps count of the queues that use more GPUs than they are guaranteed: as long
// as there are none, nobody has anything to give back.
func (c *Core) countLender(i quota.Index) {
	over := c.quota.Leaf(i) && c.quota.Used(i, quota.GPU) > c.quota.Guaranteed(i, quota.GPU)
	count(&c.over, &c.queues[i].over, over)
}

// demands tells the fair shares what each queue wants: what it uses and what waits. What is
// asked for may be another charge when there are other nodes to have it on.
func (c *Core) demands() {
	if c.demandVersion != c.classes.version {
		c.demandVersion = c.classes.version
		for _, q := range c.queues {
			if q == nil {
				continue
			}
			q.waitingMilli = 0
			for _, b := range q.list {
				c.countDemand(b, int64(b.entries.Len()))
			}
		}
	}
	for _, q := range c.touched {
		q.touched = false
		if c.queues[q.index] == q && c.quota.Leaf(q.index) {
			must(c.shares.SetDemand(q.index, min(c.quota.Used(q.index, quota.GPU)+q.waitingMilli, quota.MaxAmount)))
		}
	}
	clear(c.touched)
	c.touched = c.touched[:0]
}

// nextBid is when a pass has to look for whom somebody may take from.
func (c *Core) nextBid() berth.Time {
	switch {
	case nobodyYields(&c.config.Policy):
		return never
	case c.agenda.nextPreempt > c.now:
		return c.agenda.nextPreempt
	}
	list, next := c.contenders()
	if len(list) > 0 {
		next = c.now
	}
	return max(next, c.evictionsReady())
}

// contenders lists the first entries of buckets that may take from others, or for whom others
// may be moved, as far as it can be told without looking for whom, and if it is time to look;
// next is when it is for one more. O(queues), and O(buckets) of those queues that may.
func (c *Core) contenders() (list []*entry, next berth.Time) {
	c.demands()
	mode := c.config.Policy.Preemption.Mode
	moves := c.config.Policy.Moves.Mode == berth.MovesOrdered
	next = never
	for _, q := range c.queues {
		if q == nil || q.waiting == 0 {
			continue
		}
		room := int64(0)
		if mode != berth.PreemptNever {
			room = c.roomInShare(q)
		}
		least, some := q.running.Min()
		some = some && mode == berth.PreemptAndReclaim
		if room <= 0 && !some && !moves {
			continue
		}
		for _, b := range q.list {
			e := b.bidder()
			if b.slot >= 0 || e == nil {
				continue
			}
			at := c.looksFor(e.rep)
			if at == never {
				continue
			}
			c.compile(b.shape)
			asked := b.shape.least.GPUMilli
			switch {
			case (asked == 0 || asked > room) && !(some && mayPreempt(e.rep, least)) && !(moves && c.inPieces(e)):
			case at > c.now:
				next = min(next, at)
			default:
				list = append(list, e)
			}
		}
	}
	return list, next
}

// roomInShare is what a queue may have beyond what it uses, at the cost of others, as far as
// its own share tells; 0: nobody has anything to give back.
func (c *Core) roomInShare(q *queue) int64 {
	if c.over == 0 || c.over == 1 && q.over {
		return 0
	}
	return max(c.shares.Of(q.index), c.shares.Guaranteed(q.index)) - c.quota.Used(q.index, quota.GPU)
}

// bidder is the first entry of a bucket that may bid; nil: there is none.
func (b *bucket) bidder() *entry {
	if first := b.entries.Min(); first.bids() {
		return first
	}
	var bidder *entry
	for _, e := range b.entries.Items() {
		if e.bids() && (bidder == nil || compareEntries(e, bidder) < 0) {
			bidder = e
		}
	}
	return bidder
}

// bids reports whether an entry is a whole gang for which no room is being made yet.
func (e *entry) bids() bool {
	return !e.grows && e.rep.room() == nil
}

// mayPreempt reports whether a replica may take the place of another of its queue.
func mayPreempt(rep, victim *replica) bool {
	return victim.job.spec.Class != berth.LatencyCritical && compareRank(rep, victim) > 0
}

// compareYield orders what runs in one queue by who is to yield first: the lower class,
// the lower priority, who came last.
func compareYield(a, b *replica) int {
	return cmp.Or(compareRank(a, b), cmp.Compare(b.CameAt, a.CameAt), compareReplicas(b, a))
}

// leave takes a bucket out of the list of its queue.
func (q *queue) leave(b *bucket) {
	q.list = unordered.Remove(q.list, b.at, func(b *bucket, at int) { b.at = at })
}
