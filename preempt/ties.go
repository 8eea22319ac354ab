package preempt

import (
	"cmp"
	"slices"
)

// A loss is what victims cost in one rank.
type loss struct {
	cost  GPUMilliseconds
	count int
}

func (l loss) compare(m loss) int {
	return cmp.Or(cmp.Compare(l.cost, m.cost), cmp.Compare(l.count, m.count))
}

func (l *loss) add(it *item) {
	l.cost = l.cost.plus(it.cost)
	l.count++
}

// breakTies looks whether there are victims that cost as much in the ranks above and less
// in a rank below: what settles a rank takes the first of equals, and cannot know what the
// ranks below will have to add. It goes through all sets that are no worse, rank by rank.
// All ranks have to be settled for that exactly. It reports whether the limit ended it.
func (c *Chooser) breakTies() (cut bool) {
	if c.tolerance > 0 || c.over || len(c.fixed) == 0 || c.fixed[0].rank == c.fixed[len(c.fixed)-1].rank {
		return false // what is lowest is as cheap as can be
	}
	ranks := int(c.items[len(c.items)-1].rank) + 1
	c.least = append(c.least[:0], make([]loss, ranks)...)
	c.spent = append(c.spent[:0], make([]loss, ranks)...)
	for i := range c.fixed {
		c.least[c.fixed[i].rank].add(&c.fixed[i])
	}
	hard := c.limit
	c.limit = c.work + (hard-c.work)/2
	c.best = append(c.best[:0], c.fixed...)
	c.fixed, c.picks = c.fixed[:0], c.picks[:0]
	_, to := c.rankOf(int(c.best[0].place))
	c.settleTies(to)
	if cut = c.over; cut {
		c.total = c.least[c.best[0].rank].cost // those below may not be settled any more
	} else {
		c.total = cost(c.best)
	}
	c.limit, c.over = hard, false
	c.fixed = append(c.fixed, c.best...)
	c.suppose(nil)
	return cut
}

// settleTies goes through all ways to add victims from the items up to a place, where a
// rank ends, to the picks of the ranks above. Those items all together suffice with them.
func (c *Chooser) settleTies(to int) {
	c.suppose(nil)
	if c.test(c.picks, nil) {
		if c.within(0) && !slices.Equal(c.spent, c.least) {
			copy(c.least, c.spent)
			c.best = append(c.best[:0], c.picks...)
		}
		return
	}
	if !c.over {
		from, to := c.rankOf(c.shortest(c.items[:to]) - 1)
		c.searchTies(from, c.items[from:to])
	}
}

// searchTies is search for all sets of a rank, which begins at a place, that are no worse
// than the best.
func (c *Chooser) searchTies(from int, list []item) {
	c.suppose(c.items[:from])
	if c.test(c.picks, nil) {
		c.settleTies(from)
		return
	}
	if len(list) == 0 {
		return
	}
	rank := c.items[from].rank
	before := c.spent[rank]
	for last := c.shortest(list) - 1; last < len(list) && !c.over; last++ {
		c.picks = append(c.picks, list[last])
		c.spent[rank].add(&list[last])
		within := c.within(rank)
		if within {
			c.searchTies(from, list[:last])
			c.suppose(c.items[:from])
		}
		c.picks, c.spent[rank] = c.picks[:len(c.picks)-1], before
		if !within {
			return // all that follow cost as much or more
		}
	}
}

// within reports whether the picks are no worse than the best victims, from the highest
// rank down to this one.
func (c *Chooser) within(rank int32) bool {
	for at := len(c.spent) - 1; at >= int(rank); at-- {
		if d := c.spent[at].compare(c.least[at]); d != 0 {
			return d < 0
		}
	}
	return true
}
