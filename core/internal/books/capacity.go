package books

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// recountUse is recount after a change of what is in use, where that counts.
func (bk *Books) recountUse(n *record.Node) {
	if n.Closed() {
		bk.Recount(n, n.CapacityNow())
	}
}

// Recount tells the quota tree what a node adds to the fleet now.
func (bk *Books) Recount(n *record.Node, now record.Capacity) {
	before := n.Capacity
	if before.Equal(&now) {
		return
	}
	n.Capacity = now
	bk.eachAmount(&before, &now, func(r quota.Resource, had, has int64) {
		bk.addCapacity(r, has-had)
		if before.Closed {
			had = 0
		}
		if now.Closed {
			has = 0
		}
		bk.addToFleet(r, has-had)
	})
}

// eachAmount calls a function for what a node added of each resource, and adds now.
func (bk *Books) eachAmount(before, now *record.Capacity, call func(r quota.Resource, had, has int64)) {
	call(quota.GPUMilli, before.GPUMilli, now.GPUMilli)
	for r := range now.Host {
		call(quota.HostOf(countable.Resource(r)), before.Host[r], now.Host[r])
	}
	for i, d := range bk.state.Config.Resources {
		call(quota.Resource(d.Name), before.Declared.Of(i), now.Declared.Of(i))
	}
	had := before.GPUMilli
	if before.Product != now.Product {
		if before.Product != "" {
			call(quota.GPUMilliOf(before.Product), had, 0)
		}
		had = 0
	}
	if now.Product != "" {
		call(quota.GPUMilliOf(now.Product), had, now.GPUMilli)
	}
}

// addToFleet changes what the shares of queues are of. They follow by FollowFleet.
func (bk *Books) addToFleet(r quota.Resource, change int64) {
	if change != 0 {
		invariant.Must(bk.state.Quota.SetFleet(r, bk.state.Quota.Fleet(r)+change))
	}
}

// FollowFleet has what queues may have by shares follow what the fleet has. It is called where no
// plan is imagined: what a plan would free, or take from nodes that take no more work, is nothing
// that shares are of. O(1) if nothing changed, or nobody states a share.
func (bk *Books) FollowFleet() {
	if !bk.state.Quota.FollowFleet() || bk.Restoring {
		return
	}
	bk.TickLedger()
	for _, q := range bk.Queues {
		if q == nil {
			continue
		}
		bk.RecountQueue(q.Index)
		if bk.Ledger != nil && bk.state.Quota.Leaf(q.Index) {
			bk.Ledger.Follow(bk.state.Quota, q.Index)
		}
	}
	bk.agenda.QuotaChanged(bk.state.Now)
}

// addCapacity changes what there is of a resource. The quota tree is told before it is
// asked next; of a product that is gone at once, so that it forgets the name.
func (bk *Books) addCapacity(r quota.Resource, change int64) {
	if change == 0 {
		return
	}
	bk.Capacities[r] += change
	bk.agenda.Stir(bk.state.Now)
	if !slices.Contains(bk.untold, r) {
		bk.untold = append(bk.untold, r)
	}
	if bk.Capacities[r] == 0 {
		delete(bk.Capacities, r)
		bk.TellCapacity()
	}
}

// TellCapacity tells the quota tree what has changed of what the fleet has. Of what there
// is none, nothing is known.
func (bk *Books) TellCapacity() {
	if len(bk.untold) == 0 {
		return
	}
	slices.Sort(bk.untold)
	for _, r := range bk.untold {
		total, some := bk.Capacities[r]
		if total = min(total, quota.MaxAmount); !some {
			total = quota.UnknownCapacity
		}
		if told, known := bk.state.Quota.Capacity(r); known != some || told != total && known {
			invariant.Must(bk.state.Quota.SetCapacity(r, total))
		}
	}
	bk.untold = bk.untold[:0]
}

// Tick sets the clocks of the quota tree and of the ledger.
func (bk *Books) Tick() {
	if bk.Restoring {
		return // what it remembers comes at the end
	}
	bk.TellCapacity()
	now := min(int64(bk.state.Now), quota.MaxTime)
	if bk.state.Quota.Now() != now {
		invariant.Must(bk.state.Quota.Advance(now))
	}
	bk.TickLedger()
}

// KnownJob finds a job that an event names in a field, and refuses one that is not there.
func (bk *Books) KnownJob(field string, id berth.JobID) (*record.Job, *berth.Error) {
	if j := bk.state.Jobs[id]; j != nil {
		return j, nil
	}
	return nil, refusal.Of(berth.ErrUnknown, field, fmt.Sprintf("job %q is not known", errtext.Short(id)))
}

// KnownLife finds the replica of a report about a life that is not over.
func (bk *Books) KnownLife(id berth.JobID, number int, incarnation berth.Incarnation) (*record.Replica, *berth.Error) {
	j, err := bk.KnownJob("job", id)
	if err != nil {
		return nil, err
	}
	rep := j.Replica(number)
	if rep == nil {
		return nil, refusal.Of(berth.ErrUnknown, "replica", fmt.Sprintf("job %q has no replica %d", errtext.Short(id), number))
	}
	switch {
	case incarnation > rep.Incarnation:
		return nil, refusal.Of(berth.ErrUnknown, "incarnation", fmt.Sprintf("incarnation %d of the replica has not begun", incarnation))
	case rep.Incarnation == 0:
		return nil, refusal.Of(berth.ErrStale, "incarnation", "the replica was never bound")
	case incarnation < rep.Incarnation || rep.State == berth.ReplicaPending:
		return nil, refusal.Of(berth.ErrStale, "incarnation", fmt.Sprintf("incarnation %d of the replica is over", incarnation))
	}
	return rep, nil
}

// TickLedger sets the clock of the ledger, if one is kept.
func (bk *Books) TickLedger() {
	if now := min(int64(bk.state.Now), quota.MaxTime); bk.Ledger != nil && bk.Ledger.Now() != now {
		invariant.Must(bk.Ledger.Advance(now))
	}
}
