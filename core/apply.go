package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// Apply tells the core an event, as known at an instant. A refusal is a [*berth.Error];
// it changed nothing, not even the latest instant.
//
// Cost: O(1) for most events, O(members) for those about a whole gang, O(what
// runs there) for the loss of hardware.
func (c *Core) Apply(now berth.Time, e berth.Event) error {
	if e == nil {
		return &berth.Error{Event: "event", Kind: berth.ErrInvalid, Reason: "is nil"}
	}
	if err := c.checkInstant(now); err != nil {
		err.Event = kindOf(e)
		return err
	}
	before, due := c.state.Now, *c.agenda
	c.state.SetClock(now)
	if err := c.apply(e); err != nil {
		c.state.SetClock(before)
		*c.agenda = due
		err.Event = kindOf(e)
		return err
	}
	c.settle()
	return nil
}

// kindOf is the kind of an event. A pointer to one has the methods of the event, and is none: a
// nil one cannot even be asked for its kind.
func kindOf(e berth.Event) string {
	if isPointer(e) {
		return "event"
	}
	return e.Kind()
}

func notAnEvent(e berth.Event) *berth.Error {
	why := "is not one of the package's events"
	if isPointer(e) {
		why = "is a pointer: pass the event itself, without &"
	}
	return refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("%T %s", e, why))
}

func isPointer(e berth.Event) bool { return strings.HasPrefix(fmt.Sprintf("%T", e), "*") }

// apply dispatches. Each handler checks everything before it changes anything.
func (c *Core) apply(e berth.Event) *berth.Error {
	switch e := e.(type) {
	case berth.NodeJoined:
		return c.nodeJoined(e)
	case berth.NodeUpdated:
		return c.nodeUpdated(e)
	case berth.NodeCordoned:
		return c.nodeCordoned(e)
	case berth.NodeUncordoned:
		return c.nodeUncordoned(e)
	case berth.NodeDraining:
		return c.nodeDraining(e)
	case berth.NodeLost:
		return c.nodeLost(e)
	case berth.GPUFailed:
		return c.gpuFailed(e)
	case berth.FabricReported:
		return c.upkeep.FabricReported(e)
	case berth.XidReported:
		return c.xidReported(e)
	case berth.GPURepaired:
		return c.gpuRepaired(e)
	case berth.GPUPartitioned:
		return c.gpus.GPUPartitioned(e)
	case berth.MIGTableSet:
		return c.gpus.MIGTableSet(e)
	case berth.ReservationSet:
		return c.reservationSet(e)
	case berth.ReservationRemoved:
		return c.reservationRemoved(e)
	case berth.QueueSet:
		return c.queueSet(e)
	case berth.QueueRemoved:
		return c.queueRemoved(e)
	case berth.JobSubmitted:
		return c.jobSubmitted(e)
	case berth.JobObserved:
		return c.jobObserved(e)
	case berth.JobScaled:
		return c.jobScaled(e)
	case berth.JobCancelled:
		return c.jobCancelled(e)
	case berth.JobFinished:
		return c.jobFinished(e)
	case berth.MemberFailed:
		return c.memberFailed(e)
	case berth.OrderReported:
		return c.orderReported(e)
	case berth.ActivityReported:
		return c.life.ActivityReported(e)
	case berth.CheckpointWritten:
		return c.life.CheckpointWritten(e)
	case berth.LedgerSettled:
		return c.books.LedgerSettled(e)
	case berth.PolicyChanged:
		return c.policyChanged(e)
	default:
		return notAnEvent(e)
	}
}

func (c *Core) policyChanged(e berth.PolicyChanged) *berth.Error {
	if err := refusal.From(e.Policy.Check()); err != nil {
		return refusal.In(err, "policy")
	}
	policy := e.Policy.WithDefaults()
	if err := c.checkRegeometry(&policy); err != nil {
		return refusal.In(err, "policy")
	}
	if policy.UsageHalfLife != c.state.Config.Policy.UsageHalfLife {
		c.books.SetHalfLife(int64(policy.UsageHalfLife))
	}
	before := c.state.Config.Policy
	spares := slices.Equal(policy.HotSpares, c.state.Config.Policy.HotSpares)
	c.state.SetPolicy(policy)
	c.agenda.PolicyChanged(c.state.Now)
	if !slices.Equal(policy.Caps, before.Caps) {
		c.life.ChangeCaps()
	}
	c.books.SetBudgets(policy.Budgets)
	if policy.Lending != before.Lending || policy.Idle != before.Idle {
		c.life.WeighActivities(policy.Idle != before.Idle)
	}
	c.gpus.Regeometry()
	c.upkeep.Reconsider()
	if !spares {
		c.upkeep.SetSpares(policy.HotSpares)
	}
	c.backlog.CallOff()
	for _, res := range slices.Clone(c.backlog.Reservations) {
		c.life.DrainsAnew(res) // there may be less time
	}
	c.books.NoteAllOverLimit()
	c.agenda.Stir(c.state.Now)
	return nil
}

var _ berth.Scheduler = (*Core)(nil)
