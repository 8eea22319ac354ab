// Package check is an independent checker of a scheduling core: it rebuilds the
// world from the facts that the core was told and the orders that it gave, and
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
//	actions, _ := sched.Schedule(now)
//	violation = checker.Scheduled(now, actions)
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
// [Checker.Outstanding] compares the orders that are out. [Checker.Served] asserts
// that nobody waits who could start, and [Checker.Quiescent] besides that a fleet
// which was left alone has come to rest. [Checker.Cases] counts which situations a
// run went through, so that a test can tell whether it tested what it was meant to.
//
// Of divided GPUs it asserts by arithmetic of its own, from the tables alone, that
// instances which exist or are held fit together, and of Repartitions that every step is
// valid, touches nobody, keeps the geometry of the pool and comes before the Bind that
// needs it. Prices are not asserted, nor which GPUs are kept for somebody: no order tells.
//
// Of queues it asserts, after every Bind and at every level, that limits and limits on
// borrowing are kept on each resource, and that what queues do not lend stays free for them,
// below limits and in the fleet; and that guarantees can be kept side by side. All sums are
// made anew from what queues state and members hold. Whose turn it was it asserts as far as
// it is certain for which gang a queue stands: where the paths of two queues part, nobody is
// started for whom the one borrows while a gang waits that could start and that the other is
// owed, with it and with all else that waits there; nor, if both are owed or both borrow,
// while the other has the higher priority. How shares compare, and past use, are not
// asserted. [Checker.AgainstLedger] compares a ledger with the time for which members held
// GPUs, to the GPU-millisecond.
//
// Of those who have to yield it asserts that they may be asked and stopped then, and in the
// order of request, answer or deadline, and Release; that each is told for whom, who waits
// and has a reservation until then; that a request is withdrawn when nobody needs it, and
// only then; and that the room that is made is enough, that no more have to go than must,
// and that nothing is taken back of what a queue is guaranteed, as far as that can be told
// by counting: exchange.go says how far. There it also asserts that what is gained is more
// than what all of them lose, by its own arithmetic; and of every pass, by counting orders,
// that the rates are kept and nobody has to go again within its respite (hysteresis.go).
//
// Of those who leave their places for others, as nodes are drained, hardware was lost, or one
// that waits needs room in one piece, it asserts that they may be told so and are no more than
// the policy has move; that a place is kept for each, where it would fit, and that they start
// there. Whether moves pay is not asserted: no order tells for how long one would have waited.
//
// Of hardware that failed it asserts, from losses and repairs as they were told, which nodes
// are on probation and on trial and until when, that the former get nothing and the latter
// only what is cheap to lose. Of spares, which it knows from reports, that there are as many
// as the policy wants or as there are idle nodes for, that they are sound, trusted and spread,
// and that nobody is placed there but who was stopped because hardware was lost.
//
// Of those who leave nodes that are being drained it asserts that they run there, that a place
// is kept for them unless the deadline leaves no more time, that their checkpoints may take
// until then and no longer, and that they go on where they are when they need not leave, and
// only then. Of all for whom places are kept, as they leave one, lost hardware or members that
// died, it asserts that they would fit there as far as that can be told by counting, that
// nobody takes it, and that who goes on there goes on those nodes. After a pass that left no
// work over nobody is left who has to leave and certainly has another place, or no more time.
//
// A scheduler that is no core, such as those of package bench/baseline, has rules of its own about
// who comes first and who has to yield. [NewForAnyPolicy] makes a checker for it, which asserts all
// but those rules.
//
// The checker keeps the events and orders it is told of: do not change them
// afterwards. It starts no goroutine and is for one goroutine at a time.
package check
