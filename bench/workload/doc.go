// Package workload makes what a fleet has to do: a reference day, drawn from a
// seed, and days that happened, read from published traces. Both come as a
// sim.Workload, that is, as facts with instants, so that the simulator, an
// embedder's own test bench and a benchmark can use them alike.
//
//	day := workload.Reference{Seed: 1}
//	core, err := berth.New(day.Config())
//	...
//	s := sim.New(core, day.Workload(), sim.Options{})
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
// [OpenB] reads a cluster trace that Alibaba published in 2023: 1,213 nodes with
// 6,212 GPUs, and 8,152 tasks of which about half take a share of a GPU.
package workload
