package answer

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/victim"
)

// expect adds to a reason when a replica is expected to start, or to grow. Of the ways that are
// foreseen the soonest counts; but a growth that has its place planned waits for that one alone.
// gone is the instant by which its possible victims have left.
func (an *Answers) expect(rep *record.Replica, s *record.Shape, grows bool, gone berth.Time, reason *berth.Reason) {
	if reason.Code == berth.ReasonNoNodes || reason.Code == berth.ReasonTooLarge {
		return
	}
	at := min(gone, an.search.ExpectedStart(rep, s, grows))
	if w := rep.PlannedReservation(); grows && w != nil {
		at = an.state.ClearFrom(w)
	}
	if len(rep.Entries) > 0 && !grows {
		at = min(at, an.search.ExpectedReshape(rep.Entries[0]))
	}
	if at != agenda.Never {
		reason.ExpectedStart = at
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
