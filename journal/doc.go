// Package journal writes what a core was told and what it ordered as lines of
// JSON, reads such files, and replays them: a fresh core is told the same events,
// and every order it gives is compared with the written one, byte for byte.
//
// A journal is the whole of an incident in one file. It is what to attach to a
// defect report, what to keep to restart from, and what to run again on a laptop
// with a debugger.
//
// # The file
//
// Each line is one JSON object and ends in a line feed. The first one carries the
// version of the format and the configuration, all others an event, a pass or an order:
//
//	{"version":2,"config":{"levels":["leaf"],...}}
//	{"now":1000,"event":{"nodeJoined":{"node":{"id":"n1",...}}}}
//	{"now":2000,"pass":true}
//	{"order":{"bind":{"id":1,"at":2000,...}}}
//
// Events are those that the core accepted; a refused one changed nothing. Passes
// are written even when they gave no order, because deadlines and timeouts fall
// due in them. Orders stand behind their pass, by ID.
//
// A journal of a version that this release does not read is refused with [ErrVersion].
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
