package check

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about gangs that run, and for which others are evicted so that they get further
// members. How many is known from the report alone.
//
//   - Such a gang takes from other queues alone, and with what it is to get no queue on its way
//     down has more than its guarantee, or its part of what is guaranteed above it (see mayTake).
//   - On the nodes that are set aside for it, it gets all of these members by one Bind.
//   - In a fleet at rest, no gang is short of a member for which others could go (see collected).

// grownWherePlanned: a gang gets as many further members as it was to get, on the nodes that were
// set aside for it.
func (c *Checker) grownWherePlanned(rep *replica, b *berth.Bind) error {
	if p := c.preemptions[rep.key()]; c.passed && len(b.Members) != p.members {
		return broken(PromiseS7, "order %d has %s grow by %d members where room was made for %d", b.ID, rep, len(b.Members), p.members)
	}
	c.saw("grown where room was made")
	return c.whereAside(rep, b)
}

// mayReserve reports whether a gang may have a reservation: it waits or, with a preemption under
// way, runs short of members.
func (c *Checker) mayReserve(rep *replica, r *berth.ReservationReport) bool {
	if rep.state == berth.ReplicaPending {
		return r.Members == 0
	}
	return rep.grows() && r.Members > 0 && c.isPreemption(rep.key(), r)
}

// asksToGrow is what the members ask for, in thousandths of GPUs, that a gang is to get: at the
// least and at the most, as no order tells their group.
func (c *Checker) asksToGrow(rep *replica, p *preemption) (low, high int64) {
	for g := range rep.job.spec.Groups {
		claim := &rep.job.spec.Groups[g].Claim
		each := int64(p.members) * c.largest(claim)
		if high = max(high, each); ofInstance(claim) {
			each = 1
		}
		if low == 0 || each < low {
			low = each
		}
	}
	return low, high
}

// toHave is the most that a beneficiary may come to hold of GPUs and of the host.
func (c *Checker) toHave(rep *replica) quota.Amounts {
	if p := c.preemptions[rep.key()]; p.members > 0 {
		_, milli := c.asksToGrow(rep, p)
		asked := quota.Amounts{quota.GPUMilli: milli}
		for g := range rep.job.spec.Groups {
			claim := &rep.job.spec.Groups[g].Claim
			asked[quota.CPUMilli] = max(asked[quota.CPUMilli], int64(p.members)*claim.CPUMilli)
			asked[quota.MemoryMiB] = max(asked[quota.MemoryMiB], int64(p.members)*claim.MemoryMiB)
			for name, each := range claim.Resources {
				asked[quota.Resource(name)] = max(asked[quota.Resource(name)], int64(p.members)*each)
			}
		}
		return asked
	}
	asked := quota.Amounts{quota.GPUMilli: rep.job.least(c)}
	for g := range rep.job.spec.Groups {
		group := &rep.job.spec.Groups[g]
		asked[quota.CPUMilli] += int64(minimum(group)) * group.Claim.CPUMilli
		asked[quota.MemoryMiB] += int64(minimum(group)) * group.Claim.MemoryMiB
		for name, each := range group.Claim.Resources {
			asked[quota.Resource(name)] += int64(minimum(group)) * each
		}
	}
	return asked
}
