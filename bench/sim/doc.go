// Package sim runs a scheduling core against a workload and a pretend executor,
// in virtual time: a day of a fleet takes as long as the core needs to decide,
// and the same seed gives the same day.
//
// The simulator does what package berth asks of whoever embeds a core: it tells
// facts in order, runs a pass when there is something to do, carries out the
// orders, and reports each of them once. [Faults] has it do all that badly: lose
// reports, double or delay them, fail to start members, lose nodes and GPUs, and
// replace the core by a restored one between any two calls.
//
//	core, err := berth.New(berth.Config{})
//	...
//	s := sim.New(core, sim.FromSlice(arrivals), sim.Options{
//		StartDelay: 10 * berth.Second,
//		StopDelay:  5 * berth.Second,
//	})
//	err = s.Run(berth.Time(24 * berth.Hour))
//
// Options.Applied and Options.Scheduled see every call and its result: a journal,
// the checker of package bench/check, statistics or a progress bar hang there.
//
// It is for tests of an orchestrator as well: give it the orchestrator's own
// workload and policy, and see what the core would have done.
package sim
