package preempt

import (
	"cmp"
	"math/bits"
	"slices"
)

// callWork is how many questions that the demand answers count as one call.
const callWork = 16

// test asks whether the beneficiary fits if the victims so far, the picks, those
// of list and all of the ranks below go. Beyond the limit of work it says no.
func (c *Chooser) test(picks, list []item) bool {
	if c.work >= c.limit {
		c.over = true
		return false
	}
	if c.ledger.on {
		c.ledger.clear()
		c.ledger.add(picks)
		if !c.ledger.add(list) {
			c.work++
			return false
		}
	}
	return c.ask(picks, list)
}

// ask is test where the demand is known to be met.
func (c *Chooser) ask(picks, list []item) bool {
	if c.work >= c.limit {
		c.over = true
		return false
	}
	if c.allowances.on {
		return c.askPart(c.fixed, picks, list, c.below)
	}
	return c.call(c.fixed, picks, list, c.below)
}

// suppose has all of a list go, beside the fixed victims, in all tests to come.
func (c *Chooser) suppose(below []item) {
	c.below = below
	if c.ledger.on {
		c.ledger.begin(c.fixed, below)
	}
}

// enough returns the length of a prefix of all items that suffices, -1 where there is none:
// the shortest that meets the demand or, if that does not do, everybody.
func (c *Chooser) enough() int {
	if c.ledger.on && !c.over {
		if least := c.meets(c.items); least < len(c.items) && c.test(nil, c.items[:least]) {
			return least
		}
	}
	if !c.over && c.test(nil, c.items) {
		return len(c.items)
	}
	return -1
}

// settleAll settles rank after rank, from the highest that is needed down, until
// the fixed victims suffice. So many of the first items do. It reports whether the limit
// ended some search.
func (c *Chooser) settleAll(enough int) (cut bool) {
	rest := c.items
	for !c.over && len(rest) > 0 {
		c.picks = c.picks[:0]
		c.suppose(nil)
		if len(c.fixed) > 0 && c.test(nil, nil) {
			break
		}
		last := enough - 1 // no shorter one meets the demand
		if enough == len(rest) {
			last = c.shortest(rest) - 1
		}
		from, to := c.rankOf(last)
		c.suppose(rest[:from])
		if !c.settle(rest[from:to], rest[from:last+1]) {
			cut = true
		}
		rest = rest[:from]
		enough = from
	}
	c.suppose(nil)
	return cut
}

// rankOf returns the bounds of the rank of the item at a place.
func (c *Chooser) rankOf(place int) (from, to int) {
	rank := c.items[place].rank
	for from = place; from > 0 && c.items[from-1].rank == rank; from-- {
	}
	for to = place + 1; to < len(c.items) && c.items[to].rank == rank; to++ {
	}
	return from, to
}

// settle finds the victims of one rank and fixes them. Its part enough, the shortest by
// cost, is known to suffice with the fixed ones and all below. The first descent is a
// must, and finds victims even where fits is not monotone; the rest improves on it
// with half of the work that is left, so that the ranks below have theirs. It reports
// whether the search came to its end.
func (c *Chooser) settle(rank, enough []item) (complete bool) {
	c.found, c.best = false, c.best[:0]
	c.bound = enough[len(enough)-1].cost // all that are cheaper do not suffice
	c.descendCover(rank)
	if !c.found && !c.over {
		c.descend(enough)
	}
	if !c.found {
		return false // over the limit
	}
	hard := c.limit
	c.limit = c.work + (hard-c.work)/2
	complete = c.improve(rank, enough)
	c.limit, c.over = hard, false
	c.fixed = append(c.fixed, c.best...)
	c.total = c.total.plus(min(c.bound, cost(c.best)))
	return complete
}

// improve looks for cheaper victims in a rank than the best so far, until they are near
// enough to the bound. It reports false where the limit ended that.
func (c *Chooser) improve(rank, enough []item) (complete bool) {
	for _, step := range [...]func(){
		func() {
			if c.ledger.on {
				c.descend(enough)
			}
		},
		func() { c.descendBy(rank, byPriceForGPU) },
		func() { c.tryDomains(rank) },
		func() {
			c.picks = c.picks[:0]
			if c.search(rank); !c.over {
				c.bound = cost(c.best)
			}
		},
	} {
		if len(rank) == 1 || c.near() {
			return true
		}
		if step(); c.over {
			return c.near()
		}
	}
	return true
}

// near reports whether the best victims cost hardly more than the least possible. Where
// they cost as much, there may be fewer at that cost, unless nothing is to be gained.
func (c *Chooser) near() bool {
	found := cost(c.best)
	if c.tolerance == 0 || found == 0 {
		return found <= c.bound && len(c.best) == 1
	}
	high, low := bits.Mul64(uint64(max(found-c.bound, 0)), 1000)
	limitHigh, limitLow := bits.Mul64(uint64(c.bound), uint64(c.tolerance))
	return high < limitHigh || high == limitHigh && low <= limitLow
}

// descendBy descends through a rank in another order.
func (c *Chooser) descendBy(rank []item, order func(a, b item) int) {
	c.list = append(c.list[:0], rank...)
	slices.SortFunc(c.list, order)
	c.descend(c.list)
}

// shortest returns the length of the shortest prefix of list, at least 1, that
// suffices with the picks. The whole list is known to suffice. It gallops down from
// the whole and then bisects, as after one pick the next often is its neighbour. Where a
// demand is known, no prefix is asked about that does not meet it, and the first that does
// comes first.
func (c *Chooser) shortest(list []item) int {
	short, long := 0, len(list) // the first does not suffice, the second does
	if c.ledger.on {
		least := c.meets(list)
		if least >= long {
			return long
		}
		if least > 0 {
			if c.test(c.picks, list[:least]) {
				return least
			}
			short = least
		}
	}
	return c.shortestBeyond(list, short)
}

// shortestBeyond is shortest where a prefix of a length is known not to suffice.
func (c *Chooser) shortestBeyond(list []item, short int) int {
	long := len(list)
	for step := 1; long-step > short; step *= 2 {
		if !c.test(c.picks, list[:long-step]) {
			short = long - step
			break
		}
		long -= step
	}
	for long-short > 1 {
		if middle := short + (long-short)/2; c.test(c.picks, list[:middle]) {
			long = middle
		} else {
			short = middle
		}
	}
	return long
}

// meets returns the length of the shortest prefix of list that meets the demand with the
// picks, or the whole length.
func (c *Chooser) meets(list []item) int {
	c.ledger.clear()
	if c.ledger.add(c.picks) {
		return 0
	}
	for i := range list {
		if c.ledger.add(list[i : i+1]) {
			return i + 1
		}
	}
	return len(list)
}

// descend shrinks a sufficient list to victims none of which can be left out,
// dropping from the end where it can. It gives up on what is no better than the
// best so far.
func (c *Chooser) descend(list []item) {
	if c.ledger.on {
		c.descendKnowing(list)
		return
	}
	for c.picks = c.picks[:0]; c.better(); {
		if c.test(c.picks, nil) {
			c.record()
			return
		}
		if c.over || len(list) == 0 {
			return
		}
		last := c.shortest(list) - 1
		c.picks = append(c.picks, list[last])
		list = list[:last]
	}
}

// descendKnowing is descend with a demand: a candidate that it cannot do without is picked without
// a question. The ledger has the picks and the list, and what is dropped from its end is taken out
// one by one, so that all of that is linear.
func (c *Chooser) descendKnowing(list []item) {
	l := &c.ledger
	c.picks = c.picks[:0]
	for entered := false; c.better(); {
		if !entered {
			l.clear()
			l.add(c.picks)
			l.add(list)
			entered = true
		}
		least := len(list) // the shortest prefix that meets the demand
		for ; least > 0; least-- {
			if l.drop(&list[least-1]); l.met == 0 {
				l.add(list[least-1 : least])
				break
			}
		}
		c.work++
		switch {
		case l.met == 0: // it never was met, and the caller is wrong about the demand
			return
		case least == len(list) && least > 0:
		case c.ask(c.picks, list[:least]):
			if least == 0 {
				c.record()
				return
			}
		case c.over || len(list) == 0:
			return
		default: // there is more to it than the demand
			least = c.shortestBeyond(list, least)
			entered = false
		}
		c.picks = append(c.picks, list[least-1])
		list = list[:least-1]
	}
}

// search goes through all ways to add victims from list, which is in order of
// cost, to the picks, which do not suffice without. They are told apart by their
// costliest victim. That one cannot be cheaper than the last of the shortest
// sufficient prefix.
func (c *Chooser) search(list []item) {
	if len(list) == 0 {
		return
	}
	for last := c.shortest(list) - 1; last < len(list) && !c.over; last++ {
		c.picks = append(c.picks, list[last])
		better := c.better()
		if better {
			if c.test(c.picks, nil) {
				c.record()
			} else {
				c.search(list[:last])
			}
		}
		c.picks = c.picks[:len(c.picks)-1]
		if !better {
			return // all that follow cost as much or more
		}
	}
}

// better reports whether the picks are still cheaper than the best so far or, at
// the same cost, fewer.
func (c *Chooser) better() bool {
	if !c.found {
		return true
	}
	if d := cmp.Compare(cost(c.picks), cost(c.best)); d != 0 {
		return d < 0
	}
	return len(c.picks) < len(c.best)
}

func (c *Chooser) record() {
	if c.better() {
		c.found, c.best = true, append(c.best[:0], c.picks...)
	}
}

func cost(items []item) GPUMilliseconds {
	sum := GPUMilliseconds(0)
	for i := range items {
		sum = sum.plus(items[i].cost)
	}
	return sum
}

// minimise drops victims that can be left out, the most harmful first, until there
// are none. After a search with a monotone fits there seldom are any, and one round
// is enough to know.
func (c *Chooser) minimise() {
	slices.SortFunc(c.fixed, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	l := &c.ledger
	if l.on {
		l.begin()
		l.add(c.fixed)
	}
	for i := len(c.fixed) - 1; i >= 0 && !c.over; i-- {
		victim := c.fixed[i]
		if l.on {
			if l.drop(&victim); l.met == 0 {
				l.add(c.fixed[i : i+1])
				continue
			}
		}
		c.fixed = slices.Delete(c.fixed, i, i+1)
		if c.ask(nil, nil) {
			i = len(c.fixed) // what was needed beside this one may not be now
			continue
		}
		c.fixed = slices.Insert(c.fixed, i, victim)
		if l.on {
			l.add(c.fixed[i : i+1])
		}
	}
}

// byPriceForGPU puts the candidates with the lowest cost for each GPU first.
func byPriceForGPU(a, b item) int {
	return cmp.Or(compareCostsForGPU(a.cost, a.milli, b.cost, b.milli), cmp.Compare(a.place, b.place))
}

// compareCostsForGPU compares p/m with q/n by the cross products in 128 bits. A candidate
// without GPUs comes last.
func compareCostsForGPU(p GPUMilliseconds, m int64, q GPUMilliseconds, n int64) int {
	switch {
	case m == 0 && n == 0:
		return 0
	case m == 0:
		return 1
	case n == 0:
		return -1
	}
	high1, low1 := bits.Mul64(uint64(p), uint64(n))
	high2, low2 := bits.Mul64(uint64(q), uint64(m))
	return cmp.Or(cmp.Compare(high1, high2), cmp.Compare(low1, low2))
}
