package goodput

import "github.com/berth-sched/berth"

// A places is the book of where the gang runs: whether those can be together that
// talk the most, and where the place of a member is that had to leave its node.
type places struct {
	last []int // nodes of the members in the life before; nil in the first
	// moved members, by how far the new node is from the old one.
	sameLeaf, samePod, otherPod int
	starts                      int
	// split pipelines, as of the last start, and their time: those that are on several leaves,
	// however the ranks are dealt out among the nodes.
	split int
	since berth.Time
	time  berth.Duration
}

// note takes a start of the whole gang.
func (p *places) note(now berth.Time, at []int) {
	p.until(now)
	p.starts++
	p.split = (len(at) + pipeline - 1) / pipeline
	inLeaf := map[int]int{}
	for _, node := range at {
		if inLeaf[node/leafNodes]++; inLeaf[node/leafNodes]%pipeline == 0 {
			p.split--
		}
	}
	for member, node := range at {
		if p.last == nil || p.last[member] == node {
			continue
		}
		switch before := p.last[member]; {
		case node/leafNodes == before/leafNodes:
			p.sameLeaf++
		case node/podNodes == before/podNodes:
			p.samePod++
		default:
			p.otherPod++
		}
	}
	p.last = append(p.last[:0], at...)
}

// until books the time for which pipelines have been split.
func (p *places) until(now berth.Time) {
	p.time += berth.Duration(p.split) * now.Sub(p.since)
	p.since = now
}

// moved is how many members were started on another node than before.
func (p *places) moved() int { return p.sameLeaf + p.samePod + p.otherPod }
