package check

import (
	"iter"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is what limits leave: those of queues, those on borrowing, and what queues do
// not lend. It goes by what package quota promises, not by how that is worked out there:
// all sums are made anew from what each queue states and uses.

// promised is what is set aside for a queue: its guarantee or, where it states none,
// those of the queues below it.
func (q *queue) promised(r quota.Resource) int64 {
	if guarantee, stated := q.spec.Guarantee[r]; stated {
		return guarantee
	}
	return q.promisedBelow(r)
}

func (q *queue) promisedBelow(r quota.Resource) int64 {
	sum := int64(0)
	for _, child := range q.children {
		sum += child.promised(r)
	}
	return sum
}

// covered is what of its use is under a guarantee: its own or, where it states none,
// those of the queues below it. The rest is borrowed.
func (q *queue) covered(r quota.Resource) int64 {
	if guarantee, stated := q.spec.Guarantee[r]; stated {
		return min(q.used[r], guarantee)
	}
	sum := int64(0)
	for _, child := range q.children {
		sum += child.covered(r)
	}
	return sum
}

// kept is what is free for a queue and those below it alone: of what it is promised what
// it neither uses nor lends, and no less than what is kept for those below it.
func (q *queue) kept(r quota.Resource) int64 {
	kept := keptFor(q.children, r)
	if lends, stated := q.spec.LendingLimit[r]; stated {
		kept = max(kept, q.promised(r)-lends-q.used[r])
	}
	return kept
}

func keptFor(queues []*queue, r quota.Resource) int64 {
	sum := int64(0)
	for _, q := range queues {
		sum += q.kept(r)
	}
	return sum
}

// An obstacle is what a charge may not exceed.
type obstacle string

const (
	atLimit     obstacle = "limit"
	atBorrowing obstacle = "borrowing limit"
	atKept      obstacle = "capacity that is not lent"
	atGuarantee obstacle = "guarantee, as it is never preempted"
)

// most is the most that a queue may use, and what says so; false: nothing does.
func (q *queue) most(r quota.Resource) (int64, obstacle, bool) {
	limit, limited := q.spec.Limit[r]
	borrowing, bounded := q.spec.BorrowingLimit[r]
	if bounded && (!limited || q.promised(r)+borrowing < limit) {
		return q.promised(r) + borrowing, atBorrowing, true
	}
	return limit, atLimit, limited
}

// capacity is what the fleet has of a resource: sound GPUs and hosts, on the nodes that take
// work, and on the others what is in use.
func (c *Checker) capacity(r quota.Resource) int64 {
	sum := int64(0)
	for _, n := range c.nodes {
		if !n.closed() {
			sum += c.soundOf(n, r)
			continue
		}
		for _, m := range n.members {
			sum += c.cost(m)[r]
		}
	}
	return min(sum, quota.MaxAmount)
}

// soundOf is what a node has of a resource: its host, and the GPUs that are sound.
func (c *Checker) soundOf(n *node, r quota.Resource) int64 {
	switch {
	case r == quota.CPUMilli:
		return n.spec.CPUMilli
	case r == quota.MemoryMiB:
		return n.spec.MemoryMiB
	case c.declares(r):
		return n.spec.Resources[string(r)]
	case len(n.gpus) > 0 && (r == quota.GPUMilli || r == quota.GPUMilliOf(n.spec.GPUs[0].Product)):
		return 1000 * int64(len(n.gpus)-n.failed.Len())
	}
	return 0
}

// declares reports whether a resource is one of the config.
func (c *Checker) declares(r quota.Resource) bool {
	_, ok := c.declared.Find(string(r))
	return ok
}

// An excess is where a charge goes beyond what it may.
type excess struct {
	at       *queue // nil: the fleet
	resource quota.Resource
	what     obstacle
	most     int64
}

// excess finds what a charge to a queue, which has been made, goes beyond, or nil. A
// limit is in the way only of what asks for some of its resource. What is not lent is in
// the way of what others take out of reach, and not of what the queue it is kept for does.
func (c *Checker) excess(leaf *queue, asked quota.Amounts) *excess {
	for _, r := range slices.Sorted(maps.Keys(asked)) {
		if asked[r] <= 0 {
			continue
		}
		for q := leaf; q != nil; q = q.parent {
			most, what, some := q.most(r)
			if some && q.used[r] > most {
				return &excess{q, r, what, most}
			}
			if some && c.takesKept(leaf, asked, r, q.children, q, most) {
				return &excess{q, r, atKept, most}
			}
		}
		if keptFor(c.tops, r) == 0 {
			continue
		}
		// Of what there is none, nothing is known.
		if most := c.capacity(r); most > 0 && c.takesKept(leaf, asked, r, c.tops, nil, most) {
			return &excess{nil, r, atKept, most}
		}
	}
	return nil
}

// takesKept reports whether a charge that has been made took, of what a limit or the fleet
// leaves to some queues, something that is kept for one of them: in use and kept together
// are more than there is, and more than they were.
func (c *Checker) takesKept(leaf *queue, asked quota.Amounts, r quota.Resource, queues []*queue, above *queue, most int64) bool {
	inUse := func() int64 {
		if above != nil {
			return above.used[r]
		}
		sum := int64(0)
		for _, q := range queues {
			sum += q.used[r]
		}
		return sum
	}
	kept := keptFor(queues, r)
	after := inUse() + kept
	if kept == 0 || after <= most {
		return false
	}
	leaf.charge(asked, -1)
	before := inUse() + keptFor(queues, r)
	leaf.charge(asked, 1)
	return after > before
}

// withinLimits: a Bind leaves no queue over a limit or a borrowing limit on anything that
// it takes, its own queue's or one above, and leaves what is not lent to the queues that keep it.
func (c *Checker) withinLimits(members []*member) error {
	asked, leaf := quota.Amounts{}, members[0].rep.job.queue
	for _, m := range members {
		for r, amount := range c.cost(m) {
			asked[r] += amount
		}
	}
	if leaf.covered(quota.GPUMilli) < leaf.used[quota.GPUMilli] {
		c.saw("borrowed")
	}
	if err := c.fixedWithin(members[0].rep); err != nil {
		return err
	}
	x := c.excess(leaf, asked)
	switch {
	case x == nil:
		return nil
	case x.what != atKept:
		return broken(PromiseLimits, "with %s, queue %s uses %d %s; its %s leaves it %d",
			members[0].rep, x.at.spec.Name, x.at.used[x.resource], x.resource, x.what, x.most)
	case x.at == nil:
		return broken(PromiseLimits, "with %s, the fleet of %d %s has less left than the %d that queues do not lend",
			members[0].rep, x.most, x.resource, keptFor(c.tops, x.resource))
	}
	return broken(PromiseLimits, "with %s, queue %s uses %d of %d %s, and %d are kept for queues below it that do not lend them",
		members[0].rep, x.at.spec.Name, x.at.used[x.resource], x.most, x.resource, keptFor(x.at.children, x.resource))
}

// fixedWithin: what is never preempted of a queue holds no more GPUs than its guarantee, where
// another comes that holds some. Places that are made or kept for jobs may have been given up since
// the last report: the one after the pass tells. A place of instances does not count, as no report
// tells which they are.
func (c *Checker) fixedWithin(rep *replica) error {
	if !rep.job.spec.NonPreemptible || c.amountOf(rep, quota.GPUMilli, false) == 0 {
		return nil
	}
	c.saw("placed for good")
	c.fixed = append(c.fixed, rep)
	return c.fixedBeside(rep, func(*replica) bool { return false })
}

// againstFixed: with the places that are made and kept after a pass, what is never preempted of
// the queues in which some was placed keeps to their guarantees.
func (c *Checker) againstFixed() error {
	for _, rep := range c.fixed {
		if err := c.fixedBeside(rep, (*replica).isRigid); err != nil {
			return err
		}
	}
	return nil
}

// fixedBeside: what is never preempted of the queue of a replica keeps to its guarantee, with the
// places of those that count.
func (c *Checker) fixedBeside(rep *replica, counts func(other *replica) bool) error {
	leaf := rep.job.queue
	if held, most := c.heldForGood(leaf, nil, counts), leaf.spec.Guarantee[quota.GPUMilli]; held > most {
		return broken(PromiseLimits, "with %s, jobs of queue %s that are never preempted hold %d of its guarantee of %d", rep, leaf.spec.Name, held, most)
	}
	return nil
}

// heldForGood is what the jobs of a leaf, without one replica, that are never preempted hold of
// GPUs, or will at the most where a place is made or kept for them and counts.
func (c *Checker) heldForGood(leaf *queue, without *replica, counts func(*replica) bool) (milli int64) {
	for rep := range c.replicas() {
		if rep == without || rep.job.queue != leaf || !rep.job.spec.NonPreemptible {
			continue
		}
		held := int64(0)
		for _, m := range rep.members {
			if m.node != nil {
				held += c.cost(m)[quota.GPUMilli]
			}
		}
		if c.preemptions[rep.key()] != nil && counts(rep) {
			held = max(held, c.toHave(rep)[quota.GPUMilli])
		}
		if c.kept[rep.key()] != 0 && counts(rep) {
			held += c.lacks(rep)[quota.GPUMilli]
		}
		milli += held
	}
	return milli
}

func anyPlace(*replica) bool { return true }

// admits reports whether so many members of a group certainly keep every limit on GPUs of
// a product, and if not, what is in the way. An instance counts as the largest that serves.
func (c *Checker) admits(rep *replica, g *berth.Group, n int64, product string) (obstacle, bool) {
	leaf := rep.job.queue
	asked := quota.Amounts{quota.GPUMilli: n * c.largest(&g.Claim), quota.CPUMilli: n * g.Claim.CPUMilli, quota.MemoryMiB: n * g.Claim.MemoryMiB}
	for name, each := range g.Claim.Resources {
		asked[quota.Resource(name)] = n * each
	}
	if product != "" {
		asked[quota.GPUMilliOf(product)] = asked[quota.GPUMilli]
	}
	if rep.job.spec.NonPreemptible && asked[quota.GPUMilli] > 0 && c.heldForGood(leaf, rep, anyPlace)+asked[quota.GPUMilli] > leaf.spec.Guarantee[quota.GPUMilli] {
		return atGuarantee, false
	}
	leaf.charge(asked, 1)
	x := c.excess(leaf, asked)
	leaf.charge(asked, -1)
	if x != nil {
		return x.what, false
	}
	return "", true
}

// productsFor lists the products of which members of a group of a queue may have GPUs,
// where it makes a difference to quota; else only "", for all of them.
func (c *Checker) productsFor(leaf *queue, g *berth.Group) []string {
	if c.largest(&g.Claim) == 0 || !c.byProduct(leaf) {
		return []string{""}
	}
	return c.productsOf(g)
}

// of reports whether the GPUs of a node are of a product; all are of "".
func (n *node) of(product string) bool {
	return product == "" || len(n.gpus) > 0 && n.spec.GPUs[0].Product == product
}

// largest is the most that a member with a claim can cost, in thousandths of a GPU.
func (c *Checker) largest(cl *berth.Claim) int64 {
	milli := int64(1000 * cl.GPUs)
	if cl.Share != nil {
		milli = int64(cl.Share.GPUMilli)
	}
	for each := range c.instanceCosts(cl) {
		milli = max(milli, each)
	}
	return milli
}

// smallest is the least that a member with a claim can cost, in thousandths of a GPU.
func (c *Checker) smallest(cl *berth.Claim) int64 {
	milli := c.largest(cl)
	for each := range c.instanceCosts(cl) {
		milli = min(milli, each)
	}
	return milli
}

// instanceCosts are what the instances that serve a claim cost, in thousandths of a GPU, node by
// node.
func (c *Checker) instanceCosts(cl *berth.Claim) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, n := range c.nodes {
			t := c.table(n)
			for _, p := range serving(t, cl) {
				if !yield(instanceMilli(t, p.MemorySlices)) {
					return
				}
			}
		}
	}
}

// byProduct reports whether it depends on their product how many GPUs a queue may use.
func (c *Checker) byProduct(leaf *queue) bool {
	return c.bounds(leaf, func(r quota.Resource) bool {
		return r != quota.GPUMilli && r != quota.CPUMilli && r != quota.MemoryMiB && !c.declares(r)
	})
}

// bounds reports whether some resource of a kind is limited for a queue: by it, by one above
// it, or by what any queue does not lend.
func (c *Checker) bounds(leaf *queue, is func(quota.Resource) bool) bool {
	some := func(amounts quota.Amounts) bool {
		for r := range amounts {
			if is(r) {
				return true
			}
		}
		return false
	}
	for q := leaf; q != nil; q = q.parent {
		if some(q.spec.Limit) || some(q.spec.BorrowingLimit) {
			return true
		}
	}
	for _, q := range c.queues {
		if some(q.spec.LendingLimit) {
			return true
		}
	}
	return false
}
