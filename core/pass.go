package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/internal/limits"
)

// maxRepairs bounds how often the members of one Bind are placed anew before
// the gang is taken back whole.
const maxRepairs = 3

// Schedule runs a pass at an instant and returns the orders it gives, in the
// order of their IDs. It refuses an instant before one that the core has seen, one after the
// last that there is (2^61), and to give more than 2^62 orders.
//
// A pass first lets fall due what is due, then sees to the replicas that must be
// stopped or repaired, and then places pending work in policy order until
// nothing more fits, Policy.PassBudget attempts are spent, or a few thousand members
// have been placed; the rest goes on in the next pass. Its cost is proportional to what
// changed since the last one, not to what exists: after something became free, that is one
// search for each distinct request that waits and might fit there.
func (c *Core) Schedule(now berth.Time) ([]berth.Order, error) {
	if err := c.checkInstant(now); err != nil {
		err.Event = "schedule"
		return nil, err
	}
	if c.state.LastOrder >= limits.MaxOrder {
		return nil, &berth.Error{Event: "schedule", Kind: berth.ErrLimit, Reason: fmt.Sprintf("order %d was the last that can be given", c.state.LastOrder)}
	}
	c.state.SetClock(now)
	c.books.ForgetLost()
	c.books.Tick()
	c.life.SettleBudgets()
	c.expire()
	c.books.FollowFleet() // nodes are trusted again
	c.spareWithin()
	c.life.SettleGates()
	c.mend()
	c.lend()
	c.evict.BringWithinLimits()
	c.evict.StopOutOfBudget()
	c.books.TellCapacity() // less is in use on nodes that take no more work
	c.rank()
	c.evict.Relocate()
	c.lend() // nothing of what has to leave now
	c.life.BackoffsOver()
	c.backlog.Earmark(true)
	c.search.TendGPUHolds()
	c.upkeep.TendSpares()
	c.search.ServeReserved()
	c.search.Wake()
	c.agenda.BeginPlacing()
	c.search.Place()
	c.life.RestDisplaced()
	c.search.Reshape()
	c.gpus.BringBack()
	c.search.Reserve()
	c.search.Backfill()
	c.life.RestDisplaced()
	c.backlog.Earmark(false)
	c.evict.Preempt()
	c.search.EndPartialResumes()
	c.mend() // victims that are stopped at once, and requests that are withdrawn
	c.lend() // borrowers of what has to leave
	c.settle()
	c.agenda.EndPass()
	c.state.ReopenOpened()
	return c.state.HandOver(), nil
}

// settle sees to what follows of events, and of what fell due, by itself: what queues have by
// shares follows the fleet, gangs stay that need not go because of a limit any more, gates open,
// and what is lent is given back.
func (c *Core) settle() {
	c.books.FollowFleet()
	c.life.SettleBudgets()
	c.spareWithin()
	c.life.SettleGates()
	c.life.SettleLoans()
}

// spareWithin has gangs stay that need not go because of a limit any more, and ends the plans that
// counted on what they hold.
func (c *Core) spareWithin() {
	if c.life.SpareWithin() {
		c.evict.EndBroken()
	}
}

// checkInstant refuses an instant before the latest one, and one beyond all that the core takes.
// The caller names its event in the error: to name the kind of an event that is taken would cost
// each one allocations.
func (c *Core) checkInstant(now berth.Time) *berth.Error {
	var reason string
	switch {
	case now < c.state.Now:
		reason = fmt.Sprintf("%d is before %d", now, c.state.Now)
	case now > limits.MaxInstant:
		reason = fmt.Sprintf("%d is after the last instant, %d", now, int64(limits.MaxInstant))
	default:
		return nil // an idle pass allocates nothing
	}
	return &berth.Error{Field: "now", Kind: berth.ErrClock, Reason: reason}
}

// expire handles every timer that is due.
func (c *Core) expire() {
	c.search.EndReservations()
	c.search.BeginDrains()
	c.upkeep.TrustAgain()
	var reasons map[*record.Shape]string // one answer for all that asked the same
	for {
		t, ok := c.state.DueTimer()
		if !ok {
			return
		}
		switch t.Kind {
		case record.TimerBackoff:
			if !t.Rep.Returns() { // those that do wait until their places are kept
				c.life.BackoffOver(t.Rep)
			}
		case record.TimerGang:
			if reasons == nil {
				reasons = map[*record.Shape]string{}
			}
			c.giveUp(t.Rep, reasons)
		case record.TimerGate:
			if why, broken := c.life.GateDue(t.Rep.Job); broken {
				c.drop(t.Rep, berth.Cause{Code: berth.CauseDependency, Detail: why})
			}
		case record.TimerLimit:
			c.life.LimitDue(t.Rep)
		case record.TimerLending:
			c.life.LendingDue(t.Rep)
		case record.TimerIdle:
			c.life.IdleDue(t.Rep)
		case record.TimerDeadline:
			c.expireOrder(t.Rep)
		case record.TimerRepartition:
			c.gpus.ExpireRepartition(t.Repartition)
		}
	}
}

// lend lends what is idle, and has borrowers give back what is not idle any more, or not held:
// after the orders for the lenders that have to leave.
func (c *Core) lend() {
	for c.life.SettleLoans(); c.state.IsLendingDue(); c.life.SettleLoans() {
		c.mend()
		c.life.SettleLoans()
		if c.state.IsLendingDue() {
			t, _ := c.state.DueTimer()
			c.life.LendingDue(t.Rep)
			c.mend()
		}
	}
}

// giveUp drops a job that was pending for longer than its gang timeout, or came back to the queue
// for one cause more often than it may.
func (c *Core) giveUp(rep *record.Replica, reasons map[*record.Shape]string) {
	if over, times, is := rep.OverCap(); is {
		c.drop(rep, berth.Cause{Code: berth.CauseMaxRequeues, Detail: fmt.Sprintf("%s, %d times; it may come back %d times", over.Cause, times, over.Requeues)})
		return
	}
	waited := c.state.Now.Sub(rep.PendingSince)
	why := "pending for " + waited.String()
	if rep.Entries != nil {
		e := c.answer.Explained(rep)
		s := e.Bucket.Shape
		if _, known := reasons[s]; !known {
			reasons[s] = c.answer.Reason(e).Text
		}
		why += ": " + reasons[s]
	} else if c.backlog.WaitsForBudget(rep) {
		why += ": " + c.books.SpentBudgets(rep.Job.Queue)[0].Describe(c.state.Now)
	}
	c.drop(rep, berth.Cause{Code: berth.CauseGangTimeout, Detail: why})
}

// drop gives a job up that waits, and says so.
func (c *Core) drop(rep *record.Replica, cause berth.Cause) {
	c.state.Emit(berth.Drop{OrderHeader: c.state.Order(rep, 0, cause)})
	c.state.Totals.JobsDropped++
	c.life.Forget(rep)
}

// expireOrder handles an order that was not reported by its deadline.
func (c *Core) expireOrder(rep *record.Replica) {
	expired := rep.Order
	c.state.CloseOrder(rep)
	c.state.Totals.OrdersExpired++
	switch expired.(type) {
	case berth.Bind:
		if expired.Header().Cause.Code == berth.CauseVictimsGone {
			c.search.FailBid(rep)
		}
		cause := berth.Cause{Code: berth.CauseBindExpired, Detail: fmt.Sprintf("order %d was not reported in time", expired.Header().ID)}
		if rep.State == berth.ReplicaRunning {
			c.stopBinding(rep, cause)
		} else {
			rep.Release.Note().Backoff = true
			c.life.TakeBack(rep, cause, false)
		}
	case berth.Release:
		c.releaseAgain(rep)
	case berth.RequestCheckpoint:
		cause := expired.Header().Cause
		cause.Detail += life.Separator(cause.Detail) + "no checkpoint was reported in time"
		c.life.Answered(rep, cause)
	}
}

// stopBinding takes the members of an expired growth back, and leaves the rest
// of the gang alone.
func (c *Core) stopBinding(rep *record.Replica, cause berth.Cause) {
	release := rep.Release.Note()
	release.Cause, release.Attempt = cause, 0
	for flat := range rep.Members {
		if rep.Members[flat].State == record.MemberBinding {
			rep.Members[flat].Become(record.MemberStopped)
		}
	}
	c.life.NoteLeaving(rep)
	c.life.BackOff(rep)
	c.life.Settle(rep, cause)
}

// releaseAgain has the next pass give a Release once more, or presumes its
// members dead when it was given often enough.
func (c *Core) releaseAgain(rep *record.Replica) {
	if rep.Release.Get().Attempt >= c.state.Config.Policy.ReleaseAttempts {
		c.state.Totals.ReplicasPresumedDead++
		c.books.UnbookAll(rep, record.MemberLeft, record.MemberStopping)
	}
	c.life.Settle(rep, rep.Release.Get().Cause)
}

// mend works through the replicas that need an order whatever else happens.
func (c *Core) mend() {
	for {
		rep, ok := c.state.NextTodo()
		if !ok {
			return
		}
		switch {
		case rep.State == berth.ReplicaRepairing:
			c.repair(rep) // puts the replica back if it has to be released
			continue
		case rep.Asked():
			c.life.WithdrawRequest(rep)
			continue
		case !rep.Has(record.MemberStopping):
			c.life.GiveUpBroken(rep) // puts the replica back if it gives up some
			continue
		}
		rep.Release.Note().Attempt++
		rep.Order = c.life.DescribeStops(rep, berth.Release{
			OrderHeader: c.state.Order(rep, c.state.Config.Policy.ReleaseTimeout, rep.Release.Get().Cause), Attempt: rep.Release.Get().Attempt,
		})
		c.state.OpenOrder(rep)
		c.state.Totals.Releases++
	}
}

// repair places the members that failed while their gang was being bound
// somewhere else, or has the gang taken back.
func (c *Core) repair(rep *record.Replica) {
	if rep.Retry.Get().Repairs < maxRepairs && c.rebind(rep) {
		rep.Retry.Note().Repairs++
		return
	}
	c.books.UnbookAll(rep, record.MemberUnplaced, record.MemberBinding) // of the groups that did find a place
	rep.Release.Note().Backoff = true
	c.life.TakeBack(rep, rep.Release.Get().Cause, false)
}

// rebind tries to place the failed members within the gang's topology, on other
// nodes than those that it avoids. What is balanced, spread or on aligned rails would have
// to be placed together with the rest.
func (c *Core) rebind(rep *record.Replica) bool {
	c.books.UnbookAll(rep, record.MemberLeft, record.MemberFailed, record.MemberLost)
	c.books.TellCapacity() // the nodes that they leave may take no more work
	for g := range rep.Job.Spec.Groups {
		if rep.Count(g, record.MemberAbsent) > 0 && (rep.MovesWhole(g) || !c.rebindGroup(rep, g)) {
			return false
		}
	}
	c.backlog.EncloseExclusive(rep)
	c.life.AwaitBind(rep)
	c.search.Bind(rep, berth.Cause{Code: berth.CauseRepair, Detail: rep.Release.Get().Cause.Detail})
	return true
}

// rebindGroup holds places for the missing members of a group: all of them, or
// as few as the gang can do with.
func (c *Core) rebindGroup(rep *record.Replica, g int) bool {
	for rep.Count(g, record.MemberAbsent) > 0 {
		spec := c.state.Shortfall(rep, g)
		missing := &spec.Groups[0]
		least := record.Least(&rep.Job.Spec.Groups[g]) - rep.Count(g, record.MemberRunning, record.MemberBinding)
		if c.rebindSome(rep, g, &spec) {
			continue
		}
		if least >= missing.Members || len(missing.Topology.Segments) > 0 {
			return least <= 0
		}
		if least <= 0 {
			return true
		}
		missing.Members = least
		if !c.rebindSome(rep, g, &spec) {
			return false
		}
	}
	return true
}

// rebindSome holds places for what is asked for, all of it, first without what is set
// aside.
func (c *Core) rebindSome(rep *record.Replica, g int, spec *record.ShapeSpec) bool {
	spec.Groups[0].MinMembers = spec.Groups[0].Members
	request := c.state.Request(spec)
	elsewhere := c.search.Avoiding(rep.Retry.Get().Avoid, &request)
	if c.search.PlaceRequest(rep, elsewhere, g) == search.Fits {
		return true
	}
	end := c.state.EndIfPlaced(rep)
	wider, some := c.search.WithReservedNodesWhere(spec, elsewhere, func(res *record.Reservation) bool { return c.backlog.Admits(res, rep, end) })
	return some && c.search.PlaceRequest(rep, wider, g) == search.Fits
}
