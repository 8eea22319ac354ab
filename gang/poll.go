package gang

import (
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/topology"
)

// A poll is what nodes at and below a domain have for one group: each condition is asked once. A
// group that is told nodes apart by more than their state has its own count of them.
type poll struct {
	fleet  *Fleet
	group  *Group
	within topology.DomainIndex
	// own has the crowds of a group with a Match, by domain; nil: those of the census count.
	own  [][]crowd
	fits []fit // by condition
}

// A fit is how many members of a group go to a node in one condition.
type fit struct {
	asked bool
	known bool // it is one for the group, whether or not it takes work
	now   int
	// device, if its host had room for everything; healthy, if moreover all its GPUs worked and it
	// took work.
	device, healthy int
}

// poll begins one. O(nodes) for a group with a Match.
func (f *Fleet) poll(g *Group, within topology.DomainIndex) *poll {
	p := &poll{fleet: f, group: g, within: within, fits: make([]fit, len(f.count().conditions))}
	if g.Match != nil {
		p.own = make([][]crowd, len(f.census.at))
		p.match(within)
	}
	return p
}

// match counts the nodes that match.
func (p *poll) match(d topology.DomainIndex) {
	for _, child := range p.fleet.tree.Children(d) {
		p.match(child)
	}
	for _, n := range p.fleet.tree.Nodes(d) {
		of := p.fleet.census.of[n].condition
		if !p.fit(of).known || !p.group.Match(n) {
			continue
		}
		list := &p.own[d]
		at, there := slices.BinarySearchFunc(*list, of, func(w crowd, condition int32) int { return int(w.condition - condition) })
		if !there {
			*list = slices.Insert(*list, at, crowd{condition: of})
		}
		(*list)[at].nodes++
	}
}

// at lists the crowds of a narrowest domain that are known to the group, and others.
func (p *poll) at(d topology.DomainIndex) []crowd {
	list := p.fleet.census.at
	if p.own != nil {
		list = p.own
	}
	if int(d) >= len(list) {
		return nil
	}
	return list[d]
}

// fit is how many members go to a node in a condition.
func (p *poll) fit(of int32) *fit {
	a := &p.fits[of]
	if a.asked {
		return a
	}
	a.asked = true
	p.fleet.census.asked++
	state := &p.fleet.census.conditions[of].nodeState
	g := p.group
	if !slices.Contains(g.Classes, state.class) || g.RailLevel > 0 && len(state.slots) > MaxRails {
		return a
	}
	a.known = true
	c := g.Claim
	if state.schedulable {
		a.now = state.fits(&c)
	}
	c.Host = host.Amounts{}
	if state.schedulable {
		a.device = state.fits(&c)
	}
	healthy := *state
	healthy.healthy = lowMask(len(state.slots))
	a.healthy = healthy.fits(&c)
	return a
}

// fitOn is how many members go to a node.
func (p *poll) fitOn(n topology.NodeIndex) fit {
	if a := p.fit(p.fleet.census.of[n].condition); a.known && (p.group.Match == nil || p.group.Match(n)) {
		return *a
	}
	return fit{}
}

// A sum is what all nodes of a domain have: as a fit, and in whole segments as far as these are
// inside it.
type sum struct {
	known                       bool
	now, device, healthy, whole int
}

// sum adds up a domain.
func (p *poll) sum(d topology.DomainIndex) (s sum) {
	node := p.fleet.tree.NodeLevel()
	for _, child := range p.fleet.tree.Children(d) {
		below := p.sum(child)
		s.known = s.known || below.known
		s.now, s.device = add(s.now, below.now), add(s.device, below.device)
		s.healthy, s.whole = add(s.healthy, below.healthy), add(s.whole, below.whole)
	}
	for _, w := range p.at(d) {
		a := p.fit(w.condition)
		if !a.known {
			continue
		}
		s.known = true
		s.now, s.device = add(s.now, times(a.now, w.nodes)), add(s.device, times(a.device, w.nodes))
		s.healthy = add(s.healthy, times(a.healthy, w.nodes))
		s.whole = add(s.whole, times(wholeSegments(p.group, node, a.now), w.nodes))
	}
	s.whole = wholeSegments(p.group, p.fleet.tree.DomainLevel(d), s.whole)
	return s
}

// times is so often a count, within 32 bits.
func times(count int, nodes int32) int { return int(min(int64(count)*int64(nodes), math.MaxInt32)) }

// crowds adds up how many nodes at and below a domain are in each condition.
func (p *poll) crowds(d topology.DomainIndex, of []int32) {
	for _, child := range p.fleet.tree.Children(d) {
		p.crowds(child, of)
	}
	for _, w := range p.at(d) {
		of[w.condition] += w.nodes
	}
}

// best is the domain of a level, the first of equal ones, in which the most members fit now; of the
// level of nodes, that in which the most do on one node. The domain asked about where none does.
func (p *poll) best(level topology.Level) (members int, at topology.DomainIndex) {
	at = p.within
	narrowest := p.fleet.tree.NodeLevel() - 1
	var walk func(d topology.DomainIndex)
	walk = func(d topology.DomainIndex) {
		if on := p.fleet.tree.DomainLevel(d); on < min(level, narrowest) {
			for _, child := range p.fleet.tree.Children(d) {
				walk(child)
			}
			return
		}
		count := 0
		if level <= narrowest {
			count = p.sum(d).now
		} else {
			for _, w := range p.at(d) {
				count = max(count, p.fit(w.condition).now)
			}
		}
		if count > members {
			members, at = count, d
		}
	}
	walk(p.within)
	return members, at
}

// idle is how many members would fit on a node if nothing were held.
func (s *nodeState) idle(c *Claim) int {
	idle := *s
	idle.whole, idle.shared, idle.seated, idle.hostUsed = 0, 0, 0, host.Amounts{}
	idle.slots = make([]slot, len(s.slots))
	for gpu := range idle.slots {
		idle.slots[gpu].division, idle.slots[gpu].exist = s.slots[gpu].division, s.slots[gpu].exist
	}
	return idle.fits(c)
}

// freeGPUs is how many GPUs of a node are free for work.
func (s *nodeState) freeGPUs() int {
	if !s.schedulable {
		return 0
	}
	return bits.OnesCount64(s.free())
}
