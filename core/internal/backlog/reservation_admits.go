package backlog

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/internal/limits"
)

// Outranks reports whether a waiting replica goes before another. Within a queue it is of a higher
// class or, in the same class, of a higher priority, and does not borrow where the other is within
// the guarantee. Between queues it is within the guarantee while the other would borrow or, where
// they are alike in that, of a higher class: priorities do not count there.
func (bl *Backlog) Outranks(a, b *record.Replica) bool {
	x, y := &a.Job.Spec, &b.Job.Spec
	switch {
	case a.Job.Queue == b.Job.Queue:
		return record.CompareRank(a, b) > 0 && (bl.WithinGuarantee(a) || !bl.WithinGuarantee(b))
	case bl.WithinGuarantee(a):
		return x.Class > y.Class || !bl.WithinGuarantee(b)
	}
	return x.Class > y.Class && !bl.WithinGuarantee(b)
}

// OutranksAs is Outranks for what a replica waits for as an entry.
func (bl *Backlog) OutranksAs(e *record.Entry, other *record.Replica) bool {
	defer e.Rep.Job.Become(e.Assume())
	return bl.Outranks(e.Rep, other)
}

// WithinGuarantee reports whether a replica that waits would be within the guarantees of its queue
// with what it waits for.
func (bl *Backlog) WithinGuarantee(rep *record.Replica) bool {
	s := rep.Job.Shape()
	if len(rep.Entries) > 0 {
		s = rep.Entry().Bucket.Shape // of one that grows, the rest of it
	}
	bl.state.Compile(s)
	res := rep.PlannedReservation()
	if rep.Moving != nil && rep.Moving.IsBackoff() {
		res = rep.Moving
	}
	if bl.books.Earmarked && res != nil && !res.Unmarked { // with its own earmark it would count twice
		bl.earmarkFor(res, false)
		defer bl.earmarkFor(res, true)
	}
	return bl.state.Quota.Within(rep.Job.Queue, s.Least)
}

// EndDisplacedBy ends the reservations of gangs that lose their place to a replica of a higher
// rank, which has just been placed and is not expected to end in time. All gangs with a place on
// such a node are planned anew, as there is room for fewer of them.
func (bl *Backlog) EndDisplacedBy(rep *record.Replica) {
	end := bl.state.EndIfPlaced(rep)
	for flat := range rep.Members {
		if n := rep.Members[flat].Node; n == nil || len(n.Reservations) == 0 || rep.Members[flat].State != record.MemberBinding {
			continue
		} else if slices.ContainsFunc(n.Reservations, func(res *record.Reservation) bool { return res.IsAwaited() && res.Rep != rep && end > res.From }) {
			for _, res := range n.Reservations {
				bl.noteDisplaced(res)
			}
			bl.EndGangReservationsOn(n)
		} else {
			bl.endTakenBackoffs(n)
		}
	}
}

// EndDisplaced ends the reservation of a beneficiary that cannot come true, as others have taken
// its place.
func (bl *Backlog) EndDisplaced(res *record.Reservation) {
	bl.noteDisplaced(res)
	bl.EndReservation(res)
}

// TakeDisplaced lists the beneficiaries that lost their places to others in the pass, and forgets
// them.
func (bl *Backlog) TakeDisplaced() []*record.Replica {
	list := bl.displaced
	bl.displaced = nil
	return list
}

func (bl *Backlog) noteDisplaced(res *record.Reservation) {
	if res.IsAwaitedPlan() && res.Plan.OfQueue && !slices.Contains(bl.displaced, res.Rep) {
		bl.displaced = append(bl.displaced, res.Rep)
	}
}

// endTakenBackoffs ends the places on a node that are kept for gangs which back off, as far as they
// have just been taken. A gang that was placed beside them on the node leaves them as they are,
// unless their gang wants its domains for itself.
func (bl *Backlog) endTakenBackoffs(n *record.Node) {
	for _, res := range slices.Clone(n.Reservations) {
		switch {
		case !res.IsBackoff():
		case res.Rep.Job.Spec.Topology.Exclusive == "" && bl.books.Hold(res.Plan.Where):
			bl.books.GiveBack(res.Plan.Where)
		default:
			bl.EndReservation(res)
		}
	}
}

// AddReservation makes a reservation, and sets its nodes aside.
func (bl *Backlog) AddReservation(res *record.Reservation) {
	at, _ := slices.BinarySearchFunc(bl.Reservations, res.Name, record.CompareReservationName)
	bl.Reservations = slices.Insert(bl.Reservations, at, res)
	bl.agenda.CountReservations(1)
	if res.Draining {
		bl.agenda.CountDraining(true)
	}
	for _, n := range res.Nodes {
		bl.books.Enclose(n, res)
		if n.Trust.HotSpare {
			bl.agenda.WantSpares()
		}
	}
	bl.agenda.SetAside()
}

// ReservationsOfJoining lists the reservations that a node belongs to by its name and place when
// it joins, in order of name.
func (bl *Backlog) ReservationsOfJoining(spec *spec.Node) []*record.Reservation {
	var list []*record.Reservation
	path := append(slices.Clone(spec.Domains), string(spec.ID))
	for _, res := range bl.Reservations {
		named := res.IsAdvance() && slices.Contains(res.Advance.Nodes, spec.ID)
		inside := slices.ContainsFunc(res.Domains, func(domain []string) bool {
			return len(domain) <= len(path) && slices.Equal(domain, path[:len(domain)])
		})
		if named || inside {
			list = append(list, res)
		}
	}
	return list
}

// EndGangReservationsOn ends the reservations and moves of all gangs that count on a node: it has
// changed, takes no work any more, or was given to others.
func (bl *Backlog) EndGangReservationsOn(n *record.Node) {
	for _, res := range slices.Clone(n.Reservations) {
		if res.CountsOnNodes() {
			bl.EndReservation(res)
		}
	}
}

// MaySetAside reports whether there are classes left to set these nodes aside.
func (bl *Backlog) MaySetAside(nodes []*record.Node) bool {
	kinds := map[hardware.Key]bool{}
	for _, n := range nodes {
		kinds[n.Key()] = true
	}
	return len(bl.state.Classes.ByKey)+len(kinds) <= limits.MaxKinds
}

// nodesOf lists the nodes of some domains, given by their paths, in order of name.
func (bl *Backlog) nodesOf(domains [][]string) []*record.Node {
	var list []*record.Node
	for _, path := range domains {
		if len(path) > len(bl.state.Config.Levels) {
			if n := bl.state.NodeByID[berth.NodeID(path[len(path)-1])]; n != nil && slices.Equal(n.Spec.Domains, path[:len(path)-1]) {
				list = append(list, n)
			}
		} else if d, found := bl.state.Fleet.Tree().Lookup(path...); found {
			list = append(list, bl.state.NodesBelow(d)...)
		}
	}
	slices.SortFunc(list, record.CompareNodes)
	return list
}

// Admits reports whether a member of a replica may be placed in a reservation if it is expected to
// end at an instant.
func (bl *Backlog) Admits(res *record.Reservation, rep *record.Replica, end berth.Time) bool {
	r := res.Kind.Rule()
	return r.Own && res.Rep == rep || r.InTime && bl.LeavesBefore(res, rep, end) ||
		r.Queue && bl.state.Belongs(rep, res) ||
		r.LowCost && record.MayBurnIn(rep) || r.LostHardware && bl.state.MaySpare(rep) || bl.mayTake(r.Taker, rep, res)
}

// LeavesBefore reports whether a replica that is expected to end at an instant leaves its place
// in time for a reservation. The learned run time is right for one job in two. That will do for
// most gangs, as they are planned anew. A gang that has waited for as long as the policy assumes
// a job to run is not put off any more: else one that tells nothing would be let in time and
// again. Nor is maintenance. Both go by what jobs tell, where that is longer.
func (bl *Backlog) LeavesBefore(res *record.Reservation, rep *record.Replica, end berth.Time) bool {
	if res.IsAdvance() || (res.IsAwaited() || res.IsBackoff()) && bl.state.WaitsLong(res.Rep) {
		end = bl.state.EndAsTold(rep, end)
	}
	return end <= bl.state.ClosedFrom(res)
}

// passes reports whether a replica may take what is set aside for a beneficiary of its queue. While
// it rests it may not, as it may not evict.
func (bl *Backlog) passes(rep *record.Replica, res *record.Reservation) bool {
	return ofItsQueue(rep, res) && bl.Outranks(rep, res.Rep) && !rep.RestsAt(bl.state.Now) && !bl.exceedsShare(rep, res)
}

// ofItsQueue reports whether what is set aside is for a beneficiary of a replica's queue.
func ofItsQueue(rep *record.Replica, res *record.Reservation) bool {
	return rep.Job.Queue == res.Rep.Job.Queue && res.IsAwaitedPlan() && res.Kind.Cause() == berth.CauseVictimsGone
}

// exceedsShare reports whether a replica would take its queue beyond a fair share in which the
// beneficiary of that queue leaves it. Others would then reclaim from the replica what was
// reclaimed from them, their jobs would come back, and so on without an end.
func (bl *Backlog) exceedsShare(rep *record.Replica, res *record.Reservation) bool {
	if len(rep.Entries) == 0 {
		return false
	}
	s, planned := rep.Entry().Bucket.Shape, res.Plan.GPUMilli()
	if bl.state.Compile(s); s.Least.GPUMilli <= planned {
		return false
	}
	if bl.books.Earmarked {
		bl.earmarkAll(false)
	} else {
		defer bl.earmarkAll(false)
	}
	bl.books.TellDemands() // of what is used, without plans: those wait, and count as that
	bl.earmarkAll(true)
	for _, either := range []*record.Reservation{res, rep.PlannedReservation()} { // all other plans come true
		if either != nil && !either.Unmarked {
			bl.earmarkFor(either, false)
			defer bl.earmarkFor(either, true)
		}
	}
	return bl.books.ExceedsShare(rep.Job.Queue, s.Least.GPUMilli, planned)
}

// mayTake reports whether a replica may take what is set aside for another. One that has a place to
// come back to may not: it may have left its own for that very gang, and would be asked to again.
func (bl *Backlog) mayTake(by record.Taker, rep *record.Replica, res *record.Reservation) bool {
	switch own := rep.PlannedReservation(); {
	case by == record.Nobody, own != nil && own.Kind.Cause() == berth.CauseResumed:
		return false
	case by == record.ByClaim && ofItsQueue(rep, res):
		return bl.passes(rep, res)
	case by == record.ByClaim:
		return bl.Claims(rep, res.Rep)
	}
	return bl.Outranks(rep, res.Rep)
}

// Takers lists the buckets of a gang's queue of which the first entry may take what is set aside
// for the gang, in policy order. O(buckets of the queue).
func (bl *Backlog) Takers(res *record.Reservation) (list []*record.Bucket) {
	for _, b := range bl.books.Queues[res.Rep.Job.Queue].List {
		if bl.Takes(b.Entries.Min(), res) {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *record.Bucket) int { return record.CompareEntries(a.Entries.Min(), b.Entries.Min()) })
	return list
}

// Untried reports whether the first of a bucket has not been tried since it came, or since there is
// more quota.
func (bl *Backlog) Untried(b *record.Bucket) bool {
	return b.Slot >= 0 || b.Entries.Min().FreshAt >= 0 || b.QuotaSlot >= 0 && bl.agenda.QuotaFreed
}

// Takes reports whether an entry that has nothing set aside may take what is for another.
func (bl *Backlog) Takes(e *record.Entry, res *record.Reservation) bool {
	defer e.Rep.Job.Become(e.Assume())
	return e.Rep.Reserved == nil && bl.mayTake(res.Taker(), e.Rep, res)
}

// Claims reports whether a replica may take what is kept for another by claim.
func (bl *Backlog) Claims(rep, other *record.Replica) bool {
	if rep.Job.Queue != other.Job.Queue {
		return bl.WithinGuarantee(rep) && !bl.WithinGuarantee(other)
	}
	return bl.Outranks(rep, other)
}
