package check

import (
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about segments that have lost members to failed hardware and can never be whole
// again where they stand.

// giveUp: members that a gang gives up after it lost hardware, and for no other gang, are all that
// is left of segments that can never be whole again. Or they are all of the gang, where the rest
// would be less than its minimum.
func (c *Checker) giveUp(rep *replica, r *berth.Release) error {
	if rep.order != nil {
		return broken(PromiseOrders, "order %d stops a part of %s, whose order %d is out", r.ID, rep, rep.order.Header().ID)
	}
	runs := rep.in(running)
	named := func(m *member) bool {
		return slices.ContainsFunc(r.Members, func(p berth.MemberPlacement) bool { return rep.job.flat(p.Ref()) == m.flat })
	}
	left := slices.DeleteFunc(slices.Clone(runs), func(m *member) bool {
		if certain := c.isPlain(m); certain || len(r.Members) == len(runs) {
			return !c.isBroken(m, certain)
		}
		return !named(m) || !c.isBroken(m, false)
	})
	for _, m := range left {
		m.state = stopping
	}
	switch {
	case rep.short(running) != "":
		for _, m := range left {
			m.state = running
		}
		rep.struck = true
		c.takeBack(rep, berth.CauseHardwareLost, false)
		c.saw("taken back for its segments")
		return nil
	case len(left) == 0:
		return broken(PromiseS6, "order %d stops members of %s for lost hardware, and each of its segments is whole or could be", r.ID, rep)
	}
	c.shrunk(rep, berth.Cause{Code: berth.CauseHardwareLost})
	c.saw("gives up a segment")
	return nil
}

// isPlain reports whether it is certain how many members like one a node has room for: they claim
// whole GPUs or the host alone, and may stand beside others on any nodes of a kind, none of which
// is a hot spare.
func (c *Checker) isPlain(m *member) bool {
	cl, spec := m.claim(), &m.rep.job.spec
	return len(c.policy.HotSpares) == 0 && cl.Share == nil && !ofInstance(cl) && !cl.NVLink && len(spec.SameLabels) == 0 && spec.Topology.Exclusive == ""
}

// isBroken reports whether the widest segment of a member, or one nested in that, has members that
// run and others that are not there, and, where its room is certain, does not fit in its domain if
// nothing is held there.
func (c *Checker) isBroken(m *member, certain bool) bool {
	rep, g := m.rep, m.group()
	widest := rep.members[m.firstOfUnit() : m.firstOfUnit()+unitOf(g)]
	for _, segment := range g.Topology.Segments {
		for own := range slices.Chunk(widest, segment.Size) {
			there := slices.IndexFunc(own, func(m *member) bool { return m.state == running })
			short := slices.ContainsFunc(own, func(m *member) bool { return m.state == absent })
			if there >= 0 && short && (!certain || c.idleRoom(own[there], segment.Level) < segment.Size) {
				return true
			}
		}
	}
	return false
}

// idleRoom is how many members like one would fit in its domain of a level, inside what the gang
// requires, if nothing were held there.
func (c *Checker) idleRoom(m *member, level string) (room int) {
	if required := c.required(m.rep, m.rep.job.group(m.flat)); c.depth(required) > c.depth(level) {
		level = required
	}
	cl := m.claim()
	for _, n := range c.nodes {
		if c.key(n, level) != c.key(m.node, level) || n.closed() || !n.sameAs(m) || n.unfit(m.group()) != "" {
			continue
		}
		fit := m.group().Members
		if cl.GPUs > 0 {
			whole := 0
			for i := range n.gpus {
				if !n.failed.Has(i) && n.gpus[i].mode != berth.GPUModeMIG {
					whole++
				}
			}
			fit = min(fit, whole/cl.GPUs)
		}
		if cl.CPUMilli > 0 {
			fit = min(fit, int(n.spec.CPUMilli/cl.CPUMilli))
		}
		if cl.MemoryMiB > 0 {
			fit = min(fit, int(n.spec.MemoryMiB/cl.MemoryMiB))
		}
		for name, each := range cl.Resources {
			fit = min(fit, int(n.spec.Resources[name]/each))
		}
		room += fit
	}
	return room
}
