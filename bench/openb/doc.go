// Package openb plays the experiment of Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent" (USENIX ATC 2023), on the trace that
// Alibaba published with it or any other of its format: tasks arrive at a fleet in an order drawn
// from a seed, one after the other, until they have asked for 130 % of its GPUs; how many of the
// GPUs are left over?
//
//	trace, err := openb.Open(filepath.Join(dir, workload.OpenBNodes), openb.PodFile(dir, "default"))
//	policy, err := bench.Find("fgd")
//	run, err := trace.Draw(42, openb.Inflation).Play(policy.New(42), openb.Options{})
//	fmt.Println(run.Unallocated(100))
//
// # The experiment, exactly
//
//  1. Nodes and tasks are sorted by name.
//  2. A generator of math/rand is seeded. The first number is drawn and thrown away.
//  3. The tasks are shuffled.
//  4. While the tasks ask for more than 130 % of the fleet's GPUs, one of them that is drawn is
//     taken away. If they ask for less, more are appended, each a copy of one that is drawn from
//     the sorted list, until the next would bring them over it. That check counts one GPU of the
//     next task, what was appended counts all: as in the published program.
//  5. Ten more numbers are drawn and thrown away, which there serve something else.
//  6. A permutation is drawn. The number of a node in it, of four digits, is put before its name,
//     and nodes are sorted by that: the order in which ties are broken.
//  7. The policy knows the mix of the tasks of the whole trace, before the first arrives (or learns
//     it, if Options says so).
//  8. Tasks arrive. One that fits nowhere is dropped, and counts as arrived. Nobody ever leaves.
//
// After each arrival, what has arrived is rounded to a whole percent of the fleet's GPUs, half to
// even, and what is allocated is noted. A figure at x percent is the mean of what was noted while x
// percent had arrived.
//
// # What it does not tell
//
// It measures packing of tasks that never end: there are no departures, no gangs, no queues and no
// priorities, and time means nothing. The policies that use the mix are told it by an oracle,
// unless they learn it.
package openb
