package core

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// A repartition is an order about a GPU that is out. Members may be bound on what it
// will be: their Bind says that it comes after.
type repartition struct {
	order  berth.Repartition
	node   *node
	before partitioning
}

// needs reports whether a member needs what was ordered: it could not stand on the GPU
// as it was.
func (p *repartition) needs(h *gang.Hold) bool {
	if !berth.GPUSet(h.GPUs).Has(p.order.GPU) {
		return false
	}
	return p.before.mode != p.order.Mode || slices.Contains(p.order.Create, h.Instance)
}

// touchesMIG reports whether the change costs more than a word to a driver.
func (p *repartition) touchesMIG() bool {
	return p.before.mode == berth.ModeMIG || p.order.Mode == berth.ModeMIG
}

// prepare gives the orders without which the members of a Bind cannot be started, and
// lists all that are out.
func (c *Core) prepare(rep *replica) []berth.ActionID {
	var after []berth.ActionID
	for flat := range rep.members {
		m := &rep.members[flat]
		if m.state != memberBinding {
			continue
		}
		mode := c.modeFor(&m.hold)
		for rest := m.hold.GPUs; rest != 0; rest &= rest - 1 {
			gpu := bits.TrailingZeros64(rest)
			s := &m.node.gpus[gpu]
			switch {
			case s.staged != nil:
				m.node.spec.GPUs[gpu].Mode = mode // of several for which it could be
				c.repartition(rep, m.node, gpu, berth.Cause{Code: berth.CauseGeometry})
			case m.node.spec.GPUs[gpu].Mode != mode:
				c.stage(m.node, gpu, partitioning{mode: mode})
				c.repartition(rep, m.node, gpu, berth.Cause{Code: berth.CauseMode})
			}
			if s.order != nil {
				after = append(after, s.order.order.ID)
			}
		}
		c.gave(m.node, &m.hold)
	}
	slices.Sort(after)
	return slices.Compact(after)
}

// stage has the core look at a GPU as it could be, until it is ordered so, or until
// unstage.
func (c *Core) stage(n *node, gpu int, to partitioning) {
	was := n.partitioning(gpu)
	n.gpus[gpu].staged = &was
	n.setPartitioning(gpu, to)
	if was.mode == berth.ModeMIG || to.mode == berth.ModeMIG {
		c.divide(n, gpu)
	}
}

func (c *Core) unstage(n *node, gpu int) {
	was := n.gpus[gpu].staged
	n.gpus[gpu].staged = nil
	n.setPartitioning(gpu, *was)
	c.divide(n, gpu)
}

// repartition orders a GPU to become what is staged, for a replica or for nobody.
func (c *Core) repartition(rep *replica, n *node, gpu int, cause berth.Cause) {
	s := &n.gpus[gpu]
	before, after := *s.staged, n.partitioning(gpu)
	s.staged = nil
	p := &repartition{node: n, before: before, order: berth.Repartition{
		Order: c.order(rep, c.config.Policy.RepartitionTimeout, cause),
		Node:  n.spec.ID, GPU: gpu, Mode: after.mode,
		Destroy: without(before.instances, after.instances), Create: without(after.instances, before.instances),
	}}
	c.openRepartition(p)
	c.emit(p.order)
	c.totals.Repartitions++
	if p.touchesMIG() {
		s.ChangedAt = max(c.now, 1) // 0 is none
		c.pool(n.spec.Pool).note(c.now)
		c.noteLayout(n, gpu)
	}
}

// without lists what is in one list and not in another.
func without(list, other []mig.Placement) []mig.Placement {
	var rest []mig.Placement
	for _, p := range list {
		if !slices.Contains(other, p) {
			rest = append(rest, p)
		}
	}
	return rest
}

func (c *Core) openRepartition(p *repartition) {
	c.repartitions[p.order.ID] = p
	p.node.gpus[p.order.GPU].order = p
	c.setTimer(timer{at: p.order.Deadline, kind: timerRepartition, repartition: p})
}

// closeRepartition ends an order about a GPU, whatever came of it.
func (c *Core) closeRepartition(p *repartition) {
	delete(c.repartitions, p.order.ID)
	p.node.gpus[p.order.GPU].order = nil
	c.stopTimer(timer{at: p.order.Deadline, kind: timerRepartition, repartition: p})
}

// repartitionReported is the end of an order about a GPU.
func (c *Core) repartitionReported(p *repartition, e *berth.ActionReported) *berth.Error {
	switch {
	case len(e.Members) > 0:
		return refusal.Of(berth.ErrInvalid, "members", "the order is about a GPU, not about members")
	case e.Outcome == berth.Partial:
		return refusal.Of(berth.ErrInvalid, "outcome", "a GPU is as it was ordered or as it was; tell anything else with gpuPartitioned after failed")
	case e.Outcome > berth.Partial:
		return refusal.Of(berth.ErrInvalid, "outcome", fmt.Sprintf("%d is out of range", e.Outcome))
	case e.Outcome == berth.Failed && c.provenDone(p):
		return refusal.Of(berth.ErrConflict, "outcome", "a member runs on what was ordered")
	}
	c.closeRepartition(p)
	if e.Outcome == berth.Failed {
		c.revert(p, berth.Detail(fmt.Sprintf("GPU %d of node %s was not repartitioned", p.order.GPU, p.order.Node), e.Reason))
	}
	c.settleGPU(p.node, p.order.GPU)
	c.freed(p.node)
	return nil
}

// provenDone reports whether a member runs, or ran and is being stopped, that needs what
// was ordered.
func (c *Core) provenDone(p *repartition) bool {
	return slices.ContainsFunc(p.node.members, func(at memberAt) bool {
		m := &at.rep.members[at.index]
		return m.Ran && p.needs(&m.hold)
	})
}

// expireRepartition handles an order about a GPU that was not reported by its deadline.
func (c *Core) expireRepartition(p *repartition) {
	done := c.provenDone(p)
	c.closeRepartition(p)
	c.totals.Expired++
	if !done {
		p.node.gpus[p.order.GPU].Unknown = true
		c.revert(p, fmt.Sprintf("order %d about GPU %d of node %s was not reported", p.order.ID, p.order.GPU, p.order.Node))
	}
	c.settleGPU(p.node, p.order.GPU)
	c.freed(p.node)
}

// revert makes a GPU what it was before an order that is closed. Members that need what
// was ordered hold nothing any more: what they hold does not exist.
func (c *Core) revert(p *repartition, why string) {
	n, gpu := p.node, p.order.GPU
	c.spoil(n)
	hit := c.lose(n, func(m *member) bool { return p.needs(&m.hold) })
	n.setPartitioning(gpu, p.before)
	c.divide(n, gpu)
	c.noteLayout(n, gpu)
	c.agenda.lessen()
	for _, rep := range hit {
		rep.shun(n.spec.ID)
	}
	c.settleAll(hit, berth.Cause{Code: berth.CauseRepartitionFailed, Detail: why})
}

// dropRepartitions ends the orders about the GPUs of a node that goes.
func (c *Core) dropRepartitions(n *node) {
	for g := range n.gpus {
		if p := n.gpus[g].order; p != nil {
			c.closeRepartition(p)
		}
	}
}
