package quota

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
)

// A resourceID is a Resource interned by a tree: GPUs, those of hosts, those declared, then the
// products by their index.
type resourceID int16

const (
	gpuID         resourceID = 0
	firstDeclared            = 1 + resourceID(countable.NumResources)
	firstProduct             = firstDeclared + resourceID(countable.MaxDeclared)
)

func hostID(r countable.Resource) resourceID { return 1 + resourceID(r) }

func declaredID(i int) resourceID { return firstDeclared + resourceID(i) }

// id is the resource that a product is. The first product has the index 1, as 0 is none.
func (p ProductIndex) id() resourceID { return firstProduct + resourceID(p) - 1 }

// productAt is the product that a resource past the others is.
func productAt(r resourceID) ProductIndex { return ProductIndex(r-firstProduct) + 1 }

// unset is the amount that a queue does not state.
const unset = -1

// An account is one resource at one queue.
type account struct {
	resource resourceID
	// guaranteeShare and limitShare are in thousandths, or unset. Where they are set, guarantee and
	// limit are what they come to now: see fleet_shares.go. sharesBelow is the sum of what the
	// children are promised as shares of their whole.
	guaranteeShare, limitShare, sharesBelow int16

	used         int64
	guarantee    int64 // or unset
	limit        int64 // or unset; at the root the capacity
	lending      int64 // or unset
	borrowing    int64 // or unset
	below        int64 // sum of what the children are promised
	coveredBelow int64 // sum of what the children use under guarantees: see covered
	kept         int64 // free for the queues at and below this one alone: see lend.go
	keptBelow    int64 // sum of the children's kept
}

func emptyAccount(r resourceID) account {
	return account{resource: r, guaranteeShare: unset, limitShare: unset, guarantee: unset, limit: unset, lending: unset, borrowing: unset}
}

// state takes over what a configuration says of the account's resource r. What shares come to is
// worked out by resolve.
func (a *account) state(q *Queue, r Resource) {
	a.guarantee, a.limit = amount(q.Guarantee, r), amount(q.Limit, r)
	a.lending, a.borrowing = amount(q.LendingLimit, r), amount(q.BorrowingLimit, r)
	a.guaranteeShare, a.limitShare = share(q.GuaranteeShare, r), share(q.LimitShare, r)
}

// covered is what is used under a guarantee: that of the queue or, where it states
// none, those of the queues below it. The rest of what is used is borrowed.
func (a *account) covered() int64 {
	if a.guarantee != unset {
		return min(a.used, a.guarantee)
	}
	return a.coveredBelow
}

// ceiling is the most that may be used; unset without a limit.
func (a *account) ceiling() int64 {
	if a.borrowing == unset {
		return a.limit
	}
	if most := a.promised() + a.borrowing; a.limit == unset || most < a.limit {
		return most
	}
	return a.limit
}

// promised is what the queues above must set aside for this one: what it states
// or, where it states nothing, what its children were promised.
func (a *account) promised() int64 {
	if a.guarantee != unset {
		return a.guarantee
	}
	return a.below
}

// carried is what a change at a queue changes in the sums of the one above it.
type carried struct{ covered, kept int64 }

// absorb takes in a change of what is used and of the sums of the children, and
// returns what it changes above.
func (a *account) absorb(used int64, c carried) carried {
	covered, kept := a.covered(), a.kept
	a.used += used
	a.coveredBelow += c.covered
	a.keptBelow += c.kept
	a.rekeep()
	return carried{covered: a.covered() - covered, kept: a.kept - kept}
}

// stated reports whether the queue's configuration speaks of the resource.
func (a *account) stated() bool {
	return a.guarantee != unset || a.limit != unset || a.lending != unset || a.borrowing != unset || a.follows()
}

func (a *account) empty() bool { return *a == emptyAccount(a.resource) }

// find returns the place of r among the sparse accounts of n. Few products and declared resources
// matter to one queue, so that a scan beats a search.
func (n *node) find(r resourceID) (int, bool) {
	for j := range n.sparse {
		if have := n.sparse[j].resource; have >= r {
			return j, have == r
		}
	}
	return len(n.sparse), false
}

// account returns the account of r to change, made if missing. The pointer is
// good until the next call for the same queue.
func (n *node) account(r resourceID) *account {
	if r < firstDeclared {
		return &n.host[r]
	}
	j, ok := n.find(r)
	if !ok {
		n.sparse = slices.Insert(n.sparse, j, emptyAccount(r))
	}
	return &n.sparse[j]
}

// peek returns the account of r as it is.
func (n *node) peek(r resourceID) account {
	if r < firstDeclared {
		return n.host[r]
	}
	if j, ok := n.find(r); ok {
		return n.sparse[j]
	}
	return emptyAccount(r)
}

// look returns the account of r to read, nil where there is none. The pointer is
// good until the next change.
func (n *node) look(r resourceID) *account {
	if r < firstDeclared {
		return &n.host[r]
	}
	if j, ok := n.find(r); ok {
		return &n.sparse[j]
	}
	return nil
}

// prune forgets a sparse account that says nothing any more, so that
// memory follows what is configured and used now.
func (n *node) prune(r resourceID) {
	if r < firstDeclared {
		return
	}
	if j, ok := n.find(r); ok && n.sparse[j].empty() {
		n.sparse = slices.Delete(n.sparse, j, j+1)
	}
}

// used reports whether anything at all is used here.
func (n *node) used() bool {
	for r := range n.host {
		if n.host[r].used != 0 {
			return true
		}
	}
	for k := range n.sparse {
		if n.sparse[k].used != 0 {
			return true
		}
	}
	return false
}

// lookupResource finds the ID of a resource that the tree has heard of.
func (t *Tree) lookupResource(r Resource) (resourceID, bool) {
	if r == GPUMilli {
		return gpuID, true
	}
	if h, ok := r.Host(); ok {
		return hostID(h), true
	}
	if i, ok := t.declared.Find(string(r)); ok {
		return declaredID(i), true
	}
	if name, ok := r.product(); ok {
		if p, known := t.byProduct[name]; known {
			return p.id(), true
		}
	}
	return 0, false
}

// resources returns the resources that a queue speaks of, in order.
func (q *Queue) resources() []Resource {
	all := make([]Resource, 0, len(q.Guarantee)+len(q.Limit))
	for _, f := range q.stated() {
		if len(f.amounts) > 0 {
			all = append(all, slices.Sorted(maps.Keys(f.amounts))...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkPromises refuses a queue whose guarantees do not add up with those below
// and above it. i is None for a new queue.
func (t *Tree) checkPromises(q *Queue, i, parent QueueIndex) *Error {
	// A guarantee that is withdrawn needs no look upwards: it was at least the sum
	// of the children's, which now stands in for it.
	for _, r := range q.resources() {
		id, known := t.lookupResource(r)
		old := emptyAccount(id)
		if i != NoQueue && known {
			old = t.nodes[i].peek(id)
		}
		next := old
		next.state(q, r)
		if next.guarantee != unset && next.guarantee < next.below && next.sharesBelow == 0 {
			return q.refuse(ErrInvalid, element("guarantee", r), fmt.Sprintf("%d is less than the %d guaranteed to the queues below", next.guarantee, next.below))
		}
		if next.limit != unset && next.promised() > next.limit && next.guaranteeShare == unset {
			return q.refuse(ErrInvalid, element("limit", r), fmt.Sprintf("%d is less than the %d guaranteed", next.limit, next.promised()))
		}
		if more := next.promised() - old.promised(); more > 0 && known && next.guaranteeShare == unset {
			if err := t.checkAbove(q, r, id, parent, more); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAbove refuses to promise more of a resource below parent than the queues
// from there up can keep. A resource that the tree has not heard of is not
// promised or limited by any of them, so that only known ones come here.
func (t *Tree) checkAbove(q *Queue, r Resource, id resourceID, parent QueueIndex, more int64) *Error {
	for ; parent != NoQueue; parent = t.nodes[parent].parent {
		above := t.nodes[parent].peek(id)
		sum := above.below + more
		switch {
		case above.guarantee != unset && sum > above.guarantee:
			return q.refuse(ErrInvalid, element("guarantee", r), fmt.Sprintf("with its siblings' makes %d of the %d that %q is guaranteed", sum, above.guarantee, errtext.Short(t.Name(parent))))
		case above.guarantee != unset:
			return nil // those above have set this aside already
		case parent != RootQueue && above.limit != unset && sum > above.limit:
			return q.refuse(ErrInvalid, element("guarantee", r), fmt.Sprintf("with its siblings' makes %d of the %d that %q is limited to", sum, above.limit, errtext.Short(t.Name(parent))))
		}
	}
	return nil
}

// apply makes a checked configuration that of queue i. What the old one stated
// comes first, so that products that go make room for those that come.
func (t *Tree) apply(q *Queue, i QueueIndex) {
	t.version++
	old := t.nodes[i].config
	t.nodes[i].config = q.clone()
	t.nodes[i].weight = max(q.Weight, 1)
	if old.Priority != q.Priority {
		t.resort(i)
	}
	for _, r := range slices.Concat(old.resources(), q.resources()) {
		id, known := t.lookupResource(r)
		if name, ok := r.product(); ok && !known {
			id = t.addProduct(name).id()
		}
		a := t.nodes[i].account(id)
		before := *a
		a.state(q, r)
		if a.follows() {
			a.resolve(t.wholeAt(t.nodes[i].parent, id))
		}
		after := *a
		t.promise(i, id, &before, &after)
		t.countSharers(r, &before, &after)
		t.settle(i, id, &before)
		if after.guarantee != before.guarantee && t.sharers[r] > 0 && t.resolveBelow(i, id) {
			t.followed = true
		}
		if id >= firstProduct {
			t.state(id, &before, &after)
		}
	}
	t.reorderFrom(i)
}

// settle brings the sums of the queues from i up into line with what i and those
// above it state now. Before is the account of i as it was.
func (t *Tree) settle(i QueueIndex, r resourceID, before *account) {
	a := t.nodes[i].account(r)
	a.rekeep()
	c := carried{covered: a.covered() - before.covered(), kept: a.kept - before.kept}
	t.nodes[i].prune(r)
	for i = t.nodes[i].parent; i != NoQueue; i = t.nodes[i].parent {
		c = t.nodes[i].account(r).absorb(0, c)
		t.nodes[i].prune(r)
	}
}

// state counts whether a queue states a product, before and after.
func (t *Tree) state(r resourceID, before, after *account) {
	p := productAt(r)
	switch {
	case !before.stated() && after.stated():
		t.product(p).stated++
	case before.stated() && !after.stated():
		t.product(p).stated--
		t.dropProduct(p)
	}
}

// promise tells the queues above i what i is promised otherwise than before, as amounts and as
// shares of their whole. It ends at the first which states a guarantee: what that one is promised
// stays the same.
func (t *Tree) promise(i QueueIndex, r resourceID, before, after *account) {
	more, shares := after.promised()-before.promised(), after.promisedShare()-before.promisedShare()
	for j := t.nodes[i].parent; j != NoQueue && (more != 0 || shares != 0); j = t.nodes[j].parent {
		a := t.nodes[j].account(r)
		a.below += more
		a.sharesBelow += shares
		stated := a.guarantee != unset
		t.nodes[j].prune(r)
		if stated {
			return
		}
	}
}

// amount returns what is said of r, or unset.
func amount(amounts Amounts, r Resource) int64 {
	if v, ok := amounts[r]; ok {
		return v
	}
	return unset
}
