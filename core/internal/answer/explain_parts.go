package answer

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// partReason says why a part of a gang does not fit by itself.
func (an *Answers) partReason(e *record.Entry, short *gang.PartShortfall) berth.Reason {
	tree := an.state.Fleet.Tree()
	part := &e.Rep.Job.Spec.Topology.Parts[short.Part]
	level, what, one := tree.LevelName(short.Level), fmt.Sprintf("part %q", part.Name), fmt.Sprintf("part %q", part.Name)
	if short.Needed > 1 {
		one = "a copy of " + what
	}
	switch {
	case short.Domains == 0 && e.Rep.Job.Spec.Topology.Exclusive == "":
		reason := berth.Reason{
			Code:   berth.ReasonTooLarge,
			Text:   fmt.Sprintf("no %s is large enough for %s, even if it were idle", level, one),
			Remedy: fmt.Sprintf("nodes for all groups of it in one %s, or a part without a required level", level),
		}
		if short.GPUs > short.MostGPUs {
			reason.Text = fmt.Sprintf("no %s is large enough for %s: it takes %d GPUs, and the nodes that qualify have %d in %s", level, one, short.GPUs, short.MostGPUs, tree.DomainString(short.Largest))
			reason.Remedy = fmt.Sprintf("nodes with %d more GPUs in %s, or a part without a required level", short.GPUs-short.MostGPUs, tree.DomainString(short.Largest))
		}
		return reason
	case short.Copies < short.Needed && short.Needed > 1:
		return berth.Reason{
			Code:   berth.ReasonFragmented,
			Text:   fmt.Sprintf("%d of %d copies of %s fit now, each in one %s", short.Copies, short.Needed, what, level),
			Remedy: fmt.Sprintf("free capacity for %s of it", copies(short.Needed-short.Copies)),
		}
	}
	return berth.Reason{
		Code:   berth.ReasonFragmented,
		Text:   fmt.Sprintf("%s does not fit into one %s now, though each of its groups would by itself", what, level),
		Remedy: fmt.Sprintf("free capacity for all groups of %s in one %s", what, level),
	}
}

func copies(n int) string {
	if n == 1 {
		return "1 more copy"
	}
	return fmt.Sprintf("%d more copies", n)
}

// partsReason is for parts that each fit by themselves.
func (an *Answers) partsReason(request *gang.Request) berth.Reason {
	apart := ""
	if request.Apart > 0 {
		apart = ", in different domains of level " + an.state.Fleet.Tree().LevelName(request.Apart)
	}
	return berth.Reason{
		Code:   berth.ReasonFragmented,
		Text:   "each part would fit by itself, but not all of the gang together" + apart,
		Remedy: "free capacity for all parts and groups at the same time" + apart,
	}
}
