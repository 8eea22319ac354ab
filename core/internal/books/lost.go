package books

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// What hardware took is kept for the embedder until the next pass: no order names it.

// A lostMember is a member that hardware takes, what it held, its state before, and the signal.
type lostMember struct {
	record.MemberAt
	held   berth.MemberPlacement
	before record.MemberState
	on     record.MemberSignal
}

func (m lostMember) compare(n lostMember) int {
	return cmp.Or(record.CompareReplicas(m.Rep, n.Rep), cmp.Compare(m.Index, n.Index))
}

// noteLost keeps what one thing took, in order, if that was hardware: but for the places of members
// that had died, of which nothing is left to be cleaned up. It returns the replicas, in order.
func (bk *Books) noteLost(lost []lostMember, cause berth.Cause) []*record.Replica {
	var hit []*record.Replica
	var loss *berth.Loss // that of the last replica; nil: none yet
	for _, m := range lost {
		if len(hit) == 0 || m.Rep != hit[len(hit)-1] {
			hit, loss = append(hit, m.Rep), nil
		}
		if cause.Code != berth.CauseHardwareLost || !m.before.MayRun() {
			continue
		}
		if loss == nil {
			bk.Lost = append(bk.Lost, berth.Loss{
				Job: m.Rep.Job.Spec.ID, Replica: m.Rep.Number, Incarnation: m.Rep.Incarnation, At: bk.state.Now, Cause: cause,
			})
			loss = &bk.Lost[len(bk.Lost)-1]
		}
		loss.Members = append(loss.Members, m.held)
	}
	return hit
}

// ForgetLost begins a pass: what was lost before it is handed over.
func (bk *Books) ForgetLost() { bk.Lost = nil }

// RestoreLost takes back what was lost and is not handed over.
func (bk *Books) RestoreLost(list []berth.Loss) *berth.Error {
	for i := range list {
		l := &list[i]
		err := refusal.Name(string(l.Job))
		switch {
		case err != nil:
		case l.Replica < 0 || l.At < 0 || l.At > bk.state.Now:
			err = refusal.Of(berth.ErrInvalid, "", "has a replica or an instant out of range")
		case len(l.Members) == 0:
			err = refusal.Of(berth.ErrInvalid, "members", "is empty")
		}
		if err != nil {
			return refusal.In(err, errtext.Index("lostMembers", i))
		}
	}
	bk.Lost = list
	return nil
}
