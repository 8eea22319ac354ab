package books

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// SaveQueues lists the queues, every parent before its children.
func (bk *Books) SaveQueues() []quota.Queue {
	list := []quota.Queue{}
	done := map[quota.QueueIndex]bool{quota.RootQueue: true}
	var add func(quota.QueueIndex)
	add = func(i quota.QueueIndex) {
		if done[i] {
			return
		}
		done[i] = true
		add(bk.state.Quota.Parent(i))
		list = append(list, bk.state.Quota.Config(i))
	}
	for _, name := range bk.state.Quota.Queues() {
		i, _ := bk.state.Quota.Lookup(name)
		add(i)
	}
	return list
}

// SaveUse saves what is remembered of use.
func (bk *Books) SaveUse() record.UsePart {
	s := record.UsePart{OverLimit: bk.saveOverLimit(), Budgets: bk.saveBudgets()}
	if bk.state.Config.Policy.UsageHalfLife > 0 {
		past := bk.state.Quota.Past()
		s.Past = &past
	}
	if bk.Ledger != nil {
		bk.TickLedger()
		state := bk.Ledger.State()
		s.Ledger = &state
	}
	return s
}

// RestoreUse restores past use and the ledger. It comes after all charges, which would change
// both.
func (bk *Books) RestoreUse(s *record.UsePart) *berth.Error {
	bk.TellCapacity()
	bk.FollowFleet()
	if (s.Past != nil) != (bk.state.Config.Policy.UsageHalfLife > 0) || s.Past != nil && s.Past.HalfLife != bk.state.Quota.HalfLife() {
		return refusal.Of(berth.ErrInvalid, "past.halfLifeMilliseconds", "is not that of the policy")
	}
	if s.Past != nil {
		if s.Past.Now > int64(bk.state.Now) {
			return refusal.Of(berth.ErrInvalid, "past.now", "is in the future")
		}
		if err := bk.state.Quota.SetPast(*s.Past); err != nil {
			return refusal.Of(berth.ErrInvalid, "past", err.Error())
		}
	}
	if err := bk.restoreOverLimit(s.OverLimit); err != nil {
		return err
	}
	if err := bk.checkBudgets(); err != nil {
		return err
	}
	return bk.restoreLedger(s.Ledger)
}

// restoreLedger takes over a ledger, and refuses other rates than those of what is held.
func (bk *Books) restoreLedger(state *quota.LedgerState) *berth.Error {
	if (state != nil) != (bk.Ledger != nil) {
		return refusal.Of(berth.ErrInvalid, "ledger", "is there, or is not, against the configuration")
	}
	if state == nil {
		return nil
	}
	ledger, err := quota.RestoreLedger(*state)
	if err != nil {
		return refusal.Of(berth.ErrInvalid, "ledger", err.Error())
	}
	if ledger.Now() > int64(bk.state.Now) {
		return refusal.Of(berth.ErrInvalid, "ledger.now", "is in the future")
	}
	if err := bk.checkLedger(*state); err != nil {
		return err
	}
	bk.Ledger = ledger
	return nil
}

// checkLedger refuses a ledger with other rates than those of what is held.
func (bk *Books) checkLedger(state quota.LedgerState) *berth.Error {
	if err := bk.checkEntries(state.Entries); err != nil {
		return err
	}
	return bk.checkQueueTimes(state.Queues)
}

// checkEntries refuses entries with other rates than those of what is held.
func (bk *Books) checkEntries(list []quota.LedgerEntry) *berth.Error {
	type rates struct{ allocated, active int64 }
	held := map[quota.LedgerKey]rates{}
	for _, n := range bk.state.Nodes {
		if n == nil {
			continue
		}
		for _, at := range n.Members {
			if milli := record.UsedMilli(&at.Rep.Members[at.Index].Hold, n); milli > 0 {
				key := bk.account(at.Rep, n)
				held[key] = rates{held[key].allocated + milli, held[key].active + milli*int64(at.Rep.ActiveMilli)/1000}
			}
		}
	}
	booked := 0
	for _, e := range list {
		if (rates{e.Allocated.Rate, e.Active.Rate}) != held[e.Key] {
			return refusal.Of(berth.ErrInvalid, "ledger.entries", fmt.Sprintf("the rates of %s are not those of what is held", errtext.Short(fmt.Sprint(e.Key))))
		}
		if _, holds := held[e.Key]; holds {
			booked++
		}
	}
	if booked != len(held) {
		return refusal.Of(berth.ErrInvalid, "ledger.entries", "an entry for something held is missing")
	}
	return nil
}

// checkQueueTimes refuses queues with other rates than those of what they use.
func (bk *Books) checkQueueTimes(list []quota.LedgerSplit) *berth.Error {
	following := 0
	for _, q := range list {
		covered, borrowed := int64(0), int64(0)
		if i, known := bk.state.Quota.Lookup(q.Queue); known && q.Queue != "" {
			covered = bk.state.Quota.Covered(i, quota.GPUMilli)
			borrowed = bk.state.Quota.Used(i, quota.GPUMilli) - covered
		}
		if q.Guaranteed.Rate != covered || q.Borrowed.Rate != borrowed {
			return refusal.Of(berth.ErrInvalid, "ledger.queues", fmt.Sprintf("the rates of %q are not those of what it uses", errtext.Short(q.Queue)))
		}
		if covered+borrowed > 0 {
			following++
		}
	}
	for _, name := range bk.state.Quota.Queues() {
		if i, _ := bk.state.Quota.Lookup(name); bk.state.Quota.Used(i, quota.GPUMilli) > 0 {
			following--
		}
	}
	if following != 0 {
		return refusal.Of(berth.ErrInvalid, "ledger.queues", "a queue that uses something is missing, or comes twice")
	}
	return nil
}
