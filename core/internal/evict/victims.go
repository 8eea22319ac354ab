package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
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
	// bounded: no more units of a gang are taken than may go together.
	bounded bool
	// out says which of them are imagined gone now.
	out []bool
	// givers has what is known of replicas, as of queues that were asked about.
	givers map[*record.Replica]*giver
	// lent is what was discharged while candidates were gathered.
	lent []record.Piece
	// ProtectedUntil is when the first protected job may be preempted, and Limited when the first one
	// under the rate limit of its queue may; 0: there are none.
	ProtectedUntil, Limited berth.Time
	// withinGuarantee: the request is within the guarantee of its queue, and reclaimed from other queues.
	withinGuarantee bool
	// favoured is the node with the units that go before others of their gangs; nil: none.
	favoured *record.Node
	// partsOnly: no job may be evicted as a whole just now.
	partsOnly bool
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

// choose chooses the cheapest of the candidates that suffice, by job and number: none, if members
// that depart anyway do. All candidates are back in place then. A choice with a gang that has an
// order out waits for that order.
//
// How many units of a gang may go together is left out of account at first: which of them is
// of use is for the search to find, and it takes as few as it can. Only where those are too
// many, it may have so many at the most, and those first that come first, or those on one node
// where whole gangs would have to go otherwise.
func (t *VictimSearch) choose(chooser *preempt.Chooser, trials *int) (victims []record.Piece, ok bool) {
	t.out = make([]bool, len(t.offers))
	options := preempt.Options{NeedMilli: t.Asked.GPUMilli, ToleranceMilli: state.CostTolerance, Requirement: t.demand()}
	look := func() (suffice, enough bool) {
		options.MaxCalls = max(*trials, 1)
		choice, err := chooser.Choose(t.candidates, t.fits, options)
		invariant.Must(err)
		*trials -= choice.Calls + 1
		t.bounded = true
		suffice = (choice.Result == preempt.ResultNotNeeded || choice.Result == preempt.ResultChosen) && t.fits(choice.Victims)
		return suffice, choice.Result != preempt.ResultInsufficient
	}
	bounded := !t.elastic()
	t.bounded = bounded
	ok, enough := look()
	if !ok && enough && !bounded {
		if ok, _ = look(); ok && t.takesWhole() {
			ok = t.lookByNode(look)
		}
	}
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
		t.Weighing = t.weigh(taken)
	}
	return mergeParts(victims), ok
}

// gatherOwn lists those of the own queue that rank below.
func (t *VictimSearch) gatherOwn() {
	t.core.books.Queues[t.Queue].Running.Ascend(func(victim *record.Replica) bool {
		if !books.MayPreempt(t.rep, victim) || len(t.offers) >= state.MaxVictims {
			return false
		}
		above := t.rep.Job.Spec.Class > victim.Job.Spec.Class
		for _, s := range t.surpluses(victim) {
			if above || !t.tooLarge(record.Piece{Rep: victim, Flats: s.units[0]}) {
				t.addUnits(victim, s, s.most, 0)
			}
		}
		if whole := (record.Piece{Rep: victim}); t.mayBeVictim(victim) && (above || !t.tooLarge(whole)) {
			t.add(offer{Piece: whole, steps: t.steps(victim)}, 0)
		}
		return true
	})
}

// gatherLent lists those of other queues that have to give back, one after the other, so
// that all of them together may be taken: what they have above their minimums before all
// else.
func (t *VictimSearch) gatherLent() { t.gatherLenders(true) }

// gatherLentWhole lists them where each goes only as a whole: what all have above their
// minimums may be all that may be taken, and of no use.
func (t *VictimSearch) gatherLentWhole() { t.gatherLenders(false) }

func (t *VictimSearch) gatherLenders(inParts bool) {
	c := t.core
	if t.Asked.GPUMilli == 0 {
		return
	}
	t.withinGuarantee = c.state.Quota.Used(t.Queue, quota.GPUMilli)+t.Asked.GPUMilli <= c.books.Shares.Guaranteed(t.Queue)
	asked := map[quota.QueueIndex]bool{}
	for parting := c.state.Quota.Parent(t.Queue); parting != quota.NoQueue; parting = c.state.Quota.Parent(parting) {
		// Victims among nearer relations may open the way to farther ones.
		for _, v := range c.books.Shares.Borrowers(nil, t.Queue, t.Asked) {
			if !asked[v.Leaf] && c.state.Quota.Below(v.Leaf, parting) {
				asked[v.Leaf] = true
				t.gatherFrom(v.Leaf, 1+v.Rank, inParts)
			}
		}
	}
	for _, p := range t.lent {
		c.recharge(p)
	}
	t.lent = nil
}

// gatherFrom lists those of one queue, and discharges them.
func (t *VictimSearch) gatherFrom(q quota.QueueIndex, source int, inParts bool) {
	c := t.core
	t.findDues(q)
	if inParts {
		c.books.Queues[q].Running.Ascend(func(victim *record.Replica) bool {
			for _, s := range t.surpluses(victim) {
				if t.withinGuarantee || !t.tooLarge(record.Piece{Rep: victim, Flats: s.units[0]}) {
					t.lendUnits(victim, s, source)
				}
			}
			return len(t.offers) < state.MaxVictims
		})
	}
	c.books.Queues[q].Running.Ascend(func(victim *record.Replica) bool {
		if t.mayBeVictim(victim) && (t.withinGuarantee || !t.tooLarge(record.Piece{Rep: victim})) {
			t.lendWhole(victim, source)
		}
		return len(t.offers) < state.MaxVictims
	})
}

// tooLarge reports whether a part holds too much to be stopped for what is asked.
func (t *VictimSearch) tooLarge(p record.Piece) bool {
	ratio := int64(t.core.state.Config.Policy.Preemption.MaxRatio)
	return ratio > 0 && ChargedOf(p)/ratio > max(t.Asked.GPUMilli, 1000)
}

// mayBeVictim reports whether a replica can be evicted now, as a whole.
func (t *VictimSearch) mayBeVictim(victim *record.Replica) bool {
	if victim.Order != nil || victim.Beneficiary != nil || victim.Imagined || victim.Has(record.MemberStopping) ||
		slices.ContainsFunc(victim.Members, func(m record.Member) bool { return m.Imagined }) {
		return false
	}
	c := t.core
	if t.partsOnly {
		return false
	}
	limited := c.books.Queues[victim.Job.Queue].Evictions.Ready(c.state.Config.Policy.Preemption.QueueRateLimit, c.state.Now, 1)
	spared := c.life.ProtectedUntil(victim, t.withinGuarantee)
	switch at := max(spared, limited); {
	case at <= c.state.Now:
		return true
	case spared > limited:
		t.ProtectedUntil = Earlier(t.ProtectedUntil, at)
	default:
		t.Limited = Earlier(t.Limited, at)
	}
	return false
}

// Earlier is the first of two instants, of which 0 is none.
func Earlier(a, b berth.Time) berth.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// fits reports whether the replica would fit if the candidates with these indexes were gone, as
// far as they may be taken. Those stay imagined gone.
func (t *VictimSearch) fits(chosen []int) bool {
	t.imagine(chosen)
	if _, ok := t.core.state.Quota.Fits(t.Queue, t.Asked); !ok || !t.find() {
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

// imagine has those of the chosen candidates gone that may be taken, one after the other, and
// no others. Taking them as far as it is allowed, instead of refusing the lot for one that
// is not, more of them never do worse.
func (t *VictimSearch) imagine(chosen []int) {
	c, wanted, goes := t.core, make([]bool, len(t.offers)), make([]bool, len(t.offers))
	for _, i := range chosen {
		wanted[i] = true
	}
	for i := range t.offers {
		if s := t.offers[i].surplus; s != nil {
			s.taken, s.gone = 0, 0
		}
		for _, s := range t.offers[i].steps {
			if t.out[i] {
				c.recharge(s.Piece)
			}
		}
	}
	for _, favoured := range []bool{true, false} {
		for i := range t.offers {
			if t.favours(i) == favoured {
				goes[i] = wanted[i] && t.take(i, goes)
			}
		}
	}
	for i := range t.offers {
		if t.out[i] && !goes[i] {
			c.books.Reappear(t.offers[i].Piece)
		}
	}
	for i := range t.offers {
		if goes[i] && !t.out[i] {
			c.books.Vanish(t.offers[i].Piece)
		}
	}
	t.out = goes
}

// setBack has all candidates back.
func (t *VictimSearch) setBack() { t.imagine(nil) }

// findDues ranks running replicas within the guarantee of their queue: first those that cannot be
// evicted, then those that are evicted last; and after all of them, in the same order, their
// surplus. See quota.Shares.MayReclaimWhole.
func (t *VictimSearch) findDues(q quota.QueueIndex) {
	c := t.core
	var list []*record.Replica
	c.books.Queues[q].Running.Descend(func(rep *record.Replica) bool {
		if !rep.Imagined { // else it goes anyway
			list = append(list, rep)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b *record.Replica) int { return record.CompareBool(t.mayBeVictim(a), t.mayBeVictim(b)) })
	guaranteed := c.books.Shares.Guaranteed(q)
	fair := max(guaranteed, c.books.Shares.Of(q))
	due := func(milli int64) quota.Due {
		switch {
		case milli > fair:
			return quota.DueNone
		case milli > guaranteed:
			fair -= milli
			return quota.DueByShare
		}
		fair -= milli
		guaranteed -= milli
		return quota.DueByGuarantee
	}
	for _, rep := range list {
		steps := t.steps(rep)
		g := t.giver(rep)
		g.rest = due(ChargedOf(steps[len(steps)-1].Piece))
		for _, s := range g.surpluses {
			s.rest = g.rest
		}
	}
	for _, rep := range list {
		for _, s := range t.giver(rep).surpluses {
			s.dues = make([]quota.Due, len(s.extras()))
			for n, unit := range slices.Backward(s.extras()) {
				s.dues[n] = due(ChargedOf(record.Piece{Rep: rep, Flats: unit}))
			}
		}
	}
}
