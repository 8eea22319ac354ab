package main

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// gangs starts a gang whole, says why a job waits, and starts that when there is room.
func gangs() {
	o := newOrchestrator()
	o.tell(node("n1"), node("n2"), queue("research"))
	o.tell(job("train", berth.ClassBatch, 2), job("tune", berth.ClassBatch, 1))
	o.until(berth.Time(berth.Minute))
	o.why("tune")
	o.tell(berth.JobFinished{Job: "train", Incarnation: 1})
	o.until(berth.Time(2 * berth.Minute))
}

// node is the arrival of a node with four GPUs.
func node(id berth.NodeID) berth.Event {
	gpus := berth.EqualGPUs(4, berth.GPU{Product: "H100-80GB", MemoryMiB: 81559})
	return berth.NodeJoined{Node: berth.Node{ID: id, GPUs: gpus}}
}

func queue(name berth.QueueID) berth.Event {
	return berth.QueueSet{Queue: quota.Queue{Name: name}}
}

// job is the submission of a gang: so many members with four GPUs each, which are placed all
// together or not at all. It writes a checkpoint when it is asked to.
func job(id berth.JobID, class berth.Class, members int) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "research", Class: class,
		Groups:     []berth.Group{{Members: members, Claim: berth.WholeGPUs(4)}},
		Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Minute},
	}}
}
