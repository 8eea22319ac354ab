package victim

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// The part of a victim search about what queues keep: an amount each, in whichever of their jobs.
// Package quota has the rules, and the proof that they end.
//
// The law. For a queue q on the way from a leaf that gives up to where its path parts from the
// beneficiary's, with G and F its guaranteed and its fair share, R the sizes of what runs there and
// stays, L the sizes of that and of what is planned, r and l their sums, and X the sizes of what is
// taken of q, with the sum x, all of X may go if and only if
//
//	fill(G, R - X) = fill(G, R)  or  r - x >= min(G, r)      rules 1 and 2
//	fill(F, L - X) = fill(F, L)  if it is for a fair share   rule 3
//	l - x >= kept(q)             at a leaf                   the floor
//
// where fill(S, A) is the largest sum up to S of some of A (quota.Fill). It holds at each such q
// for all victims of a search together, not for one at a time.
//
// The case (script 340): a queue ran a gang within its guarantee, and another gang of it had a
// plan. The one that ran was taken on account of the plan, and the plan ended. Rejected: to have
// single jobs stand for the guarantee, by age, so that the rest may go. They lay scattered, and
// kept whole nodes from the queues that owned them.
//
// A guarantee is kept in what runs and stays: a start may fail, a plan may end, and a place that is
// kept may be lost. What a queue will have with those is what it fills its fair share with, and the
// proof goes by that. A gang that moves for the beneficiary of the search itself runs and stays:
// where its new place is lost before it has left the old one, the preemption ends.

// An entitlement is what a queue uses, and what of that it keeps whatever candidates are taken.
type entitlement struct {
	queue quota.QueueIndex
	above int // the number, from 1, of the entitlement of the queue above it; 0: the paths part there
	// guaranteed and fair are its shares beside what is being started, of which used will be in
	// use, by jobs that may go sooner or later the sizes. Of these, running counts what runs and
	// stays.
	guaranteed, fair, used int64
	sizes                  []quota.SizeCount
	running                running
	reason                 quota.ReclaimReason
	// opened: that may be only while others that are nearer are gone; now is then the reason beside
	// the candidates at hand.
	opened bool
	now    quota.ReclaimReason
	// fills and fillsFair are what the jobs fill of the shares, kept what has to be left in use.
	fills, fillsFair, kept int64
	// taken is scratch: what is taken, by size.
	taken []quota.SizeCount
}

// A running is what runs of a queue and stays: used, by the sizes, which fill so much of what it is
// guaranteed.
type running struct {
	guaranteed, used, fills int64
	sizes                   []quota.SizeCount
}

// A Floor is what a queue keeps that gave so that less fills its guarantee.
type Floor struct {
	Queue quota.QueueIndex
	Milli int64
}

// noteEntitlements notes what a leaf and the queues above it keep, up to where its path parts from
// that of the beneficiary. It reports false where nothing may be taken.
func (t *Search) noteEntitlements(leaf quota.QueueIndex, opened bool) bool {
	stakes, reason := t.victims.books.Shares.Stakes(nil, t.Queue, t.Asked, leaf)
	t.noteStakes(stakes, reason, opened)
	return len(stakes) > 0
}

// noteStakes notes what is at stake for a leaf and the queues above it.
func (t *Search) noteStakes(stakes []quota.Stake, reason quota.ReclaimReason, opened bool) {
	above := 0
	for _, s := range slices.Backward(stakes) {
		number := t.entitlementOf[s.Queue]
		if number == 0 {
			t.entitlements = append(t.entitlements, t.newEntitlement(&s, above, reason, opened))
			number = len(t.entitlements)
			if t.entitlementOf == nil {
				t.entitlementOf = map[quota.QueueIndex]int{}
			}
			t.entitlementOf[s.Queue] = number
		}
		above = number
	}
}

// staysWithinShares reports whether the own queue, and those above it, are within their shares with
// the replica in the place of the chosen victims.
func (t *Search) staysWithinShares() bool {
	t.noteStakes(t.victims.books.Shares.StakesOf(nil, t.Queue), quota.ReclaimForShare, false)
	t.noteTaken(t.chosen)
	beyond := slices.ContainsFunc(t.entitlements, func(k *entitlement) bool { return !k.covers(t.Asked.GPUMilli) })
	t.entitlements, t.entitlementOf = nil, nil
	return !beyond
}

// covers reports whether a queue is within its guaranteed share with so much more beside what is
// left, or within its fair share while its jobs fill as much of the guaranteed one as before.
func (k *entitlement) covers(asked int64) bool {
	left, sizes := k.left()
	if asked > 0 {
		sizes = books.AddSize(sizes, asked, 1)
	}
	with := left + asked
	return with <= k.guaranteed || with <= k.fair && quota.Fill(k.guaranteed, sizes) >= k.fills
}

// reclaims reports whether a search may take what is lent for a reason.
func (t *Search) reclaims(reason quota.ReclaimReason) bool {
	return reason == quota.ReclaimForGuarantee || reason == quota.ReclaimForShare && !t.grows
}

// newEntitlement works out what a queue keeps.
func (t *Search) newEntitlement(s *quota.Stake, above int, reason quota.ReclaimReason, opened bool) *entitlement {
	c := t.victims
	k := &entitlement{queue: s.Queue, above: above, reason: reason, now: reason, opened: opened, used: c.state.Quota.Used(s.Queue, quota.GPUMilli)}
	below := s.Has - k.used // kept by those below, for themselves
	r := &k.running
	r.sizes, r.used = t.sizesOf(k.queue)
	running := r.used
	for _, l := range t.nonPreemptible(k.queue) { // it stays, and the others fill what it leaves
		r.sizes, r.used = books.AddSize(r.sizes, l.Size, -l.Count), r.used-l.Size*l.Count
	}
	r.guaranteed = max(0, s.Guaranteed-below-(running-r.used))
	r.fills = quota.Fill(r.guaranteed, r.sizes)
	k.sizes = slices.Clone(r.sizes)
	rest := k.used - r.used
	c.backlog.EachPlanned(k.queue, t.Rep, func(milli int64) { // what moves counts on its way
		k.sizes = books.AddSize(k.sizes, milli, 1)
		rest -= milli
	})
	// What is being started stays, and what is never preempted.
	rest = max(0, rest)
	k.guaranteed, k.fair = max(0, s.Guaranteed-below-rest), max(0, s.Fair-below-rest)
	k.used -= rest
	k.fills, k.fillsFair = quota.Fill(k.guaranteed, k.sizes), quota.Fill(k.fair, k.sizes)
	if q := c.books.Queues[k.queue]; q != nil && c.state.Quota.Leaf(k.queue) {
		k.kept = min(max(0, q.FloorMilli-rest), k.guaranteed, k.used)
	}
	return k
}

// sizesOf lists what runs at and below a queue and stays, in pieces that go one by one, and how
// much that is together.
func (t *Search) sizesOf(at quota.QueueIndex) (sizes []quota.SizeCount, milli int64) {
	add := func(size, count int64) {
		sizes, milli = books.AddSize(sizes, size, count), milli+size*count
	}
	t.eachLeaf(at, func(q *record.Queue) {
		for _, l := range q.Sizes {
			add(l.Size, l.Count)
		}
		q.Elastic.Ascend(func(rep *record.Replica) bool {
			if rep.Imagined {
				return true
			}
			for _, p := range t.pieces(rep) {
				add(p.GPUMilli(), 1)
			}
			return true
		})
	})
	return sizes, milli
}

// nonPreemptible lists what runs at and below a queue and is never preempted.
func (t *Search) nonPreemptible(at quota.QueueIndex) (sizes []quota.SizeCount) {
	t.eachLeaf(at, func(q *record.Queue) {
		q.NonPreemptible.Ascend(func(rep *record.Replica) bool {
			if !rep.Imagined {
				sizes = books.AddSize(sizes, rep.RunsMilli, 1)
			}
			return true
		})
	})
	return sizes
}

// eachLeaf calls a function for the leaves at and below a queue.
func (t *Search) eachLeaf(at quota.QueueIndex, use func(*record.Queue)) {
	c := t.victims
	list := c.books.Queues
	if c.state.Quota.Leaf(at) {
		list = list[at : at+1]
	}
	for _, q := range list {
		if q != nil && c.state.Quota.Below(q.Index, at) {
			use(q)
		}
	}
}

// share is the larger of the shares that count for the reason at hand.
func (k *entitlement) share() int64 {
	if k.reason == quota.ReclaimForShare {
		return k.fair
	}
	return k.running.guaranteed
}

// allowances bound what candidates give together, as far as amounts tell, and say for which of them
// each candidate counts: the units of a gang for what it has above its minimum, and all for what
// their queues have beyond what these keep. Jobs that are told apart by more than amounts have one
// each that bounds nothing: of several queues, and gangs that have units.
func (t *Search) allowances() []preempt.Allowance {
	var list []preempt.Allowance
	type counted struct {
		queue quota.QueueIndex
		at    int
	}
	apart := map[counted]int{}
	for i := range t.Offers {
		if s := t.Offers[i].surplus; s != nil {
			s.allowance = 0
		}
	}
	for _, k := range t.entitlements {
		list = append(list, preempt.Allowance{GPUMilli: max(0, k.allowance()), Above: k.above})
	}
	for i := range t.Offers {
		y := &t.Offers[i]
		at := t.allowanceOf(y)
		if s := y.surplus; s != nil {
			if s.allowance == 0 {
				list = append(list, preempt.Allowance{Above: at})
				s.allowance = len(list)
			}
			at = s.allowance
			most := &list[at-1].GPUMilli
			*most = max(*most, t.Candidates[i].GPUMilli/int64(len(y.Flats))*int64(s.Amount()))
		} else if q := y.Rep.Job.Queue; len(t.entitlements) > 0 && len(y.pieces) > 1 {
			list = append(list, preempt.Allowance{GPUMilli: math.MaxInt64, Above: at})
			at = len(list)
		} else if same := (counted{q, at}); at != t.entitlementOf[q] {
			if apart[same] == 0 {
				list = append(list, preempt.Allowance{GPUMilli: math.MaxInt64, Above: at})
				apart[same] = len(list)
			}
			at = apart[same]
		}
		t.Candidates[i].Allowance = at
	}
	return list
}

// allowance is the most that a queue may give, of what counts.
func (k *entitlement) allowance() int64 {
	most, sizes := -k.running.fills, k.running.sizes
	switch {
	case k.kept > 0:
		return k.used - k.kept
	case k.reason == quota.ReclaimForShare:
		most, sizes = -k.fillsFair, k.sizes
	}
	for _, l := range sizes {
		if l.Size <= k.share() {
			most += l.Size * l.Count
		}
	}
	if k.reason == quota.ReclaimForGuarantee {
		most = max(most, k.running.used-k.running.guaranteed)
	}
	return most
}

// MostGiven is as much as the candidates could give together, as far as amounts tell.
func (t *Search) MostGiven() int64 {
	give := int64(0)
	for _, k := range t.entitlements {
		if k.above == 0 {
			give += max(0, k.allowance())
		}
	}
	for i := range t.Offers {
		if t.allowanceOf(&t.Offers[i]) == 0 {
			give += t.Candidates[i].GPUMilli
		}
	}
	return give
}

// allowanceOf is the number of the lowest allowance that a candidate counts for: what fits in no
// share with nothing beside it fills nothing.
func (t *Search) allowanceOf(y *Offer) int {
	at := t.entitlementOf[y.Rep.Job.Queue]
	for at > 0 {
		k := t.entitlements[at-1]
		if k.kept > 0 || !slices.ContainsFunc(y.pieces, func(p record.Piece) bool { return p.GPUMilli() > k.share() }) {
			return at
		}
		at = k.above
	}
	return 0
}

// Permits reports whether all of some candidates may be taken together.
func (t *Search) Permits(chosen []int) bool {
	return t.noteTaken(chosen) && t.opens(chosen) && !slices.ContainsFunc(t.entitlements, func(k *entitlement) bool { return len(k.taken) > 0 && !k.leaves() })
}

// noteTaken notes what some candidates would take of each queue, and reports whether each gang of
// which units go keeps its minimum without them. The units of a gang go with it, and count all the
// same: what may go together, any part of it may.
func (t *Search) noteTaken(chosen []int) (minimums bool) {
	var whole []*record.Replica
	for _, i := range chosen {
		if y := &t.Offers[i]; y.surplus != nil {
			y.surplus.taken = 0
		} else if y.Rep.Job.IsElastic() {
			whole = append(whole, y.Rep)
		}
	}
	for _, k := range t.entitlements {
		k.taken = k.taken[:0]
	}
	minimums = true
	for _, i := range chosen {
		y := &t.Offers[i]
		if s := y.surplus; s != nil {
			s.taken += s.Counts(y.Flats)
			minimums = minimums && s.taken <= s.Most
			if slices.Contains(whole, y.Rep) {
				continue
			}
		}
		t.noteTake(y.Rep.Job.Queue, y.pieces, 1)
	}
	return minimums
}

// noteTake notes that some pieces are taken of a queue or, with -1, that they are not.
func (t *Search) noteTake(q quota.QueueIndex, pieces []record.Piece, sign int64) {
	for _, p := range pieces {
		t.noteTakeOf(q, p.GPUMilli(), sign)
	}
}

func (t *Search) noteTakeOf(q quota.QueueIndex, milli, sign int64) {
	for at := t.entitlementOf[q]; at > 0; at = t.entitlements[at-1].above {
		t.entitlements[at-1].taken = books.AddSize(t.entitlements[at-1].taken, milli, sign)
	}
}

// mostLeft is the most that jobs of a queue may give beside what is taken of it and those above it:
// whichever go, what the others fill of its share stays.
func (t *Search) mostLeft(q quota.QueueIndex) int64 {
	most := int64(math.MaxInt64)
	for at := t.entitlementOf[q]; at > 0; at = t.entitlements[at-1].above {
		k := t.entitlements[at-1]
		left, _ := k.left()
		if most = min(most, left-k.kept); k.reason == quota.ReclaimForShare {
			most = min(most, left-k.fillsFair)
			continue
		}
		left, _ = without(k.running.used, k.running.sizes, k.taken)
		most = min(most, left-k.running.fills)
	}
	return most
}

// leaveKept reports whether a queue and those above it are left what they keep.
func (t *Search) leaveKept(q quota.QueueIndex) bool {
	for at := t.entitlementOf[q]; at > 0; at = t.entitlements[at-1].above {
		if !t.entitlements[at-1].leaves() {
			return false
		}
	}
	return true
}

// leaves reports whether a queue is left what it keeps.
func (k *entitlement) leaves() bool {
	left, sizes := k.left()
	leavesShare := k.now == quota.ReclaimForGuarantee || quota.Fill(k.fair, sizes) >= k.fillsFair
	return left >= k.kept && leavesShare && k.running.leaves(k.taken)
}

// leaves reports whether what runs and is not taken keeps the guarantee.
func (r *running) leaves(taken []quota.SizeCount) bool {
	left, sizes := without(r.used, r.sizes, taken)
	return left >= min(r.guaranteed, r.used) || quota.Fill(r.guaranteed, sizes) >= r.fills
}

// left is what a queue will have of what is not taken.
func (k *entitlement) left() (milli int64, sizes []quota.SizeCount) {
	return without(k.used, k.sizes, k.taken)
}

// without is an amount, in sizes, without what is taken of it.
func without(milli int64, sizes, taken []quota.SizeCount) (int64, []quota.SizeCount) {
	sizes = slices.Clone(sizes)
	for _, l := range taken {
		milli -= l.Size * l.Count
		sizes = books.AddSize(sizes, l.Size, -l.Count)
	}
	return milli, sizes
}

// reachesFar reports whether some candidates may go only while others that are nearer are gone.
func (t *Search) reachesFar(chosen []int) bool {
	return slices.ContainsFunc(chosen, func(i int) bool {
		at := t.entitlementOf[t.Offers[i].Rep.Job.Queue]
		return at > 0 && t.entitlements[at-1].opened
	})
}

// opens reports whether the nearer ones among some candidates open the way to the farther ones, and
// notes for what reason.
func (t *Search) opens(chosen []int) bool {
	if !t.reachesFar(chosen) {
		return true
	}
	t.chargeOut()
	for _, k := range t.entitlements {
		k.now = k.reason
	}
	ok := true
	var lent []record.Piece
	for _, i := range t.byDistance(chosen) {
		y := &t.Offers[i]
		_, reason := t.victims.books.Shares.Stakes(nil, t.Queue, t.Asked, y.Rep.Job.Queue)
		if ok = t.reclaims(reason); !ok {
			break
		}
		for at := t.entitlementOf[y.Rep.Job.Queue]; at > 0; at = t.entitlements[at-1].above {
			t.entitlements[at-1].now = max(t.entitlements[at-1].now, reason)
		}
		lent = t.give(lent, y)
	}
	t.takeBack(lent)
	return ok
}

// areOpened reports whether the way to each of some candidates is open once all of the nearer ones
// are gone. So more candidates never close it, other than by opens, which asks as they go.
func (t *Search) areOpened(chosen []int) bool {
	if !t.reachesFar(chosen) {
		return true
	}
	t.chargeOut()
	sorted, ok := t.byDistance(chosen), true
	level := func(i int) int { return t.sources[t.Offers[i].source].level }
	var lent []record.Piece
	for from := 0; ok && from < len(sorted); {
		to := from
		for ; ok && to < len(sorted) && level(sorted[to]) == level(sorted[from]); to++ {
			_, reason := t.victims.books.Shares.Stakes(nil, t.Queue, t.Asked, t.Offers[sorted[to]].Rep.Job.Queue)
			ok = t.reclaims(reason)
		}
		for ; from < to; from++ {
			lent = t.give(lent, &t.Offers[sorted[from]])
		}
	}
	t.takeBack(lent)
	return ok
}

// byDistance lists some candidates in the order of their sources.
func (t *Search) byDistance(chosen []int) []int {
	return slices.SortedFunc(slices.Values(chosen), func(i, j int) int {
		return cmp.Or(cmp.Compare(t.Offers[i].source, t.Offers[j].source), cmp.Compare(i, j))
	})
}

// give discharges a candidate, beside what is lent already, and adds it to that.
func (t *Search) give(lent []record.Piece, y *Offer) []record.Piece {
	if y.surplus == nil { // its units are no more of their own
		lent = slices.DeleteFunc(lent, func(p record.Piece) bool {
			if p.Rep == y.Rep {
				t.victims.books.ChargeAll(p)
			}
			return p.Rep == y.Rep
		})
	}
	for _, p := range y.pieces {
		t.victims.books.DischargeAll(p)
		lent = append(lent, p)
	}
	return lent
}

// takeBack charges what is lent.
func (t *Search) takeBack(lent []record.Piece) {
	for _, p := range lent {
		t.victims.books.ChargeAll(p)
	}
}

// chargeOut charges what is imagined gone now, until the next choice is imagined.
func (t *Search) chargeOut() {
	if t.charged {
		return
	}
	t.charged = true
	for i, gone := range t.out {
		for _, p := range t.Offers[i].pieces {
			if gone {
				t.victims.books.ChargeAll(p)
			}
		}
	}
}

// Floors are what the leaves keep that give so that less fills their guarantee.
func (t *Search) Floors(chosen []int) []Floor {
	var list []Floor
	t.noteTaken(chosen)
	for _, k := range t.entitlements {
		q := t.victims.books.Queues[k.queue]
		if q == nil || len(k.taken) == 0 || !t.victims.state.Quota.Leaf(k.queue) { // what ends in a leaf ends its floor
			continue
		}
		if _, sizes := k.left(); quota.Fill(k.guaranteed, sizes) < k.fills {
			rest := t.victims.state.Quota.Used(k.queue, quota.GPUMilli) - k.used
			list = append(list, Floor{k.queue, rest + max(k.fills, min(q.FloorMilli-rest, k.guaranteed, k.used))})
		}
	}
	return list
}
