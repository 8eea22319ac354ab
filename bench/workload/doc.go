// Package workload makes what a fleet has to do: a reference day, drawn from a seed, and days that
// happened, read from traces. All come as a sim.Workload, that is, as facts with instants, so that
// the simulator, an embedder's own test bench and a benchmark can use them alike.
//
//	day := workload.Reference{Seed: 1}
//	sched, err := core.New(day.Config())
//	...
//	s := sim.New(sched, day.Workload(), sim.Options{})
//	err = s.Run(berth.Time(0).Add(day.Length()))
//
// # The reference day
//
// [Reference] is 500 nodes of 8 H100 behind rail leaves and a spine, 240 teams in
// ten organisations, some 300 inference services that follow the sun, gangs of 64
// to 512 GPUs, notebooks, small batch jobs, host-only jobs, and nodes and GPUs
// that fail and return. See its comment for the figures and where they are from.
//
// The same Reference gives the same workload on every run. It is drawn with
// floating point and rounded to seconds and GPUs, so on another architecture a
// value may fall the other way; journals are what carries a workload from machine
// to machine.
//
// # Traces
//
// A [Trace] is a workload that somebody recorded: one column of a file after the other
// becomes a fact that a core can be told, as the function that reads it says, and so does what
// the file does not tell. All files may be compressed with gzip; what comes out is at most 1 MiB
// and 64 times the file, and a line at most 1 MiB. A row that makes no sense
// ends the trace with a [TraceError], which names file, line, column and field.
//
//   - [OpenB]: Alibaba 2023, 1,213 nodes with 6,212 GPUs, and 8,152 tasks of which about half
//     take a share of a GPU.
//   - [Philly]: Microsoft 2017, 82,247 training jobs of 15 virtual clusters.
//   - [ReadSacct]: what any Slurm cluster has in its accounts.
//   - [ReadSWF]: logs in the Standard Workload Format.
//
// Rows are read as the simulator asks for them. Where the format promises the order of
// time, a trace of any length takes the same memory; where it does not, all rows are
// kept.
//
// [GenAI] reads another kind of day, a [ServiceDay]: what the pods of a service did with their
// GPUs.
package workload
