package quota

import (
	"fmt"
	"maps"
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
// by that. O(products with a capacity).
func (t *Tree) SetCapacity(r Resource, capacity int64) error {
	if reason := r.check(); reason != "" {
		return &Error{Field: element("capacity", r), Reason: reason, Err: ErrInvalid}
	}
	q := t.nodes[Root].config.clone()
	if q.Limit == nil {
		q.Limit = Amounts{}
	}
	if capacity == UnknownCapacity {
		delete(q.Limit, r)
	} else {
		if reason := checkAmount(capacity); reason != "" {
			return &Error{Field: element("capacity", r), Reason: reason, Err: ErrInvalid}
		}
		if old, known := t.Capacity(r); known && old == capacity {
			return nil
		}
		q.Limit[r] = capacity
	}
	if err := t.checkProducts(&q, Root); err != nil {
		return &Error{Field: element("capacity", r), Reason: err.Reason, Err: err.Err}
	}
	t.apply(&q, Root)
	return nil
}

// Capacity returns how much of r the fleet has, if that was told.
func (t *Tree) Capacity(r Resource) (int64, bool) {
	capacity, known := t.nodes[Root].config.Limit[r]
	return capacity, known
}

// Capacities returns a copy of all that is known of the fleet's capacity.
func (t *Tree) Capacities() Amounts { return maps.Clone(t.nodes[Root].config.Limit) }

// KeptFor names the queue for which most of what a verdict of CapacityKept says is
// kept, and how much of it now; None for other verdicts. O(children) at each level.
func (t *Tree) KeptFor(v Verdict) (Index, int64) {
	id, ok := t.lookupResource(v.Resource)
	if !ok || v.Kind != CapacityKept || !t.live(v.At) {
		return None, 0
	}
	i := v.At
	for {
		a := t.nodes[i].peek(id)
		if a.kept > a.keptBelow || a.kept == 0 {
			return i, a.kept
		}
		most := None
		for _, j := range t.nodes[i].below {
			if most == None || t.nodes[j].peek(id).kept > t.nodes[most].peek(id).kept {
				most = j
			}
		}
		i = most
	}
}

// Kept returns how much of r is free for queue i and those below it alone.
func (t *Tree) Kept(i Index, r Resource) int64 { return t.statement(i, r).kept }

// Covered returns how much of what queue i uses of r is under a guarantee: its own
// or, where it states none, those of the queues below it. The rest is borrowed.
func (t *Tree) Covered(i Index, r Resource) int64 {
	a := t.statement(i, r)
	return a.covered()
}

func (a *account) describe() string {
	return fmt.Sprintf("%d in use, %d covered below, %d kept of which %d below", a.used, a.coveredBelow, a.kept, a.keptBelow)
}
