package gang

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/topology"
)

// A Bottleneck is what a request is short of.
type Bottleneck uint8

const (
	// BottleneckNone: nothing is short.
	BottleneckNone Bottleneck = iota
	// BottleneckNodes: none that may serve the group takes work.
	BottleneckNodes
	// BottleneckGPUs: whole free ones, counted node by node.
	BottleneckGPUs
	// BottleneckShares: compute or memory of GPUs that are free or shared by the same owner.
	BottleneckShares
	// BottleneckInstances of the profiles asked for, on divided GPUs.
	BottleneckInstances
	// firstHost is the first resource of the nodes' hosts.
	firstHost
	// BottleneckFragmentation: there is enough of each resource, but not of all on the same
	// nodes, or not in one domain of the required level, or not for all groups at a
	// time.
	BottleneckFragmentation = firstDeclared + Bottleneck(countable.MaxDeclared)
	// firstDeclared is the first declared resource of the nodes.
	firstDeclared = firstHost + Bottleneck(countable.NumResources)
)

// bottleneckOf is a resource of the nodes' hosts.
func bottleneckOf(r countable.Resource) Bottleneck { return firstHost + Bottleneck(r) }

// Host is the resource of the nodes' hosts that is short; false if it is none of those.
func (b Bottleneck) Host() (countable.Resource, bool) {
	return countable.Resource(b - firstHost), b >= firstHost && b < firstDeclared
}

// Declared is the number of the declared resource that is short; false if it is none of those.
func (b Bottleneck) Declared() (int, bool) {
	return int(b) - int(firstDeclared), b >= firstDeclared && b < BottleneckFragmentation
}

// bottleneckNames has the texts; those of hosts are their own.
func bottleneckNames() enum.Names {
	names := "Bottleneck: none|nodes|gpus|gpu-shares|gpu-instances"
	for r := range countable.Resource(countable.NumResources) {
		names += "|" + r.String()
	}
	for i := range countable.MaxDeclared {
		names += "|declared-" + strconv.Itoa(i)
	}
	return enum.Names(names + "|fragmentation")
}

// String returns the text, such as "gpu-shares"; a resource of the hosts is named as its field is,
// such as "cpuMilli".
func (b Bottleneck) String() string { return enum.Text(bottleneckNames(), b) }

func (b Bottleneck) MarshalText() ([]byte, error) {
	return enum.Marshal(bottleneckNames(), b, invalidText)
}

func (b *Bottleneck) UnmarshalText(text []byte) error {
	return enum.Unmarshal(bottleneckNames(), b, text, invalidText)
}

// A Shortfall says why a request does not fit. It is about the first group that does not fit by
// itself, or, if each would, about the first one in the order of placement, of the first part that
// does not fit by itself if there is one; all numbers are about that group, at or below
// Request.Within, without regard to segments.
type Shortfall struct {
	// Group is its position in Request.Groups.
	Group int
	// Needed is the least number of members that will do.
	Needed int
	// EligibleNodes may serve the group: they take work, are of an allowed class and
	// match.
	EligibleNodes int
	// FittingNodes of these have enough GPUs, or enough of one GPU, or an instance, for one member,
	// whatever the host has.
	FittingNodes int
	// Members is how many fit now, wherever they are; MembersInDomain is how many of
	// them fit in Domain: of the domains of the required level that could hold Needed if
	// nothing were held, or of all if none could, the one in which the most fit now.
	Members, MembersInDomain int
	Domain                   topology.DomainIndex
	// IfIdle is how many would fit, wherever they are, if nothing were held: below
	// Needed the group can never start on this fleet.
	IfIdle int
	// IfIdleInDomain is how many of them would fit in LargestDomain, the largest domain of the
	// required level: below Needed the group can start in no domain of this fleet, whatever ends.
	IfIdleInDomain int
	LargestDomain  topology.DomainIndex
	// Bottleneck is what the group is short of: the resource of which there is enough
	// for the fewest members.
	Bottleneck Bottleneck
	// Part is about the first part that does not fit by itself, though each of its groups would:
	// nil where there is none. The numbers above are those of its hardest group then.
	Part *PartShortfall
	// Kind and Variant are those that the numbers are about, where the group has several to
	// choose from: the one that could hold it if nothing were held, and of these the one in
	// which the most members fit now.
	Kind    int32
	Variant string
}

// Diagnose says why a request does not fit now, and false if it does or is invalid.
// It leaves the fleet as it is. Nodes that are alike to every claim are in one condition, and are
// counted: O(domains x conditions in one x groups), O(nodes) for a group with a Match, and what
// changed since the last diagnosis. It allocates.
func (f *Fleet) Diagnose(r *Request) (Shortfall, bool) {
	if f.Validate(r) != nil {
		return Shortfall{}, false
	}
	var p Placement
	if f.Place(r, &p) {
		for i := range p.Members {
			f.give(&p.Members[i].Hold)
		}
		return Shortfall{}, false
	}
	f.begin(r, &p)
	order := append([]int(nil), f.search.order...)
	f.end()
	for _, group := range order {
		alone := *r
		alone.Groups = []Group{r.Groups[group]}
		if r.Groups[group].Part > 0 {
			alone.Parts, alone.Apart, alone.Groups[0].Part = nil, 0, 0
		}
		alone.Groups[0].Required = r.Around(group)
		alone.Required, alone.Preferred, alone.Groups[0].Preferred = 0, 0, 0
		alone.Groups[0].Members = alone.Groups[0].min()
		if !f.Place(&alone, &p) {
			return f.shortage(r, group), true
		}
		for i := range p.Members {
			f.give(&p.Members[i].Hold)
		}
	}
	for part := range r.Parts {
		if s, short := f.shortPart(r, part, order); short {
			return s, true
		}
	}
	s := f.shortage(r, order[0])
	s.Bottleneck = BottleneckFragmentation
	return s, true
}

// shortage counts what there is for one group, in the kind and variant that come closest.
func (f *Fleet) shortage(r *Request, group int) Shortfall {
	var best Shortfall
	for i, c := range f.choices(r, group, f.variantsOf(r, &r.Groups[group])) {
		s := f.shortageOf(r, &c.Group, group)
		s.Kind, s.Variant = c.kind, c.variant
		if i == 0 || s.closer(&best) {
			best = s
		}
	}
	return best
}

// closer reports whether a group comes closer to being placed than by another shortfall.
func (s *Shortfall) closer(t *Shortfall) bool {
	if (s.IfIdleInDomain >= s.Needed) != (t.IfIdleInDomain >= t.Needed) {
		return s.IfIdleInDomain >= s.Needed
	}
	return cmp.Or(cmp.Compare(min(s.Members, s.Needed), min(t.Members, t.Needed)), cmp.Compare(s.IfIdle, t.IfIdle)) > 0
}

// A choice is a group with one of its kinds, on nodes of one variant.
type choice struct {
	Group
	kind    int32
	variant string
}

// choices lists what a group may have on nodes of some variants, in the order in which Place tries
// it.
func (f *Fleet) choices(r *Request, group int, variants []string) []choice {
	g := &r.Groups[group]
	list := []choice{{Group: *g}}
	if g.mayVary() {
		list = list[:0]
		for _, kind := range g.Kinds {
			if slices.ContainsFunc(list, func(c choice) bool { return c.kind == kind }) {
				continue
			}
			classes := g.ofKind(nil, kind)
			c := choice{Group: g.Only(func(class topology.NodeClass) bool { return slices.Contains(classes, class) }), kind: kind}
			c.Kinds = nil
			list = append(list, c)
		}
	}
	if len(variants) == 0 {
		return list
	}
	kinds := list
	list = nil
	for _, text := range variants {
		for _, c := range kinds {
			c.variant = text
			c.Match = func(n topology.NodeIndex) bool {
				return (g.Match == nil || g.Match(n)) && r.Variant(n) == text
			}
			list = append(list, c)
		}
	}
	return list
}

// variantsOf lists the variants of the nodes that may serve a group, in order; none for one that
// goes to any.
func (f *Fleet) variantsOf(r *Request, g *Group) []string {
	if r.Variant == nil || !g.Claim.WantsDevice() {
		return nil
	}
	known := map[string]bool{}
	var texts []string
	level := f.tree.DomainLevel(r.Within)
	for at := range f.nodes {
		n := topology.NodeIndex(at)
		if !f.servesOn(n, g) || f.tree.DomainOf(n, level) != r.Within {
			continue
		}
		if text := r.Variant(n); !known[text] {
			known[text] = true
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return texts[:min(len(texts), maxAlike)]
}

// nearest is a request with the kind of each group that comes closest, in the variant of the first
// group that wants one.
func (f *Fleet) nearest(r *Request) *Request {
	if r.oneWay() {
		return r
	}
	one := *r
	one.Groups, one.Variant = slices.Clone(r.Groups), nil
	lead := slices.IndexFunc(r.Groups, func(g Group) bool { return g.Claim.WantsDevice() })
	variants := f.variantsOf(r, &r.Groups[lead])
	if len(variants) > 0 {
		variants = []string{f.shortage(r, lead).Variant}
	}
	for i := range one.Groups {
		of := variants
		if !r.Groups[i].Claim.WantsDevice() {
			of = nil
		}
		var best Shortfall
		for at, c := range f.choices(r, i, of) {
			if s := f.shortageOf(r, &c.Group, i); at == 0 || s.closer(&best) {
				best, one.Groups[i] = s, c.Group
			}
		}
	}
	return &one
}

// shortageOf is shortage for one choice.
func (f *Fleet) shortageOf(r *Request, g *Group, group int) Shortfall {
	s := Shortfall{Group: group, Needed: g.min()}
	alone := *g
	alone.RailLevel = 0
	p := f.poll(&alone, r.Within)
	of := make([]int32, len(p.fits))
	p.crowds(r.Within, of)
	var enough [BottleneckFragmentation]int // members by resource alone
	for i, nodes := range of {
		if state := &f.census.conditions[i].nodeState; nodes > 0 && state.schedulable && slices.Contains(g.Classes, state.class) {
			tallyNodes(state, nodes, &g.Claim, &s, &enough)
			s.IfIdle = add(s.IfIdle, times(p.fit(int32(i)).idle, nodes))
		}
	}
	nearest, largest := p.best(max(r.Around(group), f.tree.DomainLevel(r.Within)), s.Needed)
	s.MembersInDomain, s.Domain = nearest.now, nearest.at
	s.IfIdleInDomain, s.LargestDomain = largest.idle, largest.at
	switch {
	case s.EligibleNodes == 0:
		s.Bottleneck = BottleneckNodes
		return s
	case s.Members >= s.Needed:
		s.Bottleneck = BottleneckFragmentation
		return s
	}
	s.Bottleneck = BottleneckFragmentation
	for resource, least := BottleneckGPUs, s.Needed; resource < BottleneckFragmentation; resource++ {
		if enough[resource] < least {
			s.Bottleneck, least = resource, enough[resource]
		}
	}
	return s
}

// tallyNodes adds up eligible nodes of one condition.
func tallyNodes(state *nodeState, nodes int32, c *Claim, s *Shortfall, enough *[BottleneckFragmentation]int) {
	s.EligibleNodes += int(nodes)
	device := Claim{GPUs: c.GPUs, Share: c.Share, Instances: c.Instances}
	room := state.fits(&device)
	if room > 0 {
		s.FittingNodes += int(nodes)
	}
	kind := c.kind()
	for other := BottleneckGPUs; other <= BottleneckInstances; other++ {
		if other != kind {
			enough[other] = math.MaxInt32
		}
	}
	enough[kind] = add(enough[kind], times(room, nodes))
	fits, left := room, state.hostFree()
	for r := range left {
		count := fitHost(math.MaxInt32, left[r], c.Host[r])
		enough[bottleneckOf(countable.Resource(r))] = add(enough[bottleneckOf(countable.Resource(r))], times(count, nodes))
		fits = min(fits, count)
	}
	free := state.declaredFree()
	for i := range countable.MaxDeclared {
		count := fitHost(math.MaxInt32, free.Of(i), c.Declared.Of(i))
		enough[firstDeclared+Bottleneck(i)] = add(enough[firstDeclared+Bottleneck(i)], times(count, nodes))
		fits = min(fits, count)
	}
	s.Members = add(s.Members, times(fits, nodes))
}

// wantsHost reports whether a claim needs something of the host.
func (c *Claim) wantsHost() bool { return c.Host != countable.Amounts{} || c.Declared != nil }

// kind is what a claim needs of GPUs; GPUs where it needs none.
func (c *Claim) kind() Bottleneck {
	switch {
	case c.Share.GPUMilli > 0:
		return BottleneckShares
	case len(c.Instances) > 0:
		return BottleneckInstances
	}
	return BottleneckGPUs
}
