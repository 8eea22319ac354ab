package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about gangs that leave their places for others: the nodes they are on are being
// drained, they lost hardware, or members, or they are moved so that one that waits has room in
// one piece. Where they go is kept for them from
// then on: the reports list it (see Checker.AgainstReport), and no order tells of it before the
// Bind.

// moving is what is known of gangs that move.
type moving struct {
	// kept has until when a place is kept for a gang that leaves another, or has left it, as
	// the latest report has it.
	kept map[gangKey]berth.Time
	// remnants has until when is kept, of the place of such a gang, what it has left, while there
	// is no room for the rest.
	remnants map[gangKey]berth.Time
	// departed are the gangs that the latest pass told to leave while they could have stayed: a
	// place is reserved for them.
	departed []*replica
	// fixed are the replicas that are never preempted and that the latest pass placed.
	fixed []*replica
}

// draining takes the event that a node has to be empty, by an instant if that is not 0.
func (c *Checker) draining(e berth.NodeDraining) error {
	n, err := c.known(e.Node)
	if err != nil {
		return err
	}
	if e.Deadline < 0 {
		return broken(PromiseEvents, "the draining of node %s was accepted, by %d", e.Node, e.Deadline)
	}
	switch {
	case n.drains:
		c.saw("a drain changed")
	case len(n.members) == 0:
		c.saw("a node drained that is empty")
	}
	n.cordoned, n.drains, n.drainBy, n.reason = true, true, e.Deadline, e.Reason
	for _, m := range n.members {
		c.hasten(m.rep)
	}
	return nil
}

// hasten: a gang with a deadline after the one that counts now is asked anew.
func (c *Checker) hasten(rep *replica) {
	by, drained := rep.drainedBy()
	if drained && by > c.now && rep.asked() && rep.preemption == nil && !rep.needless() && rep.order.Header().Deadline > by {
		rep.hastened = true
		c.awaitEnd(rep)
		c.saw("a drain was hastened")
	}
}

// drainedBy is by when a gang has to leave the nodes of its that are being drained, or cleared for
// others; never, if none of them has a deadline. False: there are none.
func (rep *replica) drainedBy() (berth.Time, bool) {
	by, some := never, false
	for _, m := range rep.members {
		if m.node == nil {
			continue
		}
		if at, has := m.node.leftBy(rep); has {
			by, some = min(by, at), true
		}
	}
	return by, some
}

// never is after all instants.
const never berth.Time = 1<<63 - 1

// pressed reports whether a gang has to leave now, whether there is a place for it or not: it
// has just the time for a checkpoint before a deadline or, of a service with a surge that writes
// none, to stop.
func (c *Checker) pressed(rep *replica) bool {
	grace := c.grace(rep)
	if rep.job.surges() && !rep.job.spec.Checkpoint.Supported {
		grace = min(grace, c.policy.ReleaseTimeout)
	}
	by, drained := rep.drainedBy()
	return drained && by != never && by.Add(-grace) <= c.now
}

// mustLeave: a gang that is told to leave a node runs there, and has no other order out.
func (c *Checker) mustLeave(rep *replica, h berth.OrderHeader) error {
	_, drained := rep.drainedBy()
	switch {
	case !drained:
		return broken(PromiseS6, "order %d has %s leave, and no node of its is being drained", h.ID, rep)
	case rep.state != berth.ReplicaRunning || rep.has(stopping):
		return broken(PromiseS6, "order %d has %s leave, which is %s", h.ID, rep, rep.state)
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	}
	if slices.ContainsFunc(rep.members, func(m *member) bool { return m.node != nil && m.node.clearedFor != nil && !m.node.drains }) {
		c.saw("left a node that is cleared")
	}
	if rep.job.surges() && !c.pressed(rep) {
		return broken(PromiseSurge, "order %d has %s leave, and no other runs in its place", h.ID, rep)
	}
	if rep.preemption, rep.stays = nil, false; c.pressed(rep) {
		c.saw("has to leave, wherever it may go")
	} else {
		c.saw("leaves for another place")
		c.departed = append(c.departed, rep)
	}
	return nil
}

// mustMove: a gang that moves for a beneficiary runs, has no other order out, and may be moved;
// the policy allows moves, and no more than so many for one beneficiary, which waits. A place is
// reserved for the gang. That a gang moves for a guarantee alone, beside others that are
// evicted, say, is looked at when all orders are known.
func (c *Checker) mustMove(rep *replica, h berth.OrderHeader) error {
	key := gangKey{h.Cause.Beneficiary.Job, h.Cause.Beneficiary.Replica}
	beneficiary := c.find(key)
	switch {
	case c.policy.Defragmentation.Mode != berth.DefragmentationOn && !c.movesForGuarantees():
		return broken(PromiseS6, "order %d moves %s for %s, and the policy is %q", h.ID, rep, key, c.policy.Defragmentation.Mode)
	case rep.state != berth.ReplicaRunning || rep.has(stopping):
		return broken(PromiseS6, "order %d moves %s, which is %s", h.ID, rep, rep.state)
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	case beneficiary == nil || beneficiary.state != berth.ReplicaPending || !beneficiary.waits():
		return broken(PromiseS7, "order %d moves %s for %s, which does not wait", h.ID, rep, key)
	case rep.job.spec.Class == berth.ClassLatencyCritical, rep.job.spec.Topology.Exclusive != "":
		return broken(PromiseS6, "order %d moves %s, which is %s and has the %s for itself", h.ID, rep, rep.job.spec.Class, cmp.Or(rep.job.spec.Topology.Exclusive, "nothing"))
	case c.tooYoung(rep):
		return broken(PromiseS6, "order %d moves %s, which runs since %d, shorter than it may", h.ID, rep, rep.started)
	}
	c.victimsNow, c.departed = append(c.victimsNow, rep), append(c.departed, rep)
	r := c.begun(key)
	rep.preemption, rep.cooling = r, c.inCooldown(rep)
	r.takesFrom(rep, c.grace(rep))
	r.victims[len(r.victims)-1].moves = true
	if n := r.moved(); n > cmp.Or(c.policy.Defragmentation.MaxMoves, 8) {
		return broken(PromiseS7, "%d are moved for %s", n, key)
	}
	c.saw("moved for another")
	return nil
}

// movesForGuarantees reports whether the policy lets gangs move so that a guarantee is collected.
func (c *Checker) movesForGuarantees() bool {
	return c.policy.Defragmentation.Mode != berth.DefragmentationOff && c.policy.Preemption.Mode != berth.PreemptionOff
}

// graceOf is how long the checkpoint may take of a gang that leaves: until the deadline, if that
// is sooner and yet to come.
func (c *Checker) graceOf(rep *replica) berth.Duration {
	grace := c.grace(rep)
	if by, _ := rep.drainedBy(); by != never && by > c.now {
		grace = min(grace, by.Sub(c.now))
	}
	return grace
}

// needless reports whether a gang that was asked for a checkpoint certainly need not go: no
// beneficiary needs its place, or none of its nodes is being drained, or it is to be asked again
// with less time.
func (rep *replica) needless() bool {
	if rep.preemption != nil {
		return rep.preemption.ended
	}
	_, drained := rep.drainedBy()
	if rep.givesBack() {
		return false
	}
	if rep.isOverLimit() || rep.stopsForBudget() {
		return rep.hastened || rep.stays
	}
	return rep.hastened || !rep.ends() && (rep.stays || !drained)
}

// reasonToGo says why a replica has to go.
func (rep *replica) reasonToGo() string {
	if rep.preemption != nil {
		return rep.preemption.beneficiary.String()
	}
	if rep.ends() {
		return "its end"
	}
	if rep.givesBack() {
		return "its lender"
	}
	if rep.isOverLimit() {
		return "a limit"
	}
	if rep.stopsForBudget() {
		return "a budget"
	}
	return "a node that is being drained"
}

// mayGoOn notes what is wrong about a pass that lets one go on that was asked for a checkpoint,
// if by the report after it the room is still being made, or the place still kept.
func (c *Checker) mayGoOn(rep *replica, err error) error {
	key := rep.key()
	switch before, kept := c.gangs[key]; {
	case rep.preemption != nil:
		c.unlessEnded(rep.preemption, err)
	case rep.needless():
	case rep.quiet.by != 0 && rep.order.Header().Deadline > rep.quiet.by: // it is asked anew, with less time
	case rep.ends() || rep.givesBack() || rep.isOverLimit() || rep.stopsForBudget() || c.pressed(rep):
		return err
	case c.passed && kept && before.Moving:
		c.trespasses = append(c.trespasses, trespass{key, nil, err})
	}
	return nil
}

// somebodyMoves reports whether places are reserved for gangs that move, or may be from this pass
// on.
func (c *Checker) somebodyMoves() bool {
	for rep := range c.replicas() {
		if _, drained := rep.drainedBy(); drained || rep.state == berth.ReplicaReleasing && rep.comesBack() || rep.moves() && rep.state == berth.ReplicaPending {
			return true
		}
	}
	return len(c.kept) > 0
}

// gaveAway reports whether this pass has placed members of others on a node that was kept for a
// gang: those that rank above it may take its place.
func (c *Checker) gaveAway(rep *replica) bool {
	return slices.ContainsFunc(c.gangs[rep.key()].Nodes, func(id berth.NodeID) bool {
		n := c.nodes[id]
		return n != nil && slices.ContainsFunc(n.members, func(m *member) bool {
			return m.rep != rep && m.state == binding && m.rep.order != nil && m.rep.order.Header().At == c.now
		})
	})
}

// resumed: a gang goes on where a place was kept for it, and on those nodes, if it left for
// that.
func (c *Checker) resumed(rep *replica, b *berth.Bind) error {
	switch {
	case rep.readyAt != 0:
		return broken(PromiseBackoffs, "order %d binds %s, which backs off until %d", b.ID, rep, rep.readyAt)
	case rep.left == "" || c.passed && c.kept[rep.key()] == 0 && !(rep.retriedIn == c.passes && len(rep.stood) > 0):
		return broken(PromiseCauses, "order %d starts %s because of %q, for which no place was kept", b.ID, rep, b.Cause.Code)
	}
	c.saw("resumed after " + string(rep.left))
	rep.resumes = true
	if c.kept[rep.key()] == 0 || rep.retriedIn == c.passes && c.gaveAway(rep) { // the backoff was over in the pass that found the place
		c.saw("a place was kept in the pass in which the gang came back")
		c.planned = rep
		return nil
	}
	if err := c.veryPlace(rep, b); err != nil {
		return err
	}
	if c.mayStayBeside(rep) {
		c.planned = rep
		return nil
	}
	return c.whereAside(rep, b)
}

// mayStayBeside reports whether a gang was to leave a node that is set aside for another: if it
// stays after all, the place of the other is chosen anew, in that very pass.
func (c *Checker) mayStayBeside(rep *replica) bool {
	return slices.ContainsFunc(c.gangs[rep.key()].Nodes, func(id berth.NodeID) bool {
		n := c.nodes[id]
		return n != nil && slices.ContainsFunc(n.members, func(m *member) bool { return m.rep.asked() })
	})
}

// againstMove: a place is kept for a gang that leaves another or has to wait before it is tried
// again. It is kept from a pass on, as it was made, and on nodes that take work.
func (c *Checker) againstMove(key gangKey, gangs map[gangKey]berth.ReservationReport) error {
	r := gangs[key]
	rep := c.find(key)
	switch {
	case rep == nil || rep.gone || !rep.moves():
		return broken(PromiseReservations, "a place is kept for %s, which does not move", key)
	case len(r.Nodes) == 0:
		return broken(PromiseReservations, "a place is kept for %s on no nodes", key)
	}
	if err := c.takeWork(key, r); err != nil {
		return err
	}
	if before, had := c.gangs[key]; had && before.Moving && before.Until == r.Until {
		if before.From == r.From && slices.Equal(before.Nodes, r.Nodes) {
			return nil
		}
		if r.From < c.now { // else it may be another, made at the same instant
			return broken(PromiseReservations, "the place that is kept for %s was on %v from %d, and is on %v from %d", key, before.Nodes, before.From, r.Nodes, r.From)
		}
	}
	if before, had := c.gangs[key]; had && before.Moving && before.From == r.From && slices.Equal(before.Nodes, r.Nodes) && c.isBackoff(rep, &r) {
		c.saw("a place is kept through a backoff")
		return nil
	}
	until := c.now.Add(c.grace(rep) + c.preemptionTimeout())
	if c.isBackoff(rep, &r) {
		until = r.Until
	}
	if c.passed && (r.From != c.now || r.Until != until) {
		return broken(PromiseReservations, "a place is kept for %s from %d until %d; it is %d, and until %d", key, r.From, r.Until, c.now, until)
	}
	if r.Partial {
		return c.againstRemnant(rep, r)
	}
	c.saw("a place kept for one that is " + rep.doing())
	if c.passed && !c.fitsThere(rep, gangs) {
		return broken(PromiseS7, "a place is kept for %s on %v, where it would not fit", key, r.Nodes)
	}
	return nil
}

// againstRemnant: what is left to a gang of its place is kept for it: nodes on which it is.
func (c *Checker) againstRemnant(rep *replica, r berth.ReservationReport) error {
	for _, id := range r.Nodes {
		if !slices.ContainsFunc(rep.members, func(m *member) bool { return m.node != nil && m.node.spec.ID == id }) {
			return broken(PromiseReservations, "of its place node %s is kept for %s, which is not on it", id, rep)
		}
	}
	if rep.state != berth.ReplicaReleasing {
		return broken(PromiseReservations, "what is left of its place is kept for %s, which is %s", rep, rep.doing())
	}
	c.saw("what was left of a place was kept")
	return nil
}

// moves reports whether a place may be kept for a gang that it does not wait for yet.
func (rep *replica) moves() bool {
	switch rep.state {
	case berth.ReplicaRunning:
		return rep.asked() && !rep.needless() && (rep.preemption == nil || rep.preemption.has(rep))
	case berth.ReplicaReleasing:
		return rep.comesBack()
	}
	return rep.state == berth.ReplicaPending && rep.left != "" && rep.readyAt != 0
}

// has reports whether a gang moves for a beneficiary.
func (r *preemption) has(rep *replica) bool {
	return slices.ContainsFunc(r.victims, func(v victim) bool { return v.replica == rep && v.moves })
}

// againstMoves: places are reserved for gangs that were told to leave and could have stayed. It
// notes the places that are reserved from now on.
func (c *Checker) againstMoves(gangs map[gangKey]berth.ReservationReport) error {
	for _, rep := range c.departed {
		// A gang that continues after all, because its place is not needed, may be in the way.
		if r, some := gangs[rep.key()]; len(c.told) == 0 && (!some || !r.Moving) {
			return broken(PromiseS7, "%s had to leave its place, and there is no other for it", rep)
		}
	}
	c.departed = nil
	for key, r := range c.gangs {
		rep := c.find(key)
		if _, still := gangs[key]; r.Moving && !still && rep != nil && !rep.gone && rep.state != berth.ReplicaBinding {
			c.saw("a place kept for a gang was given up")
		}
	}
	kept, remnants := map[gangKey]berth.Time{}, map[gangKey]berth.Time{}
	for key, r := range gangs {
		switch {
		case r.Partial:
			remnants[key] = r.Until
		case r.Moving, c.isKept(key, &r):
			kept[key] = r.Until
		}
	}
	c.kept, c.remnants = kept, remnants
	return nil
}

// isKept reports whether the reservation of a gang that waits is the place that was kept for it
// when it left another.
func (c *Checker) isKept(key gangKey, r *berth.ReservationReport) bool {
	until, kept := c.kept[key]
	rep := c.find(key)
	return kept && until == r.Until || rep != nil && len(rep.stood) > 0 &&
		(r.Until == rep.keptUntil && (c.unseen(rep) || rep.retriedIn == c.passes) || r.Until == rep.keptAnew && rep.retriedIn == c.passes)
}

// lacks is what a gang for which a place is kept may come to hold there at the most, less what
// it holds: of GPUs, if they are of the same product.
func (c *Checker) lacks(rep *replica) quota.Amounts {
	held, asked := quota.Amounts{}, c.costs(rep)
	products := map[string]bool{}
	for _, id := range c.gangs[rep.key()].Nodes {
		if n := c.nodes[id]; n != nil && len(n.gpus) > 0 {
			products[n.spec.GPUs[0].Product] = true
		}
	}
	for _, m := range rep.members {
		if m.node == nil {
			continue
		}
		for r, amount := range c.cost(m) {
			held[r] += amount
		}
		if len(m.node.gpus) > 0 {
			products[m.node.spec.GPUs[0].Product] = true
		}
	}
	if len(products) > 1 {
		held[quota.GPUMilli] = 0
	}
	for _, n := range c.nodes {
		if len(n.gpus) > 0 {
			asked[quota.GPUMilliOf(n.spec.GPUs[0].Product)] = asked[quota.GPUMilli]
		}
	}
	for r := range asked {
		asked[r] = max(0, asked[r]-held[r])
	}
	return asked
}

// costs is what all members of a gang cost at the most.
func (c *Checker) costs(rep *replica) quota.Amounts {
	asked := quota.Amounts{}
	for g := range rep.job.spec.Groups {
		group := &rep.job.spec.Groups[g]
		n := int64(group.Members)
		asked[quota.GPUMilli] += n * c.largest(&group.Claim)
		asked[quota.CPUMilli] += n * group.Claim.CPUMilli
		asked[quota.MemoryMiB] += n * group.Claim.MemoryMiB
		for name, each := range group.Claim.Resources {
			asked[quota.Resource(name)] += n * each
		}
	}
	return asked
}

// isRigid reports whether all gangs of a job cost the same wherever they are.
func (rep *replica) isRigid() bool {
	return !rep.elastic() && !slices.ContainsFunc(rep.job.spec.Groups, func(g berth.Group) bool { return ofInstance(&g.Claim) })
}

// fitsThere reports whether a gang would fit on the nodes that are reserved for it, once departing
// gangs are gone, as far as counting tells. Where queues do not lend, it depends on the gangs that
// were imagined gone when the place was found.
func (c *Checker) fitsThere(rep *replica, gangs map[gangKey]berth.ReservationReport) bool {
	w := c.imagine(c.opened, rep, gangs)
	defer w.forget()
	nodes := gangs[rep.key()].Nodes
	if !w.known || c.somebodyKeeps() || !w.countable(rep, nodes) {
		return true
	}
	c.saw("a place that is kept was judged")
	return w.startsAnew(rep, func(n *node) bool { return slices.Contains(nodes, n.spec.ID) })
}

// startsAnew is couldStartOn for a gang as if it held nothing.
func (w *world) startsAnew(rep *replica, open func(*node) bool) bool {
	gone := len(w.gone)
	w.vanish(rep.members)
	life := *rep
	rep.state, rep.members, rep.alone, rep.observed = berth.ReplicaPending, nil, nil, false
	fits := w.couldStartOn(rep, open)
	*rep = life
	w.back(gone, len(w.here))
	return fits
}

// settled asserts the state of departing gangs after a pass that left no work over: a gang that has
// to leave a node was told, if there is another place for it or no time left, and places are
// reserved for gangs that lost hardware or members, if there are any.
func (c *Checker) settled() error {
	all := set{}
	for rep := range c.replicas() {
		if _, drained := rep.drainedBy(); drained || rep.state == berth.ReplicaReleasing {
			all.add(rep)
		}
	}
	for _, rep := range all.sorted() {
		_, drained := rep.drainedBy()
		switch {
		case c.kept[rep.key()] != 0 || rep.gone:
		case rep.state == berth.ReplicaReleasing && rep.comesBack():
			if c.couldMove(rep) {
				return broken(PromiseL1, "%s is being released because of %q, and no place is kept for it, where it would fit", rep, rep.cause)
			}
		case rep.state != berth.ReplicaRunning || !drained || rep.ends() || rep.isOverLimit() || rep.stopsForBudget() || isBorrower(&rep.job.spec): // see givenBack
		case rep.asked() && rep.preemption == nil && !c.pressed(rep):
			return broken(PromiseL1, "%s has to leave its place, and there is no other for it", rep)
		case rep.order != nil || rep.has(stopping):
		case c.pressed(rep):
			return broken(PromiseL1, "%s is on a node that is being drained, has no more time, and was not told to leave", rep)
		case rep.job.surges():
			if c.couldSurge(rep) {
				return broken(PromiseL1, "%s is on a node that is being drained, there is room for another in its place, and none starts", rep)
			}
		case c.couldMove(rep):
			return broken(PromiseL1, "%s is on a node that is being drained, would fit elsewhere, and was not told to leave", rep)
		}
	}
	return nil
}

// couldMove reports whether there is certainly another place for a gang that has to leave its
// own, on nodes that are set aside for nobody.
func (c *Checker) couldMove(rep *replica) bool {
	if rep.job.isOutOfBudget() || c.bounds(rep.job.queue, func(r quota.Resource) bool { return r != quota.GPUMilli }) || len(rep.avoided) > 0 || rep.job.spec.Topology.Exclusive != "" {
		return false
	}
	w := c.imagine(nil, rep, c.gangs)
	defer w.forget()
	return w.known && w.startsAnew(rep, func(n *node) bool { return !w.inReservation(n) })
}

// againstDraining: a report lists the nodes that are being drained, and the gangs left there.
func (c *Checker) againstDraining(list []berth.DrainReport) error {
	var want []berth.DrainReport
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		if !n.drains {
			continue
		}
		there := set{}
		for _, m := range n.members {
			there.add(m.rep)
		}
		r := berth.DrainReport{Node: id, Reason: n.reason, Deadline: n.drainBy, MembersLeft: len(n.members)}
		for _, rep := range there.sorted() {
			r.Replicas = append(r.Replicas, rep.key().ref())
		}
		want = append(want, r)
	}
	if !slices.EqualFunc(list, want, func(a, b berth.DrainReport) bool {
		return a.Node == b.Node && a.Reason == b.Reason && a.Deadline == b.Deadline && a.MembersLeft == b.MembersLeft && slices.Equal(a.Replicas, b.Replicas)
	}) {
		return broken(PromiseS3, "the report lists %+v as being drained; it is %+v", list, want)
	}
	return nil
}
