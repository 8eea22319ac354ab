package backlog

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/unordered"
)

// One end of a reservation brings others. The victims of a preemption that ends go on. A gang
// that goes on needs no other place, so its move ends; it keeps what others counted on, so their
// plans end. Where a move ends that was for another gang, the preemption of that one ends too.
// These functions call each other in a circle, and stand together for that.

// EndReservation ends a reservation. What is free on its nodes is so for all.
func (bl *Backlog) EndReservation(res *record.Reservation) {
	at, _ := slices.BinarySearchFunc(bl.Reservations, res.Name, record.CompareReservationName)
	bl.Reservations = slices.Delete(bl.Reservations, at, at+1)
	bl.agenda.CountReservations(-1)
	if res.Draining {
		bl.agenda.CountDraining(false)
	}
	for _, n := range res.Nodes {
		bl.books.OpenUp(n, res)
	}
	bl.agenda.Grew(bl.state.Now)
	switch {
	case res.IsMove():
		bl.moveEnded(res)
	case res.IsAwaited():
		planned := res.IsPlanned()
		res.MarkEnded()
		bl.Due.NoteEntries(res.Rep)
		if planned {
			bl.endPreemption(res)
		}
		bl.agenda.ReserveNow(bl.state.Now)
	default:
		res.MarkEnded()
		bl.agenda.Changed(bl.state.Now)
	}
	if len(bl.Reservations) == 0 { // nothing is set aside that they could be tried on
		for len(bl.Fresh) > 0 {
			e := bl.Fresh[len(bl.Fresh)-1]
			bl.Unfresh(e)
			if e.Batch != nil {
				e.Batch.Fresh = false
			}
		}
	}
}

// endPreemption lets victims continue that were asked for a checkpoint in vain: the next pass
// withdraws the request. A Release that is out stays out, of a whole victim or of a part.
func (bl *Backlog) endPreemption(res *record.Reservation) {
	p := res.Plan
	if bl.books.Earmarked && !res.Unmarked {
		bl.earmarkFor(res, false)
	}
	bl.agenda.FreedQuota()
	for _, victim := range p.Victims {
		if victim.ClearBeneficiary(res.Rep); victim.Stray() {
			bl.Remain(victim)
		}
	}
	p.Victims = nil
}

// Remain notes that a gang that was asked for a checkpoint need not go: the next pass tells it.
func (bl *Backlog) Remain(rep *record.Replica) {
	bl.RemainBeside(rep)
	bl.endPlansOnNodesOf(rep)
}

// RemainBeside is Remain, but that the plans on its nodes stand until somebody looks at whether
// they hold beside it.
func (bl *Backlog) RemainBeside(rep *record.Replica) {
	bl.state.NoteLeaving(rep, false)
	bl.state.NoteTodo(rep, true)
	bl.EndMove(rep)
}

// EndMove gives up the place that is kept for a gang.
func (bl *Backlog) EndMove(rep *record.Replica) {
	if rep.Moving != nil {
		bl.EndReservation(rep.Moving)
	}
}

// moveEnded sees to a gang that lost its destination. A gang that runs, and was to move for
// another one, stays.
func (bl *Backlog) moveEnded(res *record.Reservation) {
	if bl.books.Earmarked && res.IsPlanned() {
		bl.earmarkFor(res, false)
	}
	rep := res.Rep
	res.MarkEnded()
	bl.agenda.NoteHomeless()
	if rep.Beneficiary != nil && rep.State == berth.ReplicaRunning {
		if res := rep.Beneficiary.PlannedReservation(); res != nil {
			bl.EndReservation(res)
		}
	}
	bl.agenda.Relook(bl.state.Now)
}

// endPlansOnNodesOf ends the preemptions and moves that count on the end of a replica that stays.
func (bl *Backlog) endPlansOnNodesOf(stays *record.Replica) {
	for flat := range stays.Members {
		if m := &stays.Members[flat]; m.State.Holds() {
			for _, res := range slices.Clone(m.Node.Reservations) {
				if res.IsPlanned() {
					bl.EndReservation(res)
				}
			}
		}
	}
}

// Unfresh takes an entry off the list of those yet to be tried on nodes that are set aside.
func (bl *Backlog) Unfresh(e *record.Entry) {
	if e.FreshAt < 0 {
		return
	}
	bl.Fresh = unordered.Remove(bl.Fresh, int(e.FreshAt), func(e *record.Entry, at int) { e.FreshAt = int32(at) })
	bl.agenda.CountFresh(-1)
	e.FreshAt = -1
}

// ClearReservations ends the reservations on some nodes of gangs that rank below the one that
// gets these nodes now.
func (bl *Backlog) ClearReservations(nodes []*record.Node) {
	for _, n := range nodes {
		for _, res := range slices.Clone(n.Reservations) {
			if res.GivesWay() {
				bl.EndReservation(res)
			}
		}
	}
}
