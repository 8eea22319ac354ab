package books

import (
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// Lose ends the holds of those members of a node that are meant, and notes what hardware
// took: what waits for a GPU that did not change has a Bind out, and its report tells of it. It
// returns the replicas it hit, in order, for Life.SettleAll.
func (bk *Books) Lose(n *record.Node, cause berth.Cause, meant func(*record.Member) bool) []*record.Replica {
	var lost []lostMember
	for _, at := range n.Members {
		m := &at.Rep.Members[at.Index]
		if !meant(m) {
			continue
		}
		on := record.MemberLeft
		if at.Rep.State == berth.ReplicaBinding || at.Rep.State == berth.ReplicaRepairing || m.State == record.MemberBinding {
			on = record.MemberLostEarly
		}
		lost = append(lost, lostMember{at, bk.state.PlacementOf(at.Rep, at.Index), m.State, on})
	}
	slices.SortFunc(lost, lostMember.compare) // those of a node are in no order, and a scorer is told of each
	for _, m := range lost {
		bk.Unbook(m.Rep, m.Index, m.on)
	}
	return bk.noteLost(lost, cause)
}

// SettleGPU has the fleet know whether a GPU takes newcomers. One that is on its way to
// whole use or shares, and that nobody holds, does not: another mode may be wanted next.
func (bk *Books) SettleGPU(n *record.Node, gpu int) {
	g, s := &n.Spec.GPUs[gpu], n.GPUs[gpu].Get()
	empty := s.Order() != nil && g.Mode != berth.GPUModeMIG && !n.Holds(gpu)
	bk.state.Fleet.SetHealthy(n.Index, gpu, !g.Failed && !s.Unknown() && s.GPUHold == nil && !empty)
}

// settleGPUs is SettleGPU for those of a hold about which an order is out.
func (bk *Books) settleGPUs(n *record.Node, h *gang.Hold) {
	for rest := h.GPUs; rest != 0; rest &= rest - 1 {
		if g := bits.TrailingZeros64(rest); n.GPUs[g].Get().Order() != nil {
			bk.SettleGPU(n, g)
		}
	}
}

// Book records a hold that the fleet has already granted: the member takes its
// place on a signal, the queue is charged.
func (bk *Books) Book(rep *record.Replica, flat int, hold gang.Hold, on record.MemberSignal) {
	bk.BookSaved(rep, flat, hold, rep.Members[flat].Next(on))
}

// BookSaved is Book for a member that was in some state when it was saved.
func (bk *Books) BookSaved(rep *record.Replica, flat int, hold gang.Hold, state record.MemberState) {
	var b bill
	b.add(rep, &hold, bk.state.Nodes[hold.Node])
	bk.enter(rep, flat, hold, state)
	bk.charge(rep, &b, 1)
}

// BookRun is Book for members on nodes of one product that come to bind, charged at once: what
// they cost together is known from the limits.
func (bk *Books) BookRun(rep *record.Replica, flats []int, members []gang.Member, charge quota.Charge) {
	b := bill{charge: charge, usedMilli: charge.GPUMilli}
	for i, flat := range flats {
		b.node = bk.state.Nodes[members[i].Hold.Node]
		used := int64(0)
		if rep.ActiveMilli > 0 || members[i].Hold.Share.Over { // it runs, and grows; or the GPU is charged to another
			used = record.UsedMilli(&members[i].Hold, b.node)
		}
		if members[i].Hold.Share.Over {
			b.usedMilli += used
		}
		b.activeMilli += activeOf(rep, used)
		bk.enter(rep, flat, members[i].Hold, rep.Members[flat].Next(record.MemberPlaced))
	}
	bk.charge(rep, &b, 1)
}

func (bk *Books) enter(rep *record.Replica, flat int, hold gang.Hold, state record.MemberState) {
	n := bk.state.Nodes[hold.Node]
	rep.Members[flat].Take(state, hold, n)
	n.Members = append(n.Members, record.MemberAt{Rep: rep, Index: flat})
	bk.state.NoteChanged(n.Index)
	if !bk.Restoring {
		bk.scoring.Held(rep, flat, &hold)
	}
	if n.Trust.HotSpare {
		bk.agenda.WantSpares()
	}
	bk.settleGPUs(n, &hold)
	bk.recountUse(n)
	bk.catalogue.Owners.UseShare(hold.Share)
	bk.noteLending(rep, n, &hold)
}

// Unbook frees what a member holds, and wakes the entries that could use it.
func (bk *Books) Unbook(rep *record.Replica, flat int, on record.MemberSignal) {
	n := rep.Members[flat].Node
	bk.Vacate(rep, flat, on)
	bk.state.Freed(n)
	bk.agenda.FreedQuota()
}

// Vacate undoes Book, on a signal after which the member holds nothing.
func (bk *Books) Vacate(rep *record.Replica, flat int, on record.MemberSignal) {
	var b bill
	b.add(rep, &rep.Members[flat].Hold, rep.Members[flat].Node)
	bk.leave(rep, flat, on)
	bk.charge(rep, &b, -1)
	bk.recountUse(b.node)
}

func (bk *Books) leave(rep *record.Replica, flat int, on record.MemberSignal) {
	bk.Lend(rep, flat, 0)
	m := rep.Members[flat]
	bk.noteLending(rep, m.Node, &m.Hold)
	invariant.Must(bk.state.Fleet.Release(m.Hold))
	bk.scoring.Released(rep, flat, &m.Hold)
	m.Node.Leave(m.Slot)
	bk.state.NoteChanged(m.Node.Index)
	bk.catalogue.Owners.ReleaseShare(m.Hold.Share)
	rep.Members[flat].Leave(on)
	bk.settleGPUs(m.Node, &m.Hold)
	if m.Beneficiary != nil {
		rep.NoLongerVictimOf(m.Beneficiary)
	}
}

// UnbookAll is Unbook for every member in one of the given states.
func (bk *Books) UnbookAll(rep *record.Replica, on record.MemberSignal, in ...record.MemberState) {
	var b bill
	left := bk.left[:0]
	for flat := range rep.Members {
		m := &rep.Members[flat]
		switch {
		case !slices.Contains(in, m.State):
		case !m.State.Holds():
			m.Leave(on)
		default:
			n := m.Node
			if !b.takes(&m.Hold, n) {
				bk.charge(rep, &b, -1)
				b = bill{}
			}
			b.add(rep, &m.Hold, n)
			bk.leave(rep, flat, on)
			left = append(left, n)
		}
	}
	if len(left) > 0 {
		bk.charge(rep, &b, -1)
		bk.agenda.FreedQuota()
	}
	for _, n := range left {
		bk.recountUse(n)
		bk.state.Freed(n)
	}
	bk.left = left
}
