package quota

// A gang may be larger than what its queue is guaranteed, or start when part of
// that is used. It then stands with one foot in the guarantee, and MayReclaim, which
// leaves every queue its guarantee, cannot take it back: the owner of what it has
// borrowed would wait for as long as it runs. But nothing of it is due to its queue:
// the guarantee is there for jobs that fit in it. MayReclaimWhole says so.
//
// For this the embedder notes of each job, when it starts, whether it is its queue's
// own (Owns). Own jobs are never to be given: what the others of a queue use is
// always at least what it uses over its guaranteed share. Then no circle can come of
// it either. With P what the own jobs of a leaf use, the pair to look at becomes
//
//	( sum of P, sum of min(u, F) )
//
// No exchange takes an own job, so that the first never falls; one for a guarantee
// lets an own job in, and it rises; one for a fair share raises the second.

// Owns reports whether a job with this charge would be the own one of a leaf if it
// were charged now: whether the leaf would stay within its guaranteed share.
func (s *Shares) Owns(i Index, c Charge) bool {
	return s.tree.Leaf(i) && s.in(c) <= s.Guaranteed(i)-s.has(i)
}

// MayReclaimWhole is MayReclaim for a job, or what is left of one, that is not its
// queue's own. It may be taken as well for the guaranteed share of the beneficiary,
// whatever it leaves its queue, if every queue below the parting has more than it
// keeps now; the reason is ReclaimWhole then. A queue may be below its guarantee
// afterwards: with that much free for jobs that fit in it. Cost as of MayReclaim.
func (s *Shares) MayReclaimWhole(beneficiary Index, asked Charge, victim Index, given Charge) (ReclaimVerdict, bool) {
	verdict, ok := s.MayReclaim(beneficiary, asked, victim, given)
	if ok || verdict.Reason != ReclaimBelowGuarantee {
		return verdict, ok
	}
	parting := s.tree.parting(beneficiary, victim)
	for at := 0; at < len(s.held) && s.held[at].queue != parting; at++ { // MayReclaim ended with the victim's
		if h := &s.held[at]; h.has <= s.keeps(h, ReclaimForGuarantee) {
			return verdict, false
		}
	}
	s.walk(beneficiary, s.in(asked))
	for at := 0; at < len(s.held) && s.held[at].queue != parting; at++ {
		if s.held[at].grade() != ReclaimForGuarantee {
			return verdict, false
		}
	}
	return ReclaimVerdict{Reason: ReclaimWhole, At: None}, true
}
