package books

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// The fleet and the quota tree are changed here alone, so that one room answers for what they
// hold. The doors below are for questions that are answered by trying, and for what is told of
// nodes and queues; members come and go by Book and Vacate. A door that returns no error is for
// what was checked before.

// Place finds places for a request and holds them, as Placement: until LetGo, unless they are
// booked.
func (bk *Books) Place(r *gang.Request) bool { return bk.state.Fleet.Place(r, &bk.Placement) }

// PlaceAt is Place where all places are known.
func (bk *Books) PlaceAt(members []gang.Member) bool {
	if !bk.Hold(members) {
		return false
	}
	bk.Placement.Members = append(bk.Placement.Members[:0], members...)
	return true
}

// LetGo gives back what Place or PlaceAt has found.
func (bk *Books) LetGo() { invariant.Must(bk.state.Fleet.ReleaseAll(&bk.Placement)) }

// Hold holds what members are to have, all of it or nothing.
func (bk *Books) Hold(members []gang.Member) bool {
	for i := range members {
		if bk.state.Fleet.Hold(members[i].Hold) != nil {
			bk.GiveBack(members[:i])
			return false
		}
	}
	return true
}

// GiveBack undoes Hold.
func (bk *Books) GiveBack(members []gang.Member) {
	for i := range members {
		bk.Release(members[i].Hold)
	}
}

// HoldAgain holds what a member had a moment ago.
func (bk *Books) HoldAgain(h gang.Hold) { invariant.Must(bk.state.Fleet.Hold(h)) }

// Adopt holds what a member is known to have.
func (bk *Books) Adopt(h gang.Hold) error { return bk.state.Fleet.Adopt(h) }

// Release gives back what Hold or Adopt took.
func (bk *Books) Release(h gang.Hold) { invariant.Must(bk.state.Fleet.Release(h)) }

// Together has a function hold and release much at once: it searches nothing.
func (bk *Books) Together(change func()) { bk.state.Fleet.Together(change) }

// Vanish imagines what a part of a replica holds free.
func (bk *Books) Vanish(p record.Piece) {
	p.Imagine(true)
	p.EachHold(func(h *gang.Hold, _ *record.Node) { bk.Release(*h) })
	bk.vacate(p, true)
}

// Reappear undoes Vanish.
func (bk *Books) Reappear(p record.Piece) {
	p.Imagine(false)
	bk.vacate(p, false)
	p.EachHold(func(h *gang.Hold, _ *record.Node) { invariant.Must(bk.state.Fleet.Adopt(*h)) })
}

// Charge imagines that a queue uses more.
func (bk *Books) Charge(q quota.QueueIndex, c quota.Charge) {
	invariant.Must(bk.state.Quota.Charge(q, c))
}

// Discharge undoes Charge, or imagines that a queue uses less.
func (bk *Books) Discharge(q quota.QueueIndex, c quota.Charge) {
	invariant.Must(bk.state.Quota.Discharge(q, c))
}

// DischargeAll imagines that a part of a replica is charged for nothing. What it has on nodes
// that take no more work is gone with it.
func (bk *Books) DischargeAll(p record.Piece) {
	chargesOf(p, func(c quota.Charge) { bk.Discharge(p.Rep.Job.Queue, c) })
	bk.shiftClosed(p, -1)
}

// ChargeAll undoes DischargeAll.
func (bk *Books) ChargeAll(p record.Piece) {
	bk.shiftClosed(p, 1)
	chargesOf(p, func(c quota.Charge) { bk.Charge(p.Rep.Job.Queue, c) })
}

// chargesOf calls a function for what the members of a part are charged, those of one product that
// follow each other together.
func chargesOf(p record.Piece, use func(quota.Charge)) {
	var sum quota.Charge
	p.EachHold(func(h *gang.Hold, n *record.Node) {
		switch c := p.Rep.ChargeOf(h, n); {
		case sum == quota.Charge{}:
			sum = c
		case sum.Product == c.Product:
			sum = sum.Plus(c)
		default:
			use(sum)
			sum = c
		}
	})
	use(sum)
}

// shiftClosed has the quota tree see more or less of the nodes that take no more work, by what a
// part has on them.
func (bk *Books) shiftClosed(p record.Piece, sign int64) {
	p.EachHold(func(h *gang.Hold, n *record.Node) {
		if n.Closed() {
			bk.ShiftCapacity(n, record.ChargeOf(h, n), sign)
		}
	})
}

// ShiftCapacity has the quota tree see more of the fleet by what somebody has on a node, or
// less.
func (bk *Books) ShiftCapacity(n *record.Node, charge quota.Charge, sign int64) {
	shift := func(r quota.Resource, amount int64) {
		if total, known := bk.state.Quota.Capacity(r); known && amount > 0 {
			invariant.Must(bk.state.Quota.SetCapacity(r, max(0, total+sign*amount)))
		}
	}
	shift(quota.GPUMilli, charge.GPUMilli)
	for r, amount := range charge.Host {
		shift(quota.HostOf(countable.Resource(r)), amount)
	}
	for i, d := range bk.state.Config.Resources {
		shift(quota.Resource(d.Name), charge.Declared.Of(i))
	}
	if charge.GPUMilli > 0 {
		shift(quota.GPUMilliOf(n.Spec.Product), charge.GPUMilli)
	}
}

// SetNext tells what a queue with work that is ready would be served next.
func (bk *Books) SetNext(q quota.QueueIndex, next quota.Charge) {
	invariant.Must(bk.state.Quota.SetNext(q, next))
}

// Deactivate says that nothing of a queue is ready.
func (bk *Books) Deactivate(q quota.QueueIndex) { bk.state.Quota.Deactivate(q) }

// DeactivateAll says that nothing of any queue is ready.
func (bk *Books) DeactivateAll() { bk.state.Quota.DeactivateAll() }

// SetQueue adds or changes a queue.
func (bk *Books) SetQueue(q quota.Queue) (quota.QueueIndex, error) { return bk.state.Quota.Set(q) }

// AddQueue makes the record of a queue known.
func (bk *Books) AddQueue(q *record.Queue) {
	for int(q.Index) >= len(bk.Queues) {
		bk.Queues = append(bk.Queues, nil)
	}
	bk.Queues[q.Index] = q
	bk.linkBudgets(q)
	q.OutOfBudget = len(bk.SpentBudgets(q.Index)) > 0
}

// RemoveQueue removes a queue that nobody uses, and its record.
func (bk *Books) RemoveQueue(i quota.QueueIndex, name berth.QueueID) error {
	if err := bk.state.Quota.Remove(name); err != nil {
		return err
	}
	bk.CountKeeper(bk.Queues[i], false)
	bk.Queues[i] = nil // it used nothing, and so was over no limit
	return nil
}

// Admit makes a new job known: its queue stays as long as it does.
func (bk *Books) Admit(j *record.Job) {
	bk.state.Admit(j)
	invariant.Must(bk.state.Quota.Retain(j.Queue))
}

// Dismiss undoes Admit.
func (bk *Books) Dismiss(j *record.Job) {
	invariant.Must(bk.state.Quota.Release(j.Queue))
	bk.state.Dismiss(j)
}

// SetHalfLife says how long past use counts.
func (bk *Books) SetHalfLife(milliseconds int64) {
	bk.Tick()
	invariant.Must(bk.state.Quota.SetHalfLife(milliseconds))
}

// RetainProduct counts one more node of a product that there may be; "" is none.
func (bk *Books) RetainProduct(name string) quota.ProductIndex {
	if name == "" {
		return quota.NoProduct
	}
	product, err := bk.state.Quota.RetainProduct(name)
	invariant.Must(err)
	return product
}

// ReleaseProduct undoes RetainProduct.
func (bk *Books) ReleaseProduct(p quota.ProductIndex) { bk.state.Quota.ReleaseProduct(p) }

// AddNode adds a checked, unknown node to the fleet.
func (bk *Books) AddNode(s gang.NodeSpec) topology.NodeIndex {
	n, err := bk.state.Fleet.AddNode(s)
	invariant.Must(err)
	return n
}

// RemoveNode takes a node on which nothing is held out of the fleet.
func (bk *Books) RemoveNode(n *record.Node) { invariant.Must(bk.state.Fleet.RemoveNode(n.Index)) }

// Resize has the fleet see what the host of a node has.
func (bk *Books) Resize(n *record.Node) {
	invariant.Must(bk.state.Fleet.SetHost(n.Index, n.Spec.Host()))
	invariant.Must(bk.state.Fleet.SetDeclared(n.Index, n.Declared))
}

// SetSchedulable says whether a node takes work.
func (bk *Books) SetSchedulable(n *record.Node, ok bool) { bk.state.Fleet.SetSchedulable(n.Index, ok) }

// SetChooser says which of its free GPUs a node gives first.
func (bk *Books) SetChooser(n *record.Node, choose func(free uint64, k int) uint64) {
	bk.state.Fleet.SetChooser(n.Index, choose)
}

// Divide has the fleet see how a GPU is divided.
func (bk *Books) Divide(n *record.Node, gpu int, division gang.Partitioning, exist mig.State) {
	invariant.Must(bk.state.Fleet.SetPartitioning(n.Index, gpu, division, exist))
}

// SetRanking says how the places on GPUs of a lattice are weighed.
func (bk *Books) SetRanking(l *mig.Lattice, r *mig.Ranking) { bk.state.Fleet.SetRanking(l, r) }

// UseScorer has places chosen by the scorer of a config.
func (bk *Books) UseScorer(s berth.Scorer) *berth.Error {
	if err := bk.scoring.Use(s); err != nil {
		return err
	}
	bk.state.Fleet.SetScorer(bk.scoring.Functions())
	if losses := bk.scoring.Losses(); losses != nil {
		bk.state.Fleet.SetLoss(losses)
	}
	return nil
}

// SetDemand tells how many whole domains of a level waiting work wants.
func (bk *Books) SetDemand(level topology.Level, n int) { bk.state.Fleet.SetBreakCost(level, n) }

// Choice says what speaks for a node on which a request fits; see package score.
func (bk *Books) Choice(r *gang.Request, at topology.NodeIndex, place func(*gang.Request) []gang.Member) *berth.PlaceChoice {
	return bk.scoring.Choice(r, at, place)
}
