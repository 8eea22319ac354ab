package quota

import (
	"fmt"
	"maps"
	"slices"
)

// Check verifies the invariants of Tree from scratch: every sum, heap and index
// against what it stands for. It is for tests, whose every step may call it.
// O(queues x products).
func (t *Tree) Check() error {
	if err := t.checkNames(); err != nil {
		return err
	}
	if err := t.checkProductTable(); err != nil {
		return err
	}
	if err := t.checkKept(); err != nil {
		return err
	}
	sums := t.sums()
	for i := range t.nodes {
		n := &t.nodes[i]
		if !n.live {
			continue
		}
		for _, check := range []func() error{
			func() error { return t.checkSums(n, sums[i]) },
			func() error { return t.checkStatement(n) },
			func() error { return t.checkHeap(QueueIndex(i)) },
		} {
			if err := check(); err != nil {
				return fmt.Errorf("quota: check: queue %q: %w", n.config.Name, err)
			}
		}
		if h := &n.history; h.average < 0 || h.average > maxAverage<<averageBits || h.tilt < leastTilt || h.tilt > fullTilt {
			return fmt.Errorf("quota: check: queue %q: average %d, tilt %d", n.config.Name, h.average, h.tilt)
		}
		if n.nonPreemptible < 0 || n.nonPreemptible > n.host[gpuID].used {
			return fmt.Errorf("quota: check: queue %q: %d of the %d in use are never reclaimed", n.config.Name, n.nonPreemptible, n.host[gpuID].used)
		}
		if n.members < 0 || (QueueIndex(i) == RootQueue || len(n.below) > 0) && (n.members != 0 || n.active) {
			return fmt.Errorf("quota: check: queue %q: %d jobs, active %t at no leaf", n.config.Name, n.members, n.active)
		}
	}
	return nil
}

// checkNames compares the index of names with the queues.
func (t *Tree) checkNames() error {
	live := 0
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case !n.live:
			if !slices.Contains(t.free, QueueIndex(i)) || n.left() {
				return fmt.Errorf("quota: check: index %d is neither live nor free, or something is left of its queue", i)
			}
		case QueueIndex(i) == RootQueue:
			if n.parent != NoQueue || n.config.Name != "" || n.position >= 0 {
				return fmt.Errorf("quota: check: the root is no root")
			}
		default:
			live++
			if have, ok := t.byName[n.config.Name]; !ok || have != QueueIndex(i) || !t.live(n.parent) || t.Name(n.parent) != n.config.Parent {
				return fmt.Errorf("quota: check: queue %q at %d below %d is misfiled", n.config.Name, i, n.parent)
			}
		}
	}
	if live != len(t.byName) || live+1+len(t.free) != len(t.nodes) {
		return fmt.Errorf("quota: check: %d queues, %d names, %d free of %d", live, len(t.byName), len(t.free), len(t.nodes))
	}
	return nil
}

// left reports whether anything is left of a queue that was removed.
func (n *node) left() bool {
	return n.active || n.position >= 0 || n.members != 0 || n.used() || len(n.below)+len(n.sparse)+n.heap.Len() > 0 || n.history != history{}
}

// checkKept works out anew what follows from the queues and the clock, and compares.
func (t *Tree) checkKept() error {
	fresh, births := Tree{nodes: t.nodes}, map[uint64]bool{}
	if len(t.order) > 0 && !slices.Equal(t.order, fresh.topDown()) {
		return fmt.Errorf("quota: check: the queues are in the order %v, not %v", t.order, fresh.order)
	}
	if fresh.decay.fill(); t.decay.width != 0 && t.decay.table != fresh.decay.table {
		return fmt.Errorf("quota: check: the table of the decay is another")
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.live {
			if births[n.birth] || n.birth > t.births {
				return fmt.Errorf("quota: check: queue %q was born with another, or is yet to be", n.config.Name)
			}
			births[n.birth] = true
		}
	}
	return nil
}

// checkProductTable counts what lets each product live, and compares the index of
// their names with the table.
func (t *Tree) checkProductTable() error {
	stated := map[Resource]int64{}
	for i := range t.nodes {
		for _, r := range t.nodes[i].config.resources() {
			if t.nodes[i].live {
				stated[r]++
			}
		}
	}
	if len(t.names) != int(firstProduct)+len(t.products) || len(t.byProduct) > t.maxProducts {
		return fmt.Errorf("quota: check: %d products of %d at the most, in %d places with %d names", len(t.byProduct), t.maxProducts, len(t.products), len(t.names))
	}
	live := 0
	for i, p := range t.products {
		index := ProductIndex(i) + 1
		r := t.names[index.id()]
		used := t.nodes[RootQueue].peek(index.id()).used
		switch name, ok := r.product(); {
		case r == "" && (p != product{} || used != 0 || i == len(t.products)-1):
			return fmt.Errorf("quota: check: the free product %d is retained %d times, stated %d times, %d in use, or last", index, p.retained, p.stated, used)
		case r == "":
			continue
		case !ok || t.Product(name) != index:
			return fmt.Errorf("quota: check: %s is not found at %d", r, index)
		case p.retained < 0 || p.stated != stated[r]:
			return fmt.Errorf("quota: check: %s is retained %d times and stated %d times, %d queues state it", r, p.retained, p.stated, stated[r])
		case p == product{} && used == 0:
			return fmt.Errorf("quota: check: %s lives without any use", r)
		}
		live++
	}
	if live != len(t.byProduct) {
		return fmt.Errorf("quota: check: %d products, %d names of products", live, len(t.byProduct))
	}
	return nil
}

// total is what the children of one queue add up to.
type total struct {
	children, queued int
	used, promised   map[resourceID]int64
	covered, kept    map[resourceID]int64
	shares           map[resourceID]int16
}

func (t *Tree) sums() []total {
	sums := make([]total, len(t.nodes))
	for i := range t.nodes {
		sums[i].used, sums[i].promised = map[resourceID]int64{}, map[resourceID]int64{}
		sums[i].covered, sums[i].kept = map[resourceID]int64{}, map[resourceID]int64{}
		sums[i].shares = map[resourceID]int16{}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		if !n.live || QueueIndex(i) == RootQueue {
			continue
		}
		s := &sums[n.parent]
		s.children++
		if n.position >= 0 {
			s.queued++
		}
		for _, a := range n.accounts() {
			s.used[a.resource] += a.used
			s.promised[a.resource] += a.promised()
			s.covered[a.resource] += a.covered()
			s.kept[a.resource] += a.kept
			s.shares[a.resource] += a.promisedShare()
		}
	}
	return sums
}

func (n *node) accounts() []account { return slices.Concat(n.host[:], n.sparse) }

func (t *Tree) checkSums(n *node, s total) error {
	if len(n.below) != s.children || !slices.IsSortedFunc(n.below, t.compareSiblings) {
		return fmt.Errorf("%d children, %d on the list, or out of order", s.children, len(n.below))
	}
	if n.heap.Len() != s.queued {
		return fmt.Errorf("%d children to be served, %d in the heap", s.queued, n.heap.Len())
	}
	seen := map[resourceID]bool{}
	products := int64(0)
	last := resourceID(-1)
	for _, a := range n.accounts() {
		switch {
		case a.resource <= last || int(a.resource) >= len(t.names) || t.names[a.resource] == "":
			return fmt.Errorf("the account of resource %d is out of place", a.resource)
		case a.resource >= firstDeclared && a.empty():
			return fmt.Errorf("%s: an account that says nothing", t.names[a.resource])
		case a.used < 0 || s.children > 0 && a.used != s.used[a.resource]:
			return fmt.Errorf("%s: %d in use, the children use %d", t.names[a.resource], a.used, s.used[a.resource])
		case a.below != s.promised[a.resource]:
			return fmt.Errorf("%s: %d promised below, the children are promised %d", t.names[a.resource], a.below, s.promised[a.resource])
		case a.sharesBelow != s.shares[a.resource] || a.sharesBelow > wholeShare:
			return fmt.Errorf("%s: %d thousandths promised below, the children are promised %d", t.names[a.resource], a.sharesBelow, s.shares[a.resource])
		case a.coveredBelow != s.covered[a.resource] || a.keptBelow != s.kept[a.resource] || a.kept != max(a.keptBelow, a.reserve()-a.used):
			return fmt.Errorf("%s: %s", t.names[a.resource], a.describe())
		case a.guarantee != unset && a.below > a.guarantee, n.parent != NoQueue && a.limit != unset && a.promised() > a.limit:
			return fmt.Errorf("%s: guarantee %d and limit %d for a promise of %d", t.names[a.resource], a.guarantee, a.limit, a.below)
		}
		last = a.resource
		seen[a.resource] = true
		if a.resource >= firstProduct {
			products += a.used
		}
	}
	if products > n.host[gpuID].used {
		return fmt.Errorf("%d GPUs of the products in use, but %d in all", products, n.host[gpuID].used)
	}
	for _, r := range slices.Sorted(maps.Keys(s.used)) {
		if !seen[r] && (s.used[r] != 0 || s.promised[r] != 0 || s.kept[r] != 0) {
			return fmt.Errorf("%s: no account, though the children have one", t.names[r])
		}
	}
	return nil
}

// checkStatement compares the accounts with the configuration.
func (t *Tree) checkStatement(n *node) error {
	stated := 0
	for _, a := range n.accounts() {
		r := t.names[a.resource]
		configured := a
		if configured.state(&n.config, r); configured.follows() && !slices.Contains(t.moved, r) {
			configured.resolve(t.wholeAt(n.parent, a.resource))
		} else if configured.follows() { // to be told yet
			configured.guarantee, configured.limit = a.guarantee, a.limit
		}
		if configured != a {
			return fmt.Errorf("%s: guarantee %d, limit %d, lending %d and borrowing %d are not those configured", r, a.guarantee, a.limit, a.lending, a.borrowing)
		}
		if a.stated() {
			stated++
		}
	}
	if stated != len(n.config.resources()) || n.weight != max(n.config.Weight, 1) {
		return fmt.Errorf("weight %d and %d resources are not those configured", n.weight, stated)
	}
	return nil
}

func (t *Tree) checkHeap(i QueueIndex) error {
	n := &t.nodes[i]
	if !n.active && n.asks != 0 {
		return fmt.Errorf("asks for %d, and is not active", n.asks)
	}
	if queued := n.active || n.heap.Len() > 0; i != RootQueue && queued != (n.position >= 0) {
		return fmt.Errorf("to be served: %t, position %d", queued, n.position)
	}
	for at, j := range n.heap.Items() {
		if !t.live(j) || t.nodes[j].parent != i || t.nodes[j].position != int32(at) {
			return fmt.Errorf("the heap has %d at %d", j, at)
		}
		if child := &t.nodes[j]; child.turn != t.turnOf(child) {
			return fmt.Errorf("the turn of %q is %v and should be %v", t.Name(j), child.turn, t.turnOf(child))
		}
		if at > 0 && t.before(j, n.heap.Items()[(at-1)/2]) {
			return fmt.Errorf("%q stands behind %q in the heap", t.Name(j), t.Name(n.heap.Items()[(at-1)/2]))
		}
	}
	return nil
}
