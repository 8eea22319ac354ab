package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about gangs that leave their places for others.

// leaver has a job of one GPU run on n1, which is being drained by an instant, and shows that.
func (z *zoo) leaver(by berth.Time, change ...func(*berth.Job)) {
	z.running("a", 1, change...)
	z.tell(berth.NodeDraining{Node: "n1", Deadline: by, Reason: "firmware"})
	z.shown(z.leaves(by))
}

// leaves is the report of that world, with what is set aside.
func (z *zoo) leaves(by berth.Time, list ...berth.ReservationReport) berth.FleetReport {
	gpus := berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 4000, OutOfServiceMilli: 1000}
	return berth.FleetReport{
		Nodes: berth.NodeCount{All: 3, Cordoned: 1}, NodesByFreeGPUs: []int{0, 0, 2}, GPUs: gpus,
		Products:     []berth.ProductCount{{Product: "H100", GPUCount: gpus}},
		Replicas:     berth.ReplicaCount{Running: 1},
		Queues:       []berth.QueueReport{{Queue: "free"}, {Queue: "org", UsedMilli: 1000, LimitMilli: amount(5000)}, {Queue: "q", UsedMilli: 1000, LimitMilli: amount(4000)}},
		Reservations: list,
		Draining:     []berth.DrainReport{{Node: "n1", Reason: "firmware", Deadline: by, MembersLeft: 1, Replicas: []berth.ReplicaRef{{Job: "a"}}}},
	}
}

// shown shows a report that is right.
func (z *zoo) shown(r berth.FleetReport) { require.NoError(z.t, z.against(r)) }

// kept is the report of a place that is kept from now on.
func (z *zoo) kept(id berth.JobID, nodes ...berth.NodeID) berth.ReservationReport {
	r := z.room(id, nodes...)
	r.Moving = true
	return r
}

// asksToLeave asks the job to leave, by a deadline if that is not 0.
func (z *zoo) asksToLeave(by berth.Time) berth.RequestCheckpoint {
	r := berth.RequestCheckpoint{OrderHeader: z.order("a", 5*berth.Minute, berth.CauseDrained), Members: z.bound["a"]}
	if by != 0 {
		r.Deadline = min(r.Deadline, by)
	}
	return r
}

// leavesForN3 has it be asked, with n3 kept for it.
func (z *zoo) leavesForN3(by berth.Time) (berth.RequestCheckpoint, berth.ReservationReport) {
	z.leaver(by, writes)
	r := z.asksToLeave(by)
	kept := z.kept("a", "n3")
	z.pass(r)
	z.shown(z.leaves(by, kept))
	return r, kept
}

// gone has it leave, and returns the report of the fleet in which it waits.
func (z *zoo) gone(request berth.RequestCheckpoint, list ...berth.ReservationReport) berth.FleetReport {
	z.tell(berth.OrderReported{Order: request.ID, Outcome: berth.OutcomeDone})
	stop := z.release("a", berth.CauseDrained, on(0, "n1", 0))
	z.pass(stop)
	z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
	r := z.leaves(0, list...)
	r.GPUs = berth.GPUCount{AllMilli: 6000, FreeMilli: 4000, OutOfServiceMilli: 2000}
	r.Products[0].GPUCount = r.GPUs
	r.Replicas = berth.ReplicaCount{Pending: 1}
	r.Waiting.Capacity = 1
	r.Queues[1].UsedMilli, r.Queues[2].UsedMilli, r.Queues[2].WaitingReplicas = 0, 0, 1
	r.Draining[0].MembersLeft, r.Draining[0].Replicas = 0, nil
	return r
}

// owed has three jobs run that may move, on n1 and n2, and one wait within the guarantee of its
// queue.
func (z *zoo) owed() {
	z.tenants(promised(3), plain)
	z.singles("b1", "wxy", writes)
	z.submit("back", 1, in("a1"))
	require.NoError(z.t, z.against(z.seen("a1", 1, 0)))
}

const soon = berth.Time(berth.Minute)

var leaving = []animal{
	{check.PromiseS6, "somebody leaves a node that nobody drains", func(z *zoo) error {
		z.running("a", 1, writes)
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseS6, "a gang that writes checkpoints is not asked to leave", func(z *zoo) error {
		z.leaver(0, writes)
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseS6, "a gang that writes none is asked to leave", func(z *zoo) error {
		z.leaver(0)
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseS6, "a gang that did not answer when the drain was over is stopped", func(z *zoo) error {
		r, _ := z.leavesForN3(0)
		z.tell(berth.NodeUncordoned{Node: "n1"})
		z.now = r.Deadline
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseS6, "a gang that was asked to leave is stopped when it is cordoned instead", func(z *zoo) error {
		r, _ := z.leavesForN3(0)
		z.tell(berth.NodeCordoned{Node: "n1"})
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseS7, "somebody has to leave for nowhere", func(z *zoo) error {
		z.leaver(0, writes)
		z.pass(z.asksToLeave(0))
		return z.against(z.leaves(0))
	}},
	{check.PromiseS7, "somebody has to leave for a place that is too small", func(z *zoo) error {
		z.running("a", 3, writes)
		z.tell(berth.NodeDraining{Node: "n1", Reason: "firmware"})
		r := z.leaves(0)
		r.GPUs.HeldMilli, r.GPUs.FreeMilli, r.GPUs.OutOfServiceMilli = 3000, 3000, 0
		r.Products[0].GPUCount, r.NodesByFreeGPUs = r.GPUs, []int{0, 1, 1}
		r.Queues[1].UsedMilli, r.Queues[2].UsedMilli, r.Draining[0].MembersLeft = 3000, 3000, 2
		z.shown(r)
		z.pass(z.asksToLeave(0))
		r.Reservations = []berth.ReservationReport{z.kept("a", "n3")}
		return z.against(r)
	}},
	{check.PromiseS7, "a gang that has no more time is let go on", func(z *zoo) error {
		z.leaver(soon, writes)
		r := z.asksToLeave(soon)
		z.pass(r)
		z.shown(z.leaves(soon))
		return z.try(z.takeBack("a", r.ID))
	}},
	{check.PromiseS7, "a request to leave is not withdrawn when the drain is over", func(z *zoo) error {
		z.leavesForN3(0)
		z.tell(berth.NodeUncordoned{Node: "n1"})
		return z.try()
	}},
	{check.PromiseS7, "a request to leave is not withdrawn when the drain was over for a moment", func(z *zoo) error {
		z.leavesForN3(0)
		z.tell(berth.NodeUncordoned{Node: "n1"})
		z.tell(berth.NodeDraining{Node: "n1"})
		return z.try()
	}},
	{check.PromiseS7, "a gang that did not answer goes on while its node is drained", func(z *zoo) error {
		r, _ := z.leavesForN3(0)
		z.now = r.Deadline
		return z.try()
	}},
	{check.PromiseS7, "a gang resumes elsewhere than where its place was kept", func(z *zoo) error {
		r, kept := z.leavesForN3(0)
		waits := z.gone(r, kept)
		waits.Reservations[0].Moving = false
		z.shown(waits)
		b := z.bind("a", on(0, "n2", 0))
		b.Cause.Code, b.Incarnation = berth.CauseResumed, 2
		return z.try(b)
	}},
	{check.PromiseCauses, "a gang resumes that never left", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		b.Cause.Code = berth.CauseResumed
		return z.try(b)
	}},
	{check.PromiseCauses, "a gang resumes where no place was kept", func(z *zoo) error {
		r, _ := z.leavesForN3(0)
		z.shown(z.gone(r))
		b := z.bind("a", on(0, "n3", 0))
		b.Cause.Code, b.Incarnation = berth.CauseResumed, 2
		return z.try(b)
	}},
	{check.PromiseCauses, "somebody leaves a node for somebody", func(z *zoo) error {
		z.leaver(0, writes)
		r := z.asksToLeave(0)
		r.Cause.Beneficiary.Job = "b"
		return z.try(r)
	}},
	{check.PromiseBackoffs, "a gang whose members died resumes before its time", func(z *zoo) error {
		at := z.running("a", 3)
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{{Index: 0}}})
		stop := z.release("a", berth.CauseMemberFailed, at[1:]...)
		z.pass(stop)
		z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
		b := z.bind("a", at...)
		b.Cause.Code, b.Incarnation = berth.CauseResumed, 2
		return z.try(b)
	}},
	{check.PromiseDeadlines, "a checkpoint may take longer than the node is there", func(z *zoo) error {
		z.leaver(soon, writes)
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseS6, "a gang moves for one that is owed nothing, and moves are only proposed", func(z *zoo) error {
		z.full()
		z.pass(z.ask("z", berth.CauseMoved, "high"))
		return z.against(z.seen("a1", 1, 0, z.room("high", "n3"), z.kept("z", "n1")))
	}},
	{check.PromiseS6, "a gang moves for a guarantee, and moves are off", func(z *zoo) error {
		z.owed()
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Defragmentation: berth.Defragmentation{Mode: berth.DefragmentationOff}}})
		return z.try(z.ask("y", berth.CauseMoved, "back"))
	}},
	{check.PromiseS7, "a gang moves for a guarantee, and there is room beside it", func(z *zoo) error {
		z.owed()
		z.pass(z.ask("y", berth.CauseMoved, "back"))
		return z.against(z.seen("a1", 1, 0, z.room("back", "n2"), z.kept("y", "n3")))
	}},
	{check.PromiseIncarnations, "a former life has to leave", func(z *zoo) error {
		z.leaver(0, writes)
		r := z.asksToLeave(0)
		r.Incarnation = 0
		return z.try(r)
	}},
	{check.PromiseReservations, "a place is kept for one that stays", func(z *zoo) error {
		z.leaver(0, writes)
		z.pass()
		return z.against(z.leaves(0, z.kept("a", "n3")))
	}},
	{check.PromiseReservations, "a place is kept where nothing may go", func(z *zoo) error {
		z.leaver(0, writes)
		z.pass(z.asksToLeave(0))
		return z.against(z.leaves(0, z.kept("a", "n1")))
	}},
	{check.PromiseReservations, "a place is kept for too long", func(z *zoo) error {
		z.leaver(0, writes)
		z.pass(z.asksToLeave(0))
		kept := z.kept("a", "n3")
		kept.Until++
		return z.against(z.leaves(0, kept))
	}},
	{check.PromiseReservations, "a place that is kept becomes another", func(z *zoo) error {
		_, kept := z.leavesForN3(0)
		z.now++
		z.pass()
		kept.Nodes = []berth.NodeID{"n2"}
		return z.against(z.leaves(0, kept))
	}},
	{check.PromiseReservations, "a request is withdrawn, and the place kept", func(z *zoo) error {
		r, kept := z.leavesForN3(0)
		z.now++
		z.pass(z.takeBack("a", r.ID))
		return z.against(z.leaves(0, kept))
	}},
	{check.PromiseReservations, "somebody of a higher rank takes the place that is kept", func(z *zoo) error {
		_, kept := z.leavesForN3(0)
		z.submit("b", 1, ahead)
		r := z.leaves(0, kept)
		r.Replicas.Pending, r.Waiting.Capacity, r.Queues[2].WaitingReplicas = 1, 1, 1
		z.shown(r)
		z.pass(z.bind("b", on(0, "n3", 0)))
		r = z.leaves(0, kept)
		r.Replicas.Binding, r.NodesByFreeGPUs = 1, []int{0, 1, 1}
		r.GPUs.HeldMilli, r.GPUs.FreeMilli = 2000, 3000
		r.Products[0].GPUCount = r.GPUs
		r.Queues[1].UsedMilli, r.Queues[2].UsedMilli = 2000, 2000
		return z.against(r)
	}},
	{check.PromiseS3, "the report knows of no drain", func(z *zoo) error {
		z.leaver(0)
		r := z.leaves(0)
		r.Draining = nil
		return z.against(r)
	}},
	{check.PromiseS3, "the report says that a node is empty that is not", func(z *zoo) error {
		z.leaver(0)
		r := z.leaves(0)
		r.Draining[0].MembersLeft, r.Draining[0].Replicas = 0, nil
		return z.against(r)
	}},
	{check.PromiseS3, "the report drains a node for ever", func(z *zoo) error {
		z.leaver(0)
		z.tell(berth.NodeCordoned{Node: "n1"})
		return z.against(z.leaves(0))
	}},
	{check.PromiseL1, "a gang that would fit elsewhere stays on a node that is being drained", func(z *zoo) error {
		z.leaver(0)
		z.pass()
		z.shown(z.leaves(0))
		return z.c.Served()
	}},
	{check.PromiseL1, "a gang that has no more time stays on a node that is being drained", func(z *zoo) error {
		z.leaver(soon, writes)
		for _, n := range []berth.NodeID{"n2", "n3"} {
			z.tell(berth.NodeCordoned{Node: n})
		}
		z.pass()
		return z.c.Served()
	}},
	{check.PromiseL1, "a gang that lost hardware would fit, and no place is kept for it", func(z *zoo) error {
		at := z.running("a", 3)
		z.tell(berth.GPUFailed{Node: "n1", GPU: 0})
		z.pass(z.release("a", berth.CauseHardwareLost, at[1:]...))
		return z.c.Served()
	}},
	{check.PromiseL1, "a gang that lost its other place is still to leave", func(z *zoo) error {
		z.leavesForN3(0)
		z.tell(berth.NodeCordoned{Node: "n2"})
		z.tell(berth.NodeLost{Node: "n3"})
		z.pass()
		r := z.leaves(0)
		r.Nodes, r.NodesByFreeGPUs = berth.NodeCount{All: 2, Cordoned: 2}, nil
		r.GPUs = berth.GPUCount{AllMilli: 4000, HeldMilli: 1000, OutOfServiceMilli: 3000}
		r.Products[0].GPUCount = r.GPUs
		z.shown(r)
		return z.c.Served()
	}},
	{check.PromiseEvents, "a node is drained before all time", func(z *zoo) error {
		return z.c.Applied(z.now, berth.NodeDraining{Node: "n1", Deadline: -1})
	}},
	{check.PromiseEvents, "a node is drained that is not there", func(z *zoo) error {
		return z.c.Applied(z.now, berth.NodeDraining{Node: "n9"})
	}},
}

// TestLeavingRightly: what is right about gangs that leave passes, and was seen.
func TestLeavingRightly(t *testing.T) {
	for name, test := range map[string]func(*zoo) []string{
		"a gang moves": func(z *zoo) []string {
			r, kept := z.leavesForN3(0)
			waits := z.gone(r, kept)
			waits.Reservations[0].Moving = false
			z.shown(waits)
			b := z.bind("a", on(0, "n3", 0))
			b.Cause.Code, b.Incarnation = berth.CauseResumed, 2
			z.pass(b)
			return []string{"leaves for another place", "a place kept for one that is asked", "a place that is kept was judged", "resumed after drained"}
		},
		"a gang that has no place leaves in time": func(z *zoo) []string {
			z.leaver(soon, writes)
			r := z.asksToLeave(soon)
			z.pass(r)
			z.shown(z.leaves(soon))
			require.NoError(t, z.c.Served())
			z.now = r.Deadline
			z.pass(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
			return []string{"has to leave, wherever it may go", "request expired"}
		},
		"a gang that need not leave any more goes on": func(z *zoo) []string {
			r, _ := z.leavesForN3(0)
			z.tell(berth.NodeUncordoned{Node: "n1"})
			z.pass(z.takeBack("a", r.ID))
			return []string{"need not leave any more", "a drain ended"}
		},
		"a gang that has no other place any more goes on": func(z *zoo) []string {
			r, _ := z.leavesForN3(0)
			z.now++
			z.pass(z.takeBack("a", r.ID))
			z.shown(z.leaves(0))
			return []string{"need not leave any more", "a place kept for a gang was given up"}
		},
	} {
		z := newZoo(t)
		for _, what := range test(z) {
			require.Positive(t, z.c.Cases()[what], "%s: %s", name, what)
		}
	}
}
