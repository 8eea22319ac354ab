package evict

import (
	"math"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
)

// Preempt plans preemptions and moves for entries that wait, in policy order. The pass comes to
// this last, when all that fits has been placed.
func (ev *Evict) Preempt() {
	if evictsNothing(&ev.state.Config.Policy) {
		return
	}
	_, ready := ev.state.Quota.Next()
	if ready { // the budget is spent: what fits comes first
		ev.victims.Prepare()
	}
	if ev.state.Now < ev.agenda.NextPreempt {
		return
	}
	if at := ev.life.EvictionsReady(); at > ev.state.Now && ev.life.Stretching == 0 {
		ev.agenda.PreemptAt(at)
		return
	}
	if ready {
		return
	}
	list, next := ev.contenders(math.MaxInt)
	if ev.agenda.PreemptAt(next); len(list) == 0 {
		return
	}
	reservations := len(ev.backlog.Reservations)
	im := ev.imagineAll()
	if len(ev.backlog.Reservations) < reservations {
		list, _ = ev.contenders(math.MaxInt) // some of them beneficiaries
	}
	bids := ev.bidAll(im, list)
	im.Forget()
	for _, b := range bids {
		if !ev.grant(b) {
			ev.bidInVain(b.Entry)
			break // those after it may count on its victims
		}
	}
}

// repliesOfPass is how many bids for which the answer is known count as one that has to search.
const repliesOfPass = 256

// bidAll looks for victims for the entries of a list, the queues in the order in which
// they are served. Once it has searched enough, it goes on with those that are known to bid in
// vain: they take nothing from those before them.
func (ev *Evict) bidAll(im *imagination, list []*record.Entry) []*Bid {
	r := ev.books.NewPolicyOrder(list)
	defer r.End()
	var bids []*Bid
	behind := map[*record.Bucket]bool{} // those behind the first one are in the order
	im.VictimSearches = ev.state.Bounds.VictimSearches
	enough := im.VictimSearches*7/8 + im.worth() // so few are left then
	for searched, unknown, left := 0, 0, false; ; {
		e := r.Next()
		if e == nil && !left {
			return bids
		}
		if e == nil || im.replies.Given >= repliesOfPass*ev.state.Bounds.Bids {
			break // the rest in the next pass
		}
		if ready := ev.life.EvictionsReady(); ready > ev.state.Now && ev.life.Stretching == 0 { // the bid that comes first is first then
			ev.agenda.PreemptAt(ready)
			return bids
		}
		inVain := ev.bidsInVain(im, e)
		if left && !inVain {
			if unknown++; unknown == ev.state.Bounds.Bids {
				break // nor are most of those after it known to bid in vain
			}
		}
		left = left || !inVain && (searched == ev.state.Bounds.Bids || im.VictimSearches <= enough)
		if inVain || left {
			removeAlike(r, e, behind[e.Bucket])
			continue
		}
		im.first = searched == 0
		searched++
		b := ev.bid(im, e)
		if b == nil {
			removeAlike(r, e, behind[e.Bucket])
			continue
		}
		im.replies.Forget()
		if !behind[e.Bucket] {
			behind[e.Bucket] = true
			for _, other := range ev.backlog.First(e.Bucket, ev.state.Bounds.Bids) {
				if other != e && other.Bids() && ev.backlog.Due.LooksFor(other) <= ev.state.Now {
					r.Add(other)
				}
			}
		}
		r.Pop(e)
		if e.Rep.Job.HasAlternatives() {
			r.RemoveAll(e.Rep.Job.Queue, func(other *record.Entry) bool { return other.Rep == e.Rep }) // as whatever else it waits
		}
		if len(b.victims) > 0 {
			bids = append(bids, b)
			if e.Bucket.Shape.Spec.Topology.Exclusive != "" {
				break // only what is set aside for it keeps others out of its domains
			}
			if e.Grows {
				break // only what is set aside for it keeps it from being a victim
			}
		}
	}
	ev.agenda.PreemptAt(ev.state.Now)
	return bids
}

// removeAlike takes the entry in turn off a policy order, and those of its bucket that bid as it
// does.
func removeAlike(r *books.PolicyOrder, e *record.Entry, behind bool) {
	if !behind {
		r.Pop(e)
		return
	}
	r.RemoveAll(e.Rep.Job.Queue, func(other *record.Entry) bool {
		return other == e || other.Bucket == e.Bucket && other.Grows == e.Grows
	})
}

// A Bid is an entry with the victims or moves found for it, and what it will hold then.
type Bid struct {
	*record.Entry
	victims []record.Piece
	where   []gang.Member
	// Moves has the destinations of the victims that only move. Where all do, they have to pay.
	Moves      []search.Relocation
	Cost, Gain preempt.GPUMilliseconds
	// gave are the floors of the queues that give so that less fills their guarantees.
	gave []victim.Floor
}

// bid looks for gangs to move, or for the cheapest victims, for an entry, and imagines the
// exchange; nil: there are none. A bid without either counts on members that depart anyway.
func (ev *Evict) bid(im *imagination, e *record.Entry) *Bid {
	defer e.Rep.Job.Become(e.Assume())
	ready := ev.life.EvictionsReady()
	if e.Grows && im.takesFrom(e.Rep) {
		return nil
	}
	if !e.Grows && ev.state.Config.Policy.Defragmentation.Mode == berth.DefragmentationOn && ev.search.InPieces(e) && ready <= ev.state.Now {
		before := im.extent()
		b := im.BidForMoves(e)
		if b != nil {
			im.replies.Forget() // its victims may be held back from now on
		}
		if b != nil && b.pays() && ev.life.MeterVictims(victim.Wholes(b.victims)) <= ev.state.Now {
			return b
		}
		im.backTo(before)
	}
	if ev.state.Config.Policy.Preemption.Mode == berth.PreemptionOff {
		ev.bidInVain(e)
		return nil
	}
	return ev.bidForVictims(im, e, ready)
}

// bidsInVain reports whether earlier searches tell that no preemption starts an entry, and notes
// that. Its own queue has nothing that it could take, and what others have does not pay.
func (ev *Evict) bidsInVain(im *imagination, e *record.Entry) bool {
	defer e.Rep.Job.Become(e.Assume())
	p := &ev.state.Config.Policy
	if e.Grows || p.Defragmentation.Mode == berth.DefragmentationOn || ev.mayRearrange() && ev.asksWithin(e.Bucket, ev.books.Owed(ev.books.Queues[e.Rep.Job.Queue])) ||
		p.Preemption.Mode == berth.PreemptionOn && ev.victims.OutranksAny(e.Rep) {
		return false
	}
	t := im.replies.NewSearch(ev.victims, e)
	t.PartsOnly = ev.life.EvictionsReady() > ev.state.Now
	if !im.replies.Recall(t) || t.PartsOnly || t.Waits {
		return false
	}
	if ev.Replied != nil {
		ev.Replied(e, t)
	}
	ev.lookAgain(e, t.RipeAt)
	return true
}

// lookAgain notes that no preemption and no move starts an entry, and when one might even if
// nothing changes.
func (ev *Evict) lookAgain(e *record.Entry, ripe func(after berth.Time) berth.Time) {
	ev.bidInVain(e)
	e.Bid.Round, e.Bid.RipeAt = 0, ripe(e.Bid.At)
	ev.agenda.PreemptBy(ev.backlog.Due.LooksFor(e))
}

// bidInVain notes that no preemption and no move starts an entry, as things are.
func (ev *Evict) bidInVain(e *record.Entry) {
	e.Bid.Turn, e.Bid.RipeAt = ev.agenda.PreemptTurn, 0
	e.Bid.At = ev.state.DeferBid(e.Rep, 3)
	ev.backlog.Due.NoteBids(e.Bucket)
}

// rest has an entry bid no more in this turn before an instant; 0: until something changes.
func (ev *Evict) rest(e *record.Entry, until berth.Time) {
	e.Bid.Turn, e.Bid.RipeAt = ev.agenda.PreemptTurn, until
	ev.backlog.Due.NoteBids(e.Bucket)
}

// bidForVictims looks for the cheapest victims: for surplus alone, until the rate limit allows an
// eviction.
func (ev *Evict) bidForVictims(im *imagination, e *record.Entry, ready berth.Time) *Bid {
	how := Seeking{Mode: ev.state.Config.Policy.Preemption.Mode, avoid: e.Rep.Retry.Get().Avoid, partsOnly: ready > ev.state.Now, Chooser: &ev.chooser, replies: &im.replies}
	t, victims, ok := ev.Seek(e, how, &im.VictimSearches)
	if !ok && len(how.avoid) > 0 && im.VictimSearches > 0 {
		how.avoid = nil
		t, victims, ok = ev.Seek(e, how, &im.VictimSearches)
	}
	switch {
	case t.Waits:
		ev.rest(e, 0) // until that is over
		return nil
	case !ok && im.VictimSearches <= 0 && !im.first: // cut short: it comes first in the next pass, with all of them
		ev.agenda.PreemptBy(ev.state.Now)
		return nil
	case !ok && !how.partsOnly:
		return ev.bidForBoth(im, e, t)
	case !ok:
		ev.rest(e, ready)
		ev.agenda.PreemptBy(ready)
		return nil
	}
	if len(victims) == 0 {
		ev.rest(e, 0) // until something changes
	} else if !ev.meters(im, e, victims) {
		return nil
	}
	for _, victim := range victims {
		im.leaveOut(victim)
	}
	invariant.Hold(t.Find(), "equal fleets, different answers") // it did a moment ago
	b := &Bid{Entry: e, victims: victims, gave: t.Gave, where: slices.Clone(ev.books.Placement.Members)}
	ev.books.LetGo()
	invariant.Hold(im.putIn(t.Rep, b.where), "what was found is not free")
	return asGroup(e, b)
}

// bidForBoth looks for victims and moves together where a search for victims alone was in vain:
// among other gangs each time, until it has been among all of them.
func (ev *Evict) bidForBoth(im *imagination, e *record.Entry, t *victim.Search) *Bid {
	before := im.extent()
	b, both, next := im.BidToRearrange(e, &ev.chooser, e.Bid.Round)
	if b == nil && im.VictimSearches <= 0 && !im.first { // cut short, as a search for victims alone
		ev.agenda.PreemptBy(ev.state.Now)
		return nil
	}
	e.Bid.Round = next
	switch {
	case b != nil && ev.meters(im, e, b.victims):
		return b
	case b != nil:
		im.backTo(before)
	case next > 0:
		ev.agenda.PreemptBy(ev.state.Now)
	default:
		ev.lookAgain(e, func(after berth.Time) berth.Time { return state.Earlier(t.RipeAt(after), both.RipeAt(after)) })
	}
	return nil
}

// meters reports whether the rate limits allow the victims of an entry now, and counts them
// then; or else has it bid again when they do.
func (ev *Evict) meters(im *imagination, e *record.Entry, victims []record.Piece) bool {
	at := ev.life.MeterVictims(victim.Wholes(victims))
	im.replies.Forget() // they may be held back from now on
	if at > ev.state.Now {
		ev.rest(e, at)
		ev.agenda.PreemptBy(at)
	}
	return at <= ev.state.Now
}

// Seek looks for the victims of an entry: it reclaims what was lent to other queues or else,
// where the mode allows it, preempts within its own queue. It never does both: a victim of the
// own queue would let the queue reclaim capacity that it may not have when the victim comes back.
// The searches that it took are subtracted.
func (ev *Evict) Seek(e *record.Entry, s Seeking, trials *int) (t *victim.Search, victims []record.Piece, ok bool) {
	if e.Grows {
		return ev.seekToGrow(e, s, trials)
	}
	lent, others, ok := ev.seekLent(e, s, trials)
	switch pays := ok && lent.Weighing == nil; {
	case pays || lent.Waits || s.Mode != berth.PreemptionOn:
		return lent, others, pays
	case s.replies != nil && !ev.victims.OutranksAny(e.Rep):
		return lent, others, false
	case *trials <= 0:
		lent.Cut = true
		return lent, others, false
	}
	t = ev.newSearch(e, s)
	t.Obstacles, t.Cut = lent.Obstacles, lent.Cut
	if lent.WithinGuarantee() {
		t.Guaranteed = lent.CollectsFrom()
	}
	if victims, ok = t.ChooseOwn(s.Chooser, trials); !ok && t.Weighing == nil && lent.Weighing != nil {
		t.Weighing, t.Unsteady, victims = lent.Weighing, lent.Unsteady, others
	}
	return t, victims, ok && t.Weighing == nil
}

func (ev *Evict) newSearch(e *record.Entry, s Seeking) *victim.Search {
	t := ev.victims.NewSearch(e, s.avoid)
	t.PartsOnly, t.SparesNone = s.partsOnly, s.SparesNone
	return t
}

// seekLent is Seek among what was lent to other queues. It may be known already that it is in vain.
func (ev *Evict) seekLent(e *record.Entry, s Seeking, trials *int) (t *victim.Search, victims []record.Piece, ok bool) {
	t = ev.newSearch(e, s)
	if s.replies.Recall(t) {
		return t, nil, false
	}
	if s.replies != nil && t.FitsWithout() { // an answer tells of the candidates all the same
		*trials -= 2
		return t, nil, true
	}
	t.GatherLent()
	if victims, ok = t.Choose(s.Chooser, trials); !ok || t.Weighing != nil {
		s.replies.Note(t)
	}
	return t, victims, ok
}

// A Seeking says how victims are looked for.
type Seeking struct {
	Mode berth.PreemptionMode
	// avoid lists nodes that are avoided.
	avoid []berth.NodeID
	// partsOnly: no whole gang may be evicted just now.
	partsOnly bool
	Chooser   *preempt.Chooser
	// SparesNone looks among those too that are spared for what they are: see victim.Search.
	SparesNone bool
	// replies of earlier searches; nil: each is made anew.
	replies *victim.Replies
}

// grant sets aside what a bid found, and evicts its victims.
func (ev *Evict) grant(b *Bid) bool {
	if ev.makeRoom(b) == nil {
		return false
	}
	ev.state.Totals.Preemptions++
	res := b.Rep.Reserved
	if !ev.reserveMoves(b) {
		return false
	}
	for _, f := range b.gave {
		ev.books.Queues[f.Queue].RaiseFloor(f.Milli)
	}
	for _, victim := range b.victims {
		res.Plan.AddVictim(b.Rep, victim.Rep)
		if b.relocation(victim.Rep) != nil {
			victim.Rep.Beneficiary = b.Rep
			ev.life.Stop(victim.Rep, berth.Cause{Code: berth.CauseMoved, Beneficiary: b.Rep.Ref()}, ev.state.GraceOf(victim.Rep))
		} else {
			ev.life.Ask(victim, b.Rep)
		}
	}
	return true
}

// makeRoom sets aside what a bid found; nil: the fleet has too many kinds of nodes.
func (ev *Evict) makeRoom(b *Bid) *record.Reservation {
	rep := b.Rep
	if rep.Reserved != nil {
		ev.backlog.EndReservation(rep.Reserved)
	}
	b.Assume()
	grace := berth.Duration(0)
	for _, victim := range victim.Wholes(b.victims) {
		grace = max(grace, ev.state.GraceOf(victim))
	}
	res := ev.search.NewGangReservation(ev.state.NodesFor(rep, b.where), record.KindPreemption, rep, grace)
	if res == nil {
		return nil
	}
	res.Plan = ev.backlog.NewPlan(b.Rep, b.where)
	rep.Reserved, b.Bid.RipeAt = res, 0
	ev.backlog.Due.NoteEntries(rep)
	ev.backlog.AddReservation(res)
	return res
}

// NextBid is when a pass has to look for victims again.
func (ev *Evict) NextBid() berth.Time {
	switch {
	case evictsNothing(&ev.state.Config.Policy):
		return agenda.Never
	case ev.agenda.NextPreempt > ev.state.Now:
		return ev.agenda.NextPreempt
	}
	list, next := ev.contenders(1)
	if len(list) > 0 {
		next = ev.state.Now
	}
	return max(next, ev.life.EvictionsReady())
}

// contenders lists the first entries of buckets that may preempt or cause moves, as far as that
// is known without a search, and if it is time to look; next is when it is for one more. It ends
// with the last of so many as are asked for.
// O(queues), and O(buckets) of those queues that may and of which something is due.
func (ev *Evict) contenders(most int) (list []*record.Entry, next berth.Time) {
	ev.books.TellDemands()
	ev.backlog.SyncBids()
	shares := ev.books.AllShares()
	h := ev.hurdle(shares)
	next = agenda.Never
	for _, q := range ev.books.Queues {
		if q == nil || !ev.backlog.Due.AnyBids(q) {
			continue
		}
		c, some := ev.claimOf(q, shares)
		if !some {
			continue
		}
		if h.known && c.least == nil {
			outline := ev.backlog.Due.Outline(q)
			if at := h.clearedBy(h.gainBoundOfAll(outline, c.room), ev.state.Now, next); outline.Fewest > c.free && at > ev.state.Now {
				next = at
				continue
			}
		}
		from := func(e *record.Entry) berth.Time { // next, or later: it may not bid before next
			switch {
			case !ev.mayBidNow(e, &c):
				return agenda.Never
			case h.known && !e.Grows && !c.outranks(e.Rep) && !ev.asksWithin(e.Bucket, c.free):
				return h.clearedBy(gainBoundOf(e), ev.state.Now, next)
			}
			return ev.state.Now
		}
		ev.backlog.Due.EachDue(q, c.most, func(e *record.Entry) bool {
			if at := from(e); at > ev.state.Now {
				next = min(next, at)
			} else {
				list = append(list, e)
			}
			return len(list) < most
		})
		if len(list) == most {
			return list, next
		}
		next = ev.backlog.Due.NextBid(q, next, from)
	}
	return list, next
}

// A claim is what the entries of a queue may bid for: what it may have at the cost of others, in
// all and of its guarantee, and the first of its own jobs to go.
type claim struct {
	room, guarantee int64
	// free is what the guarantee leaves: a bid for no more pays in the end, or may do with moves.
	free  int64
	least *record.Replica // nil: none that anything that waits may outrank
	// most is what an entry asks for at the most that may bid.
	most int64
}

// claimOf is the claim of a queue; false: nothing of it may bid.
func (ev *Evict) claimOf(q *record.Queue, shares *books.AllShares) (c claim, some bool) {
	p := &ev.state.Config.Policy
	share, owed, lent := shares.Left(q)
	if lent && p.Preemption.Mode != berth.PreemptionOff {
		c.room, c.guarantee = share, owed
	}
	c.free = c.guarantee
	if ev.mayRearrange() { // though nobody has anything to give back
		c.free = owed
		c.room = max(c.room, c.free)
	}
	if p.Preemption.Mode == berth.PreemptionOn {
		c.least = q.FirstOutranked()
	}
	c.most = c.room
	if c.least != nil || p.Defragmentation.Mode == berth.DefragmentationOn {
		c.most = math.MaxInt64
	}
	return c, c.most > 0
}

// mayBidNow reports whether an entry may bid by the claim of its queue, and whether it is blocked.
func (ev *Evict) mayBidNow(e *record.Entry, c *claim) bool {
	b := e.Bucket
	if b.Slot >= 0 {
		return false
	}
	moves := ev.state.Config.Policy.Defragmentation.Mode == berth.DefragmentationOn
	return (moves || ev.asksWithin(b, c.room) || c.outranks(b.Entries.Min().Rep)) && ev.mayBid(e, c.room, c.guarantee, c.outranks(e.Rep))
}
