package search

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// WithReservedNodes is the request of an entry with the nodes that are set aside but that it may
// use all the same: its own, those of its queue, and those that it leaves in time. A gang that
// only grows has no claim to spares, even if it has to leave its node, and none to its own nodes
// for fewer members than are planned there (see tryPlanned). False: there are none.
func (se *Search) WithReservedNodes(e *record.Entry, r *gang.Request) (*gang.Request, bool) {
	defer e.Rep.Job.Become(e.Assume())
	end := se.state.EndIfPlaced(e.Rep)
	return se.WithReservedNodesWhere(&e.Bucket.Shape.Spec, r, func(res *record.Reservation) bool {
		return se.backlog.Admits(res, e.Rep, end) && !(e.Grows && (res.IsSpares() || res == e.Rep.PlannedReservation()))
	})
}

// WithReservedNodesWhere is WithReservedNodes of the reservations that are open to it.
func (se *Search) WithReservedNodesWhere(spec *record.ShapeSpec, r *gang.Request, open func(*record.Reservation) bool) (*gang.Request, bool) {
	wider := se.state.Widen(spec, r, open)
	for i := range wider.Groups {
		if len(wider.Groups[i].Classes) > len(r.Groups[i].Classes) {
			return wider, true
		}
	}
	return r, false
}

// freshenShape has the first few of each bucket of a shape tried on nodes that are set aside, where
// one of them may be placed there, and those of the others that are the most likely to be let in:
// if they fit nowhere, none behind them does.
func (se *Search) freshenShape(s *record.Shape) {
	for _, b := range s.Buckets {
		se.freshen(b)
	}
	se.freshenLostHardware(s)
}

// freshen is freshenShape for one bucket.
func (se *Search) freshen(b *record.Bucket) {
	if len(se.backlog.Reservations) > 0 && se.mayBackfill(b) {
		for _, e := range se.backlog.First(b, se.state.Bounds.Depth) {
			se.backlog.Freshen(e)
		}
		b.EachHandy(se.state.Now, se.state.Config.Policy.AssumedRuntime, se.backlog.Freshen)
	}
}

// limit notes that limits refuse the place that was found for an entry. Where one product is
// limited, others of its bucket may be let in to nodes with another that are set aside.
func (se *Search) limit(e *record.Entry) {
	if e.Bucket.QuotaSlot < 0 {
		se.backlog.QuotaBlock(e.Bucket)
		se.freshen(e.Bucket)
		se.freshenLostHardware(e.Bucket.Shape)
	}
}

// freshenLostHardware has those tried on spares that may use them and wait for a place of a shape;
// nil: of any.
func (se *Search) freshenLostHardware(s *record.Shape) {
	se.backlog.LostHardware.Ascend(func(rep *record.Replica) bool {
		for _, e := range rep.Entries {
			if s == nil || e.Bucket.Shape == s {
				se.backlog.Freshen(e)
			}
		}
		return true
	})
}

// mayBackfill reports whether some entry of a bucket may be placed on nodes that are set
// aside, as far as it can be told without looking at all of them.
func (se *Search) mayBackfill(b *record.Bucket) bool {
	first := b.Entries.Min().Rep
	defer first.Job.Become(b.Entries.Min().Assume())
	if b.QuotaSlot >= 0 && b.Shape.Least.Product != quota.NoProduct {
		return false
	}
	if first.Reserved != nil || b.Entries.Min().Grows {
		return true
	}
	soonest := agenda.Never
	b.EachHandy(se.state.Now, se.state.Config.Policy.AssumedRuntime, func(e *record.Entry) { soonest = min(soonest, se.state.EndIfPlaced(e.Rep)) })
	within := se.backlog.WithinGuarantee(first)
	return slices.ContainsFunc(se.backlog.Reservations, func(res *record.Reservation) bool {
		switch {
		case soonest <= se.state.ClosedFrom(res), se.state.Belongs(first, res):
			return true
		case res.IsNodeSet(): // the use of hot spares is decided besides
			return res.IsBurnIn() && first.Job.OnOneNode()
		case res.IsAdvance(), !within && res.Rep.Job.Queue != first.Job.Queue && res.Rep.Job.Spec.Class >= first.Job.Spec.Class: // as most
			return false
		}
		return (res.IsAwaited() || res.IsBackoff()) && se.backlog.Outranks(first, res.Rep)
	})
}
