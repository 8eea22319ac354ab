package quota

import (
	"cmp"
	"math/bits"
	"slices"
)

// A level is how one queue divides an amount among its children: as little as is
// needed to tell what each of them has.
//
// The children from rank "from" to "to" share what is left by weight; those before
// have all they want, those behind no more than their base. Of the ones that
// share, each has the lesser of its room and weight x rest / weights, cut to whole
// units, and one unit more if the rest of its division stands before the cut.
type level struct {
	amount   int64
	scarce   bool // there is less than the bases: it is them that are shared
	from, to int32
	rest     uint64
	weights  uint64
	// cut is the last of those that get something of what the whole units leave,
	// and last how much it gets; the others before it get a unit.
	cut  portion
	last int64
}

// A portion is what a child has in whole units, and by how much that is less than
// its exact portion: over + rest/weights.
type portion struct {
	over int64
	rest uint64
	rank int32
	room int64 // how much more it could take, at most a unit
}

// comparePortions is the order in which the rest is given out: to the queues that
// were cut by most first.
func comparePortions(a, b portion) int {
	if c := cmp.Compare(b.over, a.over); c != 0 {
		return c
	}
	if c := cmp.Compare(b.rest, a.rest); c != 0 {
		return c
	}
	return cmp.Compare(a.rank, b.rank)
}

// of is what a child has.
func (l *level) of(w *want, unit int64) int64 {
	base, room, weight := w.shared(l.scarce)
	switch {
	case w.rank < l.from:
		return base + room
	case w.rank >= l.to:
		return base
	}
	p, whole, full := l.portion(w.rank, room, weight, unit)
	switch c := comparePortions(p, l.cut); {
	case full || l.last == 0 || c > 0:
		return base + whole
	case c == 0:
		return base + whole + l.last
	}
	return base + whole + p.room
}

// portion is the part of one of those that share; full if its room is less.
func (l *level) portion(rank int32, room int64, weight uint64, unit int64) (p portion, whole int64, full bool) {
	if l.fills(room, weight) {
		return portion{}, room, true
	}
	exact, rest := scale(l.rest, weight, l.weights)
	over := int64(exact) % unit
	whole = int64(exact) - over
	return portion{over: over, rest: rest, rank: rank, room: min(unit, room-whole)}, whole, false
}

// fills reports whether the part of a child fills its room: whether
// room x weights <= weight x rest.
func (l *level) fills(room int64, weight uint64) bool {
	return compareFractions(uint64(room), weight, l.rest, l.weights) <= 0
}

// shared is what a child has before sharing, and the room and weight with which it
// shares. Where there is less than the bases, they are shared by guarantee.
func (w *want) shared(scarce bool) (base, room int64, weight uint64) {
	if scarce {
		return 0, w.base, max(1, uint64(w.guarantee))
	}
	return w.base, w.most - w.base, w.weight
}

// fill divides an amount among the children of a queue.
//
// Water filling: the level rises until all is poured. It is found from below, as
// the root of a concave function by Newton's method: with all children open, the
// level is amount / weights; those with less room are full at it, and what they
// leave raises it for the others, until no more are full. Each round is O(children),
// and what is still missing falls in each by the weight of the open against that of
// the filled, so that the rounds are no more than the bits in amounts and weights;
// three to six in practice. Then what whole units leave is given out: O(children)
// on average, by selection.
func (s *Shares) fill(i QueueIndex, amount int64) level {
	below, base := s.tree.nodes[i].below, s.wants[i].baseBelow
	l := level{amount: amount, to: int32(len(below))}
	if l.scarce = amount < base; !l.scarce {
		amount = s.rank(&l, below, amount-base)
	}
	if l.from == l.to {
		return l
	}
	sharing := below[l.from:l.to]
	l.rest, l.weights = uint64(amount), 0
	for _, j := range sharing {
		_, _, weight := s.wants[j].shared(l.scarce)
		l.weights += weight
	}
	for {
		rest, weights := amount, uint64(0)
		for _, j := range sharing {
			if _, room, weight := s.wants[j].shared(l.scarce); l.fills(room, weight) {
				rest -= room
			} else {
				weights += weight
			}
		}
		if weights == l.weights {
			break
		}
		l.rest, l.weights = uint64(rest), weights
	}
	s.giveOut(&l, sharing)
	return l
}

// rank finds the children that share: those of the highest priority at which not
// all get what they want. It returns what is left for them.
func (s *Shares) rank(l *level, below []QueueIndex, amount int64) int64 {
	l.to = 0
	for int(l.to) < len(below) {
		l.from = l.to
		wanted, priority := int64(0), s.wants[below[l.from]].priority
		for ; int(l.to) < len(below) && s.wants[below[l.to]].priority == priority; l.to++ {
			_, room, _ := s.wants[below[l.to]].shared(false)
			wanted += room
		}
		if wanted > amount {
			return amount
		}
		amount -= wanted
	}
	l.from = l.to // there is enough for all
	return 0
}

// giveOut finds the cut: the queues that get what the whole units leave.
func (s *Shares) giveOut(l *level, sharing []QueueIndex) {
	left := int64(l.rest)
	s.portions = s.portions[:0]
	for _, j := range sharing {
		w := &s.wants[j]
		_, room, weight := w.shared(l.scarce)
		if p, whole, full := l.portion(w.rank, room, weight, s.unit); !full {
			left -= whole
			s.portions = append(s.portions, p)
		}
	}
	l.cut, l.last = cutOff(s.portions, left)
}

// cutOff returns the last of the portions, in their order, that gets something if
// each gets its room until nothing is left, and how much that is; zero if nothing
// is left to begin with. It selects like quicksort without the half that does not
// matter: O(portions) on average; after many bad choices it sorts.
func cutOff(portions []portion, left int64) (portion, int64) {
	if left <= 0 {
		return portion{}, 0
	}
	for tries := 2 * bits.Len(uint(len(portions))); len(portions) > 16 && tries > 0; tries-- {
		first := partition(portions)
		sum := int64(0)
		for i := range portions[:first] {
			sum += portions[i].room
		}
		if sum >= left {
			portions = portions[:first]
		} else {
			portions, left = portions[first:], left-sum
		}
	}
	slices.SortFunc(portions, comparePortions)
	for _, p := range portions {
		if left <= p.room {
			return p, left
		}
		left -= p.room
	}
	return portion{}, 0 // not reached: the rooms are at least what is left
}

// partition puts those before some middle one first, and returns how many they are:
// at least one and not all.
func partition(portions []portion) int {
	last := len(portions) - 1
	a, b, c := portions[0], portions[last/2], portions[last]
	middle := b
	if (comparePortions(a, b) < 0) == (comparePortions(a, c) > 0) {
		middle = a
	} else if (comparePortions(c, b) < 0) == (comparePortions(c, a) > 0) {
		middle = c
	}
	first := 0
	for i := range portions {
		if comparePortions(portions[i], middle) < 0 {
			portions[i], portions[first] = portions[first], portions[i]
			first++
		}
	}
	return first
}
