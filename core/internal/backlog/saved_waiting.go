package backlog

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/errtext"
)

// SaveWaiting saves what is known of what a replica waits for.
func SaveWaiting(rep *record.Replica, s *record.SavedReplica) {
	for _, e := range rep.Entries {
		if e.Bucket.Shape.BlockedAt >= 0 {
			s.NoCapacity = append(s.NoCapacity, e.Part())
		}
		if e.Bucket.QuotaSlot >= 0 {
			s.NoQuota = append(s.NoQuota, e.Part())
		}
		if e.FreshAt >= 0 {
			s.Fresh = append(s.Fresh, e.Part())
		}
	}
}

// SaveBids saves what is known of what a replica bids.
func (bl *Backlog) SaveBids(rep *record.Replica, s *record.SavedReplica) {
	for _, e := range rep.Entries {
		bid := record.SavedBid{Group: e.Part(), BidPart: e.Bid, InVain: e.Bid.Turn == bl.agenda.PreemptTurn}
		bid.Turn = 0 // a turn is counted from 1 again after a restore: InVain says what it meant
		if bid != (record.SavedBid{Group: e.Part()}) {
			s.Bids = append(s.Bids, bid)
		}
	}
}

// RestoreBids restores what is known of what replicas bid, after all that Restore itself has
// changed.
func (bl *Backlog) RestoreBids(noted []state.Noted) *berth.Error {
	return bl.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		for i := range s.Bids {
			if err := bl.restoreBid(rep, &s.Bids[i]); err != nil {
				return refusal.In(err, errtext.Index("bids", i))
			}
		}
		return nil
	})
}

func (bl *Backlog) restoreBid(rep *record.Replica, s *record.SavedBid) *berth.Error {
	at := slices.IndexFunc(rep.Entries, func(e *record.Entry) bool { return e.Part() == s.Group })
	switch {
	case at < 0:
		return refusal.Of(berth.ErrInvalid, "group", fmt.Sprintf("%d does not wait", s.Group))
	case s.RipeAt < 0:
		return refusal.Of(berth.ErrInvalid, "ripeAt", "is before the epoch")
	case s.At < 0:
		return refusal.Of(berth.ErrInvalid, "at", "is before the epoch")
	}
	bid := &rep.Entries[at].Bid
	if *bid = s.BidPart; s.InVain {
		bid.Turn = bl.agenda.PreemptTurn
	}
	return nil
}

// RestoreWaiting enters replicas into the pending index.
func (bl *Backlog) RestoreWaiting(jobs []record.SavedJob) {
	for _, rep := range bl.state.ByPrecedence(jobs) {
		bl.Await(rep)
		bl.AwaitBatch(rep)
	}
}

// RestoreBlocked marks what the core knew to be impossible. Without it a
// restored core would find out again, which is the same but for the budget of
// the pass.
func (bl *Backlog) RestoreBlocked(jobs []record.SavedJob) {
	bl.state.EachSaved(jobs, func(rep *record.Replica, s *record.SavedReplica) {
		for _, e := range rep.Entries {
			if slices.Contains(s.NoCapacity, e.Part()) {
				bl.Block(e.Bucket.Shape)
			}
			if slices.Contains(s.NoQuota, e.Part()) && e.Bucket.QuotaSlot < 0 {
				bl.QuotaBlock(e.Bucket)
			}
			if slices.Contains(s.Fresh, e.Part()) {
				bl.Freshen(e)
			}
			if e.Batch != nil {
				e.Batch.Fresh = e.FreshAt >= 0
			}
		}
	})
}

// RestoreStalled marks the replicas that wait for something to become free, or for more
// to plan with, after all that Restore itself has made free.
func (bl *Backlog) RestoreStalled(noted []state.Noted) *berth.Error {
	return bl.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if s.Stalled {
			rep.Reserve.Note().StalledAt = bl.agenda.Stall()
		}
		if s.Hopeless {
			rep.Reserve.Note().HopelessAt = bl.agenda.Despair()
		}
		return nil
	})
}
