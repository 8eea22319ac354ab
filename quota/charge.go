package quota

import (
	"fmt"

	"github.com/berth-sched/berth/host"
)

// maxUsage bounds what the whole tree uses of one resource, so that one more
// charge cannot wrap around.
const maxUsage = 1 << 62

// A part is what a charge takes of one resource.
type part struct {
	resource resourceID
	amount   int64
}

// parts splits a charge by resource, in the order in which limits are looked at.
// GPUs of a product count twice: as GPUs, and as GPUs of that product.
func (c Charge) parts() (parts [2 + host.Resources]part) {
	parts[0] = part{gpuID, c.GPUMilli}
	if c.Product != NoProduct && c.GPUMilli != 0 {
		parts[1] = part{c.Product.id(), c.GPUMilli}
	}
	for r, amount := range c.Host {
		parts[2+r] = part{hostID(host.Resource(r)), amount}
	}
	return parts
}

// Charge adds c to what queue i uses, and to all queues above it, whatever their
// limits: what runs is charged; ask Fits before letting it run. It refuses a
// queue that is no leaf (ErrInvalid) or unknown (ErrUnknown), amounts outside
// 0 to MaxAmount and GPUs of a product that the tree does not have (ErrInvalid),
// and changes nothing then.
//
// O(depth x log children), without allocation once the queues on the way have
// been charged for the product before.
func (t *Tree) Charge(i Index, c Charge) error {
	if err := t.checkCharge(i, c); err != nil {
		return err
	}
	for _, p := range c.parts() {
		if t.nodes[Root].peek(p.resource).used > maxUsage-p.amount {
			return &Error{Queue: t.Name(i), Reason: "more is in use than can be counted", Err: ErrInvalid}
		}
	}
	t.use(i, c)
	return nil
}

// Discharge takes back what was charged. It refuses what Charge refuses, and to
// take more than the queue uses (ErrInvalid): usage is never below zero.
//
// O(depth x log children), without allocation.
func (t *Tree) Discharge(i Index, c Charge) error {
	if err := t.checkCharge(i, c); err != nil {
		return err
	}
	n := &t.nodes[i]
	for _, p := range c.parts() {
		if used := n.peek(p.resource).used; p.amount > used {
			return &Error{
				Queue: n.config.Name, Field: string(t.names[p.resource]), Err: ErrInvalid,
				Reason: fmt.Sprintf("%d is to be discharged of the %d in use", p.amount, used),
			}
		}
	}
	t.use(i, c.Times(-1))
	if c.GPUMilli != 0 && c.Product != NoProduct {
		t.dropProduct(c.Product)
	}
	return nil
}

// use changes the usage of i and all above it by a checked charge, and puts each
// in its place among its siblings.
func (t *Tree) use(i Index, c Charge) {
	parts := c.parts()
	var carry [len(parts)]carried
	for ; i != None; i = t.nodes[i].parent {
		n := &t.nodes[i]
		for k, p := range parts {
			if p.amount == 0 {
				continue
			}
			carry[k] = n.account(p.resource).absorb(p.amount, carry[k])
			if p.amount < 0 {
				n.prune(p.resource)
			}
		}
		if c.GPUMilli != 0 {
			n.history.change(c.GPUMilli, t.elapsed())
			t.reorder(i)
		}
	}
}

func (t *Tree) checkCharge(i Index, c Charge) error {
	if err := t.checkLeaf(i); err != nil {
		return err
	}
	if err := t.checkAmounts(i, c); err != nil {
		return err
	}
	if !t.knows(c) {
		return &Error{Queue: t.Name(i), Field: "product", Reason: fmt.Sprintf("no product has the index %d", c.Product), Err: ErrInvalid}
	}
	return nil
}

func (t *Tree) checkAmounts(i Index, c Charge) error {
	for _, p := range c.parts() {
		if reason := checkAmount(p.amount); reason != "" {
			return &Error{Queue: t.Name(i), Field: "charge", Reason: reason, Err: ErrInvalid}
		}
	}
	return nil
}

// knows reports whether the tree has the product of c, where it matters.
func (t *Tree) knows(c Charge) bool {
	return c.GPUMilli == 0 || c.Product == NoProduct || t.hasProduct(c.Product)
}

// Within reports whether queue i, and each queue above it that states a guarantee
// of GPUs, would still use no more GPUs than guaranteed if c were charged. A queue
// that states none is never within it. O(depth), without allocation.
func (t *Tree) Within(i Index, c Charge) bool {
	if !t.live(i) || t.nodes[i].host[gpuID].guarantee == unset {
		return false
	}
	for ; i != None; i = t.nodes[i].parent {
		a := &t.nodes[i].host[gpuID]
		if a.guarantee != unset && c.GPUMilli > a.guarantee-a.used {
			return false
		}
	}
	return true
}

// Used returns what queue i and those below it use of r, in its unit; zero for
// what is no queue or no resource.
func (t *Tree) Used(i Index, r Resource) int64 { return t.statement(i, r).used }

// Guaranteed returns what queue i is guaranteed of r; zero where it states nothing.
func (t *Tree) Guaranteed(i Index, r Resource) int64 { return max(t.statement(i, r).guarantee, 0) }

// LimitOf returns the limit of queue i itself on r, if it states one. Those above
// it may be tighter.
func (t *Tree) LimitOf(i Index, r Resource) (int64, bool) {
	if limit := t.statement(i, r).limit; limit != unset {
		return limit, true
	}
	return 0, false
}

// statement returns the account of r at i, an empty one where there is none.
func (t *Tree) statement(i Index, r Resource) account {
	id, ok := t.lookupResource(r)
	if !ok || !t.live(i) {
		return emptyAccount(id)
	}
	return t.nodes[i].peek(id)
}
