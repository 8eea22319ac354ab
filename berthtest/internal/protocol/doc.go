// Package protocol is the way of a victim from the request for a checkpoint to its next
// start, as a state machine. The core has no such machine: it decides by the orders that
// are out. The checker holds each of its steps to this one.
//
// A victim goes through the phases of [Phase], and [Phase.Next] is the only way from one to
// the next:
//
//	   ┌──────── stop: it writes no checkpoints ────────┐
//	   │                                                ▼      release
//	   │     ask              failed, deadline
//	running ─────▶ requested ──────────────────────▶ expired ──────────┐
//	 ▲ ▲  │         │  │  │  done                                      ▼
//	 │ │  │   spare │  │  └────────────────────▶ checkpointed ─────▶ evicting
//	 │ │  │         ▼  │  lose too many                                ▲ │
//	 │ └────────── spared ───────────────────────▶ lost ───────────────┘ │
//	 │    │ withdraw,  │  lose all                                       │
//	 │    │ done,      └─────────────────────▶ released ◀────────────────┘
//	 │    │ failed,                             │    │       done, presume dead,
//	 │    │ deadline                       bind │    │ cancel,      lose all
//	 │    │ shrink                              ▼    ▼ drop
//	 │    └─────────▶ shrinking              resumed ended
//	 └────────────────────┘
//	  done, presume dead, lose all
//
// A victim that finishes or is cancelled while it is being stopped, or is to be stopped, is
// ending: its Release goes on, and then it has ended instead of being released. A victim that
// finishes while it still runs whole has ended at once. There is no request for a checkpoint
// where members alone are evicted: the job goes on without them.
//
// What becomes of reports that come otherwise than they should:
//
//	the report, and how it comes   what it does
//	late, within the deadline       as if it were in time: an order is out until it is
//	                                reported, withdrawn, overtaken, or found past its
//	                                deadline by a pass
//	late, after the deadline        nothing: the deadline has been acted upon, or the
//	                                order was given again under another number
//	late, after a withdrawal        nothing: it goes on
//	lost                            the deadline comes: of a request it counts as failed; a
//	                                Release is given again, and at last its members are
//	                                presumed dead
//	doubled                         the second one nothing: the order is not out any more
//	about an earlier life           nothing: its incarnation is over
//	partial, of a Release           those that stopped are free; it stays out for the rest
//	failed, of a Release            it stays out, and is given again at its deadline
//	partial, of a request           refused: a checkpoint is written as a whole, or not
//	that hardware is lost           what was on it is free at once; a request ends if too
//	                                little is left, and then no checkpoint is waited for
package protocol
