package quota

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/berth-sched/berth/countable"
)

// A twin is the tree done without any index: it keeps what it was told and works
// every answer out from that.
type twin struct {
	queues  map[QueueID]Queue
	charges map[QueueID][]twinCharge
	members map[QueueID]int
	active  map[QueueID]bool
	asks    map[QueueID]int64 // by the active leaves, next

	capacity    Amounts
	retained    map[string]int // products
	maxProducts int
}

type twinCharge struct {
	Charge
	product string
}

func newTwin(maxProducts int) *twin {
	return &twin{
		retained: map[string]int{}, maxProducts: maxProducts, capacity: Amounts{},
		queues: map[QueueID]Queue{}, charges: map[QueueID][]twinCharge{},
		members: map[QueueID]int{}, active: map[QueueID]bool{}, asks: map[QueueID]int64{},
	}
}

func (w *twin) children(name QueueID) []QueueID {
	var below []QueueID
	for child, q := range w.queues {
		if q.Parent == name {
			below = append(below, child)
		}
	}
	slices.Sort(below)
	return below
}

func (w *twin) leaf(name QueueID) bool {
	_, ok := w.queues[name]
	return ok && len(w.children(name)) == 0
}

// path is the queue and all above it, without the root.
func (w *twin) path(name QueueID) []QueueID {
	var path []QueueID
	for ; name != ""; name = w.queues[name].Parent {
		path = append(path, name)
	}
	return path
}

func (w *twin) used(name QueueID, r Resource) int64 {
	sum := int64(0)
	for _, c := range w.charges[name] {
		switch r {
		case GPUMilli:
			sum += c.GPUMilli
		case CPUMilli:
			sum += c.Host[countable.CPUMilli]
		case MemoryMiB:
			sum += c.Host[countable.MemoryMiB]
		case GPUMilliOf(c.product):
			sum += c.GPUMilli
		}
	}
	for _, child := range w.children(name) {
		sum += w.used(child, r)
	}
	return sum
}

func (w *twin) promised(name QueueID, r Resource) int64 {
	if g, ok := w.queues[name].Guarantee[r]; ok {
		return g
	}
	return w.promisedBelow(name, r)
}

func (w *twin) promisedBelow(name QueueID, r Resource) int64 {
	sum := int64(0)
	for _, child := range w.children(name) {
		sum += w.promised(child, r)
	}
	return sum
}

// set returns the kind of refusal, or nil.
func (w *twin) set(q Queue) error {
	old, exists := w.queues[q.Name]
	if _, ok := w.queues[q.Parent]; !ok && q.Parent != "" {
		return ErrUnknown
	}
	if exists && old.Parent != q.Parent {
		return ErrUnsupported
	}
	if !exists && (w.members[q.Parent] > 0 || len(w.charges[q.Parent]) > 0) {
		return ErrInUse
	}
	w.queues[q.Name] = q
	if !w.keepsPromises() {
		if delete(w.queues, q.Name); exists {
			w.queues[q.Name] = old
		}
		return ErrInvalid
	}
	if len(w.products()) > w.maxProducts {
		if delete(w.queues, q.Name); exists {
			w.queues[q.Name] = old
		}
		return ErrLimit
	}
	if !exists {
		w.deactivate(q.Parent)
	}
	return nil
}

// products returns the names of those that are retained, configured or in use.
func (w *twin) products() map[string]bool {
	live := map[string]bool{}
	for name, n := range w.retained {
		if n > 0 {
			live[name] = true
		}
	}
	for _, q := range w.queues {
		for _, r := range q.resources() {
			if name, ok := r.product(); ok {
				live[name] = true
			}
		}
	}
	for r := range w.capacity {
		if name, ok := r.product(); ok {
			live[name] = true
		}
	}
	for _, charges := range w.charges {
		for _, c := range charges {
			if c.product != "" && c.GPUMilli > 0 {
				live[c.product] = true
			}
		}
	}
	return live
}

// retain returns the kind of refusal, or nil.
func (w *twin) retain(product string) error {
	if w.retained[product]++; len(w.products()) > w.maxProducts {
		w.retained[product]--
		return ErrLimit
	}
	return nil
}

func (w *twin) keepsPromises() bool {
	for name, q := range w.queues {
		for r, g := range q.Guarantee {
			if w.promisedBelow(name, r) > g {
				return false
			}
		}
		for r, limit := range q.Limit {
			if w.promised(name, r) > limit {
				return false
			}
		}
	}
	return true
}

func (w *twin) remove(name QueueID) error {
	if _, ok := w.queues[name]; !ok {
		return ErrUnknown
	}
	if len(w.children(name)) > 0 || w.members[name] > 0 || len(w.charges[name]) > 0 {
		return ErrInUse
	}
	delete(w.queues, name)
	w.deactivate(name)
	return nil
}

// inTheWay returns descriptions of all limits in the way.
func (w *twin) inTheWay(name QueueID, c twinCharge) []string {
	var found []string
	if c.NonPreemptible && c.GPUMilli > 0 {
		v := Verdict{Resource: GPUMilli, Limit: w.promised(name, GPUMilli), Asked: c.GPUMilli, Kind: VerdictNonPreemptible}
		for _, other := range w.charges[name] {
			if other.NonPreemptible {
				v.Used += other.GPUMilli
			}
		}
		if v.Used+v.Asked > v.Limit {
			found = append(found, describe(name, v))
		}
	}
	for _, at := range append(w.path(name), "") {
		for _, p := range []struct {
			r     Resource
			asked int64
		}{{GPUMilli, c.GPUMilli}, {GPUMilliOf(c.product), c.GPUMilli}, {CPUMilli, c.Host[countable.CPUMilli]}, {MemoryMiB, c.Host[countable.MemoryMiB]}} {
			limit, limited := w.queues[at].Limit[p.r]
			borrowing, borrows := w.queues[at].BorrowingLimit[p.r]
			if at == "" {
				limit, limited = w.capacity[p.r]
			}
			if p.asked == 0 || !limited && !borrows {
				continue
			}
			v := Verdict{Resource: p.r, Used: w.used(at, p.r), Asked: p.asked}
			before := w.held(at, p.r)
			w.charges[name] = append(w.charges[name], c)
			after := w.held(at, p.r)
			w.charges[name] = w.charges[name][:len(w.charges[name])-1]
			if after > before {
				v.Withheld = after - v.Used - p.asked
			}
			var limits []Verdict
			if limited {
				limits = append(limits, Verdict{Limit: limit, Kind: VerdictLimit})
			}
			if borrows {
				limits = append(limits, Verdict{Limit: w.promised(at, p.r) + borrowing, Kind: VerdictBorrowingLimit})
			}
			slices.SortStableFunc(limits, func(a, b Verdict) int { return int(a.Limit - b.Limit) })
			reached := false
			for _, l := range limits {
				if v.Limit, v.Kind = l.Limit, l.Kind; at != "" && v.Used+p.asked > l.Limit {
					found, reached = append(found, describe(at, v)), true
				}
			}
			if v.Limit = limits[0].Limit; !reached && v.Withheld > 0 && v.Used+p.asked+v.Withheld > v.Limit {
				v.Kind = VerdictLendingLimit
				found = append(found, describe(at, v))
			}
		}
	}
	return found
}

// held is what a queue and those below it take out of the reach of others: what
// they use, or what they do not lend if that is more.
func (w *twin) held(name QueueID, r Resource) int64 {
	held := w.used(name, r)
	for _, child := range w.children(name) {
		held += w.held(child, r) - w.used(child, r)
	}
	if lends, ok := w.queues[name].LendingLimit[r]; ok {
		held = max(held, w.promised(name, r)-lends)
	}
	return held
}

// covered is what is used under a guarantee.
func (w *twin) covered(name QueueID, r Resource) int64 {
	if g, ok := w.queues[name].Guarantee[r]; ok {
		return min(g, w.used(name, r))
	}
	sum := int64(0)
	for _, child := range w.children(name) {
		sum += w.covered(child, r)
	}
	return sum
}

func describe(at QueueID, v Verdict) string {
	return fmt.Sprintf("%s %s %d %d %d, %s %d", at, v.Resource, v.Limit, v.Used, v.Asked, v.Kind, v.Withheld)
}

func (w *twin) within(name QueueID, c twinCharge) bool {
	if _, ok := w.queues[name].Guarantee[GPUMilli]; !ok {
		return false
	}
	for _, at := range w.path(name) {
		if g, ok := w.queues[at].Guarantee[GPUMilli]; ok && w.used(at, GPUMilli)+c.GPUMilli > g {
			return false
		}
	}
	return true
}

// next returns the name of the leaf to be served, or "".
func (w *twin) next() QueueID {
	return w.nextBelow("")
}

func (w *twin) nextBelow(at QueueID) QueueID {
	for {
		best := QueueID("")
		for _, child := range w.children(at) {
			if w.waiting(child) && (best == "" || w.before(child, best)) {
				best = child
			}
		}
		if best == "" {
			return at
		}
		at = best
	}
}

func (w *twin) waiting(name QueueID) bool {
	return w.active[name] || slices.ContainsFunc(w.children(name), w.waiting)
}

func (w *twin) deactivate(name QueueID) {
	delete(w.active, name)
	delete(w.asks, name)
}

func (w *twin) before(a, b QueueID) bool {
	if owedA, owedB := w.owed(a), w.owed(b); owedA != owedB {
		return owedA
	}
	if pa, pb := w.queues[a].Priority, w.queues[b].Priority; pa != pb {
		return pa > pb
	}
	if c := w.share(a).Cmp(w.share(b)); c != 0 {
		return c < 0
	}
	if nextA, nextB := w.asks[w.nextBelow(a)], w.asks[w.nextBelow(b)]; nextA != nextB {
		return nextA < nextB
	}
	return a < b
}

// owed goes down the way of the next job to the first queue that states a guarantee,
// and looks whether there is room for it there.
func (w *twin) owed(name QueueID) bool {
	job := max(1, w.asks[w.nextBelow(name)])
	for {
		if g, ok := w.queues[name].Guarantee[GPUMilli]; ok {
			return w.used(name, GPUMilli)+job <= g
		}
		if w.leaf(name) {
			return false
		}
		below := QueueID("")
		for _, child := range w.children(name) {
			if w.waiting(child) && (below == "" || w.before(child, below)) {
				below = child
			}
		}
		if below == "" {
			return false
		}
		name = below
	}
}

// share charges the next job, and looks what comes of it.
func (w *twin) share(name QueueID) *big.Rat {
	q, owed := w.queues[name], w.owed(name)
	undo := w.serve(name)
	defer undo()
	used, covered := w.used(name, GPUMilli), w.covered(name, GPUMilli)
	if owed {
		return big.NewRat(covered, w.promised(name, GPUMilli))
	}
	return big.NewRat(used-covered, max(q.Weight, 1))
}

// serve charges the job that a queue would serve next, until it is undone.
func (w *twin) serve(name QueueID) (undo func()) {
	leaf := w.nextBelow(name)
	before := w.charges[leaf]
	w.charges[leaf] = append(slices.Clone(before), twinCharge{Charge: Charge{GPUMilli: w.asks[leaf]}})
	return func() {
		if w.charges[leaf] = before; before == nil {
			delete(w.charges, leaf)
		}
	}
}

// standing is what Positions says of the order.
func (w *twin) standing(name QueueID) Position {
	s := Position{WithinGuarantee: w.owed(name), Next: w.asks[w.nextBelow(name)]}
	covered := w.covered(name, GPUMilli)
	undo := w.serve(name)
	s.NextCovered = w.covered(name, GPUMilli) - covered
	undo()
	if !w.waiting(name) {
		return s
	}
	s.Position = 1
	for _, sibling := range w.children(w.queues[name].Parent) {
		if w.waiting(sibling) {
			s.Siblings++
			if sibling != name && w.before(sibling, name) {
				s.Position++
			}
		}
	}
	return s
}

func (w *twin) names() []QueueID { return slices.Sorted(maps.Keys(w.queues)) }
