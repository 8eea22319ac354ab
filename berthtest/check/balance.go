package check

import (
	"slices"

	"github.com/berth-sched/berth"
)

// A balancing is a group that was balanced, with what each domain that it uses had room for.
type balancing struct {
	key   string
	group *berth.Group
	parts []part
}

// A part is what one domain has of a group that is balanced.
type part struct {
	members int
	more    map[berth.NodeID]int // members for which there was room beside them
}

// room is how many members of the group a part could have had.
func (p *part) room() int {
	room := p.members
	for _, more := range p.more {
		room += more
	}
	return room
}

// balanced: a group that is placed as a whole uses as few domains as hold it, and is divided
// over these as evenly as they have room for. What is looked at are the domains that it uses:
// fewer of them would have done, or more members could have gone to the emptiest. A gang that comes
// back to where all of it stood stays divided as it was, whatever has become free since.
func (c *Checker) balanced(rep *replica, g int, members []*member) error {
	group := &rep.job.spec.Groups[g]
	level := group.Topology.Balance
	fresh := !slices.ContainsFunc(members, func(m *member) bool { return m.bind != c.last })
	if level == "" || !fresh || len(members) != group.Members || minimum(group) < group.Members ||
		len(group.Topology.Segments) > 0 || len(rep.job.spec.Groups) > 1 || c.enlarged {
		return nil
	}
	if !slices.ContainsFunc(members, func(m *member) bool { return rep.stood[m.flat].node != m.node }) {
		c.saw("balanced as it stood")
		return nil
	}
	parts := map[string]*part{}
	var used []string
	for _, m := range members {
		domain := c.key(m.node, level)
		if parts[domain] == nil {
			parts[domain] = &part{more: map[berth.NodeID]int{}}
			used = append(used, domain)
		}
		parts[domain].members++
	}
	for id, n := range c.nodes {
		if p := parts[c.key(n, level)]; p != nil && n.sameAs(members[0]) && c.surelyFor(n, rep, group) {
			p.more[id] = c.roomOn(n, group, trust(&rep.job.spec))
		}
	}
	b := balancing{key: rep.String(), group: group}
	for _, domain := range used {
		b.parts = append(b.parts, *parts[domain])
	}
	c.saw("balance placed")
	if c.passed { // the pass may have set nodes aside before this order
		c.spreadings = append(c.spreadings, &b)
		return nil
	}
	if len(c.justFailed()) > 0 { // the pass keeps places for them first
		return nil
	}
	return b.even(nil)
}

// even: fewer domains would not have done, and those with the fewest members could not all
// have had one more.
func (b *balancing) even(gangs map[gangKey]berth.ReservationReport) error {
	rooms, least, all := 0, b.parts[0].members, 0
	smallest := b.parts[0].members
	for i := range b.parts {
		p := &b.parts[i]
		for _, r := range gangs {
			for _, id := range r.Nodes {
				delete(p.more, id)
			}
		}
		room := p.room()
		if rooms += room; i == 0 || room < smallest {
			smallest = room
		}
		least, all = min(least, p.members), all+p.members
	}
	if rooms-smallest >= all {
		return broken(PromiseS8, "group %q of %s uses %d domains of level %s; one fewer would have done", b.group.Name, b.key, len(b.parts), b.group.Topology.Balance)
	}
	lowest, beyond := 0, 0
	for i := range b.parts {
		switch p := &b.parts[i]; {
		case p.members > least:
			beyond += p.members - least - 1
		case p.room() == p.members:
			return nil // it is full
		default:
			lowest++
		}
	}
	if beyond >= lowest {
		return broken(PromiseS8, "group %q of %s has %d members in one %s and many more in another, and there is room for one more", b.group.Name, b.key, least, b.group.Topology.Balance)
	}
	return nil
}
