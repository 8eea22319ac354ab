package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about the reservations of gangs that wait. They are the core's own
// doing, and no order tells of them: the checker knows them from the reports that it
// is shown (see Checker.AgainstReport), and judges a pass by the reports before and after.

// A gangKey names a gang.
type gangKey struct {
	job     berth.JobID
	replica int
}

// reserved is what is known of the reservations of gangs.
type reserved struct {
	// gangs as the latest report has them. sure: nothing was told since then.
	// then are the preemptions that went on at that time.
	gangs map[gangKey]berth.ReservationReport
	then  map[gangKey]*preemption
	sure  bool
	// passed: a pass was the last that happened, and what was known before it is in
	// gangs; trespasses are what is wrong about it unless a reservation ended in it.
	passed     bool
	trespasses []trespass
	// ousted are the gangs on whose nodes something that ranks above them was placed in
	// that pass: from then on the other nodes are free, and it may reserve anew.
	ousted map[gangKey]bool
	// passes counts the passes.
	passes int
	// spreadings are the groups of that pass that are spread or balanced.
	spreadings []interface {
		even(gangs map[gangKey]berth.ReservationReport) error
	}
}

// A trespass is a placement on nodes that were reserved for a gang before the pass.
type trespass struct {
	on gangKey
	// preemption for the gang, if it is about that.
	preemption *preemption
	err        error
}

// outdated notes that an event was told: reservations may have ended.
func (r *reserved) outdated() { r.sure, r.passed, r.trespasses, r.spreadings = false, false, nil, nil }

// begin notes that a pass begins.
func (r *reserved) begin() {
	r.passed, r.trespasses, r.spreadings, r.ousted = r.sure, nil, nil, map[gangKey]bool{}
	r.sure = false
	r.passes++
}

// trespass notes that a replica is placed on a node that was reserved for a gang when
// the pass began, and is not expected to leave in time.
func (c *Checker) trespass(rep *replica, n *node) {
	if !c.passed {
		return
	}
	own := rep.key()
	for key, r := range c.gangs {
		switch {
		case !slices.Contains(r.Nodes, n.spec.ID):
		case key == own:
			c.saw("placed on its reservation")
		case (c.preemptions[key] != nil || c.kept[key] != 0) && c.planned == rep:
			c.saw("placed beside another beneficiary")
		case c.planned == rep && rep.retriedIn == c.passes: // as if its members had lived: the other waits for its turn
			c.saw("came back where another waits")
			c.ousted[key] = true
		case c.leavesGang(rep, key, r.From):
			c.saw("backfilled onto the reservation of a gang")
		case c.mayPass(rep, key):
			c.saw("passed the reservation of a gang by rank")
			c.ousted[key] = true
		case c.ousted[key]:
		case c.comeBackTo(r.Nodes): // that ended the reservation, and it may be made anew as it was
			c.saw("a reservation ended for a gang that comes back")
			c.ousted[key] = true
		default:
			end, _ := c.ends(rep)
			c.trespasses = append(c.trespasses, trespass{key, nil, broken(PromiseReservations,
				"%s is placed on node %s, which is reserved for %s from %d; its end is expected at %d", rep, n.spec.ID, key, r.From, end)})
		}
	}
}

// comeBackTo reports whether a place on some nodes was kept, from this pass on, for a gang of which
// all members died.
func (c *Checker) comeBackTo(nodes []berth.NodeID) bool {
	for rep := range c.replicas() {
		if rep.state != berth.ReplicaPending || rep.readyAt == 0 || !c.unseen(rep) {
			continue
		}
		for _, s := range rep.stood {
			if slices.Contains(nodes, s.node.spec.ID) {
				return true
			}
		}
	}
	return false
}

// againstReservations holds the reservations that a report lists against those that
// there should be.
func (c *Checker) againstReservations(list []berth.ReservationReport) error {
	gangs := map[gangKey]berth.ReservationReport{}
	listed := map[berth.ReservationID]bool{}
	for _, r := range list {
		if r.ID == "" {
			gangs[gangKey{r.Job, r.Replica}] = r
			continue
		}
		listed[r.ID] = true
		if err := c.againstAdvance(r); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.booked)) {
		if !listed[id] && c.booked[id].spec.Until > c.now {
			return broken(PromiseReservations, "reservation %s is not in the report", id)
		}
	}
	if len(gangs)+len(listed) != len(list) {
		return broken(PromiseReservations, "the report lists a reservation twice")
	}
	if err := c.againstGangs(gangs); err != nil {
		return err
	}
	return c.againstFixed()
}

// againstAdvance holds a reservation that was made in advance against its event: it
// has the nodes that it names, as far as they are in the fleet. Of one by number the
// core picks them; later they only become fewer.
func (c *Checker) againstAdvance(r berth.ReservationReport) error {
	own := c.booked[r.ID]
	if own == nil {
		return broken(PromiseReservations, "the report lists reservation %s, which is not known", r.ID)
	}
	if r.From != own.spec.From || r.Until != own.spec.Until || r.Every != own.spec.Every {
		return broken(PromiseReservations, "the report has reservation %s last from %d until %d, not from %d until %d", r.ID, r.From, r.Until, own.spec.From, own.spec.Until)
	}
	if own.spec.GPUs > 0 { // adopted
		return c.againstCleared(own, r)
	}
	var want []berth.NodeID
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		if own.has(c.nodes[id]) {
			want = append(want, id)
		}
	}
	if !slices.Equal(r.Nodes, want) {
		return broken(PromiseReservations, "the report gives reservation %s the nodes %v; they are %v", r.ID, r.Nodes, want)
	}
	return c.againstCleared(own, r)
}

// adoptPicked takes over the nodes that the core picked for reservations by number, before anything
// else of a report is held against the rules: gangs may stay where no reservation has the node.
func (c *Checker) adoptPicked(list []berth.ReservationReport) error {
	for _, r := range list {
		if own := c.booked[r.ID]; r.ID != "" && own != nil && own.spec.GPUs > 0 {
			if err := c.adopt(own, r.Nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt takes over the nodes that the core picked: whole ones that qualify and take
// work, in one domain of the required level, enough and not one after the other too many.
func (c *Checker) adopt(own *reservation, nodes []berth.NodeID) error {
	first := !own.told
	gpus, most := 0, 0
	group := berth.Group{Selector: own.spec.Selector}
	picked := map[berth.NodeID]bool{}
	for _, id := range nodes {
		n := c.nodes[id]
		switch {
		case n == nil:
			return broken(PromiseReservations, "reservation %s has node %s, which is not in the fleet", own.spec.ID, id)
		case !first && !own.picked[id]:
			return broken(PromiseReservations, "reservation %s has node %s, which it had not", own.spec.ID, id)
		case first && (n.closed() || n.unfit(&group) != ""):
			return broken(PromiseReservations, "reservation %s was given node %s, which does not qualify", own.spec.ID, id)
		case first && !slices.Equal(c.domain(n, cmp.Or(own.spec.Required, "fleet")), c.domain(c.nodes[nodes[0]], cmp.Or(own.spec.Required, "fleet"))):
			return broken(PromiseReservations, "reservation %s was given nodes of several %s", own.spec.ID, own.spec.Required)
		}
		picked[id] = true
		gpus, most = gpus+len(n.gpus), max(most, len(n.gpus))
	}
	if first && (gpus < own.spec.GPUs || gpus-most >= own.spec.GPUs) {
		return broken(PromiseReservations, "reservation %s of %d GPUs was given %d nodes with %d", own.spec.ID, own.spec.GPUs, len(nodes), gpus)
	}
	own.picked, own.told = picked, true
	c.noteClearing()
	return nil
}

// againstGangs: a gang has a reservation while it waits, after it waited for as long as
// the policy says; no more gangs than the policy says get one, of several nodes and of
// one; it stands as it was made, or better, until it ends, and no gang is placed there
// that would be in the way and does not rank above it.
func (c *Checker) againstGangs(gangs map[gangKey]berth.ReservationReport) error {
	if err := cmp.Or(c.becomeReserved(gangs), c.againstPreemptions(gangs)); err != nil {
		return err
	}
	count, large := 0, 0
	for key, r := range gangs {
		if r.Moving || c.isPreemption(key, &r) || c.isKept(key, &r) || c.remnants[key] == r.Until {
			continue
		}
		if count++; c.needsSeveralNodes(key) {
			large++
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(gangs), func(a, b gangKey) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.replica, b.replica))
	}) {
		if err := c.againstGang(key, gangs, count, large); err != nil {
			return err
		}
	}
	if err := c.againstMoves(gangs); err != nil {
		return err
	}
	for key, r := range c.gangs {
		if _, kept := gangs[key]; kept {
			continue
		}
		switch rep := c.find(key); {
		case r.Until <= c.now:
			c.saw("reservation of a gang timed out")
		case rep != nil && rep.state == berth.ReplicaPending:
			c.saw("reservation of a gang ended with a node")
		}
	}
	for _, t := range c.trespasses {
		before := c.gangs[t.on]
		after, some := gangs[t.on]
		kept := some && after.Until == before.Until && slices.Equal(after.Nodes, before.Nodes) // else it is another
		if kept && (t.preemption == nil || !t.preemption.ended) {
			return t.err
		}
	}
	for _, s := range c.spreadings {
		if err := s.even(gangs); err != nil {
			return err
		}
	}
	passed := c.passed
	if err := c.returns(gangs, passed); err != nil {
		return err
	}
	c.outdated()
	c.gangs, c.then, c.sure = gangs, maps.Clone(c.preemptions), true
	if passed {
		c.noteKeptOut()
	}
	return nil
}

// needsSeveralNodes reports whether a gang needs more GPUs than any node has, as one of its
// alternatives.
func (c *Checker) needsSeveralNodes(key gangKey) bool {
	rep, most := c.find(key), 0
	for _, n := range c.nodes {
		most = max(most, len(n.gpus))
	}
	return rep != nil && rep.any(func() bool {
		need := 0
		for i := range rep.job.spec.Groups {
			need += minimum(&rep.job.spec.Groups[i]) * rep.job.spec.Groups[i].Claim.GPUs
		}
		return need > most
	})
}

func (c *Checker) againstGang(key gangKey, gangs map[gangKey]berth.ReservationReport, count, large int) error {
	r := gangs[key]
	if r.Moving {
		return c.againstMove(key, gangs)
	}
	rep := c.find(key)
	if rep == nil || !c.mayReserve(rep, &r) {
		return broken(PromiseReservations, "%s has a reservation and does not wait", key)
	}
	if err := c.takeWork(key, r); err != nil {
		return err
	}
	before, had := c.gangs[key]
	anew := r.Until == r.From.Add(c.policy.ReservationTimeout) // as when it was just made
	switch {
	case len(r.Nodes) == 0:
		return broken(PromiseReservations, "%s has a reservation of nothing", key)
	case had && before.Until == r.Until && before.From >= r.From && slices.Equal(r.Nodes, before.Nodes):
		return nil // it is kept, or has become better
	case c.isPreemption(key, &r), c.isKept(key, &r), c.remnants[key] == r.Until:
		return nil
	case had && before.Until == r.Until && !anew:
		return broken(PromiseReservations, "the reservation of %s was from %d on %v, and is from %d on %v", key, before.From, before.Nodes, r.From, r.Nodes)
	case large > c.policy.ReservedGangs || count > 2*c.policy.ReservedGangs:
		return broken(PromiseReservations, "%s got a reservation as one of %d gangs, %d of them of several nodes; the policy says %d",
			key, count, large, c.policy.ReservedGangs)
	case !had && c.now < rep.pendingSince.Add(c.policy.ReserveAfter): // one that it has is planned anew under any policy
		return broken(PromiseReservations, "%s got a reservation at %d, and is pending since %d", key, c.now, rep.pendingSince)
	case rep.job.spec.Class == berth.ClassBatch && rep.job.spec.Priority <= 0 && rep.incarnation == 0 && c.now < rep.created.Add(min(rep.job.later, c.policy.AssumedRuntime/2)):
		return broken(PromiseReservations, "%s got a reservation at %d, and its turn is %d later than %d", key, c.now, rep.job.later, rep.created)
	case c.passed && (r.From < c.now || !anew):
		return broken(PromiseReservations, "%s got a reservation from %d until %d at %d", key, r.From, r.Until, c.now)
	}
	c.saw("gang reserved")
	return nil
}

// takeWork: the nodes of a reservation take work.
func (c *Checker) takeWork(key gangKey, r berth.ReservationReport) error {
	for _, id := range r.Nodes {
		if n := c.nodes[id]; n == nil || n.closed() {
			return broken(PromiseReservations, "%s has a reservation on node %s, which takes no work", key, id)
		}
	}
	return nil
}
