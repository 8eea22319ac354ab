package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// saveWaiting saves what is known of what a replica waits for.
func saveWaiting(rep *replica, s *savedReplica) {
	for _, e := range rep.entries {
		if e.bucket.shape.blockedAt >= 0 {
			s.NoCapacity = append(s.NoCapacity, e.group)
		}
		if e.bucket.quotaSlot >= 0 {
			s.NoQuota = append(s.NoQuota, e.group)
		}
		if e.freshAt >= 0 {
			s.Fresh = append(s.Fresh, e.group)
		}
	}
}

// restoreWaiting enters replicas into the pending index.
func (c *Core) restoreWaiting(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if c.await(rep); rep.bid.RipeAt != 0 && (rep.State != berth.Pending || rep.entries == nil) {
			return refusal.Of(berth.ErrInvalid, "ripeAt", "is set for a replica that does not wait")
		}
		return nil
	})
}

// restoreBlocked marks what the core knew to be impossible. Without it a
// restored core would find out again, which is the same but for the budget of
// the pass.
func (c *Core) restoreBlocked(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		for _, e := range rep.entries {
			if slices.Contains(s.NoCapacity, e.group) {
				c.block(e.bucket.shape)
			}
			if slices.Contains(s.NoQuota, e.group) && e.bucket.quotaSlot < 0 {
				c.quotaBlock(e.bucket)
			}
			if slices.Contains(s.Fresh, e.group) {
				c.freshen(e)
			}
		}
		return nil
	})
}

// restoreStalled marks the replicas that wait for something to become free, or for more
// to plan with, after all that Restore itself has made free.
func (c *Core) restoreStalled(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if s.Stalled {
			rep.reserve.StalledAt = c.agenda.stall()
		}
		if s.Hopeless {
			rep.reserve.HopelessAt = c.agenda.despair()
		}
		return nil
	})
}
