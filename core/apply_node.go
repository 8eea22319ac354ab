package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

func (c *Core) nodeJoined(e berth.NodeJoined) *berth.Error {
	if err := c.checkNode(&e.Node); err != nil {
		return refusal.In(err, "node")
	}
	if c.nodeByID[e.Node.ID] != nil {
		return refusal.Of(berth.ErrDuplicate, "node.id", fmt.Sprintf("node %q is in the fleet already", e.Node.ID))
	}
	if len(c.nodeByID) >= c.config.Limits.Nodes {
		return refusal.Of(berth.ErrLimit, "node", fmt.Sprintf("the fleet has its %d nodes", c.config.Limits.Nodes))
	}
	if err := c.addNode(e.Node.Clone()); err != nil {
		return err
	}
	if !c.restoring {
		c.welcome(c.nodeByID[e.Node.ID])
	}
	c.freed(c.nodeByID[e.Node.ID])
	c.agenda.grew(c.now)
	return nil
}

func (c *Core) checkNode(n *berth.Node) *berth.Error {
	if err := n.Check(len(c.config.Levels)); err != nil {
		return err
	}
	if err := c.checkTables(n); err != nil {
		return err
	}
	return refusal.In(c.graphs.check(n), "links")
}

func (c *Core) nodeUpdated(e berth.NodeUpdated) *berth.Error {
	if err := c.checkNode(&e.Node); err != nil {
		return refusal.In(err, "node")
	}
	n, err := c.knownNode("node.id", e.Node.ID)
	if err != nil {
		return err
	}
	spec := e.Node.Clone()
	for g := range min(len(spec.GPUs), len(n.spec.GPUs)) {
		spec.GPUs[g].Failed = spec.GPUs[g].Failed || n.spec.GPUs[g].Failed
		if spec.GPUs[g].Table == n.spec.GPUs[g].Table {
			spec.GPUs[g].Mode, spec.GPUs[g].Instances = n.spec.GPUs[g].Mode, n.spec.GPUs[g].Instances
		}
	}
	if !sameShape(&n.spec, &spec) {
		return c.replaceNode(n, spec)
	}
	for g := range e.Node.GPUs {
		if e.Node.GPUs[g].Failed && !n.spec.GPUs[g].Failed && n.holds(g) {
			return refusal.Of(berth.ErrConflict, errtext.Index("node.gpus", g)+".failed", "members hold the GPU: tell of its failure with gpuFailed")
		}
	}
	n.spec = spec
	c.wire(n)
	for g := range spec.GPUs {
		c.settleGPU(n, g)
	}
	c.recount(n, n.capacityNow())
	c.countSound(n)
	must(c.fleet.Resize(n.index, n.spec.Host()))
	c.spoil(n) // what counts on the node counts on it as it was
	c.freed(n)
	c.agenda.grew(c.now)
	c.agenda.lessen()
	return nil
}

// replaceNode changes a node's shape, which is possible while nothing is held.
func (c *Core) replaceNode(n *node, spec berth.Node) *berth.Error {
	if len(n.members) > 0 {
		return refusal.Of(berth.ErrConflict, "node", fmt.Sprintf("%d members hold capacity there, so its domains, pool and GPUs must stay", len(n.members)))
	}
	if i := slices.IndexFunc(n.gpus, func(s gpuState) bool { return s.order != nil }); i >= 0 {
		return refusal.Of(berth.ErrConflict, "node", fmt.Sprintf("order %d about GPU %d is out", n.gpus[i].order.order.ID, i))
	}
	old := *n
	drains := slices.DeleteFunc(slices.Clone(c.drains), func(d *drain) bool { return d.node != n })
	c.removeNode(n)
	if err := c.addNode(spec); err != nil {
		if err := c.addNode(old.spec); err != nil {
			must(err)
		}
		n = c.nodeByID[old.spec.ID]
		c.inherit(n, &old)
		for _, d := range drains {
			d.node = n
			c.attach(d)
		}
		for _, w := range old.windows {
			c.rejoin(w, n)
			w.renumber(old.index, n.index)
		}
		n.trust.Spare, n.trust.StandsIn = old.trust.Spare, old.trust.StandsIn
		c.distrust(n, &old)
		c.restoreCordon(&old)
		if old.Freed {
			c.reopened(n)
		}
		return err // Apply restores what is due
	}
	n = c.nodeByID[spec.ID]
	c.inherit(n, &old)
	for _, w := range old.windows {
		switch {
		case w.countsOnNodes():
			c.endWindow(w) // it counted on the node as it was
		case w.listsNodes():
			c.rejoin(w, n)
		}
	}
	c.dropEmpty(old.windows)
	c.distrust(n, &old)
	c.restoreCordon(&old)
	c.freed(n)
	c.agenda.grew(c.now)
	return nil
}

// inherit keeps what is known of the GPUs of a node that is described anew.
func (c *Core) inherit(n, old *node) {
	for g := range min(len(n.gpus), len(old.gpus)) {
		if n.table == old.table {
			n.gpus[g].gpuPart = old.gpus[g].gpuPart
			c.settleGPU(n, g)
			c.noteLayout(n, g)
		}
	}
}

func (c *Core) restoreCordon(old *node) {
	n := c.nodeByID[old.spec.ID]
	c.cordon(n, old.Cordoned, old.Reason)
	c.drainNode(n, old.Drains, old.DrainBy)
}

func (c *Core) cordon(n *node, cordoned bool, reason string) {
	n.Cordoned, n.Reason = cordoned, reason
	c.fleet.SetSchedulable(n.index, !n.closed())
	c.recount(n, n.capacityNow())
	c.countSound(n)
}

func (c *Core) nodeCordoned(e berth.NodeCordoned) *berth.Error {
	n, err := c.knownNode("node", e.Node)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.cordon(n, true, e.Reason)
	c.drainNode(n, false, 0)
	c.spoil(n)
	c.agenda.lessen()
	return nil
}

func (c *Core) nodeUncordoned(e berth.NodeUncordoned) *berth.Error {
	n, err := c.knownNode("node", e.Node)
	if err != nil {
		return err
	}
	if !n.Cordoned {
		c.vouch(n)
	}
	c.cordon(n, false, "")
	c.drainNode(n, false, 0)
	c.freed(n)
	c.agenda.grew(c.now)
	return nil
}

func (c *Core) nodeDraining(e berth.NodeDraining) *berth.Error {
	n, err := c.knownNode("node", e.Node)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if e.Deadline < 0 {
		return refusal.Of(berth.ErrInvalid, "deadline", fmt.Sprintf("%d is no instant", e.Deadline))
	}
	c.cordon(n, true, e.Reason)
	c.spoil(n)
	c.agenda.lessen()
	c.drainNode(n, true, e.Deadline)
	return nil
}

// drainNode has what runs on a node leave it, by an instant if that is not 0, or not any more.
func (c *Core) drainNode(n *node, drains bool, by berth.Time) {
	c.setDraining(n, drains)
	if n.DrainBy = by; drains {
		c.agenda.relook(c.now)
	}
	for _, at := range slices.Clone(n.members) {
		if drains {
			c.hasten(at.rep)
		} else {
			c.mayStay(at.rep)
		}
	}
}

// setDraining notes whether a node is being drained.
func (c *Core) setDraining(n *node, drains bool) {
	if n.Drains != drains {
		n.Drains = drains
		c.agenda.countDraining(drains)
	}
}

func (c *Core) nodeLost(e berth.NodeLost) *berth.Error {
	n, err := c.knownNode("node", e.Node)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.drainNode(n, false, 0)
	c.fleet.SetSchedulable(n.index, false) // so that nothing is woken for it
	c.spoil(n)
	c.noteLoss(n.spec.ID)
	hit := c.lose(n, func(*member) bool { return true })
	c.removeNode(n)
	c.dropEmpty(n.windows)
	c.agenda.lessen()
	c.settleAll(hit, berth.Cause{Code: berth.CauseHardwareLost, Detail: berth.Detail("node "+string(e.Node)+" lost", e.Reason)})
	return nil
}

func (c *Core) gpuFailed(e berth.GPUFailed) *berth.Error {
	n, err := c.knownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.condemn(n, e.GPU, e.Reason)
	return nil
}

// condemn takes a GPU out of service, and those that hold it with it.
func (c *Core) condemn(n *node, gpu int, reason string) {
	c.spoil(n)
	n.spec.GPUs[gpu].Failed = true
	c.lapse(n, gpu)
	if p := n.gpus[gpu].order; p != nil { // nobody knows how far it came
		c.closeRepartition(p)
		n.gpus[gpu].Unknown = true
	}
	c.settleGPU(n, gpu)
	c.recount(n, n.capacityNow())
	c.countSound(n)
	hit := c.lose(n, func(m *member) bool { return berth.GPUSet(m.hold.GPUs).Has(gpu) })
	c.agenda.lessen()
	c.settleAll(hit, berth.Cause{Code: berth.CauseHardwareLost, Detail: berth.Detail(fmt.Sprintf("GPU %d of node %s failed", gpu, n.spec.ID), reason)})
}

func (c *Core) gpuRepaired(e berth.GPURepaired) *berth.Error {
	n, err := c.knownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	repaired := n.spec.GPUs[e.GPU].Failed
	n.spec.GPUs[e.GPU].Failed = false
	c.settleGPU(n, e.GPU)
	c.recount(n, n.capacityNow())
	c.countSound(n)
	if repaired {
		c.putOnTrial(n, c.now)
	}
	c.freed(n)
	c.agenda.grew(c.now)
	return nil
}

func (c *Core) knownNode(field string, id berth.NodeID) (*node, *berth.Error) {
	if n := c.nodeByID[id]; n != nil {
		return n, nil
	}
	return nil, refusal.Of(berth.ErrUnknown, field, fmt.Sprintf("node %q is not in the fleet", id))
}

func (c *Core) knownGPU(id berth.NodeID, gpu int) (*node, *berth.Error) {
	n, err := c.knownNode("node", id)
	if err == nil && (gpu < 0 || gpu >= len(n.spec.GPUs)) {
		err = refusal.Of(berth.ErrInvalid, "gpu", fmt.Sprintf("index %d is out of range: node %q has %d GPUs", gpu, id, len(n.spec.GPUs)))
	}
	return n, err
}

// holds reports whether a member holds the GPU or a share of it.
func (n *node) holds(gpu int) bool {
	return slices.ContainsFunc(n.members, func(m memberAt) bool { return berth.GPUSet(m.rep.members[m.index].hold.GPUs).Has(gpu) })
}

// lose ends the holds of those members of a node that are meant. It returns the
// replicas it hit, in order, for settleAll.
func (c *Core) lose(n *node, meant func(*member) bool) []*replica {
	var hit []*replica
	for i := len(n.members) - 1; i >= 0; i-- {
		at := n.members[i]
		m := &at.rep.members[at.index]
		if !meant(m) {
			continue
		}
		after := memberAbsent
		if at.rep.State == berth.Binding || at.rep.State == berth.Repairing || m.state == memberBinding {
			after = memberLost
		}
		c.unbook(at.rep, at.index, after)
		hit = append(hit, at.rep)
	}
	slices.SortFunc(hit, compareReplicas)
	return slices.Compact(hit)
}

func (c *Core) settleAll(hit []*replica, cause berth.Cause) {
	for _, rep := range hit {
		if cause.Code == berth.CauseHardwareLost {
			rep.strike()
		}
		c.settle(rep, cause)
		rep.retry.Struck = rep.retry.Struck && rep.State != berth.Running // enough of it is left
	}
}
