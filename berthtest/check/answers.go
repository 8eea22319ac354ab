package check

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is what answers say of members, at whatever moment they are asked for: also after a
// report of some members and before the pass that decides about the gang. A member that died or
// did not start while its gang was being bound keeps its place until then, and nothing else.

// mayRun reports whether a process of a member may be there.
func (m *member) mayRun() bool {
	return m.state == binding || m.state == running || m.state == stopping
}

// BlastRadius holds what a core says that a fault on a GPU takes down (Core.BlastRadius) against
// the members that may run there, and those that their gangs have elsewhere.
func (c *Checker) BlastRadius(have berth.BlastRadius) error {
	n := c.nodes[have.Node]
	if n == nil || have.GPU < 0 || have.GPU >= len(n.gpus) {
		return broken(PromiseBlast, "it is told for GPU %d of node %s, which is not there", have.GPU, have.Node)
	}
	var there []*member
	for _, m := range n.members {
		switch {
		case !m.at.GPUs.Has(have.GPU):
		case m.mayRun():
			there = append(there, m)
		default:
			c.saw("asked what a fault takes down where a member died")
		}
	}
	slices.SortFunc(there, func(a, b *member) int {
		return cmp.Or(byName(a.rep, b.rep), a.at.Instance.Compare(b.at.Instance))
	})
	g := &n.gpus[have.GPU]
	want := berth.BlastRadius{Node: have.Node, GPU: have.GPU, Mode: g.ordered(), Device: affected(there)}
	if g.unknown {
		want.Mode = have.Mode // as it was, or was to be
	}
	for i, m := range there {
		if i > 0 && there[i-1].rep == m.rep && there[i-1].at.Instance == m.at.Instance {
			continue
		}
		with := slices.DeleteFunc(slices.Clone(there), func(other *member) bool {
			switch want.Mode {
			case berth.GPUModeMPS:
				return false
			case berth.GPUModeMIG:
				return other.at.Instance != m.at.Instance
			}
			return other.rep != m.rep
		})
		want.Processes = append(want.Processes, berth.ProcessFault{
			Job: m.rep.job.spec.ID, Replica: m.rep.number, Instance: m.at.Instance, Affected: affected(with),
		})
	}
	if !reflect.DeepEqual(have, want) {
		return broken(PromiseBlast, "a fault is said to take down %+v; it takes %+v", have, want)
	}
	return nil
}

// affected lists the replicas of members that go, which are in order of replica.
func affected(going []*member) (list []berth.AffectedReplica) {
	for i, m := range going {
		if i == 0 || going[i-1].rep != m.rep {
			left := slices.DeleteFunc(m.rep.in(binding, running), func(other *member) bool { return slices.Contains(going, other) })
			list = append(list, berth.AffectedReplica{Job: m.rep.job.spec.ID, Replica: m.rep.number, Down: !m.rep.enough(left)})
		}
		list[len(list)-1].Members++
	}
	return list
}

// startsTheLiving: a Bind that is out names the members that are yet to be started, in their
// places, and none that was lost or has died.
func (c *Checker) startsTheLiving(have berth.Bind) error {
	rep := c.orders[have.ID]
	given := rep.order.(berth.Bind)
	want := slices.DeleteFunc(slices.Clone(given.Members), func(at berth.MemberPlacement) bool {
		return rep.members[rep.job.flat(at.Ref())].state != binding
	})
	if rep.has(broke) {
		c.saw("asked what is out where a member died")
	}
	if !slices.Equal(have.Members, want) {
		return broken(PromiseOrders, "order %d is said to start %v; what is left of it is %v", have.ID, have.Members, want)
	}
	return nil
}

// Diff holds the differences that a core names between a world and its own (Core.Diff) against
// those of the world that the checker has. It compares what differs and what the events settle, in
// whatever order; texts and reasons are for people.
func (c *Checker) Diff(world berth.World, have []berth.Difference) error {
	want := c.differingNodes(world.Nodes)
	seen := map[gangKey]map[berth.MemberRef]bool{}
	for i := range world.Running {
		s := &world.Running[i]
		key, ref := gangKey{s.Job, s.Replica}, s.Ref()
		d := berth.Difference{Job: s.Job, Replica: s.Replica, Member: &ref}
		if seen[key][ref] {
			d.Kind = berth.DifferenceMemberUnknown
		} else {
			c.compareSeen(s, &d)
		}
		if d.Kind != "" {
			want = append(want, d)
		}
		if seen[key] == nil {
			seen[key] = map[berth.MemberRef]bool{}
		}
		seen[key][ref] = true
	}
	for rep := range c.replicas() {
		want = append(want, missing(rep, seen[rep.key()])...)
	}
	return sameDifferences(have, want)
}

func (c *Checker) differingNodes(nodes []berth.Node) (list []berth.Difference) {
	there := map[berth.NodeID]bool{}
	for i := range nodes {
		id := nodes[i].ID
		if c.nodes[id] == nil && !there[id] {
			list = append(list, berth.Difference{Kind: berth.DifferenceNodeUnknown, Node: id, Event: berth.NodeJoined{Node: nodes[i]}})
		}
		there[id] = true
	}
	for id := range c.nodes {
		if !there[id] {
			list = append(list, berth.Difference{Kind: berth.DifferenceNodeMissing, Node: id, Event: berth.NodeLost{Node: id}})
		}
	}
	return list
}

// compareSeen says of a member that was seen what differs, if anything does.
func (c *Checker) compareSeen(s *berth.ObservedMember, d *berth.Difference) {
	m := c.member(s)
	switch {
	case m == nil || !m.mayRun():
		if m != nil && m.state == broke {
			c.saw("a member was seen that had died")
		}
		d.Kind = berth.DifferenceMemberUnknown
	case s.Incarnation != m.rep.incarnation, s.Node != m.at.Node, s.GPUs != m.at.GPUs, s.Instance != m.at.Instance:
		d.Kind = berth.DifferenceMemberMisplaced
		if m.state != stopping {
			d.Event = berth.MemberFailed{Job: s.Job, Replica: s.Replica, Incarnation: m.rep.incarnation, Members: []berth.MemberRef{s.Ref()}}
		}
	}
}

// member is the one that was seen, by its name; nil: no gang that is placed has it.
func (c *Checker) member(s *berth.ObservedMember) *member {
	rep := c.find(gangKey{s.Job, s.Replica})
	if rep == nil || rep.members == nil {
		return nil
	}
	flat := rep.job.flat(s.Ref())
	if flat < 0 {
		return nil
	}
	return rep.members[flat]
}

// missing lists the members of a replica that should run and were not seen.
func missing(rep *replica, seen map[berth.MemberRef]bool) (list []berth.Difference) {
	event := berth.MemberFailed{Job: rep.job.spec.ID, Replica: rep.number, Incarnation: rep.incarnation}
	for _, m := range rep.in(running) {
		if ref := m.ref(); !seen[ref] {
			event.Members = append(event.Members, ref)
			list = append(list, berth.Difference{Kind: berth.DifferenceMemberMissing, Job: event.Job, Replica: event.Replica, Member: &ref})
		}
	}
	for i := range list {
		list[i].Event = event
	}
	return list
}

// sameDifferences compares two lists but for their order, texts and reasons.
func sameDifferences(have, want []berth.Difference) error {
	a, b := inWords(have), inWords(want)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return broken(PromiseDiff, "the world is said to differ by %s; the first difference is %s", a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return broken(PromiseDiff, "the world is said to differ by %v; it differs by %v", a, b)
	}
	return nil
}

// inWords puts differences into an order, each as what differs and what its event settles.
func inWords(list []berth.Difference) []string {
	words := make([]string, len(list))
	for i := range list {
		d := &list[i]
		words[i] = fmt.Sprintf("%s %s%s/%d", d.Kind, d.Node, d.Job, d.Replica)
		if d.Member != nil {
			words[i] += d.Member.String()
		}
		switch e := d.Event.(type) {
		case berth.NodeJoined:
			words[i] += ": joined " + string(e.Node.ID)
		case berth.NodeLost:
			words[i] += ": lost " + string(e.Node)
		case berth.MemberFailed:
			words[i] += fmt.Sprintf(": failed %s/%d incarnation %d %v", e.Job, e.Replica, e.Incarnation, e.Members)
		case nil:
		default:
			words[i] += ": " + e.Kind()
		}
	}
	slices.Sort(words)
	return words
}
