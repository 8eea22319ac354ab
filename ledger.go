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

// savePast saves what is remembered of use.
func (c *Core) savePast(s *snapshot) {
	if c.config.Policy.UsageHalfLife > 0 {
		past := c.quota.Past()
		s.Past = &past
	}
	if c.ledger != nil {
		c.tickLedger()
		state := c.ledger.State()
		s.Ledger = &state
	}
}

func (c *Core) restorePast(s *snapshot) *Error {
	c.tellCapacity()
	if (s.Past != nil) != (c.config.Policy.UsageHalfLife > 0) || s.Past != nil && s.Past.HalfLife != c.quota.HalfLife() {
		return refuse(ErrInvalid, "past.halfLife", "is not that of the policy")
	}
	if s.Past != nil {
		if s.Past.Now > int64(c.now) {
			return refuse(ErrInvalid, "past.now", "is yet to come")
		}
		if err := c.quota.SetPast(*s.Past); err != nil {
			return refuse(ErrInvalid, "past", err.Error())
		}
	}
	return c.restoreLedger(s.Ledger)
}

// restoreLedger takes over a ledger whose rates are those of what is held.
func (c *Core) restoreLedger(state *quota.LedgerState) *Error {
	if (state != nil) != (c.ledger != nil) {
		return refuse(ErrInvalid, "ledger", "is there, or is not, against the configuration")
	}
	if state == nil {
		return nil
	}
	ledger, err := quota.RestoreLedger(*state)
	if err != nil {
		return refuse(ErrInvalid, "ledger", err.Error())
	}
	if ledger.Now() > int64(c.now) {
		return refuse(ErrInvalid, "ledger.now", "is yet to come")
	}
	type rates struct{ allocated, active int64 }
	held := map[quota.LedgerKey]rates{}
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		for _, at := range n.members {
			if milli := chargeOf(&at.rep.members[at.index].hold, n).GPUMilli; milli > 0 {
				key := c.account(at.rep, n)
				held[key] = rates{held[key].allocated + milli, held[key].active + milli*at.rep.activeMilli/1000}
			}
		}
	}
	booked := 0
	for _, e := range state.Entries {
		if (rates{e.Allocated.Rate, e.Active.Rate}) != held[e.Key] {
			return refuse(ErrInvalid, "ledger.entries", fmt.Sprintf("the rates of %v are not those of what is held", e.Key))
		}
		if _, holds := held[e.Key]; holds {
			booked++
		}
	}
	if booked != len(held) {
		return refuse(ErrInvalid, "ledger.entries", "something that is held is missing")
	}
	following := 0
	for _, q := range state.Queues {
		covered, borrowed := int64(0), int64(0)
		if i, known := c.quota.Lookup(q.Queue); known && q.Queue != "" {
			covered = c.quota.Covered(i, quota.GPU)
			borrowed = c.quota.Used(i, quota.GPU) - covered
		}
		if q.Guaranteed.Rate != covered || q.Borrowed.Rate != borrowed {
			return refuse(ErrInvalid, "ledger.queues", fmt.Sprintf("the rates of %q are not those of what it uses", q.Queue))
		}
		if covered+borrowed > 0 {
			following++
		}
	}
	for _, name := range c.quota.Queues() {
		if i, _ := c.quota.Lookup(name); c.quota.Used(i, quota.GPU) > 0 {
			following--
		}
	}
	if following != 0 {
		return refuse(ErrInvalid, "ledger.queues", "a queue that uses something is missing, or comes twice")
	}
	c.ledger = ledger
	return nil
}
