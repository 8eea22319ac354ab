package answer

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// partReason says why a part of a gang does not fit by itself.
func (an *Answers) partReason(e *record.Entry, short *gang.PartShortfall) berth.Reason {
	tree := an.state.Fleet.Tree()
	part := &e.Rep.Job.Spec.Topology.Parts[short.Part]
	level, what := tree.LevelName(short.Level), fmt.Sprintf("part %q", part.Name)
	one, none, within, way := what, "no "+level+" is", " in one "+level, ", or a part without a required level"
	if short.Needed > 1 {
		one = "a copy of " + what
	}
	switch {
	case short.Level == topology.LevelFleet: // nothing ties it
		none, within, way = "the fleet is not", "", ""
	case part.Required == "":
		way = ", or parts that may share a " + level
	}
	switch {
	case short.Domains == 0 && e.Rep.Job.Spec.Topology.Exclusive == "":
		reason := berth.Reason{
			Code:   berth.ReasonTooLarge,
			Text:   fmt.Sprintf("%s large enough for %s, even if it were idle", none, one),
			Remedy: fmt.Sprintf("nodes for all groups of it%s%s", within, way),
		}
		if short.GPUs > short.MostGPUs {
			reason.Text = fmt.Sprintf("%s large enough for %s: it takes %d GPUs, and the nodes that qualify have %d in %s", none, one, short.GPUs, short.MostGPUs, tree.DomainString(short.Largest))
			reason.Remedy = fmt.Sprintf("nodes with %d more GPUs in %s%s", short.GPUs-short.MostGPUs, tree.DomainString(short.Largest), way)
		}
		return reason
	case short.Copies < short.Needed && short.Needed > 1:
		reason := berth.Reason{
			Code:   berth.ReasonFragmented,
			Text:   fmt.Sprintf("%d of %d copies of %s fit now", short.Copies, short.Needed, what),
			Remedy: fmt.Sprintf("free capacity for %s of it", copies(short.Needed-short.Copies)),
		}
		if within != "" {
			reason.Text += ", each" + within
		}
		return reason
	}
	return berth.Reason{
		Code:   berth.ReasonFragmented,
		Text:   fmt.Sprintf("%s does not fit now%s, though each of its groups would by itself", what, within),
		Remedy: fmt.Sprintf("free capacity for all groups of %s%s", what, within),
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
