package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// Place serves the ready buckets in policy order. Elastic gangs get their minimum at first,
// so that nobody's extras come before another's minimum; what is left is theirs then.
func (se *Search) Place() {
	se.backlog.TellAllNext()
	se.placeMinimums()
	for _, u := range se.unbound {
		if u.rep.State == berth.ReplicaBinding && u.rep.Job.Shape().IsElastic() {
			se.enlarge(u.rep)
		}
		se.Bind(u.rep, u.cause)
	}
	clear(se.unbound)
	se.unbound = se.unbound[:0]
}

// placeMinimums serves the ready buckets until nothing fits or the bounds of a pass are reached.
func (se *Search) placeMinimums() {
	se.minimums = true
	defer func() { se.minimums = false }()
	members, counted := 0, 0
	for attempts := range se.state.Config.Policy.PassBudget {
		for ; counted < len(se.unbound); counted++ {
			members += se.unbound[counted].rep.Job.Shape().Fewest()
		}
		if attempts+members >= se.state.Bounds.Placed {
			return
		}
		i, ok := se.state.Quota.Next()
		if !ok && se.agenda.TookSome() {
			// What was taken since may have moved the search off a product whose limit
			// is reached.
			se.backlog.WakeLimited()
			i, ok = se.state.Quota.Next()
		}
		if !ok {
			return
		}
		b := se.books.Queues[i].Ready.Min()
		se.backlog.Try(b.Entries.Min(), func() { se.attempt(b) })
	}
}

// attempt tries to place the first replica of a ready bucket. Afterwards that
// replica is bound, or the bucket is not ready any more.
func (se *Search) attempt(b *record.Bucket) {
	s, e := b.Shape, b.Entries.Min()
	se.state.Compile(s)
	se.state.Totals.PlacementAttempts++
	request, ok := se.affordable(b)
	if !ok {
		se.backlog.QuotaBlock(b)
		return
	}
	if !e.Grows && s.IsElastic() {
		request = &s.Minimum
	}
	outcome := se.try(e, request)
	if outcome == Fits {
		return
	}
	if wider, some := se.WithReservedNodes(e, request); some {
		switch se.try(e, wider) {
		case Fits:
			return
		case fitsNoLimit:
			outcome = fitsNoLimit
		}
	}
	switch outcome {
	case fitsNowhere: // the first alone was tried on nodes that are set aside
		se.backlog.Block(s)
		se.freshenShape(s)
	case fitsNoLimit:
		se.limit(e)
	}
}

// try searches a place for an entry, and gives the Bind if there is one.
func (se *Search) try(e *record.Entry, request *gang.Request) fit {
	was := e.Assume()
	outcome := se.search(e, request)
	if outcome == Fits {
		se.placed(e, berth.Cause{Code: berth.CauseFits})
	} else if !e.Grows {
		e.Rep.Members = nil // those that bookPlacement entered, and took back
		e.Rep.Job.Become(was)
	}
	return outcome
}

// affordable is the request of a bucket, or as much of it as the limits on its queue leave. Of a
// gang of several groups that is all or the minimum.
func (se *Search) affordable(b *record.Bucket) (*gang.Request, bool) {
	return se.affordableFor(b.Shape, b.Queue.Index)
}

func (se *Search) affordableFor(s *record.Shape, q quota.QueueIndex) (*gang.Request, bool) {
	if se.backlog.Affords(q, s.Charge) {
		return &s.Request, true
	}
	if !se.backlog.Affords(q, s.Least) {
		return nil, false
	}
	unit := record.UnitOf(&s.Spec.Groups[0])
	fewest, most := s.Minimum.Groups[0].Members/unit, s.Request.Groups[0].Members/unit
	if len(s.Request.Groups) > 1 || most-fewest <= 1 {
		return &s.Minimum, true
	}
	each := quota.Charge{
		GPUMilli: s.Least.GPUMilli / int64(fewest), Host: s.Least.Host.DividedBy(int64(fewest)), Declared: s.Least.Declared.DividedBy(int64(fewest)), Product: s.Least.Product,
	}
	for most-fewest > 1 { // fewest units are affordable, most are not
		middle := fewest + (most-fewest)/2
		if se.backlog.Affords(q, each.Times(int64(middle))) {
			fewest = middle
		} else {
			most = middle
		}
	}
	cut := s.Request
	cut.Groups = slices.Clone(s.Request.Groups)
	cut.Groups[0].Members = fewest * unit
	return &cut, true
}

// requestNow is what an entry may have now by its quota. Its shape may be blocked, for others.
func (se *Search) requestNow(e *record.Entry) (*gang.Request, bool) {
	b := e.Bucket
	se.state.Compile(b.Shape)
	request, ok := se.affordable(b)
	if ok {
		se.state.Totals.PlacementAttempts++
	} else if b.QuotaSlot < 0 {
		se.backlog.QuotaBlock(b)
	}
	return request, ok
}

// search looks for a place, and books it if there is one: first without the nodes that the replica
// avoids, and with the minimum alone if limits on products leave no more.
func (se *Search) search(e *record.Entry, request *gang.Request) fit {
	outcome := se.placeRather(e.Rep, request, e.Base())
	if outcome != fitsNoLimit {
		return outcome
	}
	least := *request
	least.Groups = slices.Clone(request.Groups)
	for i := range least.Groups {
		least.Groups[i].Members = request.Groups[i].MinMembers
	}
	if se.PlaceRequest(e.Rep, &least, e.Base()) == Fits {
		return Fits
	}
	return outcome
}

// placeRather looks for a place, and books it if there is one: first without the nodes that the
// replica avoids.
func (se *Search) placeRather(rep *record.Replica, request *gang.Request, base int) fit {
	if avoid := rep.Retry.Get().Avoid; len(avoid) > 0 && se.PlaceRequest(rep, se.Avoiding(avoid, request), base) == Fits {
		return Fits
	}
	return se.PlaceRequest(rep, request, base)
}

// placed gives the Bind for an entry that search has just booked places for.
func (se *Search) placed(e *record.Entry, cause berth.Cause) {
	rep, grows := e.Rep, e.Grows
	se.backlog.Unawait(rep)
	se.backlog.EncloseExclusive(rep)
	if grows {
		if cause.Code == berth.CauseFits {
			cause.Code = berth.CauseGrows
		}
	} else {
		se.life.LeavePending(rep)
		reserve := rep.Reserve.Get()
		reserve.Vain = 0
		rep.Reserve.Set(reserve)
		se.state.SetEnd(rep, se.state.EndIfPlaced(rep))
		se.life.BeginNext(rep)
	}
	if se.minimums {
		se.unbound = append(se.unbound, Unbound{rep, cause})
	} else {
		se.Bind(rep, cause)
	}
}

// An Unbound replica has a place, and no Bind yet.
type Unbound struct {
	rep   *record.Replica
	cause berth.Cause
}

// enlarge places a gang that has its minimum anew with as much as fits now: in one piece with the
// minimum, as if it had been placed so at first. A gang with exclusive domains, or spread, keeps
// its placement, and grows when it runs.
func (se *Search) enlarge(rep *record.Replica) {
	s := rep.Job.Shape()
	se.state.Compile(s)
	if s.LooksAround {
		return
	}
	var held []gang.Hold
	var flats []int
	for flat := range rep.Members {
		if rep.Members[flat].State == record.MemberBinding {
			held, flats = append(held, rep.Members[flat].Hold), append(flats, flat)
			se.books.Vacate(rep, flat, record.MemberUnplaced)
		}
	}
	// What is set aside it leaves to others: it may be there with its minimum alone.
	if request, ok := se.affordableFor(s, rep.Job.Queue); ok {
		if se.PlaceRequest(rep, se.Avoiding(rep.Retry.Get().Avoid, request), 0) == Fits {
			se.state.LeftBehind(rep, held)
			return
		}
	}
	for i, flat := range flats { // it keeps what it had
		se.books.HoldAgain(held[i])
		se.books.Book(rep, flat, held[i], record.MemberPlaced)
	}
}

// Avoiding is a request without some nodes.
func (se *Search) Avoiding(avoid []berth.NodeID, r *gang.Request) *gang.Request {
	if len(avoid) == 0 {
		return r
	}
	return leavingOut(r, func(n topology.NodeIndex) bool { return slices.Contains(avoid, se.state.Nodes[n].Spec.ID) })
}

// A fit is how a search for a place ended.
type fit uint8

const (
	// Fits: places were found, and are held.
	Fits fit = iota
	fitsNowhere
	// fitsNoLimit: capacity is free, but on products with a limit that is reached.
	fitsNoLimit
)

// PlaceRequest finds and books places for a request whose first group is the
// replica's group with index base.
func (se *Search) PlaceRequest(rep *record.Replica, r *gang.Request, base int) fit {
	book := func() (string, bool) { return se.bookPlacement(rep, base) }
	if rep.Job.Spec.Service == nil || !se.leavesDomains() {
		return se.FindAllowed(r, book)
	}
	rest := r
	for range onlyDomains {
		var only []topology.DomainIndex
		outcome := se.FindAllowed(rest, func() (string, bool) {
			members := se.books.Placement.Members
			if only = se.onlyDomainsTaken(members); len(only) > 0 {
				se.books.GiveBack(members)
				return "", false
			}
			return book()
		})
		if len(only) == 0 {
			if outcome == Fits || rest == r {
				return outcome
			}
			break
		}
		rest = se.outside(only, rest)
	}
	return se.FindAllowed(r, book)
}

// FindAllowed finds and takes places for a request. Only a limit on one product can then
// still be in the way, of a job that takes several: take names it, holds nothing, and it
// is searched for again without that product. (A gang that only a mixture of products
// within their limits could hold is not found so.)
func (se *Search) FindAllowed(r *gang.Request, take func() (limited string, ok bool)) fit {
	for without := *r; ; {
		if !se.find(&without) {
			if len(without.Groups) > 0 && &without.Groups[0] != &r.Groups[0] {
				return fitsNoLimit
			}
			return fitsNowhere
		}
		limited, ok := take()
		if ok {
			return Fits
		}
		groups, cut := se.withoutProduct(without.Groups, limited)
		if !cut {
			return fitsNoLimit
		}
		without.Groups = groups
	}
}

// AffordsMembers reports whether the limits on a queue let it have members where they are, or
// else the product that is in the way.
func (se *Search) AffordsMembers(rep *record.Replica, members []gang.Member) (limited string, ok bool) {
	q := rep.Job.Queue
	ok = true
	var charged []quota.Charge
	for len(members) > 0 {
		sum, run := se.state.ChargeOfRun(rep, members)
		if _, ok = se.state.Quota.Fits(q, sum); !ok {
			limited = se.state.ProductOf(&members[0])
			break
		}
		se.books.Charge(q, sum)
		charged = append(charged, sum)
		members = members[run:]
	}
	for _, sum := range charged {
		se.books.Discharge(q, sum)
	}
	return limited, ok
}

// withoutProduct copies groups and leaves out the classes of one product, for
// those that are charged for it. It reports whether that left anything out.
func (se *Search) withoutProduct(groups []gang.Group, product string) (rest []gang.Group, cut bool) {
	rest = slices.Clone(groups)
	for i := range rest {
		g := &rest[i]
		if !g.Claim.WantsDevice() {
			continue
		}
		*g = g.Only(func(class topology.NodeClass) bool { return se.state.Classes.List[class].Key.Product != product })
		cut = cut || len(g.Classes) < len(groups[i].Classes)
	}
	return rest, cut
}

// bookPlacement books what the search has just held for absent members; the
// first group of the request is the one with index base. If a limit of the quota
// tree forbids it, nothing stays held, and the product in question is returned.
func (se *Search) bookPlacement(rep *record.Replica, base int) (limited string, ok bool) {
	members := se.books.Placement.Members
	if rep.Members == nil {
		rep.Members = make([]record.Member, rep.Job.Members())
	}
	se.booked = se.booked[:0]
	flat := 0
	for done := 0; done < len(members); {
		charge, run := se.state.ChargeOfRun(rep, members[done:])
		if !se.backlog.Affords(rep.Job.Queue, charge) {
			se.unplace(rep, members[done:])
			return se.state.ProductOf(&members[done]), false
		}
		for i := done; i < done+run; i++ {
			if group := base + members[i].Group; i == 0 || members[i].Group != members[i-1].Group {
				flat = rep.Job.Offset(group)
			}
			for rep.Members[flat].State != record.MemberAbsent {
				flat++ // the search placed no more than are absent
			}
			se.booked = append(se.booked, flat)
			flat++
		}
		se.books.BookRun(rep, se.booked[done:], members[done:done+run], charge)
		done += run
	}
	se.agenda.Take()
	return "", true
}

// unplace undoes a placement of which the first members were booked already.
func (se *Search) unplace(rep *record.Replica, held []gang.Member) {
	se.books.GiveBack(held)
	for _, flat := range se.booked {
		se.books.Vacate(rep, flat, record.MemberUnplaced)
	}
}

// backfillEntry tries one entry, and reports whether that took a search.
func (se *Search) backfillEntry(e *record.Entry) bool {
	b := e.Bucket
	if e.Slot < 0 || b.Slot >= 0 {
		return false // another group of the gang grew before it, say, or it is ready again
	}
	se.state.Compile(b.Shape)
	planned := false
	if res := e.Rep.PlannedReservation(); e.Grows && res != nil {
		// What was placed since ServeReserved looked may have opened a limit on its queue.
		if planned = se.tryPlanned(e, len(res.Plan.Where)); e.Rep.Reserved != res {
			return true
		}
	}
	if _, some := se.WithReservedNodes(e, &b.Shape.Request); !some {
		return planned // before anything is noted: mayBackfill need not have asked
	}
	request, ok := se.requestNow(e)
	if !ok {
		return false
	}
	if !e.Grows && b.Shape.IsElastic() {
		request = &b.Shape.Minimum
	}
	wider, _ := se.WithReservedNodes(e, request)
	switch se.try(e, wider) {
	case Fits:
		se.state.Totals.ReplicasBackfilled++
	case fitsNoLimit:
		se.limit(e)
	}
	return true
}

// tryPlanned places as many further members of a gang as are planned, or more, on the nodes that
// are set aside for them or elsewhere, and reports whether that took a search. Fewer are placed
// elsewhere alone: those nodes are for all of them.
func (se *Search) tryPlanned(e *record.Entry, members int) (tried bool) {
	se.state.Compile(e.Bucket.Shape)
	request, ok := se.affordable(e.Bucket)
	if !ok || request.Groups[0].Members < members {
		return false
	}
	planned := *request
	planned.Groups = slices.Clone(request.Groups)
	planned.Groups[0].MinMembers = members
	end := se.state.EndIfPlaced(e.Rep)
	se.state.Totals.PlacementAttempts++
	se.try(e, se.state.Widen(&e.Bucket.Shape.Spec, &planned, func(res *record.Reservation) bool {
		return se.backlog.Admits(res, e.Rep, end) && !res.IsSpares()
	}))
	return true
}

// Bind gives a Bind for the members that were just booked.
func (se *Search) Bind(rep *record.Replica, cause berth.Cause) {
	after := se.gpus.Prepare(rep)
	timeout := se.state.Config.Policy.BindTimeout
	if len(after) > 0 {
		timeout += se.state.Config.Policy.RepartitionTimeout
	}
	for flat := range rep.Members {
		if rep.Members[flat].State == record.MemberBinding {
			rep.Members[flat].Bind = se.state.LastOrder + 1
		}
	}
	bind := berth.Bind{
		OrderHeader: se.state.Order(rep, timeout, cause),
		Members:     se.state.Placements(rep, record.MemberBinding),
		Alternative: rep.Job.Alternative(),
		Claims:      rep.Job.Pattern.Claims(),
		After:       after,
	}
	if other := rep.Relocation.Get().Instead; other != nil {
		bind.Instead = other.Ref()
	}
	rep.Order = bind
	se.state.OpenOrder(rep)
	if cause.Code != berth.CauseVictimsGone && cause.Code != berth.CauseResumed { // those were planned beside what others have set aside there
		se.backlog.EndDisplacedBy(rep)
	}
	se.state.Totals.Binds++
}

// tryStaged searches with what is staged.
func (se *Search) tryStaged(w *wish) fit {
	se.state.Totals.PlacementAttempts++
	return se.try(w.Entry, w.request)
}
