package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
)

// checkGPUs checks what is kept of GPUs: that descriptions, orders, the fleet and the counts
// agree.
func (c *Core) checkGPUs() error {
	nodes, out := map[*table]int{}, 0
	if err := c.eachNode(func(n *node) error {
		if n.table != nil {
			nodes[n.table]++
		}
		for gpu := range n.gpus {
			if err := c.checkGPU(n, gpu); err != nil {
				return fmt.Errorf("GPU %d: %w", gpu, err)
			}
			if n.gpus[gpu].order != nil {
				out++
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		if t := c.tables[name]; t.nodes != nodes[t] {
			return fmt.Errorf("table %s: %d nodes, counted %d", name, nodes[t], t.nodes)
		}
	}
	return agree(tally{"orders about GPUs", len(c.repartitions), out})
}

// checkDrains checks that GPUs are kept for those who wait.
func (c *Core) checkDrains() error {
	for _, d := range c.drains {
		if d.rep.drain != d || d.node.gpus[d.GPU].drain != d || d.rep.State != berth.Pending || d.rep.entries == nil {
			return fmt.Errorf("a GPU is kept for job %s, which does not wait for it", d.rep.job.spec.ID)
		}
	}
	return c.eachReplica(func(rep *replica) error {
		if rep.drain != nil && !slices.Contains(c.drains, rep.drain) {
			return fmt.Errorf("the GPU that is kept for it is not in the list")
		}
		return nil
	})
}

func (c *Core) checkGPU(n *node, gpu int) error {
	g, s := &n.spec.GPUs[gpu], &n.gpus[gpu]
	astray := n.hasBase() && s.ChangedAt > 0 && !n.atBase(gpu)
	switch {
	case s.staged != nil:
		return fmt.Errorf("is staged after a pass")
	case s.drain != nil && !slices.Contains(c.drains, s.drain):
		return fmt.Errorf("is kept for nobody")
	case s.order != nil && (c.repartitions[s.order.order.ID] != s.order || s.order.node != n || s.order.order.GPU != gpu):
		return fmt.Errorf("its order is not in the index")
	case slices.Contains(c.astray, gpuAt{n, gpu}) != astray || s.astray != astray:
		return fmt.Errorf("is astray: %t, is in the list: %t", astray, !astray)
	}
	if err := c.checkDivision(n, gpu); err != nil {
		return err
	}
	var err error
	n.membersOn(gpu, func(m *member, rep *replica) {
		if mode := c.modeFor(&m.hold); mode != g.Mode {
			err = fmt.Errorf("is in mode %s, and job %s holds it in mode %s", g.Mode, rep.job.spec.ID, mode)
		}
	})
	return err
}

// checkDivision checks that the fleet sees a GPU divided as it is described, and that the
// instances that are held on it exist.
func (c *Core) checkDivision(n *node, gpu int) error {
	g := &n.spec.GPUs[gpu]
	division, exist, held := c.fleet.Divided(n.index, gpu)
	want := gang.Undivided
	if g.Mode == berth.ModeMIG {
		want = gang.Fixed
		if n.geometry.Kind == berth.PerClaim {
			want = gang.PerClaim
		}
	}
	if division != want {
		return fmt.Errorf("is %s, and should be %s", division, want)
	}
	if division == gang.Fixed {
		state, err := n.table.lattice.StateOf(g.Instances)
		if err != nil || state != exist {
			return fmt.Errorf("has the layout %v, and should have %v", n.table.lattice.Layout(exist), g.Instances)
		}
	}
	var err error
	n.membersOn(gpu, func(m *member, _ *replica) {
		if err == nil && division != gang.Undivided {
			_, err = n.table.lattice.Remove(held, m.hold.Instance)
		}
	})
	return err
}
