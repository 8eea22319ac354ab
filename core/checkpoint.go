package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// What is known of the checkpoints that jobs write by themselves.

// checkpointWritten notes when a replica wrote its last checkpoint.
func (c *Core) checkpointWritten(e berth.CheckpointWritten) *berth.Error {
	rep, err := c.knownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	switch {
	case rep.State == berth.Releasing:
		return refusal.Of(berth.ErrStale, "incarnation", "the gang is being released")
	case rep.State != berth.Running:
		return refusal.Of(berth.ErrConflict, "incarnation", fmt.Sprintf("the gang is %s, and not known to run", rep.State))
	}
	at := e.At
	if at == 0 {
		at = c.now
	}
	if at < rep.Started || at > c.now {
		return refusal.Of(berth.ErrInvalid, "at", fmt.Sprintf("%d is outside %d..%d, from the start of the life until now", at, rep.Started, c.now))
	}
	rep.yield.Checkpointed, rep.yield.Tells = max(rep.yield.Checkpointed, at), true
	if !rep.job.spec.Checkpoint.Supported { // less is lost with it now
		c.agenda.stir(c.now)
	}
	return nil
}

// sinceCheckpoint is how long a replica will have worked at an instant since its last
// checkpoint, as far as is known. Of one that never told of any it is assumed that it writes
// them at the interval that it states. A replica of a service has no work that could be lost.
func (rep *replica) sinceCheckpoint(at berth.Time) berth.Duration {
	if rep.job.spec.Service != nil {
		return 0
	}
	since := at.Sub(max(rep.Started, rep.yield.Checkpointed))
	if every := rep.job.spec.Checkpoint.Interval; every > 0 && !rep.yield.Tells {
		since %= every
	}
	return since
}
