package backlog

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// SaveWaiting saves what is known of what a replica waits for.
func SaveWaiting(rep *record.Replica, s *record.SavedReplica) {
	for _, e := range rep.Entries {
		if e.Bucket.Shape.BlockedAt >= 0 {
			s.NoCapacity = append(s.NoCapacity, e.Group)
		}
		if e.Bucket.QuotaSlot >= 0 {
			s.NoQuota = append(s.NoQuota, e.Group)
		}
		if e.FreshAt >= 0 {
			s.Fresh = append(s.Fresh, e.Group)
		}
	}
}

// RestoreWaiting enters replicas into the pending index.
func (bl *Backlog) RestoreWaiting(jobs []record.SavedJob) *berth.Error {
	return bl.state.EachSaved(jobs, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if bl.Await(rep); rep.Bid.RipeAt != 0 && rep.Entries == nil {
			return refusal.Of(berth.ErrInvalid, "ripeAt", "is set for a replica that does not wait")
		}
		bl.AwaitBatch(rep)
		return nil
	})
}

// RestoreBlocked marks what the core knew to be impossible. Without it a
// restored core would find out again, which is the same but for the budget of
// the pass.
func (bl *Backlog) RestoreBlocked(jobs []record.SavedJob) *berth.Error {
	return bl.state.EachSaved(jobs, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		for _, e := range rep.Entries {
			if slices.Contains(s.NoCapacity, e.Group) {
				bl.Block(e.Bucket.Shape)
			}
			if slices.Contains(s.NoQuota, e.Group) && e.Bucket.QuotaSlot < 0 {
				bl.QuotaBlock(e.Bucket)
			}
			if slices.Contains(s.Fresh, e.Group) {
				bl.Freshen(e)
			}
			if e.Batch != nil {
				e.Batch.Fresh = e.FreshAt >= 0
			}
		}
		return nil
	})
}

// RestoreStalled marks the replicas that wait for something to become free, or for more
// to plan with, after all that Restore itself has made free.
func (bl *Backlog) RestoreStalled(jobs []record.SavedJob) *berth.Error {
	return bl.state.EachSaved(jobs, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if s.Stalled {
			rep.Reserve.StalledAt = bl.agenda.Stall()
		}
		if s.Hopeless {
			rep.Reserve.HopelessAt = bl.agenda.Despair()
		}
		return nil
	})
}
