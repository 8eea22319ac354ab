package quota

// What a queue keeps when others collect what is theirs.
//
// MayReclaim leaves every queue its share. With jobs that go whole or not at all that is not enough
// to go by: a gang larger than the share of its queue could never be taken back, and something
// would have to say which jobs stand for the share. What a queue keeps is an amount, in whichever
// of its jobs: as much of its share as its jobs fill (Fill). With G the guaranteed share of a queue
// and F its fair share (Stake), jobs may be taken of it
//
//  1. if what is left fills as much of G as before: a share is there for jobs that fit in it, and
//     one that does not, beside the others, is borrowed;
//  2. or else if the queue is left G in use, or all that it has if that is less, though what is
//     left fills less of G, being of other sizes;
//  3. for a fair share, moreover, only if what is left fills as much of F as before.
//
// That holds at every queue from the leaf up to where its path parts from the beneficiary's, for
// all that is taken together. Without regard to places rule 1 always does: of every leaf all may go
// but what fills its G, these add up to no more than the capacity, and a beneficiary within its own
// guarantee fits beside them. Rule 2 is for victims that have to be in certain places, and for
// queues with small jobs where a large one is in the way. Where neither makes room in one piece,
// what the queues keep may move, if an embedder moves jobs.
//
// Which use counts. What a queue has for certain is what its jobs hold that run and stay. What it
// will have is that, and what is being started, and what is planned: a beneficiary with victims
// that are yet to go, a job that moves or comes back to a place that is kept for it. A start may
// fail, a plan may end, and a place that is kept may be lost. So rules 1 and 2 are about jobs that
// run and stay: none of them is taken on account of what does not run. A beneficiary may have to
// wait until that runs, or has come to nothing.
//
// Rule 3 and the proof below are about all that a queue will have, as a beneficiary counts there
// from its plan on. What rules 1 and 2 allow of what runs, they allow of all. If what is left of
// all is G or more, that is rule 2. Else all of it fits in G. By rule 1 what is left of the jobs
// that run then fills G as far as any jobs that run can, and what does not run is there in full, so
// that no choice of both fills more.
//
// A job that moves in the exchange itself counts as one that runs: it is not taken back, and as
// long as it has not left its place the loss of the new one ends the exchange.
//
// The case: a queue with G = 4 ran a gang of 4, and room was being made for another 4 in it.
// Counted together, they left 4 without the first, which was taken. The plan ended, and the queue
// had nothing. Rejected: to take the first and give it back if the plan ends, as its work is lost
// by then.
//
// This cannot go round in circles while demand and configuration stand still and nothing ends by
// itself, if an embedder remembers a floor of each leaf: what it kept when it last gave by rule 2.
// With u the use of a leaf, let
//
//	kept = max( what its jobs fill of G, min(floor, G, u) )
//
// and let no choice by any rule leave a leaf with less than that in use. Then the pair
//
//	( sum of kept, sum of what the jobs of each leaf fill of F )
//
// rises with every exchange, in the order of words, and falls with no start on idle capacity:
//
//   - A leaf that gives by rule 1 fills as much of G as before, and is left with no less than its
//     floor in use, as far as that counted. So kept does not fall.
//   - A leaf that gives by rule 2 gets kept as its floor, and is left with that in use: kept stays.
//   - A beneficiary within G beside all that runs in its leaf fills that: all fits together, so
//     that kept is its use, and rises by what it is charged. The same holds of one within F and
//     what is filled of F, and its kept does not fall, as one job more fills no less. By rule 3 no
//     leaf that gives for it fills less of F.
//   - Another gang of its leaf may take the place that was made for it only within the same share:
//     not if a queue would be beyond its F with that gang that is within with the beneficiary (see
//     Shares.Exceeded). Else that place is given back to others, and made again.
//   - A job that moves is charged as much in the place that is reserved for it, and counts for that
//     on its way, so that no other exchange takes it. Neither sum asks where a job is: a move by
//     itself changes neither, and an exchange with moves, or of moves alone, raises the pair by
//     what the beneficiary comes to fill, as any other.
//
// A gang that runs and grows is a beneficiary of the first kind alone: its further members are jobs
// beside its minimum.
//
// Both sums are bounded by the capacity, so that there are finitely many exchanges between leaves.
// Without the floor, a queue that gave small jobs by rule 2 and was left with one that fills
// nothing could lose that by rule 1, get the small ones back, and begin again.
//
// A gang that evicts others of its own leaf raises neither sum, and may lower both: being of
// another size, or taking idle capacity besides, it fills less than they did, is reclaimed, and the
// others come back. So an embedder has a gang rest after it was reclaimed, or lost to others the
// place that it made in its leaf: for a while, and after a few times for good. While it rests it
// evicts others of its leaf only where each of its queues uses no more than G with it, or no more
// than F while its jobs fill as much of G as before (StakesOf). That lowers neither sum. And it
// takes no place made for another of its leaf. Suppose that some gangs evict or take places in
// their leaf beyond that without an end. The highest in rank of them has to lose its place each
// time in between. None of them can take it, and others can only a few times.

// A Stake is what a queue has, and what of it is at stake.
type Stake struct {
	Queue QueueIndex
	// Has is what it uses, and what queues below it keep free for themselves.
	Has int64
	// Guaranteed and Fair are its shares, of which it keeps what its jobs fill: its guarantee and
	// its guaranteed share (Shares.Guaranteed), and its fair share (Shares.Of) if that is more.
	Guaranteed, Fair int64
}

// Stakes lists what is at stake for a leaf and the queues above it, up to where its path parts from
// that of a leaf that would be charged what it asks for, and the reason for which that may take:
// ReclaimForGuarantee or ReclaimForShare. With any other nothing may be taken, and nothing is
// listed. The result is in the buffer, if that is large enough. Cost as of MayReclaim.
func (s *Shares) Stakes(buffer []Stake, beneficiary QueueIndex, asked Charge, victim QueueIndex) ([]Stake, ReclaimReason) {
	t, more := s.tree, s.in(asked)
	buffer = buffer[:0]
	switch {
	case !t.Leaf(beneficiary) || !t.Leaf(victim):
		return buffer, ReclaimNoLeaf
	case beneficiary == victim:
		return buffer, ReclaimSameQueue
	case more <= 0 || more > MaxAmount:
		return buffer, ReclaimNothing
	}
	s.refresh()
	parting := t.parting(beneficiary, victim)
	reason, over := s.reasonFor(beneficiary, more, parting)
	if over != nil {
		return buffer, reason
	}
	return s.stakes(buffer, victim, parting), reason
}

// StakesOf lists what is at stake for a leaf and all queues above it where one job of the leaf
// takes the place of others. Nothing is listed for what is no leaf. The result is in the buffer, if
// that is large enough. Cost as of Of.
func (s *Shares) StakesOf(buffer []Stake, leaf QueueIndex) []Stake {
	if !s.tree.Leaf(leaf) {
		return buffer[:0]
	}
	s.refresh()
	return s.stakes(buffer[:0], leaf, RootQueue)
}

// stakes adds what is at stake for a leaf and the queues above it, below a given one.
func (s *Shares) stakes(list []Stake, leaf, top QueueIndex) []Stake {
	s.walk(leaf, 0)
	for at := 0; at < len(s.held) && s.held[at].queue != top; at++ {
		h := &s.held[at]
		list = append(list, Stake{Queue: h.queue, Has: h.has, Guaranteed: s.keeps(h, ReclaimForGuarantee), Fair: s.keeps(h, ReclaimForShare)})
	}
	return list
}
