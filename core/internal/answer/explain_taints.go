package answer

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// explainTaints adds the nodes that would serve an entry but for their taints: how many, and one
// taint with a node that has it, the first by name.
func (an *Answers) explainTaints(e *record.Entry, reason *berth.Reason) {
	repelled := 0
	var first *record.Node
	var why berth.Taint
	for _, n := range an.state.Nodes {
		if n == nil {
			continue
		}
		taint, repels := an.repels(n, e.Bucket.Shape.Spec.Groups)
		if !repels {
			continue
		}
		repelled++
		if first == nil || n.Spec.ID < first.Spec.ID {
			first, why = n, taint
		}
	}
	switch {
	case repelled == 0:
		return
	case repelled == 1:
		reason.Text += fmt.Sprintf("; node %s has the taint %v, which the job does not tolerate", first.Spec.ID, why)
	default:
		reason.Text += fmt.Sprintf("; %d nodes have taints that the job does not tolerate, such as %v of node %s", repelled, why, first.Spec.ID)
	}
	reason.Remedy += fmt.Sprintf(", or a toleration of %v", why)
}

// repels finds a taint for which alone a node takes no member of any of some groups.
func (an *Answers) repels(n *record.Node, groups []berth.Group) (taint berth.Taint, repels bool) {
	if n.Closed() || len(n.Spec.Taints) == 0 {
		return berth.Taint{}, false
	}
	key := n.Key()
	for i := range groups {
		g := &groups[i]
		t, off := key.Repels(g)
		if !off {
			if key.Admits(g) {
				return berth.Taint{}, false
			}
			continue
		}
		if !repels && key.AdmitsButForTaints(g) && n.MatchesLabels(record.LabelsOf(g)) {
			taint, repels = t, true
		}
	}
	return taint, repels
}
