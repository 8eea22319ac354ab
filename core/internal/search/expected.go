package search

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
)

// ExpectedStart is when a replica is expected to be placed that waits as what its job is, or grows,
// for what a shape asks: when
// enough of what runs has ended, is stopped, or is no longer set aside, for its minimum and the
// quota for it; never: not by that. A backoff is over before. No other job comes, and of those that
// wait none is served before it but gangs with a reservation, on their nodes.
//
// What is imagined ends no sooner than it can: a victim has its whole grace and a whole attempt
// of its Release, so that the instant is not before what can be. O(plan).
func (se *Search) ExpectedStart(rep *record.Replica, s *record.Shape, grows bool) (at berth.Time) {
	se.state.Compile(s)
	se.books.TellDemands() // before ends are imagined
	se.backlog.Earmark(true)
	se.backlog.WithoutEarmark(rep, func() { at = se.fitsFrom(rep, s, grows) })
	se.backlog.Earmark(false)
	if at == agenda.Never {
		return at
	}
	if rep.Job.Gate != nil {
		at = max(at, rep.Job.Spec.Gating().Begin)
	}
	return max(at, rep.Retry.Get().ReadyAt)
}

// ExpectedReshape is when a GPU is expected to be divided for an entry of one member: when its wait
// outweighs the cost, the rates allow it, and the GPU is clear, or the one that is held for it
// is, before the hold is given up; never: none is, or its quota is in the way. O(GPUs).
func (se *Search) ExpectedReshape(e *record.Entry) berth.Time {
	s := e.Bucket.Shape
	se.state.Compile(s)
	at := agenda.Never
	if se.agenda.Pliable == 0 || !s.IsSingle() || !s.ClaimsDevice() || !se.backlog.Affords(e.Rep.Job.Queue, s.Least) {
		return at
	}
	request, _ := se.WithReservedNodes(e, &s.Minimum)
	if d := e.Rep.GPUHold; d != nil {
		clear, _, _, _ := se.gpus.ClearAt(d.Node, d.GPU, &request.Groups[0].Claim)
		if from := max(clear, se.gpus.Changeable(d.Node, d.GPU), se.state.Now); from <= d.Until {
			at = from
		}
		return at
	}
	w := se.wishOf(e, request)
	if w.milli == 0 {
		return at
	}
	se.eachOffer(&w, func(pool berth.Time) bool { return pool >= at }, func(o gpus.Offer, from berth.Time) {
		at = min(at, max(from, w.paysAt(o.Cost, o.Serves), se.state.Now))
	})
	se.eachHold(&w, func(o gpus.Offer, from, clear berth.Time, late bool) {
		if !late && clear <= max(from, se.state.Now).Add(o.Node.Geometry.HoldLimit) {
			at = min(at, max(from, clear, w.Rep.Look.Get().HoldAt, se.state.Now))
		}
	})
	return at
}

// fitsFrom is ExpectedStart with what is earmarked for others charged.
func (se *Search) fitsFrom(rep *record.Replica, s *record.Shape, grows bool) berth.Time {
	over := func(res *record.Reservation, at berth.Time) bool {
		return se.overBy(res) <= at && se.leavesBeforeNext(res, rep, at)
	}
	ask := func(at berth.Time) *gang.Request {
		end := se.state.EndIfStarted(rep, at)
		if grows {
			end = se.state.EndIfPlaced(rep)
		}
		return se.state.Widen(&s.Spec, &s.Minimum, func(res *record.Reservation) bool {
			return se.backlog.Admits(res, rep, end) && !(grows && res.IsSpares()) || over(res, at)
		})
	}
	end := se.state.EndIfPlaced(rep)
	p := planner{search: se, charged: rep, shape: s, at: ask, widest: se.state.Widen(&s.Spec, &s.Minimum, func(res *record.Reservation) bool {
		return se.backlog.Admits(res, rep, end) || se.overBy(res) < agenda.Never && se.leavesBeforeNext(res, rep, res.Until)
	})}
	for _, res := range se.backlog.Reservations {
		if at := se.overBy(res); at > se.state.Now && at != agenda.Never && !res.IsExclusive() && res.Rep != rep { // those end with their gang
			p.aside = append(p.aside, state.Parting{At: at})
		}
	}
	return p.first()
}

// leavesBeforeNext reports whether a replica that starts at an instant, when a reservation is over,
// is expected to end before the next occurrence of that, if it comes back.
func (se *Search) leavesBeforeNext(res *record.Reservation, rep *record.Replica, at berth.Time) bool {
	if !res.IsAdvance() || res.Advance.Every == 0 {
		return true
	}
	next := values.OccurrenceAt(at, *res.Advance)
	return se.state.EndAsTold(rep, se.state.EndIfStarted(rep, at)) <= se.state.ClosesAt(&next)
}

// overBy is when the nodes of a reservation are expected to be nobody's any more: of one made in
// advance, of the domains of a gang that runs, of burn-in as a whole, and of a gang that waits,
// when it has started there and ended; never: of another, or not known.
func (se *Search) overBy(res *record.Reservation) berth.Time {
	switch {
	case res.IsExclusive(), res.IsAwaited() && res.Rep.State == berth.ReplicaRunning: // it lasts as long as its gang runs
		return se.state.ExpectedEnd(res.Rep)
	case res.IsAwaited():
		if length, ends := se.state.Runtime(res.Rep.Job); ends {
			return max(se.state.ClearFrom(res), se.state.Now).Add(length)
		}
	case res.IsAdvance():
		return res.Until
	case res.IsBurnIn():
		last := se.state.Now
		for _, n := range res.Nodes {
			last = max(last, n.Trust.BurnInUntil)
		}
		return last
	}
	return agenda.Never
}
