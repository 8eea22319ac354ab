package gang

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// A Place is somewhere that a member, or a gang, may go.
type Place struct {
	// Domain of a gang; the fleet where Node says it.
	Domain topology.DomainIndex
	// Node of a member, or of a gang that goes onto one node; -1 for a domain.
	Node topology.NodeIndex
	// GPU of a share; else -1.
	GPU int
	// Score is what a scorer sets: the higher the better. It is 0 before.
	Score int64
}

// SetScorer has the caller's own functions choose among places that are allowed. The higher score
// wins; among equal scores the rule of the package comment decides, as if there were no other
// places. So a function that leaves all scores as they are changes nothing. A function sets scores
// and nothing else of places, which are good until it returns, and does not call the fleet's
// methods that change it. Equal states give equal places in equal order, whatever the history.
// Either may be nil: the rule of the package comment.
//
// members ranks the places of one member: of a request for a single member, and of each share of a
// gang that gains nothing from being close. A place is a node, and for a share one GPU of it: of
// those that are alike the lowest. Instances have a ranking of their own, and no score; nor have
// GPUs that are lent: nobody loses what a borrower gets.
//
// domains ranks domains in which a gang leaves over as much and breaks as much, after both; at the
// node level nodes with as many free GPUs. What a placement costs comes after it, where several
// are compared (see Locality).
//
// Cost: all nodes with room for the member are shown, or all domains of a level with room for the
// gang: O(nodes), for shares O(GPUs in use). Without functions a search is as before.
func (f *Fleet) SetScorer(members func(g *Group, places []Place), domains func(r *Request, places []Place)) {
	f.scoreMember, f.scoreDomains = members, domains
}

// A picks is the scratch of a choice by score: the places, and which of them have the highest one.
type picks struct {
	places []Place
	// on: a member may go to nothing but what is marked with the epoch.
	on    bool
	epoch uint64
	marks []pickMark // by node

	// Of a choice by loss: the stocks, else nil; which of them are chosen; the only node left, or
	// -1; the least that GPUs for shares have left.
	stocks     *stocks
	best       []int32
	stockMarks []stockMark
	only       topology.NodeIndex
	least      int16
}

type pickMark struct {
	epoch uint64
	gpus  uint64 // for shares
}

// pickFor leaves one member of a group the places with the highest score. Unpick ends that.
func (f *Fleet) pickFor(d topology.DomainIndex, group int) {
	s := &f.search
	g := &s.request.Groups[group]
	switch {
	case !s.byMember || len(g.Claim.Instances) > 0 || g.Claim.Share.Over: // a lent GPU is not taken from anybody
		return
	case f.scoreMember == nil && f.losses.of != nil:
		f.pickByLoss(d, group)
		return
	case f.scoreMember == nil:
		return
	}
	s.group, s.scope, s.picks.places = group, nil, s.picks.places[:0]
	f.visit(d, g.Classes, g.Claim.GPUs, s.visitPlaces)
	if len(s.picks.places) > 1 {
		f.scoreMember(g, s.picks.places)
		s.picks.choose()
	}
}

// tryPlaces is the visit that lists the places of a member.
func (f *Fleet) tryPlaces(n topology.NodeIndex) bool {
	s := &f.search
	c := &s.request.Groups[s.group].Claim
	if !f.hasHost(n, c) || !f.admits(s.group, n) {
		return false
	}
	if c.Share.GPUMilli > 0 {
		f.listShares(n, &c.Share)
		return false
	}
	s.picks.places = append(s.picks.places, Place{Node: n, GPU: -1})
	return false
}

// listShares lists the GPUs of a node with room for a share, of those that are alike the lowest.
func (f *Fleet) listShares(n topology.NodeIndex, share *Share) {
	s, state := &f.search, &f.nodes[n]
	first := len(s.picks.places)
	for gpus := state.shared; gpus != 0; gpus &= gpus - 1 {
		gpu := bits.TrailingZeros64(gpus)
		if state.sharesIn(gpu, share) > 0 && !state.anyAlike(s.picks.places[first:], gpu) {
			s.picks.places = append(s.picks.places, Place{Node: n, GPU: gpu})
		}
	}
	if free := state.free(); free != 0 {
		if gpu := bits.TrailingZeros64(free); state.sharesIn(gpu, share) > 0 {
			s.picks.places = append(s.picks.places, Place{Node: n, GPU: gpu})
		}
	}
}

// anyAlike reports whether a shared GPU has as much left as one that is listed.
func (s *nodeState) anyAlike(listed []Place, gpu int) bool {
	for i := range listed {
		a, b := &s.slots[listed[i].GPU], &s.slots[gpu]
		if a.milli == b.milli && a.memory == b.memory && a.shares == b.shares {
			return true
		}
	}
	return false
}

// choose marks the places with the highest score.
func (p *picks) choose() {
	top := p.places[0].Score
	for i := range p.places {
		top = max(top, p.places[i].Score)
	}
	p.on, p.stocks = true, nil
	p.epoch++
	for i := range p.places {
		at := &p.places[i]
		if at.Score < top {
			continue
		}
		for int(at.Node) >= len(p.marks) {
			p.marks = append(p.marks, pickMark{})
		}
		mark := &p.marks[at.Node]
		if mark.epoch != p.epoch {
			*mark = pickMark{epoch: p.epoch}
		}
		if at.GPU >= 0 {
			mark.gpus |= 1 << at.GPU
		}
	}
}

// unpick ends a choice by score.
func (f *Fleet) unpick() { f.search.picks.on = false }

// leaves reports whether a choice by score, if there is one, leaves a node.
func (p *picks) leaves(n topology.NodeIndex) bool {
	if p.on && p.stocks != nil {
		_, left := p.markOf(n)
		return left
	}
	return !p.on || int(n) < len(p.marks) && p.marks[n].epoch == p.epoch
}

// leavesGPU is leaves for a GPU of a node with so much left, for a share.
func (p *picks) leavesGPU(n topology.NodeIndex, gpu int, left int32) bool {
	if p.on && p.stocks != nil {
		mark, marked := p.markOf(n)
		return marked && int32(mark.left) == left
	}
	return !p.on || p.leaves(n) && p.marks[n].gpus>>gpu&1 == 1
}

// scoresDomains reports whether domains for these groups are chosen by score: for the gang alone.
func (f *Fleet) scoresDomains(scope []int) bool {
	s := &f.search
	return f.scoreDomains != nil && s.isWhole(scope)
}

// scoreCandidates has candidates scored.
func (f *Fleet) scoreCandidates(list []candidate) {
	p := &f.search.picks
	p.places = p.places[:0]
	for i := range list {
		p.places = append(p.places, Place{Domain: list[i].domain, Node: -1, GPU: -1})
	}
	f.scoreDomains(f.search.request, p.places)
	for i := range list {
		list[i].score = p.places[i].Score
	}
}

// pickNode leaves a gang, which fits on one node, those with the highest score of the nodes that
// do as well as the one that it would get. The gang is not placed.
func (f *Fleet) pickNode(d topology.DomainIndex, scope []int, gpus int) {
	s := &f.search
	mark := len(s.placement.Members)
	if !f.onNode(d, scope, gpus) {
		return
	}
	best := s.placement.Members[mark].Hold.Node
	f.rollback(mark)
	free, broken := f.tree.Free(best), f.nodeCost(best, gpus)
	s.picks.places = s.picks.places[:0]
	classes := s.request.Groups[scope[0]].Classes
	for _, c := range classes {
		f.tree.Visit(d, classes, c, free, func(n topology.NodeIndex) bool {
			if f.nodeCost(n, gpus) == broken && f.fitsAll(n) {
				s.picks.places = append(s.picks.places, Place{Domain: f.tree.DomainOf(n, f.tree.NodeLevel()), Node: n, GPU: -1})
			}
			return false
		})
	}
	if len(s.picks.places) > 1 {
		f.scoreDomains(s.request, s.picks.places)
		s.picks.choose()
	}
}
