package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-sched/berth/quota"
)

// This file is what queues are guaranteed and limited to by shares, as the comments of
// quota.Queue.GuaranteeShare and LimitShare say it: worked out anew from the top after each event,
// from the nodes themselves. All other rules go by what that comes to, as if it had been stated.

// statesShares reports whether a queue states some.
func (q *queue) statesShares() bool { return len(q.told.GuaranteeShare)+len(q.told.LimitShare) > 0 }

// followFleet has what queues may have by shares follow the nodes that take work, and the time of
// queues, which is split by what they are guaranteed.
func (c *Checker) followFleet() {
	changed := false
	c.resolve(c.openTo, func(q *queue, before quota.Queue) { changed = c.noteFollowed(q, before) || changed })
	if !changed {
		return
	}
	for _, q := range c.queues {
		if len(q.children) == 0 {
			c.splitTime(q)
		}
	}
}

// noteFollowed counts what becomes of a queue as the fleet changes, and reports whether it may have
// more or less than before.
func (c *Checker) noteFollowed(q *queue, before quota.Queue) bool {
	for r := range q.told.GuaranteeShare {
		then, stated := before.Guarantee[r]
		switch now := q.spec.Guarantee[r]; {
		case stated && then < now:
			c.saw("a guarantee follows a fleet that grew")
		case stated && then > now:
			c.saw("a guarantee follows a fleet that shrank")
			if q.used[r] > now && q.used[r] <= then {
				c.saw("a guarantee fell below usage")
			}
		}
	}
	for r := range q.told.LimitShare {
		if then, stated := before.Limit[r]; stated && q.used[r] > q.spec.Limit[r] && q.used[r] <= then {
			c.saw("a limit fell below usage with the fleet")
		}
	}
	return !maps.Equal(before.Guarantee, q.spec.Guarantee) || !maps.Equal(before.Limit, q.spec.Limit)
}

// resolve works out what shares come to, for the queues that state some, from the top. Then it
// calls a function for each, with what the queue had before.
func (c *Checker) resolve(fleet func(quota.Resource) int64, then func(q *queue, before quota.Queue)) {
	var from func(list []*queue, whole func(quota.Resource) int64)
	from = func(list []*queue, whole func(quota.Resource) int64) {
		for _, q := range list {
			if q.statesShares() {
				before := q.spec
				q.spec = inAmounts(q.told, whole)
				then(q, before)
			}
			from(q.children, func(r quota.Resource) int64 { return q.wholeBelow(r, whole) })
		}
	}
	from(c.tops, fleet)
}

// wholeBelow is what shares of the queues below are of.
func (q *queue) wholeBelow(r quota.Resource, above func(quota.Resource) int64) int64 {
	if guarantee, stated := q.spec.Guarantee[r]; stated {
		return guarantee
	}
	return above(r)
}

// inAmounts is what a queue states, with amounts in the place of shares.
func inAmounts(q quota.Queue, whole func(quota.Resource) int64) quota.Queue {
	amounts := func(stated quota.Amounts, shares quota.Thousandths) quota.Amounts {
		sum := maps.Clone(stated)
		for r, share := range shares {
			unit := int64(1)
			if r == quota.GPUMilli || strings.HasPrefix(string(r), "gpuMilli:") {
				unit = 1000 // a GPU
			}
			if sum == nil {
				sum = quota.Amounts{}
			}
			sum[r] = whole(r) * share / (1000 * unit) * unit
		}
		return sum
	}
	q.Guarantee, q.GuaranteeShare = amounts(q.Guarantee, q.GuaranteeShare), nil
	q.Limit, q.LimitShare = amounts(q.Limit, q.LimitShare), nil
	return q
}

// openTo is what the nodes have of a resource that take work.
func (c *Checker) openTo(r quota.Resource) int64 {
	sum := int64(0)
	for _, n := range c.nodes {
		if !n.closed() {
			sum += c.soundOf(n, r)
		}
	}
	return min(sum, quota.MaxAmount)
}

// keepableAnyway: what was accepted can be kept side by side whatever the fleet has.
func (c *Checker) keepableAnyway() error {
	now := map[*queue]quota.Queue{}
	for _, q := range c.queues {
		if q.statesShares() {
			now[q] = q.spec
		}
	}
	if len(now) == 0 {
		return nil
	}
	for _, fleet := range []int64{0, 1, 999, 7000, 1_000_003, quota.MaxAmount} {
		c.resolve(func(quota.Resource) int64 { return fleet }, func(*queue, quota.Queue) {})
		for _, q := range c.inOrderOfName() {
			if err := q.keepable(); err != nil {
				return err
			}
		}
	}
	for q, spec := range now {
		q.spec = spec
	}
	return nil
}

// moves reports whether the most that a queue may use of a resource follows from shares.
func (q *queue) moves(r quota.Resource) bool {
	if _, limited := q.told.LimitShare[r]; limited {
		return true
	}
	return q.promisesShare(r)
}

// promisesShare reports whether some of what is set aside for a queue is a share.
func (q *queue) promisesShare(r quota.Resource) bool {
	if share, stated := q.told.GuaranteeShare[r]; stated {
		return share > 0
	}
	if _, stated := q.told.Guarantee[r]; stated {
		return false
	}
	return slices.ContainsFunc(q.children, func(child *queue) bool { return child.promisesShare(r) })
}
