package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// An imagination is the fleet and the quota tree as they will be: without victims and departing
// members, and with beneficiaries. It is made on the fleet and the tree themselves; forgetting it
// leaves no trace.
type imagination struct {
	core *Evict
	// departing is what is on its way out anyway; gone is what is left out beside it.
	departing *books.Bill
	gone      []record.Piece
	here      []record.Imagined
	// VictimSearches is how many searches may yet be made in it.
	VictimSearches int
	// first: the bid in progress is the first of its pass, so that all of them were for it.
	first bool
	// replies of the searches in it that were in vain.
	replies victim.Replies
}

// imagineAll imagines what is to come, and ends what cannot come true.
func (ev *Evict) imagineAll() *imagination {
	for {
		im, broken := ev.Imagine()
		if len(broken) == 0 {
			return im
		}
		im.Forget()
		for _, w := range broken { // others may have counted on that
			if w.CountsOnNodes() {
				ev.backlog.EndReservation(w)
			}
		}
	}
}

// Imagine leaves out departing members and puts in beneficiaries. It returns the reservations
// of which the plan does not hold any more.
func (ev *Evict) Imagine() (im *imagination, broken []*record.Reservation) {
	im = &imagination{core: ev, departing: &ev.departing, here: ev.here}
	ev.books.Together(func() {
		ev.state.Leaving.Ascend(func(rep *record.Replica) bool {
			p := ev.state.Going(rep)
			im.departs(p, -1)
			im.departing.Add(p)
			ev.books.Vanish(p)
			return true
		})
		ev.books.DischargeBill(im.departing)
		for _, w := range ev.backlog.Reservations {
			if w.IsPlanned() && !im.putIn(w.Rep.Job.Queue, w.Plan.Where) {
				broken = append(broken, w)
			}
		}
	})
	return im, broken
}

// departs is count for what is on its way out. What may be taken back is the same with a whole gang
// of those and without: it notes only where a gang gives a part of its members. What is among the
// lots runs, and has no surplus.
func (im *imagination) departs(p record.Piece, change int64) {
	switch {
	case p.Whole() && p.Rep.RunsMilli > 0:
		im.core.books.CountLot(p.Rep, change)
	case p.Rep.State == berth.ReplicaRunning:
		im.count(p, change)
	}
}

// leaveOut imagines a part of a replica gone, for good.
func (im *imagination) leaveOut(p record.Piece) {
	im.count(p, -1)
	im.core.books.Vanish(p)
	im.core.books.DischargeAll(p)
	im.gone = append(im.gone, p)
}

// count counts a part of a replica among what runs, or not any more.
func (im *imagination) count(p record.Piece, change int64) {
	im.core.state.NoteChangedBy(p)
	if p.Whole() && p.Rep.State == berth.ReplicaRunning && !p.Rep.Job.IsElastic() {
		im.core.books.CountLot(p.Rep, change)
	}
}

// takesFrom reports whether a replica, or a part of it, is imagined gone.
func (im *imagination) takesFrom(rep *record.Replica) bool {
	return rep.Imagined || slices.ContainsFunc(rep.Members, func(m record.Member) bool { return m.Imagined })
}

// bringBack undoes leaveOut for the one that was left out last.
func (im *imagination) bringBack() {
	last := len(im.gone) - 1
	im.core.books.ChargeAll(im.gone[last])
	im.core.books.Reappear(im.gone[last])
	im.count(im.gone[last], 1)
	im.gone = im.gone[:last]
}

// putIn imagines a gang where it is planned to be. It reports false if that is not free.
func (im *imagination) putIn(q quota.QueueIndex, members []gang.Member) bool {
	c := im.core
	if !c.books.Hold(members) {
		return false
	}
	for i := range members {
		c.state.Nodes[members[i].Hold.Node].Planned++
		c.books.Charge(q, record.ChargeOf(&members[i].Hold, c.state.Nodes[members[i].Hold.Node]))
	}
	im.here = append(im.here, record.Imagined{Queue: q, Members: members})
	return true
}

// takeOut undoes putIn for the gang that was put in last.
func (im *imagination) takeOut() {
	c, last := im.core, len(im.here)-1
	gang := im.here[last]
	im.here = im.here[:last]
	for i := range gang.Members {
		h := &gang.Members[i].Hold
		c.books.Discharge(gang.Queue, record.ChargeOf(h, c.state.Nodes[h.Node]))
		c.books.Release(*h)
		c.state.Nodes[h.Node].Planned--
	}
}

// Forget brings back what is.
func (im *imagination) Forget() {
	im.core.books.Together(func() {
		im.backTo(record.Extent{})
		im.core.books.ChargeBill(im.departing)
		for _, p := range im.departing.Pieces() {
			im.core.books.Reappear(p)
			im.departs(p, 1)
		}
	})
	im.departing.Clear()
	clear(im.here[:cap(im.here)])
	im.core.here = im.here[:0]
}

func (im *imagination) extent() record.Extent {
	return record.Extent{Gone: len(im.gone), Here: len(im.here)}
}

// backTo undoes what was imagined since.
func (im *imagination) backTo(e record.Extent) {
	for len(im.here) > e.Here {
		im.takeOut()
	}
	for len(im.gone) > e.Gone {
		im.bringBack()
	}
}
