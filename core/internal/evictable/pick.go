package evictable

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/topology"
)

// A Pick gives the nodes on which room can be made for a want, the cheapest first, and those last
// that are of use only if others are.
type Pick struct {
	index    *Index
	question *Question
	want     *Want
	// found has the spots that were not given yet, the cheapest on top, where members may be
	// anywhere; given counts the others. partial: those that were not found are dearer.
	found   pq.Heap[spot]
	given   int
	partial bool
	buffer  []spot
	// list has the nodes in order, where they have to be together.
	list []topology.NodeIndex
	// Until is the first instant at which one more replica may be stopped; 0: there is none.
	Until berth.Time
	// Hopeless: whatever may be taken does not make room.
	Hopeless bool
}

// Pick answers a question for a want. O(places that it is about), and where the members have to be
// together that times its logarithm.
func (p *Index) Pick(q *Question, w *Want) *Pick {
	p.Refresh()
	pick := &Pick{index: p, question: q, want: w}
	if w.apart() {
		most := 0
		if w.First > 0 {
			most = w.First*min(w.Most, spotsOfNode) + beside
		}
		if p.atFirst != 0 {
			most = max(0, p.atFirst)
		}
		pick.find(most)
		return pick
	}
	found := p.selection(0)
	pick.Until = p.spots(q, w, &found)
	list := found.list
	pick.buffer = list
	if w.Suits != nil {
		list = slices.DeleteFunc(list, func(s spot) bool { return !w.Suits(s.node) })
	}
	slices.SortFunc(list, p.compare)
	pick.list = p.together(w, list)
	pick.Hopeless = !w.Loose && len(pick.list) == 0
	return pick
}

// What is kept of the spots at first, for each node that is asked for: as many members as it has
// room for, and some nodes that do not suit.
const spotsOfNode, beside = 8, 16

// find finds the cheapest spots, so many; 0: all.
func (k *Pick) find(most int) {
	found := k.index.selection(most)
	found.made = true
	k.Until = k.index.spots(k.question, k.want, &found)
	k.partial = found.full(k.want)
	k.Hopeless = !k.want.Loose && found.count < k.want.Members
	k.buffer = found.list
	k.found = pq.Of(k.buffer, func(a, b spot) bool { return k.index.compare(a, b) < 0 })
}

// Close ends a pick: its memory is used again.
func (k *Pick) Close() {
	k.index.spare = append(k.index.spare, k.buffer[:0])
	*k = Pick{index: k.index}
}

// Next gives the next node; false: that was all. Everything is in place as it was when the pick was
// made.
func (k *Pick) Next() (topology.NodeIndex, bool) {
	for {
		if k.found.Len() == 0 && k.partial {
			k.index.spare = append(k.index.spare, k.buffer[:0])
			k.find(0)
			for range k.given {
				k.found.Pop()
			}
		}
		if k.found.Len() == 0 {
			break
		}
		s := k.found.Pop()
		k.given++
		if k.want.Suits == nil || k.want.Suits(s.node) {
			return s.node, true
		}
	}
	if len(k.list) == 0 {
		return 0, false
	}
	n := k.list[0]
	k.list = k.list[1:]
	return n, true
}

// A bundle is spots that are of use together: a segment of a gang, or a region that has room for
// all of it.
type bundle struct {
	spot  // the harm and the cost of all, and the first node
	spots []spot
	full  bool // there are enough of them
}

func (b *bundle) add(s *spot) {
	switch {
	case len(b.spots) == 0:
		b.spot = *s
	case s.level > b.level:
		b.level, b.cost, b.lower = s.level, s.cost, s.lower+b.lower+b.cost
	case s.level == b.level:
		b.cost, b.lower = b.cost+s.cost, b.lower+s.lower
	default:
		b.lower += s.lower + s.cost
	}
}

// together puts the nodes of spots, which are in order, into the order of regions: from the one
// that has room for all members for the least on, its segments that cost the least. Nothing where
// no region has room, as far as the spots tell.
func (p *Index) together(w *Want, list []spot) []topology.NodeIndex {
	segments := p.segments(w, list)
	need, each := w.Members, 1
	if w.Segment > 1 {
		need, each = (w.Members+w.Segment-1)/w.Segment, w.Segment
	}
	at := map[int32]int{} // looked up, never ranged over
	var regions []bundle
	for i := range segments {
		number := int32(0)
		if w.Region != nil {
			number = w.Region(segments[i].node)
		}
		k, known := at[number]
		if !known {
			k = len(regions)
			at[number] = k
			regions = append(regions, bundle{})
		}
		r := &regions[k]
		if has := len(r.spots) / each; w.Empty && !r.full || !w.Empty && has < need {
			r.add(&segments[i].spot)
		}
		r.spots = append(r.spots, segments[i].spots...)
		r.full = r.full || len(r.spots) >= need*each
	}
	if !w.Loose {
		regions = slices.DeleteFunc(regions, func(r bundle) bool { return !r.full })
	}
	slices.SortStableFunc(regions, func(a, b bundle) int { return p.compare(a.spot, b.spot) })
	return nodesOf(regions, 2*need*each)
}

// segments makes segments of spots that are in order: each of the cheapest of its domain that are
// left; of whole domains where those have to be empty.
func (p *Index) segments(w *Want, list []spot) []bundle {
	var out []bundle
	if w.Segment <= 1 && !w.Empty {
		for i := range list {
			out = append(out, bundle{spot: list[i], spots: list[i : i+1]})
		}
		return out
	}
	tree := p.state.Fleet.Tree()
	at := map[topology.DomainIndex]int{} // looked up, never ranged over: the segment in the making
	for i := range list {
		domain := tree.DomainOf(list[i].node, w.SegmentLevel)
		k, known := at[domain]
		if !known || !w.Empty && len(out[k].spots) == w.Segment {
			k = len(out)
			at[domain] = k
			out = append(out, bundle{})
		}
		out[k].add(&list[i])
		out[k].spots = append(out[k].spots, list[i])
	}
	if !w.Empty {
		out = slices.DeleteFunc(out, func(b bundle) bool { return len(b.spots) < w.Segment })
	}
	slices.SortStableFunc(out, func(a, b bundle) int { return p.compare(a.spot, b.spot) })
	return out
}

// nodesOf lists the nodes of regions in their order: of each the first spots, so many, and then the
// others.
func nodesOf(regions []bundle, first int) []topology.NodeIndex {
	var list []topology.NodeIndex
	enter := func(spots []spot) {
		for i := range spots {
			if spots[i].level >= 0 {
				list = append(list, spots[i].node)
			}
		}
	}
	for i := range regions {
		enter(regions[i].spots[:min(first, len(regions[i].spots))])
	}
	for i := range regions {
		enter(regions[i].spots[min(first, len(regions[i].spots)):])
	}
	return list
}
