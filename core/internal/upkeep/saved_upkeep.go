package upkeep

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

// RestoreTrust restores how far nodes are trusted. What is on them comes later.
func (u *Upkeep) RestoreTrust(list []record.SavedNode) *berth.Error {
	for i := range list {
		if err := u.restoreTrustIn(u.state.NodeByID[list[i].Node.ID], list[i].TrustPart); err != nil {
			return refusal.In(err, errtext.Index("nodes", i))
		}
	}
	return nil
}

func (u *Upkeep) restoreTrustIn(n *record.Node, s record.TrustPart) *berth.Error {
	h := &u.state.Config.Policy.Health
	switch {
	case s.QuarantineUntil < 0 || s.QuarantineUntil > 0 && h.Losses == 0:
		return refusal.Of(berth.ErrInvalid, "quarantineUntil", "is before the epoch, or the policy knows none")
	case s.BurnInUntil < 0 || s.BurnInUntil > 0 && h.BurnIn == 0:
		return refusal.Of(berth.ErrInvalid, "burnInUntil", "is before the epoch, or the policy knows none")
	case s.HotSpare && (u.state.SparesOf(n.Spec.Pool) == nil || s.QuarantineUntil > 0 || s.BurnInUntil > 0 || s.SpareInUse):
		return refusal.Of(berth.ErrInvalid, "hotSpare", "is set for a node in quarantine or burn-in, of a pool without hot spares, or that was one before")
	}
	if s.QuarantineUntil > 0 {
		u.keepOut(n, s.QuarantineUntil)
	}
	if s.BurnInUntil > 0 {
		u.beginBurnIn(n, s.BurnInUntil)
	}
	if s.HotSpare {
		u.keepSpare(n)
	}
	n.Trust.Restore(s)
	return nil
}

// RestoreSpareUse refuses spares in use on which nothing is, once all is there that holds
// something.
func (u *Upkeep) RestoreSpareUse(list []record.SavedNode) *berth.Error {
	for i := range list {
		if n := u.state.NodeByID[list[i].Node.ID]; n.Trust.SpareInUse && len(n.Members) == 0 {
			return refusal.In(refusal.Of(berth.ErrInvalid, "spareInUse", "is set for a node that holds no member"), errtext.Index("nodes", i))
		}
	}
	return nil
}

// RestoreLosses restores what is remembered of nodes that were lost.
func (u *Upkeep) RestoreLosses(list []losses.Record) *berth.Error {
	if len(list) > u.state.Config.Limits.Nodes || len(list) > 0 && !values.RemembersLosses(&u.state.Config.Policy.Health) {
		return refusal.Of(berth.ErrLimit, "", fmt.Sprintf("%d nodes are more than are remembered", len(list)))
	}
	for i := range list {
		s := &list[i]
		if err := refusal.Name(string(s.Node)); err != nil {
			return refusal.In(refusal.In(err, "node"), errtext.Index("", i))
		}
		ok := i == 0 || list[i-1].Node < s.Node
		ok = ok && len(s.Losses) > 0 && len(s.Losses) <= limits.MaxLosses && slices.IsSorted(s.Losses)
		if !ok || s.Losses[len(s.Losses)-1] > u.state.Now || s.Quarantines < 0 || s.Quarantines > limits.MaxDoublings {
			return refusal.Of(berth.ErrInvalid, errtext.Index("", i), "is out of order, in the future, or a counter is out of range")
		}
		u.losses.Add(s)
	}
	return nil
}
