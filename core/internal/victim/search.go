package victim

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// A Search looks for victims for one replica.
type Search struct {
	victims *Victims
	Rep     *record.Replica
	Queue   quota.QueueIndex
	Asked   quota.Charge
	Request *gang.Request

	// Candidates may be evicted, all together: those of the own queue, or those of others, the
	// closer relations first. Of one replica come the units of its surplus, and then all of it.
	Candidates []preempt.Candidate
	Offers     []Offer
	// sources are the queues of which they come, the nearer ones first.
	sources []source
	// places says where to look for more; nil: all are candidates.
	places *places
	// out says which of them are imagined gone now, and charged whether they are charged all the
	// same.
	out     []bool
	charged bool
	// givers has what is known of replicas, as of queues that were asked about.
	givers map[*record.Replica]*giver
	// keeps has what the queues keep of which something may go, in the order of their allowances.
	entitlements  []*entitlement
	entitlementOf map[quota.QueueIndex]int // their numbers, from 1
	// Gave are the floors of the queues that give so that less fills their guarantees.
	Gave []Floor
	Obstacles
	// Guaranteed is from when a search among other queues that was made before this one takes what
	// is guaranteed at any cost; 0: it does not.
	Guaranteed berth.Time
	// RestsUntil is when the rest of the replica ends, where that alone keeps victims of its queue;
	// 0: it does not.
	RestsUntil berth.Time
	// withinGuarantee: the request is within the guarantee of its queue, and reclaimed from other
	// queues.
	withinGuarantee bool
	// grows: the replica runs, and is to get further members.
	grows bool
	// PartsOnly: no job may be evicted as a whole just now.
	PartsOnly bool
	// SparesNone: jobs that would lose all that they have done, and those that are too large for
	// what is asked, are candidates as any others. Such a search only says what spares them.
	SparesNone bool
	// Cut: the search was cut short, so that there may be more to find.
	Cut bool
	// needy: the replica does not fit without victims.
	needy bool
	// Waits: the cheapest choice is a gang that gives up other members just now.
	Waits bool
	// chosen are the victims of a choice that suffices. Weighing has its gain and its cost if it
	// does not pay; nil: it pays.
	chosen   []int
	Weighing *berth.Weighing
	// Unsteady: others than those chosen may pay sooner, though nothing changes but the clock.
	Unsteady bool
	// weighed is scratch, for candidates with their cost.
	weighed []preempt.Candidate
}

// Obstacles are what a search met that kept running jobs from being candidates.
type Obstacles struct {
	// ProtectedUntil is when the first protected job may be preempted, and Limited when the first
	// one under the rate limit of its queue may; 0: there are none.
	ProtectedUntil, Limited berth.Time
}

// Add adds those of another search for the same replica.
func (o *Obstacles) Add(other Obstacles) {
	o.ProtectedUntil = state.Earlier(o.ProtectedUntil, other.ProtectedUntil)
	o.Limited = state.Earlier(o.Limited, other.Limited)
}

// NewSearch begins one for an entry, with its minimum.
func (v *Victims) NewSearch(e *record.Entry, avoid []berth.NodeID) *Search {
	v.state.Compile(e.Bucket.Shape)
	return v.NewSearchFor(e.Rep, &e.Bucket.Shape.Spec, e.Bucket.Shape.Least, &e.Bucket.Shape.Minimum, avoid, v.state.Now)
}

// NewSearchFor begins one for a request of a replica that will start at an instant. It may use
// nodes of beneficiaries as well, beside what they will hold, which is imagined.
func (v *Victims) NewSearchFor(rep *record.Replica, spec *record.ShapeSpec, least quota.Charge, r *gang.Request, avoid []berth.NodeID, start berth.Time) *Search {
	return v.newSearch(Search{Rep: rep, Asked: least}, spec, r, avoid, v.state.EndIfStarted(rep, start))
}

// NewSearchToGrow begins one for so many further members of an entry that grows.
func (v *Victims) NewSearchToGrow(e *record.Entry, members int, avoid []berth.NodeID) *Search {
	s, rep := e.Bucket.Shape, e.Rep
	v.state.Compile(s)
	request := s.Minimum
	request.Groups = slices.Clone(s.Minimum.Groups)
	units := members / request.Groups[0].Members
	request.Groups[0].Members, request.Groups[0].MinMembers = members, members
	t := Search{Rep: rep, grows: true, Asked: s.Least.Times(int64(units))}
	return v.newSearch(t, &s.Spec, &request, avoid, v.state.EndIfPlaced(rep))
}

// newSearch completes one for a replica that will hold what it finds until an instant. What grows
// takes no spares.
func (v *Victims) newSearch(t Search, spec *record.ShapeSpec, r *gang.Request, avoid []berth.NodeID, until berth.Time) *Search {
	t.victims, t.Queue = v, t.Rep.Job.Queue
	t.Request = v.search.Avoiding(avoid, v.state.Widen(spec, r, t.open(spec, until)))
	return &t
}

// open tells what a search may use of what is set aside.
func (t *Search) open(spec *record.ShapeSpec, until berth.Time) func(*record.Reservation) bool {
	exclusive := spec.Topology.Exclusive != ""
	return func(res *record.Reservation) bool {
		if res.IsPlanned() && res.Rep != t.Rep {
			return !exclusive && res.Rep.Job.Spec.Topology.Exclusive == ""
		}
		return t.victims.backlog.Admits(res, t.Rep, until) && !(t.grows && res.IsSpares())
	}
}

// WithinGuarantee reports whether what is asked is within the guarantee of the queue that asks.
func (t *Search) WithinGuarantee() bool { return t.withinGuarantee }

// RipeAt is when to look for victims again even if nothing changes: when the gain exceeds the
// cost of those found or, after a while, when one more job may be preempted or the wait is longer
// by an eighth; 0: never. The last is for other victims, where those found may not stay the
// cheapest: so a bid is made at most an eighth of its wait later than it pays, and some dozens of
// times in days. A replica that has waited for longer than any span of the contract does not.
func (t *Search) RipeAt(after berth.Time) berth.Time {
	at := state.Earlier(t.Limited, t.RestsUntil)
	if t.withinGuarantee && !t.collects() {
		at = state.Earlier(at, t.CollectsFrom())
	}
	if t.Guaranteed > t.victims.state.Now {
		at = state.Earlier(at, t.Guaranteed)
	}
	if t.ProtectedUntil != 0 {
		at = state.Earlier(at, max(t.ProtectedUntil, after))
	}
	if t.Weighing == nil {
		return at
	}
	at = state.Earlier(at, t.Weighing.From)
	if wait := t.victims.state.Now.Sub(t.Rep.PendingSince); t.Unsteady && wait < limits.MaxSpan {
		at = state.Earlier(at, max(after, t.victims.state.Now.Add(wait/8)))
	}
	return at
}

// Place finds a place that the limits on the queue allow, and holds nothing; nil: there is
// none.
func (t *Search) Place() []gang.Member {
	if !t.Find() {
		return nil
	}
	where := slices.Clone(t.victims.books.Placement.Members)
	t.victims.books.LetGo()
	return where
}

// FitsNow reports whether what is asked for has a place now, within the quota, and what speaks for
// that place; see score.Scoring.Choice.
func (t *Search) FitsNow() (*berth.PlaceChoice, bool) {
	if _, within := t.victims.state.Quota.Fits(t.Queue, t.Asked); !within {
		return nil, false
	}
	where := t.Place()
	if len(where) == 0 {
		return nil, false
	}
	return t.victims.books.Choice(t.Request, where[0].Hold.Node, func(r *gang.Request) []gang.Member {
		t.Request = r
		return t.Place()
	}), true
}

// A source is a queue of which victims may come.
type source struct {
	queue quota.QueueIndex
	// rank is 0 of the own queue: see add.
	rank int
	// level counts the queues above the asking one that it is not below: the higher the farther.
	level int
}

// FitsWithout reports whether the replica fits on what departing members leave. On a busy fleet
// most bids do, and then nobody has to be asked for victims.
func (t *Search) FitsWithout() bool {
	t.needy = !t.fits(nil)
	t.SetBack()
	return !t.needy
}

// Choose chooses the cheapest of the candidates that suffice, by job and number: none, if members
// that depart anyway do. All candidates are back in place then. A choice with a gang that has an
// order out waits for that order. Where more runs than one search looks at, it begins with the
// nodes that are the cheapest to clear, and goes on to more of them until some suffice.
//
// Not all of the candidates may go together: a gang keeps its minimum or goes as a whole, and a
// queue keeps what package quota says.
func (t *Search) Choose(chooser *preempt.Chooser, trials *int) (victims []record.Piece, ok bool) {
	defer t.closePlaces()
	for {
		more := t.gatherMore(trials)
		if victims, ok = t.chooseAmong(chooser, trials); ok || t.Waits || !more {
			return victims, ok
		}
		if *trials <= 0 {
			t.Cut = true
			return victims, false
		}
	}
}

// chooseAmong is Choose for the candidates at hand.
func (t *Search) chooseAmong(chooser *preempt.Chooser, trials *int) (victims []record.Piece, ok bool) {
	options := t.Options()
	options.ToleranceMilli, options.MaxCalls = state.CostTolerance, max(*trials, 1)
	if len(t.Candidates) > 0 { // else one search says it all
		options.Requirement = t.Demand(t.Candidates)
	}
	choice, err := chooser.Choose(t.Candidates, t.fits, options)
	invariant.Must(err)
	*trials -= choice.Calls + 1
	t.Cut = t.Cut || choice.Result == preempt.ResultExhausted
	ok = (choice.Result == preempt.ResultNotNeeded || choice.Result == preempt.ResultChosen) && t.fits(choice.Victims)
	var taken []int
	for i, gone := range t.out {
		if gone {
			victims = append(victims, t.Offers[i].Piece)
			taken = append(taken, i)
			t.Waits = t.Waits || ok && t.Offers[i].Busy
		}
	}
	t.SetBack()
	if ok = ok && !t.Waits; ok {
		t.chosen, t.Weighing, t.Gave = taken, t.weigh(taken), t.Floors(taken)
		t.Unsteady = t.Weighing != nil && t.othersMayPay()
	}
	return MergeParts(victims), ok
}

// Options begins a choice among the candidates at hand, all of them in place, and says what it may
// not do.
func (t *Search) Options() preempt.Options {
	t.out = make([]bool, len(t.Offers))
	return preempt.Options{NeedMilli: t.Asked.GPUMilli, Allowances: t.allowances(), Permits: t.Permits}
}

// ChooseOwn is Choose among those of the own queue that rank below. While it rests, a gang takes
// the place of the cheapest that suffice only if that leaves its queues within their shares.
func (t *Search) ChooseOwn(chooser *preempt.Chooser, trials *int) (victims []record.Piece, ok bool) {
	t.sources = []source{{queue: t.Queue}}
	t.gather()
	victims, ok = t.Choose(chooser, trials)
	if ok && t.Rep.RestsAt(t.victims.state.Now) && !t.staysWithinShares() {
		t.Weighing, t.RestsUntil = nil, t.Rep.Eviction.Get().RestsUntil
		return nil, false
	}
	return victims, ok
}

// GatherLent lists those of other queues that have to give back, of which any may be taken that
// leave their queues what they keep.
func (t *Search) GatherLent() {
	if t.askLenders(); len(t.sources) > 0 {
		t.gather()
	}
}

// askLenders finds out which other queues have to give back, and what they keep.
func (t *Search) askLenders() {
	c := t.victims
	t.withinGuarantee = c.state.Quota.Used(t.Queue, quota.GPUMilli)+t.Asked.GPUMilli <= c.books.Shares.Guaranteed(t.Queue)
	if t.Asked.GPUMilli == 0 || t.grows && !t.withinGuarantee {
		return
	}
	asked := map[quota.QueueIndex]bool{}
	var lent loan
	level := 0
	for parting := c.state.Quota.Parent(t.Queue); parting != quota.NoQueue; parting = c.state.Quota.Parent(parting) {
		from := len(t.sources)
		level++
		// Victims among nearer relations may open the way to farther ones.
		for _, v := range c.books.Shares.Borrowers(nil, t.Queue, t.Asked) {
			if !asked[v.Leaf] && c.state.Quota.Below(v.Leaf, parting) && t.reclaims(v.Reason) {
				asked[v.Leaf] = true
				if t.noteEntitlements(v.Leaf, len(lent.pieces)+len(lent.amounts) > 0) {
					t.sources = append(t.sources, source{v.Leaf, 1 + v.Rank, level})
				}
			}
		}
		if parting != quota.RootQueue {
			t.lend(&lent, from)
		}
	}
	t.takeBackLoan(&lent)
}

// fits reports whether the replica would fit if the candidates with these indexes were gone,
// whether or not they may go: see Permits. They stay imagined gone. Where some may go only beside
// nearer ones, it asks for these as well: they are needed, though they make no room.
func (t *Search) fits(chosen []int) bool {
	if t.needy && len(chosen) == 0 {
		t.SetBack()
		return false
	}
	opened := t.areOpened(chosen)
	t.Imagine(chosen)
	if _, ok := t.victims.state.Quota.Fits(t.Queue, t.Asked); !ok || !opened || !t.Find() {
		return false
	}
	t.victims.books.LetGo()
	return true
}

// Find searches a place on products that the queue may have, and holds it.
func (t *Search) Find() bool {
	c := t.victims
	return c.search.FindAllowed(t.Request, func() (string, bool) {
		limited, ok := c.search.AffordsMembers(t.Rep, c.books.Placement.Members)
		if !ok {
			c.books.LetGo()
		}
		return limited, ok
	}) == search.Fits
}

// Imagine has the chosen candidates gone, and no others.
func (t *Search) Imagine(chosen []int) {
	c, goes := t.victims, make([]bool, len(t.Offers))
	t.chargeOut()
	for _, i := range slices.Sorted(slices.Values(chosen)) { // the units of a gang before all of it
		t.take(i, goes)
	}
	for i, gone := range t.out {
		if gone && !goes[i] {
			c.books.Reappear(t.Offers[i].Piece)
		}
	}
	for i := range t.Offers {
		if goes[i] && !t.out[i] {
			c.books.Vanish(t.Offers[i].Piece)
		}
	}
	t.out, t.charged = goes, false
}

// SetBack has all candidates back.
func (t *Search) SetBack() { t.Imagine(nil) }
