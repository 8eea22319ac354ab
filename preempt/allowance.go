package preempt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Where candidates may not all go together, what they may give is an amount: see Allowance. A set
// then suffices if a part of it does that may go, and that is monotone again, whatever is allowed:
// more to choose from never does worse. So the search of Choose is the same with allowances and
// without; only the question is another, and this file answers it. Victims of which none can be
// left out are then such that all of them may go.
//
// The answer is exact as long as partNodes steps of a search with a bound suffice, which they do on
// a handful of domains. Beyond that a set is looked for along a few orders of domains, those first
// that cost the allowances the least, and Choice.CutShort says that something may have been missed.

// An Allowance is the most that some candidates may give together: what a queue has beyond what
// it keeps, as a rule. Those of a tree of queues are nested: what goes counts at every level.
type Allowance struct {
	// GPUMilli is the most that those may hold together that go, in thousandths of a GPU.
	GPUMilli int64
	// Above is the number, from 1, of the allowance that they count for as well, lower than its
	// own; 0: none.
	Above int
}

const (
	// partNodes bounds the steps of one exact search for a part that may go.
	partNodes = 4096
	// partOrders bounds the domains that come first in one order each.
	partOrders = 16
	// partCalls bounds the calls of fits along one order.
	partCalls = 64
	// maxWitnesses bounds the parts that are remembered.
	maxWitnesses = 8
	// scarce is the unit of what allowances are worth.
	scarce = 1 << 16
)

func (o *Options) checkAllowances(candidates []Candidate) error {
	for i, a := range o.Allowances {
		switch {
		case a.GPUMilli < 0:
			return &Error{Index: -1, Field: "allowances[" + strconv.Itoa(i) + "].gpuMilli", Reason: fmt.Sprintf("is negative: %d", a.GPUMilli)}
		case a.Above < 0 || a.Above > i:
			return &Error{Index: -1, Field: "allowances[" + strconv.Itoa(i) + "].above", Reason: fmt.Sprintf("is not within 0 and %d: %d", i, a.Above)}
		}
	}
	for i := range candidates {
		if k := &candidates[i]; k.Allowance < 0 || k.Allowance > len(o.Allowances) {
			return &Error{Candidate: k.ID, Index: i, Field: "allowance", Reason: fmt.Sprintf("is not within 0 and %d: %d", len(o.Allowances), k.Allowance)}
		}
	}
	return nil
}

// An allowanceState is what the search knows of allowances.
type allowanceState struct {
	// on: not all of the candidates may go together.
	on         bool
	allowances []Allowance
	permits    func(chosen []int) bool
	left       []int64 // of each allowance
	short      int     // how many of them less than nothing is left of
	trial      ledger  // of the part that is looked for
	witnesses  [][]int // parts that suffice and may go, by candidate
	member     []bool  // scratch, by candidate
	pool       []item  // all of which a part is looked for, in the order at hand
	domains    []wantedDomain
	stays      []item  // of the pool, for certain, in the exact search
	scratch    []int64 // as left
	chosen     []int
	nodes      int // steps that are left of the exact search
	cut        bool
}

// A wantedDomain is a domain in the order in which parts of the pool are wanted.
type wantedDomain struct {
	domain int32
	cost   int64
}

// openAllowances notes the allowances, once the items and the ledger are there.
func (c *Chooser) openAllowances(options *Options) {
	k := &c.allowances
	k.on, k.cut, k.short = false, false, 0
	k.allowances, k.permits = options.Allowances, options.Permits
	k.witnesses = k.witnesses[:0]
	k.left = k.left[:0]
	for i := range k.allowances {
		k.left = append(k.left, k.allowances[i].GPUMilli)
	}
	k.member = slices.Grow(k.member[:0], len(c.candidates))[:len(c.candidates)]
	k.on = !c.mayGo(c.items)
	if k.on && c.ledger.on {
		l := &k.trial
		l.on, l.pieces, l.each, l.holds = true, c.ledger.pieces, c.ledger.each, c.ledger.holds
		l.rooms, l.places = append(l.rooms[:0], c.ledger.rooms...), append(l.places[:0], c.ledger.places...)
	} else {
		k.trial.on = false
	}
}

// spend takes what an item holds out of the allowances that it counts for, or puts it back.
func (c *Chooser) spend(it *item, sign int64) {
	k := &c.allowances
	for at := c.candidates[it.index].Allowance; at > 0; at = k.allowances[at-1].Above {
		before := k.left[at-1]
		k.left[at-1] -= sign * it.milli
		switch after := k.left[at-1]; {
		case before >= 0 && after < 0:
			k.short++
		case before < 0 && after >= 0:
			k.short--
		}
	}
}

// affords reports whether the allowances do for all of a list.
func (c *Chooser) affords(list []item) bool {
	k := &c.allowances
	left, short := k.left, k.short
	k.left, k.short = k.scratch[:0], 0
	for i := range k.allowances {
		k.left = append(k.left, k.allowances[i].GPUMilli)
	}
	for i := range list {
		c.spend(&list[i], 1)
	}
	afford := k.short == 0
	k.scratch, k.left, k.short = k.left, left, short
	return afford
}

// mayGo reports whether all of a list may go together.
func (c *Chooser) mayGo(list []item) bool { return c.affords(list) && c.permitted(list) }

// call asks whether the beneficiary fits if all of some lists were gone, allowed or not.
func (c *Chooser) call(lists ...[]item) bool {
	if c.work >= c.limit {
		c.over = true
		return false
	}
	c.work += callWork
	c.calls++
	c.chosen = c.chosen[:0]
	for _, items := range lists {
		for i := range items {
			c.chosen = append(c.chosen, items[i].index)
		}
	}
	return c.fits(c.chosen)
}

// askPart reports whether some of all lists suffice that may go together.
func (c *Chooser) askPart(lists ...[]item) bool {
	k := &c.allowances
	k.pool = k.pool[:0]
	for _, items := range lists {
		for i := range items {
			if c.affords(items[i : i+1]) { // else no part with it may go
				k.pool = append(k.pool, items[i])
			}
		}
	}
	if c.mayGo(k.pool) {
		return c.call(k.pool)
	}
	if c.hasWitness() {
		return true
	}
	if c.meetsTrial(k.pool) && c.call(k.pool) && c.findPart() {
		return true
	}
	c.over = c.over || c.work >= c.limit
	return false
}

// meetsTrial reports whether a list meets the demand, and leaves it entered.
func (c *Chooser) meetsTrial(list []item) bool {
	l := &c.allowances.trial
	if !l.on {
		return true
	}
	l.clear()
	return l.add(list)
}

// hasWitness reports whether a part that was found before is in the pool.
func (c *Chooser) hasWitness() bool {
	k := &c.allowances
	clear(k.member)
	for i := range k.pool {
		k.member[k.pool[i].index] = true
	}
	return slices.ContainsFunc(k.witnesses, func(part []int) bool {
		return !slices.ContainsFunc(part, func(index int) bool { return !k.member[index] })
	})
}

// witness remembers a part that suffices and may go.
func (c *Chooser) witness(lists ...[]item) bool {
	k := &c.allowances
	var part []int
	for _, items := range lists {
		for i := range items {
			part = append(part, items[i].index)
		}
	}
	if len(k.witnesses) == maxWitnesses {
		k.witnesses = slices.Delete(k.witnesses, 0, 1)
	}
	k.witnesses = append(k.witnesses, part)
	return true
}

// findPart looks for a part of the pool that suffices and may go: along orders of domains, then
// through all parts.
func (c *Chooser) findPart() bool {
	k := &c.allowances
	c.orderDomains()
	for first := -1; first < min(len(k.domains), partOrders) && !c.over; first++ {
		c.orderPool(first)
		if c.dropFromTheEnd() {
			return true
		}
	}
	c.orderPool(-1)
	if !c.meetsTrial(k.pool) {
		return false
	}
	k.nodes = partNodes
	for i := range k.pool {
		c.spend(&k.pool[i], 1)
	}
	k.stays = k.stays[:0]
	found := c.searchPart(len(k.pool), false)
	for i := range k.pool {
		c.spend(&k.pool[i], -1)
	}
	k.cut = k.cut || k.nodes <= 0
	return found
}

// counts is what an item costs the scarcest of the allowances that it counts for, of which
// scarce makes a whole.
func (c *Chooser) counts(it *item) int64 {
	k, cost := &c.allowances, int64(0)
	for at := c.candidates[it.index].Allowance; at > 0; at = k.allowances[at-1].Above {
		cost = max(cost, scarce*min(it.milli, MaxGPUMilli)/max(1, k.allowances[at-1].GPUMilli))
	}
	return cost
}

// orderDomains puts the domains of the pool into the order in which one member of the beneficiary
// costs the allowances the least there, or to empty them where nothing is known of it.
func (c *Chooser) orderDomains() {
	k := &c.allowances
	k.domains = k.domains[:0]
	if l := &k.trial; l.on {
		costs := make([]int64, len(l.rooms))
		free := make([]int64, len(l.rooms))
		for i := range l.rooms {
			free[i] = l.rooms[i].own % l.each
		}
		list := slices.Clone(k.pool)
		slices.SortFunc(list, func(a, b item) int {
			return cmp.Or(cmp.Compare(c.counts(&a), c.counts(&b)), cmp.Compare(a.place, b.place))
		})
		for i := range list {
			for _, h := range l.holds[list[i].heldFrom:list[i].heldTo] {
				if free[h.room] < l.each {
					free[h.room] += h.milli
					costs[h.room] += c.counts(&list[i])
				}
			}
		}
		for i := range l.rooms {
			if free[i] >= l.each && costs[i] > 0 {
				k.domains = append(k.domains, wantedDomain{l.rooms[i].domain, costs[i]})
			}
		}
	} else {
		at := map[int32]int{} // looked up, never ranged over
		for i := range k.pool {
			for _, domain := range c.candidates[k.pool[i].index].Domains {
				if _, known := at[domain]; !known {
					at[domain] = len(k.domains)
					k.domains = append(k.domains, wantedDomain{domain: domain})
				}
				k.domains[at[domain]].cost += c.counts(&k.pool[i])
			}
		}
	}
	slices.SortStableFunc(k.domains, func(a, b wantedDomain) int { return cmp.Compare(a.cost, b.cost) })
}

// orderPool puts the pool into the order in which it is wanted: by the first of its domains, of
// which one comes before all others; -1: none does. Those that cost the allowances nothing come
// first, those that are alike stand together.
func (c *Chooser) orderPool(first int) {
	k := &c.allowances
	rank := map[int32]int32{} // looked up, never ranged over
	for i := range k.domains {
		rank[k.domains[i].domain] = int32(i)
	}
	if first >= 0 {
		rank[k.domains[first].domain] = -1
	}
	for i := range k.pool {
		it := &k.pool[i]
		it.group = math.MaxInt32
		for _, domain := range c.candidates[it.index].Domains {
			if at, known := rank[domain]; known {
				it.group = min(it.group, at)
			}
		}
	}
	slices.SortFunc(k.pool, func(a, b item) int {
		return cmp.Or(
			cmp.Compare(min(c.counts(&a), 1), min(c.counts(&b), 1)), cmp.Compare(a.group, b.group),
			cmp.Compare(c.counts(&a), c.counts(&b)), cmp.Compare(len(c.candidates[a.index].Domains), len(c.candidates[b.index].Domains)),
			cmp.Compare(a.place, b.place),
		)
	})
}

// dropFromTheEnd shrinks the pool to a part that suffices, dropping from the end where it can, and
// reports whether that may go.
func (c *Chooser) dropFromTheEnd() bool {
	k := &c.allowances
	list := slices.Clone(k.pool)
	if l := &k.trial; l.on {
		l.clear()
		l.add(list)
		for i := len(list) - 1; i >= 0; i-- {
			if l.drop(&list[i]); l.met == 0 {
				l.add(list[i : i+1])
			} else {
				list = slices.Delete(list, i, i+1)
			}
		}
		c.work += 1 + len(k.pool)/256
		if !c.mayGo(list) {
			return false
		}
		if c.call(list) {
			return c.witness(list)
		}
		list = append(list[:0], k.pool...) // there is more to it than the demand
	}
	var picks []item
	for until := c.calls + partCalls; c.calls < until; {
		short, long := 0, len(list) // the first does not suffice with the picks, the second does
		if len(picks) > 0 && c.call(picks) {
			return c.mayGo(picks) && c.witness(picks)
		}
		for long-short > 1 {
			if middle := short + (long-short)/2; c.call(picks, list[:middle]) {
				long = middle
			} else {
				short = middle
			}
		}
		if c.over || long == 0 {
			return false
		}
		picks = append(picks, list[long-1])
		list = list[:long-1]
		if !c.mayGo(picks) {
			return false
		}
	}
	return false
}

// searchPart goes through all parts of the pool: those with what stays for certain, and some of the
// first ones, so many. Last says whether the one decided before stays. What is spent, and entered
// in the ledger, is both together. Of those that are alike the first are dropped last.
func (c *Chooser) searchPart(open int, last bool) bool {
	k := &c.allowances
	if k.nodes--; k.nodes <= 0 || c.over {
		return false
	}
	c.work++
	if k.short == 0 && c.permitted(k.stays, k.pool[:open]) {
		return c.call(k.stays, k.pool[:open]) && c.witness(k.stays, k.pool[:open])
	}
	if open == 0 {
		return false
	}
	it := &k.pool[open-1]
	if !(last && k.trial.on && c.alike(it, &k.stays[len(k.stays)-1])) {
		c.spend(it, -1)
		found := c.meetsWithout(it, open) && c.searchPart(open-1, false)
		if k.trial.on {
			k.trial.add(k.pool[open-1 : open])
		}
		if c.spend(it, 1); found {
			return true
		}
	}
	k.stays = append(k.stays, *it)
	found := c.affords(k.stays) && c.searchPart(open-1, true)
	k.stays = k.stays[:len(k.stays)-1]
	return found
}

// permitted is mayGo where the allowances are known to do.
func (c *Chooser) permitted(lists ...[]item) bool {
	k := &c.allowances
	if k.permits == nil {
		return true
	}
	k.chosen = k.chosen[:0]
	for _, items := range lists {
		for i := range items {
			k.chosen = append(k.chosen, items[i].index)
		}
	}
	return k.permits(k.chosen)
}

// meetsWithout takes the last open item out of what is entered, and reports whether the rest may
// still do.
func (c *Chooser) meetsWithout(it *item, open int) bool {
	if l := &c.allowances.trial; l.on {
		l.drop(it)
		return l.met > 0
	}
	return c.call(c.allowances.stays, c.allowances.pool[:open-1])
}

// alike reports whether it makes no difference which of two goes.
func (c *Chooser) alike(a, b *item) bool {
	x, y := &c.candidates[a.index], &c.candidates[b.index]
	return x.Allowance == y.Allowance && a.milli == b.milli && slices.Equal(x.Domains, y.Domains) && slices.Equal(x.HeldMilli, y.HeldMilli)
}
