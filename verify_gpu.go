package berth

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/quota"
)

// gpus checks what is kept of GPUs: that descriptions, orders, the fleet and the indexes
// agree.
func (v *verifier) gpus() error {
	c := v.c
	nodes, out := map[*table]int{}, 0
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		if n.table != nil {
			nodes[n.table]++
		}
		for gpu := range n.gpus {
			if err := v.gpu(n, gpu); err != nil {
				return fmt.Errorf("GPU %d of node %s: %w", gpu, n.spec.ID, err)
			}
			if n.gpus[gpu].order != nil {
				out++
			}
		}
	}
	v.timers += out
	if err := v.capacities(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		if t := c.tables[name]; t.nodes != nodes[t] {
			return fmt.Errorf("table %s: %d nodes, counted %d", name, nodes[t], t.nodes)
		}
	}
	for _, d := range c.drains {
		if d.rep.drain != d || d.node.gpus[d.gpu].drain != d || d.rep.state != Pending || d.rep.entries == nil {
			return fmt.Errorf("a GPU is kept for job %s, which does not wait for it", d.rep.job.spec.ID)
		}
	}
	if out != len(c.repartitions) {
		return fmt.Errorf("%d orders about GPUs are out (counted %d)", out, len(c.repartitions))
	}
	return nil
}

// capacities checks that the fleet has what its nodes have.
func (v *verifier) capacities() error {
	want := map[quota.Resource]int64{}
	for _, n := range v.c.nodes {
		if n == nil {
			continue
		}
		has := n.capacityNow()
		if has != n.capacity {
			return fmt.Errorf("node %s adds %v, counted as %v", n.spec.ID, has, n.capacity)
		}
		want[quota.GPU] += has.gpuMilli
		for r, amount := range has.host {
			want[quota.HostOf(host.Resource(r))] += amount
		}
		if has.product != "" {
			want[quota.GPUOf(has.product)] += has.gpuMilli
		}
	}
	for _, r := range slices.Sorted(maps.Keys(want)) {
		if v.c.capacities[r] != want[r] {
			return fmt.Errorf("the fleet has %d of %s, counted %d", want[r], r, v.c.capacities[r])
		}
	}
	return nil
}

func (v *verifier) gpu(n *node, gpu int) error {
	c, g, s := v.c, &n.spec.GPUs[gpu], &n.gpus[gpu]
	division, exist, held := c.fleet.Divided(n.index, gpu)
	want := gang.Undivided
	if g.Mode == ModeMIG {
		want = gang.Fixed
		if n.geometry.Kind == PerClaim {
			want = gang.PerClaim
		}
	}
	switch {
	case division != want:
		return fmt.Errorf("is %s, and should be %s", division, want)
	case s.staged != nil:
		return fmt.Errorf("is staged after a pass")
	case s.drain != nil && !slices.Contains(c.drains, s.drain):
		return fmt.Errorf("is kept for nobody")
	case s.order != nil && (c.repartitions[s.order.order.ID] != s.order || s.order.node != n || s.order.order.GPU != gpu):
		return fmt.Errorf("its order is not in the index")
	case s.order != nil && !c.timers.Has(timer{at: s.order.order.Deadline, kind: timerRepartition, repartition: s.order}):
		return fmt.Errorf("its order is not in the timers")
	}
	if division == gang.Fixed {
		state, err := n.table.lattice.StateOf(g.Instances)
		if err != nil || state != exist {
			return fmt.Errorf("has the layout %v, and should have %v", n.table.lattice.Layout(exist), g.Instances)
		}
	}
	astray := n.hasBase() && s.changedAt > 0 && !n.atBase(gpu)
	if slices.Contains(c.astray, gpuAt{n, gpu}) != astray || s.astray != astray {
		return fmt.Errorf("is astray: %t, is in the list: %t", astray, !astray)
	}
	var err error
	n.membersOn(gpu, func(m *member, rep *replica) {
		if mode := c.modeFor(&m.hold); mode != g.Mode {
			err = fmt.Errorf("is in mode %s, and job %s holds it in mode %s", g.Mode, rep.job.spec.ID, mode)
		}
		if err == nil && division != gang.Undivided {
			_, err = n.table.lattice.Remove(held, m.hold.Instance)
		}
	})
	return err
}
