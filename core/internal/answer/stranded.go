package answer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// What is free is stranded where no member that waits fits. Most requests that differ ask for nodes
// of the same kinds, and of two of them only the one that asks for less matters: the other fits
// nowhere else. So few are left to look for on a node, however many wait.

// needs are the members that wait and claim GPUs, the easiest of them, by where they may be.
type needs struct {
	answers *Answers
	some    bool // something waits, whatever it claims
	easiest demand.Easiest
	at      map[spot][]need
	many    int      // how many there are at all spots
	keys    []string // of labels by which the nodes of a spot are told
	only    bool     // some spot is a node
}

// A spot is a part of a class of nodes: one node, those with a label, or all of them.
type spot struct {
	class      topology.NodeClass
	node       berth.NodeID
	key, value string
}

// A need is a member that waits.
type need struct {
	*gang.Group
	// where names the nodes of the class that it may use; "": all of them.
	where string
}

// wait enters what waits in a bucket, unless it is entered with another bucket of its shape.
func (ns *needs) wait(b *record.Bucket) {
	s := b.Shape
	if s.Borrows { // what is free is nothing to it
		return
	}
	ns.some = true
	if ns.answers.state.Compile(s); !ns.easiest.Has(&s.Ease) && b == s.Buckets[0] {
		ns.easiest.Note(&s.Ease)
		ns.gather(s)
	}
}

// gather enters the members of a shape that claim GPUs, for every class that they may use.
func (ns *needs) gather(s *record.Shape) {
	for i := range s.Minimum.Groups {
		g := &s.Minimum.Groups[i]
		if !g.Claim.WantsDevice() {
			continue
		}
		n, of := need{Group: g}, spot{}
		if g.Match != nil { // else nothing tells the nodes of a class apart
			spec := &s.Spec.Groups[i]
			of.node = s.Spec.Only
			n.where = fmt.Sprintf("%q %q %q %q %d", record.LabelsOf(spec), s.Spec.Only, s.Spec.Topology.Exclusive, s.Spec.Of, s.Spec.OfReplica)
			if labels := spec.Selector.Labels; of.node == "" && len(labels) > 0 {
				of.key = slices.Sorted(maps.Keys(labels))[0]
				of.value = labels[of.key]
				if !slices.Contains(ns.keys, of.key) {
					ns.keys = append(ns.keys, of.key)
				}
			}
		}
		ns.only = ns.only || of.node != ""
		for _, of.class = range g.Classes {
			ns.enter(of, n)
		}
	}
}

// enter enters a need at a spot, in the place of those that ask for as much there or more, unless
// there is one that asks for no more.
func (ns *needs) enter(of spot, n need) {
	list := ns.at[of]
	if slices.ContainsFunc(list, func(other need) bool { return other.easier(&n) }) {
		return
	}
	left := append(slices.DeleteFunc(list, func(other need) bool { return n.easier(&other) }), n)
	ns.at[of], ns.many = left, ns.many+len(left)-len(list)
}

// easier reports whether a need fits on every node of a spot on which another does.
func (n *need) easier(other *need) bool {
	a, b := &n.Claim, &other.Claim
	switch {
	case n.where != "" && n.where != other.where, !a.Host.Within(b.Host) || !a.Declared.Within(b.Declared):
		return false
	case a.GPUs > 0:
		return a.GPUs <= b.GPUs
	case a.Share.GPUMilli > 0: // of memory, 0 is a part like that of the GPU
		return b.Share.GPUMilli > 0 && a.Share.Owner == b.Share.Owner && a.Share.GPUMilli <= b.Share.GPUMilli &&
			(a.Share.MemoryMiB == 0) == (b.Share.MemoryMiB == 0) && a.Share.MemoryMiB <= b.Share.MemoryMiB
	}
	return len(b.Instances) > 0 && slices.Equal(a.Instances, b.Instances)
}

// served reports whether some member that waits fits on a node now.
func (ns *needs) served(n *record.Node) bool {
	class := n.Hardware()
	if ns.servedAt(n, spot{class: class}) || ns.only && ns.servedAt(n, spot{class: class, node: n.Spec.ID}) {
		return true
	}
	return slices.ContainsFunc(ns.keys, func(key string) bool {
		value, has := n.Spec.Labels[key]
		return has && ns.servedAt(n, spot{class: class, key: key, value: value})
	})
}

func (ns *needs) servedAt(n *record.Node, of spot) bool {
	return slices.ContainsFunc(ns.at[of], func(need need) bool { return ns.answers.backlog.Fits(n, need.Group) })
}
