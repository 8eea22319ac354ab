package core

import (
	"slices"

	"github.com/berth-sched/berth"
)

// BlastRadius tells which jobs a fatal fault on a GPU would take down, as the reports are now: also
// between a report and the pass that acts on it. It refuses a GPU that is not there. Cost:
// O(members on the node x members of their gangs).
func (c *Core) BlastRadius(node berth.NodeID, gpu int) (berth.BlastRadius, error) {
	return c.answer.BlastRadius(node, gpu)
}

// Diff names every difference between an observed world and the core's. Members with an order
// out about them may or may not run, so they are compared only where they are seen. One that was
// reported dead, or not to have started, should not run, also while it keeps its place until the
// next pass. The list is in order of kind, nodes first, then of name. Cost: O(world log world).
func (c *Core) Diff(w berth.World) []berth.Difference { return c.answer.Diff(w) }

// Explain tells where a job stands: for each replica that waits, why, and what would let it
// start. A job that is not known is refused with [berth.ErrUnknown]. Cost: for each distinct
// request that waits for capacity O(domains x conditions of nodes in one x groups + queues), where
// nodes that are alike are in one condition, and a search for victims, for moves and for the
// instant at which it is expected to start; replicas that wait alike are one. What changed since
// the last question is counted first, and the first question about a queue orders what waits there.
func (c *Core) Explain(id berth.JobID) (berth.Explanation, error) { return c.answer.Explain(id) }

// Lost lists what hardware took since the last pass, in the order of the events that told of it
// and then of job and replica: see [berth.Loss]. A pass that begins forgets it, so it is asked for
// before Schedule. Cost: its size.
func (c *Core) Lost() []berth.Loss {
	lost := slices.Clone(c.books.Lost)
	for i := range lost {
		lost[i].Members = slices.Clone(lost[i].Members)
	}
	return lost
}

// Outstanding returns the orders that are given and not reported, by ID. After a restart they
// are to be carried out again, unless they are known to be done. A Bind is without the members that
// are over since it was given, as the core counts on them no more: hardware took them, and others
// may have their places by now; their GPU did not become what they need; or they were reported
// dead. If none is left, there is nothing to start, and any report will do. What another order
// names and is gone since needs neither a stop nor a checkpoint. [berth.Drop], [berth.Withdraw]
// and [berth.WarnIdle] have no report, and are never among them.
func (c *Core) Outstanding() []berth.Order { return c.gpus.Outstanding() }

// Report describes the fleet as it is now. Cost: O(nodes + members that hold something + queues +
// waiting work by queue and request). Of requests that differ it looks at those alone that no
// easier one stands for.
func (c *Core) Report() berth.FleetReport { return c.answer.Report() }
