package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// resettle imagines a gang in another place, and returns where; nil: there is none, and it
// stays. Members that can stay where they are do, and only the others go elsewhere, as
// close to them as there is room: what a gang has on its nodes, and who talks to whom over
// which switch, stays as it was. Where that cannot be, or would draw apart a gang that
// elsewhere could stand closer together, all of it is placed anew.
func (im *imagination) resettle(rep *replica) []gang.Member {
	c, s := im.core, rep.job.shape
	leaving := c.leaving.Has(rep) // and so left out already
	if !leaving {
		im.leaveOut(piece{rep: rep})
	}
	before := im.extent()
	filled, kept := im.fillIn(rep)
	if filled != nil && c.closeness(filled) >= c.closeness(kept) {
		return filled
	}
	im.backTo(before)
	if anew := im.placeAnew(rep, s); anew != nil && (filled == nil || c.closeness(anew) > c.closeness(filled)) {
		return anew
	}
	im.backTo(before)
	if !im.putIn(rep.job.queue, filled) { // it was free a moment ago
		panic("berth: broken invariant: what was found is not free")
	}
	if filled == nil && !leaving {
		im.bringBack()
	}
	return filled
}

// placeAnew imagines a gang that is left out in another place, as large as it may be or with
// its minimum.
func (im *imagination) placeAnew(rep *replica, s *shape) []gang.Member {
	c := im.core
	c.compile(s)
	for _, request := range []*gang.Request{&s.request, &s.minimum} {
		t := c.trialOf(rep, &s.spec, s.least, request, rep.retry.Avoid, c.untilRoomMade(c.graceOf(rep)))
		if where := t.place(); where != nil && im.putIn(t.queue, where) {
			return where
		}
	}
	return nil
}

// closeness is the level of the narrowest domain, or the node, in which members are.
func (c *Core) closeness(members []gang.Member) topology.Level {
	tree := c.fleet.Tree()
	first := members[0].Hold.Node
	level := tree.NodeLevel()
	for i := range members {
		n := members[i].Hold.Node
		if level == tree.NodeLevel() && n != first {
			level--
		}
		for level < tree.NodeLevel() && level > topology.Fleet && tree.DomainOf(n, level) != tree.DomainOf(first, level) {
			level--
		}
	}
	return level
}

// fillIn imagines a gang that is left out with those members kept where they are that can stay
// there, and places for the others; nil: there are none. What is spread, or on aligned
// rails, has to be placed together.
func (im *imagination) fillIn(rep *replica) (where, kept []gang.Member) {
	half := &replica{job: rep.job, lifePart: lifePart{Number: rep.Number, State: berth.Running}, imagined: true, members: slices.Clone(rep.members)}
	for flat := range half.members {
		m := &half.members[flat]
		if stays := m.state.holds() && !m.node.closed() && !slices.Contains(rep.retry.Avoid, m.node.spec.ID); !stays {
			*m = member{}
			continue
		}
		m.state = memberRunning
		kept = append(kept, gang.Member{Group: rep.job.group(flat), Hold: m.hold})
	}
	if len(kept) == 0 || !im.putIn(rep.job.queue, kept) {
		return nil, nil
	}
	for g := range rep.job.spec.Groups {
		t := &rep.job.spec.Groups[g].Topology
		if half.count(g, memberAbsent) > 0 && (t.Spread != "" || t.RailAligned || !im.fillGroup(rep, half, g)) {
			return nil, nil
		}
	}
	for flat := range half.members {
		if half.members[flat].state == memberRunning {
			where = append(where, gang.Member{Group: rep.job.group(flat), Hold: half.members[flat].hold})
		}
	}
	return where, kept
}

// fillGroup imagines places for the members of a group that half of a gang lacks: for all
// of them, or as many as there is room for where that is enough for the gang.
func (im *imagination) fillGroup(rep, half *replica, g int) bool {
	group := &rep.job.spec.Groups[g]
	for half.count(g, memberAbsent) > 0 {
		spec := im.core.missing(half, g)
		if !im.fillNear(rep, half, g, &spec) {
			break
		}
	}
	there := half.count(g, memberRunning)
	return there >= least(group) && there%unitOf(group) == 0
}

// fillNear imagines places for what is asked for: all of it, in the narrowest domain around
// those who stay that has room or, in the widest that is allowed, as much as there is.
func (im *imagination) fillNear(rep, half *replica, g int, spec *shapeSpec) bool {
	tree := im.core.fleet.Tree()
	widest, least := tree.DomainLevel(spec.Within), spec.Groups[0].Min
	anchor := half.anchor(rep, g)
	for level := tree.NodeLevel() - 1; level >= widest; level-- {
		near := *spec
		near.Groups = slices.Clone(spec.Groups)
		near.Groups[0].Min = near.Groups[0].Replicas
		if level > widest {
			if near.Within = tree.DomainOf(anchor, level); tree.DomainLevel(near.Within) != level {
				continue
			}
		} else if im.fill(rep, half, g, &near) {
			return true
		} else {
			near.Groups[0].Min = least
		}
		if im.fill(rep, half, g, &near) {
			return true
		}
	}
	return false
}

// anchor is the node that the first member of a group that half a gang lacks has to leave or,
// if it has lost its node, that of the member which is there and the next to it by index.
func (half *replica) anchor(rep *replica, g int) topology.Node {
	first := half.job.offsets[g] + slices.IndexFunc(half.members[half.job.offsets[g]:], func(m member) bool { return m.state == memberAbsent })
	if left := &rep.members[first]; left.state.holds() {
		return left.hold.Node
	}
	for distance := 1; ; distance++ {
		for _, flat := range [...]int{first - distance, first + distance} {
			if flat >= 0 && flat < len(half.members) && half.members[flat].state == memberRunning {
				return half.members[flat].hold.Node
			}
		}
	}
}

// fill imagines places for what is asked for, and has the first of a group that half a gang
// lacks hold them.
func (im *imagination) fill(rep, half *replica, g int, spec *shapeSpec) bool {
	c := im.core
	request := c.request(spec)
	t := c.trialOf(rep, spec, c.chargeFor(&request), &request, rep.retry.Avoid, c.untilRoomMade(c.graceOf(rep)))
	where := t.place()
	if where == nil || !im.putIn(t.queue, where) {
		return false
	}
	flat := rep.job.offsets[g]
	for i := range where {
		for half.members[flat].state != memberAbsent {
			flat++
		}
		hold := where[i].Hold
		half.members[flat] = member{state: memberRunning, hold: hold, node: c.nodes[hold.Node]}
	}
	return true
}
