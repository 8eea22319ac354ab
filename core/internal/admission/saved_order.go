package admission

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
)

func (ad *Admission) restoreOrder(rep *record.Replica, saved *record.SavedOrder) *berth.Error {
	if saved == nil {
		return nil
	}
	order, err := berth.DecodeOrder(*saved)
	if e := (*berth.Error)(nil); errors.As(err, &e) {
		return refusal.Of(berth.ErrInvalid, e.Field, e.Reason)
	}
	h := order.Header()
	switch order.(type) {
	case berth.Drop, berth.Repartition, berth.Withdraw:
		return refusal.Of(berth.ErrInvalid, "", "it is not an order for a replica that is reported")
	}
	if h.ID == 0 || h.ID > ad.state.LastOrder || ad.state.Orders[h.ID] != nil {
		return refusal.Of(berth.ErrInvalid, order.Kind()+".id", fmt.Sprintf("%d was never given, or comes twice", h.ID))
	}
	rep.Order = withClaims(order, rep.Job.Pattern.Claims())
	ad.state.Orders[h.ID] = rep
	ad.state.SetTimer(record.Timer{At: h.Deadline, Kind: record.TimerDeadline, Rep: rep})
	return nil
}

// withClaims puts claims into a Bind, in the place of those that it has: the job has them, so that
// a snapshot saves them once.
func withClaims(order berth.Order, claims []berth.GroupClaim) berth.Order {
	if bind, binds := order.(berth.Bind); binds {
		bind.Claims = claims
		return bind
	}
	return order
}

// checkOrder refuses an order of another life, or about members and places other than those of the
// replica: the world would start and stop what is not booked.
func (ad *Admission) checkOrder(rep *record.Replica) *berth.Error {
	if rep.Order == nil {
		return nil
	}
	var err *berth.Error
	switch h := rep.Order.Header(); {
	case h.Job != rep.Job.Spec.ID || h.Replica != rep.Number:
		err = refusal.Of(berth.ErrInvalid, "job", "is another replica's")
	case h.Incarnation != rep.Incarnation:
		err = refusal.Of(berth.ErrInvalid, "incarnation", fmt.Sprintf("%d is another life than %d", h.Incarnation, rep.Incarnation))
	case h.At < 0 || h.At > ad.state.Now:
		err = refusal.Of(berth.ErrInvalid, "at", "is before the epoch, or yet to come")
	case h.Deadline < h.At || h.Deadline > limits.MaxFuture:
		err = refusal.Of(berth.ErrInvalid, "deadline", "is before the order was given, or out of range")
	default:
		err = ad.checkOrdered(rep)
	}
	return refusal.In(refusal.In(err, rep.Order.Kind()), "order")
}

// checkOrdered holds an order to the members of its replica, each where it stands. It names all
// that it is about, and may name some that are gone since.
func (ad *Admission) checkOrdered(rep *record.Replica) *berth.Error {
	var about record.MemberState
	var named []berth.MemberPlacement
	switch order := rep.Order.(type) {
	case berth.Bind:
		about, named = record.MemberBinding, order.Members
	case berth.Release:
		about, named = record.MemberStopping, order.Members
	case berth.RequestCheckpoint:
		about, named = record.MemberRunning, order.Members
	}
	if bind, binds := rep.Order.(berth.Bind); binds && bind.Alternative != rep.Job.Alternative() {
		return refusal.Of(berth.ErrInvalid, "alternative", fmt.Sprintf("is %d, and the job is %d of its alternatives", bind.Alternative, rep.Job.Alternative()))
	}
	next := 0
	for flat := range rep.Members {
		state := rep.Members[flat].State
		switch {
		case next == len(named) || rep.Job.Flat(named[next].Ref()) != flat:
			if state == about {
				return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("leaves out member %d of the gang", flat))
			}
			continue
		case state.Holds() && ad.state.PlacementOf(rep, flat) != named[next]:
			return refusal.Of(berth.ErrInvalid, errtext.Index("members", next), "is not where the member is")
		}
		next++
	}
	if next < len(named) {
		return refusal.Of(berth.ErrInvalid, errtext.Index("members", next), fmt.Sprintf("%s is not a member of the gang, or out of order", errtext.Short(named[next].Ref().String())))
	}
	return nil
}
