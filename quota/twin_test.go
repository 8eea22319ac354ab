package quota

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// A twin is the tree done without any index: it keeps what it was told and works
// every answer out from that.
type twin struct {
	queues  map[string]Queue
	charges map[string][]twinCharge
	members map[string]int
	active  map[string]bool

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
		queues: map[string]Queue{}, charges: map[string][]twinCharge{},
		members: map[string]int{}, active: map[string]bool{},
	}
}

func (w *twin) children(name string) []string {
	var below []string
	for child, q := range w.queues {
		if q.Parent == name {
			below = append(below, child)
		}
	}
	slices.Sort(below)
	return below
}

func (w *twin) leaf(name string) bool {
	_, ok := w.queues[name]
	return ok && len(w.children(name)) == 0
}

// path is the queue and all above it, without the root.
func (w *twin) path(name string) []string {
	var path []string
	for ; name != ""; name = w.queues[name].Parent {
		path = append(path, name)
	}
	return path
}

func (w *twin) used(name string, r Resource) int64 {
	sum := int64(0)
	for _, c := range w.charges[name] {
		switch r {
		case GPU:
			sum += c.GPUMilli
		case CPU:
			sum += c.CPUMilli
		case Memory:
			sum += c.MemoryMiB
		case GPUOf(c.product):
			sum += c.GPUMilli
		}
	}
	for _, child := range w.children(name) {
		sum += w.used(child, r)
	}
	return sum
}

func (w *twin) promised(name string, r Resource) int64 {
	if g, ok := w.queues[name].Guarantee[r]; ok {
		return g
	}
	return w.promisedBelow(name, r)
}

func (w *twin) promisedBelow(name string, r Resource) int64 {
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
		delete(w.active, q.Parent)
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

func (w *twin) remove(name string) error {
	if _, ok := w.queues[name]; !ok {
		return ErrUnknown
	}
	if len(w.children(name)) > 0 || w.members[name] > 0 || len(w.charges[name]) > 0 {
		return ErrInUse
	}
	delete(w.queues, name)
	delete(w.active, name)
	return nil
}

// fits returns a description of the first limit in the way, or "".
func (w *twin) fits(name string, c twinCharge) string {
	for _, at := range append(w.path(name), "") {
		for _, p := range []struct {
			r     Resource
			asked int64
		}{{GPU, c.GPUMilli}, {GPUOf(c.product), c.GPUMilli}, {CPU, c.CPUMilli}, {Memory, c.MemoryMiB}} {
			v := Verdict{Resource: p.r, Used: w.used(at, p.r), Asked: p.asked}
			limited := false
			v.Limit, limited = w.queues[at].Limit[p.r]
			if at == "" {
				v.Limit, limited = w.capacity[p.r]
			}
			if b, ok := w.queues[at].BorrowingLimit[p.r]; ok && (!limited || b+w.promised(at, p.r) < v.Limit) {
				v.Limit, v.Kind, limited = b+w.promised(at, p.r), BorrowingReached, true
			}
			if !limited || p.asked == 0 {
				continue
			}
			if at != "" && v.Used+p.asked > v.Limit {
				return describe(at, v)
			}
			before := w.held(at, p.r)
			w.charges[name] = append(w.charges[name], c)
			after := w.held(at, p.r)
			w.charges[name] = w.charges[name][:len(w.charges[name])-1]
			if kept := after - v.Used - p.asked; after > before && kept > 0 && after > v.Limit {
				v.Kind, v.Kept = CapacityKept, kept
				return describe(at, v)
			}
		}
	}
	return ""
}

// held is what a queue and those below it take out of the reach of others: what
// they use, or what they do not lend if that is more.
func (w *twin) held(name string, r Resource) int64 {
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
func (w *twin) covered(name string, r Resource) int64 {
	if g, ok := w.queues[name].Guarantee[r]; ok {
		return min(g, w.used(name, r))
	}
	sum := int64(0)
	for _, child := range w.children(name) {
		sum += w.covered(child, r)
	}
	return sum
}

func describe(at string, v Verdict) string {
	return fmt.Sprintf("%s %s %d %d %d, %s %d", at, v.Resource, v.Limit, v.Used, v.Asked, v.Kind, v.Kept)
}

func (w *twin) within(name string, c twinCharge) bool {
	if _, ok := w.queues[name].Guarantee[GPU]; !ok {
		return false
	}
	for _, at := range w.path(name) {
		if g, ok := w.queues[at].Guarantee[GPU]; ok && w.used(at, GPU)+c.GPUMilli > g {
			return false
		}
	}
	return true
}

// next returns the name of the leaf to be served, or "".
func (w *twin) next() string {
	return w.nextBelow("")
}

func (w *twin) nextBelow(at string) string {
	for {
		best := ""
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

func (w *twin) waiting(name string) bool {
	return w.active[name] || slices.ContainsFunc(w.children(name), w.waiting)
}

func (w *twin) before(a, b string) bool {
	owedA, shareA := w.standing(a)
	owedB, shareB := w.standing(b)
	if owedA != owedB {
		return owedA
	}
	if pa, pb := w.queues[a].Priority, w.queues[b].Priority; pa != pb {
		return pa > pb
	}
	if c := shareA.Cmp(shareB); c != 0 {
		return c < 0
	}
	return a < b
}

func (w *twin) standing(name string) (bool, *big.Rat) {
	q, used, covered := w.queues[name], w.used(name, GPU), w.covered(name, GPU)
	if w.owed(name) {
		return true, big.NewRat(covered, w.promised(name, GPU))
	}
	return false, big.NewRat(used-covered, max(q.Weight, 1))
}

func (w *twin) owed(name string) bool {
	if g, ok := w.queues[name].Guarantee[GPU]; ok {
		return w.used(name, GPU) < g
	}
	var first string // of those that would be served
	for _, child := range w.children(name) {
		if w.waiting(child) && (first == "" || w.before(child, first)) {
			first = child
		}
	}
	return first != "" && w.owed(first)
}

func (w *twin) names() []string { return slices.Sorted(maps.Keys(w.queues)) }
