package books

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// CheckHolds checks that the fleet holds what members hold, and nothing else.
func (bk *Books) CheckHolds() error {
	var holds []gang.Hold
	for _, id := range slices.Sorted(maps.Keys(bk.state.Jobs)) {
		for rep := range bk.state.Jobs[id].Replicas.All() {
			for flat := range rep.Members {
				if m := &rep.Members[flat]; m.State.Holds() {
					holds = append(holds, m.Hold)
				}
			}
		}
	}
	if err := errors.Join(bk.state.Fleet.Check(), bk.state.Fleet.CheckHolds(holds)); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// CheckCharges checks that queues are charged for what their members hold, and nothing else.
func (bk *Books) CheckCharges() error {
	if err := bk.state.Quota.Check(); err != nil {
		return fmt.Errorf("quota: %w", err)
	}
	used := map[quota.QueueIndex]int64{}
	for _, n := range bk.state.Nodes {
		if n == nil {
			continue
		}
		for _, at := range n.Members {
			used[at.Rep.Job.Queue] += record.ChargeOf(&at.Rep.Members[at.Index].Hold, n).GPUMilli
		}
	}
	for _, q := range bk.Queues {
		if q != nil && bk.state.Quota.Leaf(q.Index) && bk.state.Quota.Used(q.Index, quota.GPUMilli) != used[q.Index] {
			return fmt.Errorf("queue %s: S3: uses %d milli-GPU, and is charged %d", bk.state.Quota.Name(q.Index), used[q.Index], bk.state.Quota.Used(q.Index, quota.GPUMilli))
		}
	}
	return nil
}

// CheckLots checks that queues count what runs in them by what it is charged.
func (bk *Books) CheckLots() error {
	for _, q := range bk.Queues {
		if q == nil {
			continue
		}
		var lots []quota.Lot
		elastic := 0
		q.Running.Ascend(func(rep *record.Replica) bool {
			if rep.Job.IsElastic() {
				elastic++
				return true
			}
			lots = AddLot(lots, record.Piece{Rep: rep}.GPUMilli(), 1)
			return true
		})
		if !slices.Equal(lots, q.Lots) || elastic != q.Elastic.Len() {
			return fmt.Errorf("queue %s: it runs %v and %d elastic gangs, and counts %v and %d", bk.state.Quota.Name(q.Index), lots, elastic, q.Lots, q.Elastic.Len())
		}
	}
	return nil
}

// CheckCapacities checks that the fleet has what its nodes have.
func (bk *Books) CheckCapacities() error {
	want := map[quota.Resource]int64{}
	if err := bk.state.EachNode(func(n *record.Node) error {
		has := n.CapacityNow()
		if has != n.Capacity {
			return fmt.Errorf("adds %v, counted as %v", has, n.Capacity)
		}
		want[quota.GPUMilli] += has.GPUMilli
		for r, amount := range has.Host {
			want[quota.HostOf(countable.Resource(r))] += amount
		}
		if has.Product != "" {
			want[quota.GPUMilliOf(has.Product)] += has.GPUMilli
		}
		return nil
	}); err != nil {
		return err
	}
	for _, r := range slices.Sorted(maps.Keys(want)) {
		if bk.Capacities[r] != want[r] {
			return fmt.Errorf("the fleet has %d of %s, counted %d", want[r], r, bk.Capacities[r])
		}
	}
	return nil
}
