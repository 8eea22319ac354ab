package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// A job is what the core keeps of a Job.
type job struct {
	spec     berth.Job
	queue    quota.Index
	shape    *shape     // of the whole gang
	offsets  []int      // flat index of each group's first member; one more: the total
	replicas []*replica // by number; nil where there is none
	live     int        // replicas that are not nil
	vacant   int        // no number below it is vacant
	jobPart
}

// A replica is one gang of a job.
type replica struct {
	job *job
	lifePart
	// Parts that only some of the core gives.
	retry   retryPart
	release releasePart
	reserve reservePart
	look    lookPart
	yield   yieldPart
	bid     bidPart
	// endsAt is when it is expected to hold nothing any more; zero: never, or it holds
	// nothing.
	endsAt berth.Time
	// reserved is the reservation of a gang that waits.
	reserved *window
	// drain is the GPU that is kept for it.
	drain *drain
	// yieldsTo is the replica for which it has to make room; nil: none.
	yieldsTo *replica
	// leaves: it was asked for a checkpoint because it has to go on its own account. moving
	// is the place that is kept for it while it still holds another; see move.go.
	leaves bool
	moving *window
	// failedBids counts how often room was made for it that it could not take, since it last
	// ran.
	failedBids int
	// imagined: a plan in the making imagines it ended.
	imagined bool
	// exclusive has the domains that a gang has for itself.
	exclusive *window
	// activeMilli is how busy its GPUs are, as was reported last.
	activeMilli int64
	// members by flat index; nil when pending.
	members []member
	// entries are where the replica stands in the pending index: one for a whole
	// gang, one for each group that is short of members.
	entries []*entry
	// order is the order that is out; nil: none.
	order berth.Action
}

// A member is one member of a replica that is not pending.
type member struct {
	state memberState
	hold  gang.Hold
	node  *node
	slot  int // position in node.members
	startPart
	// yieldsTo is the replica for which it is stopped while the rest of its gang goes on.
	yieldsTo *replica
	imagined bool // gone, by a plan in the making
}

type memberState uint8

const (
	// memberAbsent holds nothing: not placed yet, or gone.
	memberAbsent memberState = iota
	// memberBinding is part of the Bind that is out.
	memberBinding
	memberRunning
	// memberFailed could not be started; it holds its place until the next pass
	// decides about the gang.
	memberFailed
	// memberLost went with its hardware while binding; it holds nothing, but
	// counts as placed until the Bind is reported and the next pass decides.
	memberLost
	// memberStopping is, or will be, part of a Release.
	memberStopping
)

// holds reports whether a member in this state holds capacity.
func (s memberState) holds() bool {
	return s == memberBinding || s == memberRunning || s == memberFailed || s == memberStopping
}

// group returns the group of the member with a flat index.
func (j *job) group(flat int) int {
	g, found := slices.BinarySearch(j.offsets, flat)
	if !found {
		return g - 1
	}
	// Groups may not be empty, so an offset belongs to the group it starts.
	return g
}

// members is the number of members of the whole gang.
func (j *job) members() int { return j.offsets[len(j.offsets)-1] }

// flat returns the flat index that a reference names, or -1.
func (j *job) flat(ref berth.MemberRef) int {
	g := groupOf(&j.spec, ref.Group)
	if g < 0 || ref.Index < 0 || ref.Index >= j.spec.Groups[g].Replicas {
		return -1
	}
	return j.offsets[g] + ref.Index
}

// placementOf describes a member that holds capacity.
func (c *Core) placementOf(rep *replica, flat int) berth.MemberPlacement {
	m := &rep.members[flat]
	g := rep.job.group(flat)
	return berth.MemberPlacement{
		Group: rep.job.spec.Groups[g].Name, Index: flat - rep.job.offsets[g],
		Node: m.node.spec.ID, GPUs: berth.GPUSet(m.hold.GPUs),
		ShareMilli: int(m.hold.Share.Milli), ShareMemoryMiB: m.hold.Share.MemoryMiB,
		Instance: m.hold.Instance,
	}
}

// placements describes the members in one of the given states, by flat index.
func (c *Core) placements(rep *replica, in ...memberState) []berth.MemberPlacement {
	var list []berth.MemberPlacement
	for flat := range rep.members {
		if slices.Contains(in, rep.members[flat].state) {
			if list == nil {
				list = make([]berth.MemberPlacement, 0, len(rep.members)-flat)
			}
			list = append(list, c.placementOf(rep, flat))
		}
	}
	return list
}

// countOf returns of how many members of a group something is so.
func (rep *replica) countOf(group int, is func(*member) bool) int {
	n := 0
	for flat := rep.job.offsets[group]; flat < rep.job.offsets[group+1] && flat < len(rep.members); flat++ {
		if is(&rep.members[flat]) {
			n++
		}
	}
	return n
}

// count returns how many members of a group are in one of the given states.
func (rep *replica) count(group int, in ...memberState) int {
	return rep.countOf(group, func(m *member) bool { return slices.Contains(in, m.state) })
}

// enoughOf reports whether of every group something is so of its minimum.
func (rep *replica) enoughOf(is func(*member) bool) bool {
	for g := range rep.job.spec.Groups {
		if rep.countOf(g, is) < least(&rep.job.spec.Groups[g]) {
			return false
		}
	}
	return true
}

// enough reports whether every group has its minimum in the given states.
func (rep *replica) enough(in ...memberState) bool {
	return rep.enoughOf(func(m *member) bool { return slices.Contains(in, m.state) })
}

// has reports whether any member is in one of the given states.
func (rep *replica) has(in ...memberState) bool {
	return slices.ContainsFunc(rep.members, func(m member) bool { return slices.Contains(in, m.state) })
}

// chargeOf is what a hold costs its queue. A share costs its part of a GPU, an instance
// the part of the memory slices that it has.
func chargeOf(h *gang.Hold, n *node) quota.Charge {
	milli := int64(1000) * int64(berth.GPUSet(h.GPUs).Len())
	switch {
	case h.Share.Milli > 0:
		milli = int64(h.Share.Milli)
	case h.Instance != (mig.Placement{}):
		milli = n.table.milli(h.Instance)
	}
	charge := quota.Charge{GPUMilli: milli, Host: h.Host, Product: n.product}
	if milli == 0 {
		charge.Product = quota.NoProduct
	}
	return charge
}

// holds reports whether any member holds capacity.
func (rep *replica) holds() bool {
	return slices.ContainsFunc(rep.members, func(m member) bool { return m.state.holds() })
}

// book records a hold that the fleet has already granted: the member takes its
// place, the queue is charged.
func (c *Core) book(rep *replica, flat int, hold gang.Hold, state memberState) {
	n := c.nodes[hold.Node]
	rep.members[flat] = member{state: state, hold: hold, node: n, slot: len(n.members)}
	n.members = append(n.members, memberAt{rep, flat})
	if n.trust.Spare {
		c.agenda.wantSpares()
	}
	c.settleGPUs(n, &hold)
	c.recountUse(n)
	c.charge(rep, &hold, n, 1)
	if hold.Share.Milli > 0 {
		c.owners.uses[hold.Share.Owner]++
	}
}

// unbook frees what a member holds, and whoever could use it is woken.
func (c *Core) unbook(rep *replica, flat int, state memberState) {
	n := rep.members[flat].node
	c.yield(rep, flat, state)
	c.freed(n)
	c.agenda.freedQuota()
}

// yield undoes book. The member ends up in the given state, which holds nothing.
func (c *Core) yield(rep *replica, flat int, state memberState) {
	m := rep.members[flat]
	n := m.node
	must(c.fleet.Release(m.hold))
	n.members = unordered.Remove(n.members, m.slot, func(m memberAt, at int) { m.rep.members[m.index].slot = at })
	n.trust.StandsIn = n.trust.StandsIn && len(n.members) > 0
	c.charge(rep, &m.hold, n, -1)
	c.recountUse(n)
	c.owners.releaseShare(m.hold.Share)
	rep.members[flat] = member{state: state}
	c.settleGPUs(n, &m.hold)
	if m.yieldsTo != nil {
		rep.yielded(m.yieldsTo)
	}
}

// unbookAll frees every member in one of the given states.
func (c *Core) unbookAll(rep *replica, in ...memberState) {
	for flat := range rep.members {
		if slices.Contains(in, rep.members[flat].state) {
			if rep.members[flat].state.holds() {
				c.unbook(rep, flat, memberAbsent)
			} else {
				rep.members[flat] = member{}
			}
		}
	}
}
