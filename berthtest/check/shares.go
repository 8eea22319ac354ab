package check

import (
	"slices"

	"github.com/berth-sched/berth/quota"
)

// share works out the fair shares of GPUs from the checker's own capacity, use and demand,
// as they were before the beneficiaries of the latest preemptions had victims.
func (w *world) share(opened []*preemption) {
	if w.policy.UsageHalfLife != 0 {
		return
	}
	tree := quota.NewTree()
	if err := tree.Declare(w.declared); err != nil {
		panic("check: " + err.Error())
	}
	var add func(list []*queue)
	add = func(list []*queue) {
		for _, q := range list {
			must(tree.Set(q.spec))
			add(q.children)
		}
	}
	add(w.tops)
	if most := w.capacity(quota.GPUMilli); most > 0 {
		if err := tree.SetCapacity(quota.GPUMilli, most); err != nil {
			panic("check: " + err.Error())
		}
	}
	shares := must(quota.NewShares(tree, quota.GPUMilli, 1000))
	w.tree = tree
	for _, q := range w.Checker.queues {
		demand, known := w.demand(q, opened)
		if !known {
			return
		}
		if len(q.children) == 0 {
			if err := shares.SetDemand(w.index(q), min(demand, quota.MaxAmount)); err != nil {
				panic("check: " + err.Error())
			}
		}
	}
	w.fair = shares
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("check: " + err.Error())
	}
	return v
}

func (w *world) index(q *queue) quota.QueueIndex {
	i, _ := w.tree.Lookup(q.spec.Name)
	return i
}

// demand is what a leaf uses and what its gangs wait for in all. False: it is not known.
func (w *world) demand(leaf *queue, opened []*preemption) (int64, bool) {
	sum := leaf.used[quota.GPUMilli]
	for rep := range w.replicas() {
		told := rep.asked() && slices.Contains(opened, rep.preemption) || rep.shrinksFor(opened)
		grew := told && rep.has(absent) && rep.readyAt == 0 && !rep.job.isOutOfBudget()
		if rep.job.queue != leaf || !rep.waits() && !grew {
			continue
		}
		most := int64(0)
		if unknown := rep.any(func() bool {
			asks := int64(0)
			for g := range rep.job.spec.Groups {
				group := &rep.job.spec.Groups[g]
				if ofInstance(&group.Claim) {
					return true
				}
				asks += w.largest(&group.Claim) * int64(group.Members-rep.placed(g))
			}
			most = max(most, asks)
			return false
		}); unknown {
			return 0, false
		}
		sum += most
	}
	return sum, true
}

// placed counts the members of a group that hold something.
func (rep *replica) placed(g int) int {
	n := 0
	for _, m := range rep.members {
		if m.node != nil && rep.job.group(m.flat) == g {
			n++
		}
	}
	return n
}

// staying lists the members of a replica that hold something, but for those that were on the
// way out before; nil: there are none.
func (w *world) staying(rep *replica, before []ghost) []*member {
	var list []*member
	for _, m := range rep.members {
		held := m.node != nil || slices.ContainsFunc(w.gone, func(g ghost) bool { return g.m == m })
		if held && !slices.ContainsFunc(before, func(g ghost) bool { return g.m == m }) {
			list = append(list, m)
		}
	}
	return list
}
