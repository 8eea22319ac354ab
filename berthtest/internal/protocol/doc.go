// Package protocol is the way of a victim from the request for a checkpoint to its next
// start, as a state machine. The core has no such machine: it decides by the orders that
// are out. The checker holds each of its steps to this one.
//
// A victim goes through the phases of [Phase], and [Phase.Next] is the only way from one to
// the next:
//
//	phase         next          signals
//	running       requested     ask
//	running       expired       stop
//	running       shrinking     shrink
//	requested     spared        spare
//	requested     checkpointed  done
//	requested     expired       failed, deadline
//	requested     requested     lose
//	requested     lost          lose too many
//	requested     released      lose all
//	requested     ended         finish
//	requested     ending        cancel
//	spared        running       withdraw, done, failed, deadline
//	spared        spared        lose
//	spared        lost          lose too many
//	spared        released      lose all
//	spared        ended         finish
//	spared        ending        cancel
//	checkpointed  checkpointed  spare, lose
//	checkpointed  evicting      release
//	checkpointed  released      lose all
//	checkpointed  ending        finish, cancel
//	expired       expired       spare, lose
//	expired       evicting      release
//	expired       released      lose all
//	expired       ending        finish, cancel
//	lost          lost          spare, lose
//	lost          evicting      release
//	lost          released      lose all
//	lost          ending        finish, cancel
//	shrinking     shrinking     spare, release, partial, failed, deadline, lose
//	shrinking     running       done, presume dead, lose all
//	shrinking     lost          lose too many
//	shrinking     ending        finish, cancel
//	evicting      evicting      spare, release, partial, failed, deadline, lose
//	evicting      released      done, presume dead, lose all
//	evicting      ending        finish, cancel
//	ending        ending        spare, release, partial, failed, deadline, lose
//	ending        ended         done, presume dead, lose all
//	released      ended         cancel, drop
//	released      resumed       bind
//
// A victim that finishes or is cancelled while it is being stopped, or is to be stopped, is
// ending: its Release goes on, and then it has ended instead of being released. A victim that
// finishes while it still runs whole has ended at once. There is no request for a checkpoint
// where members alone are evicted: the job goes on without them.
//
// What has no line is refused: a report that comes twice, after its deadline was acted upon, or
// about an earlier life. One that is lost is a deadline.
package protocol
