package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/errtext"
)

// orderReported is the end of an order. Reports about orders that are not out
// are stale: they were reported before, have expired, or were overtaken.
func (c *Core) orderReported(e berth.OrderReported) *berth.Error {
	if e.Outcome == berth.OutcomeUnset {
		return refusal.Of(berth.ErrInvalid, "outcome", "is not set")
	}
	if p := c.gpus.Repartitions[e.Order]; p != nil {
		if err := refusal.Text(e.Reason); err != nil {
			return refusal.In(err, "reason")
		}
		return c.gpus.RepartitionReported(p, &e)
	}
	rep := c.state.Orders[e.Order]
	if rep == nil {
		kind, reason := berth.ErrStale, fmt.Sprintf("order %d is not outstanding any more", e.Order)
		if e.Order == 0 || e.Order > c.state.LastOrder {
			kind, reason = berth.ErrUnknown, fmt.Sprintf("order %d was never given", e.Order)
		}
		return refusal.Of(kind, "order", reason)
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if rep.Asked() {
		return c.life.CheckpointReported(rep, &e)
	}
	_, binds := rep.Order.(berth.Bind)
	ordered := record.MemberStopping
	if binds {
		ordered = record.MemberBinding
	}
	failed, err := c.failedMembers(rep, &e, ordered)
	if err != nil {
		return err
	}
	if binds {
		if len(failed) > 0 && rep.Order.Header().Cause.Code == berth.CauseVictimsGone {
			c.search.FailBid(rep)
		}
		c.state.CloseOrder(rep)
		c.bindReported(rep, failed, e.Reason)
	} else {
		c.releaseReported(rep, failed)
	}
	return nil
}

// failedMembers resolves which members of the order the report says failed.
func (c *Core) failedMembers(rep *record.Replica, e *berth.OrderReported, ordered record.MemberState) ([]int, *berth.Error) {
	if (e.Outcome == berth.OutcomePartial) != (len(e.Members) > 0) {
		return nil, refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("outcome %s with %d in the list: partial lists the members that failed, every other outcome none", e.Outcome, len(e.Members)))
	}
	switch e.Outcome {
	case berth.OutcomeDone:
		return nil, nil
	case berth.OutcomeFailed:
		var all []int
		for flat := range rep.Members {
			switch rep.Members[flat].State {
			case ordered, record.MemberFailed, record.MemberLost:
				all = append(all, flat)
			}
		}
		return all, nil
	case berth.OutcomePartial:
		for i, ref := range e.Members {
			if flat := rep.Job.Flat(ref); flat >= 0 && rep.Members[flat].State == record.MemberRunning {
				return nil, refusal.Of(berth.ErrInvalid, errtext.Index("members", i), fmt.Sprintf("%s runs, but is not part of the order", errtext.Short(ref.String())))
			}
		}
		return resolve(rep, e.Members, func(m *record.Member) bool {
			return m.State == ordered || m.State == record.MemberFailed || m.State == record.MemberLost
		})
	default:
		return nil, refusal.Of(berth.ErrInvalid, "outcome", fmt.Sprintf("%d is out of range", e.Outcome))
	}
}

// resolve turns references into the flat indexes of those members that are meant:
// the others are gone or on their way. References that name no member of the gang,
// or one twice, are refused.
func resolve(rep *record.Replica, refs []berth.MemberRef, meant func(*record.Member) bool) ([]int, *berth.Error) {
	var flats []int
	seen := make(map[int]bool, len(refs))
	for i, ref := range refs {
		flat := rep.Job.Flat(ref)
		if flat < 0 || seen[flat] {
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("members", i), fmt.Sprintf("%s is not a member of the gang, or is named twice", errtext.Short(ref.String())))
		}
		seen[flat] = true
		if meant(&rep.Members[flat]) {
			flats = append(flats, flat)
		}
	}
	return flats, nil
}

func (c *Core) bindReported(rep *record.Replica, failed []int, reason string) {
	for _, flat := range failed {
		if m := &rep.Members[flat]; m.State == record.MemberBinding {
			m.Become(record.MemberBroke)
			rep.Shun(m.Node.Spec.ID)
		}
	}
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State == record.MemberBinding {
			m.Become(record.MemberStarted)
			m.Ran = true
		}
	}
	c.gpus.Prove(rep)
	if rep.State == berth.ReplicaRunning {
		c.agenda.Stir(c.state.Now) // a job that needs its surplus waited for that
	}
	if len(failed) > 0 {
		c.state.Totals.BindsFailed++
		if rep.State == berth.ReplicaRunning {
			c.life.BackOff(rep)
		}
	} else if !rep.Has(record.MemberFailed, record.MemberLost) {
		retry := rep.Retry.Get()
		retry.Attempts, retry.Avoid, rep.FailedBids = 0, nil, 0
		rep.Retry.Set(retry)
	}
	c.life.Settle(rep, bindCause(rep, reason))
}

// bindCause says what became of the members that a Bind did not start: they
// failed to, or else were lost meanwhile for a cause that settle has noted.
func bindCause(rep *record.Replica, reason string) berth.Cause {
	failed := 0
	for flat := range rep.Members {
		if rep.Members[flat].State == record.MemberFailed {
			failed++
		}
	}
	if failed == 0 {
		return rep.Release.Get().Cause
	}
	return berth.Cause{Code: berth.CauseBindFailed, Detail: values.Detail(fmt.Sprintf("%d members failed to start", failed), reason)}
}

// releaseReported frees the members that are gone. For the others the order
// stays out: it may be reported again, and is given again at its deadline, so that
// an executor that fails fast does not use up the attempts in no time.
func (c *Core) releaseReported(rep *record.Replica, failed []int) {
	still := make(map[int]bool, len(failed))
	for _, flat := range failed {
		still[flat] = rep.Members[flat].State == record.MemberStopping
	}
	left := false
	for flat := range rep.Members {
		switch {
		case still[flat]:
			left = true
		case rep.Members[flat].State == record.MemberStopping:
			c.books.Unbook(rep, flat, record.MemberLeft)
		}
	}
	if !left {
		c.state.CloseOrder(rep)
		c.life.Settle(rep, rep.Release.Get().Cause)
		return
	}
	rep.Order = c.life.DescribeStops(rep, rep.Order.(berth.Release))
}

// memberFailed handles members that died on sound hardware.
func (c *Core) memberFailed(e berth.MemberFailed) *berth.Error {
	rep, err := c.books.KnownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if rep.State == berth.ReplicaReleasing {
		return refusal.Of(berth.ErrStale, "incarnation", "the gang is being released")
	}
	if len(e.Members) == 0 {
		return refusal.Of(berth.ErrInvalid, "members", "is empty")
	}
	if e.Fault > berth.FaultNode {
		return refusal.Of(berth.ErrInvalid, "fault", fmt.Sprintf("%d is out of range", e.Fault))
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	flats, err := resolve(rep, e.Members, func(m *record.Member) bool {
		return (m.State == record.MemberRunning || m.State == record.MemberBinding) && (e.Bind == 0 || e.Bind == m.Bind)
	})
	if err != nil {
		return err
	}
	if len(flats) == 0 {
		return refusal.Of(berth.ErrStale, "members", "none of them runs any more")
	}
	c.life.MembersDied(rep, flats, e.Fault, berth.Cause{Code: berth.CauseMemberFailed, Detail: values.Detail(fmt.Sprintf("%d members died", len(flats)), e.Reason)})
	return nil
}

// jobFinished handles the end of a job by itself.
func (c *Core) jobFinished(e berth.JobFinished) *berth.Error {
	j, err := c.books.KnownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.Spec.Service != nil {
		return refusal.Of(berth.ErrInvalid, "job", "is a service: it ends when it is cancelled")
	}
	rep, err := c.books.KnownLife(e.Job, 0, e.Incarnation)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if rep.Release.Get().Gone {
		return refusal.Of(berth.ErrStale, "incarnation", "the job is ending already")
	}
	c.state.Totals.JobsFinished++
	if !e.Failed {
		c.state.LearnFrom(rep)
	}
	j.Cancelled, j.Completed = true, !e.Failed
	if rep.State == berth.ReplicaReleasing {
		rep.Release.Note().Gone = true // its Release goes on
		c.backlog.EndMove(rep)
		return nil
	}
	// Members that are being started, or stopped, may come up yet: they are released.
	c.books.UnbookAll(rep, record.MemberLeft, record.MemberRunning, record.MemberFailed, record.MemberLost)
	c.life.TakeBack(rep, berth.Cause{Code: berth.CauseFinished, Detail: e.Reason}, true)
	return nil
}
