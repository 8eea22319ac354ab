package answer

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/record"
)

// describeNodeSet names nodes in burn-in, or hot spares, for a reader.
func (an *Answers) describeNodeSet(res *record.Reservation) string {
	if !res.IsBurnIn() {
		return count(len(res.Nodes), "hot spare")
	}
	first := agenda.Never
	for _, n := range res.Nodes {
		first = min(first, n.Trust.BurnInUntil)
	}
	return fmt.Sprintf("%s in burn-in, the first for another %v", count(len(res.Nodes), "node"), max(first.Sub(an.state.Now), 0))
}

// explainQuarantine adds the nodes that would serve an entry and are in quarantine.
func (an *Answers) explainQuarantine(e *record.Entry, reason *berth.Reason) {
	untrusted, first := 0, agenda.Never
	for _, n := range an.upkeep.Watched {
		serves := func(g berth.Group) bool {
			return hardware.KeyOf(&n.Spec, n.LostMilli).Admits(&g) && n.MatchesLabels(record.LabelsOf(&g))
		}
		if n.Trust.QuarantineUntil != 0 && !n.Cordoned && slices.ContainsFunc(e.Bucket.Shape.Spec.Groups, serves) {
			untrusted++
			first = min(first, n.Trust.QuarantineUntil)
		}
	}
	if untrusted > 0 {
		reason.Remedy += fmt.Sprintf(", or the end of quarantine of %s, the first in %v", count(untrusted, "node"), max(first.Sub(an.state.Now), 0))
	}
}
