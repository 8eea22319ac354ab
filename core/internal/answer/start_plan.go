package answer

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evict"
	"github.com/berth-sched/berth/core/internal/record"
)

// startSentence says in a sentence what would start a job, by victims, moves or, together, by both.
func startSentence(t *berth.StartPlan, together bool) string {
	switch {
	case len(t.Reason.Victims) > 0:
		return t.Reason.Preemption
	case len(t.Moves) > 0 && len(t.Victims) > 0 && together:
		return fmt.Sprintf("moving %s and preempting %d would start it", count(len(t.Moves), "running replica"), len(t.Victims))
	case len(t.Moves) > 0 && len(t.Victims) > 0:
		return fmt.Sprintf("moving %s would start it, or preempting %d", count(len(t.Moves), "running replica"), len(t.Victims))
	case len(t.Moves) > 0:
		return fmt.Sprintf("moving %s would start it", count(len(t.Moves), "running replica"))
	case len(t.Victims) > 0:
		return fmt.Sprintf("preempting %s would start it", count(len(t.Victims), "running replica"))
	}
	if t.Reason.CutShort {
		return "no preemption and no move was found that would start it, but " + t.Reason.Preemption
	}
	return "no preemption and no move would start it: " + t.Reason.Text
}

// fitsNow reports whether an entry fits now, within its quota, and what speaks for its place.
func (an *Answers) fitsNow(e *record.Entry) (*berth.PlaceChoice, bool) {
	defer e.Rep.Job.Become(e.Assume())
	t := an.victims.NewSearch(e, nil)
	t.Request, _ = an.search.WithReservedNodes(e, &e.Bucket.Shape.Minimum)
	return t.FitsNow()
}

// wouldMove looks for moves that would start an entry, without an effect; nil: there are
// none, or defragmentation is off.
func (an *Answers) wouldMove(e *record.Entry) *evict.Bid {
	if an.state.Config.Policy.Defragmentation.Mode == berth.DefragmentationOff || !an.search.InPieces(e) {
		return nil
	}
	im, broken := an.evict.Imagine()
	defer im.Forget()
	if len(broken) > 0 {
		return nil
	}
	im.VictimSearches = an.state.Bounds.VictimSearches
	return im.BidForMoves(e)
}

// describeMoves names the moves of a bid.
func (an *Answers) describeMoves(b *evict.Bid) []berth.Move {
	var list []berth.Move
	for _, m := range b.Moves {
		move := berth.Move{Job: m.Rep.Job.Spec.ID, Replica: m.Rep.Number, Queue: m.Rep.Job.Spec.Queue, GPUMilli: record.Piece{Rep: m.Rep}.GPUMilli()}
		for flat := range m.Rep.Members {
			if at := &m.Rep.Members[flat]; at.State.Holds() {
				move.From = append(move.From, at.Node.Spec.ID)
			}
		}
		for i := range m.Where {
			move.To = append(move.To, an.state.Nodes[m.Where[i].Hold.Node].Spec.ID)
		}
		move.From, move.To = sorted(move.From), sorted(move.To)
		list = append(list, move)
	}
	return list
}

// sorted is a list in order and without doubles.
func sorted(list []berth.NodeID) []berth.NodeID {
	slices.Sort(list)
	return slices.Compact(list)
}
