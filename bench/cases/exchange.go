package cases

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// The rules that a difference in victims comes under.
const (
	// ruleOverShare: with what the other scheduler takes, a queue of the workload that comes
	// would have more than its fair share.
	ruleOverShare = "over share"
	// ruleBelowShare: a queue that the other takes from would be left with less than may be
	// taken of it.
	ruleBelowShare = "below share"
	// ruleShare: the core stops somebody, and the other nobody, for a queue that stays within its
	// share.
	ruleShare = "share"
	// ruleLent: the core takes back what was lent, and stops less of the queue's own.
	ruleLent = "lent"
	// ruleLess: it stops less.
	ruleLess = "less"
	// ruleDue: what the other stops is what its queue has a right to.
	ruleDue = "due"
	// ruleLower: it stops as much, but less of a high priority; and ruleGangs fewer workloads.
	ruleLower = "lower"
	ruleGangs = "gangs"
	// ruleSmaller: it stops less, though of a higher priority.
	ruleSmaller = "smaller"
	// ruleFurther: it takes from a queue that is further over its share.
	ruleFurther = "further"
	// ruleMixed: the other stops something of the same queue and of others as well.
	ruleMixed = "mixed"
)

// An exchange weighs, for the rules, what might go so that one workload may come: with the
// queues of a scenario and what they use of GPUs, or of what stands for them.
type exchange struct {
	tree   *quota.Tree
	shares *quota.Shares
	queues []quota.Queue
	// running, those first that yield last, and the one that comes.
	running  []exchanged
	incoming exchanged
}

// An exchanged workload may go or come in an exchange.
type exchanged struct {
	name, queue string
	class       berth.Class
	priority    int32
	milli       int64
	// spared: it may not be stopped, whatever it is.
	spared bool
	leaf   quota.QueueIndex
}

// newExchange makes an exchange before anybody goes, with all that run, the oldest first, and
// all that wait, the one that comes first; false: there is none to speak of.
func newExchange(queues []quota.Queue, capacity int64, running, waiting []exchanged) (*exchange, bool) {
	x := &exchange{tree: quota.NewTree(), queues: queues, running: running}
	for i := range queues {
		if _, err := x.tree.Set(queues[i]); err != nil {
			return nil, false
		}
	}
	var err error
	if x.shares, err = quota.NewShares(x.tree, quota.GPUMilli, 1000); err != nil {
		return nil, false
	}
	slices.SortStableFunc(x.running, func(a, b exchanged) int {
		switch {
		case a.spared && !b.spared:
			return -1
		case b.spared && !a.spared:
			return 1
		}
		return cmp.Or(cmp.Compare(b.class, a.class), cmp.Compare(b.priority, a.priority))
	})
	enter := func(e *exchanged) bool {
		e.leaf, _ = x.tree.Lookup(e.queue)
		return x.shares.SetDemand(e.leaf, x.shares.Demand(e.leaf)+e.milli) == nil
	}
	for i := range x.running {
		if e := &x.running[i]; !enter(e) || x.tree.Charge(e.leaf, e.charge()) != nil {
			return nil, false
		}
	}
	for i := range waiting {
		if !enter(&waiting[i]) {
			return nil, false
		}
	}
	x.incoming = waiting[0]
	return x, x.tree.SetCapacity(quota.GPUMilli, max(capacity, x.tree.Used(quota.RootQueue, quota.GPUMilli))) == nil
}

func (e *exchanged) charge() quota.Charge {
	return quota.Charge{GPUMilli: e.milli, Product: quota.NoProduct}
}

// pick finds workloads by their names.
func (x *exchange) pick(names []string) []exchanged {
	var list []exchanged
	for _, e := range x.running {
		if slices.Contains(names, e.name) {
			list = append(list, e)
		}
	}
	return list
}

// own reports whether a workload is of the queue of the one that comes.
func (x *exchange) own(e exchanged) bool { return e.leaf == x.incoming.leaf }

// ours are those of a list that are of that queue.
func (x *exchange) ours(list []exchanged) []exchanged {
	return slices.DeleteFunc(slices.Clone(list), func(e exchanged) bool { return !x.own(e) })
}

// weigh says why the core stops its victims, and not those of another scheduler, or "".
func (x *exchange) weigh(mine, their []exchanged) string {
	if rule := x.forbidden(their); rule != "" {
		return rule
	}
	mixed := len(x.ours(their)) > 0 && len(x.ours(their)) < len(their)
	if len(mine) == 0 {
		if mixed {
			return ruleMixed
		}
		return ""
	}
	if len(x.ours(mine)) < len(mine) && x.givenBack(mine) {
		switch {
		case len(their) == 0:
			return ruleShare
		case units(x.ours(mine)) < units(x.ours(their)):
			return ruleLent
		}
	}
	if len(their) == 0 {
		return ""
	}
	less, lower := cmp.Compare(units(mine), units(their)), compareHarm(mine, their)
	switch {
	case less < 0 && highest(mine) <= highest(their):
		return ruleLess
	case less < 0:
		return ruleSmaller
	case less == 0 && lower < 0:
		return ruleLower
	case less == 0 && lower == 0 && len(mine) < len(their):
		return ruleGangs
	case mixed:
		return ruleMixed
	}
	return x.sources(without(mine, their), without(their, mine))
}

// compareHarm compares how much is stopped of each priority, from the highest down.
func compareHarm(a, b []exchanged) int {
	of := map[int32]int64{}
	for i := range a {
		of[a[i].priority] += a[i].milli
	}
	for i := range b {
		of[b[i].priority] -= b[i].milli
	}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(of))) {
		if of[p] != 0 {
			return cmp.Compare(of[p], 0)
		}
	}
	return 0
}

// without is the one list without the other.
func without(list, other []exchanged) []exchanged {
	return slices.DeleteFunc(slices.Clone(list), func(e exchanged) bool {
		return slices.ContainsFunc(other, func(o exchanged) bool { return o.name == e.name })
	})
}

// forbidden says why the core does not stop what another scheduler stops, or "".
func (x *exchange) forbidden(their []exchanged) string {
	for i, e := range their {
		if x.own(e) {
			continue
		}
		others := slices.Delete(slices.Clone(their), i, i+1)
		x.leave(others)
		stakes, reason := x.shares.Stakes(nil, x.incoming.leaf, x.incoming.charge(), e.leaf)
		x.restore(others)
		if reason == quota.ReclaimOverShare {
			return ruleOverShare
		}
		for _, s := range stakes {
			share := s.Guaranteed
			if reason == quota.ReclaimForShare {
				share = s.Fair
			}
			switch used := x.tree.Used(e.leaf, quota.GPUMilli); {
			case x.fills(share, s.Queue, their) >= x.fills(share, s.Queue, nil):
			case used > x.share(e.leaf):
				return ruleDue
			default:
				return ruleBelowShare
			}
		}
	}
	return ""
}

// fills is what those that run at and below a queue fill of a share, without some.
func (x *exchange) fills(share int64, at quota.QueueIndex, without []exchanged) int64 {
	var lots []quota.Lot
	for _, e := range x.running {
		gone := slices.ContainsFunc(without, func(o exchanged) bool { return o.name == e.name })
		if !gone && x.tree.Below(e.leaf, at) {
			lots = append(lots, quota.Lot{Size: e.milli, Count: 1})
		}
	}
	return quota.Fill(share, lots)
}

// leave takes what workloads use off the books, and restore puts it there again.
func (x *exchange) leave(list []exchanged) {
	for i := range list {
		must(x.tree.Discharge(list[i].leaf, list[i].charge()))
	}
}

func (x *exchange) restore(list []exchanged) {
	for i := range list {
		must(x.tree.Charge(list[i].leaf, list[i].charge()))
	}
}

// givenBack reports whether workloads of other queues that are stopped were more than the share of
// theirs, and the one that comes is within the share of its own when they are gone.
func (x *exchange) givenBack(list []exchanged) bool {
	if slices.ContainsFunc(list, func(e exchanged) bool { return !x.own(e) && x.tree.Used(e.leaf, quota.GPUMilli) <= x.share(e.leaf) }) {
		return false
	}
	in := &x.incoming
	x.leave(list)
	defer x.restore(list)
	return x.tree.Used(in.leaf, quota.GPUMilli)+in.milli <= x.share(in.leaf)
}

// share is what a queue is to have, by its guarantee and by what is over.
func (x *exchange) share(leaf quota.QueueIndex) int64 {
	return max(x.shares.Of(leaf), x.shares.Guaranteed(leaf))
}

// sources compares the queues of two lists, all siblings of each other, in what they have for
// their share.
func (x *exchange) sources(mine, their []exchanged) string {
	further := false
	for _, e := range mine {
		for _, other := range their {
			if x.own(e) || x.own(other) || x.tree.Parent(e.leaf) != x.tree.Parent(other.leaf) || x.over(e.leaf, other.leaf) < 0 {
				return ""
			}
			further = further || x.over(e.leaf, other.leaf) > 0
		}
	}
	if further {
		return ruleFurther
	}
	return ""
}

// over compares two queues in what they have for their share.
func (x *exchange) over(i, j quota.QueueIndex) int {
	a, b := big.NewInt(x.tree.Used(i, quota.GPUMilli)), big.NewInt(x.tree.Used(j, quota.GPUMilli))
	return a.Mul(a, big.NewInt(x.shares.Of(j))).Cmp(b.Mul(b, big.NewInt(x.shares.Of(i))))
}

func units(list []exchanged) int64 {
	sum := int64(0)
	for i := range list {
		sum += list[i].milli
	}
	return sum
}

func highest(list []exchanged) int32 {
	return slices.MaxFunc(list, func(a, b exchanged) int { return cmp.Compare(a.priority, b.priority) }).priority
}

// must is for what has been checked before.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
