package gang

import (
	"slices"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A twin finds out by trying everything whether a request can be placed. It shares
// no code with the search.
type twin struct {
	*world
	request *Request
	counts  []int
	rooms   []room
}

func newTwin(w *world, r *Request) *twin {
	t := &twin{world: w, request: r, rooms: w.rooms()}
	for i := range r.Groups {
		t.counts = append(t.counts, r.Groups[i].Members)
	}
	return t
}

// inside lists the nodes of a set that are in each domain of a level.
func (t *twin) split(nodes []int, l topology.Level) [][]int {
	var names []string
	sets := map[string][]int{}
	for _, i := range nodes {
		name := t.domain(t.nodes[i].index, l)
		if sets[name] == nil {
			names = append(names, name)
		}
		sets[name] = append(sets[name], i)
	}
	slices.Sort(names)
	var list [][]int
	for _, name := range names {
		list = append(list, sets[name])
	}
	return list
}

// level returns the narrowest level, from one down to another, at which the whole
// request fits into one domain.
func (t *twin) level(start, widest topology.Level) (topology.Level, bool) {
	var all []int
	for i := range t.nodes {
		l := t.fleet.Tree().DomainLevel(t.request.Within)
		if t.domain(t.nodes[i].index, l) == t.domainLevelName(t.request.Within) {
			all = append(all, i)
		}
	}
	for l := start; l >= widest; l-- {
		for _, nodes := range t.split(all, l) {
			if t.groupsFit(0, nodes) {
				return l, true
			}
		}
	}
	return 0, false
}

// groupsFit tries all ways to place the groups from one on, all on some nodes.
func (t *twin) groupsFit(group int, nodes []int) bool {
	if group == len(t.request.Groups) {
		return true
	}
	floors := make([]int, len(t.rooms)) // members of another group may go where they like
	for i := range t.rooms {
		floors[i], t.rooms[i].floor = t.rooms[i].floor, 0
	}
	defer func() {
		for i := range floors {
			t.rooms[i].floor = floors[i]
		}
	}()
	for _, subset := range t.split(nodes, t.request.Groups[group].Required) {
		if t.segmentsFit(group, 0, 0, subset, nodes) {
			return true
		}
	}
	return false
}

// segmentsFit places the members of a group from one on, and then the other groups.
// To save time members of a group go to nodes in order, and so do segments.
func (t *twin) segmentsFit(group, member, firstSet int, nodes, all []int) bool {
	g := &t.request.Groups[group]
	if member == t.counts[group] {
		return t.groupsFit(group+1, all)
	}
	if g.outermost() == 1 {
		return t.membersFit(group, member, t.counts[group], 0, nodes, func() bool { return t.groupsFit(group+1, all) })
	}
	sets := t.split(nodes, g.Segments[0].Level)
	for i := firstSet; i < len(sets); i++ {
		if t.membersFit(group, member, member+g.Segments[0].Size, 0, sets[i], func() bool {
			return t.segmentsFit(group, member+g.Segments[0].Size, i, nodes, all)
		}) {
			return true
		}
	}
	return false
}

func (t *twin) membersFit(group, member, end, from int, nodes []int, rest func() bool) bool {
	if member == end {
		return rest()
	}
	g := &t.request.Groups[group]
	for at := from; at < len(nodes); at++ {
		n, r := &t.nodes[nodes[at]], &t.rooms[nodes[at]]
		if !n.schedulable || !slices.Contains(g.Classes, n.Class) || g.Match != nil && !g.Match(n.index) {
			continue
		}
		for _, h := range r.options(n, &g.Claim) {
			before := *r
			r.take(&h)
			if h.Instance != (mig.Placement{}) { // members are alike, so in order will do
				r.floor = place(&h)
			}
			ok := t.membersFit(group, member+1, end, at, nodes, rest)
			*r = before
			if ok {
				return true
			}
		}
	}
	return false
}
