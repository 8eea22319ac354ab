package search

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// A move takes a gang from where it runs, or ran, to a place that is kept for it meanwhile:
// the nodes are set aside as in a preemption of which it is the beneficiary itself. Gangs
// move off nodes that are being drained, to make whole what is in pieces for others, and,
// when they have lost hardware, to what is left of their place and others for the rest of
// it; if there are none, what is left is kept until they may bid for the rest. A gang whose
// members died goes back to where it stood, after its backoff: it makes no difference whether one
// of them died, and the others are being stopped, or all did. While a gang still runs, is being
// stopped or backs off, the reservation is rep.moving; when it waits, it is its reservation, like
// any other.

// A Relocation is the destination of a gang; where is nil: there is none now. Barred: the queue of
// the gang does not admit it there.
type Relocation struct {
	Rep    *record.Replica
	Where  []gang.Member
	Barred bool
}

// LetStay lets gangs continue that were asked to leave for a destination that is gone, if they
// can. It reports whether there are any.
func (se *Search) LetStay(found []Relocation) bool {
	some := false
	for _, r := range found {
		if latest := se.latestToLeave(r.Rep); r.Rep.Leaves && r.Where == nil && latest > se.state.Now {
			se.life.Stay(r.Rep)
			se.agenda.MoveBy(latest)
			some = true
		}
	}
	return some
}

// Uprooted lists the gangs that need another place, have none yet and have not had their turn in
// the round, the first in the order of service first.
func (se *Search) Uprooted() []*record.Replica {
	var list []*record.Replica
	se.state.Leaving.Ascend(func(rep *record.Replica) bool {
		if (rep.Moving == nil || rep.Moving.IsPartial()) && (rep.Leaves && !rep.Stops() || rep.Resumes()) && rep.Relocation.Get().SoughtAt != se.agenda.MoveTurn {
			list = append(list, rep)
		}
		return true
	})
	se.state.Returning.Ascend(func(rep *record.Replica) bool {
		if rep.Moving == nil && rep.Relocation.Get().SoughtAt != se.agenda.MoveTurn {
			list = append(list, rep)
		}
		return true
	})
	list = append(list, slices.DeleteFunc(se.drained(), se.surges)...)
	slices.SortFunc(list, compareUprooted)
	return list
}

// surges reports whether a replica that has to leave a node stays until another runs in its place:
// it does as long as there is time.
func (se *Search) surges(rep *record.Replica) bool {
	return rep.Surges() && se.latestToLeave(rep) > se.state.Now
}

// compareUprooted orders gangs that have to leave their places as they are served.
func compareUprooted(a, b *record.Replica) int {
	return cmp.Or(record.CompareRank(b, a), cmp.Compare(a.Turn(), b.Turn()), record.CompareReplicas(a, b))
}

// drained lists the gangs that run on nodes that they have to leave, each once, and are yet to be
// asked.
func (se *Search) drained() (list []*record.Replica) {
	collect := func(n *record.Node) {
		for _, at := range n.Members {
			if !at.Rep.Job.Borrows() && se.state.DrainOn(at.Rep, n).Node != nil {
				list = append(list, at.Rep)
			}
		}
	}
	for _, n := range se.state.Nodes {
		if n != nil && n.Draining {
			collect(n)
		}
	}
	for _, res := range se.backlog.Reservations {
		if res.Draining {
			for _, n := range res.Nodes {
				collect(n)
			}
		}
	}
	slices.SortFunc(list, record.CompareReplicas)
	return slices.DeleteFunc(slices.Compact(list), func(rep *record.Replica) bool { // takes as long as it has members
		return !rep.MayMove() || rep.Relocation.Get().SoughtAt == se.agenda.MoveTurn && se.latestToLeave(rep) > se.state.Now
	})
}

// DecideMove sets a place aside for a gang and has it leave, if there is one or it can stay
// no longer; else it stays where it is.
func (se *Search) DecideMove(r Relocation) {
	rep := r.Rep
	if r.Where != nil {
		se.backlog.EndMove(rep)
	}
	kept := r.Where != nil && !r.Barred && se.ReserveMove(rep, r.Where)
	drain := se.state.DrainOf(rep)
	latest := se.latestToLeave(rep)
	switch {
	case rep.State == berth.ReplicaPending, rep.State == berth.ReplicaReleasing:
		if !kept {
			se.agenda.NoteHomeless()
		}
		if r.Where == nil && rep.State == berth.ReplicaReleasing {
			se.keepOwn(rep)
		}
	case drain.Node == nil: // it need not leave any more
		se.life.Stay(rep)
	case rep.Leaves && (kept || latest <= se.state.Now):
		if !kept {
			se.agenda.NoteHomeless()
		}
	case kept, latest <= se.state.Now:
		se.life.Depart(rep, life.DrainCause(drain), drain.By)
	default:
		se.life.Stay(rep)
		se.agenda.MoveBy(latest)
	}
}

// latestToLeave is when a gang has to be asked to leave at the latest; never: there is no
// deadline. One that may have a stand-in, and has no checkpoint to write, is left the time to stop.
func (se *Search) latestToLeave(rep *record.Replica) berth.Time {
	by, grace := se.state.DrainOf(rep).By, se.state.GraceOf(rep)
	if by == 0 {
		return agenda.Never
	}
	if rep.Surges() && !rep.Job.Spec.Checkpoint.Supported {
		grace = min(grace, se.state.Config.Policy.ReleaseTimeout)
	}
	return by.Add(-grace)
}

// keepOwn sets aside what a gang has left of its place while it is being stopped and the rest finds
// no place: until it waits, and may bid for the rest.
func (se *Search) keepOwn(rep *record.Replica) {
	if rep.Moving != nil || se.books.IsOutOfBudget(rep) {
		return
	}
	var nodes []*record.Node
	end := se.state.EndIfPlaced(rep)
	rep.EachHold(func(_ *gang.Hold, n *record.Node) {
		if !n.Closed() && !slices.ContainsFunc(n.Reservations, func(other *record.Reservation) bool { return !se.backlog.Admits(other, rep, end) }) {
			nodes = append(nodes, n)
		}
	})
	slices.SortFunc(nodes, record.CompareNodes)
	nodes = slices.Compact(nodes)
	if len(nodes) == 0 {
		return
	}
	if res := se.NewGangReservation(nodes, record.KindPartialMove, rep, se.state.GraceOf(rep)); res != nil {
		rep.Moving = res
		se.backlog.AddReservation(res)
	}
}

// EndPartialResumes ends what was kept for gangs that wait by now and did not find the rest: nobody
// holds a part of what another waits for.
func (se *Search) EndPartialResumes() {
	if len(se.backlog.Reservations) == 0 {
		return
	}
	if _, ready := se.state.Quota.Next(); ready {
		return // they had no turn yet
	}
	for _, res := range slices.Clone(se.backlog.Reservations) {
		if res.IsPartialResume() {
			se.backlog.EndReservation(res)
		}
	}
}

// ReserveMove sets a place aside for a gang that still holds another, or a part of it, or backs
// off.
func (se *Search) ReserveMove(rep *record.Replica, where []gang.Member) bool {
	res := se.NewGangReservation(se.state.NodesFor(rep, where), record.KindMove, rep, se.state.GraceOf(rep))
	if res == nil {
		return false
	}
	if rep.Reserved != nil { // it grows no further where it is
		se.backlog.EndReservation(rep.Reserved)
	}
	if rep.State == berth.ReplicaPending {
		res.KeepThrough(se.backlog.UntilRetried(rep))
	}
	res.Plan = se.backlog.NewPlan(rep, where)
	rep.Moving = res
	se.backlog.AddReservation(res)
	se.state.Totals.Moves++
	return true
}

// NewGangReservation prepares a reservation on some nodes for a gang, from now on and until they
// are free, if the victims have so long to write a checkpoint; nil: the fleet has too many kinds of
// nodes.
func (se *Search) NewGangReservation(nodes []*record.Node, kind record.ReservationKind, rep *record.Replica, grace berth.Duration) *record.Reservation {
	if !se.backlog.MaySetAside(nodes) {
		return nil
	}
	se.backlog.ClearReservations(nodes)
	res := record.GangReservation(kind, rep)
	res.From, res.Until, res.Nodes = se.state.Now, se.state.UntilVictimsGone(grace), nodes
	return res
}
