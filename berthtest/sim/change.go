package sim

import (
	"errors"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// This file is what the executor does about Repartitions, and the state of the GPUs that
// comes of it.

// A change is a Repartition that was ordered.
type change struct {
	order berth.Repartition
	// at is when it is carried out. Later it is done, or failed.
	at           berth.Time
	done, failed bool
	// told: the core accepted its report.
	told bool
}

// needs reports whether a member cannot be started unless a change is done: it is on that
// GPU, and either the mode changes or its instance is created.
func (ch *change) needs(at *site) bool {
	o := &ch.order
	return at.node == o.Node && at.gpus.Has(o.GPU) &&
		(at.instance == mig.Placement{} || slices.Contains(o.Create, at.instance) || len(o.Create)+len(o.Destroy) == 0)
}

// change takes a Repartition: it is carried out after a while, and is overdue if the core
// does not hear of it.
func (s *Simulation) change(o berth.Repartition) {
	ch := &change{order: o, at: s.now.Add(s.options.RepartitionDelay)}
	s.executor.changes[o.ID] = ch
	s.queue.push(occurrence{at: ch.at, what: executed, action: o})
	s.queue.push(occurrence{at: o.Deadline, what: overdue, action: o})
}

// executeChange is the end of a Repartition: it is done or fails, and is reported.
func (s *Simulation) executeChange(o berth.Repartition) error {
	ch := s.executor.changes[o.ID]
	if ch == nil || o.Deadline <= s.now {
		return nil
	}
	ch.failed = s.fault("RepartitionFail", s.options.Faults.RepartitionFail)
	ch.done = !ch.failed
	e := berth.OrderReported{Order: o.ID, Outcome: berth.OutcomeDone}
	if ch.failed {
		e.Outcome, e.Reason = berth.OutcomeFailed, "the driver refused"
		s.executor.undo(ch)
	} else {
		s.hardware.change(&o)
	}
	tell := func(at berth.Time, e berth.Event) { s.queue.push(occurrence{at: at, what: told, event: e}) }
	switch f := &s.options.Faults; {
	case s.fault("ReportLost", f.ReportLost):
		return nil
	case s.fault("ReportLate", f.ReportLate):
		tell(s.now.Add(s.around(o.Deadline.Sub(s.now))), e)
		return nil
	case ch.done && s.fault("ReportWrong", f.ReportWrong):
		tell(s.now.Add(s.around(o.Deadline.Sub(s.now))/4), berth.OrderReported{Order: o.ID, Outcome: berth.OutcomeFailed, Reason: "lost touch"})
		tell(s.now.Add(s.around(o.Deadline.Sub(s.now))), e)
		return nil
	case s.fault("ReportDouble", f.ReportDouble):
		tell(s.now.Add(s.around(10*berth.Second)), e)
	}
	return s.arrive(Arrival{At: s.now, Event: e})
}

// waitsFor is when the last change that a Bind comes after is carried out.
func (x *executor) waitsFor(b *berth.Bind) (at berth.Time) {
	for _, id := range b.After {
		if ch := x.changes[id]; ch != nil && !ch.done && !ch.failed {
			at = max(at, ch.at)
		}
	}
	return at
}

// undo: members that were to be started on what did not come about are not.
func (x *executor) undo(ch *change) {
	ch.done, ch.failed = false, true
	for _, g := range x.placed {
		for flat := range g.where {
			if at := &g.where[flat]; !at.confirmed && ch.needs(at) {
				g.stop(flat)
			}
		}
	}
}

// runsOn says whether members that are known to run are on a GPU.
func (x *executor) runsOn(node berth.NodeID, gpu int) bool {
	for _, g := range x.placed {
		for flat := range g.where {
			if at := &g.where[flat]; at.confirmed && at.node == node && at.gpus.Has(gpu) {
				return true
			}
		}
	}
	return false
}

// changeTold is the executor's part of a report about a Repartition that was accepted.
func (s *Simulation) changeTold(e berth.OrderReported) {
	ch := s.executor.changes[e.Order]
	switch {
	case ch == nil:
	case e.Outcome == berth.OutcomeFailed:
		ch.told = true
		s.executor.undo(ch)
	default:
		delete(s.executor.changes, e.Order)
	}
}

// changeOverdue: a core has heard nothing of a change. If it was carried out, members come up on
// it all the same, and the reports of their Binds tell; if not, they cannot be started. Some time
// later somebody looks how the GPU is.
func (s *Simulation) changeOverdue(o berth.Repartition) {
	ch := s.executor.changes[o.ID]
	if ch == nil || ch.told {
		return
	}
	delete(s.executor.changes, o.ID)
	if !ch.done {
		s.executor.undo(ch)
	}
	s.lookAt(o.Node, o.GPU)
}

// lookAt has somebody tell how a GPU is, after a while.
func (s *Simulation) lookAt(node berth.NodeID, gpu int) {
	s.queue.push(occurrence{at: s.now.Add(s.around(s.options.Faults.Outage)), what: looked, node: node, gpu: gpu})
}

// look tells how a GPU is. Where members hold it that may be coming up otherwise, somebody looks
// again until they are up: a world in which they stay for good ends all the same.
func (s *Simulation) look(node berth.NodeID, gpu int) error {
	i, known := s.hardware.byID[node]
	if !known || gpu >= len(s.hardware.nodes[i].GPUs) {
		return nil
	}
	g := &s.hardware.nodes[i].GPUs[gpu]
	err := s.arrive(Arrival{At: s.now, Event: berth.GPUPartitioned{Node: node, GPU: gpu, Mode: g.Mode, Instances: g.Instances}})
	if errors.Is(s.refusal, berth.ErrConflict) && !s.executor.runsOn(node, gpu) {
		s.lookAt(node, gpu)
	}
	return err
}

// loseChanges ends the changes about GPUs that are lost. GPUs that stay with their nodes
// have to be looked at when they are back.
func (s *Simulation) loseChanges(node berth.NodeID, gpus berth.GPUSet, whole bool) {
	for id, ch := range s.executor.changes {
		if ch.order.Node == node && (whole || gpus.Has(ch.order.GPU)) {
			delete(s.executor.changes, id)
			if !whole {
				s.hardware.unsure[place{node, ch.order.GPU}] = true
			}
		}
	}
}

// A place is a GPU of a node.
type place struct {
	node berth.NodeID
	gpu  int
}

// change makes a GPU what was ordered.
func (h *hardware) change(o *berth.Repartition) {
	i, known := h.byID[o.Node]
	if !known || o.GPU >= len(h.nodes[i].GPUs) {
		return
	}
	g := &h.nodes[i].GPUs[o.GPU]
	g.Mode = o.Mode
	g.Instances = slices.DeleteFunc(slices.Clone(g.Instances), func(p mig.Placement) bool { return slices.Contains(o.Destroy, p) })
	g.Instances = append(g.Instances, o.Create...)
	if g.Mode != berth.GPUModeMIG {
		g.Instances = nil
	}
}

// partition takes over how a GPU is.
func (h *hardware) partition(e berth.GPUPartitioned) {
	if i, known := h.byID[e.Node]; known {
		g := &h.nodes[i].GPUs[e.GPU]
		g.Mode, g.Instances = e.Mode, slices.Clone(e.Instances)
	}
}
