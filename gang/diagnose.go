package gang

import (
	"math"

	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/topology"
)

// A Resource is what a request is short of.
type Resource uint8

const (
	// NoResource: nothing is short.
	NoResource Resource = iota
	// Nodes: none that may serve the group takes work.
	Nodes
	// GPUs: whole free ones, counted node by node.
	GPUs
	// Shares: compute or memory of GPUs that are free or shared by the same owner.
	Shares
	// Instances of the profiles asked for, on divided GPUs.
	Instances
	// firstHost is the first resource of the nodes' hosts.
	firstHost
	// Fragmentation: there is enough of each resource, but not of all on the same
	// nodes, or not in one domain of the required level, or not for all groups at a
	// time.
	Fragmentation = firstHost + Resource(host.Resources)
)

const resourceNames enum.Names = "nothing|nodes|GPUs|GPU shares|GPU instances"

// HostOf is a resource of the nodes' hosts.
func HostOf(r host.Resource) Resource { return firstHost + Resource(r) }

// OfHost reports whether a resource is one of the nodes' hosts.
func (r Resource) OfHost() bool { return r >= firstHost && r < Fragmentation }

// String returns the name of a resource, such as "host CPU".
func (r Resource) String() string {
	switch {
	case r.OfHost():
		return host.Resource(r - firstHost).String()
	case r == Fragmentation:
		return "fragmentation"
	}
	return enum.Text(resourceNames, r, "resource %d")
}

// A Shortage says why a request does not fit. It is about the first group that
// does not fit by itself, or, if each would, about the first one in the order of
// placement; all numbers are about that group, at or below Request.Within, without
// regard to segments.
type Shortage struct {
	// Group is its position in Request.Groups.
	Group int
	// Needed is the least number of members that will do.
	Needed int
	// EligibleNodes may serve the group: they take work, are of an allowed class and
	// match.
	EligibleNodes int
	// RoomyNodes of these have enough GPUs, or enough of one GPU, or an instance, for one member,
	// whatever the host has.
	RoomyNodes int
	// Members is how many fit now, wherever they are; MembersInDomain is how many of
	// them fit in Domain, the best domain of the required level.
	Members, MembersInDomain int
	Domain                   topology.Domain
	// IfIdle is how many would fit, wherever they are, if nothing were held: below
	// Needed the group can never start on this fleet.
	IfIdle int
	// Tightest is what the group is short of: the resource of which there is enough
	// for the fewest members.
	Tightest Resource
}

// Diagnose says why a request does not fit now, and false if it does or is invalid.
// It leaves the fleet as it is. It walks the nodes: O(nodes x groups), and it
// allocates.
func (f *Fleet) Diagnose(r *Request) (Shortage, bool) {
	if f.Validate(r) != nil {
		return Shortage{}, false
	}
	var p Placement
	if f.Place(r, &p) {
		for i := range p.Members {
			f.give(&p.Members[i].Hold)
		}
		return Shortage{}, false
	}
	f.begin(r, &p)
	order := append([]int(nil), f.search.order...)
	f.end()
	for _, group := range order {
		alone := *r
		alone.Groups = []Group{r.Groups[group]}
		alone.Groups[0].Required = max(r.Required, alone.Groups[0].Required)
		alone.Required, alone.Preferred, alone.Groups[0].Preferred = 0, 0, 0
		alone.Groups[0].Count = alone.Groups[0].min()
		if !f.Place(&alone, &p) {
			return f.shortage(r, group), true
		}
		for i := range p.Members {
			f.give(&p.Members[i].Hold)
		}
	}
	s := f.shortage(r, order[0])
	s.Tightest = Fragmentation
	return s, true
}

// shortage counts what there is for one group.
func (f *Fleet) shortage(r *Request, group int) Shortage {
	g := &r.Groups[group]
	s := Shortage{Group: group, Needed: g.min(), Domain: r.Within}
	required := max(r.Required, g.Required)
	var enough [Fragmentation]int // members by resource alone
	f.tally(r.Within, g, required, &s, &enough)
	switch {
	case s.EligibleNodes == 0:
		s.Tightest = Nodes
		return s
	case s.Members >= s.Needed:
		s.Tightest = Fragmentation
		return s
	}
	s.Tightest = Fragmentation
	for resource, least := GPUs, s.Needed; resource < Fragmentation; resource++ {
		if enough[resource] < least {
			s.Tightest, least = resource, enough[resource]
		}
	}
	return s
}

// tally adds up a domain, and keeps the best domain of the required level. It returns
// how many members fit there now.
func (f *Fleet) tally(d topology.Domain, g *Group, required topology.Level, s *Shortage, enough *[Fragmentation]int) int {
	total := 0
	for _, child := range f.tree.Children(d) {
		total = add(total, f.tally(child, g, required, s, enough))
	}
	best := 0
	for _, c := range g.Classes {
		for _, n := range f.tree.NodesOf(d, c) {
			if !f.nodes[n].schedulable || g.Match != nil && !g.Match(n) {
				continue
			}
			fits := f.tallyNode(n, &g.Claim, s, enough)
			best = max(best, fits)
			total = add(total, fits)
			s.Members = add(s.Members, fits)
		}
	}
	switch {
	case required == f.tree.NodeLevel():
		if best > s.MembersInDomain {
			s.MembersInDomain, s.Domain = best, d
		}
	case f.tree.DomainLevel(d) >= required && total > s.MembersInDomain,
		// Wider domains come after the ones inside them.
		f.tree.DomainLevel(d) >= required && total == s.MembersInDomain && f.inside(s.Domain, d):
		s.MembersInDomain, s.Domain = total, d
	}
	return total
}

// inside reports whether a domain is another or below it.
func (f *Fleet) inside(d, around topology.Domain) bool {
	for d != around && d != topology.Root {
		d = f.tree.Parent(d)
	}
	return d == around
}

// tallyNode adds up one eligible node and returns how many members fit there now.
func (f *Fleet) tallyNode(n topology.Node, c *Claim, s *Shortage, enough *[Fragmentation]int) int {
	state := &f.nodes[n]
	s.EligibleNodes++
	device := Claim{GPUs: c.GPUs, Share: c.Share, Instances: c.Instances}
	room := f.fits(n, &device)
	if room > 0 {
		s.RoomyNodes++
	}
	kind := c.kind()
	for other := GPUs; other <= Instances; other++ {
		if other != kind {
			enough[other] = math.MaxInt32
		}
	}
	enough[kind] = add(enough[kind], room)
	fits, left := room, state.hostFree()
	for r := range left {
		count := fitHost(math.MaxInt32, left[r], c.Host[r])
		enough[HostOf(host.Resource(r))] = add(enough[HostOf(host.Resource(r))], count)
		fits = min(fits, count)
	}

	idle := *state
	idle.whole, idle.shared, idle.seated, idle.hostUsed = 0, 0, 0, host.Amounts{}
	idle.slots = make([]slot, len(state.slots))
	for gpu := range idle.slots {
		idle.slots[gpu].division, idle.slots[gpu].exist = state.slots[gpu].division, state.slots[gpu].exist
	}
	s.IfIdle = add(s.IfIdle, idle.fits(c))
	return fits
}

// kind is what a claim needs of GPUs; GPUs where it needs none.
func (c *Claim) kind() Resource {
	switch {
	case c.Share.Milli > 0:
		return Shares
	case len(c.Instances) > 0:
		return Instances
	}
	return GPUs
}
