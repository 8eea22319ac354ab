package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// Earmark charges beneficiaries with what they will hold, and gangs that move with their
// shortfall; off, it discharges them. The charge stands from the time at which a pass has started
// all that could start until the pass is over, so that no other job starts on the quota that
// victims free. Holds may exceed a limit while victims hold something as well; other jobs wait
// then.
func (bl *Backlog) Earmark(on bool) {
	bl.earmarkAll(on)
	bl.books.CountEarmarks(on)
}

// Affords reports whether a queue may be charged, with what is earmarked for others and
// without: an earmark may be borne by what the queue keeps for itself, which it goes on
// to keep until it uses it. And it may be so when all are gone that are on their way out: what
// their queues use of what they keep for themselves, they keep free then, and the plans count
// on that.
func (bl *Backlog) Affords(q quota.QueueIndex, charge quota.Charge) bool {
	_, ok := bl.state.Quota.Fits(q, charge)
	if !ok || !bl.books.Earmarked || bl.books.Keeping == 0 || !slices.ContainsFunc(bl.Reservations, func(res *record.Reservation) bool { return res.IsPlanned() && !res.Unmarked }) {
		return ok
	}
	bl.earmarkAll(false)
	_, ok = bl.state.Quota.Fits(q, charge)
	bl.earmarkAll(true)
	return ok && bl.affordsWithoutLeaving(q, charge)
}

// affordsWithoutLeaving reports whether a queue may be charged beside all but what is on its way
// out.
func (bl *Backlog) affordsWithoutLeaving(q quota.QueueIndex, charge quota.Charge) bool {
	var gone []record.Piece
	bl.state.Leaving.Ascend(func(rep *record.Replica) bool {
		if !rep.Imagined {
			gone = append(gone, bl.state.Going(rep))
		}
		return true
	})
	for _, p := range gone {
		bl.books.DischargeAll(p)
	}
	_, ok := bl.state.Quota.Fits(q, charge)
	for _, p := range slices.Backward(gone) {
		bl.books.ChargeAll(p)
	}
	return ok
}

// AffordsAll reports whether a queue may be charged with a list of charges together.
func (bl *Backlog) AffordsAll(q quota.QueueIndex, charges []quota.Charge) bool {
	done := 0
	for ; done < len(charges) && bl.Affords(q, charges[done]); done++ {
		bl.books.Charge(q, charges[done])
	}
	for _, charge := range charges[:done] {
		bl.books.Discharge(q, charge)
	}
	return done == len(charges)
}

// earmarkAll is earmarkFor for all, but for the one that is tried just now.
func (bl *Backlog) earmarkAll(on bool) {
	for _, res := range bl.Reservations {
		if res.IsPlanned() && !res.Unmarked {
			bl.earmarkFor(res, on)
		}
	}
}

func (bl *Backlog) earmarkFor(res *record.Reservation, on bool) {
	for i, charge := range res.Plan.Charges {
		if res.IsMove() {
			charge = res.Rep.Shortfall(res.Plan.Charges, i)
		}
		if on {
			bl.books.Charge(res.Rep.Job.Queue, charge)
		} else {
			bl.books.Discharge(res.Rep.Job.Queue, charge)
		}
	}
}

// Attach holds a GPU for a replica: from then on it takes nobody else.
func (bl *Backlog) Attach(d *record.GPUHold) {
	d.Rep.GPUHold = d
	d.Node.GPUs[d.GPU].Note().GPUHold = d
	at, _ := slices.BinarySearchFunc(bl.GPUHolds, d, record.CompareGPUHolds)
	bl.GPUHolds = slices.Insert(bl.GPUHolds, at, d)
	bl.books.SettleGPU(d.Node, d.GPU)
}

// Lapse ends the hold of a GPU, if there is one.
func (bl *Backlog) Lapse(n *record.Node, gpu int) {
	if d := n.GPUs[gpu].Get().GPUHold; d != nil {
		bl.EndGPUHold(d)
	}
}

// EndGPUHold opens a GPU again.
func (bl *Backlog) EndGPUHold(d *record.GPUHold) {
	i := slices.Index(bl.GPUHolds, d)
	bl.GPUHolds = slices.Delete(bl.GPUHolds, i, i+1)
	d.Rep.GPUHold = nil
	d.Node.GPUs[d.GPU].Note().GPUHold = nil
	bl.books.SettleGPU(d.Node, d.GPU)
	bl.state.Reopened(d.Node)
}
