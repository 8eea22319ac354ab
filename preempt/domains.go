package preempt

import (
	"cmp"
	"slices"
)

// A stay is an item in a domain.
type stay struct {
	domain int32
	place  int32 // of the item
}

// A group is the stays in one domain.
type group struct {
	domain   int32
	from, to int // among the stays
	milli    int64
	cost     GPUMilliseconds
}

// enterDomains notes the candidates of each domain, in order of domain and place, once.
func (c *Chooser) enterDomains() {
	if len(c.stays) > 0 {
		return
	}
	for _, it := range c.items {
		for _, domain := range c.candidates[it.index].Domains {
			c.stays = append(c.stays, stay{domain, it.place})
		}
	}
	slices.SortFunc(c.stays, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.place, b.place))
	})
}

// tryDomains looks for victims in single domains, and then in the rank ordered by
// domains, the cheapest to empty first: a beneficiary that wants a whole node, or
// several, finds them at the front.
func (c *Chooser) tryDomains(rank []item) {
	c.enterDomains()
	c.groupRank(rank)
	if len(c.groups) < 2 {
		return
	}
	c.descendBy(rank, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.place, b.place))
	})

	// A domain gets a few calls beyond its own test, so that one with many small
	// jobs does not use up what the others need.
	hard := c.limit
	share := max((hard-c.calls)/(2*len(c.groups)), 16)
	for _, g := range c.groups {
		c.picks, c.list = c.picks[:0], c.list[:0]
		for _, s := range c.stays[g.from:g.to] {
			c.list = append(c.list, c.items[s.place])
		}
		if c.found && c.list[0].cost > cost(c.best) || !c.test(nil, c.list) {
			continue
		}
		c.limit = min(hard, c.calls+share)
		c.search(c.list)
		c.over = c.calls >= hard
		if c.limit = hard; c.over {
			return
		}
	}
}

// groupRank groups the items of one rank by domain, in order of the cost for a
// GPU of emptying the domain of them, and tells each item the first group it is in.
func (c *Chooser) groupRank(rank []item) {
	first, last := rank[0].place, rank[len(rank)-1].place
	c.groups = c.groups[:0]
	for i := 0; i < len(c.stays); {
		g := group{domain: c.stays[i].domain}
		for ; i < len(c.stays) && c.stays[i].domain == g.domain && c.stays[i].place < first; i++ {
		}
		g.from = i
		for ; i < len(c.stays) && c.stays[i].domain == g.domain && c.stays[i].place <= last; i++ {
			it := &c.items[c.stays[i].place]
			g.milli += it.milli
			g.cost = g.cost.plus(it.cost)
		}
		g.to = i
		for ; i < len(c.stays) && c.stays[i].domain == g.domain; i++ {
		}
		if g.from < g.to {
			c.groups = append(c.groups, g)
		}
	}
	slices.SortFunc(c.groups, c.compareGroups)
	for i := range rank {
		rank[i].group = int32(len(c.groups))
	}
	for at := len(c.groups) - 1; at >= 0; at-- {
		for _, s := range c.stays[c.groups[at].from:c.groups[at].to] {
			c.items[s.place].group = int32(at)
		}
	}
}

// compareGroups orders domains by the cost for a GPU and then by their candidates.
// Their numbers decide only where the same are in both, and so do not matter.
func (c *Chooser) compareGroups(a, b group) int {
	return cmp.Or(
		compareCostsForGPU(a.cost, a.milli, b.cost, b.milli),
		slices.CompareFunc(c.stays[a.from:a.to], c.stays[b.from:b.to], func(x, y stay) int { return cmp.Compare(x.place, y.place) }),
		cmp.Compare(a.domain, b.domain),
	)
}
