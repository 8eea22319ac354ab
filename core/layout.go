package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// The GPUs of an adaptive pool may have a layout to which they go back.

// hasBase reports whether GPUs of the node go back to a layout, and atBase whether one is
// in it.
func (n *node) hasBase() bool { return len(n.geometry.Layout) > 0 }

func (n *node) atBase(gpu int) bool {
	g := &n.spec.GPUs[gpu]
	return g.Mode == berth.ModeMIG && slices.Equal(mig.Layout(g.Instances).Profiles(), n.base)
}

// noteLayout has the core remember a GPU that is not in its pool's layout.
func (c *Core) noteLayout(n *node, gpu int) {
	at, s := gpuAt{n, gpu}, &n.gpus[gpu]
	away := n.hasBase() && s.ChangedAt > 0 && !n.atBase(gpu)
	switch {
	case away == s.astray:
	case away:
		c.astray = append(c.astray, at)
	default:
		i := slices.Index(c.astray, at)
		c.astray = slices.Delete(c.astray, i, i+1)
	}
	s.astray = away
}

// A gpuAt names a GPU.
type gpuAt struct {
	node *node
	gpu  int
}

// bringBack orders idle GPUs back to the layouts of their pools, where nobody waits for
// what they have.
func (c *Core) bringBack() {
	if len(c.astray) == 0 {
		return
	}
	slices.SortFunc(c.astray, func(a, b gpuAt) int { return cmp.Or(compareNodes(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) })
	for _, at := range slices.Clone(c.astray) {
		n := at.node
		if back, ok := c.backAt(at); !ok || back > c.now {
			continue
		}
		c.stage(n, at.gpu, partitioning{berth.ModeMIG, slices.Clone(n.home)})
		c.repartition(nil, n, at.gpu, berth.Cause{Code: berth.CauseLayout})
		c.freed(n)
	}
}

// backAt is when a GPU may go back to its pool's layout; false: not as things stand.
func (c *Core) backAt(at gpuAt) (berth.Time, bool) {
	n := at.node
	if n.home == nil || c.untouchable(n, at.gpu) || n.closed() || n.holds(at.gpu) || c.wanted(n) {
		return 0, false
	}
	return c.changeable(n, at.gpu), true
}

// wanted reports whether anything waits that may use the node, or is to have it.
func (c *Core) wanted(n *node) bool {
	if slices.ContainsFunc(n.windows, (*window).isForGang) {
		return true
	}
	return slices.ContainsFunc(c.blocked, func(s *shape) bool {
		c.compile(s)
		return slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, n.hardware()) })
	})
}
