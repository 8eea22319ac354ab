package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/errtext"
)

func (c *Core) nodeJoined(e berth.NodeJoined) *berth.Error {
	if err := c.checkNode(&e.Node); err != nil {
		return refusal.In(err, "node")
	}
	if n := c.state.NodeByID[e.Node.ID]; n != nil {
		is, spec := n.Spec.Full(), asKnown(n, &e.Node)
		if again := spec.Full(); !c.books.Restoring && values.SameNode(&is, &again) {
			return nil // its agent registers again
		}
		return refusal.Of(berth.ErrDuplicate, "node.id", fmt.Sprintf("node %q is in the fleet already, and described otherwise: tell nodeUpdated", errtext.Short(e.Node.ID)))
	}
	if len(c.state.NodeByID) >= c.state.Config.Limits.Nodes {
		return refusal.Of(berth.ErrLimit, "node", fmt.Sprintf("the fleet has its %d nodes, see Limits.Nodes", c.state.Config.Limits.Nodes))
	}
	if err := c.addNode(spec.NodeOf(&e.Node), nil); err != nil {
		return err
	}
	if !c.books.Restoring {
		c.upkeep.Welcome(c.state.NodeByID[e.Node.ID])
	}
	c.state.Freed(c.state.NodeByID[e.Node.ID])
	c.agenda.Grew(c.state.Now)
	return nil
}

func (c *Core) checkNode(n *berth.Node) *berth.Error {
	if err := spec.CheckNode(n, len(c.state.Config.Levels), c.state.Config.Resources); err != nil {
		return err
	}
	if err := c.catalogue.CheckTables(n); err != nil {
		return err
	}
	return refusal.In(c.catalogue.Graphs.Check(n), "links")
}

func (c *Core) nodeUpdated(e berth.NodeUpdated) *berth.Error {
	if err := c.checkNode(&e.Node); err != nil {
		return refusal.In(err, "node")
	}
	n, err := c.backlog.KnownNode("node.id", e.Node.ID)
	if err != nil {
		return err
	}
	spec := asKnown(n, &e.Node)
	if !hardware.SameShape(&n.Spec, &spec) {
		return c.replaceNode(n, spec)
	}
	for g := range e.Node.GPUs {
		if e.Node.GPUs[g].Failed && !n.Spec.GPUs[g].Failed && n.Holds(g) {
			return refusal.Of(berth.ErrConflict, errtext.Index("node.gpus", g)+".failed", "members hold the GPU: tell of its failure with gpuFailed")
		}
	}
	key := record.KeyOf(&spec, n.Reservations, n.LostMilli)
	if err := c.checkKinds(key, n); err != nil {
		return err
	}
	n.Spec, n.Declared = spec, c.state.Declared(spec.Resources)
	if key != c.state.Classes.List[n.Class].Key { // by its taints, or its NICs
		c.books.Reclass(n)
	}
	c.wire(n)
	for g := range spec.GPUs {
		c.books.SettleGPU(n, g)
	}
	c.books.Recount(n, n.CapacityNow())
	c.upkeep.CountSound(n)
	c.books.Resize(n)
	c.backlog.EndGangReservationsOn(n) // what counts on the node counts on it as it was
	c.state.Freed(n)
	c.agenda.Grew(c.state.Now)
	c.agenda.Lessen()
	return nil
}

// asKnown is a description of a node with what the core knows better: the failures, the modes
// and the instances of its GPUs.
func asKnown(n *record.Node, again *berth.Node) spec.Node {
	spec := spec.NodeOf(again)
	for g := range min(len(spec.GPUs), len(n.Spec.GPUs)) {
		spec.GPUs[g].Failed = spec.GPUs[g].Failed || n.Spec.GPUs[g].Failed
		if spec.MIGTable == n.Spec.MIGTable {
			spec.GPUs[g].Mode, spec.GPUs[g].Instances = n.Spec.GPUs[g].Mode, n.Spec.GPUs[g].Instances
		}
	}
	return spec
}

// replaceNode changes a node's shape, which is possible while nothing is held.
func (c *Core) replaceNode(n *record.Node, spec spec.Node) *berth.Error {
	if len(n.Members) > 0 {
		return refusal.Of(berth.ErrConflict, "node", fmt.Sprintf("%d members hold capacity there, so its domains, pool and GPUs must stay", len(n.Members)))
	}
	if i := slices.IndexFunc(n.GPUs, func(s values.Rare[record.GPUState]) bool { return s.Get().Knowledge == record.GPUChanging }); i >= 0 {
		return refusal.Of(berth.ErrConflict, "node", fmt.Sprintf("order %d about GPU %d is out", n.GPUs[i].Get().By.Order.ID, i))
	}
	old := *n
	if err := c.addNode(spec, n); err != nil {
		return err
	}
	n = c.state.NodeByID[spec.ID]
	c.inherit(n, &old)
	c.upkeep.ForgetFabric(old.Spec.Domains)
	for _, res := range old.Reservations {
		switch {
		case res.CountsOnNodes():
			c.backlog.EndReservation(res) // it counted on the node as it was
		case res.ListsNodes():
			c.books.Rejoin(res, n)
		}
	}
	c.backlog.DropEmpty(old.Reservations)
	c.upkeep.Distrust(n, &old)
	c.restoreCordon(&old)
	c.state.Freed(n)
	c.agenda.Grew(c.state.Now)
	return nil
}

// inherit keeps what is known of the GPUs of a node that is described anew.
func (c *Core) inherit(n, old *record.Node) {
	for g := range min(len(n.GPUs), len(old.GPUs)) {
		if n.Table == old.Table {
			s, was := n.GPUs[g].Get(), old.GPUs[g].Get()
			s.Inherit(&was)
			n.GPUs[g].Set(s)
			n.Altered = n.Altered || old.Altered
			c.books.SettleGPU(n, g)
			c.gpus.NoteLayout(n, g)
		}
	}
}

func (c *Core) restoreCordon(old *record.Node) {
	n := c.state.NodeByID[old.Spec.ID]
	c.upkeep.Cordon(n, old.Cordoned, old.Reason)
	c.drainNode(n, old.Draining, old.DrainBy)
}

func (c *Core) nodeCordoned(e berth.NodeCordoned) *berth.Error {
	n, err := c.backlog.KnownNode("node", e.Node)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.upkeep.Cordon(n, true, e.Reason)
	c.drainNode(n, false, 0)
	c.life.SpareStandIns(n)
	c.backlog.EndGangReservationsOn(n)
	c.agenda.Lessen()
	return nil
}

func (c *Core) nodeUncordoned(e berth.NodeUncordoned) *berth.Error {
	n, err := c.backlog.KnownNode("node", e.Node)
	if err != nil {
		return err
	}
	if !n.Cordoned {
		c.upkeep.Vouch(n)
	}
	c.upkeep.Cordon(n, false, "")
	c.drainNode(n, false, 0)
	c.life.SpareStandIns(n)
	c.state.Freed(n)
	c.agenda.Grew(c.state.Now)
	return nil
}

func (c *Core) nodeDraining(e berth.NodeDraining) *berth.Error {
	n, err := c.backlog.KnownNode("node", e.Node)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if e.Deadline < 0 {
		return refusal.Of(berth.ErrInvalid, "deadline", fmt.Sprintf("%d is no instant", e.Deadline))
	}
	c.upkeep.Cordon(n, true, e.Reason)
	c.backlog.EndGangReservationsOn(n)
	c.agenda.Lessen()
	c.drainNode(n, true, e.Deadline)
	return nil
}

// drainNode has what runs on a node leave it, by an instant if that is not 0, or not any more.
// What has to leave another node as well may have more time then.
func (c *Core) drainNode(n *record.Node, drains bool, by berth.Time) {
	changes := drains || n.Draining
	c.upkeep.SetDraining(n, drains)
	if n.DrainBy = by; changes {
		c.agenda.Relook(c.state.Now)
	}
	c.life.DrainAnew(n)
}

func (c *Core) nodeLost(e berth.NodeLost) *berth.Error {
	n, err := c.backlog.KnownNode("node", e.Node)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.drainNode(n, false, 0)
	c.books.SetSchedulable(n, false) // so that nothing is woken for it
	c.backlog.EndGangReservationsOn(n)
	c.state.NoteLoss(n.Spec.ID)
	cause := berth.Cause{Code: berth.CauseHardwareLost, Detail: values.Detail("node "+string(e.Node)+" lost", e.Reason)}
	hit := c.books.Lose(n, cause, func(*record.Member) bool { return true })
	c.gpus.RemoveNode(n)
	c.upkeep.ForgetFabric(n.Spec.Domains)
	c.backlog.DropEmpty(n.Reservations)
	c.agenda.Lessen()
	c.life.LosePlaces(n.Spec.ID, 0)
	c.life.SettleAll(hit, cause)
	return nil
}

func (c *Core) gpuFailed(e berth.GPUFailed) *berth.Error {
	n, err := c.gpus.KnownGPU(e.Node, e.GPU)
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
func (c *Core) condemn(n *record.Node, gpu int, reason string) {
	c.backlog.EndGangReservationsOn(n)
	n.Spec.GPUs[gpu].Failed = true
	c.backlog.Lapse(n, gpu)
	c.gpus.Abandon(n, gpu)
	c.books.SettleGPU(n, gpu)
	c.books.Recount(n, n.CapacityNow())
	c.upkeep.CountSound(n)
	cause := berth.Cause{Code: berth.CauseHardwareLost, Detail: values.Detail(fmt.Sprintf("GPU %d of node %s failed", gpu, n.Spec.ID), reason)}
	hit := c.books.Lose(n, cause, func(m *record.Member) bool { return berth.GPUSet(m.Hold.GPUs).Has(gpu) })
	c.agenda.Lessen()
	c.life.LosePlaces(n.Spec.ID, berth.GPUSetOf(gpu))
	c.life.SettleAll(hit, cause)
}

func (c *Core) gpuRepaired(e berth.GPURepaired) *berth.Error {
	n, err := c.gpus.KnownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	repaired := n.Spec.GPUs[e.GPU].Failed
	n.Spec.GPUs[e.GPU].Failed = false
	c.books.SettleGPU(n, e.GPU)
	c.books.Recount(n, n.CapacityNow())
	c.upkeep.CountSound(n)
	if repaired {
		c.upkeep.BeginBurnIn(n, c.state.Now)
	}
	c.state.Freed(n)
	c.agenda.Grew(c.state.Now)
	return nil
}

func (c *Core) reservationSet(e berth.ReservationSet) *berth.Error {
	before := c.backlog.Advance(e.Reservation.ID)
	if err := c.backlog.ReservationSet(e); err != nil {
		return err
	}
	if before != nil { // gangs may stay where it was, or have less time
		c.life.DrainsAnew(before)
	}
	c.life.DrainsAnew(c.backlog.Advance(e.Reservation.ID))
	return nil
}

func (c *Core) reservationRemoved(e berth.ReservationRemoved) *berth.Error {
	before := c.backlog.Advance(e.Reservation)
	if err := c.backlog.ReservationRemoved(e); err != nil {
		return err
	}
	c.life.DrainsAnew(before)
	return nil
}
