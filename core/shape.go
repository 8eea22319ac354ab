package core

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A shape is one request, as far as the search can tell requests apart.
type shape struct {
	key     string
	request gang.Request // all members, or at least the minimum
	minimum gang.Request // the minimum alone
	charge  quota.Charge // of request; of one product, or of none in particular
	least   quota.Charge // of minimum
	spec    shapeSpec
	// looksAround: whether it fits depends on nodes on which no member would fit.
	looksAround bool
	// levels in one domain of which the gang, a group or a segment is to be.
	levels []topology.Level
	// version of the class table that the requests were compiled for.
	version int
	// users counts the jobs and growth entries of this shape.
	users   int
	buckets []*bucket
	// blockedAt is the position in Core.blocked, or -1.
	blockedAt int
}

// A shapeSpec is what a shape is compiled from. Its JSON is the shape's key.
type shapeSpec struct {
	Tenant   berth.TenantID `json:",omitempty"` // only where a GPU is shared
	Groups   []berth.Group
	Topology berth.Topology
	// Within and Only restrict where further members of a running gang may go.
	Within topology.Domain
	Only   berth.NodeID `json:",omitempty"`
	// Of names the running gang, if it has domains for itself.
	Of        berth.JobID `json:",omitempty"`
	OfReplica int         `json:",omitempty"`
}

// shapeOf returns the shape of a spec, and makes it if it is new. It does not
// count the user.
func (c *Core) shapeOf(spec shapeSpec) *shape {
	key := spec.key()
	if s := c.shapes[key]; s != nil {
		return s
	}
	s := &shape{key: key, spec: spec, levels: c.levelsOf(&spec), blockedAt: -1, version: -1}
	s.looksAround = spec.Topology.Exclusive != "" ||
		slices.ContainsFunc(spec.Groups, func(g berth.Group) bool { return g.Topology.Spread != "" })
	c.shapes[key] = s
	for i := range spec.Groups {
		if share := spec.Groups[i].Claim.Share; share != nil {
			c.owners.retain(ownerKey{spec.Tenant, share.Mode})
		}
	}
	c.compile(s)
	return s
}

// levelsOf lists the levels that a request names for the gang, a group or a segment to be
// together in, but for the fleet.
func (c *Core) levelsOf(spec *shapeSpec) []topology.Level {
	names := []string{spec.Topology.Required, spec.Topology.Preferred}
	for i := range spec.Groups {
		t := &spec.Groups[i].Topology
		names = append(names, t.Required, t.Preferred)
		for _, segment := range t.Segments {
			names = append(names, segment.Level)
		}
	}
	var levels []topology.Level
	for _, name := range names {
		if level, ok := c.fleet.Tree().Level(name); ok && level > topology.Fleet && !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
	}
	return levels
}

// dropShape gives up one use of a shape.
func (c *Core) dropShape(s *shape) {
	s.users--
	if s.users > 0 {
		return
	}
	if s.blockedAt >= 0 {
		c.unblock(s)
	}
	for i := range s.spec.Groups {
		if share := s.spec.Groups[i].Claim.Share; share != nil {
			c.owners.release(c.owners.byKey[ownerKey{s.spec.Tenant, share.Mode}])
		}
	}
	delete(c.shapes, s.key)
}

// gangShape is the shape of a whole gang.
func (c *Core) gangShape(j *berth.Job) *shape {
	spec := shapeSpec{Topology: j.Topology, Groups: slices.Clone(j.Groups)}
	for i := range spec.Groups {
		g := &spec.Groups[i]
		g.Name, g.Min = "", least(g)
		if g.Claim.Share != nil {
			spec.Tenant = j.Tenant
		}
	}
	return c.shapeOf(spec)
}

// growthShape is the shape of what one group of a running gang is short of: all
// of it, or at least one member.
func (c *Core) growthShape(rep *replica, group int) *shape {
	return c.shapeOf(c.missing(rep, group))
}

func (s *shapeSpec) key() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("berth: a checked job has no JSON: " + err.Error())
	}
	return string(b)
}

// compile brings a shape's requests up to date with the classes of the fleet.
func (c *Core) compile(s *shape) {
	if s.version == c.classes.version {
		return
	}
	s.version = c.classes.version
	s.request = c.request(&s.spec)
	s.minimum = c.request(&s.spec)
	for i := range s.minimum.Groups {
		s.minimum.Groups[i].Count = s.minimum.Groups[i].Min
	}
	anywhere := func(*window) bool { return true }
	s.charge = c.chargeFor(c.widen(s.spec.Groups, &s.request, anywhere))
	s.least = c.chargeFor(c.widen(s.spec.Groups, &s.minimum, anywhere))
}

// request compiles a spec for a search.
func (c *Core) request(spec *shapeSpec) gang.Request {
	tree := c.fleet.Tree()
	level := func(name string) topology.Level {
		l, _ := tree.Level(name) // "" is level 0: none
		return l
	}
	r := gang.Request{
		Within:    spec.Within,
		Required:  level(spec.Topology.Required),
		Preferred: level(spec.Topology.Preferred),
		Locality:  gang.Locality(c.config.Policy.Locality),
	}
	for i := range spec.Groups {
		g := &spec.Groups[i]
		classes := c.classes.matching(g, nil)
		r.Groups = append(r.Groups, gang.Group{
			Count: g.Replicas, Min: least(g), Claim: c.claim(spec.Tenant, &g.Claim, classes), Classes: classes,
			Match: c.matcher(spec, g), Required: level(g.Topology.Required), Preferred: level(g.Topology.Preferred),
			Balance: level(g.Topology.Balance), Spread: level(g.Topology.Spread), MaxSkew: g.Topology.MaxSkew,
		})
		if t := &g.Topology; t.Spread != "" && t.MaxSkew == 0 {
			r.Groups[i].MaxSkew = 1
		}
		if g.Topology.RailAligned {
			r.Groups[i].Align = level(c.config.Fabric.RailLevel)
		}
		for _, segment := range g.Topology.Segments {
			r.Groups[i].Segments = append(r.Groups[i].Segments, gang.Segment{Size: segment.Size, Level: level(segment.Level)})
		}
	}
	return r
}

func (c *Core) claim(tenant berth.TenantID, cl *berth.Claim, classes []topology.Class) gang.Claim {
	out := gang.Claim{
		GPUs: cl.GPUs, Host: cl.Host(), Instances: c.classes.instances(cl, classes),
	}
	if cl.Share != nil {
		out.Share = gang.Share{
			Milli: int32(cl.Share.Milli), MemoryMiB: cl.Share.MemoryMiB,
			Owner: c.owners.byKey[ownerKey{tenant, cl.Share.Mode}],
		}
	}
	return out
}

// matcher tells the nodes that a group may use from the others of their class;
// nil where there is nothing to tell.
func (c *Core) matcher(spec *shapeSpec, g *berth.Group) func(topology.Node) bool {
	labels := labelsOf(g)
	only := spec.Only
	idle := c.idle(spec)
	if labels == nil && only == "" && idle == nil {
		return nil
	}
	return func(i topology.Node) bool {
		n := c.nodes[i]
		return (only == "" || n.spec.ID == only) && n.matchesLabels(labels) && (idle == nil || idle(n))
	}
}

// labelsOf lists the labels that a group selects by, in order.
func labelsOf(g *berth.Group) []label {
	var labels []label
	for _, key := range slices.Sorted(maps.Keys(g.Selector.Labels)) {
		labels = append(labels, label{key, g.Selector.Labels[key]})
	}
	return labels
}

// chargeFor is what a request costs, as far as it is known before the place is:
// the product is, if all that qualify are of one.
func (c *Core) chargeFor(r *gang.Request) quota.Charge {
	total := quota.Charge{Product: quota.NoProduct}
	product, several := "", false
	for i := range r.Groups {
		g := &r.Groups[i]
		n := int64(g.Count)
		milli := int64(g.Claim.GPUs)*1000 + int64(g.Claim.Share.Milli)
		if len(g.Claim.Instances) > 0 {
			milli = c.leastMilli(g)
		}
		total.GPUMilli += n * milli
		total.Host = total.Host.Plus(g.Claim.Host.Times(n))
		if milli == 0 {
			continue
		}
		for _, class := range g.Classes {
			name := c.classes.list[class].key.product
			several = several || product != "" && name != product
			product = name
		}
	}
	if product != "" && !several {
		total.Product = c.quota.Product(product)
	}
	return total
}
