package books

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/pq"
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
	type account struct {
		queue    quota.QueueIndex
		resource quota.Resource
	}
	used, nonPreemptible := map[account]int64{}, map[quota.QueueIndex]int64{}
	for _, n := range bk.state.Nodes {
		if n == nil {
			continue
		}
		for _, at := range n.Members {
			q, c := at.Rep.Job.Queue, record.ChargeOf(&at.Rep.Members[at.Index].Hold, n)
			used[account{q, quota.GPUMilli}] += c.GPUMilli
			if at.Rep.Job.Spec.NonPreemptible {
				nonPreemptible[q] += c.GPUMilli
			}
			if c.GPUMilli > 0 && n.Spec.Product != "" {
				used[account{q, quota.GPUMilliOf(n.Spec.Product)}] += c.GPUMilli
			}
			for r, amount := range c.Host {
				used[account{q, quota.HostOf(countable.Resource(r))}] += amount
			}
			for i, d := range bk.state.Config.Resources {
				used[account{q, quota.Resource(d.Name)}] += c.Declared.Of(i)
			}
		}
	}
	resources := bk.resources()
	for i, q := range bk.Queues {
		if q == nil || !bk.state.Quota.Leaf(q.Index) {
			continue
		}
		if q.Index != quota.QueueIndex(i) {
			return fmt.Errorf("queue %s is at %d", bk.state.Quota.Name(q.Index), i)
		}
		if is, charged := nonPreemptible[q.Index], bk.state.Quota.NonPreemptible(q.Index); is != charged {
			return fmt.Errorf("queue %s: %d thousandths of GPUs are never reclaimed, and it is charged %d", bk.state.Quota.Name(q.Index), is, charged)
		}
		for _, r := range resources {
			if is, charged := used[account{q.Index, r}], bk.state.Quota.Used(q.Index, r); is != charged {
				return fmt.Errorf("queue %s: S3: uses %d of %s, and is charged %d", bk.state.Quota.Name(q.Index), is, r, charged)
			}
		}
	}
	return nil
}

// resources lists those that queues are charged for: GPUs, each product that a node has, and what
// hosts have.
func (bk *Books) resources() []quota.Resource {
	list := []quota.Resource{quota.GPUMilli}
	for r := range countable.Resource(countable.NumResources) {
		list = append(list, quota.HostOf(r))
	}
	for _, d := range bk.state.Config.Resources {
		list = append(list, quota.Resource(d.Name))
	}
	for _, n := range bk.state.Nodes {
		if n != nil && n.Spec.Product != "" {
			list = append(list, quota.GPUMilliOf(n.Spec.Product))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// CheckContenders works out anew the demand of each queue, what it lends, what it uses beyond its
// guarantee, and the fair shares.
func (bk *Books) CheckContenders() error {
	over, keeping := 0, 0
	tree := bk.state.Quota
	for _, q := range bk.Queues {
		if q == nil {
			continue
		}
		state.CountIf(&over, q.Over)
		state.CountIf(&keeping, q.Keeps)
		leaf, used := tree.Leaf(q.Index), tree.Used(q.Index, quota.GPUMilli)
		waiting := int64(0)
		for _, b := range q.List {
			waiting += bk.waitsFor(b)
		}
		switch current := bk.demandVersion == bk.state.Classes.Version; {
		case q.Over != (leaf && used > tree.Guaranteed(q.Index, quota.GPUMilli)):
			return fmt.Errorf("queue %s is said to use more than it is guaranteed: %t", tree.Name(q.Index), q.Over)
		case q.Keeps != (len(tree.Config(q.Index).LendingLimit) > 0):
			return fmt.Errorf("queue %s is said not to lend all that it is guaranteed: %t", tree.Name(q.Index), q.Keeps)
		case q.Touched != slices.Contains(bk.Touched, q):
			return fmt.Errorf("queue %s is said to be touched: %t", tree.Name(q.Index), q.Touched)
		case current && q.WaitingMilli != waiting:
			return fmt.Errorf("queue %s waits for %d milli-GPU, counted %d", tree.Name(q.Index), waiting, q.WaitingMilli)
		case current && leaf && !q.Touched && bk.Shares.Demand(q.Index) != min(used+waiting, quota.MaxAmount):
			return fmt.Errorf("queue %s wants %d milli-GPU, and is said to want %d", tree.Name(q.Index), used+waiting, bk.Shares.Demand(q.Index))
		}
	}
	if bk.Earmarked || len(bk.uncounted) > 0 || slices.ContainsFunc(bk.waiting, func(h pq.Heap[*record.Entry]) bool { return h.Len() > 0 }) {
		return errors.New("something is earmarked, or has its turn, after a pass")
	}
	if err := bk.Shares.Check(); err != nil {
		return err
	}
	return state.Agree(state.Tally{What: "queues beyond their guarantee", Is: bk.over, Expected: over}, state.Tally{What: "queues that keep something", Is: bk.Keeping, Expected: keeping})
}

// CheckLedger checks that time is counted at the rates of what is held.
func (bk *Books) CheckLedger() error {
	if bk.Ledger == nil {
		return nil
	}
	if err := bk.checkLedger(bk.Ledger.State()); err != nil {
		return err
	}
	return nil
}

// CheckSizes checks that queues count the gangs without a surplus that run there, by their charge.
func (bk *Books) CheckSizes() error {
	for _, q := range bk.Queues {
		if q == nil {
			continue
		}
		var sizes []quota.SizeCount
		elastic, nonPreemptible := 0, 0
		q.Running.Ascend(func(rep *record.Replica) bool {
			if rep.Job.IsElastic() {
				elastic++
				return true
			}
			if rep.Job.Spec.NonPreemptible {
				nonPreemptible++
			}
			sizes = AddSize(sizes, record.Piece{Rep: rep}.GPUMilli(), 1)
			return true
		})
		if !slices.Equal(sizes, q.Sizes) || elastic != q.Elastic.Len() {
			return fmt.Errorf("queue %s: it runs %v and %d elastic gangs, and counts %v and %d", bk.state.Quota.Name(q.Index), sizes, elastic, q.Sizes, q.Elastic.Len())
		}
		if nonPreemptible != q.NonPreemptible.Len() {
			return fmt.Errorf("queue %s: %d gangs run that are never preempted, and it counts %d", bk.state.Quota.Name(q.Index), nonPreemptible, q.NonPreemptible.Len())
		}
	}
	return nil
}

// CheckCapacities checks that the fleet has what its nodes have.
func (bk *Books) CheckCapacities() error {
	want, open := map[quota.Resource]int64{}, map[quota.Resource]int64{}
	if err := bk.state.EachNode(func(n *record.Node) error {
		has := n.CapacityNow()
		if !has.Equal(&n.Capacity) || !n.Declared.Equal(bk.state.Declared(n.Spec.Resources)) {
			return fmt.Errorf("adds %v, counted as %v", has, n.Capacity)
		}
		bk.eachAmount(&record.Capacity{}, &has, func(r quota.Resource, _, amount int64) {
			if want[r] += amount; !n.Closed() {
				open[r] += amount
			}
		})
		return nil
	}); err != nil {
		return err
	}
	if bk.state.Quota.FollowFleet() {
		return errors.New("what queues have by shares did not follow the fleet")
	}
	for _, r := range slices.Sorted(maps.Keys(want)) {
		if open[r] != bk.state.Quota.Fleet(r) {
			return fmt.Errorf("nodes that take work have %d of %s, and shares are of %d", open[r], r, bk.state.Quota.Fleet(r))
		}
		if bk.Capacities[r] != want[r] {
			return fmt.Errorf("the fleet has %d of %s, counted %d", want[r], r, bk.Capacities[r])
		}
	}
	for _, r := range slices.Sorted(maps.Keys(bk.Capacities)) {
		told, known := bk.state.Quota.Capacity(r)
		switch {
		case want[r] == 0:
			return fmt.Errorf("the fleet has no %s, counted %d", r, bk.Capacities[r])
		case !slices.Contains(bk.untold, r) && (!known || told != min(want[r], quota.MaxAmount)):
			return fmt.Errorf("the fleet has %d of %s, and queues are told that it has %d", want[r], r, told)
		}
	}
	return nil
}
