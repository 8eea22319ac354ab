package quota

import (
	"fmt"

	"github.com/berth-sched/berth/countable"
)

// maxUsage bounds what the whole tree uses of one resource, so that one more
// charge cannot wrap around.
const maxUsage = 1 << 62

// A part is what a charge takes of one resource.
type part struct {
	resource resourceID
	amount   int64
}

// parts is a charge by resource, in the order in which limits are looked at.
// GPUs of a product count twice: as GPUs, and as GPUs of that product.
type parts [2 + countable.NumResources + countable.MaxDeclared]part

func (c *Charge) split() (p parts) {
	p[0] = part{gpuID, c.GPUMilli}
	if c.Product != NoProduct && c.GPUMilli != 0 {
		p[1] = part{c.Product.id(), c.GPUMilli}
	}
	for r := range c.Host {
		p[2+r] = part{hostID(countable.Resource(r)), c.Host[r]}
	}
	if c.Declared != nil {
		for i, amount := range c.Declared {
			p[2+countable.NumResources+i] = part{declaredID(i), amount}
		}
	}
	return p
}

// huge reports whether there is more than MaxAmount of anything.
func (p *parts) huge() bool {
	for k := range p {
		if p[k].amount > MaxAmount {
			return true
		}
	}
	return false
}

// Charge adds c to what queue i uses, and to all queues above it, whatever their
// limits: what runs is charged; ask Fits before letting it run. It refuses a
// queue that is no leaf (ErrInvalid) or unknown (ErrUnknown), amounts outside
// 0 to MaxAmount and GPUs of a product that the tree does not have (ErrInvalid),
// and changes nothing then.
//
// O(depth x log children), without allocation once the queues on the way have
// been charged for the product before.
func (t *Tree) Charge(i QueueIndex, c Charge) error {
	p := c.split()
	if err := t.checkCharge(i, &c, &p); err != nil {
		return err
	}
	for k := range p {
		if t.nodes[RootQueue].peek(p[k].resource).used > maxUsage-p[k].amount {
			return &Error{Queue: t.Name(i), Reason: "more is in use than can be counted", Kind: ErrInvalid}
		}
	}
	t.use(i, &p)
	if c.NonPreemptible {
		t.nodes[i].nonPreemptible += c.GPUMilli
	}
	return nil
}

// Discharge takes back what was charged. It refuses what Charge refuses, and to
// take more than the queue uses (ErrInvalid): usage is never below zero.
//
// O(depth x log children), without allocation.
func (t *Tree) Discharge(i QueueIndex, c Charge) error {
	p := c.split()
	if err := t.checkCharge(i, &c, &p); err != nil {
		return err
	}
	n := &t.nodes[i]
	if c.NonPreemptible && c.GPUMilli > n.nonPreemptible {
		return &Error{
			Queue: n.config.Name, Field: string(GPUMilli), Kind: ErrInvalid,
			Reason: fmt.Sprintf("%d is to be discharged of the %d in use that are never reclaimed", c.GPUMilli, n.nonPreemptible),
		}
	}
	for k := range p {
		if used := n.peek(p[k].resource).used; p[k].amount > used {
			return &Error{
				Queue: n.config.Name, Field: string(t.names[p[k].resource]), Kind: ErrInvalid,
				Reason: fmt.Sprintf("%d is to be discharged of the %d in use", p[k].amount, used),
			}
		}
		p[k].amount = -p[k].amount
	}
	if c.NonPreemptible {
		n.nonPreemptible -= c.GPUMilli
	}
	t.use(i, &p)
	if c.GPUMilli != 0 && c.Product != NoProduct {
		t.dropProduct(c.Product)
	}
	return nil
}

// use changes the usage of i and all above it by the parts of a checked charge, and
// puts each in its place among its siblings.
func (t *Tree) use(i QueueIndex, p *parts) {
	var carry [len(p)]carried
	for ; i != NoQueue; i = t.nodes[i].parent {
		n := &t.nodes[i]
		for k := range p {
			if p[k].amount == 0 {
				continue
			}
			carry[k] = n.account(p[k].resource).absorb(p[k].amount, carry[k])
			if p[k].amount < 0 {
				n.prune(p[k].resource)
			}
		}
		if p[0].amount != 0 {
			n.history.change(p[0].amount, t.elapsed())
			t.reorder(i)
		}
	}
}

func (t *Tree) checkCharge(i QueueIndex, c *Charge, p *parts) error {
	if err := t.checkLeaf(i); err != nil {
		return err
	}
	if err := t.checkAmounts(i, p); err != nil {
		return err
	}
	if !t.knows(c) {
		return &Error{Queue: t.Name(i), Field: "product", Reason: fmt.Sprintf("no product has the index %d", c.Product), Kind: ErrInvalid}
	}
	return nil
}

func (t *Tree) checkAmounts(i QueueIndex, p *parts) error {
	for k := range p {
		if reason := checkAmount(p[k].amount); reason != "" {
			return &Error{Queue: t.Name(i), Field: "charge", Reason: reason, Kind: ErrInvalid}
		}
	}
	return nil
}

// knows reports whether the tree has the product of c, where it matters.
func (t *Tree) knows(c *Charge) bool {
	return c.GPUMilli == 0 || c.Product == NoProduct || t.hasProduct(c.Product)
}

// Within reports whether queue i, and each queue above it that states a guarantee
// of GPUs, would still use no more GPUs than guaranteed if c were charged. A queue
// that states none is never within it. O(depth), without allocation.
func (t *Tree) Within(i QueueIndex, c Charge) bool {
	if !t.live(i) || t.nodes[i].host[gpuID].guarantee == unset {
		return false
	}
	for ; i != NoQueue; i = t.nodes[i].parent {
		a := &t.nodes[i].host[gpuID]
		if a.guarantee != unset && c.GPUMilli > a.guarantee-a.used {
			return false
		}
	}
	return true
}

// Used returns what queue i and those below it use of r, in its unit; zero for
// what is no queue or no resource.
func (t *Tree) Used(i QueueIndex, r Resource) int64 {
	id, ok := t.lookupResource(r)
	if !ok || !t.live(i) {
		return 0
	}
	if a := t.nodes[i].look(id); a != nil {
		return a.used
	}
	return 0
}

// NonPreemptible returns what queue i uses of GPUs, in thousandths, that is never reclaimed; zero
// for what is no queue or no leaf.
func (t *Tree) NonPreemptible(i QueueIndex) int64 {
	if !t.live(i) {
		return 0
	}
	return t.nodes[i].nonPreemptible
}

// Guaranteed returns what queue i is guaranteed of r; zero where it states nothing.
func (t *Tree) Guaranteed(i QueueIndex, r Resource) int64 { return max(t.statement(i, r).guarantee, 0) }

// LimitOf returns the limit of queue i itself on r, if it states one. Those above
// it may be tighter.
func (t *Tree) LimitOf(i QueueIndex, r Resource) (int64, bool) {
	if limit := t.statement(i, r).limit; limit != unset {
		return limit, true
	}
	return 0, false
}

// statement returns the account of r at i, an empty one where there is none.
func (t *Tree) statement(i QueueIndex, r Resource) account {
	id, ok := t.lookupResource(r)
	if !ok || !t.live(i) {
		return emptyAccount(id)
	}
	return t.nodes[i].peek(id)
}
