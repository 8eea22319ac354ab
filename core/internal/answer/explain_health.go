package answer

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// describeGPUHold names nodes that are on trial, or spares, for a reader.
func (an *Answers) describeGPUHold(w *record.Reservation) string {
	if !w.IsBurnIn() {
		return fmt.Sprintf("%d nodes that are kept as spares", len(w.Nodes))
	}
	first := agenda.Never
	for _, n := range w.Nodes {
		first = min(first, n.Trust.BurnInUntil)
	}
	return fmt.Sprintf("%d nodes on trial, the first for another %v", len(w.Nodes), max(first.Sub(an.state.Now), 0))
}

// explainQuarantine adds the nodes that would serve an entry and are on probation.
func (an *Answers) explainQuarantine(e *record.Entry, reason *berth.Reason) {
	count, first := 0, agenda.Never
	for _, n := range an.upkeep.Watched {
		serves := func(g berth.Group) bool {
			return record.KeyOf(&n.Spec).Admits(&g) && n.MatchesLabels(record.LabelsOf(&g))
		}
		if n.Trust.QuarantineUntil != 0 && !n.Cordoned && slices.ContainsFunc(e.Bucket.Shape.Spec.Groups, serves) {
			count++
			first = min(first, n.Trust.QuarantineUntil)
		}
	}
	if count > 0 {
		reason.Remedy += fmt.Sprintf(", or an end of the probation of %d nodes, the first in %v", count, max(first.Sub(an.state.Now), 0))
	}
}
