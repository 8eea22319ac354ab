package sim

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// mostReplicas bounds the numbers of replicas: the default of berth.Limits.
const mostReplicas = 2_097_152

// understands refuses orders that name what there is not, so that a scheduler which is
// still being written gets a sentence and no panic. Whether an order may be given at all
// is for a checker to say.
func (x *executor) understands(a berth.Order) error {
	var members []berth.MemberPlacement
	needs := true // members
	switch a := a.(type) {
	case nil:
		return fmt.Errorf("an order is nil")
	case berth.Bind:
		members = a.Members
	case berth.Release:
		members = a.Members
	case berth.Repartition: // about a GPU, not a job
		if a.GPU < 0 || a.GPU >= berth.MaxGPUs {
			return fmt.Errorf("order %d, a repartition, is about GPU %d of node %q", a.ID, a.GPU, a.Node)
		}
		return nil
	case berth.RequestCheckpoint, berth.Withdraw, berth.Drop, berth.WarnIdle:
		needs = false
	default:
		return fmt.Errorf("an order is a %T", a)
	}
	h := a.Header()
	if needs && len(members) == 0 {
		return fmt.Errorf("order %d, a %s of job %q, names no member", h.ID, a.Kind(), h.Job)
	}
	if h.Replica < 0 || h.Replica >= mostReplicas {
		return fmt.Errorf("order %d, a %s, is about replica %d of job %q", h.ID, a.Kind(), h.Replica, h.Job)
	}
	j := x.jobs[h.Job]
	if j == nil {
		if a.Kind() == (berth.Bind{}).Kind() {
			return fmt.Errorf("order %d binds job %q, of which nobody was told", h.ID, h.Job)
		}
		return nil // it is over already
	}
	groups := j.groups
	if b, starts := a.(berth.Bind); starts {
		groups = j.groupsAs(b.Alternative)
	}
	for i := range members {
		p := &members[i]
		group := slices.IndexFunc(groups, func(g berth.Group) bool { return g.Name == p.Group })
		if group < 0 || p.Index < 0 || p.Index >= groups[group].Members {
			return fmt.Errorf("order %d, a %s of job %q, names %v, which is no member", h.ID, a.Kind(), h.Job, p.Ref())
		}
	}
	return nil
}
