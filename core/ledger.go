package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Ledger returns the GPU time used until the latest instant: by account, in order of
// queue, class, product and tenant, and by queue, in order of name. Nothing unless
// Config.Ledger is set.
func (c *Core) Ledger() ([]berth.LedgerLine, []berth.QueueTime) {
	if c.ledger == nil {
		return nil, nil
	}
	c.tickLedger()
	var lines []berth.LedgerLine
	for _, key := range c.ledger.Keys() {
		allocated, active := c.ledger.Read(key)
		class, _ := berth.ParseClass(key.Class)
		lines = append(lines, berth.LedgerLine{
			Queue: berth.QueueID(key.Queue), Class: class, Product: key.Product, Tenant: berth.TenantID(key.Tenant),
			Allocated: allocated, Active: active,
		})
	}
	var queues []berth.QueueTime
	for _, q := range c.ledger.State().Queues {
		guaranteed, borrowed := c.ledger.Split(q.Queue)
		queues = append(queues, berth.QueueTime{Queue: berth.QueueID(q.Queue), Guaranteed: guaranteed, Borrowed: borrowed})
	}
	return lines, queues
}

func (c *Core) tickLedger() {
	if now := min(int64(c.now), quota.MaxTime); c.ledger != nil && c.ledger.Now() != now {
		must(c.ledger.Advance(now))
	}
}

// account is where the use of a hold is booked.
func (c *Core) account(rep *replica, n *node) quota.LedgerKey {
	key := quota.LedgerKey{Queue: string(rep.job.spec.Queue), Class: rep.job.spec.Class.String(), Tenant: string(rep.job.spec.Tenant)}
	if len(n.spec.GPUs) > 0 {
		key.Product = n.spec.GPUs[0].Product
	}
	return key
}

// charge charges a replica's queue for a hold from now on; sign -1: no longer.
func (c *Core) charge(rep *replica, h *gang.Hold, n *node, sign int64) {
	c.tick()
	charge := chargeOf(h, n)
	if sign > 0 {
		must(c.quota.Charge(rep.job.queue, charge))
	} else {
		must(c.quota.Discharge(rep.job.queue, charge))
	}
	c.touch(c.queues[rep.job.queue])
	if c.earmarked { // until what is earmarked is not counted any more
		c.uncounted = append(c.uncounted, rep.job.queue)
	} else {
		c.countLender(rep.job.queue)
	}
	if c.ledger == nil || c.restoring || charge.GPUMilli == 0 {
		return
	}
	must(c.ledger.Add(c.account(rep, n), sign*charge.GPUMilli, sign*charge.GPUMilli*rep.activeMilli/1000))
	if !c.earmarked {
		c.ledger.Follow(c.quota, rep.job.queue)
	}
}

// activityReported notes how busy the GPUs of a replica are from now on.
func (c *Core) activityReported(e berth.ActivityReported) *berth.Error {
	rep, err := c.knownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if e.ActiveMilli < 0 || e.ActiveMilli > 1000 {
		return refusal.Of(berth.ErrInvalid, "activeMilli", fmt.Sprintf("%d is outside 0..1000", e.ActiveMilli))
	}
	before := rep.activeMilli
	rep.activeMilli = int64(e.ActiveMilli)
	if c.ledger == nil {
		return nil
	}
	c.tickLedger()
	for flat := range rep.members {
		m := &rep.members[flat]
		if !m.state.holds() {
			continue
		}
		if milli := chargeOf(&m.hold, m.node).GPUMilli; milli > 0 {
			must(c.ledger.Add(c.account(rep, m.node), 0, milli*rep.activeMilli/1000-milli*before/1000))
		}
	}
	return nil
}

// ledgerSettled drops the accounts of which nothing is in use.
func (c *Core) ledgerSettled(berth.LedgerSettled) *berth.Error {
	if c.ledger == nil {
		return refusal.Of(berth.ErrInvalid, "", "no ledger is kept: see Config.Ledger")
	}
	c.tickLedger()
	for _, key := range c.ledger.Keys() {
		c.ledger.Forget(key)
	}
	for _, q := range c.ledger.State().Queues { // of those that were removed too
		c.ledger.ForgetQueue(q.Queue)
	}
	return nil
}
