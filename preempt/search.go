package preempt

import (
	"cmp"
	"math/bits"
	"slices"
)

// test asks whether the beneficiary fits if the victims so far, the picks, those
// of list and all of the ranks below yield. Beyond the limit of calls it says no.
func (c *Chooser) test(picks, list []item) bool {
	if c.calls >= c.limit {
		c.over = true
		return false
	}
	c.calls++
	c.chosen = c.chosen[:0]
	for _, part := range [...][]item{c.fixed, picks, list, c.below} {
		for i := range part {
			c.chosen = append(c.chosen, part[i].index)
		}
	}
	return c.fits(c.chosen)
}

// settleAll settles rank after rank, from the highest that is needed down, until
// the fixed victims suffice. It reports whether the limit ended some search.
func (c *Chooser) settleAll() (cut bool) {
	rest := c.items
	for !c.over && len(rest) > 0 {
		c.below, c.picks = nil, c.picks[:0]
		if len(c.fixed) > 0 && c.test(nil, nil) {
			break
		}
		last := c.shortest(rest) - 1
		rank := rest[last].rank
		from, to := last, last+1
		for from > 0 && rest[from-1].rank == rank {
			from--
		}
		for to < len(rest) && rest[to].rank == rank {
			to++
		}
		c.below = rest[:from]
		if !c.settle(rest[from:to], rest[from:last+1]) {
			cut = true
		}
		rest = rest[:from]
	}
	c.below = nil
	return cut
}

// settle finds the victims of one rank and fixes them. Its part enough is known to
// suffice with the fixed ones and all below. The first descent is a must, and finds
// victims even where fits is not monotone; the rest improves on it with half of the
// calls that are left, so that the ranks below have theirs. It reports whether the
// search came to its end.
func (c *Chooser) settle(rank, enough []item) (complete bool) {
	c.found, c.best = false, c.best[:0]
	c.descend(enough)
	if !c.found {
		return false // over the limit
	}
	hard := c.limit
	c.limit = c.calls + (hard-c.calls)/2
	c.improve(rank)
	complete = !c.over
	c.limit, c.over = hard, false
	c.fixed = append(c.fixed, c.best...)
	return complete
}

// improve looks for cheaper victims in a rank than the best so far.
func (c *Chooser) improve(rank []item) {
	if len(rank) == 1 {
		return
	}
	c.descendBy(rank, byPriceForGPU)
	c.tryDomains(rank)
	c.picks = c.picks[:0]
	c.search(rank)
}

// descendBy descends through a rank in another order.
func (c *Chooser) descendBy(rank []item, order func(a, b item) int) {
	c.list = append(c.list[:0], rank...)
	slices.SortFunc(c.list, order)
	c.descend(c.list)
}

// shortest returns the length of the shortest prefix of list, at least 1, that
// suffices with the picks. The whole list is known to suffice. It gallops down from
// the whole and then bisects, as after one pick the next often is its neighbour.
func (c *Chooser) shortest(list []item) int {
	short, long := 0, len(list) // the first does not suffice, the second does
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

// descend shrinks a sufficient list to victims none of which can be left out,
// dropping from the end where it can. It gives up on what is no better than the
// best so far.
func (c *Chooser) descend(list []item) {
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

// search goes through all ways to add victims from list, which is in order of
// price, to the picks, which do not suffice without. They are told apart by their
// most expensive victim. That one cannot be cheaper than the last of the shortest
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
// the same price, fewer.
func (c *Chooser) better() bool {
	if !c.found {
		return true
	}
	if d := cmp.Compare(price(c.picks), price(c.best)); d != 0 {
		return d < 0
	}
	return len(c.picks) < len(c.best)
}

func (c *Chooser) record() {
	if c.better() {
		c.found, c.best = true, append(c.best[:0], c.picks...)
	}
}

func price(items []item) GPUMilliseconds {
	sum := GPUMilliseconds(0)
	for i := range items {
		sum = sum.plus(items[i].price)
	}
	return sum
}

// minimise drops victims that can be left out, the most harmful first, until there
// are none. After a search with a monotone fits there seldom are any, and one round
// is enough to know.
func (c *Chooser) minimise() {
	slices.SortFunc(c.fixed, func(a, b item) int { return cmp.Compare(a.place, b.place) })
	for i := len(c.fixed) - 1; i >= 0 && !c.over; i-- {
		victim := c.fixed[i]
		c.fixed = slices.Delete(c.fixed, i, i+1)
		if c.test(nil, nil) {
			i = len(c.fixed) // whoever was needed beside this one may not be now
			continue
		}
		c.fixed = slices.Insert(c.fixed, i, victim)
	}
}

// byPriceForGPU puts those first who give a GPU for the lowest price.
func byPriceForGPU(a, b item) int {
	return cmp.Or(comparePricesForGPU(a.price, a.milli, b.price, b.milli), cmp.Compare(a.place, b.place))
}

// comparePricesForGPU compares p/m with q/n by the cross products in 128 bits. Who
// gives no GPU comes last.
func comparePricesForGPU(p GPUMilliseconds, m int64, q GPUMilliseconds, n int64) int {
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
