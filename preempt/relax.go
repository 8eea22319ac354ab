package preempt

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// What a demand costs at least is found by relaxing it: candidates may go in part, at a
// part of their cost, and what they hold in several rooms may be had one by one. Then
// every room gives its pieces for a cost that only rises, those that give a GPU for the
// least first, and the cheapest pieces of all rooms of a region are a bound from below:
// a fractional knapsack (Dantzig, 1957) in each room, and a choice of the cheapest slots
// among them. To meet the demand in whole ones with what the bound has used is a good
// guess at what suffices.

// A share is the part of an item that is in a room.
type share struct {
	room  int32
	place int32 // of the item
	milli int64
	cost  GPUMilliseconds
}

// A part is the shares in one room.
type part struct {
	room     int32
	from, to int // among the shares
}

// A slot is one more piece in a room, at the least cost in parts.
type slot struct {
	region int32
	part   int32
	cost   GPUMilliseconds
}

// A cover is the cheapest slots with which a region meets the demand.
type cover struct {
	region int32
	cost   GPUMilliseconds
	slots  []slot
}

// descendCover raises the bound to what the relaxed demand costs in a rank, and descends
// from what it uses.
func (c *Chooser) descendCover(rank []item) {
	if !c.ledger.on || len(rank) == 0 || !c.relax(rank) {
		return
	}
	c.bound = max(c.bound, c.covers[0].cost)
	for i := range rank {
		rank[i].group = math.MaxInt32
	}
	order := int32(0)
	for i := range c.covers {
		c.pick(&c.covers[i], &order)
	}
	// Those come first, and the others as they are.
	c.list = append(c.list[:0], rank[:order]...)
	for i := range rank {
		if at := rank[i].group; at < math.MaxInt32 {
			c.list[at] = rank[i]
		} else {
			c.list = append(c.list, rank[i])
		}
	}
	c.descend(c.list)
}

// relax lists what it costs in each region to meet the demand with parts of a rank, the
// cheapest first. It reports false where nothing need be had of the rank.
func (c *Chooser) relax(rank []item) bool {
	l := &c.ledger
	l.clear()
	if l.met > 0 {
		return false
	}
	c.share(rank)
	c.slots, c.covers = c.slots[:0], c.covers[:0]
	for at := range c.parts {
		c.cut(int32(at))
	}
	slices.SortFunc(c.slots, func(a, b slot) int {
		switch {
		case a.region != b.region:
			return cmp.Compare(a.region, b.region)
		case a.cost != b.cost:
			return cmp.Compare(a.cost, b.cost)
		}
		return cmp.Compare(a.part, b.part)
	})
	for from, to := 0, 0; from < len(c.slots); from = to {
		v := cover{region: c.slots[from].region}
		for to = from; to < len(c.slots) && c.slots[to].region == v.region; to++ {
		}
		lacks := int(l.pieces - l.places[v.region].base)
		if to-from < lacks {
			continue
		}
		v.slots = c.slots[from : from+lacks]
		for i := range v.slots {
			v.cost = v.cost.plus(v.slots[i].cost)
		}
		slices.SortStableFunc(v.slots, func(a, b slot) int { return cmp.Compare(a.part, b.part) })
		c.covers = append(c.covers, v)
	}
	slices.SortFunc(c.covers, func(a, b cover) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.slots[0].part, b.slots[0].part))
	})
	return len(c.covers) > 0
}

// share splits the items of a rank, by room and then by the cost for a GPU. What an item
// costs is shared among its rooms of one region as what it holds is.
func (c *Chooser) share(rank []item) {
	l := &c.ledger
	c.shares = c.shares[:0]
	for i := range rank {
		it := &rank[i]
		holds := l.holds[it.heldFrom:it.heldTo]
		for _, h := range holds {
			p := &l.places[l.rooms[h.room].region]
			p.sum += min(h.milli, math.MaxInt64-p.sum)
		}
		for _, h := range holds {
			part := it.cost
			if sum := l.places[l.rooms[h.room].region].sum; sum > h.milli {
				part = partOf(it.cost, h.milli, sum)
			}
			c.shares = append(c.shares, share{h.room, it.place, h.milli, part})
		}
		for _, h := range holds {
			l.places[l.rooms[h.room].region].sum = 0
		}
	}
	slices.SortFunc(c.shares, func(a, b share) int {
		if a.room != b.room {
			return cmp.Compare(a.room, b.room)
		}
		return cmp.Or( // of equals the larger, so that they are fewer
			compareCostsForGPU(a.cost, a.milli, b.cost, b.milli),
			cmp.Compare(b.milli, a.milli),
			cmp.Compare(a.place, b.place),
		)
	})
	c.parts = c.parts[:0]
	for from, to := 0, 0; from < len(c.shares); from = to {
		for to = from; to < len(c.shares) && c.shares[to].room == c.shares[from].room; to++ {
		}
		c.parts = append(c.parts, part{c.shares[from].room, from, to})
	}
	slices.SortFunc(c.parts, c.compareParts)
}

// compareParts orders rooms by their candidates. Their numbers decide only between rooms that
// are alike, and so do not matter.
func (c *Chooser) compareParts(a, b part) int {
	if p, q := c.shares[a.from].place, c.shares[b.from].place; p != q {
		return cmp.Compare(p, q)
	}
	return cmp.Or(
		slices.CompareFunc(c.shares[a.from:a.to], c.shares[b.from:b.to], func(x, y share) int {
			return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.milli, y.milli))
		}),
		cmp.Compare(c.ledger.rooms[a.room].base, c.ledger.rooms[b.room].base),
		cmp.Compare(a.room, b.room),
	)
}

// partOf is cost x milli / whole, rounded down; milli is at most whole.
func partOf(cost GPUMilliseconds, milli, whole int64) GPUMilliseconds {
	high, low := bits.Mul64(uint64(cost), uint64(milli))
	part, _ := bits.Div64(high, low, uint64(whole))
	return GPUMilliseconds(part)
}

// cut makes slots of the shares in a room, in order of the cost for a GPU.
func (c *Chooser) cut(at int32) {
	l := &c.ledger
	shares := c.shares[c.parts[at].from:c.parts[at].to]
	r := &l.rooms[c.parts[at].room]
	lacks := l.pieces - l.places[r.region].base
	cost, before := GPUMilliseconds(0), GPUMilliseconds(0) // of the shares so far, and of the slots
	need := l.each - r.base%l.each                         // for the next slot, of the share at hand
	for i := range shares {
		s := &shares[i]
		taken := int64(0)
		for lacks > 0 && need <= s.milli-taken {
			taken += need
			so := cost.plus(partOf(s.cost, taken, s.milli))
			c.slots = append(c.slots, slot{region: r.region, part: at, cost: so - before})
			before, need = so, l.each
			lacks--
		}
		need -= s.milli - taken
		cost = cost.plus(s.cost)
	}
}

// pick notes in which order to take the items that meet the demand in a region: in each
// room of the cover those that give a GPU for the least, as far as they are needed.
func (c *Chooser) pick(v *cover, order *int32) {
	l := &c.ledger
	for from, to := 0, 0; from < len(v.slots); from = to {
		for to = from; to < len(v.slots) && v.slots[to].part == v.slots[from].part; to++ {
		}
		p := &c.parts[v.slots[from].part]
		need := int64(to-from)*l.each - l.rooms[p.room].base%l.each
		for i := p.from; need > 0 && i < p.to; i++ {
			need -= c.shares[i].milli
			if it := &c.items[c.shares[i].place]; it.group == math.MaxInt32 {
				it.group = *order
				*order++
			}
		}
	}
}
