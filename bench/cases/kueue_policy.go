package cases

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// A kueuePolicy says which workloads those of a queue may take the place of. The core has
// the same rules for all queues; but a job that has not run for its MinRuntime yet is left
// alone, so a job that the policy spares has one that does not end.
type kueuePolicy struct {
	// WithinQueue is Never, LowerPriority or LowerOrNewerEqualPriority; absent is Never.
	WithinQueue string `json:"within_queue"`
	// Reclaim from other queues of the cohort is Never, LowerPriority or Any; absent is
	// Never.
	Reclaim string `json:"reclaim_within_cohort"`
	// Borrow says, without fair sharing, from which workloads one may take that even then
	// borrows.
	Borrow *struct {
		Policy    string `json:"policy"`
		Threshold *int32 `json:"max_priority_threshold"`
	} `json:"borrow_within_cohort"`
}

const (
	kueueLower        = "LowerPriority"
	kueueLowerOrNewer = "LowerOrNewerEqualPriority"
	kueueAny          = "Any"

	kueueFair = "fair"

	// forLong is longer than any scenario.
	forLong = 365 * 24 * berth.Hour
)

func (q *kueueQueue) readPolicy() error {
	if len(q.Policy) == 0 {
		return nil
	}
	return json.Unmarshal(q.Policy, &q.policy)
}

// spares reports whether the workload that comes must leave one that runs alone.
func (c *kueueCase) spares(w *kueueWorkload) bool {
	policy := &c.queue(c.Incoming.Queue).policy
	if w.Queue == c.Incoming.Queue {
		switch policy.WithinQueue {
		case kueueLower, kueueLowerOrNewer:
			return c.priority(w) >= c.priority(&c.Incoming)
		}
		return true
	}
	lower := w.Priority < c.Incoming.Priority
	switch policy.Reclaim {
	case kueueLower:
		if !lower {
			return true
		}
	case kueueAny:
	default:
		return true
	}
	if c.Algorithm == kueueFair || !c.borrowsFrom(w) {
		return false
	}
	b := policy.Borrow
	return b == nil || b.Policy != kueueLower || !lower || b.Threshold != nil && w.Priority > *b.Threshold
}

// borrowsFrom reports whether the workload that comes asks for more than is its own
// where it parts from one that runs, whichever goes: more than the quota of all below there.
func (c *kueueCase) borrowsFrom(w *kueueWorkload) bool {
	mine, theirs := c.above(c.Incoming.Queue), c.above(w.Queue)
	at := slices.IndexFunc(mine, func(cohort string) bool { return slices.Contains(theirs, cohort) })
	contended := c.Incoming.Contended
	if len(contended) == 0 {
		contended = slices.Sorted(maps.Keys(c.Incoming.amounts()))
	}
	return slices.ContainsFunc(contended, func(key string) bool {
		own := c.queue(c.Incoming.Queue).Quota[key].Nominal
		if at > 0 {
			own = c.below(mine[at-1], key)
		}
		return c.Incoming.amounts()[key] > own
	})
}

// above lists the cohorts above a queue, the next first.
func (c *kueueCase) above(queue string) []string {
	var list []string
	for name := c.queue(queue).Cohort; name != "" && !slices.Contains(list, name); {
		list = append(list, name)
		name = c.Cohorts[slices.IndexFunc(c.Cohorts, func(h kueueCohort) bool { return h.Name == name })].Parent
	}
	return list
}

// below is the quota of a cohort and all below it.
func (c *kueueCase) below(cohort, key string) int64 {
	sum := int64(0)
	for i := range c.Cohorts {
		if h := &c.Cohorts[i]; h.Name == cohort {
			sum += h.Quota[key].Nominal
		} else if h.Parent == cohort {
			sum += c.below(h.Name, key)
		}
	}
	for i := range c.Queues {
		if q := &c.Queues[i]; q.Cohort == cohort {
			sum += q.Quota[key].Nominal
		}
	}
	return sum
}

// priority ranks the priorities of a scenario. Where those of the same priority go that
// came later, they stand just below.
func (c *kueueCase) priority(w *kueueWorkload) int32 {
	rank := int32(0)
	var seen []int32
	for _, other := range c.workloads() {
		if p := other.Priority; p < w.Priority && !slices.Contains(seen, p) {
			seen = append(seen, p)
			rank += 2
		}
	}
	in := &c.Incoming
	if w != in && w.Queue == in.Queue && w.Priority == in.Priority && w.QueuedAt > in.QueuedAt &&
		c.queue(in.Queue).policy.WithinQueue == kueueLowerOrNewer {
		rank--
	}
	return rank
}

func (c *kueueCase) queue(name string) *kueueQueue {
	return &c.Queues[slices.IndexFunc(c.Queues, func(q kueueQueue) bool { return q.Name == name })]
}
