package check_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about victims.

// grace is for how long room is made at the most, by the default policy.
const grace = 5*berth.Minute + 3*berth.Minute + 30*berth.Minute

// singles has so many jobs of one GPU each run in a queue, named by letters, on the next
// GPUs that are free.
func (z *zoo) singles(queue berth.QueueID, names string, change ...func(*berth.Job)) {
	for _, name := range names {
		at := six(6)[len(z.used)]
		at.Index = 0
		id := berth.JobID(name)
		z.submit(id, 1, append([]func(*berth.Job){in(queue)}, change...)...)
		b := z.bind(id, at)
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.used = append(z.used, queue)
		z.places[id] = at
	}
}

// duo has a gang of two members run on a node.
func (z *zoo) duo(queue berth.QueueID, node berth.NodeID, change ...func(*berth.Job)) {
	z.submit("duo", 2, append([]func(*berth.Job){in(queue)}, change...)...)
	b := z.bind("duo", on(0, node, 0), on(1, node, 1))
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	z.used = append(z.used, queue, queue)
	z.places["duo"] = on(0, node, 0)
}

// gangs is the report of a full fleet with so many that wait in a1, run, and are stopped.
func (z *zoo) gangs(waiting, running, releasing int, list ...berth.ReservationReport) berth.FleetReport {
	r := z.seen("a1", waiting, 0, list...)
	r.Replicas.Running, r.Replicas.Releasing = running, releasing
	return r
}

func writes(j *berth.Job)  { j.Checkpoint.Supported = true }
func ahead(j *berth.Job)   { j.Priority = 1 }
func serving(j *berth.Job) { j.Class = berth.ClassLatencyCritical }

// seen is the report of the fleet as singles left it, in which so many wait in a queue.
func (z *zoo) seen(queue berth.QueueID, waiting, releasing int, list ...berth.ReservationReport) berth.FleetReport {
	held := len(z.used)
	gpus := berth.GPUCount{AllMilli: 6000, HeldMilli: int64(1000 * held), FreeMilli: int64(6000 - 1000*held)}
	r := berth.FleetReport{
		Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{held / 2, held % 2, 3 - (held+1)/2}, GPUs: gpus,
		Products: []berth.ProductCount{{Product: "H100", GPUCount: gpus}},
		Replicas: berth.ReplicaCount{Pending: waiting, Running: held - releasing, Releasing: releasing},
		Waiting:  berth.WaitingCount{Capacity: waiting}, Reservations: list,
	}
	for len(r.NodesByFreeGPUs) > 1 && r.NodesByFreeGPUs[len(r.NodesByFreeGPUs)-1] == 0 {
		r.NodesByFreeGPUs = r.NodesByFreeGPUs[:len(r.NodesByFreeGPUs)-1]
	}
	queues := map[string]*berth.QueueReport{"free": {}, "org": {LimitMilli: amount(5000)}, "q": {LimitMilli: amount(4000)}}
	for name := range z.queues {
		queues[name] = &berth.QueueReport{}
	}
	queues[string(queue)].WaitingReplicas = waiting
	for _, leaf := range z.used {
		for at := string(leaf); at != ""; at = string(z.queues[at].Parent) {
			queues[at].UsedMilli += 1000
		}
	}
	for name, q := range queues {
		q.Queue = berth.QueueID(name)
		r.Queues = append(r.Queues, *q)
	}
	slices.SortFunc(r.Queues, func(a, b berth.QueueReport) int { return compareNames(a.Queue, b.Queue) })
	return r
}

func compareNames(a, b berth.QueueID) int {
	if a < b {
		return -1
	}
	return 1
}

// room is the report of a reservation of a gang for which room is made from now on.
func (z *zoo) room(id berth.JobID, nodes ...berth.NodeID) berth.ReservationReport {
	return berth.ReservationReport{Job: id, From: z.now, Until: z.now.Add(grace), Nodes: nodes}
}

// because is an order for an eviction.
func (z *zoo) because(id berth.JobID, timeout berth.Duration, cause berth.CauseCode, to berth.JobID) berth.OrderHeader {
	o := z.order(id, timeout, cause)
	o.Cause.Beneficiary.Job = to
	return o
}

func (z *zoo) ask(id berth.JobID, cause berth.CauseCode, to berth.JobID) berth.RequestCheckpoint {
	return berth.RequestCheckpoint{OrderHeader: z.because(id, 5*berth.Minute, cause, to), Members: z.bound[id]}
}

func (z *zoo) stop(id berth.JobID, cause berth.CauseCode, to berth.JobID) berth.Release {
	return berth.Release{OrderHeader: z.because(id, berth.Minute, cause, to), Members: []berth.MemberPlacement{z.places[id]}, Attempt: 1}
}

func (z *zoo) takeBack(id berth.JobID, request berth.OrderID) berth.Withdraw {
	w := berth.Withdraw{OrderHeader: z.order(id, 0, berth.CauseNotNeeded), Request: request}
	w.Deadline = 0
	return w
}

// full has six jobs that write checkpoints run in a1, and one of priority come.
func (z *zoo) full(change ...func(*berth.Job)) {
	z.tenants(plain, plain)
	z.singles("a1", "uvwxyz", append([]func(*berth.Job){writes}, change...)...)
	z.submit("high", 1, in("a1"), ahead)
	require.NoError(z.t, z.against(z.seen("a1", 1, 0)))
}

// asked has one of the six be asked for a checkpoint, and returns the request.
func (z *zoo) asked() berth.RequestCheckpoint {
	z.full()
	r := z.ask("z", berth.CausePreempted, "high")
	z.pass(r)
	require.NoError(z.t, z.against(z.seen("a1", 1, 0, z.room("high", "n3"))))
	return r
}

// lent has four jobs run in b1 and two in a1, and one of a1 wait.
func (z *zoo) lent(a, b func(*quota.Queue), change ...func(*berth.Job)) {
	z.tenants(a, b)
	z.singles("b1", "wxyz", change...)
	z.singles("a1", "uv")
	z.submit("back", 1, in("a1"))
	require.NoError(z.t, z.against(z.seen("a1", 1, 0)))
}

var evictions = []animal{
	{check.PromiseS6, "a gang that writes checkpoints is not asked for one", func(z *zoo) error {
		z.full()
		return z.try(z.stop("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "a gang that writes none is asked for one", func(z *zoo) error {
		z.full(func(j *berth.Job) { j.Checkpoint.Supported = false })
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "somebody is evicted for its equal", func(z *zoo) error {
		z.full(ahead)
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "what is latency-critical is evicted for its own queue", func(z *zoo) error {
		z.full(serving)
		z.submit("higher", 1, in("a1"), serving, ahead)
		return z.try(z.ask("z", berth.CausePreempted, "higher"))
	}},
	{check.PromiseS6, "somebody is evicted before its time", func(z *zoo) error {
		z.full(func(j *berth.Job) { j.MinRuntime = berth.Minute })
		z.now = berth.Time(berth.Minute) - 1
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "somebody is evicted before the policy says so", func(z *zoo) error {
		z.full()
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{MinRuntime: 1}}})
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "somebody is evicted though nobody shall", func(z *zoo) error {
		z.full()
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionOff}}})
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "somebody is evicted for its queue where only what was lent is taken back", func(z *zoo) error {
		z.full()
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionReclaim}}})
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseCauses, "a gang on its way out is evicted", func(z *zoo) error {
		z.full()
		z.tell(berth.JobCancelled{Job: "z"})
		z.pass(z.release("z", berth.CauseCancelled, z.places["z"]))
		z.tell(berth.OrderReported{Order: z.next - 1, Outcome: berth.OutcomeFailed})
		z.now = z.now.Add(berth.Minute)
		return z.try(z.stop("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "a victim that is one no more is stopped", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		z.pass(z.takeBack("z", r.ID))
		return z.try(z.stop("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "a gang that answered when nobody needed its place is stopped", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		return z.try(z.stop("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS6, "a gang that did not answer when nobody needed its place is stopped", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		z.now = r.Deadline
		return z.try(z.stop("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseOrders, "a gang that was asked is stopped before it answers", func(z *zoo) error {
		r := z.asked()
		z.now = r.Deadline - 1
		return z.try(z.stop("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseOrders, "a gang that has answered is not stopped", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed})
		return z.try()
	}},
	{check.PromiseOrders, "a request is withdrawn that is not out", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		return z.try(z.takeBack("z", r.ID-1))
	}},
	{check.PromiseS7, "somebody is evicted for one that runs", func(z *zoo) error {
		z.full()
		return z.try(z.ask("z", berth.CausePreempted, "y"))
	}},
	{check.PromiseS7, "a beneficiary has no reservation", func(z *zoo) error {
		z.full()
		z.pass(z.ask("z", berth.CausePreempted, "high"))
		return z.against(z.seen("a1", 1, 0))
	}},
	{check.PromiseS7, "a beneficiary has a reservation that is too short", func(z *zoo) error {
		z.full()
		z.pass(z.ask("z", berth.CausePreempted, "high"))
		r := z.room("high", "n3")
		r.Until--
		return z.against(z.seen("a1", 1, 0, r))
	}},
	{check.PromiseS7, "the victims are too few", func(z *zoo) error {
		z.full()
		z.submit("wide", 2, in("a1"), ahead)
		require.NoError(z.t, z.against(z.seen("a1", 2, 0)))
		z.pass(z.ask("z", berth.CausePreempted, "wide"))
		return z.against(z.seen("a1", 2, 0, z.room("wide", "n2", "n3")))
	}},
	{check.PromiseS7, "the victims stand elsewhere", func(z *zoo) error {
		z.full()
		z.pass(z.ask("z", berth.CausePreempted, "high"))
		return z.against(z.seen("a1", 1, 0, z.room("high", "n1")))
	}},
	{check.PromiseS7, "one of the victims is too many", func(z *zoo) error {
		z.full()
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Gain: berth.GainPolicy{IgnoreCost: true}}}})
		require.NoError(z.t, z.against(z.seen("a1", 1, 0)))
		z.pass(z.ask("y", berth.CausePreempted, "high"), z.ask("z", berth.CausePreempted, "high"))
		return z.against(z.seen("a1", 1, 0, z.room("high", "n3")))
	}},
	{check.PromiseS7, "a small job stops a large gang", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{MaxRatio: 1}}})
		z.tenants(plain, plain)
		z.duo("a1", "n1")
		z.singles("a1", "wxyz", writes)
		z.submit("high", 1, in("a1"), ahead)
		require.NoError(z.t, z.against(z.gangs(1, 5, 0)))
		stop := z.stop("duo", berth.CausePreempted, "high")
		stop.Members = append(stop.Members, on(1, "n1", 1))
		z.pass(stop)
		return z.against(z.gangs(1, 4, 1, z.room("high", "n1")))
	}},
	{check.PromiseS7, "a request is withdrawn that is needed", func(z *zoo) error {
		r := z.asked()
		kept := z.room("high", "n3")
		z.pass(z.takeBack("z", r.ID))
		return z.against(z.seen("a1", 1, 0, kept))
	}},
	{check.PromiseS7, "a request is not withdrawn that nobody needs", func(z *zoo) error {
		z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		return z.try()
	}},
	{check.PromiseS7, "a request is not withdrawn when the reservation is over", func(z *zoo) error {
		z.asked()
		z.tell(berth.NodeCordoned{Node: "n1"})
		r := z.seen("a1", 1, 0)
		r.Nodes.Cordoned, r.NodesByFreeGPUs = 1, []int{2}
		require.NoError(z.t, z.against(r))
		return z.try()
	}},
	{check.PromiseS7, "a gang that does not answer goes on", func(z *zoo) error {
		r := z.asked()
		kept := z.room("high", "n3")
		z.now = r.Deadline
		z.pass()
		return z.against(z.seen("a1", 1, 0, kept))
	}},
	{check.PromiseS7, "a gang starts elsewhere than where room was made", func(z *zoo) error {
		z.asked()
		z.tell(berth.JobFinished{Job: "u", Incarnation: 1})
		r := z.seen("a1", 1, 0, z.room("high", "n3"))
		r.GPUs.HeldMilli, r.GPUs.FreeMilli, r.NodesByFreeGPUs, r.Replicas.Running = 5000, 1000, []int{2, 1}, 5
		r.Products[0].GPUCount = r.GPUs
		r.Queues[0].UsedMilli, r.Queues[1].UsedMilli = 5000, 5000
		require.NoError(z.t, z.against(r))
		b := z.bind("high", on(0, "n1", 0))
		b.Cause.Code = berth.CauseVictimsGone
		return z.try(b)
	}},
	{check.PromiseReservations, "somebody slips in where room is made", func(z *zoo) error {
		r := z.asked()
		kept := z.room("high", "n3")
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		require.NoError(z.t, z.against(z.seen("a1", 1, 1, kept)))
		stop := z.stop("z", berth.CausePreempted, "high")
		z.pass(stop)
		z.used = z.used[:5]
		z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
		require.NoError(z.t, z.against(z.seen("a1", 2, 0, kept)))
		b := z.bind("z", on(0, "n3", 1))
		b.Incarnation = 2
		z.pass(b)
		z.used = append(z.used, "a1")
		report := z.seen("a1", 1, 0, kept)
		report.Replicas.Running, report.Replicas.Binding = 5, 1
		return z.against(report)
	}},
	{check.PromiseReservations, "a gang that gave back takes its place again by its class", func(z *zoo) error {
		z.lent(promised(2), plain, serving)
		z.queue("a", "", promised(3))
		require.NoError(z.t, z.against(z.seen("a1", 1, 0)))
		kept, stop := z.room("back", "n2"), z.stop("z", berth.CauseReclaimed, "back")
		z.pass(stop)
		require.NoError(z.t, z.against(z.seen("a1", 1, 1, kept)))
		z.used = z.used[1:]
		z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
		report := z.seen("a1", 1, 0, kept)
		report.NodesByFreeGPUs, report.Replicas.Pending, report.Waiting.Capacity = []int{2, 1}, 2, 2
		report.Queues[slices.IndexFunc(report.Queues, func(q berth.QueueReport) bool { return q.Queue == "b1" })].WaitingReplicas = 1
		require.NoError(z.t, z.against(report))
		b := z.bind("z", z.places["z"])
		b.Incarnation = 2
		z.pass(b)
		z.used = append(z.used, "b1")
		report = z.seen("a1", 1, 0, kept)
		report.Replicas.Running, report.Replicas.Binding = 5, 1
		return z.against(report)
	}},
	{check.PromiseCauses, "no beneficiary is named", func(z *zoo) error {
		z.full()
		return z.try(z.ask("z", berth.CausePreempted, ""))
	}},
	{check.PromiseCauses, "a beneficiary without a victim is named", func(z *zoo) error {
		z.full()
		z.tell(berth.JobCancelled{Job: "z"})
		return z.try(berth.Release{OrderHeader: z.because("z", berth.Minute, berth.CauseCancelled, "high"), Members: []berth.MemberPlacement{z.places["z"]}, Attempt: 1})
	}},
	{check.PromiseCauses, "what was lent is taken back inside a queue", func(z *zoo) error {
		z.full()
		return z.try(z.ask("z", berth.CauseReclaimed, "high"))
	}},
	{check.PromiseCauses, "a priority takes from another queue", func(z *zoo) error {
		z.lent(promised(3), plain)
		return z.try(z.stop("z", berth.CausePreempted, "back"))
	}},
	{check.PromiseCauses, "a victim is stopped for another beneficiary", func(z *zoo) error {
		r := z.asked()
		z.submit("other", 1, in("a1"), ahead)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		return z.try(z.stop("z", berth.CausePreempted, "other"))
	}},
	{check.PromiseCauses, "a gang starts where no room was made", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		b.Cause.Code = berth.CauseVictimsGone
		return z.try(b)
	}},
	{check.PromiseCauses, "a request is withdrawn on a whim", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		w := z.takeBack("z", r.ID)
		w.Cause.Code = "whim"
		return z.try(w)
	}},
	{check.PromiseDeadlines, "a request is due too late", func(z *zoo) error {
		z.full()
		r := z.ask("z", berth.CausePreempted, "high")
		r.Deadline++
		return z.try(r)
	}},
	{check.PromiseDeadlines, "a withdrawal is due", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		w := z.takeBack("z", r.ID)
		w.Deadline = z.now + 1
		return z.try(w)
	}},
	{check.PromiseIncarnations, "the request to a former life is withdrawn", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		w := z.takeBack("z", r.ID)
		w.Incarnation = 0
		return z.try(w)
	}},
	{check.PromiseIncarnations, "a former life is asked", func(z *zoo) error {
		z.full()
		r := z.ask("z", berth.CausePreempted, "high")
		r.Incarnation = 0
		return z.try(r)
	}},
	{check.PromiseEvents, "half a checkpoint is accepted", func(z *zoo) error {
		r := z.asked()
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{}}})
	}},
	{check.PromiseS9, "the report of a request that was withdrawn is accepted", func(z *zoo) error {
		r := z.asked()
		z.tell(berth.JobCancelled{Job: "high"})
		z.pass(z.takeBack("z", r.ID))
		return z.c.Applied(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	}},
	{check.PromiseR5, "the report of a request is refused", func(z *zoo) error {
		r := z.asked()
		return z.c.Rejected(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeFailed}, refusal("orderReported", berth.ErrInvalid))
	}},
	{check.PromiseS4, "what a queue is guaranteed is taken", func(z *zoo) error {
		z.lent(promised(3), promised(4))
		return z.try(z.stop("z", berth.CauseReclaimed, "back"))
	}},
	{check.PromiseS4, "what runs is taken on account of what is being started", func(z *zoo) error {
		z.lent(promised(3), promised(1))
		z.tell(berth.JobCancelled{Job: "y"})
		z.tell(berth.JobCancelled{Job: "z"})
		z.pass(z.release("y", berth.CauseCancelled, z.places["y"]), z.release("z", berth.CauseCancelled, z.places["z"]))
		z.submit("starts", 1, in("b1"))
		z.tell(berth.OrderReported{Order: z.next - 1, Outcome: berth.OutcomeDone})
		z.pass(z.bind("starts", z.places["z"]))
		z.pass(z.stop("w", berth.CauseReclaimed, "back"))
		return z.try(z.stop("x", berth.CauseReclaimed, "back"))
	}},
	{check.PromiseS4, "what runs is taken on account of what is planned", func(z *zoo) error {
		z.lent(promised(3), promised(1))
		z.submit("high", 3, in("b1"), ahead)
		z.pass(z.stop("w", berth.CausePreempted, "high"), z.stop("x", berth.CausePreempted, "high"), z.stop("y", berth.CausePreempted, "high"))
		return z.try(z.stop("z", berth.CauseReclaimed, "back"))
	}},
	{check.PromiseS4, "what a queue above is guaranteed is taken", func(z *zoo) error {
		z.lent(promised(3), promised(3))
		z.queue("b1", "b", promised(1))
		return z.try(z.stop("y", berth.CauseReclaimed, "back"), z.stop("z", berth.CauseReclaimed, "back"))
	}},
	{check.PromiseS4, "what is due to a queue is taken as a whole", func(z *zoo) error {
		z.tenants(promised(3), promised(3))
		z.duo("b1", "n1", ahead)
		z.singles("b1", "yz")
		z.singles("a1", "uv")
		z.submit("back", 1, in("a1"))
		require.NoError(z.t, z.against(z.gangs(1, 5, 0)))
		stop := z.stop("duo", berth.CauseReclaimed, "back")
		stop.Members = append(stop.Members, on(1, "n1", 1))
		return z.try(stop)
	}},
	{check.PromiseL1, "a guarantee waits for ever that two could make room for", func(z *zoo) error {
		z.queue("own", "", promised(2))
		z.queue("rich", "", promised(4))
		z.singles("rich", "uvwxyz")
		z.now = z.now.Add(berth.Hour)
		z.submit("back", 2, in("own"))
		z.pass()
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseGain, "work that is not saved is stopped for a guarantee at once", func(z *zoo) error {
		z.lent(promised(3), promised(3))
		z.calm(berth.Preemption{})
		z.pass(z.stop("z", berth.CauseReclaimed, "back"))
		return z.against(z.seen("a1", 1, 1, z.room("back", "n2")))
	}},
	{check.PromiseS4, "own and lent victims are mixed", func(z *zoo) error {
		z.lent(promised(3), plain)
		z.submit("wide", 2, in("a1"), ahead)
		require.NoError(z.t, z.against(z.seen("a1", 2, 0)))
		z.pass(z.stop("v", berth.CausePreempted, "wide"), z.stop("z", berth.CauseReclaimed, "wide"))
		return z.against(z.seen("a1", 2, 2, z.room("wide", "n2", "n3")))
	}},
	{check.PromiseS4, "a queue takes back more than its share", func(z *zoo) error {
		z.lent(promised(1), plain, func(j *berth.Job) {})
		z.queue("b", "", promised(3))
		z.submit("more", 2, in("a1"))
		require.NoError(z.t, z.against(z.seen("a1", 2, 0)))
		z.pass(z.stop("z", berth.CauseReclaimed, "more"))
		return z.against(z.seen("a1", 2, 1, z.room("more", "n2")))
	}},
}

// TestEvictsRightly: what is right about victims passes, and was seen.
func TestEvictsRightly(t *testing.T) {
	for name, test := range map[string]func(*zoo) []string{
		"a gang that has answered makes room": func(z *zoo) []string {
			r := z.asked()
			kept := z.room("high", "n3")
			z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
			stop := z.stop("z", berth.CausePreempted, "high")
			z.pass(stop)
			require.NoError(t, z.against(z.seen("a1", 1, 1, kept)))
			z.used = z.used[:5]
			z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
			require.NoError(t, z.against(z.seen("a1", 2, 0, kept)))
			b := z.bind("high", on(0, "n3", 1))
			b.Cause.Code = berth.CauseVictimsGone
			z.pass(b)
			return []string{"checkpoint requested", "request done", "preempted", "room is enough", "none of the victims could be spared", "started where room was made"}
		},
		"a gang that did not answer is stopped": func(z *zoo) []string {
			r := z.asked()
			kept := z.room("high", "n3")
			z.now = r.Deadline
			z.pass(z.stop("z", berth.CausePreempted, "high"))
			require.NoError(t, z.against(z.seen("a1", 1, 1, kept)))
			return []string{"request expired"}
		},
		"a gang that did not answer goes on when nobody needs its place": func(z *zoo) []string {
			r := z.asked()
			z.tell(berth.JobCancelled{Job: "high"})
			z.now = r.Deadline
			z.pass()
			require.NoError(t, z.against(z.seen("a1", 0, 0)))
			return []string{"request expired in vain", "room made for one that was cancelled"}
		},
		"a victim that is one no more is told": func(z *zoo) []string {
			r := z.asked()
			z.tell(berth.JobCancelled{Job: "high"})
			z.pass(z.takeBack("z", r.ID))
			require.NoError(t, z.against(z.seen("a1", 0, 0)))
			require.NoError(t, z.c.Rejected(z.now, berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone}, refusal("orderReported", berth.ErrStale)))
			return []string{"request withdrawn", "stale report of a request that was withdrawn"}
		},
		"a victim that ends meanwhile makes room as well": func(z *zoo) []string {
			z.asked()
			z.tell(berth.JobFinished{Job: "z", Incarnation: 1})
			b := z.bind("high", on(0, "n3", 1))
			b.Cause.Code = berth.CauseVictimsGone
			z.pass(b)
			return []string{"finished while asked"}
		},
		"what was lent is taken back": func(z *zoo) []string {
			z.lent(promised(3), promised(3))
			z.pass(z.stop("z", berth.CauseReclaimed, "back"))
			require.NoError(t, z.against(z.seen("a1", 1, 1, z.room("back", "n2"))))
			return []string{
				"reclaimed", "stopped without a checkpoint", "what is taken back leaves the guarantees",
				"what is taken back is for a queue within its share", "none of the victims could be spared",
			}
		},
	} {
		z := newZoo(t)
		for _, what := range test(z) {
			require.Positive(t, z.c.Cases()[what], "%s: %s", name, what)
		}
	}
}
