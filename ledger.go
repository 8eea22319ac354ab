package berth

import (
	"fmt"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// A LedgerLine is the GPU time that was used under one account, in GPU-milliseconds.
type LedgerLine struct {
	Queue   QueueID  `json:"queue"`
	Class   Class    `json:"class,omitzero"`
	Product string   `json:"product"`
	Tenant  TenantID `json:"tenant,omitempty"`
	// Allocated from each Bind on until what it gave is free again; Active is the part
	// of it in which the GPUs were busy, as far as ActivityReported told.
	Allocated int64 `json:"allocated"`
	Active    int64 `json:"active"`
}

// A QueueTime is the GPU time of a queue and all below it, in GPU-milliseconds: what it
// used under guarantees, and what it borrowed.
type QueueTime struct {
	Queue      QueueID `json:"queue"`
	Guaranteed int64   `json:"guaranteed"`
	Borrowed   int64   `json:"borrowed"`
}

// Ledger returns the GPU time used until the latest instant: by account, in order of
// queue, class, product and tenant, and by queue, in order of name. Nothing unless
// Config.Ledger is set.
func (c *Core) Ledger() ([]LedgerLine, []QueueTime) {
	if c.ledger == nil {
		return nil, nil
	}
	c.tickLedger()
	var lines []LedgerLine
	for _, key := range c.ledger.Keys() {
		allocated, active := c.ledger.Read(key)
		class, _ := ParseClass(key.Class)
		lines = append(lines, LedgerLine{
			Queue: QueueID(key.Queue), Class: class, Product: key.Product, Tenant: TenantID(key.Tenant),
			Allocated: allocated, Active: active,
		})
	}
	var queues []QueueTime
	for _, q := range c.ledger.State().Queues {
		guaranteed, borrowed := c.ledger.Split(q.Queue)
		queues = append(queues, QueueTime{QueueID(q.Queue), guaranteed, borrowed})
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
func (c *Core) activityReported(e ActivityReported) *Error {
	rep, err := c.knownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if e.ActiveMilli < 0 || e.ActiveMilli > 1000 {
		return refuse(ErrInvalid, "activeMilli", fmt.Sprintf("%d is outside 0..1000", e.ActiveMilli))
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
func (c *Core) ledgerSettled(LedgerSettled) *Error {
	if c.ledger == nil {
		return refuse(ErrInvalid, "", "no ledger is kept: see Config.Ledger")
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
