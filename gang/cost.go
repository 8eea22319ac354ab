package gang

import (
	"math/bits"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

const (
	// MaxBreakCost is the largest demand for whole domains of a level that has an effect.
	MaxBreakCost = 1023

	// A preference that a group of several cannot have costs this much for each domain
	// that holds a part of it.
	preferenceCost = 1 << 12
	// spanBase is how many domains of a level cost as much as one of the next wider one.
	spanBase = 4
)

// A placementCost is what a placement costs, in two numbers that are never added up. Which of them
// counts first is up to the Locality: with Strict Span, else Broken. Smaller is
// better.
type placementCost struct {
	// Span is about communication: 1 for each node, 4 for each domain of the narrowest
	// level, 16 for each of the next and so on, counted below the domain of the
	// placement; and for every level at or above a group's Preferred, in a gang with
	// several groups, 4096 for each domain that holds a part of the group.
	Span int64
	// Broken is about packing: for each domain or node that was whole and is now used in
	// part, its GPUs times 1 + the demand for its level. Whole: all of its GPUs free.
	Broken int64
}

// SetBreakCost tells how much pending work wants whole domains of a level, single nodes
// included: breaking one costs its GPUs times 1 + n. Numbers out of 0 to
// MaxBreakCost are taken as the nearer end; a level that the fleet does not have is passed
// over. It changes which of several equally close placements is taken, and with
// Balanced and Loose how close.
func (f *Fleet) SetBreakCost(level topology.Level, n int) {
	if level > topology.LevelFleet && level <= f.tree.NodeLevel() {
		f.demand[level] = int64(min(max(n, 0), MaxBreakCost))
	}
}

// BreakCost returns what SetBreakCost told of a level, within its bounds; 0 where there is no such
// level.
func (f *Fleet) BreakCost(level topology.Level) int {
	if level < 0 || int(level) >= len(f.demand) {
		return 0
	}
	return int(f.demand[level])
}

// spanCost is what one more domain of a level costs.
func (f *Fleet) spanCost(level topology.Level) int64 {
	cost := int64(1)
	for l := f.tree.NodeLevel(); l > level && cost < preferenceCost/spanBase; l-- {
		cost *= spanBase
	}
	return cost
}

// breakCost is what breaking a whole domain of a level costs, of so many GPUs.
func (f *Fleet) breakCost(level topology.Level, gpus int) int64 {
	return int64(gpus) * (1 + f.demand[level])
}

// outerCost is what using so many GPUs below a domain breaks of the domain and those
// around it, up to the fleet, which is nobody's to keep whole.
func (f *Fleet) outerCost(d topology.DomainIndex, gpus int) int64 {
	cost := int64(0)
	for level := f.tree.DomainLevel(d); d != topology.RootDomain && gpus > 0; d, level = f.tree.Parent(d), level-1 {
		if !f.tree.Whole(d) {
			break // nor is one around it
		}
		if has := f.tree.GPUs(d); has != gpus {
			cost += f.breakCost(level, has)
		}
	}
	return cost
}

// nodeCost is outerCost for the use of one node.
func (f *Fleet) nodeCost(n topology.NodeIndex, gpus int) int64 {
	state := &f.nodes[n]
	if gpus == 0 || f.tree.Free(n) != len(state.slots) {
		return 0
	}
	cost := f.outerCost(f.tree.DomainOf(n, f.tree.NodeLevel()), gpus)
	if gpus != len(state.slots) {
		cost += f.breakCost(f.tree.NodeLevel(), len(state.slots))
	}
	return cost
}

// A footprint is what some members use of a fleet, by domain and node. It is
// scratch that stays with the fleet.
type footprint struct {
	epoch   uint32
	domains []print
	nodes   []print
	// The domains and nodes touched, each once.
	touchedDomains []topology.DomainIndex
	touchedNodes   []topology.NodeIndex
}

// A print is what is used of one domain or node, if it is of the current epoch.
type print struct {
	epoch   uint32
	members int32
	// opened is how many GPUs were free before.
	opened int32
}

// tread begins a footprint.
func (t *footprint) tread() {
	t.epoch++
	if t.epoch == 0 { // once in four billion times the marks are too old to tell
		clear(t.domains)
		clear(t.nodes)
		t.epoch = 1
	}
	t.touchedDomains, t.touchedNodes = t.touchedDomains[:0], t.touchedNodes[:0]
}

func (t *footprint) domain(d topology.DomainIndex) *print {
	for int(d) >= len(t.domains) {
		t.domains = append(t.domains, print{})
	}
	at := &t.domains[d]
	if at.epoch != t.epoch {
		*at = print{epoch: t.epoch}
		t.touchedDomains = append(t.touchedDomains, d)
	}
	return at
}

func (t *footprint) node(n topology.NodeIndex) *print {
	for int(n) >= len(t.nodes) {
		t.nodes = append(t.nodes, print{})
	}
	at := &t.nodes[n]
	if at.epoch != t.epoch {
		*at = print{epoch: t.epoch}
		t.touchedNodes = append(t.touchedNodes, n)
	}
	return at
}

// trace makes the footprint of held members. A shared GPU is theirs if nobody else
// has a share of it. A divided GPU opens nothing: what is around it is not whole.
func (f *Fleet) trace(members []Member) {
	t := &f.footprint
	t.tread()
	for i := range members {
		h := &members[i].Hold
		at := t.node(h.Node)
		at.members++
		if h.Share.GPUMilli == 0 && h.Instance == (mig.Placement{}) {
			at.opened += int32(bits.OnesCount64(h.GPUs))
		}
	}
	for i := range members {
		if h := &members[i].Hold; h.Share.GPUMilli > 0 {
			f.traceShare(members[:i], h)
		}
	}
	for _, n := range t.touchedNodes {
		at := t.node(n)
		for d := f.tree.DomainOf(n, f.tree.NodeLevel()); d >= 0; d = f.tree.Parent(d) {
			up := t.domain(d)
			up.members += at.members
			up.opened += at.opened
			if d == topology.RootDomain {
				break
			}
		}
	}
}

// traceShare counts a shared GPU once all of its shares have been seen.
func (f *Fleet) traceShare(before []Member, h *Hold) {
	shares := int32(1)
	for i := range before {
		if b := &before[i].Hold; b.Node == h.Node && b.GPUs == h.GPUs {
			shares++
		}
	}
	if f.nodes[h.Node].slots[bits.TrailingZeros64(h.GPUs)].shares == shares {
		f.footprint.node(h.Node).opened++
	}
}

// breaks reports whether using what the footprint says broke a whole domain, and how many
// GPUs it has.
func (f *Fleet) breaks(d topology.DomainIndex) (int, bool) {
	opened, gpus := int(f.footprint.domain(d).opened), f.tree.GPUs(d)
	free := f.tree.FreeTotal(d)
	return gpus, d != topology.RootDomain && opened > 0 && free > 0 && free+opened == gpus
}

func (f *Fleet) breaksNode(n topology.NodeIndex) (int, bool) {
	opened, gpus := int(f.footprint.node(n).opened), len(f.nodes[n].slots)
	free := f.tree.Free(n)
	return gpus, opened > 0 && free > 0 && free+opened == gpus
}

func (f *Fleet) cost(r *Request, members []Member) placementCost {
	var c placementCost
	f.trace(members)
	t := &f.footprint
	total := int32(len(members))
	for _, d := range t.touchedDomains {
		level := f.tree.DomainLevel(d)
		if t.domain(d).members < total {
			c.Span += f.spanCost(level)
		}
		if gpus, broken := f.breaks(d); broken {
			c.Broken += f.breakCost(level, gpus)
		}
	}
	for _, n := range t.touchedNodes {
		if t.node(n).members < total {
			c.Span += f.spanCost(f.tree.NodeLevel())
		}
		if gpus, broken := f.breaksNode(n); broken {
			c.Broken += f.breakCost(f.tree.NodeLevel(), gpus)
		}
	}
	if len(r.Groups) > 1 {
		c.Span += f.preferences(r, members)
	}
	return c
}

// preferences is what the groups of a gang pay for not being where they prefer.
func (f *Fleet) preferences(r *Request, members []Member) int64 {
	cost := int64(0)
	for i := range r.Groups {
		preferred := r.Groups[i].Preferred
		if preferred == 0 || r.copiesOf(i) > 1 {
			continue
		}
		t, total := &f.footprint, int32(0)
		t.tread()
		for j := range members {
			if members[j].Group == i {
				t.node(members[j].Hold.Node).members++
				total++
			}
		}
		for _, n := range t.touchedNodes {
			count := t.node(n).members
			if preferred == f.tree.NodeLevel() && count < total {
				cost += preferenceCost
			}
			for d := f.tree.DomainOf(n, preferred); d != topology.RootDomain; d = f.tree.Parent(d) {
				t.domain(d).members += count
			}
		}
		for _, d := range t.touchedDomains {
			if t.domain(d).members < total {
				cost += preferenceCost
			}
		}
	}
	return cost
}
