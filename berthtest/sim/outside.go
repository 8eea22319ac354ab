package sim

import "github.com/berth-sched/berth"

// This file is how somebody else has a part in a simulation, while it runs: an executor with a
// model of its own of what members do, or a workload that depends on what became of it.

// Tell tells the scheduler an event now, as if it had arrived. It returns the scheduler's refusal
// if there is one; any other error ends the run.
//
// It may be called while Run is not under way, in what At asked for, and in Options.CarryOut and
// Options.Passed.
func (s *Simulation) Tell(a Arrival) error {
	if err := s.arrive(a); err != nil {
		return err
	}
	return s.refusal
}

// At has do called at an instant, or now if that is past: after the arrivals of that instant, and
// in the order of the calls of At. An error ends the run.
func (s *Simulation) At(at berth.Time, do func() error) {
	s.queue.push(occurrence{at: max(at, s.now), what: called, do: do})
}
