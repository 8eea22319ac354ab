package answer

import (
	"math"
	"math/bits"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/quota"
)

// expect adds to a reason when a replica is expected to start, or to grow. Of the ways that are
// foreseen the soonest counts; but a growth that has its place planned waits for that one alone.
// position is where it stands in its queue, 0: nowhere, and gone the instant by which its possible
// victims have left.
func (an *Answers) expect(rep *record.Replica, s *record.Shape, grows bool, position int, gone berth.Time, reason *berth.Reason) {
	if reason.Code == berth.ReasonNoNodes || reason.Code == berth.ReasonTooLarge {
		return
	}
	at := min(gone, an.search.ExpectedStart(rep, s, grows))
	if res := rep.PlannedReservation(); grows && res != nil {
		at = an.state.ClearFrom(res)
	}
	if len(rep.Entries) > 0 && !grows && !rep.Entry().IsAlternative() {
		at = min(at, an.search.ExpectedReshape(rep.Entries[0]))
	}
	if at != agenda.Never {
		reason.ExpectedStart = an.forecast(rep, position, at)
	}
}

// goneBy is the instant by which victims of an entry have left that may be asked to go from an
// instant on. It is that instant, or the later one at which a pass looks for victims again, and the
// time that the slowest of them takes for a checkpoint and for a whole attempt to stop it. Never:
// something has to change before.
func (an *Answers) goneBy(e *record.Entry, victims []record.Piece, from berth.Time) berth.Time {
	if from = max(from, an.backlog.Due.LooksFor(e), an.evict.NextBid()); from == agenda.Never {
		return from
	}
	gone := from
	for _, p := range victims {
		gone = max(gone, from.Add(an.state.GoneIn(p)))
	}
	return gone
}

// movedBy is the instant by which the gangs have left that the next pass moves for a bid; never: it
// moves none.
func (an *Answers) movedBy(b *evict.Bid) berth.Time {
	var movers []record.Piece
	for _, m := range b.Moves {
		movers = append(movers, record.Piece{Rep: m.Rep})
	}
	if an.state.Config.Policy.Defragmentation.Mode != berth.DefragmentationOn || b.Gain <= b.Cost {
		return agenda.Never
	}
	return an.goneBy(b.Entry, movers, an.life.VictimsReady(victim.Wholes(movers)))
}

// givenNext is the soonest instant by which a gang that shrinks now can have shrunk once more;
// never: none shrinks.
func (an *Answers) givenNext() berth.Time {
	at := agenda.Never
	an.state.Leaving.Ascend(func(rep *record.Replica) bool {
		if p := an.state.Going(rep); !p.Whole() {
			at = min(at, an.state.GoneBy(rep).Add(an.state.GoneIn(p)))
		}
		return true
	})
	return at
}

// forecast says when a replica is expected to start that stands at a position in its queue, or at
// none, and would start at an instant if no other job were served before it.
//
// The constants were fitted to what came over the cells of the grid in bench/experiments, so that
// about half start by the middle and nine in ten by late: docs/results.md has how often they do.
// Three spans count: how far ahead that instant is; how long the replica waits, as one that others
// passed is passed again; and how long the fleet would be busy with all that waits, if each ran as
// long as it does. Each doubling of those that stand before it counts the same: many of them are
// served beside each other. Before one with a reservation none is. O(queues).
func (an *Answers) forecast(rep *record.Replica, position int, earliest berth.Time) berth.Forecast {
	from, waited := an.state.Now, berth.Duration(0)
	if rep.Job.Gate != nil { // until then it does not wait among others
		from = max(from, rep.Job.Spec.Gating().Begin)
	} else if rep.State == berth.ReplicaPending { // and does not grow
		waited = from.Sub(rep.PendingSince)
	}
	ready := max(0, earliest.Sub(from))
	doublings := int64(0)
	if rep.Reserved == nil && position > 0 {
		doublings = int64(bits.Len(uint(position)) - 1)
	}
	length, _ := an.state.Runtime(rep.Job)
	drain := scaled(length, an.books.AskedMilli(), an.books.Capacities[quota.GPUMilli])
	return berth.Forecast{
		Earliest: earliest,
		Middle:   from.Add(scaled(ready, 2+doublings, 2)).Add(scaled(waited, doublings, 6)).Add(scaled(drain, doublings, 14)),
		Late:     from.Add(scaled(ready, 16+3*doublings, 4)).Add(scaled(waited, 4+5*doublings, 10)).Add(scaled(drain, 2*doublings, 5)),
	}
}

// scaled is a span times n / of, at the most the largest span. None is negative.
func scaled(span berth.Duration, n, of int64) berth.Duration {
	high, low := bits.Mul64(uint64(span), uint64(n))
	switch {
	case high == 0 && low == 0:
		return 0
	case high >= uint64(of):
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(of))
	return berth.Duration(min(quotient, math.MaxInt64))
}
