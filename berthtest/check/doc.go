// Package check is an independent checker of a scheduling core: it rebuilds the
// world from the events that the core was told and the orders that it gave, and
// asserts after every step what package berth promises. It never looks inside a
// core, and shares no code with one, so that an embedder can hold it against a
// core of its own version, against a journal, or against a different
// implementation of berth.Scheduler.
//
// Tell it everything that passes between the orchestrator and the core:
//
//	checker := check.New(config)
//	...
//	if err := sched.Apply(now, event); err != nil {
//		violation = checker.Rejected(now, event, err)
//	} else {
//		violation = checker.Applied(now, event)
//	}
//	orders, _ := sched.Schedule(now)
//	violation = checker.Scheduled(now, orders)
//
// A violation is a [*Violation], which names the promise and says what breaks it,
// as in "S1: GPU 3 of node n7 is held by a/0[1] and by b/0[0]". After the first
// one the checker's world is no longer that of the core: stop there.
//
// [Checker.AgainstReport] compares a berth.FleetReport with the checker's own counts. It is
// also how the checker gets to know what no order tells of: which nodes the core
// picked for a reservation by number, and which gangs have reservations. Show it a
// report after each call, so that passes are judged by those before and after.
//
// [Checker.Outstanding] compares the orders that are out, [Checker.Lost] what hardware took,
// [Checker.BlastRadius] what a fault would take down, [Checker.Diff] how an observed world differs.
// [Checker.Served] asserts that no job waits that could start, and [Checker.Quiescent] besides that
// a fleet which was left alone has come to rest. [Checker.Cases] counts which situations a run went
// through, so that a test can tell whether it tested what it was meant to.
//
// Of divided GPUs it asserts by arithmetic of its own, from the tables alone, that
// instances which exist or are held fit together, and of Repartitions that every step is
// valid, touches no member, keeps the geometry of the pool and comes before the Bind that
// needs it. Costs are not asserted, nor GPU holds: no order tells.
//
// Of queues it asserts, after every Bind and at every level, that limits and limits on
// borrowing are kept on each resource, and that what queues do not lend stays free for them,
// below limits and in the fleet; and that guarantees can be kept side by side. All sums are
// made anew from what queues state and members hold. The order of queues it asserts as far as
// it is certain which gang a queue stands for. Where the paths of two queues part, no gang starts
// with borrowed quota while one could start within the guarantee of the other queue, with all
// else that waits there; nor, if both are within or both borrow, while the other has the higher
// priority. How shares compare, and past use, are not
// asserted. [Checker.AgainstLedger] compares a ledger with the time for which members held
// GPUs, to the GPU-millisecond.
//
// Of victims it asserts that they may be evicted, and in the order of request, answer or deadline,
// and Release; that each order names a beneficiary, which waits and has a reservation until then;
// that a request is withdrawn when no beneficiary needs it, and only then; that the victims are
// enough and none of them could be left out; and that nothing is reclaimed of a guarantee, as far
// as counting tells. What runs is held apart from what is planned, being started or has but a place
// kept for it, and has to be left by itself (running.go). It also asserts that the gain exceeds the
// cost of all victims, by its own arithmetic (reclaim.go); and of every pass, by counting orders,
// that the rate limits are kept and no job is evicted again within its cooldown (hysteresis.go).
//
// Of gangs that move, because nodes are drained, hardware was lost, or a beneficiary needs free
// capacity in one piece, it asserts that they may move and are no more than the policy allows;
// that a place where it fits is reserved for each, and that they start there. Whether moves pay
// is not asserted: no order tells how long a gang would have waited.
//
// Of hardware that failed it asserts, from losses and repairs as they were told, which nodes
// are in quarantine and in burn-in and until when, that the former get no work and the latter
// low-cost work alone. Of hot spares, which it knows from reports, that there are as many as the
// policy wants or as there are idle nodes for, that they are sound, trusted and spread, and that
// only gangs that lost hardware are placed there.
//
// Of queues that use more than they may, where the policy has them brought within their limits, it
// asserts that gangs are told to go in time, if they may be stopped, that none of those could be
// left out, and that one goes on if the limit is kept without (over_limit.go).
//
// Of budgets it asserts, by sums of its own, what was used of each and when it is used up, that no
// gang is started from then on, and that what runs is stopped where the budget says so
// (budgets.go).
//
// Of gangs on nodes that are being drained, or cleared for a reservation (cleared.go), it asserts
// that a place is reserved for each unless the deadline leaves no more time, that their checkpoints
// may take until then and no longer, and that they continue where they are when they need not
// leave, and only then. Of every reserved place, after a drain, lost hardware or dead members, it
// asserts that the gang fits there as far as counting tells, that no other job takes it, and that
// the gang resumes on those nodes. After a pass that left no work over, no gang stays that has to
// leave and certainly has another place, or no more time.
//
// Of jobs that may not run for ever it asserts that they are asked for a last checkpoint in time,
// if they write any, that they are stopped at their time limit and not before, unless a drain has
// an earlier deadline, and that none comes back.
//
// A scheduler that is no core, such as those of package bench/baseline, has rules of its own about
// order and preemption. [NewForAnyPolicy] makes a checker for it, which asserts all
// but those rules.
//
// The checker keeps the events and orders it is told of: do not change them
// afterwards. It starts no goroutine and is for one goroutine at a time.
package check
