package check

import (
	"maps"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
	"github.com/berth-sched/berth/quota"
)

// This file is about services with a surge, as the manual states it: a replica that has to leave a
// node stays until another runs in its place, its stand-in, unless a deadline leaves no more time.
// A stand-in comes with its Bind and, if it does not come to run, goes without a trace.

// standIns is what is known of a replica as a stand-in, or as one that has one.
type standIns struct {
	// instead is the replica that it stands in for, standIn the one that stands in for it.
	instead, standIn *replica
	// shunned has the nodes where a member of a stand-in failed to start.
	shunned map[berth.NodeID]bool
	// vain counts the stand-ins in a row that came to nothing; before nextStandIn there is none.
	vain        int
	nextStandIn berth.Time
}

// surges reports whether a replica of a job that has to leave stays until another runs instead.
func (j *job) surges() bool { return j.spec.Service != nil && j.spec.Service.Surge > 0 }

// standIns counts those of a job.
func (j *job) standIns() (n int) {
	for _, rep := range j.replicas {
		n += truth(rep.instead != nil)
	}
	return n
}

// startsStandIn: a Bind because of a surge makes a replica. It is for one that runs, has to leave,
// has no other stand-in and has time; there are no more of them than the service may have, and none
// so soon after one that failed.
func (c *Checker) startsStandIn(b berth.Bind) error {
	key := gangKey{b.Instead.Job, b.Instead.Replica}
	rep := c.find(key)
	if rep == nil || b.Job != key.job || !rep.job.surges() || rep.job.cancelled {
		return broken(PromiseSurge, "order %d starts %s/%d in the place of %s, which is no replica of a service with a surge", b.ID, b.Job, b.Replica, key)
	}
	switch _, drained := rep.drainedBy(); {
	case !drained:
		return broken(PromiseSurge, "order %d starts one in the place of %s, which need not leave", b.ID, rep)
	case rep.state != berth.ReplicaRunning || rep.has(stopping) || rep.order != nil:
		return broken(PromiseSurge, "order %d starts one in the place of %s, which is %s", b.ID, rep, rep.doing())
	case c.pressed(rep):
		return broken(PromiseSurge, "order %d starts one in the place of %s, which has to go now", b.ID, rep)
	case rep.standIn != nil:
		return broken(PromiseSurge, "order %d starts one in the place of %s, and %s does so already", b.ID, rep, rep.standIn)
	case rep.job.standIns() >= rep.job.spec.Service.Surge:
		return broken(PromiseSurge, "order %d starts one in the place of %s, and %d of at most %d do so for others", b.ID, rep, rep.job.standIns(), rep.job.spec.Service.Surge)
	case c.now < rep.nextStandIn:
		return broken(PromiseBackoffs, "order %d starts one in the place of %s before %d, and one has failed", b.ID, rep, rep.nextStandIn)
	}
	it := c.newReplica(rep.job)
	if it.number != b.Replica {
		return broken(PromiseOrders, "order %d starts replica %d of %s, of which %d is the lowest number that is free", b.ID, b.Replica, b.Job, it.number)
	}
	c.pend(it, false)
	it.created, it.cameAt, it.struck = rep.created, rep.cameAt, true
	it.instead, rep.standIn, it.avoided = rep, it, maps.Clone(rep.shunned)
	c.saw("a stand-in starts")
	if rep.vain > 0 {
		c.saw("another stand-in is tried")
	}
	return nil
}

// namesInstead: the Bind of a stand-in names the replica that it stands in for, and no other does.
func namesInstead(rep *replica, b *berth.Bind) error {
	want := berth.ReplicaRef{}
	if rep.instead != nil {
		want = rep.instead.key().ref()
	}
	if b.Instead != want {
		return broken(PromiseSurge, "order %d starts %s in the place of %q, which is %q", b.ID, rep, b.Instead, want)
	}
	return nil
}

// mayStay reports whether a replica runs, and goes on to.
func (rep *replica) mayStay() bool {
	evicted := rep.preemption != nil && !rep.preemption.ended
	return rep.state == berth.ReplicaRunning && !evicted && (!rep.asked() || rep.needless())
}

// relieve: as a stand-in runs, the replica that it stands in for goes for good; if that need
// not leave any more, the stand-in goes.
func (c *Checker) relieve(it *replica) {
	rep := it.instead
	it.leaveSurge()
	rep.vain, rep.nextStandIn, rep.shunned = 0, 0, nil
	if _, drained := rep.drainedBy(); !drained && rep.mayStay() {
		c.saw("a stand-in runs in vain")
		c.takeBack(it, berth.CauseSurge, true)
		return
	}
	c.saw("a stand-in runs, and the other is " + rep.doing())
	c.signal(rep, protocol.SignalCancel)
	c.takeBack(rep, berth.CauseSurge, true)
}

// leaveSurge ends what is between a stand-in and the other.
func (rep *replica) leaveSurge() { rep.instead.standIn, rep.instead = nil, nil }

// part: a replica goes for good, and its stand-in with it. A stand-in that failed is tried again
// later.
func (c *Checker) part(rep *replica, cause berth.CauseCode) {
	if other := rep.instead; other != nil {
		rep.leaveSurge()
		if cause != berth.CauseSurge && cause != berth.CauseScaledDown && cause != berth.CauseCancelled {
			c.saw("a stand-in came to nothing because of " + string(cause))
			other.nextStandIn = c.now.Add(c.delay(other.vain))
			other.vain++
			other.shunned = rep.avoided
		}
	}
	if it := rep.standIn; it != nil {
		c.saw("a stand-in goes with the other")
		it.leaveSurge()
		c.takeBack(it, cause, true)
	}
}

// spareStandIns: a stand-in goes if the replica that it stands in for need not leave any more.
func (c *Checker) spareStandIns() {
	list := set{}
	for rep := range c.replicas() {
		if _, drained := rep.drainedBy(); rep.standIn != nil && !drained && rep.mayStay() {
			list.add(rep.standIn)
		}
	}
	for _, it := range list.sorted() {
		c.saw("a stand-in is not needed any more")
		c.takeBack(it, berth.CauseSurge, true)
	}
}

// couldSurge reports whether there is certainly room for the stand-in of a replica that has to
// leave, and none was tried.
func (c *Checker) couldSurge(rep *replica) bool {
	if rep.standIn != nil || rep.job.standIns() >= rep.job.spec.Service.Surge || rep.vain > 0 || rep.job.isOutOfBudget() ||
		rep.job.spec.Topology.Exclusive != "" || c.bounds(rep.job.queue, func(quota.Resource) bool { return true }) {
		return false
	}
	it := &replica{job: rep.job, number: rep.number, avoided: rep.avoided}
	return c.couldStartOn(it, func(n *node) bool { return !c.inReservation(n) })
}
