package quota

import (
	"fmt"
	"maps"
	"slices"
)

// A resourceID is a Resource interned by a tree: the three below, then the
// products by their index.
type resourceID int32

const (
	gpuID resourceID = iota
	cpuID
	memoryID
	firstProduct
)

func (p ProductIndex) id() resourceID { return firstProduct + resourceID(p) }

// unset is the guarantee or limit that a queue does not state.
const unset = -1

// An account is one resource at one queue.
type account struct {
	resource  resourceID
	used      int64
	guarantee int64 // or unset
	limit     int64 // or unset
	below     int64 // sum of what the children are promised
}

func emptyAccount(r resourceID) account { return account{resource: r, guarantee: unset, limit: unset} }

// promised is what the queues above must set aside for this one: what it states
// or, where it states nothing, what its children were promised.
func (a *account) promised() int64 {
	if a.guarantee != unset {
		return a.guarantee
	}
	return a.below
}

// stated reports whether the queue's configuration speaks of the resource.
func (a *account) stated() bool { return a.guarantee != unset || a.limit != unset }

func (a *account) empty() bool { return *a == emptyAccount(a.resource) }

// find returns the place of r among the products of n. Few products matter to
// one queue, so that a scan beats a search.
func (n *node) find(r resourceID) (int, bool) {
	for j := range n.products {
		if have := n.products[j].resource; have >= r {
			return j, have == r
		}
	}
	return len(n.products), false
}

// account returns the account of r to change, made if missing. The pointer is
// good until the next call for the same queue.
func (n *node) account(r resourceID) *account {
	if r < firstProduct {
		return &n.host[r]
	}
	j, ok := n.find(r)
	if !ok {
		n.products = slices.Insert(n.products, j, emptyAccount(r))
	}
	return &n.products[j]
}

// peek returns the account of r as it is.
func (n *node) peek(r resourceID) account {
	if r < firstProduct {
		return n.host[r]
	}
	if j, ok := n.find(r); ok {
		return n.products[j]
	}
	return emptyAccount(r)
}

// prune forgets the account of a product that says nothing any more, so that
// memory follows what is configured and used now.
func (n *node) prune(r resourceID) {
	if r < firstProduct {
		return
	}
	if j, ok := n.find(r); ok && n.products[j].empty() {
		n.products = slices.Delete(n.products, j, j+1)
	}
}

// used reports whether anything at all is used here. Products count as GPU.
func (n *node) used() bool {
	for r := range n.host {
		if n.host[r].used != 0 {
			return true
		}
	}
	return false
}

// lookupResource finds the ID of a resource that the tree has heard of.
func (t *Tree) lookupResource(r Resource) (resourceID, bool) {
	switch r {
	case GPU:
		return gpuID, true
	case CPU:
		return cpuID, true
	case Memory:
		return memoryID, true
	}
	name, ok := r.product()
	if !ok {
		return 0, false
	}
	p, ok := t.byProduct[name]
	return p.id(), ok
}

// resources returns the resources that a queue speaks of, in order.
func (q *Queue) resources() []Resource {
	all := make([]Resource, 0, len(q.Guarantee)+len(q.Limit))
	for _, amounts := range []Amounts{q.Guarantee, q.Limit} {
		all = append(all, slices.Sorted(maps.Keys(amounts))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkPromises refuses a queue whose guarantees do not add up with those below
// and above it. i is None for a new queue.
func (t *Tree) checkPromises(q *Queue, i, parent Index) *Error {
	// A guarantee that is withdrawn needs no look upwards: it was at least the sum
	// of the children's, which now stands in for it.
	for _, r := range q.resources() {
		id, known := t.lookupResource(r)
		old := emptyAccount(id)
		if i != None && known {
			old = t.nodes[i].peek(id)
		}
		next := old
		next.guarantee, next.limit = amount(q.Guarantee, r), amount(q.Limit, r)
		if next.guarantee != unset && next.guarantee < next.below {
			return q.refuse(ErrInvalid, element("guarantee", r), fmt.Sprintf("%d is less than the %d guaranteed to the queues below", next.guarantee, next.below))
		}
		if next.limit != unset && next.promised() > next.limit {
			return q.refuse(ErrInvalid, element("limit", r), fmt.Sprintf("%d is less than the %d guaranteed", next.limit, next.promised()))
		}
		if more := next.promised() - old.promised(); more > 0 && known {
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
func (t *Tree) checkAbove(q *Queue, r Resource, id resourceID, parent Index, more int64) *Error {
	for ; parent != None; parent = t.nodes[parent].parent {
		above := t.nodes[parent].peek(id)
		sum := above.below + more
		switch {
		case above.guarantee != unset && sum > above.guarantee:
			return q.refuse(ErrInvalid, element("guarantee", r), fmt.Sprintf("with its siblings' makes %d of the %d that %q is guaranteed", sum, above.guarantee, t.Name(parent)))
		case above.guarantee != unset:
			return nil // those above have set this aside already
		case above.limit != unset && sum > above.limit:
			return q.refuse(ErrInvalid, element("guarantee", r), fmt.Sprintf("with its siblings' makes %d of the %d that %q is limited to", sum, above.limit, t.Name(parent)))
		}
	}
	return nil
}

// apply makes a checked configuration that of queue i. What the old one stated
// comes first, so that products that go make room for those that come.
func (t *Tree) apply(q *Queue, i Index) {
	old := t.nodes[i].config
	t.nodes[i].config = q.clone()
	t.nodes[i].weight = max(q.Weight, 1)
	for _, r := range slices.Concat(old.resources(), q.resources()) {
		id, known := t.lookupResource(r)
		if name, ok := r.product(); ok && !known {
			id = t.addProduct(name).id()
		}
		a := t.nodes[i].account(id)
		before := *a
		a.guarantee, a.limit = amount(q.Guarantee, r), amount(q.Limit, r)
		after := *a
		t.promise(i, id, after.promised()-before.promised())
		t.nodes[i].prune(id)
		if id >= firstProduct {
			t.state(id, &before, &after)
		}
	}
	t.reorder(i)
}

// state counts whether a queue states a product, before and after.
func (t *Tree) state(r resourceID, before, after *account) {
	p := ProductIndex(r - firstProduct)
	switch {
	case !before.stated() && after.stated():
		t.products[p].stated++
	case before.stated() && !after.stated():
		t.products[p].stated--
		t.dropProduct(p)
	}
}

// promise tells the queues above i that i is promised so much more. It ends at
// the first which states a guarantee: what that one is promised stays the same.
func (t *Tree) promise(i Index, r resourceID, more int64) {
	for j := t.nodes[i].parent; j != None && more != 0; j = t.nodes[j].parent {
		a := t.nodes[j].account(r)
		a.below += more
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
