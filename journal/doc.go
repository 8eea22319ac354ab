// Package journal writes what a core was told and what it ordered as lines of
// JSON, reads such files, and replays them: a fresh core is told the same facts,
// and every order it gives is compared with the written one, byte for byte.
//
// A journal is the whole of an incident in one file. It is what to attach to a
// defect report, what to keep to restart from, and what to run again on a laptop
// with a debugger.
//
// # The file
//
// Each line is one JSON object and ends in a line feed. The first one carries the
// configuration, all others a fact, a pass or an order:
//
//	{"config":{"levels":["leaf"],...}}
//	{"now":1000,"event":{"nodeJoined":{"node":{"id":"n1",...}}}}
//	{"now":2000,"pass":true}
//	{"order":{"bind":{"id":1,"at":2000,...}}}
//
// Facts are those that the core accepted; what it refused changed nothing. Passes
// are written even when they gave no order, because deadlines and timeouts fall
// due in them. Orders stand behind their pass, by ID.
//
// # Writing
//
// A [Writer] has the form of an observer, as package sim and most event loops
// have them:
//
//	w, err := journal.NewWriter(file, sched.Config())
//	...
//	w.Applied(now, fact, sched.Apply(now, fact))
//	orders, err := sched.Schedule(now)
//	w.Scheduled(now, orders)
//	...
//	err = w.Flush()
//
// # Replaying
//
// [Replay] does a file in one call. A [Player] goes line by line, for a look at
// the core in between.
package journal
