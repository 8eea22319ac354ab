package quota

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/internal/enum"
)

// The rules of reclaiming what was lent.
//
// A queue, the beneficiary, wants to run a job that does not fit. What it may take
// from another is decided below the lowest queue that both stand under,
// where their paths part: what is above it has no stake. With use counted as it
// would be after the exchange, and at every queue of the two paths below the parting,
//
//  1. a beneficiary within its guaranteed share (Shares.Guaranteed) may take from one
//     that keeps its guarantee and its guaranteed share;
//  2. a beneficiary within its fair share (Shares.Of) may take from one that keeps
//     its fair share, its guarantee and its guaranteed share.
//
// What a queue has is its use and the guarantees that queues below it do not lend
// (lend.go): no other queue can use either. So a queue that borrows beside a
// sibling which keeps all of the guarantee of both for itself has more than that, and
// gives back.
//
// Nothing else is ever taken: not below a guarantee at any level, not for a queue
// that would be over its fair share, not within one leaf, where it is priorities
// that decide. A queue above the parting may end up with less in use, when what goes
// is larger than what comes; no queue outside has taken it.
//
// Where the capacity is less than all guarantees, use within one is still not taken back,
// and a queue within its own still takes from queues that are not: reclaim is for what was
// lent. In that one case a fair share is less than a guaranteed one, and rule 1
// goes by the latter.
//
// This cannot go round in circles while demand and configuration stand still, and
// with a half-life until the step ends. Let G and F be the guaranteed and the fair
// shares of the leaves and u their use. Every exchange raises the pair
//
//	( sum of min(u, G), sum of min(u, F) )
//
// in the order of words: by rule 1 the beneficiary is below its G before and not
// above it after, so that the first sum rises by the charge, and the lender
// stays at or above its G and changes nothing in it; by rule 2 the first sum does
// not fall and the second rises alike. A start on idle capacity lowers neither sum.
// Both are bounded, so that there are finitely many exchanges. Nor may a queue that was
// displaced take from the queue that it gave to: the one is not below its G, and the
// other not above its F, until that one has borrowed more. The sums speak of use, not
// of jobs: gangs of any size, and the holes that they leave, change nothing in it. It
// is why the rule compares what would be with the share, rather than one queue with
// another, as schedulers do that flap.
//
// Of the jobs of a leaf that gives, an embedder does well to take those first that
// came last.

// A ReclaimReason says why a queue may be asked, or not.
type ReclaimReason uint8

const (
	// ReclaimUnset, the zero value: nothing was asked, and nothing may be taken.
	ReclaimUnset ReclaimReason = iota
	// ReclaimForGuarantee: the beneficiary is within its guaranteed share.
	ReclaimForGuarantee
	// ReclaimForShare: it is within its fair share.
	ReclaimForShare
	// ReclaimNoLeaf: one of the two is no leaf of the tree.
	ReclaimNoLeaf
	// ReclaimSameQueue: the two are one queue.
	ReclaimSameQueue
	// ReclaimNothing: the beneficiary asks, or the other would give, nothing of the
	// resource, or more than it uses.
	ReclaimNothing
	// ReclaimOverShare: a queue of the beneficiary would be over its fair share.
	ReclaimOverShare
	// ReclaimBelowShare: a queue of the other would be below its fair share, and the
	// beneficiary is not within its guaranteed share.
	ReclaimBelowShare
	// ReclaimBelowGuarantee: a queue of the other would be below its guarantee.
	ReclaimBelowGuarantee
)

const reclaimReasonNames enum.Names = "ReclaimReason: unset|for-guarantee|for-share|no-leaf|same-queue|nothing-to-take|" +
	"beneficiary-over-share|victim-below-share|victim-below-guarantee"

// String returns the reason in words joined by hyphens, such as "for-guarantee".
func (r ReclaimReason) String() string { return enum.Text(reclaimReasonNames, r) }

func (r ReclaimReason) MarshalText() ([]byte, error) {
	return enum.Marshal(reclaimReasonNames, r, invalidText)
}

func (r *ReclaimReason) UnmarshalText(b []byte) error {
	return enum.Unmarshal(reclaimReasonNames, r, b, invalidText)
}

// A ReclaimVerdict explains an answer of MayReclaim.
type ReclaimVerdict struct {
	Reason ReclaimReason
	// At is the queue on whose account a refusal is; None where there is none. Used
	// is what it would have, in use and kept free for queues below it, and Bound what
	// that may not be above or below.
	At          QueueIndex
	Used, Bound int64
}

// A Borrower is a leaf that may be asked to give back.
type Borrower struct {
	Leaf QueueIndex
	// Reclaimable is the most that may be taken of it, when nothing is taken of others.
	Reclaimable int64
	// Reason is ReclaimForGuarantee or ReclaimForShare.
	Reason ReclaimReason
	// Rank counts, from 0, the queues that give before it by what they have, and not by their
	// name alone.
	Rank int
}

// in is what a charge takes of the resource.
func (s *Shares) in(c Charge) int64 {
	if s.resource == GPUMilli {
		return c.GPUMilli
	}
	if r, ok := s.resource.Host(); ok {
		return c.Host[r]
	}
	if i, ok := s.tree.declared.Find(string(s.resource)); ok {
		return c.Declared.Of(i)
	}
	if name, _ := s.resource.product(); c.Product != NoProduct && s.tree.Product(name) == c.Product {
		return c.GPUMilli
	}
	return 0
}

// account is what a queue has of the resource to read, nil where there is none.
func (s *Shares) account(i QueueIndex) *account {
	if id, known := s.tree.lookupResource(s.resource); known {
		return s.tree.nodes[i].look(id)
	}
	return nil
}

// has is what a queue uses and what is kept free for those below it. Of a leaf that
// is what it uses.
func (s *Shares) has(i QueueIndex) int64 {
	if a := s.account(i); a != nil {
		return a.used + a.keptBelow
	}
	return 0
}

// keeps is what may not be taken of a queue for a reason.
func (s *Shares) keeps(h *holding, reason ReclaimReason) int64 {
	keeps := h.guaranteed
	if a := s.account(h.queue); a != nil {
		keeps = max(keeps, a.guarantee)
	}
	if reason == ReclaimForGuarantee {
		return keeps
	}
	return max(keeps, h.fair)
}

// MayReclaim reports whether leaf victim may be asked to give back a charge so that
// leaf beneficiary can be charged what it asks for, by the rules above; the verdict
// says why. What is looked at is the resource of the Shares alone. The answer is
// about this exchange by itself: to ask about one more victim, Discharge the charges
// of those before it, and Charge them again if nothing comes of it; that leaves no
// trace. It does not say whether the exchange is of any use.
//
// O(depth), and what Shares.Of costs after a change. No allocation.
func (s *Shares) MayReclaim(beneficiary QueueIndex, asked Charge, victim QueueIndex, given Charge) (ReclaimVerdict, bool) {
	t := s.tree
	if !t.Leaf(beneficiary) || !t.Leaf(victim) {
		return ReclaimVerdict{Reason: ReclaimNoLeaf, At: NoQueue}, false
	}
	more, less := s.in(asked), s.in(given)
	switch {
	case beneficiary == victim:
		return ReclaimVerdict{Reason: ReclaimSameQueue, At: NoQueue}, false
	case more <= 0 || more > MaxAmount || less <= 0 || less > s.has(victim):
		return ReclaimVerdict{Reason: ReclaimNothing, At: NoQueue}, false
	}
	s.refresh()
	parting := t.parting(beneficiary, victim)
	reason, over := s.reasonFor(beneficiary, more, parting)
	if over != nil {
		return ReclaimVerdict{Reason: reason, At: over.queue, Used: over.with, Bound: over.fair}, false
	}
	s.walk(victim, 0)
	for at := 0; at < len(s.held) && s.held[at].queue != parting; at++ {
		h := &s.held[at]
		left := h.has - less
		if keeps := s.keeps(h, ReclaimForGuarantee); left < keeps {
			return ReclaimVerdict{Reason: ReclaimBelowGuarantee, At: h.queue, Used: left, Bound: keeps}, false
		}
		if keeps := s.keeps(h, reason); left < keeps {
			return ReclaimVerdict{Reason: ReclaimBelowShare, At: h.queue, Used: left, Bound: keeps}, false
		}
	}
	return ReclaimVerdict{Reason: reason, At: NoQueue}, true
}

// Exceeded lists the queues that would be over their fair share, and their guaranteed share, if a
// leaf had so much more: of the leaf and those above it, in that order. Of no leaf there are none.
// The result is in the buffer, if that is large enough. Cost as of Of.
func (s *Shares) Exceeded(buffer []QueueIndex, leaf QueueIndex, more Charge) []QueueIndex {
	buffer = buffer[:0]
	if !s.tree.Leaf(leaf) {
		return buffer
	}
	s.refresh()
	s.walk(leaf, s.in(more))
	for i := range s.held {
		if h := &s.held[i]; h.grade() == ReclaimOverShare {
			buffer = append(buffer, h.queue)
		}
	}
	return buffer
}

// reasonFor says for what reason a beneficiary may take so much from those that part from it
// below a queue; with ReclaimOverShare, which queue would be over its share.
func (s *Shares) reasonFor(beneficiary QueueIndex, more int64, parting QueueIndex) (reason ReclaimReason, over *holding) {
	s.walk(beneficiary, more)
	for at := 0; at < len(s.held) && s.held[at].queue != parting; at++ {
		h := &s.held[at]
		if reason = max(reason, h.grade()); reason == ReclaimOverShare {
			return reason, h
		}
	}
	return reason, nil
}

// grade says for what reason a queue of the beneficiary may have what it would, or
// ReclaimOverShare.
func (h *holding) grade() ReclaimReason {
	switch {
	case h.with <= h.guaranteed:
		return ReclaimForGuarantee
	case h.with <= h.fair:
		return ReclaimForShare
	}
	return ReclaimOverShare
}

// parting returns the lowest queue that both are at or below.
func (t *Tree) parting(i, j QueueIndex) QueueIndex {
	a, b := t.depth(i), t.depth(j)
	for ; a > b; a-- {
		i = t.nodes[i].parent
	}
	for ; b > a; b-- {
		j = t.nodes[j].parent
	}
	for i != j {
		i, j = t.nodes[i].parent, t.nodes[j].parent
	}
	return i
}

func (t *Tree) depth(i QueueIndex) int {
	depth := 0
	for ; i != RootQueue; i = t.nodes[i].parent {
		depth++
	}
	return depth
}

// Below reports whether i is the queue "above" or stands below it.
func (t *Tree) Below(i, above QueueIndex) bool {
	if !t.live(i) || !t.live(above) {
		return false
	}
	for ; i != NoQueue; i = t.nodes[i].parent {
		if i == above {
			return true
		}
	}
	return false
}

// A reach is what Victims works out for one queue.
type reach struct {
	holding
	most        int64 // that may be taken at and above it
	depth       int32
	reason      ReclaimReason
	beneficiary bool // stands above the beneficiary, or is it
}

// Borrowers returns the leaves that MayReclaim would let a beneficiary ask, and for
// how much at the most, in the order in which they are to be asked: from the Root
// down, those first that stand below the queue that has the most for its fair share
// (has / share), then the most, then the last by name. The result is in
// the buffer, if that is large enough.
//
// A caller that goes by what jobs fill (Stakes and Fill) finds all its lenders among them, and may
// take more than Reclaimable where jobs are too large to leave that.
//
// Where it is a limit that is in the way of the beneficiary (Tree.Fits), only
// victims below the queue of the verdict are of use: see Tree.Below.
//
// O(queues + victims x log victims x depth), without allocation when the buffer
// does.
func (s *Shares) Borrowers(buffer []Borrower, beneficiary QueueIndex, asked Charge) []Borrower {
	t, more := s.tree, s.in(asked)
	buffer = buffer[:0]
	if !t.Leaf(beneficiary) || more <= 0 || more > MaxAmount {
		return buffer
	}
	s.refresh()
	s.reclaim = slices.Grow(s.reclaim[:0], len(t.nodes))[:len(t.nodes)]
	clear(s.reclaim)
	for i := beneficiary; i != NoQueue; i = t.nodes[i].parent {
		s.reclaim[i].beneficiary = true
	}
	s.reclaim[RootQueue].guaranteed, s.reclaim[RootQueue].fair = s.promised.amount, s.fair.amount
	s.gradeUp(beneficiary, more)
	for _, i := range t.topDown() {
		if len(t.nodes[i].below) > 0 {
			s.reachBelow(i)
		} else if r := &s.reclaim[i]; i != RootQueue && !r.beneficiary && r.most > 0 {
			buffer = append(buffer, Borrower{Leaf: i, Reclaimable: r.most, Reason: r.reason})
		}
	}
	slices.SortFunc(buffer, func(a, b Borrower) int { return s.compareVictims(a.Leaf, b.Leaf) })
	for at := 1; at < len(buffer); at++ {
		buffer[at].Rank = buffer[at-1].Rank
		if has, _ := s.compareHoldings(buffer[at-1].Leaf, buffer[at].Leaf); has != 0 {
			buffer[at].Rank = at
		}
	}
	return buffer
}

// gradeUp notes at each queue above the beneficiary for what reason it may take
// from those that part there.
func (s *Shares) gradeUp(i QueueIndex, more int64) {
	s.walk(i, more)
	reason := ReclaimForGuarantee
	for at := range s.held {
		h := &s.held[at]
		reason = max(reason, h.grade())
		s.reclaim[s.tree.nodes[h.queue].parent].reason = reason
	}
}

// reachBelow works out what may be taken of the children of a queue.
func (s *Shares) reachBelow(i QueueIndex) {
	above := &s.reclaim[i]
	promised, fair := s.level(&s.promised, i, above.guaranteed), s.level(&s.fair, i, above.fair)
	for _, j := range s.tree.nodes[i].below {
		r := &s.reclaim[j]
		r.holding = holding{queue: j, has: s.has(j), guaranteed: s.guaranteedOf(promised, j), fair: fair.of(&s.wants[j], s.unit)}
		r.depth = above.depth + 1
		if r.beneficiary {
			continue
		}
		r.reason = above.reason
		if r.reason != ReclaimOverShare {
			r.most = r.has - s.keeps(&r.holding, r.reason)
		}
		if !above.beneficiary {
			r.most = min(r.most, above.most)
		}
	}
}

// compareVictims compares two leaves where their paths part.
func (s *Shares) compareVictims(i, j QueueIndex) int {
	has, name := s.compareHoldings(i, j)
	return cmp.Or(has, name)
}

// compareHoldings compares two leaves where their paths part: by what the queues have there,
// and by their names.
func (s *Shares) compareHoldings(i, j QueueIndex) (has, name int) {
	nodes := s.tree.nodes
	for s.reclaim[i].depth > s.reclaim[j].depth {
		i = nodes[i].parent
	}
	for s.reclaim[j].depth > s.reclaim[i].depth {
		j = nodes[j].parent
	}
	for nodes[i].parent != nodes[j].parent {
		i, j = nodes[i].parent, nodes[j].parent
	}
	a, b := &s.reclaim[i], &s.reclaim[j]
	if c := compareFractions(uint64(b.has), uint64(b.fair), uint64(a.has), uint64(a.fair)); c != 0 {
		return c, 0
	}
	return cmp.Compare(b.has, a.has), cmp.Compare(nodes[j].config.Name, nodes[i].config.Name)
}
