package check

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// This file is about the gangs that could start on GPUs that are, or could be, divided.

// takes reports whether a GPU certainly takes members: it works, is in a state that is
// known and stays, and is not closed for somebody else.
func (c *Checker) takes(n *node, i int) bool {
	g, geometry := &n.gpus[i], c.geometry(n)
	drains := geometry.Kind != berth.GeometryFixed && geometry.HoldLimit != -1
	return !n.failed.Has(i) && !g.unknown && g.change == nil && !drains
}

// instanceRoom is how many instances for a claim there are on a GPU that nobody holds,
// or, where they come with their members, how many there can be.
func (c *Checker) instanceRoom(n *node, i int, cl *berth.Claim) int {
	g, t, room := &n.gpus[i], c.table(n), 0
	var held []mig.Placement
	for _, m := range g.seats {
		held = append(held, m.at.Instance)
	}
	profiles := serving(t, cl)
	if c.geometry(n).Kind == berth.GeometryPerClaim {
		counts := c.counts(t, held)
		for _, p := range profiles {
			room = max(room, counts[p.Name])
		}
		return room
	}
	for _, at := range g.instances {
		serves := slices.ContainsFunc(profiles, func(p *mig.Profile) bool { return p.Name == at.Profile })
		if serves && !slices.Contains(held, at) {
			room++
		}
	}
	return room
}

// A beside remembers what can exist beside the instances of a GPU: by profile, how many.
// What it says follows from the table alone, and every step asks it of every divided GPU.
type beside struct {
	counts map[mig.ProfileName]int
	with   map[mig.Placement]*beside // by one instance more
}

// counts are how many instances of each profile can exist beside others.
func (c *Checker) counts(t *mig.Product, others []mig.Placement) map[mig.ProfileName]int {
	known := c.besides[t]
	if known == nil {
		known = &beside{with: map[mig.Placement]*beside{}}
		c.besides[t] = known
	}
	for _, at := range others {
		if known.with[at] == nil {
			known.with[at] = &beside{with: map[mig.Placement]*beside{}}
		}
		known = known.with[at]
	}
	if known.counts == nil {
		known.counts = map[mig.ProfileName]int{}
		for i := range t.Profiles {
			known.counts[t.Profiles[i].Name] = most(t, others, &t.Profiles[i])
		}
	}
	return known.counts
}

// most is how many instances of a profile can exist beside others, by trying.
func most(t *mig.Product, others []mig.Placement, p *mig.Profile) int {
	best := 0
	for _, start := range p.Starts {
		with := append(slices.Clone(others), mig.Placement{Profile: p.Name, Start: uint8(start), Size: uint8(p.MemorySlices)})
		if conflict(t, with) == "" {
			rest := *p
			rest.Starts = slices.DeleteFunc(slices.Clone(p.Starts), func(s int) bool { return s <= start })
			best = max(best, 1+most(t, with, &rest))
		}
	}
	return best
}

// reshaped asserts, of a fleet at rest, that nobody waits for one GPU or one instance
// beside a GPU that nobody uses and that could be changed into it, and that GPUs that
// nobody uses or waits for are back in the layout of their pool if they left it by order.
func (c *Checker) reshaped() error {
	waiting := c.placeless()
	for _, rep := range waiting {
		if n, i := c.couldBecome(rep); n != nil {
			return broken(PromiseL1, "%s is %s and waits for one member's place; nobody holds GPU %d of node %s, which could be changed", rep, rep.state, i, n.spec.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		want := slices.SortedFunc(slices.Values(c.geometry(n).Layout), mig.ProfileName.Compare)
		if len(waiting) > 0 || n.closed() || c.geometry(n).Kind != berth.GeometryAdaptive || len(want) == 0 || !layable(c.table(n), nil, want) {
			continue
		}
		for i := range n.gpus {
			g := &n.gpus[i]
			have := mig.Layout(g.instances).Profiles()
			if g.touched && len(g.holders()) == 0 && !g.unknown && !n.failed.Has(i) && (g.mode != berth.GPUModeMIG || !slices.Equal(have, want)) {
				return broken(PromiseL1, "nobody holds GPU %d of node %s, which is %s with %v; its pool's layout is %v", i, id, g.mode, have, want)
			}
			if g.touched {
				c.saw("at rest in the pool's layout")
			}
		}
	}
	return nil
}

// couldBecome finds a GPU that nobody uses and that could serve the only member without
// which a replica does not start, if it were changed. Nothing is changed for growth, nor
// for a replica that would fit but for what GPUs of a product its queue may use.
func (c *Checker) couldBecome(rep *replica) (*node, int) {
	j := rep.job
	if rep.state != berth.ReplicaPending {
		return nil, 0
	}
	defer j.become(j.at)
	if j.become(0); len(j.spec.Groups) != 1 { // nothing is changed for its alternatives
		return nil, 0
	}
	g := &j.spec.Groups[0]
	t := &g.Topology
	plain := t.Spread == "" && t.Balance == "" && !t.RailAligned && len(t.Segments) == 0
	if !plain || g.Claim.GPUs > 1 || g.Claim.Borrow != nil || minimum(g) > 1 || c.byProduct(j.queue) {
		return nil, 0
	}
	if _, admitted := c.admits(rep, g, 1, ""); !admitted {
		return nil, 0
	}
	mode, any := modeOf(&g.Claim)
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		if _, labelled := n.values(&j.spec); !labelled && wantsGPU(g) {
			continue
		}
		host := *g
		host.Claim = berth.Claim{CPUMilli: g.Claim.CPUMilli, MemoryMiB: g.Claim.MemoryMiB, Resources: g.Claim.Resources}
		switch {
		case !any || c.geometry(n).Kind == berth.GeometryFixed || n.unfit(g) != "" || c.setAside(n, rep) != 0 || !c.idleFor(rep, n):
			continue
		case c.roomOn(n, &host, trust(&j.spec)) == 0 || mode == berth.GPUModeMIG && len(serving(c.table(n), &g.Claim)) == 0:
			continue
		}
		for i := range n.gpus {
			if u := &n.gpus[i]; len(u.holders()) == 0 && !u.unknown && !n.failed.Has(i) {
				return n, i
			}
		}
	}
	return nil, 0
}

// layable reports whether instances of some profiles can exist together.
func layable(t *mig.Product, placed []mig.Placement, names []mig.ProfileName) bool {
	if t == nil || len(names) == 0 {
		return t != nil
	}
	p, ok := t.Profile(names[0])
	for _, start := range p.Starts {
		with := append(slices.Clone(placed), mig.Placement{Profile: p.Name, Start: uint8(start), Size: uint8(p.MemorySlices)})
		if ok && conflict(t, with) == "" && layable(t, with, names[1:]) {
			return true
		}
	}
	return false
}
