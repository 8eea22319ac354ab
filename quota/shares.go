package quota

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/internal/errtext"
)

// Shares are the fair shares that the queues of a tree have of one resource: the
// capacity of the fleet (Tree.SetCapacity) divided among queues that want some.
//
// It is hierarchical weighted max-min fairness. Each queue divides what it has
// among its children, the Root the capacity:
//
//  1. Every child gets what it wants of its guarantee. If there is less than that,
//     all get the same fraction of their guarantee, but no more than they want.
//  2. What is over goes to the children that want more: all of it to those of the
//     highest Priority, then to the next. Among equals it goes by weight, tilted by
//     past use (Tree.Advance): nobody could get more but at the cost of one that
//     has no more for its weight.
//  3. Portions are whole multiples of the unit, over the guarantee. What is left of
//     that goes by units to the queues with the largest cut of their exact portion, and among
//     equals in the order of names.
//
// A leaf wants its demand, within its limit and guarantee plus borrowing limit; an
// inner queue what its children want, within its own. A queue that does not lend
// all of its guarantee has a share of at least what it does not lend. Without a
// capacity everybody gets what it wants. The shares of the children of one queue
// never add up to more than its own.
//
// Why strict priority: a queue that shall get a larger part, but not all, has a
// weight for that. A priority means "only when the others are served".
//
// A Shares keeps what it worked out. After a change of one demand, Of looks at the
// children of the queues on one path again. A change of the tree by Set, Remove,
// SetCapacity or the end of a step (Tree.Advance) makes the next call work out
// everything anew; usage changes nothing. The demand of a queue ends with it: one that
// gets its index wants nothing until that is told.
type Shares struct {
	tree     *Tree
	resource Resource
	unit     int64
	untilted bool
	version  uint64
	fresh    bool
	demand   []toldDemand // of the leaves
	wants    []want
	fair     filling // of the capacity
	promised filling // of as much as is wanted under guarantees
	path     []QueueIndex
	held     []holding // of the queues of the path, see walk
	portions []portion
	reclaim  []reach // see reclaim.go
}

// A told demand is that of the queue with a birth.
type toldDemand struct {
	birth  uint64
	amount int64
}

// A want is what one queue may have at the most, and what of it is promised.
type want struct {
	most      int64 // at least base
	base      int64
	mostBelow int64 // sums over the children
	baseBelow int64
	guarantee int64
	weight    uint64
	priority  int32
	rank      int32 // among its siblings
}

// A holding is what a queue has (see reclaim.go), what it would have with what a
// leaf below it asks for, and what it may have.
type holding struct {
	queue                       QueueIndex
	has, with, guaranteed, fair int64
}

// A filling is one division of the tree, as far as it was worked out.
type filling struct {
	amount  int64 // what the Root has
	levels  []level
	current []bool  // the level stands, for the amount that it was worked out for
	all     []int64 // what each queue has, if swept
	swept   bool
}

// NewShares returns the shares of r in t, nobody wanting anything yet. The unit is
// the least amount that it makes sense to have more or less of: 1000 for GPUs that
// are given out whole. It refuses what is no resource and a unit outside 1 to
// MaxAmount (ErrInvalid).
func NewShares(t *Tree, r Resource, unit int64) (*Shares, error) {
	if reason := t.checkResource(r); reason != "" {
		return nil, &Error{Field: "resource", Reason: fmt.Sprintf("%q %s", errtext.Short(string(r)), reason), Kind: ErrInvalid}
	}
	if unit < 1 || unit > MaxAmount {
		return nil, &Error{Field: "unit", Reason: fmt.Sprintf("%d is outside 1 to %d", unit, int64(MaxAmount)), Kind: ErrInvalid}
	}
	return &Shares{tree: t, resource: r, unit: unit}, nil
}

// WithoutPast has the shares go by the weights as they are, whatever was used of late, and
// returns them. For reclaim: with tilted shares, queues would take turns in stopping each
// other as the past of the one fades and that of the other grows. A queue with much recent use
// stands back in the order of Next then, and no running job is stopped for it.
func (s *Shares) WithoutPast() *Shares {
	s.untilted, s.fresh = true, false
	return s
}

// SetDemand says how much a leaf wants in all: what it uses and what it waits for.
// It refuses what is no leaf (ErrInvalid) or unknown (ErrUnknown), and amounts
// outside 0 to MaxAmount (ErrInvalid). O(depth), without allocation.
func (s *Shares) SetDemand(i QueueIndex, demand int64) error {
	if err := s.tree.checkLeaf(i); err != nil {
		return err
	}
	if reason := checkAmount(demand); reason != "" {
		return &Error{Queue: s.tree.Name(i), Field: "demand", Reason: reason, Kind: ErrInvalid}
	}
	if s.told(i) == demand {
		return nil
	}
	if int(i) >= len(s.demand) {
		s.demand = append(s.demand, make([]toldDemand, int(i)+1-len(s.demand))...)
	}
	s.demand[i] = toldDemand{s.tree.nodes[i].birth, demand}
	if s.stale() {
		return nil
	}
	for child := NoQueue; i != NoQueue; i = s.tree.nodes[i].parent {
		w := &s.wants[i]
		before := *w
		if child == NoQueue {
			w.mostBelow = demand
		}
		s.limit(i)
		s.fair.forget(i)
		s.promised.forget(i)
		if *w == before && child != NoQueue {
			return nil
		}
		if p := s.tree.nodes[i].parent; p != NoQueue {
			s.wants[p].mostBelow += w.most - before.most
			s.wants[p].baseBelow += w.base - before.base
		}
		child = i
	}
	return nil
}

// Demand returns what SetDemand said of a leaf.
func (s *Shares) Demand(i QueueIndex) int64 {
	if !s.tree.Leaf(i) {
		return 0
	}
	return s.told(i)
}

// told is what SetDemand said of a queue since that was added.
func (s *Shares) told(i QueueIndex) int64 {
	if int(i) >= len(s.demand) || s.demand[i].birth != s.tree.nodes[i].birth {
		return 0
	}
	return s.demand[i].amount
}

// Of returns the fair share of a queue, in the resource's unit; zero for what is no
// queue. O(depth) when nothing has changed, and otherwise O(children of the queues
// on its path), without allocation.
func (s *Shares) Of(i QueueIndex) int64 {
	if !s.tree.live(i) {
		return 0
	}
	s.refresh()
	return s.portion(i, &s.fair, s.fairOf)
}

// Guaranteed returns how much of what it wants a queue has by guarantees, its guaranteed
// share: its own guarantee or, where it states none, its part of those above it, which
// they divide as if nothing were over. Where the capacity is less than all guarantees, it
// may be more than the fair share. Cost as of Of.
func (s *Shares) Guaranteed(i QueueIndex) int64 {
	if !s.tree.live(i) {
		return 0
	}
	s.refresh()
	return s.portion(i, &s.promised, s.guaranteedOf)
}

// All returns the fair shares of all queues, by index, zero where there is none:
// in the buffer, if that is large enough. O(queues) and, where many want more than
// they get, a small factor: see fill.
func (s *Shares) All(buffer []int64) []int64 {
	s.refresh()
	return s.divide(buffer, &s.fair, s.fairOf)
}

// AllGuaranteed is All for the guaranteed shares. O(queues), as All.
func (s *Shares) AllGuaranteed(buffer []int64) []int64 {
	s.refresh()
	return s.divide(buffer, &s.promised, s.guaranteedOf)
}

// divide gives out what the Root has from the top down, where a queue has of the level above it
// what the function says. O(1) for each queue where nothing has changed since the last time.
func (s *Shares) divide(buffer []int64, f *filling, of func(*level, QueueIndex) int64) []int64 {
	if !f.swept || f.all[RootQueue] != f.amount {
		f.all = slices.Grow(f.all[:0], len(s.tree.nodes))[:len(s.tree.nodes)]
		clear(f.all)
		f.all[RootQueue], f.swept = f.amount, true
		for _, i := range s.tree.topDown() {
			below := s.tree.nodes[i].below
			if len(below) == 0 {
				continue
			}
			l := s.level(f, i, f.all[i])
			for _, j := range below {
				f.all[j] = of(l, j)
			}
		}
	}
	return append(buffer[:0], f.all...)
}

// forget has the level of a queue worked out anew.
func (f *filling) forget(i QueueIndex) { f.current[i], f.swept = false, false }

func (s *Shares) stale() bool { return !s.fresh || s.version != s.tree.version }

// refresh works out what queues want if the tree is not what it was.
func (s *Shares) refresh() {
	if s.stale() {
		s.rebuild()
	}
	// The Root has no base of its own: what its children have is promised.
	s.fair.amount = s.wants[RootQueue].most
	if a := s.account(RootQueue); a != nil && a.limit != unset { // the capacity
		s.fair.amount = a.limit
	}
	s.promised.amount = s.wants[RootQueue].base
}

func (s *Shares) rebuild() {
	n := len(s.tree.nodes)
	s.version, s.fresh = s.tree.version, true
	s.wants = slices.Grow(s.wants[:0], n)[:n]
	clear(s.wants)
	for _, f := range []*filling{&s.fair, &s.promised} {
		f.levels = slices.Grow(f.levels[:0], n)[:n]
		f.current = slices.Grow(f.current[:0], n)[:n]
		clear(f.current)
		f.swept = false
	}
	order := s.tree.topDown()
	for at := len(order) - 1; at >= 0; at-- {
		i := order[at]
		w := &s.wants[i]
		if s.tree.Leaf(i) {
			w.mostBelow = s.told(i)
		}
		s.weigh(i)
		s.limit(i)
		if p := s.tree.nodes[i].parent; p != NoQueue {
			s.wants[p].mostBelow += w.most
			s.wants[p].baseBelow += w.base
		}
	}
}

// weigh gives the children of a queue their weights, priorities and ranks. With tilts a weight
// has twelve bits more, of which many siblings give some up, so that the sum of
// all stays below 2^63.
func (s *Shares) weigh(i QueueIndex) {
	below := s.tree.nodes[i].below
	shift := 0
	for len(below)>>(shift+11) > 0 {
		shift++
	}
	for rank, j := range below {
		n := &s.tree.nodes[j]
		w := &s.wants[j]
		w.rank, w.priority = int32(rank), n.config.Priority
		tilt := n.history.tilt
		if s.untilted {
			tilt = fullTilt
		}
		w.weight = max(1, uint64(n.weight)*uint64(tilt)>>shift)
	}
}

// limit works out what a queue may have from what its children may.
func (s *Shares) limit(i QueueIndex) {
	n, w := &s.tree.nodes[i], &s.wants[i]
	w.most, w.base, w.guarantee = w.mostBelow, w.baseBelow, w.baseBelow
	id, known := s.tree.lookupResource(s.resource)
	if i == RootQueue || !known {
		return
	}
	a := n.look(id)
	if a == nil {
		return
	}
	if most := a.ceiling(); most != unset {
		w.most = min(w.most, most)
	}
	reserve := a.reserve()
	w.most = max(w.most, reserve)
	w.base = max(w.baseBelow, reserve)
	if a.guarantee != unset {
		w.base = min(a.guarantee, w.most)
	}
	w.guarantee = max(a.promised(), w.base)
}

// guaranteedOf is the guaranteed share of a queue, where the guaranteed share of the one
// above it is divided like that.
func (s *Shares) guaranteedOf(l *level, i QueueIndex) int64 {
	if a := s.account(i); a != nil && a.guarantee != unset {
		return s.wants[i].base
	}
	return s.fairOf(l, i)
}

// fairOf is what a queue has of the level above it.
func (s *Shares) fairOf(l *level, i QueueIndex) int64 { return l.of(&s.wants[i], s.unit) }

// portion is divide for one queue. O(depth) where all levels stand.
func (s *Shares) portion(i QueueIndex, f *filling, of func(*level, QueueIndex) int64) int64 {
	s.ascend(i)
	amount, parent := f.amount, RootQueue
	for _, j := range slices.Backward(s.path) {
		amount, parent = of(s.level(f, parent, amount), j), j
	}
	return amount
}

// ascend lists a queue and those above it but the Root in s.path, from the queue up.
func (s *Shares) ascend(i QueueIndex) {
	s.path = s.path[:0]
	for ; i != RootQueue; i = s.tree.nodes[i].parent {
		s.path = append(s.path, i)
	}
}

// walk works out the holdings of a leaf that asks for something and of all queues
// above it but the Root, in the order of s.path: from the leaf up. They are good until
// the next look.
func (s *Shares) walk(i QueueIndex, asked int64) {
	s.ascend(i)
	s.held = slices.Grow(s.held[:0], len(s.path))[:len(s.path)]
	parent, guaranteed, fair := RootQueue, s.promised.amount, s.fair.amount
	for at := len(s.path) - 1; at >= 0; at-- {
		i := s.path[at]
		guaranteed = s.guaranteedOf(s.level(&s.promised, parent, guaranteed), i)
		fair = s.fairOf(s.level(&s.fair, parent, fair), i)
		s.held[at] = holding{queue: i, guaranteed: guaranteed, fair: fair}
		parent = i
	}
	more := asked
	for at := range s.held {
		h := &s.held[at]
		h.has = s.has(h.queue)
		h.with = h.has + more
		if a := s.account(h.queue); a != nil {
			_, more = a.keptAfter(asked, more)
		}
	}
}

// level is how a queue divides an amount among its children.
func (s *Shares) level(f *filling, i QueueIndex, amount int64) *level {
	l := &f.levels[i]
	if !f.current[i] || l.amount != amount {
		*l = s.fill(i, amount)
		f.current[i] = true
	}
	return l
}
