package berth

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Check holds every redundant index of the core against what it is an index of,
// and tests the invariants that Core states. It returns the first violation. It
// is for tests, an embedder's among them. Cost: O(state).
func (c *Core) Check() error {
	if err := c.quota.Check(); err != nil {
		return fmt.Errorf("quota: %w", err)
	}
	v := verifier{c: c, used: map[quota.Index]int64{}}
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		if err := v.job(c.jobs[id]); err != nil {
			return fmt.Errorf("job %s: %w", id, err)
		}
	}
	if err := errors.Join(c.fleet.Check(), c.fleet.CheckHolds(v.holds)); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	for i, n := range c.nodes {
		if n != nil && (int(n.index) != i || c.nodeByID[n.spec.ID] != n || n.freed != slices.Contains(c.freedNodes, n)) {
			return fmt.Errorf("node %s: its index or its name leads elsewhere, or it is wrongly in freedNodes", n.spec.ID)
		}
		if n != nil {
			v.slots -= len(n.members)
		}
	}
	for i, q := range c.queues {
		if err := v.queue(q); err != nil {
			return fmt.Errorf("queue %s: %w", c.quota.Name(quota.Index(i)), err)
		}
	}
	if err := v.windows(); err != nil {
		return err
	}
	if err := v.health(); err != nil {
		return err
	}
	if err := v.gpus(); err != nil {
		return err
	}
	if err := v.agenda(); err != nil {
		return err
	}
	return v.counts()
}

type verifier struct {
	c     *Core
	holds []gang.Hold
	// used is the GPU usage of each leaf, summed over holds.
	used                                                    map[quota.Index]int64
	replicas, orders, timers, todo, slots, entries, endings int
	leaving, running, struck, stretching                    int
}

func (v *verifier) job(j *job) error {
	live := 0
	for number, rep := range j.replicas {
		if rep == nil {
			continue
		}
		live++
		if rep.job != j || rep.number != number {
			return fmt.Errorf("replica %d is elsewhere", number)
		}
		if err := v.replica(rep); err != nil {
			return fmt.Errorf("replica %d (%s): %w", number, rep.state, err)
		}
	}
	if live != j.live || live == 0 && j.spec.Service == nil {
		return fmt.Errorf("%d replicas live, counted %d", live, j.live)
	}
	v.replicas += live
	if v.c.shapes[j.shape.key] != j.shape || j.shape.users < 1 {
		return fmt.Errorf("its shape is not known")
	}
	return nil
}

func (v *verifier) replica(rep *replica) error {
	if err := rep.consistent(); err != nil {
		return err
	}
	for flat := range rep.members {
		m := &rep.members[flat]
		if !m.state.holds() {
			continue
		}
		v.slots++
		v.holds = append(v.holds, m.hold)
		if m.slot >= len(m.node.members) || m.node.members[m.slot] != (memberAt{rep, flat}) {
			return fmt.Errorf("member %d is not in its node's list", flat)
		}
		v.used[rep.job.queue] += chargeOf(&m.hold, m.node).GPUMilli
	}
	if rep.order != nil {
		v.orders++
		h := rep.order.Header()
		if v.c.orders[h.ID] != rep || !v.c.timers.Has(timer{at: h.Deadline, kind: timerDeadline, rep: rep}) {
			return fmt.Errorf("order %d is not in the indexes", h.ID)
		}
		v.timers++
	}
	if rep.readyAt != 0 {
		v.timers++
		if !v.c.timers.Has(timer{at: rep.readyAt, kind: timerBackoff, rep: rep}) {
			return fmt.Errorf("its backoff is not in the timers")
		}
	}
	if at, limited := rep.dropAt(); limited && rep.state == Pending {
		v.timers++
		if !v.c.timers.Has(timer{at: at, kind: timerGang, rep: rep}) {
			return fmt.Errorf("its gang timeout is not in the timers")
		}
	}
	due := rep.order == nil && (rep.state == Repairing || rep.has(memberStopping)) || rep.stray()
	if due {
		v.todo++
	}
	if v.c.todo.Has(rep) != due {
		return fmt.Errorf("needs an order: %v, is in the set: %v", due, !due)
	}
	if err := v.ending(rep); err != nil {
		return err
	}
	if err := v.yields(rep); err != nil {
		return err
	}
	return v.waits(rep)
}

// waits checks that a replica stands in the pending index with what it waits for.
func (v *verifier) waits(rep *replica) error {
	want := 0
	switch {
	case rep.readyAt != 0:
	case rep.state == Pending:
		want = 1
	case rep.mayGrow():
		for g := range rep.job.spec.Groups {
			want += min(1, rep.count(g, memberAbsent))
		}
	}
	if struck := rep.struck && rep.state == Pending && want > 0; struck {
		v.struck++
	}
	if rep.struck && rep.state == Running || v.c.struck.Has(rep) != (rep.struck && rep.state == Pending && want > 0) {
		return fmt.Errorf("lost hardware: %v, and not so in the index, or it runs", rep.struck)
	}
	if rep.backfilled && rep.state == Pending {
		return fmt.Errorf("backfilled, and it waits")
	}
	if len(rep.entries) != want {
		return fmt.Errorf("waits for %d places, stands in the pending index %d times", want, len(rep.entries))
	}
	for _, e := range rep.entries {
		if err := v.entry(rep, e); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) entry(rep *replica, e *entry) error {
	v.entries++
	b := e.bucket
	switch {
	case e.rep != rep || e.grows != (rep.state == Running) || b.entries.Items()[e.slot] != e:
		return fmt.Errorf("its entry is not its own")
	case b.queue.buckets[b.shape] != b || !slices.Contains(b.shape.buckets, b):
		return fmt.Errorf("its bucket is not known")
	case v.c.shapes[b.shape.key] != b.shape:
		return fmt.Errorf("the shape it waits for is not known")
	case e.grows && b.shape.key != growthKey(v.c, rep, e.group):
		return fmt.Errorf("it waits for %s, and lacks %s", b.shape.key, growthKey(v.c, rep, e.group))
	}
	return nil
}

func growthKey(c *Core, rep *replica, group int) string {
	spec := c.missing(rep, group)
	return spec.key()
}

func (v *verifier) queue(q *queue) error {
	if q == nil {
		return nil
	}
	entries, ready, waiting := 0, 0, map[*replica]bool{}
	for _, key := range slices.Sorted(maps.Keys(v.c.shapes)) {
		b := q.buckets[v.c.shapes[key]]
		if b == nil {
			continue
		}
		entries += b.entries.Len()
		if b.at >= len(q.list) || q.list[b.at] != b {
			return fmt.Errorf("a bucket is not where it says in the list")
		}
		for _, e := range b.entries.Items() {
			waiting[e.rep] = true
		}
		want := b.quotaSlot < 0 && b.shape.blockedAt < 0
		if want != (b.slot >= 0) || b.slot >= 0 && q.ready.Items()[b.slot] != b {
			return fmt.Errorf("a bucket that should be ready (%v) is at %d", want, b.slot)
		}
		if b.quotaSlot >= 0 && v.c.quotaBlocked[b.quotaSlot] != b || b.entries.Len() == 0 {
			return fmt.Errorf("a bucket is empty, or not in the list of those that quota blocks")
		}
		if want {
			ready++
		}
	}
	v.entries -= entries
	v.running -= q.running.Len()
	switch {
	case len(waiting) != q.waiting || ready != q.ready.Len():
		return fmt.Errorf("%d replicas wait (counted %d), %d ready buckets (of %d)", len(waiting), q.waiting, ready, q.ready.Len())
	case v.c.quota.Active(q.index) != (ready > 0):
		return fmt.Errorf("active: %v, with %d ready buckets", ready == 0, ready)
	case v.c.quota.Leaf(q.index) && v.c.quota.Used(q.index, quota.GPU) != v.used[q.index]:
		return fmt.Errorf("S3: uses %d milli-GPU, and is charged %d", v.used[q.index], v.c.quota.Used(q.index, quota.GPU))
	}
	return nil
}

func (v *verifier) counts() error {
	for i, s := range v.c.blocked {
		if s.blockedAt != i {
			return fmt.Errorf("the list of blocked shapes is out of step")
		}
	}
	for _, n := range []struct {
		what         string
		is, expected int
	}{
		{"replicas", v.c.replicas, v.replicas},
		{"orders out", len(v.c.orders), v.orders},
		{"timers", v.c.timers.Len(), v.timers},
		{"replicas that need an order", v.c.todo.Len(), v.todo},
		{"expected ends", v.c.endings.Len(), v.endings},
		{"replicas on their way out", v.c.leaving.Len(), v.leaving},
		{"replicas that lost hardware and wait", v.c.struck.Len(), v.struck},
		{"running replicas outside their queue", 0, v.running},
		{"running replicas that may shrink", v.c.stretching, v.stretching},
		{"members on nodes", 0, v.slots},
		{"entries outside their queue", 0, v.entries},
	} {
		if n.is != n.expected {
			return fmt.Errorf("%s: %d, expected %d", n.what, n.is, n.expected)
		}
	}
	return nil
}
