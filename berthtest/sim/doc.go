// Package sim runs a scheduler against a workload and a pretend executor, in virtual
// time: a day of a fleet takes as long as the scheduler needs to decide, and the same
// seed gives the same day. The scheduler is a *core.Core or any other berth.Scheduler.
//
// The simulator does what package berth asks of an embedder: it tells
// events in order, runs a pass when there is something to do, carries out the
// orders, and reports each of them once. [Faults] has it do all that badly: lose
// reports, double or delay them, fail to start members, lose nodes and GPUs, and
// replace the core by a restored one between any two calls.
//
//	sched, err := core.New(berth.Config{})
//	...
//	s := sim.New(sched, sim.FromSlice(arrivals), sim.Options{
//		StartDelay: 10 * berth.Second,
//		StopDelay:  5 * berth.Second,
//	})
//	err = s.Run(berth.Time(24 * berth.Hour))
//
// Options.Applied and Options.Scheduled see every call and its result: a journal,
// statistics or a progress bar hang there.
//
// A model that has more to say about what members do than start, run and stop carries out
// orders itself: Options.CarryOut, with [Simulation.At] and [Simulation.Tell]. The experiments
// of bench/experiments do.
//
// It is for tests of an orchestrator as well: give it the orchestrator's own
// workload and policy, and see what the core would have done. And it is for tests of a
// policy: Options.Checker ends the run as soon as a promise is broken, with a sentence
// that names what the scheduler did.
//
//	s := sim.New(mine, w, sim.Options{Checker: check.NewForAnyPolicy(berth.Config{})})
//	err := s.Run(end) // sim: after 1m0s ...: S1: GPU 1 of node n1 is held by a/0[0] and by b/0[0]
package sim
