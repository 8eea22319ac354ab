package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/errtext"
)

// Explain tells where a job stands: for each replica that waits, why, and what would let it start.
// Cost: for each distinct request that waits for capacity O(domains x conditions of nodes in one x
// groups + queues), and a search for victims, for moves and for the instant at which it is expected
// to start; replicas that wait and are a number cost nothing.
func (an *Answers) Explain(id berth.JobID) (berth.Explanation, error) {
	j := an.state.Jobs[id]
	if j == nil {
		return berth.Explanation{}, &berth.Error{Event: "explain", Field: "job", Kind: berth.ErrUnknown, Reason: fmt.Sprintf("job %q is not known", errtext.Short(id))}
	}
	an.books.TellCapacity()
	out := berth.Explanation{Job: id, Queue: j.Spec.Queue, Class: j.Spec.Class, Cancelled: j.Cancelled}
	reasons := map[*record.Shape]*berth.Reason{}
	positions := an.positions(j)
	for rep := range j.Replicas.All() {
		out.Replicas = append(out.Replicas, an.explainReplica(rep, positions[rep], reasons))
		if rep.Entries != nil && out.Positions == nil {
			out.Positions = an.queuePositions(j.Queue)
		}
	}
	for _, t := range j.Batches() {
		position := 0
		if t.Head != nil {
			position = positions[t.Head.Rep] + 1
		}
		out.Replicas = append(out.Replicas, an.explainBatch(t, reasons, position))
	}
	out.Replicas = joinExplanations(out.Replicas)
	return out, nil
}

// explainBatch explains the replicas of a batch, which differ in number and place alone. The first
// is at a position; 0: all are at none.
func (an *Answers) explainBatch(t *record.Batch, reasons map[*record.Shape]*berth.Reason, position int) berth.ReplicaExplanation {
	out := an.explainReplica(t.Like(t.Next), position, reasons)
	out.Alike = t.Len() - 1
	return out
}

// joinExplanations puts those in order of number, and those together that wait alike: whether they
// are records by now is nobody's business.
func joinExplanations(list []berth.ReplicaExplanation) []berth.ReplicaExplanation {
	slices.SortFunc(list, func(a, b berth.ReplicaExplanation) int { return cmp.Compare(a.Replica, b.Replica) })
	joined := list[:0]
	for i := range list {
		next := &list[i]
		if len(joined) > 0 {
			last := &joined[len(joined)-1]
			after := last.Alike + 1
			follows := next.Position == last.Position+after || last.Position == 0 && next.Position == 0
			if next.Replica == last.Replica+after && follows && waitAlike(last, next) {
				last.Alike += 1 + next.Alike
				continue
			}
		}
		joined = append(joined, *next)
	}
	return joined
}

// waitAlike reports whether two replicas wait since one instant, for one reason. A reason that is
// one replica's own has a place of its own.
func waitAlike(a, b *berth.ReplicaExplanation) bool {
	return a.State == berth.ReplicaPending && b.State == berth.ReplicaPending && a.Reason != nil && a.Reason == b.Reason &&
		a.Since == b.Since && a.Incarnation == b.Incarnation && a.Order == b.Order && a.Beneficiary == b.Beneficiary &&
		a.Departure == nil && b.Departure == nil
}

// explainReplica explains one that stands at a position in its queue; 0: at none.
func (an *Answers) explainReplica(rep *record.Replica, position int, reasons map[*record.Shape]*berth.Reason) berth.ReplicaExplanation {
	out := berth.ReplicaExplanation{
		Replica: rep.Number, State: rep.State, Incarnation: rep.Incarnation, Since: rep.PendingSince, Position: position,
		Members: an.state.Placements(rep, record.MemberBinding, record.MemberRunning, record.MemberFailed, record.MemberStopping),
	}
	if rep.State != berth.ReplicaPending {
		out.Alternative = rep.Job.Alternative()
	}
	if rep.State == berth.ReplicaRunning {
		out.Since = rep.Started
		if length := rep.Job.Length(); length > 0 {
			out.ExpectedEnd = rep.Started.Add(length)
		}
		if end, limited := rep.RunsUntil(); limited {
			out.RunsUntil = end
		}
	}
	out.Requeues = slices.Clone(rep.Retry.Get().Requeued)
	out.Bandwidth = an.bandwidth(rep)
	out.BlastRadius = an.sharedBlastRadius(rep)
	if rep.Order != nil {
		out.Order = rep.Order.Header().ID
	}
	if to := beneficiaryOf(rep); to != nil {
		out.Beneficiary = to.Ref()
	}
	out.Idleness = an.life.Idleness(rep)
	out.Departure = an.departure(rep)
	if other := rep.Relocation.Get().Instead; other != nil {
		out.Instead = other.Ref()
	}
	an.explainLoans(rep, &out)
	switch over, _, isOver := rep.OverCap(); {
	case isOver:
		out.Reason = &berth.Reason{
			Code: berth.ReasonTurn, Text: fmt.Sprintf("it came back to the queue because of %q once more than it may", over.Cause),
			Remedy: "none: the next pass drops it",
		}
	case rep.Job.Gate != nil:
		out.Reason = an.explainGate(rep)
	case rep.Retry.Get().ReadyAt != 0:
		out.Reason = an.explainBackoff(rep)
	case an.backlog.WaitsForBudget(rep):
		reason, known := reasons[rep.Job.Shape()]
		if !known || rep.State != berth.ReplicaPending {
			if reason = an.explainBudget(rep); rep.State == berth.ReplicaPending {
				reasons[rep.Job.Shape()] = reason
			}
		}
		out.Reason = reason
	case rep.Entries != nil:
		e := an.Explained(rep)
		reason, known := reasons[e.Bucket.Shape]
		if !known || rep.Reserved != nil || rep.Retry.Get().LostHardware {
			found := an.waitsFor(e, position)
			reason = &found
			an.addAlternatives(e, position, reason)
			if res := rep.Reserved; res != nil {
				report := an.reportReservation(res)
				reason.Reservation = &report
			} else if !rep.Retry.Get().LostHardware { // a gang that lost hardware may use hot spares
				reasons[e.Bucket.Shape] = reason
			}
		}
		out.Reason = reason
	}
	return out
}

// explainBackoff says why a replica backs off, and whether its place is kept for it meanwhile.
func (an *Answers) explainBackoff(rep *record.Replica) *berth.Reason {
	reason := &berth.Reason{
		Code: berth.ReasonBackoff, Until: rep.Retry.Get().ReadyAt,
		Text:   failedStarts(rep.Retry.Get().Attempts),
		Remedy: "nothing but time: the core retries by itself",
	}
	switch res := rep.Moving; {
	case rep.State != berth.ReplicaPending:
	case res != nil:
		report := an.reportReservation(res)
		reason.Reservation, reason.ExpectedStart = &report, an.forecast(rep, 0, rep.Retry.Get().ReadyAt)
		reason.Text = fmt.Sprintf("its members died; a place on %s is kept for it until it is tried again in %v", count(len(res.Nodes), "node"), rep.Retry.Get().ReadyAt.Sub(an.state.Now))
	case rep.Returns():
		reason.Text = "its members died, and no place is kept for it"
	case rep.Retry.Get().Crashes > 1:
		reason.Text = fmt.Sprintf("its members died soon after the start, %d times in a row: no place is kept for it", rep.Retry.Get().Crashes)
	}
	if rep.State == berth.ReplicaPending && rep.Moving == nil {
		an.expectAny(rep, reason)
	}
	return reason
}

// beneficiaryOf is the beneficiary of a victim, or the first of those of its members; nil: there
// is none.
func beneficiaryOf(rep *record.Replica) *record.Replica {
	to := rep.Beneficiary
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.Beneficiary != nil && (to == nil || m.Beneficiary.Ref() == rep.Release.Get().Cause.Beneficiary) {
			to = m.Beneficiary
		}
	}
	return to
}
