package gpus

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/errtext"
)

// RestoreGPUs restores what is known of GPUs beyond their description, and the orders about them.
func (gp *GPUs) RestoreGPUs(list []record.SavedNode) *berth.Error {
	for i := range list {
		n := gp.state.NodeByID[list[i].Node.ID]
		for k := range list[i].GPUs {
			if err := gp.restoreGPU(n, &list[i].GPUs[k]); err != nil {
				return refusal.In(refusal.In(err, errtext.Index("gpus", k)), errtext.Index("nodes", i))
			}
		}
	}
	return nil
}

func (gp *GPUs) restoreGPU(n *record.Node, s *record.SavedGPU) *berth.Error {
	if s.GPU < 0 || s.GPU >= len(n.GPUs) {
		return refusal.Of(berth.ErrInvalid, "gpu", fmt.Sprintf("index %d is out of range", s.GPU))
	}
	if state := n.GPUs[s.GPU].Get(); !state.Nothing() {
		return refusal.Of(berth.ErrDuplicate, "gpu", fmt.Sprintf("%d comes twice", s.GPU))
	}
	if s.ChangedAt < 0 || s.ChangedAt > gp.state.Now {
		return refusal.Of(berth.ErrInvalid, "changedAt", "is in the future")
	}
	n.GPUs[s.GPU].Set(record.GPUState{GPUPart: s.GPUPart})
	n.Altered = true
	if (s.Order != nil) != (s.Before != nil) {
		return refusal.Of(berth.ErrInvalid, "before", "there is no order without it")
	}
	if s.Overdue != (s.Order != nil && s.Unknown) {
		return refusal.Of(berth.ErrInvalid, "overdue", "goes with an order about a GPU of which it is not known how it is divided")
	}
	n.GPUs[s.GPU].Note().Restore(s, nil)
	if s.Order != nil {
		if err := gp.restoreRepartition(n, s); err != nil {
			return err
		}
	}
	gp.books.SettleGPU(n, s.GPU)
	gp.NoteLayout(n, s.GPU)
	return nil
}

// restoreRepartition restores an order about a GPU. The GPU has the layout that an order which is
// out leads to. One that is overdue is not out, and the layout may be another since: that of what
// is held, where a policy has ended that instances come and go with their members.
func (gp *GPUs) restoreRepartition(n *record.Node, s *record.SavedGPU) *berth.Error {
	o, after := s.Order, n.Partitioning(s.GPU)
	before := record.Partitioning{Mode: s.Before.Mode, Instances: s.Before.Instances}
	if err := n.Table.CheckPartitioning(before.Mode, before.Instances); err != nil {
		return refusal.In(err, "before")
	}
	switch {
	case before.Mode == berth.GPUModeUnset:
		return refusal.Of(berth.ErrInvalid, "before.mode", "is not set")
	case o.ID == 0 || o.ID > gp.state.LastOrder || gp.Repartitions[o.ID] != nil:
		return refusal.Of(berth.ErrInvalid, "order.id", fmt.Sprintf("%d was never given, or comes twice", o.ID))
	case o.Node != n.Spec.ID || o.GPU != s.GPU || o.Mode != after.Mode:
		return refusal.Of(berth.ErrInvalid, "order.node", "it is for another GPU or mode")
	case !s.Overdue && n.Geometry.Kind != berth.GeometryPerClaim && (!slices.Equal(o.Destroy, without(before.Instances, after.Instances)) ||
		!slices.Equal(o.Create, without(after.Instances, before.Instances))):
		return refusal.Of(berth.ErrInvalid, "order.create", "does not lead from the layout before to the one after")
	case n.Spec.GPUs[s.GPU].Failed:
		return refusal.Of(berth.ErrInvalid, "order.gpu", "has failed")
	}
	p := &record.Repartition{Order: *o, Node: n, Before: before}
	n.GPUs[s.GPU].Note().Restore(s, p)
	if !s.Overdue {
		gp.openRepartition(p)
	}
	return nil
}

// RestoreGPUHolds restores the GPU holds. GPUs and replicas have to be known.
func (gp *GPUs) RestoreGPUHolds(noted []state.Noted) *berth.Error {
	return gp.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if s.GPUHold == nil {
			return nil
		}
		return refusal.In(gp.restoreGPUHold(rep, s.GPUHold), "gpuHold")
	})
}

// restoreGPUHold keeps a GPU for a replica again.
func (gp *GPUs) restoreGPUHold(rep *record.Replica, s *record.SavedGPUHold) *berth.Error {
	n, err := gp.KnownGPU(s.Node, s.GPU)
	if err != nil {
		return err
	}
	if rep.Entries == nil || rep.State != berth.ReplicaPending || gp.Untouchable(n, s.GPU) {
		return refusal.Of(berth.ErrInvalid, "", "is for a replica that does not wait, or of a GPU that cannot be held")
	}
	gp.backlog.Attach(&record.GPUHold{Rep: rep, Node: n, GPUHoldPart: s.GPUHoldPart})
	return nil
}

// RestoreLooked marks the replicas for which nothing has changed since GPUs were looked for,
// after all that Restore itself has changed.
func (gp *GPUs) RestoreLooked(noted []state.Noted) *berth.Error {
	return gp.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if s.Looked {
			rep.Look.Note().Turn = gp.agenda.ReshapeTurn
		}
		return nil
	})
}

// Untouchable reports whether a GPU cannot be looked at as another now.
func (gp *GPUs) Untouchable(n *record.Node, gpu int) bool {
	s := n.GPUs[gpu].Get()
	return n.Spec.GPUs[gpu].Failed || s.Unknown() || s.Order() != nil || s.GPUHold != nil
}
