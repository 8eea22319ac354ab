package quota

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/internal/errtext"
)

// How guarantees and limits are kept that are shares of something.
//
// A share is so many thousandths of a whole: of the guarantee of the nearest queue above that
// states one, as an amount or as a share, or else of what the fleet has (SetFleet). With that the
// amount is
//
//	floor( whole x share / 1000 )
//
// GPUs are rounded down to whole ones, what else there is to its unit. So queues are never given a
// part of a GPU that none of their jobs fills, and rounding down never makes a sum too large: what
// the queues of one whole are guaranteed comes to no more than the whole if their shares come to no
// more than 1000, nor to more than a limit between which is a share of the same whole that is as
// large as theirs together. So guarantees can be kept side by side whatever the fleet has, and that
// is seen when a queue is set: an account keeps sharesBelow, the sum of the shares of the queues
// below it that are of the same whole as its own.
//
// An amount does not move with a fleet. A guarantee that is an amount could not be kept within one
// that is a share, nor one that is a share within a limit that is an amount, so that Set refuses
// both. Within a guarantee that is an amount the queues below state theirs all as amounts or all as
// shares.

// Thousandths says which part of each resource, in thousandths of a whole: 0 to 1000. A resource
// that is absent is not spoken of.
type Thousandths map[Resource]int64

// wholeShare is all of something, in thousandths.
const wholeShare = 1000

// checkShare returns why v cannot be a share, or "".
func checkShare(v int64) string {
	if v < 0 || v > wholeShare {
		return fmt.Sprintf("%d is outside 0 to %d, in thousandths", v, wholeShare)
	}
	return ""
}

// share returns what is said of r, or unset.
func share(shares Thousandths, r Resource) int16 {
	if v, ok := shares[r]; ok {
		return int16(v)
	}
	return unset
}

// follows reports whether what is guaranteed, or the limit, is a share.
func (a *account) follows() bool { return a.guaranteeShare != unset || a.limitShare != unset }

// moves reports whether the most that may be used is another where the whole is: it is limited by a
// share, or may borrow above one.
func (a *account) moves() bool { return a.limitShare != unset || a.promisedShare() > 0 }

// resolve works the amounts of shares out of the whole of which they are.
func (a *account) resolve(whole int64) {
	amount := func(share int16) int64 {
		v := whole * int64(share) / wholeShare
		if a.resource == gpuID || a.resource >= firstProduct {
			v -= v % 1000
		}
		return v
	}
	if a.guaranteeShare != unset {
		a.guarantee = amount(a.guaranteeShare)
	}
	if a.limitShare != unset {
		a.limit = amount(a.limitShare)
	}
}

// promisedShare is what the queues above set aside for this one as a share of their whole.
func (a *account) promisedShare() int16 {
	switch {
	case a.guaranteeShare != unset:
		return a.guaranteeShare
	case a.guarantee != unset:
		return 0
	}
	return a.sharesBelow
}

// SetFleet tells how much of a resource the fleet has that shares at the top of the tree are of; at
// first 0. It need not be the capacity: an embedder leaves out what is on its way out, and tells it
// when no plan is being tried. The amounts follow at the next FollowFleet or Set. It refuses what
// is no resource or is negative (ErrInvalid). O(1).
func (t *Tree) SetFleet(r Resource, amount int64) error {
	reason := t.checkResource(r)
	if reason == "" && amount < 0 {
		reason = fmt.Sprintf("is negative: %d", amount)
	}
	if reason != "" {
		return &Error{Field: element("fleet", r), Reason: reason, Kind: ErrInvalid}
	}
	if t.fleet[r] == amount {
		return nil
	}
	if t.fleet == nil {
		t.fleet = Amounts{}
	}
	if t.fleet[r] = amount; amount == 0 {
		delete(t.fleet, r)
	}
	if t.sharers[r] > 0 && !slices.Contains(t.moved, r) {
		t.moved = append(t.moved, r)
	}
	return nil
}

// Fleet returns what SetFleet said of a resource.
func (t *Tree) Fleet(r Resource) int64 { return t.fleet[r] }

// FollowFleet has guarantees and limits that are shares follow what SetFleet said. It reports
// whether one of them is another than when it was last asked: for that, or as Set changed a queue
// above.
// What is used stays as it is, also beyond a limit that falls. O(queues x depth) for each resource
// that has changed and of which a queue states a share.
func (t *Tree) FollowFleet() bool {
	t.followMoved()
	followed := t.followed
	t.followed = false
	return followed
}

// followMoved is FollowFleet, which is asked later.
func (t *Tree) followMoved() {
	for _, r := range t.moved {
		if id, known := t.lookupResource(r); known && t.resolveBelow(RootQueue, id) {
			t.followed = true
			t.version++
		}
	}
	t.moved = t.moved[:0]
}

// WholeOf returns what the shares are of that queue i states of a resource, or might state.
func (t *Tree) WholeOf(i QueueIndex, r Resource) int64 {
	id, known := t.lookupResource(r)
	if !known || i == RootQueue || !t.live(i) {
		return t.fleet[r]
	}
	return t.wholeAt(t.nodes[i].parent, id)
}

// wholeAt is what shares of queues right below i are of.
func (t *Tree) wholeAt(i QueueIndex, r resourceID) int64 {
	for ; i != RootQueue; i = t.nodes[i].parent {
		if a := t.nodes[i].look(r); a != nil && a.guarantee != unset {
			return a.guarantee
		}
	}
	return min(t.fleet[t.names[r]], MaxAmount)
}

// resolveBelow works out what is a share below a queue, and reports whether something is another.
func (t *Tree) resolveBelow(i QueueIndex, r resourceID) (changed bool) {
	whole := t.wholeAt(i, r)
	for _, j := range t.nodes[i].below {
		a := t.nodes[j].look(r)
		if a != nil {
			before := *a
			a.resolve(whole)
			after := *a
			if after != before {
				t.promise(j, r, &before, &after)
				t.settle(j, r, &before)
				t.reorderFrom(j)
				changed = true
			}
			if after.guarantee != unset && after.guarantee == before.guarantee {
				continue // what is below it is of the same whole as before
			}
		}
		changed = t.resolveBelow(j, r) || changed
	}
	return changed
}

// countSharers counts the queues that state a share of a resource.
func (t *Tree) countSharers(r Resource, before, after *account) {
	if before.follows() == after.follows() {
		return
	}
	if t.sharers == nil {
		t.sharers = map[Resource]int{}
	}
	if after.follows() {
		t.sharers[r]++
	} else if t.sharers[r]--; t.sharers[r] == 0 {
		delete(t.sharers, r)
	}
}

// checkShares refuses a queue with shares that cannot be kept beside what the queues below and
// above it state, whatever the fleet has. i is NoQueue for a new one.
func (t *Tree) checkShares(q *Queue, i, parent QueueIndex) *Error {
	if len(t.sharers) == 0 && len(q.GuaranteeShare) == 0 && len(q.LimitShare) == 0 {
		return nil
	}
	resources := q.resources()
	if i != NoQueue {
		resources = append(resources, t.nodes[i].config.resources()...)
		slices.Sort(resources)
	}
	for _, r := range slices.Compact(resources) {
		id, known := t.lookupResource(r)
		was := emptyAccount(id)
		if i != NoQueue && known {
			was = t.nodes[i].peek(id)
		}
		next := was
		next.state(q, r)
		if err := t.checkOwnShares(q, r, i, &next); err != nil {
			return err
		}
		if !known {
			continue // nobody else speaks of it
		}
		if err := t.checkSharesAbove(q, r, parent, &was, &next); err != nil {
			return err
		}
	}
	return nil
}

// checkOwnShares compares what a queue states of a resource with itself, and with what is below it.
func (t *Tree) checkOwnShares(q *Queue, r Resource, i QueueIndex, next *account) *Error {
	amount, limited := next.guarantee != unset, next.limit != unset
	byShare := next.guaranteeShare != unset || !amount && next.sharesBelow > 0
	switch {
	case amount && next.guaranteeShare != unset:
		return q.refuse(ErrInvalid, element("guaranteeShare", r), "is stated beside guarantee")
	case limited && next.limitShare != unset:
		return q.refuse(ErrInvalid, element("limitShare", r), "is stated beside limit")
	case amount && next.limitShare != unset:
		return q.refuse(ErrInvalid, element("limitShare", r), "limits a guarantee that is an amount: a share may come to less")
	case limited && byShare:
		return q.refuse(ErrInvalid, element("limit", r), "is an amount, and limits guarantees that are shares: they may come to more")
	case next.limitShare != unset && next.promisedShare() > next.limitShare:
		return q.refuse(ErrInvalid, element("limitShare", r), fmt.Sprintf("%d is less than the %d thousandths guaranteed", next.limitShare, next.promisedShare()))
	case (next.follows() || amount && next.sharesBelow > 0) && i != NoQueue && t.guaranteesAmounts(i, next.resource):
		field := q.fieldOf(r)
		return q.refuse(ErrInvalid, field, "is kept for queues below that are guaranteed amounts: state shares, or amounts, for all of them")
	}
	return nil
}

// guaranteesAmounts reports whether queues below one are guaranteed amounts, as far as what they
// are guaranteed comes out of its whole.
func (t *Tree) guaranteesAmounts(i QueueIndex, r resourceID) bool {
	return slices.ContainsFunc(t.nodes[i].below, func(j QueueIndex) bool {
		switch a := t.nodes[j].peek(r); {
		case a.guaranteeShare != unset:
			return false
		case a.guarantee != unset:
			return a.guarantee > 0
		}
		return t.guaranteesAmounts(j, r)
	})
}

// checkSharesAbove compares what a queue is to be promised with what is stated above it.
func (t *Tree) checkSharesAbove(q *Queue, r Resource, parent QueueIndex, was, next *account) *Error {
	more := next.promisedShare() - was.promisedShare()
	amount := next.guarantee > 0
	if more <= 0 && !amount {
		return nil
	}
	field := q.fieldOf(r)
	if field == "" {
		field = element("guarantee", r) // it is withdrawn
	}
	for ; parent != NoQueue; parent = t.nodes[parent].parent {
		above, name := t.nodes[parent].peek(next.resource), errtext.Short(t.Name(parent))
		sum := above.sharesBelow + more
		switch {
		case amount && above.follows():
			return q.refuse(ErrInvalid, field, fmt.Sprintf("is an amount, and what %q has is a share: state a share of that", name))
		case amount && above.guarantee != unset && above.sharesBelow > was.promisedShare():
			return q.refuse(ErrInvalid, field, fmt.Sprintf("is an amount, and other queues are guaranteed shares of what %q has", name))
		case more > 0 && above.guarantee != unset && above.guaranteeShare == unset && above.sharesBelow == 0 && above.below > was.promised():
			return q.refuse(ErrInvalid, field, fmt.Sprintf("is a share of what %q has, of which other queues are guaranteed amounts", name))
		case more > 0 && parent != RootQueue && above.limit != unset && above.limitShare == unset && above.guarantee == unset:
			return q.refuse(ErrInvalid, field, fmt.Sprintf("is a share, and the limit of %q is an amount: it may come to more", name))
		case more > 0 && above.guarantee == unset && above.limitShare != unset && sum > above.limitShare:
			return q.refuse(ErrInvalid, field, fmt.Sprintf("with its siblings' makes %d thousandths of the %d that %q is limited to", sum, above.limitShare, name))
		case more > 0 && sum > wholeShare:
			of := "what the fleet has"
			if above.guarantee != unset {
				of = fmt.Sprintf("what %q is guaranteed", name)
			}
			return q.refuse(ErrInvalid, field, fmt.Sprintf("with its siblings' makes %d thousandths of %s", sum, of))
		case above.guarantee != unset:
			return nil
		}
	}
	return nil
}

// Amounts returns what queue i is guaranteed and limited to by shares, as amounts, and what
// these are shares of: nil where it states none.
func (t *Tree) Amounts(i QueueIndex) (guarantee, limit, of Amounts) {
	if !t.live(i) {
		return nil, nil, nil
	}
	note := func(list Amounts, r Resource, v int64) Amounts {
		if list == nil {
			list = Amounts{}
		}
		list[r] = v
		return list
	}
	config := &t.nodes[i].config
	for _, r := range slices.Sorted(maps.Keys(config.GuaranteeShare)) {
		guarantee, of = note(guarantee, r, t.statement(i, r).guarantee), note(of, r, t.WholeOf(i, r))
	}
	for _, r := range slices.Sorted(maps.Keys(config.LimitShare)) {
		limit, of = note(limit, r, t.statement(i, r).limit), note(of, r, t.WholeOf(i, r))
	}
	return guarantee, limit, of
}
