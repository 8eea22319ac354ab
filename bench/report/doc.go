// Package report watches a run and tells how it went: a table for the terminal,
// and a page with plots for the browser.
//
// A [Collector] is an observer: it is shown what the core was told and what it
// ordered, and keeps its own books of the jobs that wait and of what each holds. It compares
// them with the core's at every sample, so a report that comes out is one on which
// both agree.
//
//	c := report.NewCollector(s.Scheduler)
//	s := sim.New(core, w, sim.Options{Applied: c.Applied, Scheduled: c.Scheduled})
//	err := s.Run(end)
//	...
//	run, err := c.Finish(end)
//	err = report.WriteTable(os.Stdout, run)
//	err = report.WritePage(file, run)
//
// The page is one file without external resources or scripts. Its plots are SVG;
// colours follow the reader's preference for light or dark.
//
// # Terms
//
// The wait of a replica is the time from when it was asked for to the pass that
// first gave it a place. Percentiles are over those that were placed; how many
// still wait stands beside them. Allocation is the part of the fleet's GPUs that is
// held, weighted by time. Stranded GPUs are free ones on which no member of a
// waiting job fits by itself, as berth.FleetReport has it: the fragmentation that
// waiting jobs see.
package report
