package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// BidForMoves looks for a few gangs that start an entry by moving: among those on the
// nodes that are the cheapest to clear. It imagines the moves; nil: there are none.
func (im *imagination) BidForMoves(e *record.Entry) *Bid {
	c := im.evict
	r := rearrangement{im: im, Search: c.victims.NewSearch(e, nil), before: im.extent()}
	if _, within := c.state.Quota.Fits(r.Queue, r.Asked); !within || !r.gatherNearestMovers() {
		return nil
	}
	var chooser preempt.Chooser
	choice, err := chooser.Choose(r.all, r.fits, preempt.Options{NeedMilli: r.Asked.GPUMilli, MaxCalls: c.state.Bounds.MoveTrials})
	invariant.Must(err)
	if choice.Result != preempt.ResultChosen || len(choice.Victims) > c.state.Config.Policy.Defragmentation.MaxMoves || !r.fits(choice.Victims) {
		return nil
	}
	gain := im.gainOfStarting(e)
	b := r.bid(e, choice.Victims)
	b.Gain = gain
	return b
}

// gainOfStarting is the gain of starting an entry now: the GPUs that it asks for, times its
// expected wait.
func (im *imagination) gainOfStarting(e *record.Entry) preempt.GPUMilliseconds {
	c := im.evict
	wait := c.state.Config.Policy.AssumedRuntime
	if at, _, planned := c.search.Plan(c.search.Wherever(e, agenda.Never), agenda.Never); planned {
		wait = at.Sub(c.state.Now)
	}
	return (&preempt.Candidate{GPUMilli: e.Bucket.Shape.Least.GPUMilli, RestartCost: int64(wait)}).Cost()
}

// gatherNearestMovers lists the gangs that could be moved: those on as few nodes as suffice, nodes
// with the lowest cost for each GPU first. It reports whether they suffice.
func (r *rearrangement) gatherNearestMovers() bool {
	c := r.im.evict
	nodes, room := r.clearing(r.mayClear, r.movable), r.headroom()
	listed := map[*record.Replica]bool{}
	looked := 0
	defer func() { r.im.VictimSearches -= looked / 16 }()
	for step := 1; len(r.movers) < c.state.Bounds.Movers; step *= 2 {
		before := looked
		for range step {
			n, more := nodes.next()
			if !more {
				break
			}
			looked++
			for _, rep := range n.Movers {
				if !listed[rep] && len(r.movers) < c.state.Bounds.Movers {
					listed[rep] = true
					r.movers = append(r.movers, rep)
					room.moves(rep)
				}
			}
		}
		if looked == before {
			return false
		}
		if !room.enough() {
			continue
		}
		all := make([]int, len(r.movers))
		for i := range all {
			all[i] = i
		}
		if r.fits(all) {
			for _, rep := range r.movers {
				r.all = append(r.all, c.victims.Candidate(record.Piece{Rep: rep}, 0))
			}
			return true
		}
	}
	return false
}

// mayClear reports whether a node may be cleared for the beneficiary.
func (r *rearrangement) mayClear(n *record.Node) bool {
	return !n.Cordoned && slices.ContainsFunc(r.Request.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, topology.NodeClass(n.Class)) })
}

// movable reports whether a gang may be moved for the one that waits, if that pays. One that is
// being repaired has yet to get places. One that has domains for itself is on no node that another
// may use.
func (r *rearrangement) movable(rep *record.Replica) bool {
	return rep.Job.Spec.Class != berth.ClassLatencyCritical && r.im.evict.mayMove(rep) && r.MayBeVictim(rep) && !r.TooLarge(record.Piece{Rep: rep})
}

// pays reports whether moves gain more than they cost.
func (b *Bid) pays() bool { return b.Gain > b.Cost }

// reserveMoves sets places aside for the gangs that move for a bid, before any job is asked to
// go. It reports false, and gives all up, if that cannot be.
func (ev *Evict) reserveMoves(b *Bid) bool {
	res := b.Rep.Reserved
	for _, m := range b.Moves {
		if !ev.search.ReserveMove(m.Rep, m.Where) {
			ev.giveUp(b)
			return false
		}
		if b.Rep.Reserved != res { // one of those before was the last straw
			ev.giveUp(b)
			return false
		}
	}
	return true
}

// giveUp ends what was set aside for a bid.
func (ev *Evict) giveUp(b *Bid) {
	if b.Rep.Reserved != nil {
		ev.backlog.EndReservation(b.Rep.Reserved)
	}
	for _, m := range b.Moves {
		ev.backlog.EndMove(m.Rep)
	}
}

// NodesToClear lists the nodes to clear for an entry one by one, and by a look at all of them: for
// tests, which expect the same.
func (ev *Evict) NodesToClear(e *record.Entry) (fast, slow []NodeToClear) {
	im, _ := ev.Imagine()
	defer im.Forget()
	r := rearrangement{im: im, Search: ev.victims.NewSearch(e, nil), before: im.extent()}
	nodes := r.clearing(r.mayClear, r.movable)
	for n, more := nodes.next(); more; n, more = nodes.next() {
		fast = append(fast, n)
	}
	return fast, slices.DeleteFunc(r.nodesToClear(r.movable), func(n NodeToClear) bool { return !r.mayClear(n.Node) })
}

// MovesFit reports for the gangs on more and more nodes to clear whether an entry and they may fit,
// as headroom tells, and whether they do, as a search finds: for tests.
func (ev *Evict) MovesFit(e *record.Entry, tell func(may, do bool)) {
	im, _ := ev.Imagine()
	defer im.Forget()
	r := rearrangement{im: im, Search: ev.victims.NewSearch(e, nil), before: im.extent(), steps: packSteps}
	room, all := r.headroom(), []int{}
	nodes := r.clearing(r.mayClear, r.movable)
	for n, more := nodes.next(); more; n, more = nodes.next() {
		for _, rep := range n.Movers {
			if slices.Contains(r.movers, rep) {
				continue
			}
			all, r.movers = append(all, len(r.movers)), append(r.movers, rep)
			room.moves(rep)
			tell(room.enough(), r.fits(all))
		}
	}
}
