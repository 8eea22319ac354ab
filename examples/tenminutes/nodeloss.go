package main

import "github.com/berth-sched/berth"

// nodeLoss loses a node under a gang: what is left of the gang stops, and all of it starts
// again with another node. The second loss has no replacement until a node joins.
func nodeLoss() {
	o := newOrchestrator()
	o.tell(node("n1"), node("n2"), node("n3"), queue("research"))
	o.tell(job("train", berth.ClassBatch, 2))
	o.until(berth.Time(berth.Hour))
	o.tell(berth.NodeLost{Node: "n1", Reason: "no heartbeat"})
	o.until(berth.Time(2 * berth.Hour))
	o.tell(berth.NodeLost{Node: "n2", Reason: "no heartbeat"})
	o.until(berth.Time(3 * berth.Hour))
	o.why("train")
	o.tell(node("n1"))
	o.until(berth.Time(4 * berth.Hour))
}
