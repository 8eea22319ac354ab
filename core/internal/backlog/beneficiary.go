package backlog

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// NewPlan begins a plan for a gang.
func (bl *Backlog) NewPlan(rep *record.Replica, where []gang.Member) *record.Plan {
	return &record.Plan{Where: where, Charges: bl.ChargesOf(rep, where)}
}

// ChargesOf is what members of a replica are charged, in one sum for each product.
func (bl *Backlog) ChargesOf(rep *record.Replica, members []gang.Member) (charges []quota.Charge) {
	for i := range members {
		charge := rep.ChargeOf(&members[i].Hold, bl.state.Nodes[members[i].Hold.Node])
		at := slices.IndexFunc(charges, func(sum quota.Charge) bool { return sum.Product == charge.Product })
		if at < 0 {
			at = len(charges)
			charges = append(charges, quota.Charge{Product: charge.Product, NonPreemptible: charge.NonPreemptible})
		}
		charges[at] = charges[at].Plus(charge)
	}
	return charges
}

// EachPlanned calls a function for what the pieces will be charged, in thousandths of a GPU, of
// each gang of a queue or below it that has its place reserved, but for one: what goes one by
// one, and the minimum in one piece.
func (bl *Backlog) EachPlanned(at quota.QueueIndex, but *record.Replica, use func(milli int64)) {
	for _, res := range bl.Reservations {
		if !res.IsPlanned() || res.Rep == but || !bl.state.Quota.Below(res.Rep.Job.Queue, at) {
			continue
		}
		groups, grows := res.Rep.Job.Spec.Groups, res.IsAwaited() && res.Rep.State == berth.ReplicaRunning
		left := make([]int, len(groups))
		for i := range res.Plan.Where {
			left[res.Plan.Where[i].Group]++
		}
		sum, unit := int64(0), int64(0)
		for i := range res.Plan.Where {
			m := &res.Plan.Where[i]
			g := &groups[m.Group]
			milli := record.ChargeOf(&m.Hold, bl.state.Nodes[m.Hold.Node]).GPUMilli
			least := record.Least(g)
			if grows { // it has its minimum
				least = 0
			}
			if left[m.Group] <= least {
				sum += milli
				continue
			}
			unit += milli
			if left[m.Group]--; (left[m.Group]-least)%record.UnitOf(g) == 0 {
				use(unit)
				unit = 0
			}
		}
		use(sum)
	}
}

// EntryOf is the entry for which a gang has a reservation: that of what its job is, or of one that
// grows, that of the group in its plan.
func (bl *Backlog) EntryOf(res *record.Reservation) *record.Entry {
	for _, e := range res.Rep.Entries {
		if e.Grows && e.Part() == res.Plan.Where[0].Group {
			return e
		}
	}
	return res.Rep.Entry()
}

// InTheWay reports whether a node on which a beneficiary is planned has come to be set aside
// for another job.
func (bl *Backlog) InTheWay(rep *record.Replica, p *record.Plan) bool {
	end := bl.state.EndIfPlaced(rep)
	return slices.ContainsFunc(p.Where, func(m gang.Member) bool {
		return slices.ContainsFunc(bl.state.Nodes[m.Hold.Node].Reservations, func(res *record.Reservation) bool {
			return !res.IsPlanned() && !bl.Admits(res, rep, end)
		})
	})
}

// CallOff ends the preemptions that the policy does not allow any more. A victim that is being
// stopped already is stopped all the same.
func (bl *Backlog) CallOff() {
	mode := bl.state.Config.Policy.Preemption.Mode
	for _, res := range slices.Clone(bl.Reservations) {
		if res.IsAwaitedPlan() && (mode == berth.PreemptionOff || mode == berth.PreemptionReclaim && res.Plan.WithinQueue(res.Rep)) {
			bl.EndReservation(res)
		}
	}
}

// Intrude ends the preemptions and moves that planned with what somebody has come to hold, as
// the world told.
func (bl *Backlog) Intrude(n *record.Node, h *gang.Hold) {
	for _, res := range slices.Clone(n.Reservations) {
		if res.IsPlanned() && slices.ContainsFunc(res.Plan.Where, func(m gang.Member) bool {
			return m.Hold.Node == h.Node && m.Hold.GPUs&h.GPUs != 0
		}) {
			bl.EndReservation(res)
		}
	}
}
