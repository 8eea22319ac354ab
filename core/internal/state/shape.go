package state

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/demand"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/strict"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// shapeOf returns the shape of a spec, and makes it if it is new. It does not
// count the user.
func (st *State) shapeOf(spec record.ShapeSpec) *record.Shape {
	written := st.ShapeKey(&spec)
	if s := st.Shapes[string(written)]; s != nil {
		return s
	}
	s := st.newShape(string(written), spec)
	st.enterShape(s)
	return s
}

// newShape is a shape that nobody has and that is not compiled yet.
func (st *State) newShape(key string, spec record.ShapeSpec) *record.Shape {
	s := &record.Shape{Key: key, Spec: spec, Levels: st.levelsOf(&spec), BlockedAt: -1, Version: -1}
	s.LooksAround = spec.Topology.Exclusive != "" || spec.Like != "" ||
		slices.ContainsFunc(spec.Groups, func(g berth.Group) bool { return g.Topology.Spread != "" })
	for i := range spec.Groups {
		s.GPUs += record.Least(&spec.Groups[i]) * spec.Groups[i].Claim.GPUs
		s.Borrows = s.Borrows || spec.Groups[i].Claim.Borrow != nil
	}
	return s
}

// enterShape makes a shape known that nobody has.
func (st *State) enterShape(s *record.Shape) {
	st.Shapes[s.Key] = s
	for i := range s.Spec.Groups {
		if owner, some := catalogue.OwnerOf(s.Spec.TrustDomain, &s.Spec.Groups[i].Claim); some {
			st.catalogue.Owners.Retain(owner)
			s.Version = -1 // the number of its owner may be another
		}
	}
	st.Compile(s)
}

// The pens of keys are made of types alone, and never change.
var (
	shapePen   = strict.PenOf[record.ShapeSpec](strict.Writings{})
	patternPen = strict.PenOf[record.PatternSpec](strict.Writings{})
)

// ShapeKey is the same for two requests if and only if they are alike in all that placement looks
// at. It is good until the next key is asked for.
func (st *State) ShapeKey(spec *record.ShapeSpec) []byte {
	var err error
	st.key, err = shapePen.Append(st.key[:0], spec)
	invariant.Must(err) // a checked job has its JSON
	return st.key
}

// levelsOf lists the levels that a request names for the gang, a group or a segment to be
// together in, but for the fleet.
func (st *State) levelsOf(spec *record.ShapeSpec) []topology.Level {
	names := []string{spec.Topology.Required, spec.Topology.Preferred, spec.Topology.Apart}
	for i := range spec.Topology.Parts {
		names = append(names, spec.Topology.Parts[i].Required)
	}
	for i := range spec.Groups {
		t := &spec.Groups[i].Topology
		names = append(names, t.Required, t.Preferred)
		for _, segment := range t.Segments {
			names = append(names, segment.Level)
		}
	}
	var levels []topology.Level
	for _, name := range names {
		if level, ok := st.Fleet.Tree().Level(name); ok && level > topology.LevelFleet && !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
	}
	return levels
}

// gangShape is the shape of a whole gang.
func (st *State) gangShape(j *spec.Job) *record.Shape {
	spec := record.ShapeSpec{Topology: j.Topology, Groups: slices.Clone(j.Groups), SameLabels: slices.Clone(j.SameLabels), NonPreemptible: j.NonPreemptible}
	slices.Sort(spec.SameLabels)
	spec.Topology.Parts = slices.Clone(j.Topology.Parts)
	for i := range spec.Topology.Parts { // what parts are called does not matter
		spec.Topology.Parts[i].Name = strconv.Itoa(i + 1)
	}
	for i := range spec.Groups {
		g := &spec.Groups[i]
		if p := slices.IndexFunc(j.Topology.Parts, func(p berth.Part) bool { return p.Name == g.Part }); p >= 0 {
			g.Part = spec.Topology.Parts[p].Name
		}
		g.Name, g.MinMembers = "", record.Least(g)
		if _, some := catalogue.OwnerOf(catalogue.TrustDomain{}, &g.Claim); some {
			spec.TrustDomain = catalogue.TrustDomainOf(j.Tenant, j.Queue)
		}
	}
	return st.shapeOf(spec)
}

// WaitingShape is the shape of a gang that waits for its minimum as one of its options: that of its
// job, or one of its own if it has rested.
func (st *State) WaitingShape(rep *record.Replica, option int) *record.Shape {
	s := rep.Job.Pattern.Option(option).Shape
	if until := rep.Eviction.Get().RestsUntil; until != 0 {
		spec := s.Spec
		spec.RestsUntil = until
		s = st.shapeOf(spec)
	}
	return s
}

// GrowthShape is the shape of what one group of a running gang is short of: all
// of it, or at least one member.
func (st *State) GrowthShape(rep *record.Replica, group int) *record.Shape {
	return st.shapeOf(st.Shortfall(rep, group))
}

// Compile brings a shape's requests up to date with the classes of the fleet.
func (st *State) Compile(s *record.Shape) {
	if s.Version == st.Classes.Version {
		return
	}
	s.Version = st.Classes.Version
	s.Request = st.Request(&s.Spec)
	s.Minimum = st.Request(&s.Spec)
	for i := range s.Minimum.Groups {
		s.Minimum.Groups[i].Members = s.Minimum.Groups[i].MinMembers
	}
	anywhere := func(*record.Reservation) bool { return true }
	s.Charge = st.ChargeFor(st.Widen(&s.Spec, &s.Request, anywhere))
	s.Least = st.ChargeFor(st.Widen(&s.Spec, &s.Minimum, anywhere))
	s.Charge.NonPreemptible, s.Least.NonPreemptible = s.Spec.NonPreemptible, s.Spec.NonPreemptible
	s.Spans = st.spansNodes(s)
	s.Ease = demand.EaseOf(s.Minimum.Groups)
}

// SpansNodes reports whether a shape needs more GPUs than any node for it has.
func (st *State) SpansNodes(s *record.Shape) bool {
	st.Compile(s)
	return s.Spans
}

// spansNodes is SpansNodes, by a look at all classes.
func (st *State) spansNodes(s *record.Shape) bool {
	most := 0
	for _, class := range st.Classes.List {
		if class.Nodes > 0 && slices.ContainsFunc(s.Spec.Groups, func(g berth.Group) bool { return class.Key.Admits(&g) }) {
			most = max(most, class.Key.GPUs)
		}
	}
	return s.GPUs > most
}

// Request compiles a spec for a search.
func (st *State) Request(spec *record.ShapeSpec) gang.Request {
	tree := st.Fleet.Tree()
	level := func(name string) topology.Level {
		l, _ := tree.Level(name) // "" is level 0: none
		return l
	}
	r := gang.Request{
		Within:    spec.Within,
		Required:  level(spec.Topology.Required),
		Preferred: level(spec.Topology.Preferred),
		Locality:  gang.Locality(st.Config.Policy.Locality),
		Variant:   st.variant(spec),
		Apart:     level(spec.Topology.Apart),
	}
	for _, p := range spec.Topology.Parts {
		r.Parts = append(r.Parts, gang.Part{Required: level(p.Required), Copies: p.Copies})
	}
	for i := range spec.Groups {
		g := &spec.Groups[i]
		classes := st.Classes.Matching(g, nil)
		r.Groups = append(r.Groups, gang.Group{
			Members: g.Members, MinMembers: record.Least(g), Claim: st.claim(spec.TrustDomain, &g.Claim, classes),
			Classes: classes, Kinds: st.Kinds(g, classes), Tiers: st.tiers(spec, g, classes),
			Match: st.matcher(spec, g), Tag: g, Required: level(g.Topology.Required), Preferred: level(g.Topology.Preferred),
			Balance: level(g.Topology.Balance), Spread: level(g.Topology.Spread), MaxSkew: g.Topology.MaxSkew,
		})
		if t := &g.Topology; t.Spread != "" && t.MaxSkew == 0 {
			r.Groups[i].MaxSkew = 1
		}
		if g.Topology.RailAligned {
			r.Groups[i].RailLevel = level(st.Config.Fabric.RailLevel)
		}
		r.Groups[i].Part = 1 + slices.IndexFunc(spec.Topology.Parts, func(p berth.Part) bool { return p.Name == g.Part })
		for _, segment := range g.Topology.Segments {
			r.Groups[i].Segments = append(r.Groups[i].Segments, gang.Segment{Size: segment.Size, Level: level(segment.Level)})
		}
	}
	return r
}

func (st *State) claim(domain catalogue.TrustDomain, cl *berth.Claim, classes []topology.NodeClass) gang.Claim {
	out := gang.Claim{
		GPUs: cl.GPUs, Host: cl.Host(), Declared: st.Declared(cl.Resources), Instances: st.instances(cl, classes),
	}
	owner, _ := catalogue.OwnerOf(domain, cl)
	switch known := st.catalogue.Owners.ByKey[owner]; {
	case cl.Share != nil:
		out.Share = gang.Share{GPUMilli: int32(cl.Share.GPUMilli), MemoryMiB: cl.Share.MemoryMiB, Owner: known}
	case cl.Borrow != nil:
		out.Share = gang.Over(known, cl.Borrow.MemoryMiB)
	}
	return out
}

// matcher tells the nodes that a group may use from the others of their class;
// nil where there is nothing to tell.
func (st *State) matcher(spec *record.ShapeSpec, g *berth.Group) func(topology.NodeIndex) bool {
	labels := record.LabelsOf(g)
	only, like := spec.Only, spec.Like
	idle := st.Idle(spec)
	same := spec.SameLabels
	if !values.WantsDevice(&g.Claim) {
		same, like = nil, ""
	}
	if labels == nil && only == "" && idle == nil && len(same) == 0 {
		return nil
	}
	return func(i topology.NodeIndex) bool {
		n := st.Nodes[i]
		to := n
		if like != "" {
			to = st.NodeByID[like]
		}
		if to == nil { // it is being lost, and its gang with it
			return false
		}
		return (only == "" || n.Spec.ID == only) && n.MatchesLabels(labels) && labelledLike(n, to, same) && (idle == nil || idle(n))
	}
}

// Kinds numbers the products of some classes, of which the members of a group are to get one; nil:
// there is one alone, or they may be of several.
func (st *State) Kinds(g *berth.Group, classes []topology.NodeClass) []int32 {
	if g.MixProducts || g.Members == 1 || !values.WantsDevice(&g.Claim) || len(classes) == 0 {
		return nil
	}
	number := map[string]int32{}
	kinds := make([]int32, len(classes))
	for i, class := range classes {
		product := st.Classes.List[class].Key.Product
		if _, known := number[product]; !known {
			number[product] = int32(len(number))
		}
		kinds[i] = number[product]
	}
	if len(number) == 1 {
		return nil
	}
	return kinds
}

// variant tells nodes apart by the labels that have one value over a gang; nil where there is
// nothing to tell: none are named, all is on one node, or the values are given.
func (st *State) variant(spec *record.ShapeSpec) func(topology.NodeIndex) string {
	keys, members := spec.SameLabels, 0
	for i := range spec.Groups {
		if g := &spec.Groups[i]; values.WantsDevice(&g.Claim) {
			members += g.Members
		}
	}
	if len(keys) == 0 || members < 2 || spec.Like != "" {
		return nil
	}
	if len(keys) == 1 {
		return func(i topology.NodeIndex) string { return st.Nodes[i].Spec.Labels[keys[0]] }
	}
	return func(i topology.NodeIndex) string {
		values := make([]string, len(keys))
		for k, key := range keys {
			values[k] = st.Nodes[i].Spec.Labels[key]
		}
		return strings.Join(values, "\x00") // no label has control characters
	}
}

// ChargeFor is what a request costs, as far as it is known before the place is:
// the product is, if all that qualify are of one.
func (st *State) ChargeFor(r *gang.Request) quota.Charge {
	total := quota.Charge{Product: quota.NoProduct}
	product, several := "", false
	for i := range r.Groups {
		g := &r.Groups[i]
		n := int64(g.Members)
		milli := int64(g.Claim.GPUs)*1000 + int64(g.Claim.Share.GPUMilli)
		if g.Claim.Share.Over {
			milli = 0
		}
		if len(g.Claim.Instances) > 0 {
			milli = st.leastMilli(g)
		}
		total.GPUMilli += n * milli
		total.Host = total.Host.Plus(g.Claim.Host.Times(n))
		total.Declared = total.Declared.Plus(g.Claim.Declared.Times(n))
		if milli == 0 {
			continue
		}
		for _, class := range g.Classes {
			name := st.Classes.List[class].Key.Product
			several = several || product != "" && name != product
			product = name
		}
	}
	if product != "" && !several {
		total.Product = st.Quota.Product(product)
	}
	return total
}

// Widen is a request with the nodes that are set aside by open reservations alone.
func (st *State) Widen(spec *record.ShapeSpec, r *gang.Request, open func(*record.Reservation) bool) *gang.Request {
	if !st.agenda.AnySetAside() {
		return r
	}
	groups := spec.Groups
	closed := func(res *record.Reservation) bool { return !open(res) }
	wider := *r
	wider.Groups = slices.Clone(r.Groups)
	for i := range wider.Groups {
		wider.Groups[i].Classes = st.Classes.Matching(&groups[i], func(list []*record.Reservation) bool {
			return !slices.ContainsFunc(list, closed)
		})
		wider.Groups[i].Kinds = st.Kinds(&groups[i], wider.Groups[i].Classes)
		wider.Groups[i].Tiers = st.tiers(spec, &groups[i], wider.Groups[i].Classes)
		wider.Groups[i].Claim.Instances = st.instances(&groups[i].Claim, wider.Groups[i].Classes)
	}
	return &wider
}

// Idle tells the nodes whose domain of the exclusive level holds nobody else's members;
// nil where the request does not ask for it.
func (st *State) Idle(spec *record.ShapeSpec) func(*record.Node) bool {
	if spec.Topology.Exclusive == "" {
		return nil
	}
	tree := st.Fleet.Tree()
	level, _ := tree.Level(spec.Topology.Exclusive)
	alone := func(n *record.Node) bool {
		return n.Planned == 0 && !slices.ContainsFunc(n.Members, func(m record.MemberAt) bool {
			return !m.Imagined() && (m.Rep.Job.Spec.ID != spec.Of || m.Rep.Number != spec.OfReplica)
		})
	}
	if level == tree.NodeLevel() {
		return alone
	}
	return func(n *record.Node) bool { return st.all(tree.DomainOf(n.Index, level), alone) }
}

// all reports whether all nodes at or below a domain pass a test.
func (st *State) all(d topology.DomainIndex, test func(*record.Node) bool) bool {
	tree := st.Fleet.Tree()
	for _, i := range tree.Nodes(d) {
		if !test(st.Nodes[i]) {
			return false
		}
	}
	for _, child := range tree.Children(d) {
		if !st.all(child, test) {
			return false
		}
	}
	return true
}

// leastMilli is what a claim for an instance is charged at least, of the profiles that serve.
func (st *State) leastMilli(g *gang.Group) int64 {
	least := int64(1000)
	for _, profile := range g.Claim.Instances {
		least = min(least, int64(st.instanceMilli(profile)))
	}
	return least
}

// instances lists the profiles that serve a claim on some classes, those that cost the
// least first.
func (st *State) instances(cl *berth.Claim, classes []topology.NodeClass) []gang.ClassProfile {
	if !cl.WantsInstance() {
		return nil
	}
	var list []gang.ClassProfile
	for _, class := range classes {
		for _, p := range st.Classes.List[class].Table.Profiles(cl) {
			list = append(list, gang.ClassProfile{Class: class, Index: p})
		}
	}
	// Stable: by cost, then as the classes and the tables have it.
	slices.SortStableFunc(list, func(a, b gang.ClassProfile) int { return cmp.Compare(st.instanceMilli(a), st.instanceMilli(b)) })
	return list
}

func (st *State) instanceMilli(p gang.ClassProfile) int {
	return st.Classes.List[p.Class].Table.Lattice.GPUMilli(p.Index)
}
