package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/quota"
)

// checkHolds checks that the fleet holds what members hold, and nothing else.
func (c *Core) checkHolds() error {
	var holds []gang.Hold
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		for _, rep := range c.jobs[id].replicas {
			if rep == nil {
				continue
			}
			for flat := range rep.members {
				if m := &rep.members[flat]; m.state.holds() {
					holds = append(holds, m.hold)
				}
			}
		}
	}
	if err := errors.Join(c.fleet.Check(), c.fleet.CheckHolds(holds)); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// checkCharges checks that queues are charged for what their members hold, and nothing else.
func (c *Core) checkCharges() error {
	if err := c.quota.Check(); err != nil {
		return fmt.Errorf("quota: %w", err)
	}
	used := map[quota.Index]int64{}
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		for _, at := range n.members {
			used[at.rep.job.queue] += chargeOf(&at.rep.members[at.index].hold, n).GPUMilli
		}
	}
	for _, q := range c.queues {
		if q != nil && c.quota.Leaf(q.index) && c.quota.Used(q.index, quota.GPU) != used[q.index] {
			return fmt.Errorf("queue %s: S3: uses %d milli-GPU, and is charged %d", c.quota.Name(q.index), used[q.index], c.quota.Used(q.index, quota.GPU))
		}
	}
	return nil
}

// checkCapacities checks that the fleet has what its nodes have.
func (c *Core) checkCapacities() error {
	want := map[quota.Resource]int64{}
	if err := c.eachNode(func(n *node) error {
		has := n.capacityNow()
		if has != n.capacity {
			return fmt.Errorf("adds %v, counted as %v", has, n.capacity)
		}
		want[quota.GPU] += has.gpuMilli
		for r, amount := range has.host {
			want[quota.HostOf(host.Resource(r))] += amount
		}
		if has.product != "" {
			want[quota.GPUOf(has.product)] += has.gpuMilli
		}
		return nil
	}); err != nil {
		return err
	}
	for _, r := range slices.Sorted(maps.Keys(want)) {
		if c.capacities[r] != want[r] {
			return fmt.Errorf("the fleet has %d of %s, counted %d", want[r], r, c.capacities[r])
		}
	}
	return nil
}
