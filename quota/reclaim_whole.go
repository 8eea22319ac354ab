package quota

import "github.com/berth-sched/berth/internal/enum"

// A gang may be larger than the share of its queue, or start when part of that is used.
// It then stands with one foot in the share, and MayReclaim, which leaves every queue its
// share, cannot take it back: whoever is to have what it borrowed would wait for as long
// as it runs. But nothing of it is due to its queue: a share is there for jobs that fit
// in it. MayReclaimWhole says so.
//
// For this an embedder has to know of each job by what it is due to its queue. It puts the
// jobs of a queue in the order in which they are to stay, the last to start behind its
// equals: those are due by share that fit in the fair share beside the ones before them
// and, among these, those by guarantee that fit in the guaranteed share alike. What is due
// for a reason is never given for it: what the others of a queue use is always at least
// what it uses over its share. Then no circle can come of it either. With P what those
// use that are due by guarantee and Q what those use that are due at all, the pair to
// look at becomes
//
//	( sum of P, sum of Q )
//
// An exchange for a guarantee takes nothing that is due by one and lets in something that
// is, so that the first sum rises; one for a fair share takes nothing that is due and lets
// in something that is, so that the second rises, and the first does not fall. A beneficiary
// fits in its queue's share beside all that runs there, so that it takes nothing of what is due
// from others.

// A Due says by what a job is due to its queue.
type Due uint8

const (
	// DueNone: it is borrowed beyond the fair share.
	DueNone Due = iota
	// DueByShare: it fits in the fair share of its queue.
	DueByShare
	// DueByGuarantee: it fits in the guaranteed share.
	DueByGuarantee
)

const dueNames enum.Names = "Due: not-due|due-by-share|due-by-guarantee"

// String returns "not-due", "due-by-share" or "due-by-guarantee".
func (d Due) String() string { return enum.Text(dueNames, d) }

func (d Due) MarshalText() ([]byte, error) { return enum.Marshal(dueNames, d, invalidText) }

func (d *Due) UnmarshalText(b []byte) error { return enum.Unmarshal(dueNames, d, b, invalidText) }

// Due tells by what a job with this charge would be due to a leaf if it were charged
// now. Cost as of Of.
func (s *Shares) Due(i QueueIndex, c Charge) Due {
	if !s.tree.Leaf(i) {
		return DueNone
	}
	s.refresh()
	s.walk(i, s.in(c))
	switch h := &s.held[0]; {
	case h.with <= h.guaranteed:
		return DueByGuarantee
	case h.with <= h.fair:
		return DueByShare
	}
	return DueNone
}

// MayReclaimWhole is MayReclaim where it is known by what the job that is to go, or what is
// left of it, is due to its queue. It may be taken if it is not due for the reason for
// which it is asked back, whatever it leaves its queue, and every queue below the parting
// has more than it keeps now; the reason is ReclaimWhole where MayReclaim would have
// refused. A queue may be below its share afterwards, or below its guarantee: with that
// much left for jobs that fit in it. Cost as of MayReclaim.
func (s *Shares) MayReclaimWhole(beneficiary QueueIndex, asked Charge, victim QueueIndex, given Charge, due Due) (ReclaimVerdict, bool) {
	verdict, ok := s.MayReclaim(beneficiary, asked, victim, given)
	if !ok && verdict.Reason != ReclaimBelowGuarantee && verdict.Reason != ReclaimBelowShare {
		return verdict, false
	}
	parting := s.tree.parting(beneficiary, victim)
	reason, _ := s.reasonFor(beneficiary, s.in(asked), parting)
	if due == DueByGuarantee || due == DueByShare && reason == ReclaimForShare {
		return ReclaimVerdict{Reason: ReclaimDue, At: victim}, false
	}
	s.walk(victim, 0)
	for at := 0; at < len(s.held) && s.held[at].queue != parting; at++ {
		if h := &s.held[at]; h.has <= s.keeps(h, reason) {
			return verdict, false
		}
	}
	if !ok {
		verdict = ReclaimVerdict{Reason: ReclaimWhole, At: NoQueue}
	}
	return verdict, true
}
