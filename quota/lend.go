package quota

import (
	"fmt"
)

// How lending limits are kept. A queue that is promised p of a resource and lends
// at most l of it has a reserve of p-l: so much stays free for it when it uses
// less. With u used at and below the queue, and k kept free for the queues right
// below it, what is kept free for the queue is
//
//	kept = max(k, reserve - u)
//
// as what is kept for those below serves it too. Used and kept together are what a
// queue takes out of the reach of its siblings, and a charge that its own reserve
// bears takes out nothing more.

// UnknownCapacity is the capacity of a fleet before it was told.
const UnknownCapacity = unset

// reserve is what the queue does not lend of what it is promised.
func (a *account) reserve() int64 {
	if a.lending == unset {
		return 0
	}
	return max(0, a.promised()-a.lending)
}

func (a *account) rekeep() { a.kept = max(a.keptBelow, a.reserve()-a.used) }

// keptAfter returns what would be kept here after a charge, and how much more the
// queue would then take out of the reach of its siblings. More is the same of the
// queue below it from which the charge comes: at a leaf, the charge.
func (a *account) keptAfter(charge, more int64) (kept, moreHere int64) {
	held := max(a.used+a.keptBelow+more, a.reserve())
	return held - a.used - charge, held - a.used - a.kept
}

// SetCapacity tells how much of a resource the fleet has: what Divide shares out,
// and what lending limits keep free. UnknownCapacity withdraws it: nothing is then
// kept free but below the limits of queues, and shares are divided as if there
// were enough. It refuses what is no resource or amount (ErrInvalid) and a product
// that would be one more than MaxProducts (ErrLimit). A product lives while its
// capacity is known.
//
// Capacity may fall below what is used or guaranteed; nothing is taken from anyone
// by that. O(1), and O(products) for one that is new to the tree or goes from it;
// no Shares works out more for it than the levels whose portions change.
func (t *Tree) SetCapacity(r Resource, capacity int64) error {
	refuse := func(kind error, reason string) error {
		return &Error{Field: element("capacity", r), Reason: reason, Kind: kind}
	}
	if reason := t.checkResource(r); reason != "" {
		return refuse(ErrInvalid, reason)
	}
	if capacity != UnknownCapacity {
		if reason := checkAmount(capacity); reason != "" {
			return refuse(ErrInvalid, reason)
		}
	}
	old, known := t.Capacity(r)
	if !known {
		old = UnknownCapacity
	}
	if old == capacity {
		return nil
	}
	id, ok := t.lookupResource(r)
	if !ok {
		if len(t.byProduct) >= t.maxProducts {
			return refuse(ErrLimit, t.fullOfProducts())
		}
		name, _ := r.product()
		id = t.addProduct(name).id()
	}
	t.setCapacity(r, id, capacity)
	return nil
}

// setCapacity is apply for one limit of the Root. Nothing that a Shares has worked
// out follows from it, so that the version stays.
func (t *Tree) setCapacity(r Resource, id resourceID, capacity int64) {
	root := &t.nodes[RootQueue]
	if capacity == UnknownCapacity {
		delete(root.config.Limit, r)
	} else {
		if root.config.Limit == nil {
			root.config.Limit = Amounts{}
		}
		root.config.Limit[r] = capacity
	}
	a := root.account(id)
	before := *a
	a.limit = capacity
	after := *a
	root.prune(id)
	if id >= firstProduct {
		t.state(id, &before, &after)
	}
}

// Capacity returns how much of r the fleet has, if that was told.
func (t *Tree) Capacity(r Resource) (int64, bool) {
	capacity, known := t.nodes[RootQueue].config.Limit[r]
	return capacity, known
}

// WithheldBy names the queue for which most of what a verdict of VerdictLendingLimit says is
// kept, and how much of it now; None for other verdicts. O(children) at each level.
func (t *Tree) WithheldBy(v Verdict) (QueueIndex, int64) {
	id, ok := t.lookupResource(v.Resource)
	if !ok || v.Kind != VerdictLendingLimit || !t.live(v.At) {
		return NoQueue, 0
	}
	i := v.At
	for {
		a := t.nodes[i].peek(id)
		if a.kept > a.keptBelow || a.kept == 0 {
			return i, a.kept
		}
		most := NoQueue
		for _, j := range t.nodes[i].below {
			if most == NoQueue || t.nodes[j].peek(id).kept > t.nodes[most].peek(id).kept {
				most = j
			}
		}
		i = most
	}
}

// Covered returns how much of what queue i uses of r is under a guarantee: its own
// or, where it states none, those of the queues below it. The rest is borrowed.
func (t *Tree) Covered(i QueueIndex, r Resource) int64 {
	a := t.statement(i, r)
	return a.covered()
}

func (a *account) describe() string {
	return fmt.Sprintf("%d in use, %d covered below, %d kept of which %d below", a.used, a.coveredBelow, a.kept, a.keptBelow)
}
