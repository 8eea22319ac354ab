package answer

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// explainLoans adds to an explanation what of a replica is lent, its borrowers, and by when a
// borrower has to give back.
func (an *Answers) explainLoans(rep *record.Replica, out *berth.ReplicaExplanation) {
	out.GiveBackBy = rep.Idle.Get().GiveBackBy
	if rep.Job.Spec.Lend == nil {
		return
	}
	var borrowers []*record.Replica
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() || !record.IsWhole(&m.Hold) {
			continue
		}
		if m.Lent != 0 {
			out.LentMilli += 1000 * int64(bits.OnesCount64(m.Hold.GPUs))
		}
		an.books.EachBorrower(m.Node, m.Hold.GPUs, func(to *record.Replica, _ *record.Member) {
			borrowers = append(borrowers, to)
		})
	}
	slices.SortFunc(borrowers, record.CompareReplicas)
	for _, to := range slices.Compact(borrowers) {
		out.Borrowers = append(out.Borrowers, to.Ref())
	}
}

// explainLent says of a borrower that finds no GPU how many are lent, and why none of them will do.
// O(nodes + GPUs that are lent).
func (an *Answers) explainLent(e *record.Entry, request *gang.Request, reason *berth.Reason) {
	i := slices.IndexFunc(request.Groups, func(g gang.Group) bool { return g.Claim.Share.Over })
	if i < 0 {
		return
	}
	g := &request.Groups[i]
	all, foreign, taken, small, closed := 0, 0, 0, 0, 0
	for _, n := range an.state.Nodes {
		if n == nil || an.state.Fleet.Lent(n.Index) == 0 {
			continue
		}
		borrowed := an.state.Fleet.Borrowed(n.Index)
		for _, at := range n.Members {
			m := &at.Rep.Members[at.Index]
			if m.Lent == 0 {
				continue
			}
			gpus := bits.OnesCount64(m.Hold.GPUs)
			all += gpus
			switch {
			case at.Rep.Job.TrustDomain() != e.Rep.Job.TrustDomain():
				foreign += gpus
			case n.Spec.GPUMemoryMiB-at.Rep.Job.Spec.Lend.MemoryMiB < g.Claim.Share.MemoryMiB:
				small += gpus
			case n.Closed() || !n.Suits(g):
				closed += gpus
			default:
				taken += bits.OnesCount64(m.Hold.GPUs & borrowed)
			}
		}
	}
	reason.Code, reason.Levels, reason.Products = berth.ReasonLent, nil, nil
	reason.Text = fmt.Sprintf("%s: no GPU is held, lent and idle now", an.describe(e, i))
	if all > 0 {
		reason.Text = fmt.Sprintf("%s: of %s lent now", an.describe(e, i), count(all, "GPU"))
		for _, part := range []struct {
			many int
			why  string
		}{
			{foreign, "by jobs of other tenants"},
			{small, "with too little memory beside what their holders use"},
			{closed, "on nodes that take no newcomers, or do not qualify"},
			{taken, "with a borrower already"},
			{all - foreign - small - closed - taken, "to be had"},
		} {
			if part.many > 0 {
				reason.Text += fmt.Sprintf(", %d %s", part.many, part.why)
			}
		}
	}
	reason.Remedy = "a job of its tenant that lends its GPUs (Job.Lend), and leaves them idle for " + max(an.state.Config.Policy.Lending.QuietFor, 0).String()
}
