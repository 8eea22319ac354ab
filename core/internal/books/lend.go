package books

import (
	"math/bits"

	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// Lend lends so much of the memory of each GPU that a member holds whole; 0: nothing any more. What
// stands over them stays until it is stopped.
func (bk *Books) Lend(rep *record.Replica, flat int, memoryMiB int64) {
	m := &rep.Members[flat]
	if (m.Lent != 0) == (memoryMiB > 0) {
		return
	}
	if memoryMiB > 0 {
		m.Lent = bk.catalogue.Owners.Retain(catalogue.OwnerKey{TrustDomain: rep.Job.TrustDomain(), Lent: true})
		invariant.Must(bk.state.Fleet.Lend(m.Hold.Node, m.Hold.GPUs, m.Lent, memoryMiB))
		bk.state.Freed(m.Node)
		return
	}
	invariant.Must(bk.state.Fleet.Lend(m.Hold.Node, m.Hold.GPUs, 0, 0))
	bk.catalogue.Owners.Release(m.Lent)
	m.Lent = 0
}

// EachBorrower calls a function for each member that stands over one of the GPUs of a node.
func (bk *Books) EachBorrower(n *record.Node, gpus uint64, use func(*record.Replica, *record.Member)) {
	if bk.state.Fleet.Borrowed(n.Index)&gpus == 0 {
		return
	}
	for _, at := range n.Members {
		if m := &at.Rep.Members[at.Index]; m.Hold.Share.Over && m.Hold.GPUs&gpus != 0 {
			use(at.Rep, m)
		}
	}
}

// LenderOf is the member that holds the GPU whole over which another stands, and its replica; nil:
// nobody holds it.
func (bk *Books) LenderOf(m *record.Member) (*record.Replica, *record.Member) {
	for _, at := range m.Node.Members {
		if o := &at.Rep.Members[at.Index]; o.Hold.GPUs&m.Hold.GPUs != 0 && record.IsWhole(&o.Hold) {
			return at.Rep, o
		}
	}
	return nil, nil
}

// noteLending notes that a replica comes to hold something, or does so no longer: what it lends or
// borrows may be another, and what is borrowed of it.
func (bk *Books) noteLending(rep *record.Replica, n *record.Node, h *gang.Hold) {
	bk.state.NoteLending(rep)
	if record.IsWhole(h) {
		bk.EachBorrower(n, h.GPUs, func(borrower *record.Replica, _ *record.Member) { bk.state.NoteLending(borrower) })
	}
}

// vacate imagines that borrowers leave with the part of a replica that lends to them, or undoes
// that: they are asked to go when it is.
func (bk *Books) vacate(p record.Piece, gone bool) {
	if p.Rep.Job.Spec.Lend == nil {
		return
	}
	p.EachHold(func(h *gang.Hold, n *record.Node) {
		if record.IsWhole(h) {
			bk.state.Fleet.SetVacated(n.Index, h.GPUs, gone)
		}
	})
}

// LentGPUs counts the GPUs of a node that are lent, and those of which a borrower has one.
func (bk *Books) LentGPUs(n *record.Node) (lent, borrowed int) {
	return bits.OnesCount64(bk.state.Fleet.Lent(n.Index)), bits.OnesCount64(bk.state.Fleet.Borrowed(n.Index))
}
