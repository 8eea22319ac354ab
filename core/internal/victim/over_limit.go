package victim

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// What goes so that a queue is within its limits again.
//
// The law. Let q be a queue that uses more of resources r than it may, M(r), and S(r) what those
// gangs below it are charged that run, with nothing else going on. A gang of which members are
// being started or stopped is looked at when that is over: until then nobody goes in its stead.
// X(r) = S(r) - M(r) is too much, as far as what may be stopped holds so much. The chosen pieces P
// hold X(r) or more of each r, and none of them could be left out. They are taken in the order
//
//	units of surplus before whole gangs; of leaves that use more GPUs than their guarantee before
//	others; the lower class, the lower priority; those that hold no more than is still too much;
//	the latest start
//
// but of those that hold more than is still too much, the smallest first. At last each that is not
// needed beside the others is left out, the one taken last first.
//
// The case: 4 jobs of 8 GPUs run in a queue; its limit is lowered to 8 (script 450). The three
// that began last are asked for checkpoints, and wait. And one queue gives up the surplus of a
// gang while the one above it is still over its own limit: the rest of that gang goes next, and no
// other queue gives what it is guaranteed (script 481).
//
// Rejected: the search for victims of a beneficiary (Search). Nothing has to come free in one
// place, so that to hold a GPU is all that matters, and amounts add up: the order of victims says
// it all, in one walk, and an operator can tell beforehand which jobs it will be. That search asks
// for a place with each set it tries, weighs costs that none is here to gain by, and gives up on
// thousands of victims.

// An overLimit is what a queue uses too much.
type overLimit struct {
	victims *Victims
	queue   quota.QueueIndex
	list    []quota.Excess
	// left is how much of each is still too much.
	left []int64
	// uses is what leaves use of GPUs beside what was taken.
	uses  map[quota.QueueIndex]int64 // looked up, never ranged over
	taken []record.Piece
}

// OverLimit chooses what goes so that a queue is within its limits, in order of job and number.
// Where less may go than is too much, all of that goes. O(running gangs of the queue, times the
// logarithm of these), O(queues) where all of these are never preempted.
func (v *Victims) OverLimit(q quota.QueueIndex) []record.Piece {
	o := &overLimit{victims: v, queue: q, list: v.state.Quota.Exceeded(nil, q), uses: map[quota.QueueIndex]int64{}}
	units, wholes := o.candidates()
	if len(wholes) == 0 {
		return nil // so little is asked of a queue that stays over its limit
	}
	o.measure(wholes)
	o.takeSome(units)
	o.takeSome(wholes)
	for i := len(o.taken) - 1; i >= 0; i-- {
		if o.spares(o.taken[i]) {
			o.putBack(i)
		}
	}
	for _, p := range o.taken {
		p.Imagine(false)
	}
	return MergeParts(o.taken)
}

// candidates lists what may go, in the order of victims: units of surplus, and whole gangs.
func (o *overLimit) candidates() (units, wholes []record.Piece) {
	v := o.victims
	for _, q := range v.books.Queues {
		if q == nil || q.Running.Len() == q.NonPreemptible.Len() || !v.state.Quota.Below(q.Index, o.queue) {
			continue
		}
		o.uses[q.Index] = v.state.Quota.Used(q.Index, quota.GPUMilli)
		q.Running.Ascend(func(rep *record.Replica) bool {
			if rep.MayMove() && !rep.Job.Spec.NonPreemptible && !rep.Job.Borrows() {
				wholes = append(wholes, record.Piece{Rep: rep})
			}
			return true
		})
	}
	slices.SortFunc(wholes, func(a, b record.Piece) int { return books.CompareVictims(a.Rep, b.Rep) })
	for _, p := range wholes {
		if !p.Rep.Job.IsElastic() || p.Rep.Exclusive != nil {
			continue
		}
		for group := range p.Rep.Job.Spec.Groups {
			s := record.SurplusOf(p.Rep, group)
			s.InTurn()
			for _, unit := range s.Extras() {
				units = append(units, record.Piece{Rep: p.Rep, Flats: unit})
			}
		}
	}
	return units, wholes
}

// measure notes how much is too much, as far as it may go.
func (o *overLimit) measure(wholes []record.Piece) {
	for k := range o.list {
		e, most := &o.list[k], int64(0)
		for _, p := range wholes {
			most += books.TakenOf(p, e)
		}
		o.left = append(o.left, min(o.victims.books.Standing(o.queue, e, (*record.Replica).MayMove)-e.Most, most))
	}
}

// takeSome takes pieces that are in the order of victims: those of each rank together.
func (o *overLimit) takeSome(list []record.Piece) {
	for _, borrowed := range [...]bool{true, false} {
		for rest := list; len(rest) > 0; {
			n := 1
			for n < len(rest) && record.CompareRank(rest[0].Rep, rest[n].Rep) == 0 {
				n++
			}
			o.takeRank(slices.Clone(rest[:n]), borrowed)
			rest = rest[n:]
		}
	}
}

// takeRank takes pieces of one rank: those that hold no more than is still too much, then others,
// the smallest first.
func (o *overLimit) takeRank(list []record.Piece, borrowed bool) {
	for _, p := range list {
		if o.mayTake(p, borrowed) && o.isWithin(p) {
			o.take(p)
		}
	}
	first := slices.IndexFunc(o.left, func(left int64) bool { return left > 0 })
	if first < 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b record.Piece) int {
		return cmp.Compare(books.TakenOf(a, &o.list[first]), books.TakenOf(b, &o.list[first]))
	})
	for _, p := range list {
		if o.mayTake(p, borrowed) {
			o.take(p)
		}
	}
}

// mayTake reports whether a piece is not taken yet and holds something of what is still too much;
// borrowed: and its queue uses more GPUs than it is guaranteed.
func (o *overLimit) mayTake(p record.Piece, borrowed bool) bool {
	leaf := p.Rep.Job.Queue
	if p.Rep.Imagined || !p.Whole() && p.Rep.Members[p.Flats[0]].Imagined ||
		borrowed && o.uses[leaf] <= o.victims.state.Quota.Guaranteed(leaf, quota.GPUMilli) {
		return false
	}
	for k := range o.list {
		if o.left[k] > 0 && books.TakenOf(p, &o.list[k]) > 0 {
			return true
		}
	}
	return false
}

// isWithin reports whether a piece holds no more of anything than is still too much of it.
func (o *overLimit) isWithin(p record.Piece) bool {
	for k := range o.list {
		if o.left[k] > 0 && books.TakenOf(p, &o.list[k]) > o.left[k] {
			return false
		}
	}
	return true
}

// take takes a piece; a whole gang instead of units of its surplus.
func (o *overLimit) take(p record.Piece) {
	if p.Whole() {
		for i := len(o.taken) - 1; i >= 0; i-- {
			if o.taken[i].Rep == p.Rep {
				o.putBack(i)
			}
		}
	}
	o.taken = append(o.taken, p)
	o.count(p, true)
}

// putBack undoes take.
func (o *overLimit) putBack(i int) {
	p := o.taken[i]
	o.taken = slices.Delete(o.taken, i, i+1)
	o.count(p, false)
}

// count notes that a piece is gone, or back. What a whole gang holds does not have the units that
// are gone.
func (o *overLimit) count(p record.Piece, gone bool) {
	sign := int64(1)
	if gone {
		sign = -1
	}
	for k := range o.list {
		o.left[k] += sign * books.TakenOf(p, &o.list[k])
	}
	o.uses[p.Rep.Job.Queue] += sign * p.GPUMilli()
	p.Imagine(gone)
}

// spares reports whether the others suffice without a piece that is taken.
func (o *overLimit) spares(p record.Piece) bool {
	for k := range o.list {
		if o.left[k]+books.TakenOf(p, &o.list[k]) > 0 {
			return false
		}
	}
	return true
}
