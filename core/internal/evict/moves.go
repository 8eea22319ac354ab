package evict

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// BidForMoves looks for a few gangs whose moves would start an entry: among those on the
// nodes that are the cheapest to clear. It imagines the moves; nil: there are none.
func (im *imagination) BidForMoves(e *record.Entry) *Bid {
	c := im.core
	s := shift{im: im, trial: c.NewVictimSearch(e, nil)}
	if _, within := c.state.Quota.Fits(s.trial.Queue, s.trial.Asked); !within || !s.gather() {
		return nil
	}
	var chooser preempt.Chooser
	choice, err := chooser.Choose(s.candidates, s.fits, preempt.Options{NeedMilli: s.trial.Asked.GPUMilli, MaxCalls: c.state.Bounds.MoveTrials})
	invariant.Must(err)
	if choice.Result != preempt.ResultChosen || len(choice.Victims) > c.state.Config.Policy.Defragmentation.MaxMoves {
		return nil
	}
	b := &Bid{Entry: e, Cost: choice.Cost, Gain: im.gainOfStarting(e)}
	if !s.try(choice.Victims) {
		im.backTo(s.before)
		return nil
	}
	b.where, b.Moves = s.where, s.movers
	slices.SortFunc(b.Moves, func(a, b search.Relocation) int { return record.CompareReplicas(a.Rep, b.Rep) })
	for _, m := range b.Moves {
		b.victims = append(b.victims, record.Piece{Rep: m.Rep})
	}
	return b
}

// gainOfStarting is the gain of starting an entry now: the GPUs that it asks for, times its
// expected wait.
func (im *imagination) gainOfStarting(e *record.Entry) preempt.GPUMilliseconds {
	c := im.core
	wait := c.state.Config.Policy.AssumedRuntime
	if at, _, planned := c.search.Plan(c.search.Wherever(e, agenda.Never)); planned {
		wait = at.Sub(c.state.Now)
	}
	return (&preempt.Candidate{GPUMilli: e.Bucket.Shape.Least.GPUMilli, RestartCost: int64(wait)}).Cost()
}

// A shift looks for moves in an imagination.
type shift struct {
	im         *imagination
	trial      *VictimSearch
	candidates []preempt.Candidate
	reps       []*record.Replica
	// where and movers are what was tried last, on top of what was imagined before.
	where  []gang.Member
	movers []search.Relocation
	before record.Extent
}

// gather lists the gangs that could be moved: those on as few nodes as suffice, nodes with the
// lowest cost for each GPU first. It reports whether they suffice.
func (s *shift) gather() bool {
	c := s.im.core
	nodes := s.nodes()
	s.im.VictimSearches -= len(nodes) / 16 // to look at so many takes as long as some searches
	listed := map[*record.Replica]bool{}
	for from, step := 0, 1; from < len(nodes) && len(s.reps) < c.state.Bounds.Movers; step *= 2 {
		to := min(from+step, len(nodes))
		for _, n := range nodes[from:to] {
			for _, rep := range n.Movers {
				if !listed[rep] && len(s.reps) < c.state.Bounds.Movers {
					listed[rep] = true
					s.reps = append(s.reps, rep)
					s.candidates = append(s.candidates, c.Candidate(record.Piece{Rep: rep}, 0))
				}
			}
		}
		from = to
		all := make([]int, len(s.reps))
		for i := range all {
			all[i] = i
		}
		if s.fits(all) {
			return true
		}
	}
	return false
}

// nodes lists the nodes that the request may use and that have a gang to move, in the order of the
// cost to clear them.
func (s *shift) nodes() []search.NodeToClear {
	c := s.im.core
	var list []search.NodeToClear
	for _, n := range c.state.Nodes {
		if n == nil || n.Cordoned || !slices.ContainsFunc(s.trial.Request.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, topology.NodeClass(n.Class)) }) {
			continue
		}
		to := search.NodeToClear{Node: n}
		for _, at := range n.Members {
			rep := at.Rep
			if !s.movable(rep) {
				continue
			}
			to.Milli += record.ChargeOf(&rep.Members[at.Index].Hold, n).GPUMilli
			if !slices.Contains(to.Movers, rep) {
				candidate := c.Candidate(record.Piece{Rep: rep}, 0)
				to.Movers = append(to.Movers, rep)
				to.Cost += min(candidate.Cost(), math.MaxInt64-to.Cost)
			}
		}
		if len(to.Movers) > 0 && to.Milli > 0 {
			slices.SortFunc(to.Movers, record.CompareReplicas)
			list = append(list, to)
		}
	}
	slices.SortFunc(list, func(a, b search.NodeToClear) int {
		return cmp.Or(cmp.Compare(int64(a.Cost)/a.Milli, int64(b.Cost)/b.Milli), record.CompareNodes(a.Node, b.Node))
	})
	return list
}

// movable reports whether a gang may be moved for the one that waits. One that has domains for
// itself is on no node that another may use, and never listed.
func (s *shift) movable(rep *record.Replica) bool {
	return rep.Job.Spec.Class != berth.ClassLatencyCritical && s.trial.mayBeVictim(rep) && !s.trial.tooLarge(record.Piece{Rep: rep})
}

// fits reports whether the one that waits and all that are to move for it find a place.
func (s *shift) fits(chosen []int) bool {
	ok := s.try(chosen)
	s.im.backTo(s.before)
	return ok
}

// try imagines the moves: the larger members first, which find it the hardest.
func (s *shift) try(chosen []int) bool {
	s.im.VictimSearches -= 1 + len(chosen)
	s.before = s.im.extent()
	s.movers = s.movers[:0]
	for _, i := range chosen {
		s.movers = append(s.movers, search.Relocation{Rep: s.reps[i]})
	}
	slices.SortFunc(s.movers, func(a, b search.Relocation) int {
		return cmp.Or(cmp.Compare(mostOf(b.Rep.Job.Shape), mostOf(a.Rep.Job.Shape)), record.CompareReplicas(a.Rep, b.Rep))
	})
	for _, m := range s.movers {
		s.im.leaveOut(record.Piece{Rep: m.Rep})
	}
	if s.where = s.trial.Place(); s.where == nil || !s.im.putIn(s.trial.Queue, s.where) {
		return false
	}
	for i := range s.movers {
		m := &s.movers[i]
		if m.Where = s.im.placeAgain(m.Rep); m.Where == nil {
			return false
		}
	}
	return true
}

// mostOf is how many whole GPUs a member of a shape asks for at the most.
func mostOf(s *record.Shape) int {
	most := 0
	for i := range s.Request.Groups {
		most = max(most, s.Request.Groups[i].Claim.GPUs)
	}
	return most
}

// placeAgain imagines a gang that is left out in another place, as large as it is.
func (im *imagination) placeAgain(rep *record.Replica) []gang.Member {
	c, s := im.core, rep.Job.Shape
	c.state.Compile(s)
	request := s.Request
	request.Groups = slices.Clone(s.Request.Groups)
	for g := range request.Groups {
		request.Groups[g].Members = rep.Count(g, record.MemberRunning)
	}
	where := c.searchOf(rep, &s.Spec, s.Least, &request, rep.Retry.Avoid, c.state.UntilVictimsGone(c.state.GraceOf(rep))).Place()
	if where == nil || !im.putIn(rep.Job.Queue, where) {
		return nil
	}
	return where
}

// reserveMoves sets places aside for the gangs that move for a bid, before any job is asked to go. It
// reports false, and gives all up, if that cannot be.
func (ev *Evict) reserveMoves(b *Bid) bool {
	w := b.Rep.Reserved
	for _, m := range b.Moves {
		if !ev.search.ReserveMove(m.Rep, m.Where) {
			ev.giveUp(b)
			return false
		}
		if b.Rep.Reserved != w { // one of those before was the last straw
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

// relocation is where a victim of a bid goes that only moves; nil: it does not.
func (b *Bid) relocation(rep *record.Replica) *search.Relocation {
	if i := slices.IndexFunc(b.Moves, func(m search.Relocation) bool { return m.Rep == rep }); i >= 0 {
		return &b.Moves[i]
	}
	return nil
}
