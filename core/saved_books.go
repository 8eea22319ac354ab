package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// A usePart is the past use of queues, and GPU time.
type usePart struct {
	Past   *quota.Past        `json:"past,omitempty"`
	Ledger *quota.LedgerState `json:"ledger,omitempty"`
}

// saveQueues lists the queues, every parent before its children.
func (c *Core) saveQueues() []quota.Queue {
	list := []quota.Queue{}
	done := map[quota.Index]bool{quota.Root: true}
	var add func(quota.Index)
	add = func(i quota.Index) {
		if done[i] {
			return
		}
		done[i] = true
		add(c.quota.Parent(i))
		list = append(list, c.quota.Config(i))
	}
	for _, name := range c.quota.Queues() {
		i, _ := c.quota.Lookup(name)
		add(i)
	}
	return list
}

func (c *Core) restoreQueues(list []quota.Queue) *berth.Error {
	for i := range list {
		if err := c.queueSet(berth.QueueSet{Queue: list[i]}); err != nil {
			return refusal.In(err, errtext.Index("queues", i))
		}
	}
	return nil
}

// saveUse saves what is remembered of use.
func (c *Core) saveUse() usePart {
	var s usePart
	if c.config.Policy.UsageHalfLife > 0 {
		past := c.quota.Past()
		s.Past = &past
	}
	if c.ledger != nil {
		c.tickLedger()
		state := c.ledger.State()
		s.Ledger = &state
	}
	return s
}

func (c *Core) restoreUse(s *usePart) *berth.Error {
	c.tellCapacity()
	if (s.Past != nil) != (c.config.Policy.UsageHalfLife > 0) || s.Past != nil && s.Past.HalfLife != c.quota.HalfLife() {
		return refusal.Of(berth.ErrInvalid, "past.halfLife", "is not that of the policy")
	}
	if s.Past != nil {
		if s.Past.Now > int64(c.now) {
			return refusal.Of(berth.ErrInvalid, "past.now", "is yet to come")
		}
		if err := c.quota.SetPast(*s.Past); err != nil {
			return refusal.Of(berth.ErrInvalid, "past", err.Error())
		}
	}
	return c.restoreLedger(s.Ledger)
}

// restoreLedger takes over a ledger whose rates are those of what is held.
func (c *Core) restoreLedger(state *quota.LedgerState) *berth.Error {
	if (state != nil) != (c.ledger != nil) {
		return refusal.Of(berth.ErrInvalid, "ledger", "is there, or is not, against the configuration")
	}
	if state == nil {
		return nil
	}
	ledger, err := quota.RestoreLedger(*state)
	if err != nil {
		return refusal.Of(berth.ErrInvalid, "ledger", err.Error())
	}
	if ledger.Now() > int64(c.now) {
		return refusal.Of(berth.ErrInvalid, "ledger.now", "is yet to come")
	}
	if err := c.checkEntries(state.Entries); err != nil {
		return err
	}
	if err := c.checkQueueTimes(state.Queues); err != nil {
		return err
	}
	c.ledger = ledger
	return nil
}

// checkEntries refuses entries whose rates are not those of what is held.
func (c *Core) checkEntries(list []quota.LedgerEntry) *berth.Error {
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
	for _, e := range list {
		if (rates{e.Allocated.Rate, e.Active.Rate}) != held[e.Key] {
			return refusal.Of(berth.ErrInvalid, "ledger.entries", fmt.Sprintf("the rates of %v are not those of what is held", e.Key))
		}
		if _, holds := held[e.Key]; holds {
			booked++
		}
	}
	if booked != len(held) {
		return refusal.Of(berth.ErrInvalid, "ledger.entries", "something that is held is missing")
	}
	return nil
}

// checkQueueTimes refuses queues whose rates are not those of what they use.
func (c *Core) checkQueueTimes(list []quota.LedgerSplit) *berth.Error {
	following := 0
	for _, q := range list {
		covered, borrowed := int64(0), int64(0)
		if i, known := c.quota.Lookup(q.Queue); known && q.Queue != "" {
			covered = c.quota.Covered(i, quota.GPU)
			borrowed = c.quota.Used(i, quota.GPU) - covered
		}
		if q.Guaranteed.Rate != covered || q.Borrowed.Rate != borrowed {
			return refusal.Of(berth.ErrInvalid, "ledger.queues", fmt.Sprintf("the rates of %q are not those of what it uses", q.Queue))
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
		return refusal.Of(berth.ErrInvalid, "ledger.queues", "a queue that uses something is missing, or comes twice")
	}
	return nil
}
