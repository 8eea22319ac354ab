package check

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// A queue is what is known of a queue, and what is used of it and of all below.
type queue struct {
	spec   quota.Queue
	parent *queue
	used   quota.Amounts
	// children and jobs keep it from being removed.
	children, jobs int
}

func (c *Checker) queueSet(e berth.QueueSet) error {
	q := c.queues[e.Queue.Name]
	parent := c.queues[e.Queue.Parent]
	if e.Queue.Parent != "" && parent == nil {
		return broken(Facts, "queue %s was accepted below %s, which is not known", e.Queue.Name, e.Queue.Parent)
	}
	if q == nil {
		q = &queue{used: quota.Amounts{}, parent: parent}
		c.queues[e.Queue.Name] = q
		if parent != nil {
			parent.children++
		}
	} else if q.parent != parent {
		return broken(Facts, "queue %s was moved below %q", e.Queue.Name, e.Queue.Parent)
	}
	q.spec = e.Queue
	for r, limit := range e.Queue.Limit {
		if q.used[r] > limit {
			c.saw("limit lowered below usage")
		}
	}
	return nil
}

func (c *Checker) queueRemoved(e berth.QueueRemoved) error {
	q := c.queues[string(e.Queue)]
	switch {
	case q == nil:
		return broken(Facts, "the removal of queue %s was accepted, which is not known", e.Queue)
	case q.children > 0 || q.jobs > 0:
		return broken(Facts, "queue %s was removed with %d children and %d jobs", e.Queue, q.children, q.jobs)
	case c.reservedFor(e.Queue):
		return broken(Facts, "queue %s was removed, for which something is reserved", e.Queue)
	}
	if q.parent != nil {
		q.parent.children--
	}
	delete(c.queues, string(e.Queue))
	return nil
}

// below reports whether a queue is the one named or stands under it.
func (q *queue) below(name berth.QueueID) bool {
	for ; q != nil; q = q.parent {
		if q.spec.Name == string(name) {
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
	cost := quota.Amounts{quota.CPU: cl.CPUMilli, quota.Memory: cl.MemoryMiB}
	milli := int64(1000 * m.at.GPUs.Len())
	switch {
	case m.at.ShareMilli > 0:
		milli = int64(m.at.ShareMilli)
	case ofInstance(cl):
		milli = instanceMilli(c.table(m.node), int(m.at.Instance.Size))
	}
	if milli > 0 {
		cost[quota.GPU] = milli
		cost[quota.GPUOf(m.node.spec.GPUs[0].Product)] = milli
	}
	return cost
}

// withinLimits: a Bind leaves no queue over a limit on anything that it takes,
// its own queue's or one above.
func (c *Checker) withinLimits(members []*member) error {
	asked := quota.Amounts{}
	for _, m := range members {
		for r, amount := range c.cost(m) {
			asked[r] += amount
		}
	}
	for q := members[0].rep.job.queue; q != nil; q = q.parent {
		for _, r := range slices.Sorted(maps.Keys(asked)) {
			if limit, limited := q.spec.Limit[r]; limited && asked[r] > 0 && q.used[r] > limit {
				return broken(Limits, "with %s, queue %s uses %d of %d %s", members[0].rep, q.spec.Name, q.used[r], limit, r)
			}
		}
	}
	return nil
}
