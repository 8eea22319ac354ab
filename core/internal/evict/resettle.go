package evict

import (
	"slices"
	"sort"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// resettle imagines a gang in another place, and returns where; nil: there is none, and it
// stays. Members that can stay where they are do, and the others go as close to them as capacity
// allows: the data on its nodes and its traffic between switches stay as they were. All of the
// gang is placed anew where that is impossible, or would spread a gang that fits more closely
// elsewhere.
func (im *imagination) resettle(rep *record.Replica) []gang.Member {
	c, s := im.evict, rep.Job.Shape()
	leaving := c.state.Leaving.Has(rep) || rep.State == berth.ReplicaPending // and so left out already, or nowhere
	if !leaving {
		im.leaveOut(record.Piece{Rep: rep})
	}
	before := im.extent()
	filled, kept := im.fillIn(rep, rep.Retry.Get().Stood)
	if filled == nil && len(rep.Retry.Get().Stood) > 0 { // where the world had put them, say
		im.backTo(before)
		filled, kept = im.fillIn(rep, nil)
	}
	if filled != nil && rep.State == berth.ReplicaRunning { // what stays was held against no limit
		im.backTo(before)
		filled = im.admitted(rep, filled)
		invariant.Hold(im.putIn(rep, filled), "what was found is not free") // it was a moment ago
	}
	if filled != nil && c.state.Closeness(filled) >= c.state.Closeness(kept) {
		return filled
	}
	im.backTo(before)
	if anew := im.placeAnew(rep, s); anew != nil && (filled == nil || c.state.Closeness(anew) > c.state.Closeness(filled)) {
		return anew
	}
	im.backTo(before)
	invariant.Hold(im.putIn(rep, filled), "what was found is not free") // it was free a moment ago
	if filled == nil && !leaving {
		im.bringBack()
	}
	return filled
}

// placeAnew imagines a gang that is left out in another place, as large as it may be or with
// its minimum.
func (im *imagination) placeAnew(rep *record.Replica, s *record.Shape) []gang.Member {
	c := im.evict
	c.state.Compile(s)
	for _, request := range []*gang.Request{&s.Request, &s.Minimum} {
		t := c.victims.NewSearchFor(rep, &s.Spec, s.Least, request, rep.Retry.Get().Avoid, c.state.UntilVictimsGone(c.state.GraceOf(rep)))
		if where := t.Place(); where != nil && im.putIn(t.Rep, where) {
			return where
		}
	}
	return nil
}

// fillIn imagines a gang that is left out with those members kept where they are that can stay
// there, the dead where they stood, and places for the others; nil: there are none. What is
// balanced, spread or on aligned rails has to be placed together. A life that was observed may
// stand where its job does not allow it, and hold what it does not claim: the next one does not.
func (im *imagination) fillIn(rep *record.Replica, dead []berth.MemberPlacement) (where, kept []gang.Member) {
	half, kept := im.stay(rep, dead)
	if len(kept) == 0 {
		return nil, nil
	}
	for g := range rep.Job.Spec.Groups {
		if half.Count(g, record.MemberAbsent) > 0 && (half.MovesWhole(g) || !im.fillGroup(rep, half, g)) {
			return nil, nil
		}
	}
	if !im.evict.state.PlacedAsRequired(half) {
		return nil, nil
	}
	return membersOf(half), kept
}

// returnToPlaces imagines a gang of which members died, and that is left out, with all of its
// members where they stood; nil: not all of that is free.
func (im *imagination) returnToPlaces(rep *record.Replica) []gang.Member {
	if len(rep.Retry.Get().Stood) == 0 {
		return nil
	}
	before, stood := im.extent(), len(rep.Retry.Get().Stood)
	for flat := range rep.Members {
		if rep.Members[flat].State.Holds() && !slices.ContainsFunc(rep.Retry.Get().Stood, func(p berth.MemberPlacement) bool { return rep.Job.Flat(p.Ref()) == flat }) {
			stood++
		}
	}
	half, kept := im.stay(rep, rep.Retry.Get().Stood)
	whole := len(kept) == stood && half.Enough(record.MemberRunning) && im.evict.state.PlacedAsRequired(half)
	if !whole || half.LacksOfSegments() {
		im.backTo(before)
		return nil
	}
	return membersOf(half)
}

// stay imagines those members of a gang that is left out which can stay where they are, and the
// dead where they stood, and returns that part of the gang.
func (im *imagination) stay(rep *record.Replica, dead []berth.MemberPlacement) (half *record.Replica, kept []gang.Member) {
	half = record.ImaginedReplica(rep, slices.Clone(rep.Members))
	for flat := range half.Members {
		m := &half.Members[flat]
		if stays := m.State.Holds() && im.mayReturn(rep, flat, m); !stays {
			*m = record.Member{}
			continue
		}
		m.ImagineRunning()
		kept = append(kept, gang.Member{Group: rep.Job.Group(flat), Hold: m.Hold})
	}
	if len(kept) > 0 && !im.putIn(rep, kept) {
		return half, nil
	}
	return half, append(kept, im.returnDead(rep, half, dead)...)
}

// membersOf lists the members of a gang that is imagined.
func membersOf(half *record.Replica) (where []gang.Member) {
	for flat := range half.Members {
		if half.Members[flat].State == record.MemberRunning {
			where = append(where, gang.Member{Group: half.Job.Group(flat), Hold: half.Members[flat].Hold})
		}
	}
	return where
}

// mayReturn reports whether a member may be started again where it was, and has it hold what it
// would hold then.
func (im *imagination) mayReturn(rep *record.Replica, flat int, m *record.Member) (stays bool) {
	if m.Node.Closed() || im.evict.state.DrainOn(rep, m.Node).Node != nil || slices.Contains(rep.Retry.Get().Avoid, m.Node.Spec.ID) {
		return false
	}
	m.Hold, stays = im.evict.state.Anew(m, &rep.Job.Spec.Groups[rep.Job.Group(flat)])
	return stays
}

// returnDead imagines the members of a gang that died where they stood, as far as that is free and
// set aside for nobody else, and returns them. A gang that waits for its turn there, and does not
// rank above, waits as if the members had lived.
func (im *imagination) returnDead(rep, half *record.Replica, dead []berth.MemberPlacement) (back []gang.Member) {
	if half.Members == nil {
		half.Members = make([]record.Member, rep.Job.Members())
	}
	end := im.evict.state.EndIfStarted(rep, max(im.evict.state.Now, rep.Retry.Get().ReadyAt))
	for i := range dead {
		flat := rep.Job.Flat(dead[i].Ref())
		m, known := im.evict.backlog.Stood(rep, &dead[i])
		if !known || half.Members[flat].State != record.MemberAbsent || !im.mayReturn(rep, flat, &m) ||
			slices.ContainsFunc(m.Node.Reservations, func(res *record.Reservation) bool {
				waits := res.GivesWay() && !im.evict.backlog.Claims(res.Rep, rep)
				return !res.IsPlanned() && !waits && !im.evict.backlog.Admits(res, rep, end)
			}) {
			continue
		}
		if one := []gang.Member{{Group: rep.Job.Group(flat), Hold: m.Hold}}; im.putIn(rep, one) {
			half.Members[flat] = m
			back = append(back, one...)
		}
	}
	return back
}

// fillGroup imagines places for the missing members of a group: for all of them, or for as many as
// fit where that is enough for the gang.
func (im *imagination) fillGroup(rep, half *record.Replica, g int) bool {
	group := &rep.Job.Spec.Groups[g]
	for half.Count(g, record.MemberAbsent) > 0 {
		spec := im.evict.state.Shortfall(half, g)
		if !im.fillNear(rep, half, g, &spec) {
			break
		}
	}
	return half.Count(g, record.MemberRunning) >= record.Least(group) && !half.LacksOfSegment(g)
}

// fillNear imagines places for a request: for all of it, in the narrowest domain around the
// members that stay that has capacity or, in the widest that is allowed, for as many as fit. That
// domain lies inside the one that the request requires.
func (im *imagination) fillNear(rep, half *record.Replica, g int, spec *record.ShapeSpec) bool {
	tree := im.evict.state.Fleet.Tree()
	widest := tree.DomainLevel(spec.Within)
	anchor, near := half.Anchor(rep, g, func(n topology.NodeIndex) bool { return tree.DomainOf(n, widest) == spec.Within })
	all := *spec
	all.Groups = slices.Clone(spec.Groups)
	all.Groups[0].MinMembers = all.Groups[0].Members
	for level := tree.NodeLevel() - 1; near && level > widest; level-- {
		if all.Within = tree.DomainOf(anchor, level); tree.DomainLevel(all.Within) == level && im.fill(rep, half, g, &all) {
			return true
		}
	}
	all.Within = spec.Within
	return im.fill(rep, half, g, &all) || im.fill(rep, half, g, spec)
}

// fill imagines places for what is asked for, and has the first of a group that half a gang
// lacks hold them.
func (im *imagination) fill(rep, half *record.Replica, g int, spec *record.ShapeSpec) bool {
	c := im.evict
	request := c.state.Request(spec)
	t := c.victims.NewSearchFor(rep, spec, c.state.ChargeFor(&request), &request, rep.Retry.Get().Avoid, c.state.UntilVictimsGone(c.state.GraceOf(rep)))
	where := t.Place()
	if where == nil || !im.putIn(t.Rep, where) {
		return false
	}
	flat := rep.Job.Offset(g)
	for i := range where {
		for half.Members[flat].State != record.MemberAbsent {
			flat++
		}
		hold := where[i].Hold
		half.Members[flat] = record.ImaginedMember(hold, c.state.Nodes[hold.Node])
	}
	return true
}

// Relocate finds another place for the gangs that have to leave theirs. It looks again when
// something has changed that could help, and when a drain leaves no more time. One pass looks for
// so many; a round goes on until it has looked for all, so that those behind have their turn
// whatever changes meanwhile.
func (ev *Evict) Relocate() {
	if !ev.agenda.BeginMoves(ev.state.Now) {
		return
	}
	more := ev.search.Surge()
	found, left := ev.findPlaces()
	for ev.search.LetStay(found) || ev.endGrowth(found) { // others counted on what is not given up
		found, left = ev.findPlaces()
	}
	for _, r := range found {
		r.Rep.Relocation.Note().SoughtAt = ev.agenda.MoveTurn
		ev.search.DecideMove(r)
	}
	ev.agenda.EndMoves(left || more)
}

// endGrowth ends what is set aside for the growth of running gangs that have found another place,
// and reports whether there was any. The victims of that growth go on where they are, so a place
// that counts on what they hold has to be looked for again.
func (ev *Evict) endGrowth(found []search.Relocation) bool {
	some := false
	for _, r := range found {
		if r.Where != nil && r.Rep.State == berth.ReplicaRunning && r.Rep.Reserved != nil {
			ev.backlog.EndReservation(r.Rep.Reserved)
			some = true
		}
	}
	return some
}

// findPlaces looks for places for the gangs that need one, and reports whether that leaves some
// over. Gangs that can stand where they stood take no search, and so the bound does not count them:
// whatever makes many gangs fail in one moment, the pass keeps the places of all of them, before
// anything else is placed there.
func (ev *Evict) findPlaces() (found []search.Relocation, left bool) {
	list := ev.search.Uprooted()
	if len(list) == 0 {
		return nil, false
	}
	im := ev.imagineAll()
	defer im.Forget()
	searches := 0
	for _, rep := range list {
		if ev.books.IsOutOfBudget(rep) { // it is started nowhere
			found = append(found, search.Relocation{Rep: rep})
			continue
		}
		before := im.extent()
		where := im.returnToPlaces(rep)
		if where == nil {
			if searches++; searches > ev.state.Bounds.Moves {
				left = true
				continue
			}
		}
		found = append(found, im.relocation(rep, where, before))
	}
	for i := range found { // those that need another place take nobody's own
		if found[i].Where == nil && !ev.books.IsOutOfBudget(found[i].Rep) {
			before := im.extent()
			found[i] = im.relocation(found[i].Rep, im.resettle(found[i].Rep), before)
		}
	}
	return found, left
}

// relocation judges a place that was imagined since an extent: to a gang that is being stopped or
// backs off it is of no use if its queue would not admit it there, once all is gone that is on its
// way out. Others may have such a place, or the part of it that is surplus. Of a gang that runs,
// resettle has seen to that.
func (im *imagination) relocation(rep *record.Replica, where []gang.Member, before record.Extent) search.Relocation {
	r := search.Relocation{Rep: rep, Where: where}
	if where == nil || rep.State == berth.ReplicaRunning {
		return r
	}
	im.backTo(before)
	if admitted := im.admitted(rep, where); admitted != nil {
		r.Where = admitted
		invariant.Hold(im.putIn(rep, admitted), "what was found is not free") // it was a moment ago
	} else {
		r.Barred = true
	}
	return r
}

// admitted is as much of a place as the queue of a gang admits: all of it, or with less of the
// surplus, of which the last goes first; nil: not even the minimum.
func (im *imagination) admitted(rep *record.Replica, where []gang.Member) []gang.Member {
	var surplus []int // where it is in the place
	there := make([]int, len(rep.Job.Spec.Groups))
	for i := range where {
		g := where[i].Group
		group := &rep.Job.Spec.Groups[g]
		together := record.PlacedTogether(&group.Topology) || record.UnitOf(group) > 1
		if there[g]++; there[g] > record.Least(group) && !together {
			surplus = append(surplus, i)
		}
	}
	without := func(n int) []gang.Member {
		left := slices.Clone(where)
		for _, i := range slices.Backward(surplus[len(surplus)-n:]) {
			left = slices.Delete(left, i, i+1)
		}
		return left
	}
	c := im.evict
	n := sort.Search(len(surplus)+1, func(n int) bool {
		return c.backlog.AffordsAll(rep.Job.Queue, c.backlog.NewPlan(rep, without(n)).Charges)
	})
	if n > len(surplus) {
		return nil
	}
	return without(n)
}
