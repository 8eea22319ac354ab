package berth

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// Moves says whether gangs that run are moved, so that one that waits finds in one piece
// what is free in pieces. It is for gangs that are blocked by fragmentation alone: enough is
// free for them and within their quota, but nowhere such that they fit. A move is asked for,
// and carried out, as a preemption is; but who is moved has its new place kept for it, and
// goes on there. Latency-critical gangs are never moved.
//
// Moves have to pay: the wait that they save the one that waits, times its GPUs, has to
// exceed what they cost, in GPU-milliseconds (package preempt: the checkpoint or the work
// since the last one, and the restart). The wait is as long as a reservation would expect it
// to be, or Policy.AssumedRuntime where none could be expected.
type Moves struct {
	Mode MovesMode `json:"mode,omitzero"`
	// Most is how many gangs are moved for one at the most; default 8.
	Most int `json:"most,omitempty"`
}

// A MovesMode says whether moves are made.
type MovesMode uint8

const (
	// MovesProposed: Explain and WhatItTakes name them, none is ordered.
	MovesProposed MovesMode = iota
	// MovesOrdered: they are made.
	MovesOrdered
	// MovesOff: nobody looks for any.
	MovesOff
)

var movesModeNames = [...]string{"propose", "on", "off"}

// ParseMovesMode is the inverse of MovesMode.String.
func ParseMovesMode(s string) (MovesMode, error) {
	v, err := parseEnum("mode", movesModeNames[:], s)
	return MovesMode(v), err
}

func (m MovesMode) String() string { return enumName("MovesMode", movesModeNames[:], uint8(m)) }

func (m MovesMode) MarshalText() ([]byte, error) {
	return marshalEnum("mode", movesModeNames[:], uint8(m))
}

func (m *MovesMode) UnmarshalText(b []byte) error {
	v, err := ParseMovesMode(string(b))
	if err == nil {
		*m = v
	}
	return err
}

const (
	// maxMovers bounds among how many gangs one search looks for those to move, and
	// maxMoveTrials how often it tries.
	maxMovers     = 256
	maxMoveTrials = 256
	// maxConsolidations bounds for how many entries one pass looks for moves.
	maxConsolidations = 4
	// consolidateEvery is how long an entry for which no moves were found waits at least until
	// it is looked at again, and then only if something has changed.
	consolidateEvery = Minute
	// maxMovePrice is where sums of prices stay.
	maxMovePrice preempt.GPUMilliseconds = 1<<63 - 1
)

// A consolidation is a way to make room by moves alone.
type consolidation struct {
	entry *entry
	// where it will be, and who moves where.
	where  []gang.Member
	movers []relocation
	price  preempt.GPUMilliseconds
	gain   preempt.GPUMilliseconds
}

// consolidate has gangs moved for those that are blocked by fragmentation alone, the first
// in policy order first.
func (c *Core) consolidate() {
	if c.config.Policy.Moves.Mode != MovesOrdered || c.now < c.nextConsolidate {
		return
	}
	if _, ready := c.quota.Next(); ready {
		return // the budget is spent: what fits comes first
	}
	list, next := c.fragmented()
	c.nextConsolidate = next
	if len(list) == 0 {
		return
	}
	for i, e := range c.firstInTurn(list, maxConsolidations) {
		moves, ok := c.seekMoves(e)
		if ok && moves.gain > moves.price {
			c.nextConsolidate = c.now // the others see then what has changed
			c.move(moves)
			return
		}
		e.rep.shiftTurn, e.rep.shiftAt = c.stirs, c.now.Add(consolidateEvery)
		if i == maxConsolidations-1 {
			c.nextConsolidate = c.now // the rest in the next pass
		}
	}
}

// firstInTurn is the first so many of some entries in policy order.
func (c *Core) firstInTurn(list []*entry, most int) []*entry {
	r := c.newRota(list)
	defer r.end()
	var first []*entry
	for len(first) < most {
		e := r.next()
		if e == nil {
			break
		}
		first = append(first, e)
		r.drop(e.rep.job.queue, func(other *entry) bool { return other == e })
	}
	return first
}

// nextMoves is when a pass has to look for gangs to move.
func (c *Core) nextMoves() Time {
	if c.config.Policy.Moves.Mode != MovesOrdered || c.nextConsolidate == never {
		return never
	}
	list, next := c.fragmented()
	if len(list) > 0 {
		return max(c.nextConsolidate, c.now)
	}
	return next
}

// fragmented lists the first entries of buckets for which enough is free, and that fit
// nowhere; next is when to look at one more.
func (c *Core) fragmented() (list []*entry, next Time) {
	next = never
	for _, s := range c.blocked {
		c.compile(s)
		for _, b := range s.buckets {
			e := b.entries.Min()
			switch {
			case e.grows || e.rep.room() != nil || b.quotaSlot >= 0 || e.rep.shiftTurn == c.stirs || !c.inPieces(s):
			case e.rep.shiftAt > c.now:
				next = min(next, e.rep.shiftAt)
			default:
				list = append(list, e)
			}
		}
	}
	return list, next
}

// inPieces reports whether as much is free as a shape asks for, on nodes that it may use.
// Only nodes are counted for those who share GPUs.
func (c *Core) inPieces(s *shape) bool {
	return s.spec.Topology.Exclusive == "" && c.freeFor(s) >= s.gpus()
}

// seekMoves looks for a few gangs whose move makes room for an entry, without an effect:
// among those on the nodes that are the cheapest to make room on.
func (c *Core) seekMoves(e *entry) (found consolidation, ok bool) {
	saved, ends := c.config.Policy.AssumedRuntime, false
	if at, _, planned := c.plan(c.wherever(e, never)); planned {
		saved, ends = at.Sub(c.now), true
	}
	if ends && saved <= 0 {
		return consolidation{}, false
	}
	im, broken := c.imagine()
	defer im.forget()
	if len(broken) > 0 {
		return consolidation{}, false // the next pass has done with them
	}
	s := shift{im: im, entry: e, trial: c.trial(e, nil)}
	if _, within := c.quota.Fits(s.trial.queue, s.trial.asked); !within || !s.gather() {
		return consolidation{}, false
	}
	var chooser preempt.Chooser
	choice, err := chooser.Choose(s.candidates, s.fits, preempt.Options{NeedMilli: s.trial.asked.GPUMilli, MaxCalls: maxMoveTrials})
	must(err)
	if choice.Outcome != preempt.Chosen || len(choice.Victims) > c.config.Policy.Moves.Most || !s.try(choice.Victims) {
		return consolidation{}, false
	}
	s.undo()
	return consolidation{
		entry: e, where: s.where, movers: s.movers, price: choice.Price,
		gain: (&preempt.Candidate{GPUMilli: s.trial.asked.GPUMilli, RestartCost: int64(saved)}).Price(),
	}, true
}

// A shift looks for moves in an imagination.
type shift struct {
	im         *imagination
	entry      *entry
	trial      *trial
	candidates []preempt.Candidate
	reps       []*replica
	// where and movers are what was tried last; gone and here how much the imagination had
	// before.
	where      []gang.Member
	movers     []relocation
	gone, here int
}

// gather lists the gangs that could be moved: those on as few nodes as suffice, those first
// on which room costs the least for each GPU. It reports whether they suffice.
func (s *shift) gather() bool {
	c := s.im.core
	nodes := s.nodes()
	listed := map[*replica]bool{}
	for from, step := 0, 1; from < len(nodes) && len(s.reps) < maxMovers; step *= 2 {
		to := min(from+step, len(nodes))
		for _, n := range nodes[from:to] {
			for _, rep := range n.movers {
				if !listed[rep] && len(s.reps) < maxMovers {
					listed[rep] = true
					s.reps = append(s.reps, rep)
					s.candidates = append(s.candidates, c.candidate(rep, 0))
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
		if n == nil || n.cordoned || !slices.ContainsFunc(s.trial.request.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, topology.Class(n.class)) }) {
			continue
		}
		to := nodeToClear{node: n}
		for _, at := range n.members {
			if rep := at.rep; s.movable(rep) && !slices.Contains(to.movers, rep) {
				candidate := c.candidate(rep, 0)
				to.movers = append(to.movers, rep)
				to.price += min(candidate.Price(), maxMovePrice-to.price)
			}
			if hold := &at.rep.members[at.index].hold; s.movable(at.rep) {
				to.milli += chargeOf(hold, n).GPUMilli
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
	return rep.job.spec.Class != LatencyCritical && rep.job.spec.Topology.Exclusive == "" && s.trial.mayYield(rep) && !s.trial.tooLarge(rep)
}

// fits reports whether the one that waits and all that are to move for it find a place.
func (s *shift) fits(chosen []int) bool {
	ok := s.try(chosen)
	s.undo()
	return ok
}

// try imagines the moves: the larger members first, which find it the hardest.
func (s *shift) try(chosen []int) bool {
	s.gone, s.here = len(s.im.gone), len(s.im.here)
	s.movers = s.movers[:0]
	for _, i := range chosen {
		s.movers = append(s.movers, relocation{rep: s.reps[i]})
	}
	slices.SortFunc(s.movers, func(a, b relocation) int {
		return cmp.Or(cmp.Compare(b.rep.job.shape.most(), a.rep.job.shape.most()), compareReplicas(a.rep, b.rep))
	})
	for _, m := range s.movers {
		s.im.leaveOut(m.rep)
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

// undo takes back what try imagined.
func (s *shift) undo() {
	for len(s.im.here) > s.here {
		s.im.takeOut()
	}
	for len(s.im.gone) > s.gone {
		s.im.bringBack()
	}
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
	where := c.trialOf(rep, s, &request, rep.avoid).place()
	if where == nil || !im.putIn(rep.job.queue, where) {
		return nil
	}
	return where
}

// move sets aside what a consolidation found, and asks those to move who have to.
func (c *Core) move(moves consolidation) {
	b := &bid{entry: moves.entry, where: moves.where}
	for _, m := range moves.movers {
		b.victims = append(b.victims, m.rep)
	}
	slices.SortFunc(b.victims, compareReplicas)
	w := c.makeRoom(b)
	if w == nil {
		return
	}
	for _, m := range moves.movers {
		if w.rep.reserved != w { // one of those before was the last straw
			return
		}
		if !c.keepPlace(m.rep, m.where, CauseResumed) {
			c.endWindow(w)
			return
		}
		m.rep.yieldsTo = w.rep
		c.stop(m.rep, Cause{Code: CauseMoved, For: w.rep.ref()}, c.config.Policy.Preemption.CheckpointTimeout)
	}
}
