package check

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about turns. Where the queues of two gangs part, on the way down from the
// root, the queue that is inside its guarantee with its gang comes first; of two for which
// that is the same, the queue of the higher priority.
//
// How shares compare is not judged, nor where it is not certain for which job a queue
// stands: a queue counts as within its guarantee, or as one that borrows, if it is so with every
// gang that waits at or below it.

// A turn is how a queue stands to its guarantee with the job that it would serve next.
type turn uint8

const (
	unsure turn = iota
	within
	borrows
)

// itsTurn: no gang is started while another comes before it that could start. It is
// asserted of gangs that were placed as the pass went through the queues: not of those
// that may have had a reservation, stand on nodes that are, or were, set aside, or on
// GPUs that change for waiting gangs; only while it is known from a report what is
// reserved; not during a preemption, as the quota that its beneficiary takes counts as used;
// nor after an elastic gang was started in the same pass, which may have got more, and
// elsewhere, when all others had their turn. It is for small worlds: O(queues + replicas x
// nodes).
func (c *Checker) itsTurn(rep *replica, b berth.Bind) error {
	surely := c.surelyInTurn(rep, &b)
	c.enlarged = c.enlarged || rep.elastic()
	if !surely {
		return nil
	}
	waiting := c.inQueues()
	for a := rep.job.queue; a != nil; a = a.parent {
		siblings := c.tops
		if a.parent != nil {
			siblings = a.parent.children
		}
		for _, other := range siblings {
			if other == a || len(other.all(waiting)) == 0 {
				continue
			}
			if err := c.precedes(rep, a, other, waiting); err != nil {
				return err
			}
		}
	}
	return nil
}

// surelyInTurn reports whether a Bind is one of which it can be told what else could have started.
func (c *Checker) surelyInTurn(rep *replica, b *berth.Bind) bool {
	return !c.ownPolicy && len(c.nodes) <= 64 && c.passed && !c.enlarged && len(c.preemptions) == 0 && c.inTurn(rep, b) && !c.overused() && !c.somebodyMoves()
}

// overused reports whether a host has less than is in use there, as after an update, while
// some queue does not lend all. Then the use of what is kept for a queue lets others have
// something, in the middle of a pass.
func (c *Checker) overused() bool {
	keeps := c.somebodyKeeps()
	for _, n := range c.nodes {
		if keeps && n.crowded() {
			return true
		}
	}
	return false
}

// somebodyKeeps reports whether some queue does not lend all that it has.
func (c *Checker) somebodyKeeps() bool {
	for _, q := range c.queues {
		if len(q.spec.LendingLimit) > 0 {
			return true
		}
	}
	return false
}

// elastic reports whether a gang may start with less than all of it.
func (rep *replica) elastic() bool {
	return slices.ContainsFunc(rep.job.spec.Groups, func(g berth.Group) bool { return minimum(&g) < g.Members })
}

// inTurn reports whether a Bind is certainly one that the pass gave as it went through the
// queues. A gang that comes back after a backoff may have had a place kept in that very pass.
func (c *Checker) inTurn(rep *replica, b *berth.Bind) bool {
	returned := rep.retriedIn == c.passes && len(rep.stood) > 0
	if _, reserved := c.gangs[rep.key()]; reserved || returned || b.Cause.Code != berth.CauseFits || len(b.After) > 0 {
		return false
	}
	return !slices.ContainsFunc(b.Members, func(p berth.MemberPlacement) bool {
		n := c.nodes[p.Node]
		return n == nil || c.inReservation(n) || c.geometry(n).Kind != berth.GeometryFixed
	})
}

// precedes asserts that a gang of queue a, which is about to be started, does not come
// after one that waits at or below another queue with the same parent.
func (c *Checker) precedes(rep *replica, a, other *queue, waiting queues) error {
	switch here, priority := c.turnFor(a, rep), other.spec.Priority; here {
	case borrows:
		if first := c.anyCouldStart(c.standing(other, within, waiting)); first != nil {
			return broken(PromiseEligibility, "%s is started, for which queue %s borrows, before %s, which queue %s is owed", rep, a.spec.Name, first, other.spec.Name)
		}
		fallthrough
	case within:
		if priority > a.spec.Priority {
			if first := c.anyCouldStart(c.standing(other, here, waiting)); first != nil {
				return broken(PromiseEligibility, "%s of queue %s is started before %s of queue %s, which has a higher priority", rep, a.spec.Name, first, other.spec.Name)
			}
		}
		if here == within {
			c.noteFirst("what is owed came before what would be borrowed", c.standing(other, borrows, waiting))
		}
		if priority < a.spec.Priority {
			c.noteFirst("the queue of higher priority came first", c.standing(other, here, waiting))
		}
	}
	return nil
}

// noteFirst counts a gang that was passed and could have started. It is counted once only: it takes
// a search.
func (c *Checker) noteFirst(what string, list []*replica) {
	if c.cases[what] == 0 && c.anyCouldStart(list) != nil {
		c.saw(what)
	}
}

// queues are the gangs that wait, by queue, in order of job and number.
type queues map[*queue][]*replica

func (c *Checker) inQueues() queues {
	lists := queues{}
	for _, rep := range c.placeless() {
		lists[rep.job.queue] = append(lists[rep.job.queue], rep)
	}
	return lists
}

// placeless are the gangs that wait for a place, in order of job and number.
func (c *Checker) placeless() []*replica {
	all := set{}
	for rep := range c.replicas() {
		if rep.waits() {
			all.add(rep)
		}
	}
	return all.sorted()
}

// all lists what waits at or below a queue.
func (q *queue) all(waiting queues) []*replica {
	list := slices.Clone(waiting[q])
	for _, child := range q.children {
		list = append(list, child.all(waiting)...)
	}
	return list
}

// standing lists the gangs that wait at or below a queue with which it certainly stands
// in a way if they may be tried, whatever else waits there. A queue that states no
// guarantee stands as the first of its children does, and those that are owed their job
// come first among these.
func (c *Checker) standing(q *queue, as turn, waiting queues) []*replica {
	all := q.all(waiting)
	if _, stated := q.spec.Guarantee[quota.GPUMilli]; stated {
		for _, rep := range all {
			if rep.any(func() bool { return q.standsWith(c.asks(rep)) != as }) {
				return nil
			}
		}
		return all
	}
	var list []*replica
	if as == borrows {
		list = slices.Clone(waiting[q])
	}
	for _, child := range q.children {
		list = append(list, c.standing(child, as, waiting)...)
	}
	if as == borrows && len(list) < len(all) {
		return nil
	}
	return list
}

// turnFor is how a queue stands with a gang of it or of a queue below it: as the first
// on the way to it that states a guarantee does.
func (c *Checker) turnFor(q *queue, rep *replica) turn {
	stands := borrows
	for at := rep.job.queue; ; at = at.parent {
		if _, stated := at.spec.Guarantee[quota.GPUMilli]; stated {
			stands = at.standsWith(c.asks(rep))
		}
		if at == q {
			return stands
		}
	}
}

// standsWith is how a queue stands to its guarantee with a job that asks for between low
// and high. One that asks for no GPU counts as the smallest that does.
func (q *queue) standsWith(low, high int64) turn {
	switch room := q.spec.Guarantee[quota.GPUMilli] - q.used[quota.GPUMilli]; {
	case max(high, 1) <= room:
		return within
	case max(low, 1) > room:
		return borrows
	}
	return unsure
}

// asks bounds what a gang that waits asks for first, in thousandths of a GPU: what its
// minimum costs, or one more member of one that runs.
func (c *Checker) asks(rep *replica) (low, high int64) {
	j := rep.job
	if p := c.preemptions[rep.key()]; p != nil && p.members > 0 {
		return c.asksToGrow(rep, p)
	}
	for g := range j.spec.Groups {
		group := &j.spec.Groups[g]
		high1 := c.largest(&group.Claim)
		low1 := high1
		if ofInstance(&group.Claim) {
			low1 = 1
		}
		n := int64(minimum(group))
		low, high = low+n*low1, high+n*high1
		if rep.state == berth.ReplicaRunning {
			high += int64(group.Members) * high1
			low = 0
		}
	}
	return low, high
}

// anyCouldStart finds, among gangs that wait, one that certainly has a place now on nodes
// that are not set aside for anybody, or nil.
func (c *Checker) anyCouldStart(list []*replica) *replica {
	open := func(n *node) bool { return !c.inReservation(n) }
	at := slices.IndexFunc(list, func(rep *replica) bool {
		return rep.state == berth.ReplicaPending && rep.any(func() bool { return c.couldStartOn(rep, open) })
	})
	if at < 0 {
		return nil
	}
	return list[at]
}
