package quota

import (
	"fmt"
	"slices"

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

// maxParts is how many parts a charge has at the most.
const maxParts = 2 + countable.NumResources + countable.MaxDeclared

// split lists a charge by resource, in the order in which limits are looked at, in an empty buffer.
// GPUs of a product count twice: as GPUs, and as GPUs of that product. Most charges have nothing of
// declared resources, and are not looked at for these.
func (c *Charge) split(buffer *[maxParts]part) []part {
	list := buffer[:2+countable.NumResources]
	list[0] = part{gpuID, c.GPUMilli}
	if c.Product != NoProduct && c.GPUMilli != 0 {
		list[1] = part{c.Product.id(), c.GPUMilli}
	}
	for r := range c.Host {
		list[2+r] = part{hostID(countable.Resource(r)), c.Host[r]}
	}
	if c.Declared != nil {
		for i, amount := range c.Declared {
			list = append(list, part{declaredID(i), amount})
		}
	}
	return list
}

// huge reports whether there is more than MaxAmount of anything.
func huge(list []part) bool {
	return slices.ContainsFunc(list, func(p part) bool { return p.amount > MaxAmount })
}

// Charge adds c to what queue i uses, and to all queues above it, whatever their
// limits: what runs is charged; ask Fits before letting it run. It refuses a
// queue that is no leaf (ErrInvalid) or unknown (ErrUnknown), amounts outside
// 0 to MaxAmount, GPUs of a product that the tree does not have and resources that it was
// not told of (ErrInvalid), and changes nothing then.
//
// O(depth x log children), without allocation once the queues on the way have
// been charged for the product before.
func (t *Tree) Charge(i QueueIndex, c Charge) error {
	var buffer [maxParts]part
	p := c.split(&buffer)
	if err := t.checkCharge(i, &c, p); err != nil {
		return err
	}
	for k := range p {
		if t.nodes[RootQueue].peek(p[k].resource).used > maxUsage-p[k].amount {
			return &Error{Queue: t.Name(i), Reason: "more is in use than can be counted", Kind: ErrInvalid}
		}
	}
	t.use(i, p)
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
	var buffer [maxParts]part
	p := c.split(&buffer)
	if err := t.checkCharge(i, &c, p); err != nil {
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
	t.use(i, p)
	if c.GPUMilli != 0 && c.Product != NoProduct {
		t.dropProduct(c.Product)
	}
	return nil
}

// use changes the usage of i and all above it by the parts of a checked charge, and
// puts each in its place among its siblings.
func (t *Tree) use(i QueueIndex, p []part) {
	var carry [maxParts]carried
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

func (t *Tree) checkCharge(i QueueIndex, c *Charge, p []part) error {
	if err := t.checkLeaf(i); err != nil {
		return err
	}
	if err := t.checkAmounts(i, p); err != nil {
		return err
	}
	if k := t.undeclared(c); k >= 0 {
		return &Error{Queue: t.Name(i), Field: fmt.Sprintf("declared[%d]", k), Reason: "no such resource is declared", Kind: ErrInvalid}
	}
	if !t.knows(c) {
		return &Error{Queue: t.Name(i), Field: "product", Reason: fmt.Sprintf("no product has the index %d", c.Product), Kind: ErrInvalid}
	}
	return nil
}

func (t *Tree) checkAmounts(i QueueIndex, p []part) error {
	for k := range p {
		if reason := checkAmount(p[k].amount); reason != "" {
			return &Error{Queue: t.Name(i), Field: "charge", Reason: reason, Kind: ErrInvalid}
		}
	}
	return nil
}

// knows reports whether the tree has the product of c, where it matters, and was told of all the
// resources that c has of those that are declared.
func (t *Tree) knows(c *Charge) bool {
	return (c.GPUMilli == 0 || c.Product == NoProduct || t.hasProduct(c.Product)) && t.undeclared(c) < 0
}

// undeclared is the first resource that c has and the tree was not told of, or -1.
func (t *Tree) undeclared(c *Charge) int {
	for i := len(t.declared); c.Declared != nil && i < countable.MaxDeclared; i++ {
		if c.Declared[i] != 0 {
			return i
		}
	}
	return -1
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
