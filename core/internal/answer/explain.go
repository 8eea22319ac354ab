package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/errtext"
)

// Explain tells where a job stands: for each replica that waits, why, and what
// would let it start. It may look at all nodes. Cost: O(nodes x groups) for each
// distinct request that waits for capacity.
func (an *Answers) Explain(id berth.JobID) (berth.Explanation, error) {
	j := an.state.Jobs[id]
	if j == nil {
		return berth.Explanation{}, &berth.Error{Event: "explain", Field: "job", Kind: berth.ErrUnknown, Reason: fmt.Sprintf("job %q is not known", errtext.Short(id))}
	}
	an.books.TellCapacity()
	out := berth.Explanation{Job: id, Queue: j.Spec.Queue, Class: j.Spec.Class, Cancelled: j.Cancelled}
	reasons := map[*record.Shape]berth.Reason{}
	positions := an.positions(j)
	for _, rep := range j.Replicas {
		if rep != nil {
			out.Replicas = append(out.Replicas, an.explainReplica(rep, reasons))
			out.Replicas[len(out.Replicas)-1].Position = positions[rep]
			if rep.Entries != nil && out.Standing == nil {
				out.Standing = an.standing(j.Queue)
			}
		}
	}
	for _, t := range j.Batches {
		out.Replicas = append(out.Replicas, an.explainBatch(t, reasons, positions[t.Head.Rep])...)
	}
	slices.SortFunc(out.Replicas, func(a, b berth.ReplicaExplanation) int { return cmp.Compare(a.Replica, b.Replica) })
	return out, nil
}

// explainBatch explains the replicas of a batch, which differ in number and place alone. Its head
// is at a position.
func (an *Answers) explainBatch(t *record.Batch, reasons map[*record.Shape]berth.Reason, head int) []berth.ReplicaExplanation {
	like := an.explainReplica(t.Like(t.Next), reasons)
	list := make([]berth.ReplicaExplanation, t.Len())
	for i := range list {
		list[i] = like
		list[i].Replica, list[i].Position = t.Next+i, head+1+i
	}
	return list
}

func (an *Answers) explainReplica(rep *record.Replica, reasons map[*record.Shape]berth.Reason) berth.ReplicaExplanation {
	out := berth.ReplicaExplanation{
		Replica: rep.Number, State: rep.State, Incarnation: rep.Incarnation, Since: rep.PendingSince,
		Members: an.state.Placements(rep, record.MemberBinding, record.MemberRunning, record.MemberFailed, record.MemberStopping),
	}
	if rep.State == berth.ReplicaRunning {
		out.Since = rep.Started
		if rep.Job.Spec.ExpectedRuntime > 0 {
			out.ExpectedEnd = rep.Started.Add(rep.Job.Spec.ExpectedRuntime)
		}
	}
	out.Bandwidth = an.bandwidth(rep)
	out.BlastRadius = an.sharedBlastRadius(rep)
	if rep.Order != nil {
		out.Order = rep.Order.Header().ID
	}
	if to := beneficiaryOf(rep); to != nil {
		out.Beneficiary = to.Ref()
	}
	out.Departure = an.departure(rep)
	switch {
	case rep.Retry.ReadyAt != 0:
		out.Reason = &berth.Reason{
			Code: berth.ReasonBackoff, Until: rep.Retry.ReadyAt,
			Text:   failedStarts(rep.Retry.Attempts),
			Remedy: "nothing but time: the core retries by itself",
		}
		if rep.State == berth.ReplicaPending {
			an.expect(rep, rep.Job.Shape, false, agenda.Never, out.Reason)
		}
	case rep.Entries != nil:
		e := rep.Entries[0]
		reason, known := reasons[e.Bucket.Shape]
		if !known || rep.Reserved != nil || rep.Retry.LostHardware {
			reason = an.Reason(e)
			gone := agenda.Never
			if e.Bucket.Slot < 0 {
				gone = an.explainVictims(e, &reason)
			}
			an.expect(rep, e.Bucket.Shape, e.Grows, gone, &reason)
			if w := rep.Reserved; w != nil {
				report := an.reportReservation(w)
				reason.Reservation = &report
			} else if !rep.Retry.LostHardware { // a gang that lost hardware may use hot spares
				reasons[e.Bucket.Shape] = reason
			}
		}
		out.Reason = &reason
	}
	return out
}

// beneficiaryOf is the beneficiary of a victim, or the first of those of its members; nil: there
// is none.
func beneficiaryOf(rep *record.Replica) *record.Replica {
	to := rep.Beneficiary
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.Beneficiary != nil && (to == nil || m.Beneficiary.Ref() == rep.Release.Cause.Beneficiary) {
			to = m.Beneficiary
		}
	}
	return to
}
