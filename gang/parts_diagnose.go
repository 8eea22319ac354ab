package gang

import (
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A PartShortfall says why a part of a gang does not fit by itself. A domain is one of the part's
// level.
type PartShortfall struct {
	// Part is its position in Request.Parts.
	Part int
	// Copies is how many of its copies fit now, placed one after the other; Needed how many there
	// have to be.
	Copies, Needed int
	// Level is that of the domain in which each copy has to be.
	Level topology.Level
	// Domains could hold a copy if nothing were held, as far as counts tell: with none of them the
	// part can never start on this fleet.
	Domains int
	// GPUs is how many whole GPUs a copy takes, and MostGPUs how many that work the nodes of
	// Largest have that take work and may serve some group of the part: it is the domain with the
	// most.
	GPUs, MostGPUs int
	Largest        topology.DomainIndex
}

// shortPart says why a part does not fit by itself, without the other groups of the gang and the
// other parts; false: it does. The groups are given in the order of placement.
func (f *Fleet) shortPart(r *Request, part int, order []int) (Shortfall, bool) {
	alone := *r
	alone.Parts, alone.Apart, alone.Preferred, alone.Groups = []Part{r.Parts[part]}, 0, 0, nil
	alone.Parts[0].Required = r.levelOf(part)
	lead := -1
	for _, group := range order {
		if g := r.Groups[group]; g.Part == part+1 {
			if lead < 0 {
				lead = group
			}
			g.Part, g.Members, g.MinMembers = 1, g.min(), 0
			alone.Groups = append(alone.Groups, g)
		}
	}
	if lead < 0 || f.could(&alone) {
		return Shortfall{}, false
	}
	p := &PartShortfall{Part: part, Needed: r.Parts[part].copies(), Level: r.levelOf(part), Largest: r.Within}
	for i := range alone.Groups {
		g := &alone.Groups[i]
		g.Members /= p.Needed
		p.GPUs += g.Members * g.Claim.GPUs
	}
	alone.Parts[0].Copies = 1
	f.countCopies(&alone, p)
	f.measureDomains(&alone, p)
	s := f.shortage(r, lead)
	s.Bottleneck, s.Part = BottleneckFragmentation, p
	return s, true
}

// countCopies places copies one after the other, as many as are needed and fit, and takes them
// back.
func (f *Fleet) countCopies(one *Request, p *PartShortfall) {
	var placed []Member
	var copied Placement
	for p.Copies < p.Needed && f.Place(one, &copied) {
		placed = append(placed, copied.Members...)
		p.Copies++
	}
	for i := range placed {
		f.give(&placed[i].Hold)
	}
}

// measureDomains counts the domains that could hold a copy.
func (f *Fleet) measureDomains(one *Request, p *PartShortfall) {
	whole := Group{Claim: Claim{GPUs: 1}}
	polls := make([]*poll, len(one.Groups))
	for i := range one.Groups {
		g := &one.Groups[i]
		polls[i] = f.poll(g, one.Within)
		for _, class := range g.Classes {
			if g.Claim.GPUs > 0 && !slices.Contains(whole.Classes, class) {
				whole.Classes = append(whole.Classes, class)
			}
		}
	}
	gpus := f.poll(&whole, one.Within)
	judge := func(d topology.DomainIndex, idle func(*poll) int) {
		has := idle(gpus)
		if has > p.MostGPUs {
			p.MostGPUs, p.Largest = has, d
		}
		short := func(q *poll) bool { return idle(q) < q.group.Members }
		if has >= p.GPUs && !slices.ContainsFunc(polls, short) {
			p.Domains++
		}
	}
	var walk func(d topology.DomainIndex)
	walk = func(d topology.DomainIndex) {
		narrowest := f.tree.NodeLevel() - 1
		switch level := f.tree.DomainLevel(d); {
		case level >= min(p.Level, narrowest) && p.Level <= narrowest:
			judge(d, func(q *poll) int { return q.sum(d).idle })
		case level == narrowest:
			for _, n := range f.tree.Nodes(d) {
				judge(d, func(q *poll) int { return q.fitOn(n).idle })
			}
		default:
			for _, child := range f.tree.Children(d) {
				walk(child)
			}
		}
	}
	walk(one.Within)
}
