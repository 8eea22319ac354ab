package gang

import (
	"math"

	"github.com/berth-sched/berth/topology"
)

// This file is about classes of nodes that a gang should have, and others that will do.
//
// The law. Let t(c) be the tier of a class c in Group.Tiers, and R(k) a request in which each
// group has only its classes of tiers up to k, and all of its members or none. Place gives what
// R(k) gives for the least k for which that is a placement, and else what the request gives without
// tiers.
//
// The case: 64 GPUs on nodes of which some have NICs of a quarter of the rate. A gang runs at the
// pace of the slowest NIC among its nodes, so that one such node costs as much as eight.
//
// Rejected: to weigh tiers against distance, as the number of GPUs left over is. A domain more or
// less is a hop; a rate counts on every hop. Also rejected: to prefer nodes of a low tier one by
// one, as a mixture is worth no more than its slowest node.

// tiers is the scratch of a search by tiers.
type tiers struct {
	request Request
	groups  []tierGroup
}

// A tierGroup is what one group may have up to a tier.
type tierGroup struct {
	classes []topology.NodeClass
	kinds   []int32
}

// placeByTiers is Place with the classes of as few tiers as hold all of the gang. False: nothing
// short of all classes does, and nothing is held.
func (f *Fleet) placeByTiers(r *Request, p *Placement) bool {
	t := &f.search.tiers
	tier, more := r.tierAfter(math.MinInt32)
	for more {
		after, some := r.tierAfter(tier)
		if !some {
			break // all classes
		}
		t.narrow(r, tier)
		if t.request.hasClasses() && f.placeAnyKind(&t.request, p) {
			t.end()
			return true
		}
		tier = after
	}
	t.end()
	return false
}

// tierAfter is the least tier of a request above one; false: there is none.
func (r *Request) tierAfter(tier int32) (least int32, some bool) {
	for i := range r.Groups {
		for _, of := range r.Groups[i].Tiers {
			if of > tier && (!some || of < least) {
				least, some = of, true
			}
		}
	}
	return least, some
}

// hasClasses reports whether each group has a class left.
func (r *Request) hasClasses() bool {
	for i := range r.Groups {
		if len(r.Groups[i].Classes) == 0 {
			return false
		}
	}
	return true
}

// narrow makes the request with the classes of tiers up to one.
func (t *tiers) narrow(r *Request, most int32) {
	groups := t.request.Groups[:0]
	t.request = *r
	t.request.Groups = append(groups, r.Groups...)
	for len(t.groups) < len(r.Groups) {
		t.groups = append(t.groups, tierGroup{})
	}
	for i := range r.Groups {
		g, list, one := &r.Groups[i], &t.groups[i], &t.request.Groups[i]
		one.MinMembers = 0
		if len(g.Tiers) == 0 {
			continue
		}
		list.classes, list.kinds = list.classes[:0], list.kinds[:0]
		for k, class := range g.Classes {
			if g.Tiers[k] > most {
				continue
			}
			if list.classes = append(list.classes, class); len(g.Kinds) > 0 {
				list.kinds = append(list.kinds, g.Kinds[k])
			}
		}
		one.Classes, one.Kinds, one.Tiers = list.classes, list.kinds, nil
	}
}

// end lets go of what belongs to the caller.
func (t *tiers) end() { clear(t.request.Groups) }
