package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is what is set aside: by reservations made in advance, and by gangs that
// want their domains for themselves.

// A reservation is one that was made in advance.
type reservation struct {
	spec berth.Reservation
	// picked has the nodes of one by number, as the latest report of the core names
	// them. told says that there was one.
	picked map[berth.NodeID]bool
	told   bool
	// clears: it has begun to clear its nodes, which are to be left by emptyBy.
	clears  bool
	emptyBy berth.Time
}

func (c *Checker) reservationSet(e berth.ReservationSet) error {
	r := &e.Reservation
	ways := 0
	for _, used := range []bool{len(r.Nodes) > 0, len(r.Domain) > 0, r.GPUs != 0} {
		if used {
			ways++
		}
	}
	switch {
	case r.ID == "" || ways != 1 || r.GPUs < 0 || len(r.Domain) > len(c.levels):
		return broken(PromiseEvents, "reservation %q was accepted, which does not say what it is about", r.ID)
	case r.Until <= r.From || r.Until <= c.now && r.Every == 0 || r.Every != 0 && r.Every <= r.Until.Sub(r.From):
		return broken(PromiseEvents, "reservation %s was accepted at %d, which is from %d until %d", r.ID, c.now, r.From, r.Until)
	case r.Queue != "" && c.queues[r.Queue] == nil:
		return broken(PromiseEvents, "reservation %s was accepted for queue %s, which is not known", r.ID, r.Queue)
	}
	if c.booked[r.ID] != nil {
		c.saw("advance reservation changed")
	}
	c.saw("advance reservation made")
	own := &reservation{spec: *r}
	own.recur(c.now)
	c.booked[r.ID] = own
	c.beginClearing(own)
	return nil
}

// recur has a reservation that is over begin again and again, until it is not over. It reports
// whether it comes back at all.
func (r *reservation) recur(now berth.Time) bool {
	r.clears = r.clears && r.spec.Until > now
	for r.spec.Every > 0 && r.spec.Until <= now {
		r.spec.From, r.spec.Until = r.spec.From.Add(r.spec.Every), r.spec.Until.Add(r.spec.Every)
	}
	return r.spec.Until > now
}

func (c *Checker) reservationRemoved(e berth.ReservationRemoved) error {
	if c.booked[e.Reservation] == nil {
		return broken(PromiseEvents, "the removal of reservation %s was accepted, which is not known", e.Reservation)
	}
	c.saw("advance reservation removed")
	delete(c.booked, e.Reservation)
	return nil
}

// reservedFor reports whether something is reserved for a queue itself.
func (c *Checker) reservedFor(q berth.QueueID) bool {
	for _, r := range c.booked {
		if r.spec.Queue == q {
			return true
		}
	}
	return false
}

// has reports whether a node belongs to a reservation.
func (r *reservation) has(n *node) bool {
	path := r.spec.Domain
	switch {
	case len(r.spec.Nodes) > 0:
		return slices.Contains(r.spec.Nodes, n.spec.ID)
	case len(path) > 0:
		return len(path) <= len(n.spec.Domains) && slices.Equal(path, n.spec.Domains[:len(path)])
	}
	return r.picked[n.spec.ID]
}

// ends is when a replica is expected to end if something is placed for it now. False:
// never, as services do.
func (c *Checker) ends(rep *replica) (berth.Time, bool) { return c.endsAfter(rep, c.lengthOf(rep.job)) }

// endsAfter is ends for a run time.
func (c *Checker) endsAfter(rep *replica, length berth.Duration) (berth.Time, bool) {
	from := c.now
	if rep.state == berth.ReplicaRunning {
		from = rep.started
	}
	end := from.Add(length)
	if end <= c.now { // what is late is expected to be as late again
		end = c.now.Add(max(c.now.Sub(end), berth.Minute))
	}
	return end, rep.job.spec.Service == nil
}

// leavesBy reports whether a replica is expected to be gone at an instant if
// something is placed for it now.
func (c *Checker) leavesBy(rep *replica, at berth.Time) bool {
	end, ends := c.ends(rep)
	return ends && end <= at
}

// leavesAsTold is leavesBy for a reservation in advance, and for a gang that has waited for long:
// it does not rely on what was learned.
func (c *Checker) leavesAsTold(rep *replica, at berth.Time) bool {
	longest := max(c.lengthOf(rep.job), cmp.Or(toldBy(&rep.job.spec), c.policy.AssumedRuntime))
	end, ends := c.endsAfter(rep, longest)
	return ends && end <= at
}

// leavesGang is leavesBy for the reservation of a gang.
func (c *Checker) leavesGang(rep *replica, key gangKey, at berth.Time) bool {
	if other := c.find(key); other != nil && other.state == berth.ReplicaPending && c.now >= other.pendingSince.Add(c.policy.AssumedRuntime) {
		return c.leavesAsTold(rep, at)
	}
	return c.leavesBy(rep, at)
}

// mayEnter: a member is not placed on a node that is set aside, unless it belongs
// there or is expected to leave in time.
func (c *Checker) mayEnter(rep *replica, n *node) error {
	if err := c.inBurnInOnly(rep, n); err != nil {
		return err
	}
	c.enterSpare(rep, n)
	for _, id := range slices.Sorted(maps.Keys(c.booked)) {
		r := c.booked[id]
		switch {
		case !r.has(n):
		case rep.job.queue.below(r.spec.Queue):
			c.saw("placed on nodes reserved for its queue")
		case c.letsIn(r, rep):
			c.saw("backfilled before an advance reservation")
		default:
			end, _ := c.ends(rep)
			return broken(PromiseReservations, "%s is placed on node %s, which is reserved from %d until %d (%s); its end is expected at %d",
				rep, n.spec.ID, r.spec.From, r.spec.Until, id, end)
		}
	}
	for _, other := range c.alone.sorted() {
		if other != rep && other.alone[c.key(n, other.job.spec.Topology.Exclusive)] {
			return broken(PromiseS8, "%s is placed on node %s, in a %s that %s has for itself", rep, n.spec.ID, other.job.spec.Topology.Exclusive, other)
		}
	}
	rep.letIn = rep.letIn || c.inReservation(n)
	c.trespass(rep, n)
	return nil
}

// aloneThere: a gang that wants its domains for itself starts, and grows, only into
// those where nobody else is.
func (c *Checker) aloneThere(rep *replica, placed []*member) error {
	level := rep.job.spec.Topology.Exclusive
	if level == "" {
		return nil
	}
	for _, m := range placed {
		if other := c.stranger(rep, m.node); other != nil {
			return broken(PromiseS8, "%s wants its %s for itself, is placed on node %s, and %s is there", rep, level, m.node.spec.ID, other)
		}
	}
	c.claimAlone(rep)
	c.saw("exclusive gang placed")
	return nil
}

// stranger finds a member of another gang in the domain of a node that a gang would
// want for itself, and has not yet; or nil.
func (c *Checker) stranger(rep *replica, at *node) *member {
	level := rep.job.spec.Topology.Exclusive
	key := c.key(at, level)
	if rep.alone[key] {
		return nil
	}
	for _, n := range c.nodes {
		for _, m := range n.members {
			if m.rep != rep && c.key(n, level) == key {
				return m
			}
		}
	}
	return nil
}

// idleFor reports whether the topology that a gang wants for itself lets it onto a node.
func (c *Checker) idleFor(rep *replica, n *node) bool {
	return rep.job.spec.Topology.Exclusive == "" || c.stranger(rep, n) == nil
}

// claimAlone notes the domains that a gang has for itself from now on.
func (c *Checker) claimAlone(rep *replica) {
	level := rep.job.spec.Topology.Exclusive
	if level == "" {
		return
	}
	if rep.alone == nil {
		rep.alone = map[string]bool{}
	}
	for _, m := range rep.members {
		if m.node != nil {
			rep.alone[c.key(m.node, level)] = true
		}
	}
	c.alone.add(rep)
}

// shareAgain: a gang that holds nothing has no domains for itself.
func (c *Checker) shareAgain(rep *replica) {
	rep.alone = nil
	c.alone.remove(rep)
}

func (rep *replica) avoid(m *member) {
	if rep.avoided == nil {
		rep.avoided = map[berth.NodeID]bool{}
	}
	rep.avoided[m.at.Node] = true
}

// The ways in which a node may be set aside.
const (
	byAdvance = 1 << iota
	byGang
	byExclusive
	byBurnIn
	bySpare
)

// setAside says in which ways a node is set aside for others than a replica, and so that
// it may not use it: it does not belong there, does not rank above the gang that does and would
// not leave in time. Where the core has a budget for looking at such nodes, all others
// are out of the question.
func (c *Checker) setAside(n *node, rep *replica) int {
	ways, spare := 0, c.policy.BackfillBudget == 0
	for _, r := range c.booked {
		if r.has(n) && (!spare || !c.letsIn(r, rep)) {
			ways |= byAdvance
		}
	}
	for key, r := range c.gangs {
		if key != (gangKey{rep.job.spec.ID, rep.number}) && slices.Contains(r.Nodes, n.spec.ID) && (!spare || !c.surelyPasses(rep, key) && !c.leavesGang(rep, key, r.From)) {
			ways |= byGang
		}
	}
	for other := range c.alone {
		if other != rep && other.alone[c.key(n, other.job.spec.Topology.Exclusive)] {
			ways |= byExclusive
		}
	}
	// Where a limit speaks of products, one answer stands for all that ask for the same,
	// whether they may be there or not.
	spare = spare && !c.byProduct(rep.job.queue)
	if n.burnIn != 0 && (!spare || !cheap(rep)) {
		ways |= byBurnIn
	}
	if c.spares[n.spec.ID] && (!spare || !rep.mayResume()) {
		ways |= bySpare
	}
	return ways
}

// inReservation reports whether a node is set aside for anybody, or may be.
func (c *Checker) inReservation(n *node) bool {
	return n.burnIn != 0 || c.mayBeSpare(n) || c.bookedFor(n)
}

// bookedFor reports whether a node is set aside for a gang that is to have it, or has it.
func (c *Checker) bookedFor(n *node) bool {
	for _, r := range c.gangs {
		if slices.Contains(r.Nodes, n.spec.ID) {
			return true
		}
	}
	return c.ownedByOthers(nil, n)
}

// noteKeptOut notes if anybody waits although it would fit, but for what is set aside. It is
// for small worlds, O(replicas x nodes), and looks for what was not found there before.
func (c *Checker) noteKeptOut() {
	if len(c.nodes) > 64 {
		return
	}
	ways := map[int]string{}
	look := func(way int, some bool, what string) {
		if what = "kept out by " + what; some && c.cases[what] == 0 {
			ways[way] = what
		}
	}
	look(byAdvance, len(c.booked) > 0, "an advance reservation")
	look(byGang, len(c.gangs) > 0, "the reservation of a gang")
	look(byExclusive, len(c.alone) > 0, "an exclusive gang")
	look(byBurnIn, c.policy.Health.BurnIn != 0, "a burn-in")
	look(bySpare, len(c.spares) > 0, "spares")
	for rep := range c.replicas() {
		if len(ways) == 0 {
			return
		}
		if !rep.waits() || c.couldStart(rep, 0) {
			continue
		}
		for way, what := range ways {
			if c.couldStart(rep, way) {
				c.saw(what)
				delete(ways, way)
			}
		}
	}
}

// String names a reservation of a gang.
func (k gangKey) String() string { return fmt.Sprintf("%s/%d", k.job, k.replica) }

func (k gangKey) ref() berth.ReplicaRef { return berth.ReplicaRef{Job: k.job, Replica: k.replica} }
