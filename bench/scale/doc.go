// Package scale holds benchmarks of the scheduling core against the size of the
// fleet and the number of jobs that wait, and the guards that keep what they
// measure from growing. The states that are measured are built outside the tests, and [Cases]
// lists those of which berthbench makes a table, with the target of each figure.
//
//	go test -bench . ./bench/scale
//	go run ./bench/berthbench scale
//
// The fleets have 4,096 and 131,072 GPUs in nodes of 8, with 32 nodes to a leaf
// and 16 leaves to a spine, and are 90% full in a seeded, scattered pattern (see
// fill). What is measured:
//
//   - BenchmarkDecision/Place: finding a place in the fleet and giving it back, by
//     package gang alone: one GPU, one node, a gang of 512 GPUs.
//
//   - BenchmarkDecision/Churn: the same for single members when what is given back
//     is drawn from the whole fleet, so that hardly two decisions touch the same
//     node. The large fleet's state does not fit the processor's caches, so this
//     costs some 2.5 times as much there: more than the factor of two that Place is
//     held to.
//
//   - BenchmarkLife: the whole way through the core: a job is submitted, a pass
//     binds it, the Bind is reported, the job finishes. It allocates what the core
//     keeps of a job and the order it gives; the search in it allocates nothing.
//
//   - BenchmarkIdlePass: a pass in which nothing changed, with up to 100,000 jobs
//     waiting for capacity.
//
//   - BenchmarkCompletion: one job finishes while up to 100,000 wait, and a pass
//     finds what may start. The searches do not grow with what waits; making ready,
//     and blocking again, a bucket in each of 300 queues is what the rest goes to.
//
//   - BenchmarkVictims: 500 full nodes of mixed jobs, from single GPUs to gangs of 32
//     nodes, and a pass that finds victims for a gang, among its own queue or
//     among borrowers, and asks them.
//
//   - BenchmarkVictimsOfSingles: the same on up to 16,384 nodes that are full of single-GPU
//     jobs, which began in a random order; BenchmarkVictimsOfMany: all passes until 64 and
//     1,000 gangs of distinct demands have theirs, and the longest of these passes.
//
//   - BenchmarkCompletionToRest: a job finishes, and passes run until nothing is due.
//
//   - BenchmarkExplain, BenchmarkStartPlan, BenchmarkWhatIf, BenchmarkReport: the answers, on
//     fleets with crumbs that serve nobody, with equal shares, with one queue, and with jobs that
//     may be taken back.
//
//   - BenchmarkClaims: all passes until claims of instances of six profiles are served, or have to
//     wait; BenchmarkColdStart: all until jobs of mixed sizes fill an empty fleet.
//
//   - BenchmarkLoss: a gang of 2,048 nodes loses one, is stopped, and goes on with a spare.
//
//   - BenchmarkSubmit, BenchmarkReplay, BenchmarkSnapshot, BenchmarkRestore, BenchmarkHeap: what a
//     store does and keeps. One more job is told of while 100,000 wait; a journal of whole lives is
//     replayed; a full fleet for which much waits is saved and restored; and what of it stays in
//     the heap, for a GPU and for a job that waits.
//
// The benchmarks whose name ends in Ratio run both fleets in turns, so that they
// share whatever else the machine is doing, and report x-large/small.
//
// With -short the states that take long to build are left out.
//
// The guards are ordinary tests. They count allocations and searches, never time.
package scale
