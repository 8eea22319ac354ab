package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// share works out the fair shares of GPUs from the checker's own capacity, use and demand,
// as they were before the beneficiaries of the latest preemptions had victims.
func (w *world) share(opened []*preemption) {
	if w.policy.UsageHalfLife != 0 {
		return
	}
	tree := quota.NewTree()
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
	for _, j := range w.jobs {
		for _, rep := range j.replicas {
			told := rep.asked() && slices.Contains(opened, rep.preemption) || rep.shrinksFor(opened)
			grew := told && rep.has(absent) && rep.readyAt == 0
			if j.queue != leaf || !rep.waits() && !grew {
				continue
			}
			for g := range j.spec.Groups {
				group := &j.spec.Groups[g]
				if ofInstance(&group.Claim) {
					return 0, false
				}
				sum += w.largest(&group.Claim) * int64(group.Members-rep.placed(g))
			}
		}
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

// undue reports whether one of some victims below a queue need not have been due to its own
// while the queue had more than is left to it and its guarantee.
func (w *world) undue(q *queue, left int64, lent []victim, before []ghost) bool {
	return slices.ContainsFunc(lent, func(v victim) bool {
		if !v.job.queue.below(berth.QueueID(q.spec.Name)) {
			return false
		}
		for _, unit := range v.units() {
			if left+w.held(unit.all()) > w.guaranteed(q) && !w.surelyDue(unit, before) {
				return true
			}
		}
		return false
	})
}

// guaranteed is what a queue states as its guarantee.
func (w *world) guaranteed(q *queue) int64 { return q.spec.Guarantee[quota.GPUMilli] }

// surelyDue reports whether a victim is certainly one that is due to its queue by guarantee:
// of what the queue runs without the gangs that were on the way out before, first those that
// cannot be asked to yield and then those that yield last, each with its minimum, and then
// what they have above that; each that fits as a whole into what is guaranteed, and together
// with those that fit into the fair share alone into that.
// Where the shares are not known it is not certain, nor where a request was withdrawn in this
// pass: it may have been out when the core looked. Of what is above minimums it is certain
// only where all that the queue runs is due.
func (w *world) surelyDue(victim victim, before []ghost) bool {
	if w.fair == nil {
		return false
	}
	leaf := victim.job.queue
	var list []*replica
	for _, j := range w.jobs {
		for _, rep := range j.replicas {
			if j.queue == leaf && w.staying(rep, before) != nil && (rep.state == berth.ReplicaRunning || slices.Contains(w.opened, rep.preemption)) {
				list = append(list, rep)
			}
		}
	}
	if slices.ContainsFunc(list, w.told.has) {
		return false
	}
	slices.SortFunc(list, func(a, b *replica) int {
		return cmp.Or(compareBool(w.couldBeVictim(a), w.couldBeVictim(b)), compareRank(b, a), cmp.Compare(a.cameAt, b.cameAt),
			cmp.Compare(a.job.spec.ID, b.job.spec.ID), cmp.Compare(a.number, b.number))
	})
	guaranteed := w.fair.Guaranteed(w.index(leaf))
	fair := max(guaranteed, w.fair.Of(w.index(leaf)))
	all := int64(0)
	for _, rep := range list {
		all += w.held(w.staying(rep, before))
	}
	if !victim.whole() || victim.elastic() {
		return all <= min(guaranteed, fair)
	}
	for _, rep := range list {
		if rep.elastic() {
			return false // how much of it is its minimum depends on which of it stays
		}
		milli := w.held(rep.members)
		if rep == victim.replica {
			return milli <= min(guaranteed, fair)
		}
		if milli <= fair {
			fair -= milli
			if milli <= guaranteed {
				guaranteed -= milli
			}
		}
	}
	return false
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

// couldBeVictim reports whether a replica could be evicted, or was told so in this pass.
func (w *world) couldBeVictim(rep *replica) bool {
	if slices.Contains(w.opened, rep.preemption) {
		return true
	}
	return rep.state == berth.ReplicaRunning && rep.order == nil && !rep.has(stopping) && !w.tooYoung(rep) && (w.withinGuarantee || !w.inCooldown(rep))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
