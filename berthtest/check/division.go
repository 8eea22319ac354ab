package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// This file is what is known of divided GPUs, by the checker's own arithmetic: which
// instances can exist together follows from the table of the product alone.

// divided is what is known of how a GPU is divided and used.
type divided struct {
	mode berth.GPUMode
	// instances that exist in GPUModeMIG, unless the pool's geometry is per claim: then
	// there is what members hold.
	instances []mig.Placement
	// seats are the members that hold instances.
	seats []*member
	// change that was ordered and is out, or nil.
	change *change
	// unknown: nobody knows how the GPU is. It takes nothing until that is told.
	unknown bool
	// overdue was not reported in time, and members might come up on it.
	overdue *change
	// touched: a change from, to or within GPUModeMIG was ordered, the last at touchedAt.
	touched   bool
	touchedAt berth.Time
}

// ordered is the mode of a GPU as it is, or as it is ordered to be.
func (d *divided) ordered() berth.GPUMode {
	if d.change != nil {
		return d.change.Mode
	}
	return d.mode
}

// layout lists the instances that exist or are ordered.
func (d *divided) layout() []mig.Placement {
	if d.change == nil {
		return d.instances
	}
	return d.change.after(d.instances)
}

// tell takes over how a GPU is.
func (d *divided) tell(mode berth.GPUMode, instances []mig.Placement, kind berth.GeometryKind) {
	d.mode, d.instances, d.unknown, d.overdue = max(mode, berth.GPUModeWhole), nil, false, nil // a node need not say it
	if kind != berth.GeometryPerClaim {
		d.instances = slices.Clone(instances)
	}
}

// table is the table by which the GPUs of a node divide, or nil.
func (c *Checker) table(n *node) *mig.Product {
	if len(n.spec.GPUs) == 0 || n.spec.GPUs[0].MIGTable == "" {
		return nil
	}
	name := n.spec.GPUs[0].MIGTable
	if t, known := c.tables[name]; known {
		return t
	}
	if t, ok := mig.Lookup(name); ok {
		c.tables[name] = &t
		return &t
	}
	return nil
}

// conflict says why instances cannot exist together on a GPU of a product, or returns
// "": each is one that the table has, no memory slice is taken twice, and compute
// slices, SMs and engines of each kind add up to no more than there are.
func conflict(t *mig.Product, list []mig.Placement) string {
	if t == nil {
		return "there is no table"
	}
	for _, at := range list {
		if t.Uniform && at.Profile != list[0].Profile {
			return fmt.Sprintf("%s is divided into %s and %s at once", t.Name, list[0].Profile, at.Profile)
		}
	}
	var sums [7]int
	for i, at := range list {
		p, ok := t.Profile(at.Profile)
		if !ok || int(at.Size) != p.MemorySlices || !slices.Contains(p.Starts, int(at.Start)) {
			return fmt.Sprintf("%s has no place for %s", t.Name, at)
		}
		for _, other := range list[:i] {
			if s := max(at.Start, other.Start); s < at.Start+at.Size && s < other.Start+other.Size {
				return fmt.Sprintf("memory slice %d is in %s and in %s", s, other, at)
			}
		}
		for i, amount := range units(p.ComputeSlices, p.SMs, p.Engines) {
			sums[i] += amount
		}
	}
	for i, most := range units(t.ComputeSlices, t.SMs, t.Engines) {
		if i == 1 && most == 0 {
			continue // how many SMs there are is not known
		}
		if sums[i] > most {
			return fmt.Sprintf("they take %d of %d %s", sums[i], most, unitNames[i])
		}
	}
	return ""
}

// units lists what an instance takes beside memory slices, each kind by itself.
func units(compute, sms int, e mig.Engines) [7]int {
	return [7]int{compute, sms, e.Copy, e.NVDEC, e.NVENC, e.JPEG, e.OFA}
}

var unitNames = [7]string{"compute slices", "SMs", "copy engines", "decoders", "encoders", "JPEG engines", "OFA engines"}

// modeOf is the mode of the GPU that a claim needs; false: it needs none.
func modeOf(cl *berth.Claim) (berth.GPUMode, bool) {
	switch {
	case ofInstance(cl):
		return berth.GPUModeMIG, true
	case cl.Share != nil && cl.Share.Mode == berth.ShareTimeSlice:
		return berth.GPUModeTimeSlice, true
	case cl.Share != nil:
		return berth.GPUModeMPS, true
	}
	return berth.GPUModeWhole, cl.GPUs > 0 || cl.Borrow != nil
}

// ofInstance reports whether a claim is for an instance.
func ofInstance(cl *berth.Claim) bool { return cl.MIG != "" || cl.MinInstance != nil }

// serving lists the profiles of a table that serve a claim.
func serving(t *mig.Product, cl *berth.Claim) []*mig.Profile {
	var list []*mig.Profile
	if t == nil {
		return nil
	}
	for i := range t.Profiles {
		p := &t.Profiles[i]
		if cl.MIG == p.Name.String() || cl.MinInstance != nil && p.SMs >= cl.MinInstance.MinSMs && p.MemoryMiB >= cl.MinInstance.MinMemoryMiB {
			list = append(list, p)
		}
	}
	return list
}

// instanceMilli is what an instance of so many memory slices charges.
func instanceMilli(t *mig.Product, slices int) int64 { return int64(1000 * slices / t.MemorySlices) }

// meetsInstance: a member that claims an instance gets one that serves it, on one GPU.
func (c *Checker) meetsInstance(m *member, n *node, at *berth.MemberPlacement) error {
	cl, t := m.claim(), c.table(n)
	serves := slices.ContainsFunc(serving(t, cl), func(p *mig.Profile) bool { return p.Name == at.Instance.Profile })
	if !serves || at.GPUs.Len() != 1 || at.ShareMilli != 0 || at.ShareMemoryMiB != 0 {
		return broken(PromiseClaims, "%s claims an instance (%q, %+v) and gets %s of GPUs %q of node %s (share: %d, %d)",
			m, cl.MIG, cl.MinInstance, at.Instance, at.GPUs, at.Node, at.ShareMilli, at.ShareMemoryMiB)
	}
	return nil
}

// holdInstance: no instance is held twice, and those that are held can exist together.
func (c *Checker) holdInstance(n *node, i int, m *member) error {
	g := &n.gpus[i]
	list := []mig.Placement{m.at.Instance}
	for _, other := range g.seats {
		list = append(list, other.at.Instance)
		if other.at.Instance == m.at.Instance {
			return broken(PromiseS1, "%s of GPU %d of node %s is held by %s and by %s", m.at.Instance, i, n.spec.ID, other, m)
		}
		if other.rep.job.spec.Tenant != m.rep.job.spec.Tenant {
			c.saw("two tenants on one GPU")
		}
	}
	if why := conflict(c.table(n), list); why != "" {
		return broken(PromiseS1, "with %s of %s on GPU %d of node %s: %s", m.at.Instance, m, i, n.spec.ID, why)
	}
	if c.geometry(n).Kind != berth.GeometryPerClaim && !slices.Contains(g.layout(), m.at.Instance) {
		return broken(PromiseS5, "%s is given %s of GPU %d of node %s, which does not exist there, nor is ordered", m, m.at.Instance, i, n.spec.ID)
	}
	g.seats = append(g.seats, m)
	return nil
}

// inMode: a member stands on GPUs that are in its mode, or are ordered to be.
func (c *Checker) inMode(m *member, n *node) error {
	mode, any := modeOf(m.claim())
	if !any {
		return nil
	}
	for _, i := range m.at.GPUs.Indexes() {
		if i >= len(n.gpus) {
			continue // see hold
		}
		g := &n.gpus[i]
		switch {
		case g.unknown:
			return broken(PromiseModes, "%s is placed on GPU %d of node %s, of which nobody knows how it is", m, i, n.spec.ID)
		case g.ordered() != mode:
			return broken(PromiseModes, "%s is placed on GPU %d of node %s, which is %s and not %s", m, i, n.spec.ID, g.ordered(), mode)
		case g.change != nil && !g.change.fresh && mode != berth.GPUModeMIG && len(g.holders()) == 0:
			return broken(PromiseModes, "%s is placed on GPU %d of node %s, which nobody holds and which is being made %s by order %d",
				m, i, n.spec.ID, mode, g.change.ID)
		}
	}
	return nil
}

// found: a member that runs already shows in which mode its GPUs are, unless an order
// about them is out or they are divided.
func (c *Checker) found(m *member, n *node) error {
	mode, any := modeOf(m.claim())
	for _, i := range m.at.GPUs.Indexes() {
		g := &n.gpus[i]
		switch {
		case !any:
		case g.unknown:
			return broken(PromiseEvents, "%s was observed on GPU %d of node %s, of which nobody knows how it is", m, i, n.spec.ID)
		case g.ordered() != mode && (g.change != nil || g.mode == berth.GPUModeMIG || mode == berth.GPUModeMIG):
			return broken(PromiseEvents, "%s was observed on GPU %d of node %s, which is %s and not %s", m, i, n.spec.ID, g.ordered(), mode)
		case g.change == nil:
			g.mode = mode
		}
	}
	return nil
}

// holders lists the members that hold a GPU or a part of it.
func (g *gpu) holders() []*member {
	list := slices.Concat(g.shares, g.seats)
	if g.whole != nil {
		list = append(list, g.whole)
	}
	if g.over != nil {
		list = append(list, g.over)
	}
	return list
}

// isFree reports whether nobody holds a GPU or a part of it, but for a borrower that leaves with
// its lender.
func (g *gpu) isFree() bool {
	return len(g.shares)+len(g.seats) == 0 && g.whole == nil && (g.over == nil || g.vacated)
}

// maxShares is how many members may share a GPU of a node.
func (n *node) maxShares() int {
	g := n.spec.GPUs[0]
	if none := (berth.ComputeCapability{}); g.MaxShares == 0 && g.ComputeCapability != none && g.ComputeCapability.Major < 7 {
		return 16
	}
	return cmp.Or(g.MaxShares, 48)
}

// geometry is that of a node's pool.
func (c *Checker) geometry(n *node) berth.Geometry {
	others := berth.Geometry{}
	for _, g := range c.policy.Geometry {
		switch g.Pool {
		case n.spec.Pool:
			return geometryInForce(g)
		case "":
			others = g
		}
	}
	return geometryInForce(others)
}

// geometryInForce fills in the defaults that the comments of berth.Geometry state.
func geometryInForce(g berth.Geometry) berth.Geometry {
	g.Cost = cmp.Or(g.Cost, 30*berth.Second)
	g.Interval = cmp.Or(g.Interval, 10*berth.Minute)
	g.PerHour = cmp.Or(g.PerHour, 12)
	g.HoldLimit = cmp.Or(g.HoldLimit, berth.Hour)
	return g
}

// regear: where the geometry is per claim, nothing exists but what is held; when it
// ceases to be, that exists.
func (n *node) regear(before, after berth.GeometryKind) {
	if (before == berth.GeometryPerClaim) == (after == berth.GeometryPerClaim) {
		return
	}
	for i := range n.gpus {
		g := &n.gpus[i]
		g.instances = nil
		if before == berth.GeometryPerClaim {
			for _, m := range g.seats {
				g.instances = append(g.instances, m.at.Instance)
			}
		}
	}
}
