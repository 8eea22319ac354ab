// Package baseline has schedulers that the core is compared with: each a
// berth.Scheduler that runs gangs of whole GPUs in package berthtest/sim, under the same
// events, the same pretend executor and the same checker as the core.
//
//   - [FIFO]: first come, first served. The first that waits blocks all others.
//   - [EASY]: the same, with backfill around a reservation for the first (Lifka 1995).
//   - [LAS]: least attained service, in steps, with preemption (Tiresias, NSDI 2019).
//   - [Cells]: virtual private clusters of buddy cells, and opportunistic jobs on what
//     is idle (HiveD, OSDI 2020).
//
// They are small on purpose, and exact: the comment of each says what it does, from
// which paper, and where it departs from that. A [Policy] is one method, so that
// another one is a page; [Scheduler] is the harness that all of them share: it keeps
// what waits, what runs and what is free, gives orders and takes reports.
//
//	s := baseline.New(baseline.EASY{}, baseline.BestFit)
//	run := sim.New(s, workload, sim.Options{})
//
// # What the harness leaves out
//
// It is for sound hardware and an executor that does as it is told: events about
// failures, drains and divided GPUs, reports of orders that failed, claims for parts of
// a GPU, services and elastic gangs are refused with an error that wraps
// berth.ErrUnsupported. Queues are names; what they are guaranteed or limited to is for a
// policy to know. Required and preferred levels are taken as preferred ones: a gang of
// several members goes to the narrowest domain that has room. Of a selector pools and products
// count, and all groups of a job share it. There is no snapshot.
package baseline
