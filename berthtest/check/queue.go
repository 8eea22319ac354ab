package check

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// A queue is what is known of a queue, and what is used of it and of all below.
type queue struct {
	// spec is what was told, with what shares come to now in the place of these.
	told, spec quota.Queue

	parent *queue
	used   quota.Amounts
	// children, in the order in which they came, and jobs keep it from being removed.
	children []*queue
	jobs     int
	// full is when as many of it may be evicted at once as the policy ever lets.
	full berth.Time
	// overSince is since when it uses more than it may; 0: it does not.
	overSince berth.Time
	// out: a budget of it is used up, or one of a queue above it; stopsAll: one that has what runs
	// stopped.
	out, stopsAll bool
}

func (c *Checker) queueSet(e berth.QueueSet) error {
	q := c.queues[e.Queue.Name]
	parent := c.queues[e.Queue.Parent]
	if e.Queue.Parent != "" && parent == nil {
		return broken(PromiseEvents, "queue %s was accepted below %s, which is not known", e.Queue.Name, e.Queue.Parent)
	}
	if q == nil {
		q = &queue{used: quota.Amounts{}, parent: parent}
		c.queues[e.Queue.Name] = q
		if parent != nil {
			parent.children = append(parent.children, q)
		} else {
			c.tops = append(c.tops, q)
		}
	} else if q.parent != parent {
		return broken(PromiseEvents, "queue %s was moved below %q", e.Queue.Name, e.Queue.Parent)
	}
	before := q.spec
	q.told, q.spec = e.Queue, e.Queue
	if err := c.keepableAnyway(); err != nil {
		return err
	}
	c.followFleet()
	c.noteChange(q, &before)
	c.splitTime(q)
	return q.keepable()
}

// noteChange counts what becomes of a queue that is set again.
func (c *Checker) noteChange(q *queue, before *quota.Queue) {
	for r, limit := range q.spec.Limit {
		if q.used[r] > limit {
			c.saw("limit lowered below usage")
		}
	}
	for r, borrowing := range q.spec.BorrowingLimit {
		if q.used[r] > q.promised(r)+borrowing {
			c.saw("borrowing limit lowered below usage")
		}
	}
	if before.Name == "" {
		return
	}
	for _, field := range []struct {
		name        string
		then, since quota.Amounts
	}{{"guarantee", before.Guarantee, q.spec.Guarantee}, {"lending limit", before.LendingLimit, q.spec.LendingLimit}} {
		for r, amount := range field.since {
			if then, stated := field.then[r]; stated && then != amount {
				c.saw(map[bool]string{true: field.name + " raised", false: field.name + " lowered"}[amount > then])
			}
		}
	}
	if before.Priority != q.spec.Priority {
		c.saw("priority of a queue changed")
	}
}

// keepable: guarantees can be kept side by side. At a queue that states one those below
// it add up to no more, and none exceeds a limit on the way up.
func (q *queue) keepable() error {
	for ; q != nil; q = q.parent {
		for _, r := range slices.Sorted(maps.Keys(q.spec.Guarantee)) {
			if below := q.promisedBelow(r); below > q.spec.Guarantee[r] {
				return broken(PromiseEvents, "the queues below %s are guaranteed %d of its %d %s", q.spec.Name, below, q.spec.Guarantee[r], r)
			}
		}
		for _, r := range slices.Sorted(maps.Keys(q.spec.Limit)) {
			if promised := q.promised(r); promised > q.spec.Limit[r] {
				return broken(PromiseEvents, "queue %s is guaranteed %d %s, and limited to %d", q.spec.Name, promised, r, q.spec.Limit[r])
			}
		}
	}
	return nil
}

func (c *Checker) queueRemoved(e berth.QueueRemoved) error {
	q := c.queues[e.Queue]
	switch {
	case q == nil:
		return broken(PromiseEvents, "the removal of queue %s was accepted, which is not known", e.Queue)
	case len(q.children) > 0 || q.jobs > 0:
		return broken(PromiseEvents, "queue %s was removed with %d children and %d jobs", e.Queue, len(q.children), q.jobs)
	case c.reservedFor(e.Queue):
		return broken(PromiseEvents, "queue %s was removed, for which something is reserved", e.Queue)
	}
	among := &c.tops
	if q.parent != nil {
		among = &q.parent.children
	}
	at := slices.Index(*among, q)
	*among = slices.Delete(*among, at, at+1)
	delete(c.queues, e.Queue)
	return nil
}

// below reports whether a queue is the one named or stands under it.
func (q *queue) below(name berth.QueueID) bool {
	for ; q != nil; q = q.parent {
		if q.spec.Name == name {
			return true
		}
	}
	return false
}

// charge adds what a member costs, times sign, to its queue and all above.
func (q *queue) charge(cost quota.Amounts, sign int64) {
	for ; q != nil; q = q.parent {
		for r, amount := range cost {
			q.used[r] += sign * amount
		}
	}
}

// cost is what a placed member costs its queue: whole GPUs in full, a share in
// part, an instance by its memory slices; GPUs count as such and as GPUs of their product.
func (c *Checker) cost(m *member) quota.Amounts {
	cl := m.claim()
	cost := quota.Amounts{quota.CPUMilli: cl.CPUMilli, quota.MemoryMiB: cl.MemoryMiB}
	for name, each := range cl.Resources {
		cost[quota.Resource(name)] = each
	}
	milli := int64(1000 * m.at.GPUs.Len())
	switch {
	case cl.Borrow != nil: // it is charged to the lender
		milli = 0
	case m.at.ShareMilli > 0:
		milli = int64(m.at.ShareMilli)
	case ofInstance(cl):
		milli = instanceMilli(c.table(m.node), int(m.at.Instance.Size))
	}
	if milli > 0 {
		cost[quota.GPUMilli] = milli
		cost[quota.GPUMilliOf(m.node.spec.GPUs[0].Product)] = milli
	}
	return cost
}
