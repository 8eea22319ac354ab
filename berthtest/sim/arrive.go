package sim

import (
	"slices"

	"github.com/berth-sched/berth"
)

// arrive tells an event that comes from outside the executor, and keeps what the
// executor and the hardware have to know of it.
func (s *Simulation) arrive(a Arrival) error {
	condemned := s.condemned(a.Event)
	accepted, err := s.apply(a.Event)
	if err != nil || !accepted {
		return err
	}
	x := &s.executor
	switch e := a.Event.(type) {
	case berth.JobSubmitted:
		x.jobs[e.Job.ID] = newJob(&e.Job, a.Runtime)
	case berth.JobObserved:
		x.jobs[e.Job.ID] = newJob(&e.Job, a.Runtime)
		s.observe(&e)
	case berth.JobFinished:
		x.endJob(e.Job)
	case berth.JobCancelled:
		if j := x.jobs[e.Job]; j != nil {
			j.cancelled = true
			x.endCancelled(j)
		}
	case berth.NodeJoined:
		s.hardware.join(e.Node)
	case berth.NodeUpdated:
		s.hardware.update(e.Node)
	case berth.NodeLost:
		s.hardware.lose(e.Node)
		s.lose(e.Node, 0, true)
	case berth.GPUFailed:
		s.lose(e.Node, berth.GPUSetOf(e.GPU), false)
	case berth.XidReported:
		if condemned {
			s.lose(e.Node, berth.GPUSetOf(e.GPU), false)
		}
	case berth.GPURepaired:
		if at := (place{e.Node, e.GPU}); s.hardware.unsure[at] {
			delete(s.hardware.unsure, at)
			s.lookAt(e.Node, e.GPU)
		}
	case berth.GPUPartitioned:
		s.hardware.partition(e)
	case berth.OrderReported:
		s.changeTold(e)
	}
	return nil
}

// condemned reports whether an event is an Xid after which the GPU takes no work: the executor
// stops what runs on it. Which nodes are in burn-in the core says.
func (s *Simulation) condemned(event berth.Event) bool {
	e, isXid := event.(berth.XidReported)
	if !isXid {
		return false
	}
	switch berth.LookupXid(e.Xid).Effect {
	case berth.XidCondemns:
		return true
	case berth.XidSuspect:
		return slices.ContainsFunc(s.scheduler.Report().Health, func(h berth.HealthReport) bool { return h.Node == e.Node && h.BurnInUntil != 0 })
	}
	return false
}

// observe takes over what runs already.
func (s *Simulation) observe(e *berth.JobObserved) {
	for i := range e.Running {
		r := &e.Running[i]
		s.executor.jobs[e.Job.ID].become(r.Alternative)
		g := s.gang(berth.OrderHeader{Job: e.Job.ID, Replica: r.Replica, Incarnation: r.Incarnation})
		for k := range r.Members {
			s.executor.start(g, &r.Members[k], true)
		}
		s.run(g)
	}
}

// lose ends the changes of lost hardware, which is the given GPUs of a node or all of it, and stops
// what runs there.
func (s *Simulation) lose(node berth.NodeID, gpus berth.GPUSet, whole bool) {
	s.loseChanges(node, gpus, whole)
	for _, g := range s.executor.placed {
		for flat := range g.where {
			if at := &g.where[flat]; at.node == node && (whole || at.gpus&gpus != 0) {
				g.stop(flat)
			}
		}
		if !g.enough() {
			s.stopped(g)
		}
	}
}
