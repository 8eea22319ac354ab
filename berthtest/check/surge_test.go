package check_test

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about services of which a replica starts before another
// stops.

// surges has a job be a service of so many replicas with a surge of one.
func surges(replicas int) func(*berth.Job) {
	return func(j *berth.Job) { j.Service = &berth.Service{Replicas: replicas, Surge: 1} }
}

// served has a service of so many replicas run on n1, one GPU each, which is drained by an instant.
func (z *zoo) served(replicas int, by berth.Time, change ...func(*berth.Job)) {
	z.submit("a", 1, append(change, surges(replicas))...)
	for i := range replicas {
		b := z.bind("a", on(0, "n1", i))
		b.Replica = i
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	}
	z.tell(berth.NodeDraining{Node: "n1", Deadline: by, Reason: "firmware"})
}

// standIn starts a replica in the place of another, on a GPU of n2.
func (z *zoo) standIn(number, instead, gpu int) berth.Bind {
	b := z.bind("a", on(0, "n2", gpu))
	b.Replica, b.Cause.Code, b.Instead = number, berth.CauseSurge, berth.ReplicaRef{Job: "a", Replica: instead}
	return b
}

// relieved has the replica 1 start in the place of the replica 0, and run.
func (z *zoo) relieved() berth.Bind {
	z.served(1, 0)
	b := z.standIn(1, 0, 0)
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	return b
}

var surging = []animal{
	{check.PromiseSurge, "a replica leaves before another runs", func(z *zoo) error {
		z.served(1, 0)
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseSurge, "a replica is asked to leave before another runs", func(z *zoo) error {
		z.served(1, 0, writes)
		z.bound["a"] = []berth.MemberPlacement{on(0, "n1", 0)}
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseSurge, "a replica leaves while another is being started", func(z *zoo) error {
		z.served(1, 0)
		z.pass(z.standIn(1, 0, 0))
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseS6, "a replica is relieved by another that does not run yet", func(z *zoo) error {
		z.served(1, 0)
		z.pass(z.standIn(1, 0, 0))
		return z.try(z.release("a", berth.CauseSurge, on(0, "n1", 0)))
	}},
	{check.PromiseSurge, "two start in the place of one", func(z *zoo) error {
		z.served(1, 0)
		return z.try(z.standIn(1, 0, 0), z.standIn(2, 0, 1))
	}},
	{check.PromiseSurge, "more start than may", func(z *zoo) error {
		z.served(2, 0)
		return z.try(z.standIn(2, 0, 0), z.standIn(3, 1, 1))
	}},
	{check.PromiseSurge, "one starts in the place of a replica that need not leave", func(z *zoo) error {
		z.served(1, 0)
		z.tell(berth.NodeUncordoned{Node: "n1"})
		return z.try(z.standIn(1, 0, 0))
	}},
	{check.PromiseSurge, "one starts in the place of a replica that has to go now", func(z *zoo) error {
		z.served(1, soon)
		return z.try(z.standIn(1, 0, 0))
	}},
	{check.PromiseSurge, "one starts in the place of nobody", func(z *zoo) error {
		z.served(1, 0)
		return z.try(z.standIn(1, 5, 0))
	}},
	{check.PromiseSurge, "one starts in the place of a job that has no surge", func(z *zoo) error {
		z.running("a", 1)
		z.tell(berth.NodeDraining{Node: "n1"})
		return z.try(z.standIn(1, 0, 0))
	}},
	{check.PromiseSurge, "a replica that waited is started in the place of another", func(z *zoo) error {
		z.submit("a", 1, surges(1))
		b := z.bind("a", on(0, "n2", 0))
		b.Instead = berth.ReplicaRef{Job: "a"}
		return z.try(b)
	}},
	{check.PromiseOrders, "one starts with a number that is not the lowest", func(z *zoo) error {
		z.served(1, 0)
		return z.try(z.standIn(2, 0, 0))
	}},
	{check.PromiseBackoffs, "one starts right after one that failed", func(z *zoo) error {
		z.served(1, 0)
		b := z.standIn(1, 0, 0)
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeFailed})
		again := z.standIn(1, 0, 1)
		again.Incarnation = 2
		return z.try(again)
	}},
	{check.PromiseIncarnations, "the next one has the life of one that failed", func(z *zoo) error {
		z.served(1, 0)
		b := z.standIn(1, 0, 0)
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeFailed})
		z.now = z.now.Add(berth.Hour)
		return z.try(z.standIn(1, 0, 1))
	}},
	{check.PromiseSelectors, "one starts on the node that is drained", func(z *zoo) error {
		z.served(1, 0)
		b := z.standIn(1, 0, 0)
		b.Members = []berth.MemberPlacement{on(0, "n1", 1)}
		return z.try(b)
	}},
	{check.PromiseLimits, "one starts beyond the limit of its queue", func(z *zoo) error {
		z.served(1, 0)
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.GPUs(1)}})
		return z.try(z.standIn(1, 0, 0))
	}},
	{check.PromiseOrders, "a replica stays though another runs in its place", func(z *zoo) error {
		z.relieved()
		return z.try()
	}},
	{check.PromiseCauses, "a replica leaves because of the drain though another runs in its place", func(z *zoo) error {
		z.relieved()
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseOrders, "one stays that is not needed any more", func(z *zoo) error {
		z.served(1, 0)
		z.pass(z.standIn(1, 0, 0))
		z.tell(berth.NodeUncordoned{Node: "n1"})
		return z.try()
	}},
	{check.PromiseOrders, "a replica comes back that another runs in the place of", func(z *zoo) error {
		z.relieved()
		r := z.release("a", berth.CauseSurge, on(0, "n1", 0))
		z.pass(r)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		b := z.bind("a", on(0, "n3", 0))
		b.Incarnation = 2
		return z.try(b)
	}},
	{check.PromiseL1, "nobody starts though there is room", func(z *zoo) error {
		z.served(1, 0)
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "org"}})
		z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org"}})
		z.pass()
		return z.c.Served()
	}},
}
