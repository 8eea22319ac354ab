package main

import "github.com/berth-sched/berth"

// preempt makes room for an urgent job: the gang that runs writes a checkpoint, stops, and goes
// on when the urgent job has ended.
func preempt() {
	o := newOrchestrator()
	o.tell(node("n1"), node("n2"), queue("research"))
	o.tell(job("train", berth.ClassBatch, 2))
	o.until(berth.Time(berth.Hour))
	o.tell(job("chat", berth.ClassLatencyCritical, 1))
	o.until(berth.Time(2 * berth.Hour))
	o.why("train")
	o.tell(berth.JobFinished{Job: "chat", Incarnation: 1})
	o.until(berth.Time(3 * berth.Hour))
}
