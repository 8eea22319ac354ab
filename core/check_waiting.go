package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// checkWaiting checks that replicas stand in the pending index with what they wait for, and
// nobody else does.
func (c *Core) checkWaiting() error {
	struck, entries, buckets := 0, 0, 0
	if err := c.eachReplica(func(rep *replica) error {
		entries += len(rep.entries)
		if c.struck.Has(rep) {
			struck++
		}
		return c.checkWaits(rep)
	}); err != nil {
		return err
	}
	for _, q := range c.queues {
		if q != nil {
			for _, b := range q.list {
				buckets += b.entries.Len()
			}
		}
	}
	for i, e := range c.fresh {
		if e.freshAt != i || e.slot < 0 {
			return fmt.Errorf("an entry of job %s is not where it says in what is fresh, or does not wait", e.rep.job.spec.ID)
		}
	}
	return agree(tally{"entries", buckets, entries}, tally{"replicas that lost hardware and wait", c.struck.Len(), struck})
}

// checkWaits checks that a replica stands in the pending index with what it waits for.
func (c *Core) checkWaits(rep *replica) error {
	want := 0
	switch {
	case rep.retry.ReadyAt != 0:
	case rep.State == berth.Pending:
		want = 1
	case rep.mayGrow():
		for g := range rep.job.spec.Groups {
			want += min(1, rep.count(g, memberAbsent))
		}
	}
	switch {
	case rep.retry.Struck && rep.State == berth.Running || c.struck.Has(rep) != (rep.retry.Struck && rep.State == berth.Pending && want > 0):
		return fmt.Errorf("lost hardware: %v, and not so in the index, or it runs", rep.retry.Struck)
	case rep.retry.Backfilled && rep.State == berth.Pending:
		return fmt.Errorf("backfilled, and it waits")
	case len(rep.entries) != want:
		return fmt.Errorf("waits for %d places, stands in the pending index %d times", want, len(rep.entries))
	}
	for _, e := range rep.entries {
		if err := c.checkEntry(rep, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *Core) checkEntry(rep *replica, e *entry) error {
	b := e.bucket
	switch {
	case e.rep != rep || e.grows != (rep.State == berth.Running) || b.entries.Items()[e.slot] != e:
		return fmt.Errorf("its entry is not its own")
	case b.queue.buckets[b.shape] != b || !slices.Contains(b.shape.buckets, b):
		return fmt.Errorf("its bucket is not known")
	case c.shapes[b.shape.key] != b.shape:
		return fmt.Errorf("the shape it waits for is not known")
	case e.grows && b.shape.key != growthKey(c, rep, e.group):
		return fmt.Errorf("it waits for %s, and lacks %s", b.shape.key, growthKey(c, rep, e.group))
	}
	return nil
}

func growthKey(c *Core, rep *replica, group int) string {
	spec := c.missing(rep, group)
	return spec.key()
}

// checkQueues checks the buckets of queues, and what is known to be blocked.
func (c *Core) checkQueues() error {
	for _, q := range c.queues {
		if q == nil {
			continue
		}
		if err := c.checkBuckets(q); err != nil {
			return fmt.Errorf("queue %s: %w", c.quota.Name(q.index), err)
		}
	}
	for i, s := range c.blocked {
		if s.blockedAt != i {
			return fmt.Errorf("the list of blocked shapes is out of step")
		}
	}
	return nil
}

func (c *Core) checkBuckets(q *queue) error {
	ready, waiting := 0, map[*replica]bool{}
	for _, key := range slices.Sorted(maps.Keys(c.shapes)) {
		b := q.buckets[c.shapes[key]]
		if b == nil {
			continue
		}
		for _, e := range b.entries.Items() {
			waiting[e.rep] = true
		}
		want := b.quotaSlot < 0 && b.shape.blockedAt < 0
		switch {
		case b.at >= len(q.list) || q.list[b.at] != b:
			return fmt.Errorf("a bucket is not where it says in the list")
		case want != (b.slot >= 0) || b.slot >= 0 && q.ready.Items()[b.slot] != b:
			return fmt.Errorf("a bucket that should be ready (%v) is at %d", want, b.slot)
		case b.quotaSlot >= 0 && c.quotaBlocked[b.quotaSlot] != b || b.entries.Len() == 0:
			return fmt.Errorf("a bucket is empty, or not in the list of those that quota blocks")
		case want:
			ready++
		}
	}
	switch {
	case len(waiting) != q.waiting || ready != q.ready.Len():
		return fmt.Errorf("%d replicas wait (counted %d), %d ready buckets (of %d)", len(waiting), q.waiting, ready, q.ready.Len())
	case c.quota.Active(q.index) != (ready > 0):
		return fmt.Errorf("active: %v, with %d ready buckets", ready == 0, ready)
	}
	return agree(tally{"buckets", len(q.list), len(q.buckets)})
}
