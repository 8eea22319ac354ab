package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// Applied takes an event that the core accepted.
func (c *Checker) Applied(now berth.Time, event berth.Event) error {
	if err := c.advance(now); err != nil {
		return err
	}
	if err := c.happened(event); err != nil {
		return err
	}
	c.followFleet()
	c.openGates()
	c.noteClearing()
	c.spareDrained()
	c.noteOverLimit()
	c.noteBudgets()
	c.noteLoans()
	return c.followsProtocol()
}

func (c *Checker) happened(event berth.Event) error {
	c.outdated()
	c.opened, c.departed, c.fixed = nil, nil, nil
	switch e := event.(type) {
	case berth.NodeJoined:
		return c.nodeJoined(e)
	case berth.NodeUpdated:
		return c.nodeUpdated(e)
	case berth.NodeCordoned:
		return c.cordon(e.Node, true)
	case berth.NodeUncordoned:
		return c.cordon(e.Node, false)
	case berth.NodeDraining:
		return c.draining(e)
	case berth.NodeLost:
		return c.nodeLost(e)
	case berth.GPUFailed:
		return c.gpuFailed(e)
	case berth.XidReported:
		return c.xidReported(e)
	case berth.FabricReported:
		return c.fabricReported(e)
	case berth.GPURepaired:
		return c.gpuRepaired(e)
	case berth.ReservationSet:
		return c.reservationSet(e)
	case berth.ReservationRemoved:
		return c.reservationRemoved(e)
	case berth.QueueSet:
		return c.queueSet(e)
	case berth.QueueRemoved:
		return c.queueRemoved(e)
	case berth.JobSubmitted:
		return c.jobSubmitted(e)
	case berth.JobObserved:
		return c.jobObserved(e)
	case berth.JobScaled:
		return c.jobScaled(e)
	case berth.JobCancelled:
		return c.jobCancelled(e)
	case berth.JobFinished:
		return c.jobFinished(e)
	case berth.MemberFailed:
		return c.memberFailed(e)
	case berth.OrderReported:
		return c.orderReported(e)
	case berth.GPUPartitioned:
		return c.gpuPartitioned(e)
	case berth.MIGTableSet:
		return c.tableSet(e)
	case berth.ActivityReported:
		return c.activityReported(e)
	case berth.CheckpointWritten:
		return c.checkpointWritten(e)
	case berth.LedgerSettled:
		return c.ledgerSettled()
	case berth.PolicyChanged:
		c.policyChanged(e)
		return nil
	}
	return broken(PromiseEvents, "%T was accepted, which is no event: Checker.happened has no case for it", event)
}

func (c *Checker) nodeJoined(e berth.NodeJoined) error {
	if n := c.nodes[e.Node.ID]; n != nil {
		return c.nodeAgain(n, e.Node)
	}
	if len(e.Node.Domains) != len(c.levels) {
		return broken(PromiseEvents, "node %s joined with %d domains for %d levels", e.Node.ID, len(e.Node.Domains), len(c.levels))
	}
	n := newNode(e.Node)
	c.nodes[e.Node.ID] = n
	c.welcome(n)
	return c.tellGPUs(n, 0)
}

// nodeAgain takes a node that joined before: its agent registers again, and tells nothing new.
func (c *Checker) nodeAgain(n *node, told berth.Node) error {
	before := n.spec
	for _, spec := range []*berth.Node{&before, &told} {
		spec.GPUs = slices.Clone(spec.GPUs)
		for i := range spec.GPUs { // of which the core knows better
			spec.GPUs[i].Failed, spec.GPUs[i].Mode, spec.GPUs[i].Instances = false, berth.GPUModeWhole, nil
		}
	}
	x, err := json.Marshal(before)
	y, other := json.Marshal(told)
	if err != nil || other != nil || !bytes.Equal(x, y) {
		return broken(PromiseEvents, "node %s joined twice, described otherwise", told.ID)
	}
	c.saw("node registered again")
	return nil
}

// tellGPUs takes over how the GPUs of a node are, from one on.
func (c *Checker) tellGPUs(n *node, from int) error {
	for i := from; i < len(n.gpus); i++ {
		g := &n.spec.GPUs[i]
		if why := c.undividable(n, g.Mode, g.Instances); why != "" {
			return broken(PromiseEvents, "node %s was accepted with GPU %d, which is %s with %v: %s", n.spec.ID, i, g.Mode, g.Instances, why)
		}
		n.gpus[i].tell(g.Mode, g.Instances, c.geometry(n).Kind)
	}
	return nil
}

// policyChanged takes a policy, and what it changes about how GPUs are divided.
func (c *Checker) policyChanged(e berth.PolicyChanged) {
	before := map[*node]berth.GeometryKind{}
	for _, n := range c.nodes {
		before[n] = c.geometry(n).Kind
	}
	idle := c.policy.Idle
	c.policy = inForce(e.Policy)
	c.tellBudgets()
	for rep := range c.replicas() {
		c.noteActivity(rep)
		if idle != c.policy.Idle {
			rep.idle = idleness{since: rep.idle.since}
			if rep.asked() && rep.order.Header().Cause.Code == berth.CauseIdle {
				rep.hastened = true
				c.saw("was to end as it is idle, and the policy changed")
			}
			c.noteIdleness(rep)
		}
	}
	c.lengths.forget(c.policy.RuntimeSamples)
	c.reconsider()
	for n, kind := range before {
		after := c.geometry(n).Kind
		if n.regear(kind, after); kind != after {
			c.saw("geometry changed to " + after.String())
		}
	}
}

func (c *Checker) nodeUpdated(e berth.NodeUpdated) error {
	n, err := c.known(e.Node.ID)
	if err != nil {
		return err
	}
	e.Node.GPUs = slices.Clone(e.Node.GPUs)
	for g := range min(len(e.Node.GPUs), len(n.spec.GPUs)) { // only a repair heals
		e.Node.GPUs[g].Failed = e.Node.GPUs[g].Failed || n.failed.Has(g)
	}
	if len(n.members) == 0 {
		return c.redescribed(n, e.Node)
	}
	c.saw("nodeUpdated while in use")
	if !slices.Equal(n.spec.Domains, e.Node.Domains) || n.spec.Pool != e.Node.Pool || len(n.gpus) != len(e.Node.GPUs) {
		return broken(PromiseEvents, "node %s changed its place or its GPUs under %d members", e.Node.ID, len(n.members))
	}
	n.spec = e.Node
	n.noteHealth()
	for _, m := range n.members {
		if m.at.GPUs&n.failed != 0 {
			return broken(PromiseEvents, "an update of node %s failed GPUs under %s", e.Node.ID, m)
		}
	}
	if n.crowded() {
		c.saw("nodeUpdated to less than is held")
	}
	return nil
}

// redescribed takes another description of a node on which nobody runs. GPUs that stay
// are as they were, unless they divide by another table.
func (c *Checker) redescribed(before *node, spec berth.Node) error {
	n := newNode(spec)
	n.cordoned, n.quarantine, n.burnIn = before.cordoned, before.quarantine, before.burnIn
	n.drains, n.drainBy, n.reason = before.drains, before.drainBy, before.reason
	kept := 0
	if len(spec.GPUs) > 0 && len(before.gpus) > 0 && spec.GPUs[0].MIGTable == before.spec.GPUs[0].MIGTable {
		kept = copy(n.gpus, before.gpus)
	}
	for i := range before.gpus {
		ch := before.gpus[i].change
		if ch != nil && (i >= kept || spec.Pool != before.spec.Pool) {
			return broken(PromiseEvents, "an update of node %s was accepted, where order %d is out about GPU %d", n.spec.ID, ch.ID, i)
		}
		if ch != nil {
			ch.node = n
		}
	}
	n.regear(c.geometry(before).Kind, c.geometry(n).Kind)
	c.nodes[spec.ID] = n
	c.forgetFabric()
	return c.tellGPUs(n, kept)
}

func (c *Checker) cordon(id berth.NodeID, cordoned bool) error {
	n, err := c.known(id)
	if err != nil {
		return err
	}
	if n.drains {
		c.saw("a drain ended")
	}
	n.drains, n.drainBy, n.reason = false, 0, ""
	if !cordoned && !n.cordoned && (n.quarantine != 0 || n.burnIn != 0) {
		c.saw("vouched for")
		n.quarantine, n.burnIn = 0, 0
	}
	n.cordoned = cordoned
	return nil
}

func (c *Checker) nodeLost(e berth.NodeLost) error {
	n, err := c.known(e.Node)
	if err != nil {
		return err
	}
	for i := range n.gpus {
		if ch := n.gpus[i].change; ch != nil {
			c.saw("nodeLost while a repartition is out")
			delete(c.changes, ch.ID)
		}
	}
	if n.burnIn != 0 {
		c.saw("lost in burn-in")
	}
	c.noteLoss(e.Node)
	c.losePlaces(func(s stand) bool { return s.node == n })
	c.lose("nodeLost", slices.Clone(n.members), berth.CauseHardwareLost)
	delete(c.nodes, e.Node)
	c.forgetFabric()
	return nil
}

func (c *Checker) gpuFailed(e berth.GPUFailed) error {
	n, err := c.known(e.Node)
	if err != nil {
		return err
	}
	if e.GPU < 0 || e.GPU >= len(n.gpus) {
		return broken(PromiseEvents, "the failure of GPU %d of node %s was accepted, which has %d", e.GPU, e.Node, len(n.gpus))
	}
	if n.burnIn != 0 {
		c.saw("failed in burn-in")
	}
	n.failed |= berth.GPUSetOf(e.GPU)
	g := &n.gpus[e.GPU]
	hit := g.holders()
	g.overdue = nil
	if g.change != nil {
		c.saw("gpuFailed while a repartition is out")
		c.endChange(g.change, false)
		g.unknown = true
	}
	c.losePlaces(func(s stand) bool { return s.node == n && s.at.GPUs.Has(e.GPU) })
	c.lose("gpuFailed", hit, berth.CauseHardwareLost)
	return nil
}

func (c *Checker) gpuRepaired(e berth.GPURepaired) error {
	n, err := c.known(e.Node)
	if err != nil {
		return err
	}
	if n.failed.Has(e.GPU) {
		c.beginBurnIn(n, c.now)
	}
	n.failed &^= berth.GPUSetOf(e.GPU)
	return nil
}

// lose: what runs on lost hardware is gone with it, and so is what was to run on a GPU
// that did not become what it needs.
func (c *Checker) lose(what string, hit []*member, cause berth.CauseCode) {
	if cause == berth.CauseHardwareLost {
		c.noteTaken(hit)
	}
	replicas := set{}
	for _, m := range hit {
		after := absent
		if m.rep.state == berth.ReplicaBinding || m.rep.state == berth.ReplicaRepairing || m.state == binding {
			after = lost // counts until the Bind is reported
		}
		if cause == berth.CauseHardwareLost && m.rep.state != berth.ReplicaReleasing {
			m.rep.struck = true
		}
		c.free(m, after)
		replicas.add(m.rep)
	}
	for _, rep := range replicas.sorted() {
		c.saw(what + " while " + rep.doing())
		c.settle(rep, cause)
		rep.struck = rep.struck && rep.state != berth.ReplicaRunning // enough of it is left
		c.signalLoss(rep)
	}
}

func (c *Checker) jobSubmitted(e berth.JobSubmitted) error {
	j, err := c.newJob(e.Job)
	if err != nil {
		return err
	}
	if j.gate, err = c.gateOf(j); err != nil {
		return err
	}
	for range j.wanted() {
		c.pend(c.newReplica(j), false)
	}
	return nil
}

func (c *Checker) jobObserved(e berth.JobObserved) error {
	j, err := c.newJob(e.Job)
	if err != nil {
		return err
	}
	if len(e.Running) == 0 {
		if j.gate, err = c.gateOf(j); err != nil {
			return err
		}
	}
	j.observed = true
	most := j.wanted()
	if j.spec.Service != nil {
		most += j.spec.Service.Surge
	}
	for i := range e.Running {
		if n := e.Running[i].Replica; n >= 0 && n < most && j.replicas[n] == nil {
			j.replicas[n] = &replica{job: j, number: n, created: c.now, incarnation: j.former}
		}
		if err := c.observed(j, &e.Running[i]); err != nil {
			return err
		}
	}
	for range j.wanted() - len(e.Running) {
		c.pend(c.newReplica(j), false)
	}
	if len(e.Running) > j.wanted() {
		c.saw("more were observed than are wanted")
		c.scaleTo(slices.Collect(maps.Values(j.replicas)), j.wanted())
	}
	return nil
}

// observed: what runs already never stands on capacity that somebody else holds.
func (c *Checker) observed(j *job, r *berth.ObservedReplica) error {
	rep := j.replicas[r.Replica]
	if rep == nil || rep.members != nil {
		return broken(PromiseEvents, "replica %d of job %s was observed twice, or is none", r.Replica, j.spec.ID)
	}
	if !j.has(r.Alternative) {
		return broken(PromiseEvents, "job %s was observed as alternative %d of %d", j.spec.ID, r.Alternative, len(j.spec.Alternatives))
	}
	j.become(r.Alternative)
	c.saw("observed")
	rep.enlist()
	rep.incarnation, rep.observed = r.Incarnation, true
	for i := range r.Members {
		p := &r.Members[i]
		flat := j.flat(p.Ref())
		n := c.nodes[p.Node]
		if flat < 0 || n == nil || rep.members[flat].state != absent {
			return broken(PromiseEvents, "%s was observed with %v on node %s", rep, p.Ref(), p.Node)
		}
		if err := c.book(n, rep.members[flat], *p, running); err != nil {
			return err
		}
		if err := c.found(rep.members[flat], n); err != nil {
			return err
		}
		if ofInstance(rep.members[flat].claim()) {
			c.saw("an instance observed")
		}
	}
	rep.state, rep.started, rep.cameAt = berth.ReplicaRunning, r.Started, r.Started
	c.beginLimit(rep)
	c.claimAlone(rep)
	c.touched.add(rep)
	return nil
}

func (c *Checker) jobScaled(e berth.JobScaled) error {
	j := c.jobs[e.Job]
	if j == nil || j.spec.Service == nil || j.cancelled {
		return broken(PromiseEvents, "the scaling of job %s was accepted, which is no service that is kept", e.Job)
	}
	kept := slices.DeleteFunc(slices.Collect(maps.Values(j.replicas)), func(rep *replica) bool { return rep.gone || rep.instead != nil })
	for range e.Replicas - len(kept) {
		c.saw("scaled up")
		c.pend(c.newReplica(j), false)
	}
	c.scaleTo(kept, e.Replicas)
	return nil
}

// scaleTo has all of some replicas go but so many: those that do not run first, and then those
// with the highest numbers.
func (c *Checker) scaleTo(list []*replica, many int) {
	slices.SortFunc(list, func(a, b *replica) int {
		return cmp.Or(truth(b.state == berth.ReplicaRunning)-truth(a.state == berth.ReplicaRunning), cmp.Compare(a.number, b.number))
	})
	for _, rep := range list[min(len(list), many):] {
		c.saw("scaled down while " + rep.doing())
		c.signal(rep, protocol.SignalCancel)
		c.takeBack(rep, berth.CauseScaledDown, true)
	}
}

func (c *Checker) jobCancelled(e berth.JobCancelled) error {
	j := c.jobs[e.Job]
	if j == nil || j.cancelled {
		return broken(PromiseEvents, "the cancellation of job %s was accepted, which is not known or cancelled already", e.Job)
	}
	j.cancelled = true
	if len(j.replicas) == 0 {
		c.forgetJob(j)
		return nil
	}
	for _, rep := range inOrder(maps.Values(j.replicas)) {
		if j.replicas[rep.number] != rep { // a stand-in went with the other
			continue
		}
		c.saw("cancelled while " + rep.doing())
		if !rep.gone {
			c.signal(rep, protocol.SignalCancel)
		}
		c.takeBack(rep, berth.CauseCancelled, true)
	}
	return nil
}

func (c *Checker) known(id berth.NodeID) (*node, error) {
	if n := c.nodes[id]; n != nil {
		return n, nil
	}
	return nil, broken(PromiseEvents, "an event about node %s was accepted, which is not in the fleet", id)
}
