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

// This file is about what a search for victims takes for given: not the fleet of now, but that of
// the moment in which all that is under way is over.
//
// The law. With R what runs, D what is on its way out, P the members of planned beneficiaries, and
// for the bids of one pass, in policy order, V1, V2, ... their victims and B1, B2, ... their
// beneficiaries, the search for bid n sees
//
//	R - D + P - (V1 + ... + Vn-1) + (B1 + ... + Bn-1)
//
// on nodes and in quota alike, and no victim is taken twice. A plan of P that does not fit into
// R - D + P is broken, and ends before any search. After the last bid the fleet and the tree are R
// again, to the bit: Forget undoes each step in the reverse order.
//
// The case: two gangs wait, and victims are on their way out for the first. On R alone, a search
// for the second would find the same victims, or others where the first ones leave enough for both.
//
// Rejected: to copy the fleet and the tree for each pass. A copy costs time and memory by the size
// of the fleet, and a step here by the size of a gang. The price is that nothing else may look
// between Imagine and Forget: no order is given and no event applied in between.

// An imagination is the fleet and the quota tree as they will be: without victims and departing
// members, and with beneficiaries. It is made on the fleet and the tree themselves; forgetting it
// leaves no trace.
type imagination struct {
	evict *Evict
	// departing is what is on its way out anyway; gone is what is left out beside it. shrinking are
	// those that run and are in no size: what may be taken back is the same with a whole gang on
	// its way out and without, and not where it gives a part of its members.
	departing *books.Bill
	shrinking []record.Piece
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
		for _, res := range broken { // others may have counted on that
			if res.CountsOnNodes() {
				ev.backlog.EndReservation(res)
			}
		}
		ev.books.TellDemands() // while nothing is imagined
	}
}

// EndBroken ends the plans that do not hold as things are.
func (ev *Evict) EndBroken() { ev.imagineAll().Forget() }

// Imagine leaves out departing members and puts in beneficiaries. It returns the reservations
// of which the plan does not hold any more.
func (ev *Evict) Imagine() (im *imagination, broken []*record.Reservation) {
	im = &imagination{evict: ev, departing: &ev.departing, here: ev.here}
	ev.books.Together(func() {
		ev.state.Leaving.Ascend(func(rep *record.Replica) bool {
			p := ev.state.Going(rep)
			im.departing.Add(p)
			if !p.IsSized() && rep.State == berth.ReplicaRunning {
				im.shrinking = append(im.shrinking, p)
			}
			return true
		})
		for _, p := range im.shrinking {
			im.count(p, -1)
		}
		ev.books.VanishAll(im.departing)
		for _, res := range ev.backlog.Reservations {
			if res.IsPlanned() && !im.putInCharged(res.Rep.Job.Queue, res.Plan.Where, res.Plan.Charges) {
				broken = append(broken, res)
			}
		}
	})
	return im, broken
}

// worth is the work of imagining what is to come and of forgetting it, in victim searches: half of
// those after which a pass looks for no other entry at the most, so that each pass gets ahead with
// the bids, too.
func (im *imagination) worth() int {
	return min((im.departing.Len()+len(im.here))/imaginedLikeOne, im.evict.state.Bounds.VictimSearches/16)
}

// imaginedLikeOne is how many gangs and parts of gangs imagined take as long as a victim search,
// with room to spare.
const imaginedLikeOne = 64

// leaveOut imagines a part of a replica gone, for good.
func (im *imagination) leaveOut(p record.Piece) {
	im.count(p, -1)
	im.evict.books.Vanish(p)
	im.evict.books.DischargeAll(p)
	im.gone = append(im.gone, p)
}

// count counts a part of a replica among what runs, or not any more.
func (im *imagination) count(p record.Piece, change int64) {
	im.evict.state.NoteChangedBy(p)
	if p.Whole() && p.Rep.State == berth.ReplicaRunning && !p.Rep.Job.IsElastic() {
		im.evict.books.CountSize(p.Rep, change)
	}
}

// takesFrom reports whether a replica, or a part of it, is imagined gone.
func (im *imagination) takesFrom(rep *record.Replica) bool {
	return rep.Imagined || slices.ContainsFunc(rep.Members, func(m record.Member) bool { return m.Imagined })
}

// bringBack undoes leaveOut for the one that was left out last.
func (im *imagination) bringBack() {
	last := len(im.gone) - 1
	im.evict.books.ChargeAll(im.gone[last])
	im.evict.books.Reappear(im.gone[last])
	im.count(im.gone[last], 1)
	im.gone = im.gone[:last]
}

// putIn imagines a gang where it is planned to be. It reports false if that is not free.
func (im *imagination) putIn(rep *record.Replica, members []gang.Member) bool {
	return im.putInCharged(rep.Job.Queue, members, im.evict.backlog.ChargesOf(rep, members))
}

// putInCharged is putIn of a gang that is charged for so much.
func (im *imagination) putInCharged(q quota.QueueIndex, members []gang.Member, charges []quota.Charge) bool {
	c := im.evict
	if !c.books.Hold(members) {
		return false
	}
	for i := range members {
		c.state.Nodes[members[i].Hold.Node].Planned++
	}
	for _, charge := range charges {
		c.books.Charge(q, charge)
	}
	im.here = append(im.here, record.Imagined{Queue: q, Members: members, Charges: charges})
	return true
}

// takeOut undoes putIn for the gang that was put in last.
func (im *imagination) takeOut() {
	c, last := im.evict, len(im.here)-1
	gang := im.here[last]
	im.here = im.here[:last]
	for _, charge := range gang.Charges {
		c.books.Discharge(gang.Queue, charge)
	}
	for i := range gang.Members {
		c.state.Nodes[gang.Members[i].Hold.Node].Planned--
	}
	c.books.GiveBack(gang.Members)
}

// Forget brings back what is.
func (im *imagination) Forget() {
	im.evict.books.Together(func() {
		im.backTo(record.Extent{})
		im.evict.books.ReappearAll(im.departing)
		for _, p := range im.shrinking {
			im.count(p, 1)
		}
	})
	im.departing.Clear()
	clear(im.here[:cap(im.here)])
	im.evict.here = im.here[:0]
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
