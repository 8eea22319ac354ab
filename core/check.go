package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
)

// checkAgenda holds the counts of the agenda against the records.
func (c *Core) checkAgenda() error {
	if err := c.agenda.Valid(); err != nil {
		return fmt.Errorf("agenda: %w", err)
	}
	want := agenda.Counts{
		Blocked: c.backlog.Blocked.Len(), Limited: len(c.backlog.QuotaBlocked), FreedNodes: len(c.state.FreedNodes), Reservations: len(c.backlog.Reservations), Fresh: len(c.backlog.Fresh),
	}
	for s := range c.backlog.Blocked.All() {
		state.CountIf(&want.Looking, s.LooksAround)
	}
	for _, n := range c.state.Nodes {
		if n != nil {
			state.CountIf(&want.Dividing, n.Table != nil)
			state.CountIf(&want.Pliable, n.Pliable())
			state.CountIf(&want.Draining, n.Draining)
		}
	}
	for _, res := range c.backlog.Reservations {
		state.CountIf(&want.Draining, res.Draining)
	}
	for _, id := range slices.Sorted(maps.Keys(c.state.Jobs)) {
		for rep := range c.state.Jobs[id].Replicas.All() {
			state.CountIf(&want.Stalled, c.backlog.Due.Stalled(rep))
			state.CountIf(&want.Hopeless, c.backlog.Due.CannotPlan(rep))
		}
	}
	if !c.agenda.Agrees(want) {
		return fmt.Errorf("the agenda is %+v, and the records have %+v", c.agenda, want)
	}
	return nil
}

// Check holds every redundant index of the core against what it is an index of,
// and tests the invariants that Core states. It returns the first violation. It
// is for tests, an embedder's among them. Cost: O(state).
//
// Every part of the core checks its own, in the order in which the parts stand on each
// other: a check may rely on those before it.
func (c *Core) Check() error {
	for _, check := range [...]func() error{
		c.state.CheckNodes, c.state.CheckJobs, c.state.CheckMembers, c.state.CheckTopology, c.state.CheckShapes, c.checkOrders, c.state.CheckEndings, c.state.Runtimes.Check,
		c.books.CheckHolds, c.books.CheckCharges, c.books.CheckCapacities, c.books.CheckSizes, c.books.CheckContenders, c.books.CheckLedger, c.books.CheckOverLimit, c.books.CheckBudgets,
		c.backlog.CheckWaiting, c.backlog.CheckQueues, c.backlog.CheckDue, c.backlog.CheckReservations, c.checkPlaces,
		c.upkeep.CheckTrust, c.upkeep.CheckSpares, c.upkeep.CheckLosses, c.upkeep.CheckRates,
		c.life.CheckLife, c.life.CheckGates, c.life.CheckStandIns, c.life.CheckVictims, c.life.CheckLending, c.life.CheckIdle,
		c.gpus.CheckGPUs, c.gpus.CheckGPUHolds, c.gpus.CheckCatalogue, c.victims.CheckEvictable,
		c.scoring.Check, c.checkAgenda,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkOrders checks that orders are in the index, and that all that falls due is in the
// timers.
func (c *Core) checkOrders() error {
	orders, timers := 0, 0
	due := func(t record.Timer) bool {
		timers++
		return c.state.Timers.Has(t)
	}
	if err := c.state.EachReplica(func(rep *record.Replica) error {
		if rep.Order != nil {
			orders++
			h := rep.Order.Header()
			if c.state.Orders[h.ID] != rep || !due(record.Timer{At: h.Deadline, Kind: record.TimerDeadline, Rep: rep}) {
				return fmt.Errorf("order %d is not in the indexes", h.ID)
			}
		}
		if rep.Retry.Get().ReadyAt != 0 && !due(record.Timer{At: rep.Retry.Get().ReadyAt, Kind: record.TimerBackoff, Rep: rep}) {
			return fmt.Errorf("its backoff is not in the timers")
		}
		if rep.LimitAt() != 0 && !due(record.Timer{At: rep.LimitAt(), Kind: record.TimerLimit, Rep: rep}) {
			return fmt.Errorf("its limit is not in the timers")
		}
		if at := rep.Idle.Get().LendAt; at != 0 && !due(record.Timer{At: at, Kind: record.TimerLending, Rep: rep}) {
			return fmt.Errorf("what it lends or borrows is not in the timers")
		}
		if at := rep.Idle.Get().IdleAt; at != 0 && !due(record.Timer{At: at, Kind: record.TimerIdle, Rep: rep}) {
			return fmt.Errorf("what it leaves idle is not in the timers")
		}
		if t, some := rep.Job.GateTimer(); some && !due(t) {
			return fmt.Errorf("its gate is not in the timers")
		}
		if at, limited := rep.DropAt(); limited && rep.State == berth.ReplicaPending && !due(record.Timer{At: at, Kind: record.TimerGang, Rep: rep}) {
			return fmt.Errorf("its gang timeout is not in the timers")
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(c.gpus.Repartitions)) {
		if p := c.gpus.Repartitions[id]; !due(record.Timer{At: p.Order.Deadline, Kind: record.TimerRepartition, Repartition: p}) {
			return fmt.Errorf("order %d about a GPU is not in the timers", id)
		}
	}
	return state.Agree(state.Tally{What: "orders out", Is: len(c.state.Orders), Expected: orders}, state.Tally{What: "timers", Is: c.state.Timers.Len(), Expected: timers})
}

// checkPlaces checks what replicas have set aside, and that no plan is left in them.
func (c *Core) checkPlaces() error {
	return c.state.EachReplica(func(rep *record.Replica) error {
		switch {
		case !setsAside(rep):
			return fmt.Errorf("what it has set aside is over, or of another kind")
		case rep.Imagined:
			return fmt.Errorf("it is imagined ended")
		}
		return nil
	})
}

// setsAside reports whether what a replica has set aside is in force, and of the kind for which
// it has it.
func setsAside(rep *record.Replica) bool {
	return (rep.Reserved == nil || rep.Reserved.IsAwaited()) && (rep.Moving == nil || rep.Moving.IsMove()) &&
		(rep.Exclusive == nil || rep.Exclusive.IsExclusive())
}
