package check

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about replicas that need not stand back for a gang that has a reservation. Within
// a queue these are those of a higher class or, in the same class, of a higher priority, unless
// they would borrow and the gang is within its guarantee. Between queues they are those within
// the guarantees of their queues, where the gang would borrow; of two that are alike in that, the
// higher class, unless the gang is the beneficiary of a preemption: victims do not take their
// places again. The same holds of the place of a gang that backs off; what is kept for any other
// gang no job takes. A gang that was reclaimed, and rests, takes no room made for another of its
// queue.

// surelyPasses reports whether a replica certainly need not stand back. What queues are due
// changes in the course of a pass, so that it is certain within a queue alone, for one that
// asks for no more than the other or where nothing is ever due. Where the other is a
// beneficiary, what it is to have counts as used already, and one that asks for more may be beyond
// a fair share in which the other stays. A gang that has a place to come back to passes nobody, and
// neither does one that rests, as it may when its room came to nothing.
func (c *Checker) surelyPasses(rep *replica, key gangKey) bool {
	other := c.find(key)
	if other == nil || c.gangs[key].Moving || c.kept[key] != 0 || c.kept[rep.key()] != 0 || rep.job.queue != other.job.queue || compareRank(rep, other) <= 0 {
		return false
	}
	if rep.mayRest || rep.rest > 0 {
		return false
	}
	_, guaranteed := rep.job.queue.spec.Guarantee[quota.GPUMilli]
	noMore := rep.job.least(c) <= other.job.least(c)
	if c.preemptions[key] != nil {
		return noMore && !guaranteed
	}
	return noMore || !guaranteed
}

// An outranked gang was started where room was made for it. Above ranks above it, waited in its
// queue and asks for the same: that may have the place.
type outranked struct{ rep, above *replica }

// noteRankedAbove notes what waits as a gang is started where room was made for it, and ranks above
// it.
func (c *Checker) noteRankedAbove(rep *replica) {
	if c.ownPolicy || c.policy.BackfillBudget != 0 || len(rep.avoided) > 0 {
		return
	}
	for _, other := range c.inQueues()[rep.job.queue] {
		if c.surelyPasses(other, rep.key()) && asksForNoMore(other.job, rep.job) && len(other.avoided) == 0 {
			c.outranked = append(c.outranked, outranked{rep, other})
		}
	}
}

// inRankOrder: no gang is started where room was made for it while another waits on that ranks
// above it in its queue and asks for the same; but that the other would have fit elsewhere, and
// what was free there went to others in the pass.
func (c *Checker) inRankOrder(orders []berth.Order) error {
	if slices.ContainsFunc(orders, func(o berth.Order) bool { return o.Kind() == "bind" && o.Header().Cause.Code != berth.CauseVictimsGone }) {
		return nil
	}
	for _, o := range c.outranked {
		if o.above.waits() {
			return broken(PromiseEligibility, "%s is started where room was made, and %s waits, which ranks above it and asks for the same", o.rep, o.above)
		}
	}
	return nil
}

// asksForNoMore reports whether a job certainly fits wherever another does.
func asksForNoMore(x, y *job) bool {
	a, b := &x.spec, &y.spec
	return reflect.DeepEqual(a.Groups, b.Groups) && reflect.DeepEqual(a.Topology, b.Topology) && slices.Equal(a.SameLabels, b.SameLabels) &&
		a.Tenant == b.Tenant && a.Class == b.Class && a.Service == nil && b.Service == nil && x.length == y.length
}

// withThosePassed lists a replica and the beneficiaries of its queue that it surely passes: what
// these are to have holds it up no more than what it is to have itself.
func (c *Checker) withThosePassed(rep *replica) []*replica {
	list := []*replica{rep}
	for key := range c.preemptions {
		if c.surelyPasses(rep, key) {
			list = append(list, c.find(key))
		}
	}
	return list
}

// mayPass reports whether a replica that is being placed need not stand back, as things are, with
// what beneficiaries will hold, or with the places that this pass keeps for gangs that have just
// failed.
func (c *Checker) mayPass(rep *replica, key gangKey) bool {
	other := c.find(key)
	if other == nil || c.kept[key] != 0 && other.readyAt == 0 {
		return false
	}
	if c.preemptions[key] != nil && rep.job.queue == other.job.queue && c.now < rep.restsUntil {
		c.saw("reclaimed, and stands back from a room of its queue")
		return false
	}
	promised := c.preemptions[key] != nil || c.kept[key] != 0
	if c.ranksAbove(rep, other, promised) {
		return true
	}
	defer c.earmark(rep, other)()
	if c.ranksAbove(rep, other, promised) {
		return true
	}
	defer c.earmarkFailed(other)()
	return c.ranksAbove(rep, other, promised)
}

// earmarkFailed charges gangs, but for one, for the places at which they have just failed. It
// returns a function that undoes that.
func (c *Checker) earmarkFailed(but *replica) (undo func()) {
	var list earmarks
	for _, rep := range c.justFailed() {
		if rep != but && c.kept[rep.key()] == 0 {
			list.charge(rep.job.queue, c.costs(rep))
		}
	}
	return func() { list.undo(0) }
}

// ranksAbove reports whether a replica need not stand back for another, as its queues are
// charged; promised: it is a beneficiary, or its place is kept while it backs off.
func (c *Checker) ranksAbove(rep, other *replica, promised bool) bool {
	within, otherWithin := c.withinGuarantee(rep, c.smallest), c.withinGuarantee(other, c.largest)
	switch {
	case rep.job.queue == other.job.queue:
		return compareRank(rep, other) > 0 && (within || !otherWithin)
	case within != otherWithin:
		return within
	}
	return !promised && rep.job.spec.Class > other.job.spec.Class
}

// compareRank compares two of one queue.
func compareRank(a, b *replica) int {
	x, y := &a.job.spec, &b.job.spec
	return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Priority, y.Priority))
}

// withinGuarantee reports whether the queue of a gang, and all above it that state a guarantee,
// would be inside it with the gang's minimum, or with one unit more of one that grows, besides what
// it holds by a Bind that is being taken. Cost is what a member with a claim costs.
func (c *Checker) withinGuarantee(rep *replica, cost func(*berth.Claim) int64) bool {
	leaf, asked := rep.job.queue, rep.job.asks(cost)
	if _, stated := leaf.spec.Guarantee[quota.GPUMilli]; !stated {
		return false
	}
	if rep.state == berth.ReplicaRunning {
		asked = rep.job.unit(cost)
	}
	if rep.state == berth.ReplicaRunning || rep.state == berth.ReplicaBinding {
		for _, m := range rep.in(binding) {
			asked -= c.cost(m)[quota.GPUMilli]
		}
	}
	for q := leaf; q != nil; q = q.parent {
		if guarantee, stated := q.spec.Guarantee[quota.GPUMilli]; stated && q.used[quota.GPUMilli]+asked > guarantee {
			return false
		}
	}
	return true
}

// unit is the least that the members ask for by which a gang grows, in thousandths of GPUs.
func (j *job) unit(cost func(*berth.Claim) int64) int64 {
	least := int64(math.MaxInt64)
	for g := range j.spec.Groups {
		group := &j.spec.Groups[g]
		least = min(least, int64(unitOf(group))*cost(&group.Claim))
	}
	return least
}

// least is what the minimum of a gang asks for at the most, in thousandths of GPUs.
func (j *job) least(c *Checker) int64 { return j.asks(c.largest) }

// asks is what the minimum of a gang asks for, in thousandths of GPUs.
func (j *job) asks(cost func(*berth.Claim) int64) int64 {
	sum := int64(0)
	for g := range j.spec.Groups {
		group := &j.spec.Groups[g]
		sum += int64(minimum(group)) * cost(&group.Claim)
	}
	return sum
}
