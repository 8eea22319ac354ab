package cases

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// The rules that a difference in victims comes under. Each is told by sums over the scenario and
// what runs in the end, here and with the other scheduler.
const (
	// ruleOverShare: the other scheduler stops something for a queue that then has more than its
	// fair share, or for one below a queue that has; the core does not.
	ruleOverShare = "over share"
	// ruleFairer: with the core the queue that has the least of its fair share has more of it, and
	// those that give keep all of theirs.
	ruleFairer = "fairer"
	// ruleSwap: so it has, but one that gives is left with less than its share.
	ruleSwap = "swap"
	// ruleLess: all queues have as much of their shares, all runs for which the other scheduler
	// stops something, and the core stops less, of no higher priority.
	ruleLess = "less"
	// ruleSmaller: it stops less, though of a higher priority.
	ruleSmaller = "smaller"
	// ruleLower: it stops as much, but less of a high priority; ruleGangs as much of each priority,
	// but fewer jobs.
	ruleLower = "lower"
	ruleGangs = "gangs"
	// ruleMixed: the other scheduler stops something of the same queue and of others as well; the
	// core stops nothing, and a queue is left with less of its share.
	ruleMixed = "mixed"
)

// An exchange is what ran at the start of a scenario and what runs in the end, here and with the
// other scheduler: in GPUs, or in what stands for them.
type exchange struct {
	tree   *quota.Tree
	shares *quota.Shares
	queues []quota.QueueIndex
	jobs   []exchanged
}

// An exchanged job is part of an exchange.
type exchanged struct {
	name     string
	queue    quota.QueueID
	priority int32
	// had is what runs at the start, wants what would run if there were room for all.
	had, wants int64
	// ours and theirs is what runs in the end.
	ours, theirs int64

	leaf quota.QueueIndex
}

// newExchange makes an exchange on so much capacity; false: there is none to speak of.
func newExchange(queues []quota.Queue, capacity int64, jobs []exchanged) (*exchange, bool) {
	x := &exchange{tree: quota.NewTree(), jobs: jobs}
	for i := range queues {
		index, err := x.tree.Set(queues[i])
		if err != nil {
			return nil, false
		}
		x.queues = append(x.queues, index)
	}
	var err error
	if x.shares, err = quota.NewShares(x.tree, quota.GPUMilli, 1000); err != nil {
		return nil, false
	}
	for i := range x.jobs {
		j := &x.jobs[i]
		j.leaf, _ = x.tree.Lookup(j.queue)
		if x.shares.SetDemand(j.leaf, x.shares.Demand(j.leaf)+j.wants) != nil {
			return nil, false
		}
	}
	return x, x.tree.SetCapacity(quota.GPUMilli, max(capacity, x.sum(quota.RootQueue, had))) == nil
}

func had(j *exchanged) int64    { return j.had }
func ours(j *exchanged) int64   { return j.ours }
func theirs(j *exchanged) int64 { return j.theirs }

// sum adds up an amount of the jobs at and below a queue.
func (x *exchange) sum(queue quota.QueueIndex, amount func(*exchanged) int64) int64 {
	sum := int64(0)
	for i := range x.jobs {
		if x.tree.Below(x.jobs[i].leaf, queue) {
			sum += amount(&x.jobs[i])
		}
	}
	return sum
}

// share is what a queue is to have of what it wants, by its guarantee and by what is over.
func (x *exchange) share(queue quota.QueueIndex) int64 {
	return max(x.shares.Of(queue), x.shares.Guaranteed(queue))
}

// stopped are the jobs of which less runs in the end than at the start.
func (x *exchange) stopped(end func(*exchanged) int64) []exchanged {
	var list []exchanged
	for i := range x.jobs {
		if j := x.jobs[i]; end(&j) < j.had {
			j.had -= end(&j)
			list = append(list, j)
		}
	}
	return list
}

// weigh says by which rule the core stops its victims, and not those of the other scheduler, and
// the sums that tell; "": by none.
func (x *exchange) weigh() (rule, sums string) {
	mine, their := x.stopped(ours), x.stopped(theirs)
	if len(mine) == 0 && len(their) == 0 {
		return "", ""
	}
	if q, over := x.overShare(theirs, their); over {
		if _, alsoOurs := x.overShare(ours, mine); !alsoOurs {
			return ruleOverShare, x.figures(q)
		}
	}
	switch order, q := x.compareShares(); {
	case order > 0 && x.keepTheirs(mine):
		return ruleFairer, x.figures(q)
	case order > 0:
		return ruleSwap, x.figures(q)
	case order < 0:
		return x.worse(mine, their), x.figures(q)
	case len(their) == 0 || !x.serves():
		return "", ""
	}
	sums = fmt.Sprintf("stops %s in %d jobs; theirs %s in %d", decimal.Milli(units(mine)), len(mine), decimal.Milli(units(their)), len(their))
	switch less, lower := cmp.Compare(units(mine), units(their)), compareHarm(mine, their); {
	case less < 0 && (len(mine) == 0 || highest(mine) <= highest(their)):
		return ruleLess, sums
	case less < 0:
		return ruleSmaller, sums
	case less == 0 && lower < 0:
		return ruleLower, sums
	case less == 0 && lower == 0 && len(mine) < len(their):
		return ruleGangs, sums
	}
	return "", ""
}

// worse is the rule by which the core leaves some queue with less of its share, or "".
func (x *exchange) worse(mine, their []exchanged) string {
	own := slices.ContainsFunc(their, func(j exchanged) bool { return x.gains(j.leaf) })
	others := slices.ContainsFunc(their, func(j exchanged) bool { return !x.gains(j.leaf) })
	if len(mine) == 0 && own && others {
		return ruleMixed
	}
	return ""
}

// keepTheirs reports whether the queues that jobs are stopped of have all of their shares in the
// end, and so no right to take anything back.
func (x *exchange) keepTheirs(stopped []exchanged) bool {
	return !slices.ContainsFunc(stopped, func(j exchanged) bool { return x.sum(j.leaf, ours) < x.share(j.leaf) })
}

// serves reports whether something comes to run with the other scheduler, and as much of all that
// does with the core.
func (x *exchange) serves() bool {
	gains := func(j exchanged) bool { return j.theirs > j.had }
	return slices.ContainsFunc(x.jobs, gains) &&
		!slices.ContainsFunc(x.jobs, func(j exchanged) bool { return gains(j) && j.ours < j.theirs })
}

// gains reports whether a job of a queue comes to run with the other scheduler.
func (x *exchange) gains(leaf quota.QueueIndex) bool {
	return slices.ContainsFunc(x.jobs, func(j exchanged) bool { return j.leaf == leaf && j.theirs > j.had })
}

// overShare finds a queue that ends with more than it had, and than its share, while something of
// other queues is stopped.
func (x *exchange) overShare(end func(*exchanged) int64, stopped []exchanged) (quota.QueueIndex, bool) {
	for _, q := range x.queues {
		if used := x.sum(q, end); used > x.sum(q, had) && used > x.share(q) &&
			slices.ContainsFunc(stopped, func(j exchanged) bool { return !x.tree.Below(j.leaf, q) }) {
			return q, true
		}
	}
	return quota.RootQueue, false
}

// compareShares compares how evenly queues have their shares in the end, level by level from the
// widest: by the queue that has the least for its share, then by the next, as in max-min
// fairness. What a queue has beyond its share counts for nothing. Above zero: with the core. The
// queue is the one with the least, of those that differ.
func (x *exchange) compareShares() (order int, differs quota.QueueIndex) {
	byDepth := map[int][]quota.QueueIndex{}
	for _, q := range x.queues {
		if x.share(q) > 0 {
			depth := x.depth(q)
			byDepth[depth] = append(byDepth[depth], q)
		}
	}
	for _, depth := range slices.Sorted(maps.Keys(byDepth)) {
		if len(byDepth[depth]) == 1 { // shares nothing with anybody
			continue
		}
		mine, their := x.satisfied(byDepth[depth], ours), x.satisfied(byDepth[depth], theirs)
		for i := range mine {
			switch order = mine[i].part.Cmp(their[i].part); {
			case order > 0:
				return order, their[i].queue
			case order < 0:
				return order, mine[i].queue
			}
		}
	}
	return 0, quota.RootQueue
}

func (x *exchange) depth(q quota.QueueIndex) int {
	depth := 0
	for ; q != quota.RootQueue; q = x.tree.Parent(q) {
		depth++
	}
	return depth
}

// A satisfaction is the part of its share that a queue has, at most all of it.
type satisfaction struct {
	queue quota.QueueIndex
	part  *big.Rat
}

// satisfied lists queues, the one with the least for its share first.
func (x *exchange) satisfied(queues []quota.QueueIndex, end func(*exchanged) int64) []satisfaction {
	var list []satisfaction
	for _, q := range queues {
		share := x.share(q)
		list = append(list, satisfaction{q, big.NewRat(min(x.sum(q, end), share), share)})
	}
	slices.SortStableFunc(list, func(a, b satisfaction) int { return a.part.Cmp(b.part) })
	return list
}

// figures says what a queue has in the end.
func (x *exchange) figures(q quota.QueueIndex) string {
	_, name, _ := strings.Cut(string(x.tree.Name(q)), " ")
	if name == "" {
		name = string(x.tree.Name(q))
	}
	return fmt.Sprintf("%s has %s of its share of %s; with theirs %s", name,
		decimal.Milli(x.sum(q, ours)), decimal.Milli(x.share(q)), decimal.Milli(x.sum(q, theirs)))
}

// compareHarm compares how much is stopped of each priority, from the highest down.
func compareHarm(a, b []exchanged) int {
	of := map[int32]int64{}
	for i := range a {
		of[a[i].priority] += a[i].had
	}
	for i := range b {
		of[b[i].priority] -= b[i].had
	}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(of))) {
		if of[p] != 0 {
			return cmp.Compare(of[p], 0)
		}
	}
	return 0
}

func names(list []exchanged) []string {
	var names []string
	for i := range list {
		names = append(names, list[i].name)
	}
	return names
}

func units(list []exchanged) int64 {
	sum := int64(0)
	for i := range list {
		sum += list[i].had
	}
	return sum
}

func highest(list []exchanged) int32 {
	return slices.MaxFunc(list, func(a, b exchanged) int { return cmp.Compare(a.priority, b.priority) }).priority
}
