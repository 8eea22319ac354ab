package backlog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// CheckWaiting checks that replicas stand in the pending index with what they wait for, and
// nobody else does.
func (bl *Backlog) CheckWaiting() error {
	struck, entries, buckets, held, heldBack := 0, 0, 0, 0, 0
	if err := bl.state.EachReplica(func(rep *record.Replica) error {
		entries += len(rep.Entries)
		if bl.LostHardware.Has(rep) {
			struck++
		}
		state.CountIf(&held, bl.WaitsForBudget(rep))
		return bl.checkWaits(rep)
	}); err != nil {
		return err
	}
	for _, q := range bl.books.Queues {
		if q != nil {
			heldBack += q.HeldBack.Len()
			for _, b := range q.List {
				buckets += b.Entries.Len()
			}
		}
	}
	for i, e := range bl.Fresh {
		if int(e.FreshAt) != i || e.Slot < 0 {
			return fmt.Errorf("an entry of job %s is not where it says in what is fresh, or does not wait", e.Rep.Job.Spec.ID)
		}
	}
	return state.Agree(state.Tally{What: "entries", Is: buckets, Expected: entries}, state.Tally{What: "replicas that wait for a budget", Is: heldBack, Expected: held}, state.Tally{What: "replicas that lost hardware and wait", Is: bl.LostHardware.Len(), Expected: struck})
}

// checkWaits checks that a replica stands in the pending index with what it waits for.
func (bl *Backlog) checkWaits(rep *record.Replica) error {
	want := 0
	switch {
	case rep.Retry.Get().ReadyAt != 0 || rep.Job.Gate != nil || bl.WaitsForBudget(rep):
	case rep.State == berth.ReplicaPending:
		want = rep.Job.Pattern.Many()
	case rep.MayGrow():
		for g := range rep.Job.Spec.Groups {
			want += min(1, rep.Count(g, record.MemberAbsent))
		}
	}
	switch {
	case bl.books.Queues[rep.Job.Queue].HeldBack.Has(rep) != bl.WaitsForBudget(rep):
		return fmt.Errorf("it waits for a budget: %v, and not so in the index of its queue", bl.WaitsForBudget(rep))
	case rep.Moving != nil && bl.WaitsForBudget(rep):
		return fmt.Errorf("it waits for a budget, and has a place kept for it")
	case rep.Retry.Get().LostHardware && rep.State == berth.ReplicaRunning || bl.LostHardware.Has(rep) != (rep.Retry.Get().LostHardware && rep.State == berth.ReplicaPending && want > 0):
		return fmt.Errorf("lost hardware: %v, and not so in the index, or it runs", rep.Retry.Get().LostHardware)
	case rep.Retry.Get().Backfilled && rep.State == berth.ReplicaPending:
		return fmt.Errorf("backfilled, and it waits")
	case len(rep.Entries) != want:
		return fmt.Errorf("waits for %d places, stands in the pending index %d times", want, len(rep.Entries))
	}
	for i, e := range rep.Entries {
		if s := e.Bucket.Shape; !e.Grows && (e.Part() != i || s.Spec.RestsUntil == 0 && s != rep.Job.Pattern.Option(i).Shape) {
			return fmt.Errorf("it does not wait as what its job may run as, in that order")
		}
		if t := e.Batch; t != nil && (t.Head != e || t.Next <= rep.Number || t.Created != rep.Created || t.Fresh && e.FreshAt < 0 || rep.Job.BatchOf(t.Next) != t) {
			return fmt.Errorf("the batch behind it is not its own")
		}
		if err := bl.checkEntry(rep, e); err != nil {
			return err
		}
	}
	return nil
}

func (bl *Backlog) checkEntry(rep *record.Replica, e *record.Entry) error {
	b := e.Bucket
	switch {
	case e.Rep != rep || e.Grows != (rep.State == berth.ReplicaRunning) || b.Entries.Items()[e.Slot] != e:
		return fmt.Errorf("its entry is not its own")
	case b.Queue.Buckets[b.Shape] != b || !slices.Contains(b.Shape.Buckets, b):
		return fmt.Errorf("its bucket is not known")
	case bl.state.Shapes[b.Shape.Key] != b.Shape:
		return fmt.Errorf("the shape it waits for is not known")
	case e.Grows && b.Shape.Key != growthKey(bl, rep, e.Part()):
		return fmt.Errorf("it waits for %s, and its shortfall is %s", b.Shape.Key, growthKey(bl, rep, e.Part()))
	}
	return nil
}

func growthKey(c *Backlog, rep *record.Replica, group int) string {
	spec := c.state.Shortfall(rep, group)
	return string(c.state.ShapeKey(&spec))
}

// CheckQueues checks the buckets of queues, and what is known to be blocked.
func (bl *Backlog) CheckQueues() error {
	for _, q := range bl.books.Queues {
		if q == nil {
			continue
		}
		if err := bl.checkBuckets(q); err != nil {
			return fmt.Errorf("queue %s: %w", bl.state.Quota.Name(q.Index), err)
		}
	}
	many := 0
	for s := range bl.Blocked.All() {
		if many++; !bl.Blocked.Has(s) {
			return fmt.Errorf("the list of blocked shapes is out of step")
		}
	}
	if many != bl.Blocked.Len() {
		return fmt.Errorf("%d shapes are blocked, and %d count as such", many, bl.Blocked.Len())
	}
	return bl.checkDemand()
}

// checkDemand counts anew how many whole gangs wait for room in one domain of each level.
func (bl *Backlog) checkDemand() error {
	want, bound := make([]int, len(bl.Demand)), 0
	for _, q := range bl.books.Queues {
		if q == nil {
			continue
		}
		for _, b := range q.List {
			if b.Entries.Min().Grows {
				continue // all of them do: what grows is short of less than a gang
			}
			if b.Shape.IsDomainBound() {
				if bound++; b.BoundAt < 0 || bl.DomainBound[b.BoundAt] != b {
					return fmt.Errorf("a bucket of gangs that wait for one domain is not among those")
				}
			}
			for _, level := range b.Shape.Levels {
				want[level] += b.Waiting()
			}
		}
	}
	if bound != len(bl.DomainBound) {
		return fmt.Errorf("%d buckets wait for one domain, listed %d", bound, len(bl.DomainBound))
	}
	for level, many := range want {
		if bl.Demand[level] != many || bl.state.Fleet.BreakCost(topology.Level(level)) != min(many, gang.MaxBreakCost) {
			return fmt.Errorf("%d gangs wait for room in a domain of level %d, counted %d", many, level, bl.Demand[level])
		}
	}
	return nil
}

func (bl *Backlog) checkBuckets(q *record.Queue) error {
	ready, behind, waiting := 0, 0, map[*record.Replica]bool{}
	for _, key := range slices.Sorted(maps.Keys(bl.state.Shapes)) {
		b := q.Buckets[bl.state.Shapes[key]]
		if b == nil {
			continue
		}
		sum, optional := 0, 0
		for _, e := range b.Entries.Items() {
			state.CountIf(&optional, e.Rep.Job.HasAlternatives())
			waiting[e.Rep] = true
			sum += e.Many() - 1
		}
		behind += b.Behind
		if sum != b.Behind || optional != int(b.Optional) {
			return fmt.Errorf("%d replicas wait in batches, counted %d, and %d of jobs with alternatives, counted %d", sum, b.Behind, optional, b.Optional)
		}
		want := b.QuotaSlot < 0 && b.Shape.BlockedAt < 0
		switch {
		case b.At >= len(q.List) || q.List[b.At] != b:
			return fmt.Errorf("a bucket is not where it says in the list")
		case !b.InStep():
			return fmt.Errorf("a bucket has its entries by kind otherwise than in their order")
		case !rankingInStep(q):
			return fmt.Errorf("the queue ranks other entries than wait in it, or in another order")
		case want != (b.Slot >= 0) || b.Slot >= 0 && q.Ready.Items()[b.Slot] != b:
			return fmt.Errorf("a bucket that should be ready (%v) is at %d", want, b.Slot)
		case b.QuotaSlot >= 0 && bl.QuotaBlocked[b.QuotaSlot] != b || b.Entries.Len() == 0:
			return fmt.Errorf("a bucket is empty, or not in the list of those that quota blocks")
		case want:
			ready++
		}
	}
	switch {
	case !q.InStep():
		return fmt.Errorf("its buckets are out of order, or something runs of a lower rank than is known")
	case len(waiting)+behind != q.Waiting || ready != q.Ready.Len():
		return fmt.Errorf("%d replicas wait (counted %d), %d ready buckets (of %d)", len(waiting)+behind, q.Waiting, ready, q.Ready.Len())
	case bl.state.Quota.Active(q.Index) != (ready > 0):
		return fmt.Errorf("active: %v, with %d ready buckets", ready == 0, ready)
	case bl.ToldNext == bl.state.Classes.Version && ready > 0 && bl.state.Quota.Asks(q.Index) != q.Ready.Min().Shape.Least.GPUMilli:
		return fmt.Errorf("would be served %d milli-GPU next, and is said to ask for %d", q.Ready.Min().Shape.Least.GPUMilli, bl.state.Quota.Asks(q.Index))
	}
	return state.Agree(state.Tally{What: "buckets", Is: len(q.List), Expected: len(q.Buckets)})
}

// rankingInStep reports whether the ranking of a queue, if there is one, has what waits, in order.
func rankingInStep(q *record.Queue) bool {
	all, some := q.Ranked()
	waiting := 0
	for _, b := range q.List {
		for _, e := range b.Entries.Items() {
			state.CountIf(&waiting, !e.IsAlternative())
		}
	}
	return !some || len(all) == waiting && slices.IsSortedFunc(all, record.CompareEntries) &&
		!slices.ContainsFunc(all, func(e *record.Entry) bool { return e.Slot < 0 || e.Bucket.Entries.Items()[e.Slot] != e })
}
