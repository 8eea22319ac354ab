package sim

import "github.com/berth-sched/berth"

// This file is what the executor does about checkpoints.

// ask has a gang that runs write a checkpoint: that takes a while.
func (s *Simulation) ask(r berth.RequestCheckpoint) {
	g := s.executor.find(r.OrderHeader)
	if g == nil {
		return // it ended, and the core will hear of it
	}
	g.previous, g.order = g.order, r.ID
	s.queue.push(occurrence{at: s.now.Add(g.job.spec.Checkpoint.Cost), what: executed, action: r, gang: g})
}

// written is the end of a request: the checkpoint is written, or not, and that is reported.
func (s *Simulation) written(r berth.RequestCheckpoint, g *gang) error {
	e := berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone}
	if s.fault("CheckpointFail", s.options.Faults.CheckpointFail) {
		e.Outcome, e.Reason = berth.OutcomeFailed, "no space is left"
	} else if s.options.Resume && g.clock {
		g.job.written = g.base + max(0, s.now.Sub(g.since))
	}
	return s.report(g, r.OrderHeader, e)
}

// stopped notes what a gang that stops leaves behind.
func (s *Simulation) stopped(g *gang) {
	j := g.job
	if !g.clock || g.halted || j.cancelled {
		return
	}
	g.halted = true
	brought := j.runtime - g.base
	if !g.finished {
		if every := j.spec.Checkpoint.Interval; s.options.Resume && every > 0 {
			progress := max(0, s.now.Sub(g.since))
			j.written = max(j.written, g.base+progress-progress%every)
		}
		brought = j.written - g.base
	}
	if s.options.Stopped != nil {
		s.options.Stopped(s.now, j.spec.ID, s.now.Sub(g.began), brought)
	}
}

// withdraw has a gang go on. If the checkpoint was written by then, its report is under way.
func (s *Simulation) withdraw(w berth.Withdraw) {
	g := s.executor.find(w.OrderHeader)
	if g == nil {
		return
	}
	if g.order == w.Request {
		g.previous, g.order = g.order, w.ID
	}
	if s.fault("WithdrawLate", s.options.Faults.WithdrawLate) {
		e := berth.OrderReported{Order: w.Request, Outcome: berth.OutcomeDone}
		s.queue.push(occurrence{at: s.now.Add(s.around(10 * berth.Second)), what: told, event: e, gang: g})
	}
}

// find returns the gang of a life of a replica that runs, or nil.
func (x *executor) find(h berth.OrderHeader) *gang {
	j := x.jobs[h.Job]
	if j == nil || h.Replica >= len(j.gangs) {
		return nil
	}
	if g := j.gangs[h.Replica]; g != nil && g.incarnation == h.Incarnation {
		return g
	}
	return nil
}
