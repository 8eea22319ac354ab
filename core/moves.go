package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// inPieces reports whether as much is free as the first of an entry's bucket asks for, on
// nodes that it may use, and within its quota, so that it is for the pieces alone that it
// waits. Where GPUs are shared, what is free of those counts too, wherever it is.
func (c *Core) inPieces(e *entry) bool {
	s := e.bucket.shape
	c.compile(s)
	switch {
	case e.bucket.quotaSlot >= 0 || s.spec.Topology.Exclusive != "":
		return false
	case c.freeFor(s) >= s.gpus() && s.gpus() > 0:
		return true
	}
	total, known := c.quota.Capacity(quota.GPU)
	return known && len(c.owners.byKey) > 0 && total-c.quota.Used(quota.Root, quota.GPU) >= s.least.GPUMilli
}

// bidForMoves looks for a few gangs whose move makes room for an entry: among those on the
// nodes that are the cheapest to make room on. It imagines the moves; nil: there are none.
func (im *imagination) bidForMoves(e *entry) *bid {
	c := im.core
	s := shift{im: im, trial: c.trial(e, nil)}
	if _, within := c.quota.Fits(s.trial.queue, s.trial.asked); !within || !s.gather() {
		return nil
	}
	var chooser preempt.Chooser
	choice, err := chooser.Choose(s.candidates, s.fits, preempt.Options{NeedMilli: s.trial.asked.GPUMilli, MaxCalls: limits.MaxMoveTrials})
	must(err)
	if choice.Outcome != preempt.Chosen || len(choice.Victims) > c.config.Policy.Moves.Most {
		return nil
	}
	b := &bid{entry: e, price: choice.Price, gain: im.worthOfStarting(e)}
	if !s.try(choice.Victims) {
		im.backTo(s.before)
		return nil
	}
	b.where, b.moves = s.where, s.movers
	slices.SortFunc(b.moves, func(a, b relocation) int { return compareReplicas(a.rep, b.rep) })
	for _, m := range b.moves {
		b.victims = append(b.victims, piece{rep: m.rep})
	}
	return b
}

// worthOfStarting is what it is worth to start an entry now: the GPUs it asks for, as long as
// it would have to wait for them.
func (im *imagination) worthOfStarting(e *entry) preempt.GPUMilliseconds {
	c := im.core
	wait := c.config.Policy.AssumedRuntime
	if at, _, planned := c.plan(c.wherever(e, never)); planned {
		wait = at.Sub(c.now)
	}
	return (&preempt.Candidate{GPUMilli: e.bucket.shape.least.GPUMilli, RestartCost: int64(wait)}).Price()
}

// A shift looks for moves in an imagination.
type shift struct {
	im         *imagination
	trial      *trial
	candidates []preempt.Candidate
	reps       []*replica
	// where and movers are what was tried last, on top of what was imagined before.
	where  []gang.Member
	movers []relocation
	before extent
}

// gather lists the gangs that could be moved: those on as few nodes as suffice, those first
// on which room costs the least for each GPU. It reports whether they suffice.
func (s *shift) gather() bool {
	c := s.im.core
	nodes := s.nodes()
	s.im.trials -= len(nodes) / 16 // to look at so many takes as long as some searches
	listed := map[*replica]bool{}
	for from, step := 0, 1; from < len(nodes) && len(s.reps) < limits.MaxMovers; step *= 2 {
		to := min(from+step, len(nodes))
		for _, n := range nodes[from:to] {
			for _, rep := range n.movers {
				if !listed[rep] && len(s.reps) < limits.MaxMovers {
					listed[rep] = true
					s.reps = append(s.reps, rep)
					s.candidates = append(s.candidates, c.candidate(piece{rep: rep}, 0))
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

// A nodeToClear is a node with those that could be moved off it.
type nodeToClear struct {
	*node
	movers []*replica
	milli  int64
	price  preempt.GPUMilliseconds
}

// nodes lists the nodes that the request may use and on which something could be moved, in
// the order of what room costs there.
func (s *shift) nodes() []nodeToClear {
	c := s.im.core
	var list []nodeToClear
	for _, n := range c.nodes {
		if n == nil || n.Cordoned || !slices.ContainsFunc(s.trial.request.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, topology.Class(n.class)) }) {
			continue
		}
		to := nodeToClear{node: n}
		for _, at := range n.members {
			rep := at.rep
			if !s.movable(rep) {
				continue
			}
			to.milli += chargeOf(&rep.members[at.index].hold, n).GPUMilli
			if !slices.Contains(to.movers, rep) {
				candidate := c.candidate(piece{rep: rep}, 0)
				to.movers = append(to.movers, rep)
				to.price += min(candidate.Price(), math.MaxInt64-to.price)
			}
		}
		if len(to.movers) > 0 && to.milli > 0 {
			slices.SortFunc(to.movers, compareReplicas)
			list = append(list, to)
		}
	}
	slices.SortFunc(list, func(a, b nodeToClear) int {
		return cmp.Or(cmp.Compare(int64(a.price)/a.milli, int64(b.price)/b.milli), compareNodes(a.node, b.node))
	})
	return list
}

// movable reports whether a gang may be moved for the one that waits.
func (s *shift) movable(rep *replica) bool {
	return rep.job.spec.Class != berth.LatencyCritical && rep.job.spec.Topology.Exclusive == "" && s.trial.mayYield(rep) && !s.trial.tooLarge(piece{rep: rep})
}

// fits reports whether the one that waits and all that are to move for it find a place.
func (s *shift) fits(chosen []int) bool {
	ok := s.try(chosen)
	s.im.backTo(s.before)
	return ok
}

// try imagines the moves: the larger members first, which find it the hardest.
func (s *shift) try(chosen []int) bool {
	s.im.trials -= 1 + len(chosen)
	s.before = s.im.extent()
	s.movers = s.movers[:0]
	for _, i := range chosen {
		s.movers = append(s.movers, relocation{rep: s.reps[i]})
	}
	slices.SortFunc(s.movers, func(a, b relocation) int {
		return cmp.Or(cmp.Compare(b.rep.job.shape.most(), a.rep.job.shape.most()), compareReplicas(a.rep, b.rep))
	})
	for _, m := range s.movers {
		s.im.leaveOut(piece{rep: m.rep})
	}
	if s.where = s.trial.place(); s.where == nil || !s.im.putIn(s.trial.queue, s.where) {
		return false
	}
	for i := range s.movers {
		m := &s.movers[i]
		if m.where = s.im.placeAgain(m.rep); m.where == nil {
			return false
		}
	}
	return true
}

// most is how many whole GPUs a member of a shape asks for at the most.
func (s *shape) most() int {
	most := 0
	for i := range s.request.Groups {
		most = max(most, s.request.Groups[i].Claim.GPUs)
	}
	return most
}

// placeAgain imagines a gang that is left out in another place, as large as it is.
func (im *imagination) placeAgain(rep *replica) []gang.Member {
	c, s := im.core, rep.job.shape
	c.compile(s)
	request := s.request
	request.Groups = slices.Clone(s.request.Groups)
	for g := range request.Groups {
		request.Groups[g].Count = rep.count(g, memberRunning)
	}
	where := c.trialOf(rep, &s.spec, s.least, &request, rep.retry.Avoid, c.untilRoomMade(c.graceOf(rep))).place()
	if where == nil || !im.putIn(rep.job.queue, where) {
		return nil
	}
	return where
}

// move keeps places for the gangs that a bid has moved for it, and asks them to go there. It
// reports false if that cannot be.
func (c *Core) move(b *bid) bool {
	w := b.rep.reserved
	for _, m := range b.moves {
		if b.rep.reserved != w { // one of those before was the last straw
			return false
		}
		if !c.keepPlace(m.rep, m.where) {
			c.endWindow(w)
			return false
		}
		w.preemption.awaits(m.rep)
		m.rep.yieldsTo = b.rep
		c.stop(m.rep, berth.Cause{Code: berth.CauseMoved, For: b.rep.ref()}, c.graceOf(m.rep))
	}
	return true
}
