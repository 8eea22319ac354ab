package core

import (
	"iter"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// What the core knows, so that an embedder needs no record of its own. What is returned is a
// copy, but for the memory that [berth.MemberPlacement] does not share either: nothing that a
// caller does with it changes the core.

// Job tells what is known of a job; false: the core does not know it, or no longer. Cost: its
// size, O(members).
func (c *Core) Job(id berth.JobID) (berth.JobStatus, bool) { return c.answer.Job(id) }

// Node tells what is known of a node; false: it is not in the fleet. Cost: its size, O(GPUs +
// members x log members).
func (c *Core) Node(id berth.NodeID) (berth.NodeStatus, bool) { return c.answer.Node(id) }

// Queue tells what is known of a queue; false: there is none of that name. Cost: O(1).
func (c *Core) Queue(id berth.QueueID) (berth.QueueStatus, bool) { return c.answer.Queue(id) }

// Jobs goes through the jobs, in the order of their IDs. Like the other iterators it takes the
// names when it starts: events may be told between its steps, and what is gone by then is left
// out. Cost: O(jobs x log jobs), and each step the size of a job.
func (c *Core) Jobs() iter.Seq[berth.JobStatus] {
	return func(yield func(berth.JobStatus) bool) { each(c.JobIDs(), c.Job, yield) }
}

// Nodes goes through the nodes, in the order of their IDs. Cost: O(nodes x log nodes), and each
// step the size of a node.
func (c *Core) Nodes() iter.Seq[berth.NodeStatus] {
	return func(yield func(berth.NodeStatus) bool) {
		each(slices.Sorted(maps.Keys(c.state.NodeByID)), c.Node, yield)
	}
}

// Queues goes through the queues, in the order of their names. Cost: O(queues x log queues).
func (c *Core) Queues() iter.Seq[berth.QueueStatus] {
	return func(yield func(berth.QueueStatus) bool) {
		for _, name := range c.state.Quota.Queues() {
			if q, known := c.Queue(name); known && !yield(q) {
				return
			}
		}
	}
}

// Running goes through the members that run as far as the core knows, and that no order is out
// to start or to stop: in the order of job, replica, group and index. A world with these members
// and the nodes of [Core.Nodes] is one with which [Core.Diff] agrees. Cost: O(jobs x log jobs +
// members).
func (c *Core) Running() iter.Seq[berth.ObservedMember] {
	return func(yield func(berth.ObservedMember) bool) {
		for _, id := range c.JobIDs() {
			if !c.answer.EachRunning(id, yield) {
				return
			}
		}
	}
}

// each looks up one after the other, as long as that is asked for.
func each[ID, Status any](ids []ID, lookUp func(ID) (Status, bool), yield func(Status) bool) {
	for _, id := range ids {
		if s, known := lookUp(id); known && !yield(s) {
			return
		}
	}
}
