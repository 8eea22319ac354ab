package berth

import (
	"fmt"
	"slices"
)

// Apply tells the core a fact, as known at an instant. A refusal is an *Error;
// it changed nothing, not even the latest instant.
//
// Cost: O(1) for most events, O(members) for those about a whole gang, O(what
// runs there) for the loss of hardware.
func (c *Core) Apply(now Time, e Event) error {
	if e == nil {
		return &Error{Event: "event", Kind: ErrInvalid, Reason: "is nil"}
	}
	if now < c.now {
		return c.clockError(e.Kind(), now)
	}
	before, agenda := c.now, c.agenda
	c.now = now
	if err := c.apply(e); err != nil {
		c.now, c.agenda = before, agenda
		err.Event = e.Kind()
		return err
	}
	return nil
}

// apply dispatches. Each handler checks everything before it changes anything.
func (c *Core) apply(e Event) *Error {
	switch e := e.(type) {
	case NodeJoined:
		return c.nodeJoined(e)
	case NodeUpdated:
		return c.nodeUpdated(e)
	case NodeCordoned:
		return c.nodeCordoned(e)
	case NodeUncordoned:
		return c.nodeUncordoned(e)
	case NodeDraining:
		return c.nodeDraining(e)
	case NodeLost:
		return c.nodeLost(e)
	case GPUFailed:
		return c.gpuFailed(e)
	case XidReported:
		return c.xidReported(e)
	case GPURepaired:
		return c.gpuRepaired(e)
	case GPUPartitioned:
		return c.gpuPartitioned(e)
	case MIGTableSet:
		return c.migTableSet(e)
	case ReservationSet:
		return c.reservationSet(e)
	case ReservationRemoved:
		return c.reservationRemoved(e)
	case QueueSet:
		return c.queueSet(e)
	case QueueRemoved:
		return c.queueRemoved(e)
	case JobSubmitted:
		return c.jobSubmitted(e)
	case JobObserved:
		return c.jobObserved(e)
	case JobScaled:
		return c.jobScaled(e)
	case JobCancelled:
		return c.jobCancelled(e)
	case JobFinished:
		return c.jobFinished(e)
	case MemberFailed:
		return c.memberFailed(e)
	case ActionReported:
		return c.actionReported(e)
	case ActivityReported:
		return c.activityReported(e)
	case CheckpointWritten:
		return c.checkpointWritten(e)
	case LedgerSettled:
		return c.ledgerSettled(e)
	case PolicyChanged:
		return c.policyChanged(e)
	default: // a pointer to an event, say
		return refuse(ErrInvalid, "", fmt.Sprintf("%T is not one of the package's events", e))
	}
}

func (c *Core) policyChanged(e PolicyChanged) *Error {
	if err := e.Policy.check(); err != nil {
		return err.in("policy")
	}
	policy := e.Policy.withDefaults()
	if err := c.checkRegeometry(&policy); err != nil {
		return err.in("policy")
	}
	if policy.UsageHalfLife != c.config.Policy.UsageHalfLife {
		c.tick()
		must(c.quota.SetHalfLife(int64(policy.UsageHalfLife)))
	}
	spares := slices.Equal(policy.Spares, c.config.Policy.Spares)
	c.config.Policy = policy
	c.agenda.policyChanged(c.now)
	c.classes.version++ // requests carry the locality
	c.regeometry()
	c.reconsider()
	if !spares {
		c.setSpares(policy.Spares)
	}
	c.callOff()
	c.agenda.stir(c.now)
	return nil
}
