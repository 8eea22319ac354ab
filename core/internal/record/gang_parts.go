package record

import (
	"slices"

	"github.com/berth-sched/berth"
)

// PartOf is the part that a group is of; nil: it is of none.
func PartOf(t *berth.Topology, g *berth.Group) *berth.Part {
	i := slices.IndexFunc(t.Parts, func(p berth.Part) bool { return p.Name == g.Part })
	if g.Part == "" || i < 0 {
		return nil
	}
	return &t.Parts[i]
}

// Copies is how often a part is there.
func Copies(p *berth.Part) int { return max(1, p.Copies) }

// CopiesOf is in how many copies of its part a group is.
func CopiesOf(t *berth.Topology, g *berth.Group) int {
	if p := PartOf(t, g); p != nil {
		return Copies(p)
	}
	return 1
}

// CopyOf lists the members of one copy of a part.
func (rep *Replica) CopyOf(p *berth.Part, at int) (members []Member) {
	for g := range rep.Job.Spec.Groups {
		if group := &rep.Job.Spec.Groups[g]; group.Part == p.Name {
			each := group.Members / Copies(p)
			members = append(members, rep.MembersOf(g)[at*each:(at+1)*each]...)
		}
	}
	return members
}

// MovesWhole reports whether where the missing members of a group go depends on all others: they
// cannot be placed anew alone. Of a group in a part that is so if all of a copy is missing.
func (rep *Replica) MovesWhole(g int) bool {
	group := &rep.Job.Spec.Groups[g]
	p := PartOf(&rep.Job.Spec.Topology, group)
	if PlacedTogether(&group.Topology) || p == nil {
		return PlacedTogether(&group.Topology)
	}
	for at := range Copies(p) {
		if !There(rep.CopyOf(p, at)) {
			return true
		}
	}
	return false
}
