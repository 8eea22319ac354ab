package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// A savedGPU is what the description of a GPU does not have.
type savedGPU struct {
	GPU    int                `json:"gpu"`
	Order  *berth.Repartition `json:"order,omitempty"`
	Before *savedMode         `json:"before,omitempty"` // the order
	gpuPart
}

type savedMode struct {
	Mode      berth.GPUMode   `json:"mode"`
	Instances []mig.Placement `json:"instances,omitempty"`
}

// A savedDrain is the GPU that is kept for a replica.
type savedDrain struct {
	Node berth.NodeID `json:"node"`
	drainPart
}

func (n *node) saveGPUs() []savedGPU {
	var list []savedGPU
	for g := range n.gpus {
		s := &n.gpus[g]
		saved := savedGPU{GPU: g, gpuPart: s.gpuPart}
		if s.order != nil {
			saved.Order = &s.order.order
			saved.Before = &savedMode{s.order.before.mode, s.order.before.instances}
		}
		if saved != (savedGPU{GPU: g}) {
			list = append(list, saved)
		}
	}
	return list
}

func (c *Core) restoreGPUs(list []savedNode) *berth.Error {
	for i := range list {
		n := c.nodeByID[list[i].Node.ID]
		for k := range list[i].GPUs {
			if err := c.restoreGPU(n, &list[i].GPUs[k]); err != nil {
				return refusal.In(refusal.In(err, errtext.Index("gpus", k)), errtext.Index("nodes", i))
			}
		}
	}
	return nil
}

func (c *Core) restoreGPU(n *node, s *savedGPU) *berth.Error {
	if s.GPU < 0 || s.GPU >= len(n.gpus) {
		return refusal.Of(berth.ErrInvalid, "gpu", fmt.Sprintf("index %d is out of range", s.GPU))
	}
	state := &n.gpus[s.GPU]
	if *state != (gpuState{}) {
		return refusal.Of(berth.ErrDuplicate, "gpu", fmt.Sprintf("%d comes twice", s.GPU))
	}
	if s.ChangedAt < 0 || s.ChangedAt > c.now {
		return refusal.Of(berth.ErrInvalid, "changedAt", "is yet to come")
	}
	state.gpuPart = s.gpuPart
	if (s.Order != nil) != (s.Before != nil) {
		return refusal.Of(berth.ErrInvalid, "before", "there is no order without it")
	}
	if s.Order != nil {
		if err := c.restoreRepartition(n, s); err != nil {
			return refusal.In(err, "order")
		}
	}
	c.settleGPU(n, s.GPU)
	c.noteLayout(n, s.GPU)
	return nil
}

func (c *Core) restoreRepartition(n *node, s *savedGPU) *berth.Error {
	o, after := s.Order, n.partitioning(s.GPU)
	before := partitioning{s.Before.Mode, s.Before.Instances}
	if err := n.table.checkPartitioning(before.mode, before.instances); err != nil {
		return err
	}
	switch {
	case o.ID == 0 || o.ID > c.lastAction || c.repartitions[o.ID] != nil:
		return refusal.Of(berth.ErrInvalid, "id", fmt.Sprintf("%d was never given, or comes twice", o.ID))
	case o.Node != n.spec.ID || o.GPU != s.GPU || o.Mode != after.mode:
		return refusal.Of(berth.ErrInvalid, "node", "it is about another GPU or mode")
	case n.geometry.Kind != berth.PerClaim && (!slices.Equal(o.Destroy, without(before.instances, after.instances)) ||
		!slices.Equal(o.Create, without(after.instances, before.instances))):
		return refusal.Of(berth.ErrInvalid, "create", "does not lead from the layout before to the one after")
	case n.spec.GPUs[s.GPU].Failed:
		return refusal.Of(berth.ErrInvalid, "gpu", "has failed")
	}
	c.openRepartition(&repartition{order: *o, node: n, before: before})
	return nil
}

func (rep *replica) saveDrain() *savedDrain {
	if rep.drain == nil {
		return nil
	}
	return &savedDrain{rep.drain.node.spec.ID, rep.drain.drainPart}
}

func (c *Core) restoreDrains(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if s.Drain == nil {
			return nil
		}
		return refusal.In(c.restoreDrain(rep, s.Drain), "drain")
	})
}

// restoreDrain keeps a GPU for a replica again.
func (c *Core) restoreDrain(rep *replica, s *savedDrain) *berth.Error {
	n, err := c.knownGPU(s.Node, s.GPU)
	if err != nil {
		return err
	}
	if rep.entries == nil || rep.State != berth.Pending || c.untouchable(n, s.GPU) {
		return refusal.Of(berth.ErrInvalid, "drain", "is for a replica that does not wait, or of a GPU that cannot be kept")
	}
	c.attach(&drain{rep, n, s.drainPart})
	return nil
}

// restoreLooked marks the replicas for which nothing has changed since GPUs were looked for,
// after all that Restore itself has changed.
func (c *Core) restoreLooked(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if s.Looked {
			rep.look.Turn = c.agenda.reshapeTurn
		}
		return nil
	})
}
