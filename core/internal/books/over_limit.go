package books

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// Which queues use more than they may. A start never brings a queue there: a limit that is lowered
// does, what is seen to run, or a policy that asks for it from now on. So it is looked at after
// those events alone, and what has come within its limit is left out after each event and pass.

// NoteOverLimit notes that a queue, or one above it, may use more than it may.
func (bk *Books) NoteOverLimit(i quota.QueueIndex) {
	for ; i > quota.RootQueue; i = bk.state.Quota.Parent(i) {
		bk.noteIfOver(bk.Queues[i])
	}
	bk.sortOverLimit()
}

// NoteAllOverLimit is NoteOverLimit for all queues, by the policy as it is now. O(queues, and the
// logarithm of those over a limit).
func (bk *Books) NoteAllOverLimit() {
	for _, q := range bk.Queues {
		if q != nil && q.Index != quota.RootQueue {
			bk.noteIfOver(q)
		}
	}
	bk.sortOverLimit()
}

func (bk *Books) noteIfOver(q *record.Queue) {
	if bk.state.Config.Policy.OverLimit.Stop && q.OverLimitSince == 0 && bk.isOverLimit(q) {
		q.OverLimitSince = max(bk.state.Now, 1) // 0 is none
		bk.OverLimit = append(bk.OverLimit, q)
	}
}

func (bk *Books) isOverLimit(q *record.Queue) bool {
	var buffer [4]quota.Excess
	return len(bk.state.Quota.Exceeded(buffer[:0], q.Index)) > 0
}

func (bk *Books) sortOverLimit() {
	slices.SortFunc(bk.OverLimit, func(a, b *record.Queue) int {
		return cmp.Or(cmp.Compare(bk.depth(b), bk.depth(a)), cmp.Compare(bk.state.Quota.Name(a.Index), bk.state.Quota.Name(b.Index)))
	})
}

func (bk *Books) depth(q *record.Queue) (depth int) {
	for i := q.Index; i > quota.RootQueue; i = bk.state.Quota.Parent(i) {
		depth++
	}
	return depth
}

// DropWithinLimit leaves out the queues that are within their limits by now, or all if the policy
// does not ask any more.
func (bk *Books) DropWithinLimit() {
	bk.OverLimit = slices.DeleteFunc(bk.OverLimit, func(q *record.Queue) bool {
		within := !bk.state.Config.Policy.OverLimit.Stop || !bk.isOverLimit(q)
		if within {
			q.OverLimitSince = 0
		}
		return within
	})
}

// Standing is what the gangs below a queue that count are charged of a resource, for the members
// that run.
func (bk *Books) Standing(i quota.QueueIndex, e *quota.Excess, counts func(*record.Replica) bool) (sum int64) {
	for _, q := range bk.Queues {
		if q == nil || q.Running.Len() == 0 || !bk.state.Quota.Below(q.Index, i) {
			continue
		}
		q.Running.Ascend(func(rep *record.Replica) bool {
			if !counts(rep) {
				return true
			}
			for flat := range rep.Members {
				if m := &rep.Members[flat]; m.State == record.MemberRunning {
					sum += e.Of(rep.ChargeOf(&m.Hold, m.Node))
				}
			}
			return true
		})
	}
	return sum
}

// TakenOf is what a part of a replica is charged of a resource.
func TakenOf(p record.Piece, e *quota.Excess) (sum int64) {
	chargesOf(p, func(c quota.Charge) { sum += e.Of(c) })
	return sum
}

// HasToGo reports whether a gang that is on its way out has to go on the account of a limit: a
// queue above it would be over it if the gang stood, beside all others that do, also those of which
// members are being started or stopped.
func (bk *Books) HasToGo(rep *record.Replica) bool {
	var buffer [4]quota.Excess
	for i := rep.Job.Queue; i > quota.RootQueue; i = bk.state.Quota.Parent(i) {
		if bk.Queues[i].OverLimitSince == 0 {
			continue
		}
		for _, e := range bk.state.Quota.Exceeded(buffer[:0], i) {
			if of := TakenOf(record.Piece{Rep: rep}, &e); of > 0 && bk.Standing(i, &e, (*record.Replica).Stands)+of > e.Most {
				return true
			}
		}
	}
	return false
}

// saveOverLimit saves the queues that use more than they may.
func (bk *Books) saveOverLimit() (list []record.SavedOverLimit) {
	for _, q := range bk.OverLimit {
		list = append(list, record.SavedOverLimit{Queue: bk.state.Quota.Name(q.Index), Since: q.OverLimitSince})
	}
	return list
}

// restoreOverLimit takes them back, and refuses another list than that of the queues which do.
func (bk *Books) restoreOverLimit(list []record.SavedOverLimit) *berth.Error {
	bk.NoteAllOverLimit()
	if len(list) != len(bk.OverLimit) {
		return refusal.Of(berth.ErrInvalid, "overLimit", fmt.Sprintf("has %d queues, and %d use more than they may", len(list), len(bk.OverLimit)))
	}
	for k, s := range list {
		q, field := bk.OverLimit[k], errtext.Index("overLimit", k)
		switch {
		case s.Queue != bk.state.Quota.Name(q.Index):
			return refusal.Of(berth.ErrInvalid, field+".queue", fmt.Sprintf("is %q, not %q", errtext.Short(s.Queue), errtext.Short(bk.state.Quota.Name(q.Index))))
		case s.Since < 1 || s.Since > max(bk.state.Now, 1):
			return refusal.Of(berth.ErrInvalid, field+".since", fmt.Sprintf("%d is outside 1..%d", s.Since, max(bk.state.Now, 1)))
		}
		q.OverLimitSince = s.Since
	}
	return nil
}

// CheckOverLimit checks that the queues which use more than they may are those that are noted.
func (bk *Books) CheckOverLimit() error {
	noted := 0
	for _, q := range bk.Queues {
		if q == nil || q.Index == quota.RootQueue {
			continue
		}
		over := bk.state.Config.Policy.OverLimit.Stop && bk.isOverLimit(q)
		if over != (q.OverLimitSince != 0) || over != slices.Contains(bk.OverLimit, q) {
			return fmt.Errorf("queue %s is over a limit: %v, and not noted so", bk.state.Quota.Name(q.Index), over)
		}
		if over {
			noted++
		}
	}
	if noted != len(bk.OverLimit) {
		return fmt.Errorf("%d queues are noted to be over a limit, and %d are", len(bk.OverLimit), noted)
	}
	return nil
}
