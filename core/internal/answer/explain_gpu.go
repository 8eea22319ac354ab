package answer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// explainGeometry adds what a change of a GPU has to do with the wait.
func (an *Answers) explainGeometry(e *record.Entry, request *gang.Request, reason *berth.Reason) {
	out := an.outOfReach(e.Rep, request)
	if reason.Code == berth.ReasonTooLarge && (e.Rep.GPUHold != nil || out > 0 || an.couldHold(request)) && !an.spansDomains(request) {
		reason.Code = berth.ReasonGeometry
		reason.Text = "no GPU that takes new members is partitioned as the claim needs it"
		reason.Remedy = "GPUs with another partitioning"
	}
	if out > 0 {
		reason.Text += fmt.Sprintf("; GPUs that qualify, but are held for other jobs, being repartitioned or in an unknown state: %d", out)
	}
	switch d := e.Rep.GPUHold; {
	case e.IsAlternative(): // none is changed for that
	case d != nil:
		reason.GPUHold, reason.Until = &berth.GPURef{Node: d.Node.Spec.ID, GPU: d.GPU}, d.Until
		reason.Text += fmt.Sprintf("; GPU %d of node %s is held for it until the GPU is empty, for another %v at most", d.GPU, d.Node.Spec.ID, d.Until.Sub(an.state.Now))
	case an.agenda.Pliable > 0 && e.Rep.Look.Get().PayAt > an.state.Now && e.Rep.Look.Get().PayAt != agenda.Never:
		reason.Until = e.Rep.Look.Get().PayAt
		reason.Text += fmt.Sprintf("; GPUs may be repartitioned for it in %v, once its wait outweighs the cost and the rate limits allow it", e.Rep.Look.Get().PayAt.Sub(an.state.Now))
	}
}

// spansDomains reports whether a request would fit on an idle fleet if it required no domain: no
// other partitioning of GPUs helps it.
func (an *Answers) spansDomains(request *gang.Request) bool {
	short, lacks := an.state.Fleet.Diagnose(request)
	return lacks && short.IfIdle >= short.Needed
}

// couldHold reports whether each group of a request would fit if its GPUs were divided for
// it, as far as that may come to pass and whatever they are used for now.
func (an *Answers) couldHold(request *gang.Request) bool {
	if an.agenda.Pliable == 0 {
		return false
	}
	for i := range request.Groups {
		g := &request.Groups[i]
		room := 0
		for _, n := range an.state.Nodes {
			if n != nil && n.Pliable() && slices.Contains(g.Classes, n.Hardware()) {
				room += couldHold(n, &g.Claim)
			}
		}
		if room < g.Members {
			return false
		}
	}
	return true
}

// couldHold is how many members with a claim the node's GPUs could hold if they were
// divided for them.
func couldHold(n *record.Node, claim *gang.Claim) int {
	each := 1
	switch p, ok := gpus.ProfileOn(n, claim, func(int) bool { return true }); {
	case ok:
		each = n.Table.Lattice.Free(0, p)
	case claim.GPUs > 1:
		return len(n.GPUs) / claim.GPUs
	case claim.Share.GPUMilli > 0:
		each = 1000 / int(claim.Share.GPUMilli)
	}
	return len(n.GPUs) * each
}

// outOfReach counts the GPUs that would serve a replica but for a GPU hold, an order or an unknown
// state. O(orders about GPUs + nodes with a GPU that takes no newcomers).
func (an *Answers) outOfReach(rep *record.Replica, request *gang.Request) int {
	var suspects []*record.Node
	for _, id := range slices.Sorted(maps.Keys(an.gpus.Repartitions)) {
		suspects = append(suspects, an.gpus.Repartitions[id].Node)
	}
	an.state.Fleet.EachFaulty(func(n topology.NodeIndex) { suspects = append(suspects, an.state.Nodes[n]) })
	slices.SortFunc(suspects, func(a, b *record.Node) int { return cmp.Compare(a.Index, b.Index) })
	total := 0
	for _, n := range slices.Compact(suspects) {
		if n.Closed() || !slices.ContainsFunc(request.Groups, func(g gang.Group) bool { return an.gpus.Qualifies(n, &g) }) {
			continue
		}
		for g := range n.GPUs {
			if s := n.GPUs[g].Get(); !n.Spec.GPUs[g].Failed && (s.Unknown() || s.GPUHold != nil && s.GPUHold.Rep != rep || s.Order() != nil && !n.Holds(g)) {
				total++
			}
		}
	}
	return total
}
