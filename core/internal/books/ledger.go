package books

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// account is where the use of a hold is booked.
func (bk *Books) account(rep *record.Replica, n *record.Node) quota.LedgerKey {
	key := quota.LedgerKey{Queue: rep.Job.Spec.Queue, Class: rep.Job.Spec.Class.String(), Tenant: string(rep.Job.Spec.Tenant)}
	key.Borrowed = rep.Job.Borrows()
	if len(n.Spec.GPUs) > 0 {
		key.Product = n.Spec.Product
	}
	return key
}

// A bill sums up what holds of a replica on nodes of one product cost its queue, so that it
// is charged once.
type bill struct {
	charge      quota.Charge
	usedMilli   int64              // of GPUs: what is charged, or what is another's
	activeMilli int64              // the busy part of that
	product     quota.ProductIndex // on which it is booked
	node        *record.Node       // of the last one
}

func (b *bill) add(rep *record.Replica, h *gang.Hold, n *record.Node) {
	charge := rep.ChargeOf(h, n)
	used := record.UsedMilli(h, n)
	b.usedMilli += used
	b.activeMilli += activeOf(rep, used)
	if b.node == nil {
		b.charge, b.product = charge, record.BookedOn(h, n)
	} else {
		b.charge = b.charge.Plus(charge)
	}
	b.node = n
}

// activeOf is the part of what a member holds that is busy.
func activeOf(rep *record.Replica, milli int64) int64 { return milli * int64(rep.ActiveMilli) / 1000 }

// takes reports whether a hold can be on the bill.
func (b *bill) takes(h *gang.Hold, n *record.Node) bool {
	return b.node == nil || record.BookedOn(h, n) == b.product
}

// charge charges a replica's queue for a bill from now on; sign -1: no longer.
func (bk *Books) charge(rep *record.Replica, b *bill, sign int64) {
	bk.Tick()
	if sign > 0 {
		invariant.Must(bk.state.Quota.Charge(rep.Job.Queue, b.charge))
	} else {
		invariant.Must(bk.state.Quota.Discharge(rep.Job.Queue, b.charge))
	}
	bk.touch(bk.Queues[rep.Job.Queue])
	if bk.Earmarked { // until what is earmarked is not counted any more
		bk.uncounted = append(bk.uncounted, rep.Job.Queue)
	} else {
		bk.countLender(rep.Job.Queue)
	}
	if bk.Restoring || b.usedMilli == 0 {
		return
	}
	if bk.Ledger != nil {
		invariant.Must(bk.Ledger.Add(bk.account(rep, b.node), sign*b.usedMilli, sign*b.activeMilli))
	}
	if !bk.Earmarked {
		bk.follow(rep.Job.Queue)
	}
}

// ActivityReported notes how busy the GPUs of a replica are from now on.
func (bk *Books) ActivityReported(e berth.ActivityReported) *berth.Error {
	rep, err := bk.KnownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if e.ActiveMilli < 0 || e.ActiveMilli > 1000 {
		return refusal.Of(berth.ErrInvalid, "activeMilli", fmt.Sprintf("%d is outside 0..1000", e.ActiveMilli))
	}
	before := int64(rep.ActiveMilli)
	rep.ActiveMilli = int16(e.ActiveMilli)
	if bk.Ledger == nil {
		return nil
	}
	bk.TickLedger()
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		if milli := record.UsedMilli(&m.Hold, m.Node); milli > 0 {
			invariant.Must(bk.Ledger.Add(bk.account(rep, m.Node), 0, milli*int64(rep.ActiveMilli)/1000-milli*before/1000))
		}
	}
	return nil
}

// LedgerSettled drops the accounts of which nothing is in use.
func (bk *Books) LedgerSettled(berth.LedgerSettled) *berth.Error {
	if bk.Ledger == nil {
		return refusal.Of(berth.ErrInvalid, "", "no ledger is kept: see Config.Ledger")
	}
	bk.TickLedger()
	for _, key := range bk.Ledger.Keys() {
		bk.Ledger.Forget(key)
	}
	for _, q := range bk.Ledger.State().Queues { // of those that were removed too
		bk.Ledger.ForgetQueue(q.Queue)
	}
	return nil
}
