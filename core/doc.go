// Package core is the machine behind the contract of package berth: it decides which
// accelerators each job gets, and when.
//
//	sched, err := core.New(berth.Config{})
//
// The manual of both, with the duties of the embedder and the loop, is the documentation of
// package [github.com/berth-sched/berth]. This page is for readers of the machine.
//
// # What it is
//
// A [Core] is a deterministic state machine with one door in and one door out. [Core.Apply]
// tells it an event, [Core.Schedule] runs a pass and returns orders, and [Core.NextWake] says
// when the next pass has something to do. All other methods ask, and change nothing. The same
// events and passes at the same instants give the same orders, and snapshots of the same bytes.
//
// An event goes to the handler of its kind, in a file apply_*.go by subject. A handler checks
// everything before it changes anything, so that a refusal leaves the core as it was: the
// clock and the agenda are values, which Apply puts back. A handler notes in the agenda what
// the next pass has to look at. It gives no order and looks for no place: passes alone do.
//
// # The rooms
//
// What the machine knows and does is divided into rooms, packages below core/internal. A room
// holds those that are listed below it, as far as it needs them, as named fields, and knows
// none above. It answers with a value, and the caller acts. From the highest to the lowest:
//
//	core       the handlers, the list of stages, next wake, what-if; walks the rooms for snapshots
//	answer     explain, report, blast radius, differences, start plans; it changes nothing
//	evict      plans for a beneficiary, moves and drains: which bid is made, and what it leads to
//	victim     which gangs go for a beneficiary: what queues keep, the least cost, cost and gain
//	search     where: for what waits, on what is set aside, on GPUs yet to be divided, in the future
//	gpus       how GPUs are divided: modes, layouts, the orders that change them
//	life       a replica's states: settle, release, take back, stop by way of a checkpoint; rates
//	upkeep     trust in hardware: quarantine and burn-in; the hot spares of each pool
//	admission  checks what is told of jobs, at the door and in a snapshot; it owns nothing
//	backlog    what waits, by request and in policy order; what is set aside: reservations, GPU holds
//	due        which entries that wait may get a reservation or bid, and when; it decides nothing
//	books      what members hold in the fleet and queues are charged for it; ledger, budgets, capacity
//	score      says what decides among places, demand or the embedder's own scorer, and tells it
//	           what is held
//	packing    members of several gangs onto nodes at once, exactly; it owns nothing
//	evictable  an index of what could be evicted where, at what cost; it follows from the records
//	state      the records by name and in their orders, and questions that one record cannot answer
//	hardware   what nodes are alike in, so that the fleet counts them by kind; it knows no record
//	record     the records themselves: node, replica, job, request, queue, reservation
//	demand     what the fleet is asked for, and what it costs to take room from that; no record
//	agenda     what has changed, and which stages of a pass are due when; it knows no record
//	catalogue  owners, graphs inside nodes, the tables by which GPUs divide; it knows no record
//	runtimes   how long jobs run, learned from those that finished; it knows no record
//	spec       what is kept of the descriptions that came with events; it knows no record
//	losses, meter, roster               leaves: lost nodes, rates, records by number;
//	refusal, invariant                  typed errors, broken promises;
//	values, effort                      copies of values of package berth, questions about them and
//	                                    words for texts; bounds of the work of a pass
//
// The rooms share some words. A shape is what a gang asks for, equal for equal requests; a bucket
// is what of one shape waits in one queue, and an entry is a replica in a bucket: a pending one, or
// a running one that lacks members of a group. A plan says when and where an entry will fit; a bid
// is an attempt to find victims or moves for one, that gain more than they cost. A beneficiary is a
// gang that a bid makes room for, and its earmark is the charge of that room to its queue while
// other work is looked at. A piece is a replica, or members of it, as far as they go together.
//
// A bid plans, and a plan never bids: so evict stands above search. Plans are imagined
// on the fleet and the quota tree themselves, and taken back before the pass is over; what
// stays is booked in books.
//
// # The stages of a pass
//
// Schedule is a list of stages. Each does what the agenda, a timer or a set of replicas says is
// due, so that a pass in which nothing changed costs next to nothing. A stage sees what those
// before it have placed, so their order is a part of what the machine decides:
//
//  1. Tick (books): the clocks of the quota tree and of the ledger go on. SettleBudgets (life):
//     what claims GPUs leaves the backlog where a budget is used up, and comes back.
//  2. expire (core): reservations end, or begin to clear their nodes, quarantine and burn-in are
//     over, backoffs end, a gang timeout drops its job, a job ends at its limit, what is idle is
//     warned or ended, a begin time comes, an order that was not reported in time expires. Then
//     gates open.
//  3. mend (core): replicas that need an order whatever else happens. Members are repaired or
//     released, requests for a checkpoint withdrawn. Then lend (core): what is held and idle is
//     lent, and borrowers are told to give back; and BringWithinLimits and StopOutOfBudget (evict):
//     what queues use beyond their limits, and what runs on a budget that is used up, is stopped,
//     if the policy says so.
//  4. TellCapacity (books): the quota tree learns what the fleet has. What queues have by shares
//     follows in FollowFleet (books), with stage 2 and after each event, and never in a plan.
//  5. rank (core): the profiles of instances are weighed by what is in demand.
//  6. Relocate (evict): another place for gangs that have to leave theirs; and lend again, for
//     borrowers of these.
//  7. Earmark (backlog): until stage 15 is over, a beneficiary is charged with what it is to
//     have, so that no other job starts on the quota that is freed for it.
//  8. TendGPUHolds (search): members start once their GPU hold is clear.
//  9. TendSpares (upkeep): hot spares are let go, and others found.
//  10. ServeReserved (search): gangs start once their reservation has come true, or they fit
//     elsewhere.
//  11. Wake (search): what was blocked and could fit by now is ready.
//  12. Place (search): what is ready, in policy order, until nothing fits, Policy.PassBudget
//     is spent, or a few thousand members have been placed.
//  13. Reshape (search), BringBack (gpus): GPUs are repartitioned for what waits, and back to
//     the layout of their pool where nothing waits for what they have.
//  14. Reserve (search): gangs that keep losing to smaller work get a reservation.
//  15. Backfill (search): what waits is tried on nodes that are set aside, if it ends in time.
//  16. Preempt (evict): victims or moves for what still waits, in policy order.
//  17. EndPartialResumes (search): no gang that waits keeps a part of what another waits for.
//  18. mend again: victims that are stopped at once, and requests that are withdrawn; and lend
//     again, for borrowers of what has to leave.
//
// What became free where a reservation ended within the pass is for the next one to look at.
//
// # Snapshots and checks
//
// A snapshot holds what was told and what was promised, in order of name; indexes are built
// anew. Each room saves, restores and checks its own, in files saved_*.go and check_*.go, and
// this package walks them. [Core.Snapshot] and [Restore] are in snapshot.go: what is said of
// nodes and queues comes back first, then jobs and what they wait for, and what is due at the
// end. [Core.Check] is in check.go and goes from the ground up, so that a room relies on those
// below it. A value that a record gains goes into one of its parts (core/internal/record,
// parts.go), which are saved and restored as they are.
//
// # Questions
//
// [Core.Explain], [Core.Report], [Core.BlastRadius], [Core.Ledger] and [Core.Diff] read.
// [Core.WhatIf], and [Core.StartPlan] of another instant or after further events, ask a twin
// that is restored from a snapshot, and leave the core alone.
package core
