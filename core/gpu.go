package core

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// A gpuState is what the core keeps of a GPU beside its description. The Mode and
// Instances of the description are those that were told or, if an order is out about
// the GPU, those that it will have.
type gpuState struct {
	order *repartition // that is out; nil: none
	gpuPart
	// staged is how the GPU is, while a search looks at it as it could be.
	staged *partitioning
	// drain keeps it for a member that waits; nil: it is open to all.
	drain *drain
	// astray: it is in Core.astray.
	astray bool
}

// A partitioning is how a GPU is divided.
type partitioning struct {
	mode      berth.GPUMode
	instances []mig.Placement
}

func (n *node) partitioning(gpu int) partitioning {
	return partitioning{n.spec.GPUs[gpu].Mode, n.spec.GPUs[gpu].Instances}
}

func (n *node) setPartitioning(gpu int, p partitioning) {
	n.spec.GPUs[gpu].Mode, n.spec.GPUs[gpu].Instances = p.mode, p.instances
}

// checkPartitioning refuses a mode that a GPU cannot be in, and a layout that its table
// does not have.
func (t *table) checkPartitioning(mode berth.GPUMode, instances []mig.Placement) *berth.Error {
	switch {
	case mode > berth.ModeTimeSlice:
		return refusal.Of(berth.ErrInvalid, "mode", fmt.Sprintf("%d is out of range", mode))
	case mode == berth.ModeMIG && t == nil:
		return refusal.Of(berth.ErrInvalid, "mode", "no table says how the GPU divides")
	case mode != berth.ModeMIG && len(instances) > 0:
		return refusal.Of(berth.ErrInvalid, "instances", fmt.Sprintf("a GPU in mode %s has none", mode))
	case mode == berth.ModeMIG:
		if _, err := t.lattice.StateOf(instances); err != nil {
			return refusal.Of(berth.ErrInvalid, "instances", err.Error())
		}
	}
	return nil
}

// checkTables refuses a node whose GPUs cannot be as they are told.
func (c *Core) checkTables(n *berth.Node) *berth.Error {
	if len(n.GPUs) == 0 {
		return nil
	}
	var t *table
	if name := n.GPUs[0].Table; name != "" {
		known, err := c.table(name)
		if err != nil {
			return refusal.In(err, errtext.Index("gpus", 0))
		}
		t = known
	}
	for i := range n.GPUs {
		if err := t.checkPartitioning(n.GPUs[i].Mode, n.GPUs[i].Instances); err != nil {
			return refusal.In(err, errtext.Index("gpus", i))
		}
	}
	return nil
}

// divide has the fleet see a GPU as it is described.
func (c *Core) divide(n *node, gpu int) {
	g := &n.spec.GPUs[gpu]
	switch {
	case g.Mode != berth.ModeMIG:
		must(c.fleet.Divide(n.index, gpu, gang.Undivided, 0))
	case n.geometry.Kind == berth.PerClaim:
		g.Instances = nil
		must(c.fleet.Divide(n.index, gpu, gang.PerClaim, 0))
	default:
		state, err := n.table.lattice.StateOf(g.Instances)
		must(err)
		must(c.fleet.Divide(n.index, gpu, gang.Fixed, state))
	}
}

// settleGPU has the fleet know whether a GPU takes newcomers. One that is on its way to
// whole use or shares, and that nobody holds, does not: another mode may be wanted next.
func (c *Core) settleGPU(n *node, gpu int) {
	g, s := &n.spec.GPUs[gpu], &n.gpus[gpu]
	empty := s.order != nil && g.Mode != berth.ModeMIG && !n.holds(gpu)
	c.fleet.SetHealthy(n.index, gpu, !g.Failed && !s.Unknown && s.drain == nil && !empty)
}

// settleGPUs is settleGPU for those of a hold about which an order is out.
func (c *Core) settleGPUs(n *node, h *gang.Hold) {
	for rest := h.GPUs; rest != 0; rest &= rest - 1 {
		if g := bits.TrailingZeros64(rest); n.gpus[g].order != nil {
			c.settleGPU(n, g)
		}
	}
}

// modeFor is the mode in which a member needs its GPUs.
func (c *Core) modeFor(h *gang.Hold) berth.GPUMode {
	switch {
	case h.Instance != (mig.Placement{}):
		return berth.ModeMIG
	case h.Share.Milli == 0:
		return berth.ModeWhole
	case c.owners.keys[h.Share.Owner].mode == berth.MPS:
		return berth.ModeMPS
	}
	return berth.ModeTimeSlice
}

// membersOn calls a function for every member that holds something of a GPU.
func (n *node) membersOn(gpu int, use func(*member, *replica)) {
	for _, at := range n.members {
		if m := &at.rep.members[at.index]; berth.GPUSet(m.hold.GPUs).Has(gpu) {
			use(m, at.rep)
		}
	}
}

// checkRegeometry refuses a policy in which instances would begin or cease to come and go
// with their members while a GPU is being repartitioned: what the order is to create
// would be nobody's.
func (c *Core) checkRegeometry(policy *berth.Policy) *berth.Error {
	for _, id := range slices.Sorted(maps.Keys(c.repartitions)) {
		p := c.repartitions[id]
		geometry := geometryOf(policy, p.node.spec.Pool)
		if p.touchesMIG() && (geometry.Kind == berth.PerClaim) != (p.node.geometry.Kind == berth.PerClaim) {
			return refusal.Of(berth.ErrConflict, "geometry", fmt.Sprintf("order %d about GPU %d of node %s is out, so pool %q cannot become %s yet",
				id, p.order.GPU, p.order.Node, p.node.spec.Pool, geometry.Kind))
		}
	}
	return nil
}

// regeometry brings what follows from the geometry of the pools up to date.
func (c *Core) regeometry() {
	c.agenda.recountGPUs()
	c.astray = nil
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		geometry := geometryOf(&c.config.Policy, n.spec.Pool)
		same := sameGeometry(&geometry, &n.geometry)
		n.setGeometry(geometry)
		c.countPliable(n, 1)
		for g := range n.spec.GPUs {
			was, _, held := c.fleet.Divided(n.index, g)
			if was == gang.PerClaim && n.geometry.Kind != berth.PerClaim {
				n.spec.GPUs[g].Instances = n.table.lattice.Layout(held)
			}
			if n.spec.GPUs[g].Mode == berth.ModeMIG && !same {
				c.divide(n, g)
			}
			n.gpus[g].astray = false
			c.noteLayout(n, g)
		}
		if same {
			continue
		}
		for g := range n.gpus {
			if geometry.Kind == berth.Fixed || geometry.DrainLimit < 0 {
				c.lapse(n, g)
			}
		}
		c.freed(n)
	}
	c.agenda.lookAgain(c.now)
}

// pliable reports whether the GPUs of a node may change.
func (n *node) pliable() bool { return n.geometry.Kind != berth.Fixed && n.table != nil }

// countPliable counts the nodes whose GPUs divide, and those whose GPUs may change.
func (c *Core) countPliable(n *node, change int) {
	c.agenda.countGPUs(n.table != nil, n.pliable(), change)
}

func (c *Core) gpuPartitioned(e berth.GPUPartitioned) *berth.Error {
	n, err := c.knownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	if err := n.table.checkPartitioning(e.Mode, e.Instances); err != nil {
		return err
	}
	if o := n.gpus[e.GPU].order; o != nil {
		return refusal.Of(berth.ErrConflict, "gpu", fmt.Sprintf("order %d about it is out: report that", o.order.ID))
	}
	var first *replica
	n.membersOn(e.GPU, func(m *member, rep *replica) {
		switch mode := c.modeFor(&m.hold); {
		case first != nil && compareReplicas(first, rep) <= 0:
			return // one is named, and always the same
		case mode != e.Mode:
			err = refusal.Of(berth.ErrConflict, "mode", fmt.Sprintf("job %s holds the GPU in mode %s", rep.job.spec.ID, mode))
		case mode == berth.ModeMIG && n.geometry.Kind != berth.PerClaim && !slices.Contains(e.Instances, m.hold.Instance):
			err = refusal.Of(berth.ErrConflict, "instances", fmt.Sprintf("job %s holds an instance that is not among them", rep.job.spec.ID))
		default:
			return
		}
		first = rep
	})
	if err != nil {
		return err
	}
	c.lapse(n, e.GPU)
	n.setPartitioning(e.GPU, partitioning{e.Mode, slices.Clone(e.Instances)})
	n.gpus[e.GPU].Unknown = false
	c.divide(n, e.GPU)
	c.noteLayout(n, e.GPU)
	c.settleGPU(n, e.GPU)
	c.spoil(n)
	c.freed(n)
	c.agenda.grew(c.now)
	c.agenda.lessen()
	return nil
}

// nextChange is when a pass has something to do about GPUs even if no fact comes.
func (c *Core) nextChange() berth.Time {
	at := never
	for _, d := range c.drains {
		at = min(at, d.Until)
		if d.RetryAt != 0 {
			at = min(at, d.RetryAt)
		}
	}
	for _, g := range c.astray {
		if back, ok := c.backAt(g); ok {
			at = min(at, back)
		}
	}
	return at
}
