package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about gangs that grow at the cost of others.

// small has a gang of queue "own", which is guaranteed so many GPUs, run with one member of four,
// and five jobs of one GPU each beside it in a queue.
func (z *zoo) small(guarantee int64, queue berth.QueueID) {
	z.queue("own", "", func(q *quota.Queue) { q.Guarantee = quota.Amounts{quota.GPUMilli: 1000 * guarantee} })
	z.queue("other", "")
	z.submit("wide", 4, in("own"), ahead, func(j *berth.Job) { j.Groups[0].MinMembers = 1 })
	b := z.bind("wide", on(0, "n1", 0))
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	z.used = append(z.used, "own")
	z.singles(queue, "vwxyz")
	require.NoError(z.t, z.against(z.growing()))
}

// growing is the report of the fleet in which the gang lacks members, and nothing else waits.
func (z *zoo) growing(list ...berth.ReservationReport) berth.FleetReport {
	r := z.seen("own", 1, 0, list...)
	r.Replicas.Pending, r.Replicas.Running = 0, len(z.used)
	return r
}

// wider is the report of the reservation of a gang that is to get further members.
func (z *zoo) wider(members int, nodes ...berth.NodeID) berth.ReservationReport {
	r := z.room("wide", nodes...)
	r.Members = members
	return r
}

// stopFor has jobs stop for the gang that grows, and holds a report against that in which it is to
// get so many members.
func (z *zoo) stopFor(members int, victims ...berth.JobID) (stops []berth.Order, err error) {
	for _, id := range victims {
		stops = append(stops, z.stop(id, berth.CauseReclaimed, "wide"))
	}
	z.pass(stops...)
	r := z.growing(z.wider(members, "n3"))
	r.Replicas.Running, r.Replicas.Releasing = 6-len(victims), len(victims)
	return stops, z.against(r)
}

var grows = []animal{
	{check.PromiseS6, "a gang grows at the cost of its own queue", func(z *zoo) error {
		z.small(6, "own")
		return z.try(z.stop("z", berth.CausePreempted, "wide"))
	}},
	{check.PromiseS7, "a gang grows at the cost of others, and lacks nothing", func(z *zoo) error {
		z.small(4, "other")
		return z.try(z.stop("z", berth.CauseReclaimed, "y"))
	}},
	{check.PromiseS4, "a gang grows at the cost of others beyond its guarantee", func(z *zoo) error {
		z.small(2, "other")
		_, err := z.stopFor(2, "y", "z")
		return err
	}},
	{check.PromiseS7, "nobody knows how many members a gang is to get", func(z *zoo) error {
		z.small(4, "other")
		_, err := z.stopFor(0, "z")
		return err
	}},
	{check.PromiseS7, "more go for a gang than it is to get", func(z *zoo) error {
		z.small(4, "other")
		_, err := z.stopFor(1, "y", "z")
		return err
	}},
	{check.PromiseS7, "a gang gets fewer members than room was made for", func(z *zoo) error {
		z.widened(2)
		b := z.bind("wide", on(1, "n3", 0))
		b.Cause.Code = berth.CauseVictimsGone
		return z.try(b)
	}},
	{check.PromiseReservations, "nodes are set aside for a gang that runs, and nobody goes for it", func(z *zoo) error {
		z.small(4, "other")
		z.pass()
		return z.against(z.growing(z.wider(1, "n3")))
	}},
	{check.PromiseL1, "a gang stays small, and its queue is owed more", func(z *zoo) error {
		z.small(4, "other")
		return z.c.Quiescent(z.now)
	}},
}

// widened has the last victims of the gang that grows be gone, by so many.
func (z *zoo) widened(victims int) {
	z.small(4, "other")
	stops, err := z.stopFor(victims, []berth.JobID{"y", "z"}[2-victims:]...)
	require.NoError(z.t, err)
	for _, o := range stops {
		z.tell(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
	}
	z.used = z.used[:len(z.used)-victims]
	r := z.growing(z.wider(victims, "n3"))
	r.Replicas.Pending = victims
	r.Waiting.Capacity += victims
	for i := range r.Queues {
		if r.Queues[i].Queue == "other" {
			r.Queues[i].WaitingReplicas = victims
		}
	}
	require.NoError(z.t, z.against(r))
}

// TestGrowingPasses has a gang get two members where room was made; at its guarantee it may stay
// small.
func TestGrowingPasses(t *testing.T) {
	z := newZoo(t)
	z.widened(2)
	b := z.bind("wide", on(1, "n3", 0), on(2, "n3", 1))
	b.Cause.Code = berth.CauseVictimsGone
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	require.NotZero(t, z.c.Cases()["grown where room was made"])
	require.NotZero(t, z.c.Cases()["none of the victims could be spared"])

	z = newZoo(t)
	z.small(1, "other")
	require.NoError(t, z.c.Quiescent(z.now))
}
