package gpus

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// Prepare gives the orders without which the members of a Bind cannot be started, and
// lists all that are out.
func (gp *GPUs) Prepare(rep *record.Replica) []berth.OrderID {
	var after []berth.OrderID
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if m.State != record.MemberBinding {
			continue
		}
		mode := gp.ModeFor(&m.Hold)
		for rest := m.Hold.GPUs; rest != 0; rest &= rest - 1 {
			gpu := bits.TrailingZeros64(rest)
			switch {
			case m.Node.GPUs[gpu].Get().Staged != nil:
				m.Node.Spec.GPUs[gpu].Mode = mode // of several for which it could be
				gp.repartition(rep, m.Node, gpu, berth.Cause{Code: berth.CauseGeometry})
			case m.Node.Spec.GPUs[gpu].Mode != mode:
				gp.Stage(m.Node, gpu, record.Partitioning{Mode: mode})
				gp.repartition(rep, m.Node, gpu, berth.Cause{Code: berth.CauseMode})
			}
			if p := m.Node.GPUs[gpu].Get().Order(); p != nil {
				after = append(after, p.Order.ID)
			}
		}
		gp.gave(m.Node, &m.Hold)
	}
	slices.Sort(after)
	return slices.Compact(after)
}

// Stage has the core look at a GPU as it could be, until it is ordered so, or until
// unstage.
func (gp *GPUs) Stage(n *record.Node, gpu int, to record.Partitioning) {
	was := n.Partitioning(gpu)
	n.GPUs[gpu].Note().Staged = &was
	n.SetPartitioning(gpu, to)
	if was.Mode == berth.GPUModeMIG || to.Mode == berth.GPUModeMIG {
		gp.Divide(n, gpu)
	}
}

// Unstage takes Stage back.
func (gp *GPUs) Unstage(n *record.Node, gpu int) {
	was := n.GPUs[gpu].Get().Staged
	n.GPUs[gpu].Note().Staged = nil
	n.SetPartitioning(gpu, *was)
	gp.Divide(n, gpu)
}

// repartition orders a GPU to become what is staged, for a replica or for nobody.
func (gp *GPUs) repartition(rep *record.Replica, n *record.Node, gpu int, cause berth.Cause) {
	s := n.GPUs[gpu].Note()
	before, after := *s.Staged, n.Partitioning(gpu)
	s.Staged = nil
	p := &record.Repartition{Node: n, Before: before, Order: berth.Repartition{
		OrderHeader: gp.state.Order(rep, gp.state.Config.Policy.RepartitionTimeout, cause),
		Node:        n.Spec.ID, GPU: gpu, Mode: after.Mode,
		Destroy: without(before.Instances, after.Instances), Create: without(after.Instances, before.Instances),
	}}
	s.Become(record.GPUOrdered, p)
	gp.openRepartition(p)
	gp.state.Emit(p.Order)
	gp.state.Totals.Repartitions++
	if p.TouchesMIG() {
		s.ChangedAt = max(gp.state.Now, 1) // 0 is none
		gp.catalogue.Pool(n.Spec.Pool).Note(gp.state.Now)
		gp.NoteLayout(n, gpu)
	}
}

// without lists what is in one list and not in another.
func without(list, other []mig.Placement) []mig.Placement {
	var rest []mig.Placement
	for _, p := range list {
		if !slices.Contains(other, p) {
			rest = append(rest, p)
		}
	}
	return rest
}

func (gp *GPUs) openRepartition(p *record.Repartition) {
	gp.Repartitions[p.Order.ID] = p
	p.Node.Altered = true
	gp.state.SetTimer(record.Timer{At: p.Order.Deadline, Kind: record.TimerRepartition, Repartition: p})
}

// closeRepartition ends an order about a GPU, on a signal of what came of it.
func (gp *GPUs) closeRepartition(p *record.Repartition, on record.GPUSignal) {
	delete(gp.Repartitions, p.Order.ID)
	p.Node.GPUs[p.Order.GPU].Note().Become(on, p)
	gp.state.StopTimer(record.Timer{At: p.Order.Deadline, Kind: record.TimerRepartition, Repartition: p})
}

// RepartitionReported is the end of an order about a GPU.
func (gp *GPUs) RepartitionReported(p *record.Repartition, e *berth.OrderReported) *berth.Error {
	switch {
	case len(e.Members) > 0:
		return refusal.Of(berth.ErrInvalid, "members", "the order is for a GPU and has no members")
	case e.Outcome == berth.OutcomePartial:
		return refusal.Of(berth.ErrInvalid, "outcome", "a repartition succeeds or fails as a whole; report failed, and any other state of the GPU with gpuPartitioned")
	case e.Outcome > berth.OutcomePartial:
		return refusal.Of(berth.ErrInvalid, "outcome", fmt.Sprintf("%d is out of range", e.Outcome))
	case e.Outcome == berth.OutcomeFailed && gp.provenDone(p):
		return refusal.Of(berth.ErrConflict, "outcome", "a member runs on what was ordered")
	}
	gp.closeRepartition(p, record.GPUReported)
	if e.Outcome == berth.OutcomeFailed {
		gp.revert(p, values.Detail(fmt.Sprintf("GPU %d of node %s was not repartitioned", p.Order.GPU, p.Order.Node), e.Reason))
	}
	gp.books.SettleGPU(p.Node, p.Order.GPU)
	gp.state.Freed(p.Node)
	return nil
}

// provenDone reports whether a member runs, or ran and is being stopped, that needs what
// was ordered.
func (gp *GPUs) provenDone(p *record.Repartition) bool {
	return slices.ContainsFunc(p.Node.Members, func(at record.MemberAt) bool {
		m := &at.Rep.Members[at.Index]
		return m.Ran && p.Needs(&m.Hold)
	})
}

// ExpireRepartition handles an order about a GPU that was not reported by its deadline. It may
// have been carried out all the same: then members that need it may be coming up. Like those of
// an expired Bind they hold what they hold until their own order is over, and nobody else
// gets the GPU.
func (gp *GPUs) ExpireRepartition(p *record.Repartition) {
	on := record.GPUExpired
	switch {
	case gp.provenDone(p):
		on = record.GPUProven
	case gp.needed(p):
		on = record.GPUExpiredHeld
	}
	gp.closeRepartition(p, on)
	gp.state.Totals.OrdersExpired++
	if on != record.GPUProven {
		gp.backlog.EndGangReservationsOn(p.Node)
		gp.agenda.Lessen()
	}
	if on == record.GPUExpired {
		gp.undo(p)
	}
	gp.books.SettleGPU(p.Node, p.Order.GPU)
	gp.state.Freed(p.Node)
}

// needed reports whether a member holds what was ordered.
func (gp *GPUs) needed(p *record.Repartition) bool {
	return slices.ContainsFunc(p.Node.Members, func(at record.MemberAt) bool {
		return p.Needs(&at.Rep.Members[at.Index].Hold)
	})
}

// Prove notes that the members of a replica which run prove what was ordered of their GPUs and
// not reported in time.
func (gp *GPUs) Prove(rep *record.Replica) {
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if m.State != record.MemberRunning {
			continue
		}
		for rest := m.Hold.GPUs; rest != 0; rest &= rest - 1 {
			gpu := bits.TrailingZeros64(rest)
			if p := m.Node.GPUs[gpu].Get().Overdue(); p != nil && p.Needs(&m.Hold) {
				gp.know(m.Node, gpu, record.GPUProven)
				gp.books.SettleGPU(m.Node, gpu)
				gp.state.Freed(m.Node)
				gp.agenda.Grew(gp.state.Now)
			}
		}
	}
}

// undo describes a GPU as it was before an order that is closed.
func (gp *GPUs) undo(p *record.Repartition) {
	p.Node.SetPartitioning(p.Order.GPU, p.Before)
	gp.Divide(p.Node, p.Order.GPU)
	gp.NoteLayout(p.Node, p.Order.GPU)
}

// revert makes a GPU what it was before an order that has failed. Members that need what
// was ordered hold nothing any more: what they hold does not exist.
func (gp *GPUs) revert(p *record.Repartition, why string) {
	n := p.Node
	gp.backlog.EndGangReservationsOn(n)
	cause := berth.Cause{Code: berth.CauseRepartitionFailed, Detail: why}
	hit := gp.books.Lose(n, cause, func(m *record.Member) bool { return p.Needs(&m.Hold) })
	gp.undo(p)
	gp.agenda.Lessen()
	for _, rep := range hit {
		rep.Shun(n.Spec.ID)
	}
	gp.life.SettleAll(hit, cause)
}

// dropRepartitions ends the orders about the GPUs of a node that goes.
func (gp *GPUs) dropRepartitions(n *record.Node) {
	for g := range n.GPUs {
		if p := n.GPUs[g].Get().Order(); p != nil {
			gp.closeRepartition(p, record.GPULost)
		}
	}
}

// Abandon ends an order about a GPU that failed: nobody knows how far it came.
func (gp *GPUs) Abandon(n *record.Node, gpu int) {
	if p := n.GPUs[gpu].Get().Order(); p != nil {
		gp.closeRepartition(p, record.GPULost)
	} else {
		gp.know(n, gpu, record.GPULost)
	}
}

// RemoveNode takes a node on which nothing is held out of the fleet.
func (gp *GPUs) RemoveNode(n *record.Node) {
	gp.state.CountAs(n, false)
	for _, res := range n.Reservations {
		res.Remove(n)
	}
	gp.upkeep.SetDraining(n, false)
	gp.upkeep.Forget(n)
	gp.books.Recount(n, record.Capacity{})
	gp.dropRepartitions(n)
	for g := range n.GPUs {
		gp.backlog.Lapse(n, g)
	}
	gp.Astray = slices.DeleteFunc(gp.Astray, func(at GPUAt) bool { return at.node == n })
	gp.CountPliable(n, -1)
	gp.books.RemoveNode(n)
	gp.state.RemoveNode(n)
	gp.catalogue.Graphs.Release(n.Graph)
	gp.books.ReleaseProduct(n.Product)
	if n.Table != nil {
		n.Table.Nodes--
	}
}

// gave notes that members got instances.
func (gp *GPUs) gave(n *record.Node, h *gang.Hold) {
	if h.Instance == (mig.Placement{}) {
		return
	}
	if p, ok := n.Table.Lattice.ProfileIndex(h.Instance.Profile); ok && n.Table.Recent[p] < 1<<30 {
		n.Table.Recent[p] += catalogue.DemandUnit
	}
}
