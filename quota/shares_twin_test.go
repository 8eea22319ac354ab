package quota

import (
	"math/big"
	"slices"
)

// A divider is the division of a Shares done by the book: with exact fractions,
// from the configuration alone, level by level.
type divider struct {
	tree   *Tree
	demand map[QueueIndex]int64
	unit   int64
	share  map[QueueIndex]int64
}

func newDivider(s *Shares) *divider {
	d := &divider{tree: s.tree, unit: s.unit, demand: map[QueueIndex]int64{}, share: map[QueueIndex]int64{}}
	for i := range s.tree.nodes {
		d.demand[QueueIndex(i)] = s.Demand(QueueIndex(i))
	}
	return d
}

func (d *divider) children(i QueueIndex) []QueueIndex {
	var below []QueueIndex
	for _, name := range d.tree.Queues() {
		if j, _ := d.tree.Lookup(name); d.tree.Parent(j) == i {
			below = append(below, j)
		}
	}
	return below
}

func (d *divider) promised(i QueueIndex) int64 {
	if g, ok := d.tree.Config(i).Guarantee[GPUMilli]; ok {
		return g
	}
	sum := int64(0)
	for _, j := range d.children(i) {
		sum += d.promised(j)
	}
	return sum
}

// most and base are what a queue wants, and what it wants of its guarantee.
func (d *divider) most(i QueueIndex) int64 {
	q, sum := d.tree.Config(i), d.demand[i]
	for _, j := range d.children(i) {
		sum += d.most(j)
	}
	if limit, ok := q.Limit[GPUMilli]; ok && i != RootQueue {
		sum = min(sum, limit)
	}
	if b, ok := q.BorrowingLimit[GPUMilli]; ok {
		sum = min(sum, d.promised(i)+b)
	}
	return max(sum, d.reserve(i))
}

func (d *divider) reserve(i QueueIndex) int64 {
	if l, ok := d.tree.Config(i).LendingLimit[GPUMilli]; ok {
		return max(0, d.promised(i)-l)
	}
	return 0
}

func (d *divider) base(i QueueIndex) int64 {
	if g, ok := d.tree.Config(i).Guarantee[GPUMilli]; ok {
		return min(g, d.most(i))
	}
	sum := int64(0)
	for _, j := range d.children(i) {
		sum += d.base(j)
	}
	return max(sum, d.reserve(i))
}

func (d *divider) divide(i QueueIndex, amount int64) {
	d.share[i] = amount
	children := d.children(i)
	base, room := map[QueueIndex]int64{}, map[QueueIndex]int64{}
	sum := int64(0)
	for _, j := range children {
		base[j], room[j] = d.base(j), d.most(j)-d.base(j)
		sum += base[j]
	}
	weight := func(j QueueIndex) int64 { return max(1, d.tree.Config(j).Weight) * int64(d.tree.nodes[j].history.tilt) }
	extra := map[QueueIndex]int64{}
	if amount < sum {
		d.pour(children, amount, base, func(j QueueIndex) int64 { return max(1, d.promised(j), base[j]) }, extra)
		clear(base)
	} else {
		amount -= sum
		priorities := map[int32]bool{}
		for _, j := range children {
			priorities[d.tree.Config(j).Priority] = true
		}
		for p := int32(1); p >= 0; p-- {
			var class []QueueIndex
			for _, j := range children {
				if d.tree.Config(j).Priority == p {
					class = append(class, j)
				}
			}
			amount -= d.pour(class, amount, room, weight, extra)
		}
	}
	for _, j := range children {
		d.divide(j, base[j]+extra[j])
	}
}

// pour raises a level from one full queue to the next, and returns what went in.
func (d *divider) pour(among []QueueIndex, amount int64, room map[QueueIndex]int64, weight func(QueueIndex) int64, out map[QueueIndex]int64) int64 {
	open := slices.Clone(among)
	level := new(big.Rat)
	rest := big.NewRat(amount, 1)
	for len(open) > 0 {
		weights := int64(0)
		var next *big.Rat // the level at which the first of the open is full
		for _, j := range open {
			weights += weight(j)
			if full := big.NewRat(room[j], weight(j)); next == nil || full.Cmp(next) < 0 {
				next = full
			}
		}
		need := new(big.Rat).Mul(new(big.Rat).Sub(next, level), big.NewRat(weights, 1))
		if need.Cmp(rest) > 0 {
			level.Add(level, rest.Quo(rest, big.NewRat(weights, 1)))
			break
		}
		rest.Sub(rest, need)
		level = next
		open = slices.DeleteFunc(open, func(j QueueIndex) bool { return big.NewRat(room[j], weight(j)).Cmp(level) == 0 })
	}
	total := int64(0)
	for _, j := range among {
		out[j] = room[j]
		total += room[j]
	}
	if total <= amount {
		return total
	}
	left := amount
	cut := map[QueueIndex]*big.Rat{}
	for _, j := range among {
		if slices.Contains(open, j) {
			exact := new(big.Rat).Mul(level, big.NewRat(weight(j), 1))
			units := new(big.Int).Quo(exact.Num(), new(big.Int).Mul(exact.Denom(), big.NewInt(d.unit)))
			out[j] = units.Int64() * d.unit
			cut[j] = exact.Sub(exact, big.NewRat(out[j], 1))
		}
		left -= out[j]
	}
	slices.SortFunc(open, func(a, b QueueIndex) int {
		if c := cut[b].Cmp(cut[a]); c != 0 {
			return c
		}
		if d.tree.compareSiblings(a, b) < 0 {
			return -1
		}
		return 1
	})
	for _, j := range open {
		more := min(left, d.unit, room[j]-out[j])
		out[j] += more
		left -= more
	}
	return amount - left
}
