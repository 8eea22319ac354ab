package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// A VictimSearch looks for victims for one replica.
type VictimSearch struct {
	core    *Evict
	rep     *record.Replica
	Queue   quota.QueueIndex
	Asked   quota.Charge
	Request *gang.Request

	// candidates may be evicted, all together: those of the own queue, or those of others, the
	// closer relations first. Of one replica come the units of its surplus, and then all of it.
	candidates []preempt.Candidate
	offers     []offer
	// sources are the queues of which they come, the nearer ones first.
	sources []source
	// places says where to look for more; nil: all are candidates.
	places *places
	// out says which of them are imagined gone now, and charged whether they are charged all the same.
	out     []bool
	charged bool
	// givers has what is known of replicas, as of queues that were asked about.
	givers map[*record.Replica]*giver
	// keeps has what the queues keep of which something may go, in the order of their allowances.
	keeps  []*keep
	keepOf map[quota.QueueIndex]int // their numbers, from 1
	// gave are the floors of the queues that give so that less fills their guarantees.
	gave []floor
	// ProtectedUntil is when the first protected job may be preempted, and Limited when the first
	// one under the rate limit of its queue may; 0: there are none.
	ProtectedUntil, Limited berth.Time
	// withinGuarantee: the request is within the guarantee of its queue, and reclaimed from other
	// queues.
	withinGuarantee bool
	// grows: the replica runs, and is to get further members.
	grows bool
	// partsOnly: no job may be evicted as a whole just now.
	partsOnly bool
	// Cut: the search was cut short, so that there may be more to find.
	Cut bool
	// Waits: the cheapest choice is a gang that gives up other members just now.
	Waits bool
	// Weighing has gain and cost of a choice that does not pay; nil: it pays.
	Weighing *berth.Weighing
	// weighed is scratch, for candidates with their cost.
	weighed []preempt.Candidate
}

// NewVictimSearch begins one for an entry, with its minimum.
func (ev *Evict) NewVictimSearch(e *record.Entry, avoid []berth.NodeID) *VictimSearch {
	ev.state.Compile(e.Bucket.Shape)
	return ev.searchOf(e.Rep, &e.Bucket.Shape.Spec, e.Bucket.Shape.Least, &e.Bucket.Shape.Minimum, avoid, ev.state.Now)
}

// searchOf begins one for a request of a replica that will start at an instant. It may use nodes of
// beneficiaries as well, beside what they will hold, which is imagined.
func (ev *Evict) searchOf(rep *record.Replica, spec *record.ShapeSpec, least quota.Charge, r *gang.Request, avoid []berth.NodeID, start berth.Time) *VictimSearch {
	end, exclusive := ev.state.EndIfStarted(rep, start), spec.Topology.Exclusive != ""
	return &VictimSearch{
		core: ev, rep: rep, Queue: rep.Job.Queue, Asked: least,
		Request: ev.search.Avoiding(avoid, ev.state.Widen(spec.Groups, r, func(w *record.Reservation) bool {
			if w.IsPlanned() && w.Rep != rep {
				return !exclusive && w.Rep.Job.Spec.Topology.Exclusive == ""
			}
			return ev.backlog.Admits(w, rep, end)
		})),
	}
}

// Place finds a place that the limits on the queue allow, and holds nothing; nil: there is
// none.
func (t *VictimSearch) Place() []gang.Member {
	if !t.find() {
		return nil
	}
	where := slices.Clone(t.core.books.Placement.Members)
	t.core.books.LetGo()
	return where
}

// A source is a queue of which victims may come.
type source struct {
	queue quota.QueueIndex
	// rank is 0 of the own queue: see add.
	rank int
}

// choose chooses the cheapest of the candidates that suffice, by job and number: none, if members
// that depart anyway do. All candidates are back in place then. A choice with a gang that has an
// order out waits for that order. Where more runs than one search looks at, it begins with the
// nodes that are the cheapest to clear, and goes on to more of them until some suffice.
//
// Not all of the candidates may go together: a gang keeps its minimum or goes as a whole, and a
// queue keeps what package quota says.
func (t *VictimSearch) choose(chooser *preempt.Chooser, trials *int) (victims []record.Piece, ok bool) {
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

// chooseAmong is choose for the candidates at hand.
func (t *VictimSearch) chooseAmong(chooser *preempt.Chooser, trials *int) (victims []record.Piece, ok bool) {
	t.out = make([]bool, len(t.offers))
	options := preempt.Options{
		NeedMilli: t.Asked.GPUMilli, ToleranceMilli: state.CostTolerance, MaxCalls: max(*trials, 1),
		Allowances: t.allowances(), Permits: t.permits,
	}
	if len(t.candidates) > 0 { // else one search says it all
		options.Requirement = t.demand(t.candidates)
	}
	choice, err := chooser.Choose(t.candidates, t.fits, options)
	invariant.Must(err)
	*trials -= choice.Calls + 1
	t.Cut = t.Cut || choice.Result == preempt.ResultExhausted
	ok = (choice.Result == preempt.ResultNotNeeded || choice.Result == preempt.ResultChosen) && t.fits(choice.Victims)
	var taken []int
	for i, gone := range t.out {
		if gone {
			victims = append(victims, t.offers[i].Piece)
			taken = append(taken, i)
			t.Waits = t.Waits || ok && t.offers[i].busy
		}
	}
	t.setBack()
	if ok = ok && !t.Waits; ok {
		t.Weighing, t.gave = t.weigh(taken), t.floors(taken)
	}
	return mergeParts(victims), ok
}

// gatherOwn lists those of the own queue that rank below.
func (t *VictimSearch) gatherOwn() {
	t.sources = []source{{queue: t.Queue}}
	t.gather()
}

// gatherLent lists those of other queues that have to give back, of which any may be taken that
// leave their queues what they keep.
func (t *VictimSearch) gatherLent() {
	if t.askLenders(); len(t.sources) > 0 {
		t.gather()
	}
}

// askLenders finds out which other queues have to give back, and what they keep.
func (t *VictimSearch) askLenders() {
	c := t.core
	t.withinGuarantee = c.state.Quota.Used(t.Queue, quota.GPUMilli)+t.Asked.GPUMilli <= c.books.Shares.Guaranteed(t.Queue)
	if t.Asked.GPUMilli == 0 || t.grows && !t.withinGuarantee {
		return
	}
	asked := map[quota.QueueIndex]bool{}
	var lent []record.Piece
	for parting := c.state.Quota.Parent(t.Queue); parting != quota.NoQueue; parting = c.state.Quota.Parent(parting) {
		from := len(t.sources)
		// Victims among nearer relations may open the way to farther ones.
		for _, v := range c.books.Shares.Borrowers(nil, t.Queue, t.Asked) {
			if !asked[v.Leaf] && c.state.Quota.Below(v.Leaf, parting) && t.reclaims(v.Reason) {
				asked[v.Leaf] = true
				if t.keep(v.Leaf, len(lent) > 0) {
					t.sources = append(t.sources, source{v.Leaf, 1 + v.Rank})
				}
			}
		}
		if parting != quota.RootQueue {
			lent = t.lend(lent, from)
		}
	}
	for _, p := range lent {
		c.recharge(p)
	}
}

// fits reports whether the replica would fit if the candidates with these indexes were gone,
// whether or not they may go: see permits. They stay imagined gone. Where some may go only beside
// nearer ones, it asks for these as well: they are needed, though they make no room.
func (t *VictimSearch) fits(chosen []int) bool {
	opens := !t.reachesFar(chosen) || t.permits(chosen) // charges what the choice before had gone
	t.imagine(chosen)
	if _, ok := t.core.state.Quota.Fits(t.Queue, t.Asked); !ok || !opens || !t.find() {
		return false
	}
	t.core.books.LetGo()
	return true
}

// find searches a place on products that the queue may have, and holds it.
func (t *VictimSearch) find() bool {
	c := t.core
	return c.search.FindAllowed(t.Request, func() (string, bool) {
		limited, ok := c.search.AffordsMembers(t.Queue, c.books.Placement.Members)
		if !ok {
			c.books.LetGo()
		}
		return limited, ok
	}) == search.Fits
}

// imagine has the chosen candidates gone, and no others.
func (t *VictimSearch) imagine(chosen []int) {
	c, goes := t.core, make([]bool, len(t.offers))
	t.chargeOut()
	for _, i := range slices.Sorted(slices.Values(chosen)) { // the units of a gang before all of it
		t.take(i, goes)
	}
	for i, gone := range t.out {
		if gone && !goes[i] {
			c.books.Reappear(t.offers[i].Piece)
		}
	}
	for i := range t.offers {
		if goes[i] && !t.out[i] {
			c.books.Vanish(t.offers[i].Piece)
		}
	}
	t.out, t.charged = goes, false
}

// setBack has all candidates back.
func (t *VictimSearch) setBack() { t.imagine(nil) }
