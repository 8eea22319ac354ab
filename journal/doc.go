// Package journal keeps what a core was told: durably, so that a process that dies at any instant
// goes on where it was, and as files that are replayed.
//
// # A core that survives
//
// A [Store] keeps a log of records and snapshots. Package boltstore has one in a file, and
// package storetest has the tests for others. A [Durable] is a core that has each step in a
// Store before anything follows from it: its comment has the loop of an orchestrator. A [Loop] is
// that loop for many callers, which share its writes. A [Replica] follows a log, to stand by.
//
// A record is a line, as below, without the orders of a pass: a core that comes to the same orders
// is all that is needed, and the record has their number and sum. State records hold
// the whole state to its sum. So whatever differs is an error at once, which names the record.
//
// # The file
//
// A journal is also the whole of an incident in one file: [Replay] tells a fresh core the same
// events, and compares every order that it gives with the written one, byte for byte. It is what
// to attach to a defect report, and what to run again on a laptop with a debugger.
//
// Each line is one JSON object and ends in a line feed. The first one carries the
// version of the format and the configuration, all others a number, a sum, and
// an event, a pass or an order:
//
//	{"version":2,"config":{"levels":["leaf"],...}}
//	{"number":1,"sum":"5d1b9e60f2a40c8a","now":1000,"event":{"nodeJoined":{"node":{"id":"n1",...}}}}
//	{"number":2,"sum":"0c8a5d1b9e60f2a4","now":2000,"pass":true,"orders":1,"digest":"8a5d1b9e60f2a40c"}
//	{"number":3,"sum":"60f2a40c8a5d1b9e","order":{"bind":{"id":1,"at":2000,...}}}
//
// Events are those that the core accepted; a refused one changed nothing. Passes
// are written even when they gave no order, because deadlines and timeouts fall
// due in them. Orders stand behind their pass, by ID. The sum of a line covers all before it, so
// that a line that is missing, doubled, changed or in another place is refused with [ErrDamaged].
//
// A journal of a version that this release does not read is refused with [ErrVersion]. The page
// docs/format.md has all of it, down to the polynomial, for readers in other languages.
//
// # Writing
//
// A [Writer] has the form of an observer, as package sim and most event loops
// have them:
//
//	w, err := journal.NewWriter(file, sched.Config())
//	...
//	w.Applied(now, event, sched.Apply(now, event))
//	orders, err := sched.Schedule(now)
//	w.Scheduled(now, orders)
//	...
//	err = w.Flush()
//
// To recover from it after a crash, the file has to be synced after Flush and before the
// orders of the pass are carried out.
//
// # Replaying
//
// [Replay] does a file in one call, [Recover] goes on from a snapshot. A [Player] goes line
// by line, for a look at the core in between.
package journal
