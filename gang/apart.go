package gang

import (
	"github.com/berth-sched/berth/topology"
)

// An apart is scratch for the groups that need the host alone: the request in which they may go to
// nodes without GPUs only, those groups, and the others.
type apart struct {
	request     Request
	classes     []topology.NodeClass
	hosts, near []int
}

func (a *apart) end() {
	clear(a.request.Groups)
	a.request = Request{Groups: a.request.Groups[:0]}
}

// onHosts reports whether a group gains nothing from being close to GPUs: it needs the host alone,
// and asks for no level.
func (g *Group) onHosts() bool {
	return g.Part == 0 && !g.Claim.WantsDevice() && g.Claim.wantsHost() && g.Required == 0 && g.Preferred == 0 &&
		g.outermost() <= 1 && g.Balance == 0 && g.Spread == 0
}

// placeApart places the groups that need the host alone on nodes without GPUs, where they take no
// host CPU and no memory that GPUs need, and before them all other groups, or nothing.
// Whether that is so is told by classes, so it costs nothing where no node is without GPUs.
func (f *Fleet) placeApart(required, preferred topology.Level) bool {
	s := &f.search
	r, a := s.request, &s.apart
	some := false
	for i := range r.Groups {
		some = some || r.Groups[i].onHosts()
	}
	if !some || r.Preferred != 0 || r.Required == f.tree.NodeLevel() || !f.hostClasses() || len(a.near) == 0 && s.byMember {
		return false // of one by itself the scorer sees all places
	}
	s.request = &a.request
	defer func() { s.request = r }()
	if len(a.near) == 0 {
		return f.place(r.Within, s.order, required, preferred)
	}
	s.together = len(a.near)
	defer func() { s.together = len(r.Groups) }()
	if len(a.near) == 1 {
		required, preferred = r.only(a.near[0])
	}
	mark := len(s.placement.Members)
	if !f.place(r.Within, a.near, required, preferred) {
		return false
	}
	d := r.Within
	if r.Required > f.tree.DomainLevel(d) {
		d = f.tree.DomainOf(s.placement.Members[mark].Hold.Node, r.Required)
	}
	for _, group := range a.hosts {
		if f.fill(d, group) < s.counts[group] {
			f.rollback(mark)
			return false
		}
	}
	return true
}

// hostClasses divides the groups and limits those that need the host alone to the classes without
// GPUs; false where there is no such class for one. O(groups x classes).
func (f *Fleet) hostClasses() bool {
	s := &f.search
	r, a := s.request, &s.apart
	a.hosts, a.near, a.classes = a.hosts[:0], a.near[:0], a.classes[:0]
	groups := append(a.request.Groups[:0], r.Groups...)
	a.request = *r
	a.request.Groups = groups
	for _, i := range s.order {
		g := &groups[i]
		if !g.onHosts() {
			a.near = append(a.near, i)
			continue
		}
		from := len(a.classes)
		for _, c := range g.Classes {
			if gpus, known := f.tree.ClassGPUs(c); known && gpus == 0 {
				a.classes = append(a.classes, c)
			}
		}
		if from == len(a.classes) {
			return false
		}
		g.Classes = a.classes[from:len(a.classes):len(a.classes)]
		a.hosts = append(a.hosts, i)
	}
	return true
}
