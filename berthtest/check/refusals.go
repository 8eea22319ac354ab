package check

import (
	"errors"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
)

// Rejected takes an event that the core refused, and its refusal.
func (c *Checker) Rejected(now berth.Time, event berth.Event, err error) error {
	if violation := typed(event, err); violation != nil {
		return violation
	}
	amiss := now < c.now || now > limits.MaxInstant
	if amiss != errors.Is(err, berth.ErrClock) {
		return broken(PromiseClock, "%s at %d after %d was refused with %v", event.Kind(), now, c.now, err)
	}
	if amiss {
		return nil
	}
	switch e := event.(type) {
	case berth.OrderReported:
		if e.Outcome == berth.OutcomeUnset && errors.Is(err, berth.ErrInvalid) {
			return nil
		}
		if ch := c.changes[e.Order]; ch != nil {
			return c.changeRefused(ch, e, err)
		}
		return c.reportRefused(e, err)
	case berth.GPUPartitioned:
		return c.partitionRefused(e, err)
	case berth.MIGTableSet:
		c.saw("table refused")
	case berth.MemberFailed:
		return c.lifeRefused(e.Job, e.Replica, e.Incarnation, err)
	case berth.ActivityReported:
		return c.lifeRefused(e.Job, e.Replica, e.Incarnation, err)
	case berth.CheckpointWritten:
		return c.checkpointRefused(e, err)
	case berth.JobFinished:
		if j := c.jobs[e.Job]; j == nil || j.spec.Service == nil {
			return c.lifeRefused(e.Job, 0, e.Incarnation, err)
		}
	}
	return nil
}

// typed: a refusal is an *Error that names the event and a reason, and is of one
// of the kinds.
func typed(event berth.Event, err error) error {
	var e *berth.Error
	kinds := []error{
		berth.ErrInvalid, berth.ErrUnknown, berth.ErrDuplicate, berth.ErrConflict,
		berth.ErrUnsupported, berth.ErrStale, berth.ErrLimit, berth.ErrClock,
	}
	switch {
	case !errors.As(err, &e):
		return broken(PromiseR2, "the refusal is a %T: %v", err, err)
	case event != nil && e.Event != event.Kind():
		return broken(PromiseR2, "the refusal of a %s names the event %q", event.Kind(), e.Event)
	case e.Reason == "":
		return broken(PromiseR2, "the refusal of a %s has no reason", e.Event)
	case !slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) }):
		return broken(PromiseR2, "the refusal of a %s is of no known kind: %v", e.Event, err)
	}
	return nil
}

// reportRefused: a report about an order that is over is stale; an honest report
// about one that is out is accepted.
func (c *Checker) reportRefused(e berth.OrderReported, err error) error {
	rep := c.orders[e.Order]
	switch {
	case rep != nil && honest(rep.order, e):
		return broken(PromiseR5, "the report of order %d (%s, %v) was refused: %v", e.Order, e.Outcome, e.Members, err)
	case rep != nil:
		return nil
	case e.Order == 0 || e.Order > c.last:
		if !errors.Is(err, berth.ErrUnknown) {
			return broken(PromiseS9, "the report of order %d, which was never given, was refused with %v", e.Order, err)
		}
	case !errors.Is(err, berth.ErrStale):
		return broken(PromiseS9, "the report of order %d, which is over, was refused with %v", e.Order, err)
	case c.taken[e.Order]:
		c.saw("stale report of a request that was withdrawn")
	case c.formerly[e.Order]:
		c.saw("stale report of a repartition")
	default:
		c.saw("stale report")
	}
	return nil
}

// changeRefused: a Repartition that somebody runs on did not fail; all else may be told.
func (c *Checker) changeRefused(ch *change, e berth.OrderReported, err error) error {
	runner := ch.runner()
	switch {
	case e.Outcome != berth.OutcomeDone && e.Outcome != berth.OutcomeFailed || len(e.Members) > 0:
	case e.Outcome == berth.OutcomeFailed && runner != nil:
		c.saw("repartition failed under a runner")
		if !errors.Is(err, berth.ErrConflict) {
			return broken(PromiseS9, "the failure of order %d, on which %s runs, was refused with %v", e.Order, runner, err)
		}
	default:
		return broken(PromiseR5, "the report of order %d (%s) was refused: %v", e.Order, e.Outcome, err)
	}
	return nil
}

// partitionRefused: how a GPU is can be told unless an order about it is out or
// somebody holds something else.
func (c *Checker) partitionRefused(e berth.GPUPartitioned, err error) error {
	n := c.nodes[e.Node]
	if n == nil {
		return nil
	}
	if c.unpartitionable(n, e) == "" {
		return broken(PromiseR5, "GPU %d of node %s is %s with %v, and that was refused: %v", e.GPU, e.Node, e.Mode, e.Instances, err)
	}
	c.saw("gpuPartitioned refused")
	return nil
}

// honest reports whether a report is one that an executor may give: Done, Failed,
// or Partial with members of the order.
func honest(order berth.Order, e berth.OrderReported) bool {
	if e.Outcome == berth.OutcomeDone || e.Outcome == berth.OutcomeFailed {
		return len(e.Members) == 0
	}
	var members []berth.MemberPlacement
	switch order := order.(type) {
	case berth.Bind:
		members = order.Members
	case berth.Release:
		members = order.Members
	}
	seen := map[berth.MemberRef]bool{}
	for _, ref := range e.Members {
		if seen[ref] || !slices.ContainsFunc(members, func(p berth.MemberPlacement) bool { return p.Ref() == ref }) {
			return false
		}
		seen[ref] = true
	}
	return e.Outcome == berth.OutcomePartial && len(seen) > 0
}

// lifeRefused: a report about a life that is over is stale.
func (c *Checker) lifeRefused(id berth.JobID, number int, incarnation berth.Incarnation, err error) error {
	rep := c.find(gangKey{id, number})
	if rep == nil {
		return nil
	}
	over := incarnation < rep.incarnation || incarnation == rep.incarnation && rep.state == berth.ReplicaPending
	if over && !errors.Is(err, berth.ErrStale) {
		return broken(PromiseS9, "a report about incarnation %d of %s, which is over, was refused with %v", incarnation, rep, err)
	}
	if over {
		c.saw("stale incarnation")
	}
	return nil
}
