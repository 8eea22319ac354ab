package gpus

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// A GPUAt names a GPU.
type GPUAt struct {
	node *record.Node
	gpu  int
}

// BringBack orders idle GPUs back to the layouts of their pools, where nobody waits for
// what they have.
func (gp *GPUs) BringBack() {
	if len(gp.Astray) == 0 {
		return
	}
	slices.SortFunc(gp.Astray, func(a, b GPUAt) int { return cmp.Or(record.CompareNodes(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) })
	for _, at := range slices.Clone(gp.Astray) {
		n := at.node
		if back, ok := gp.BackAt(at); !ok || back > gp.state.Now {
			continue
		}
		gp.Stage(n, at.gpu, record.Partitioning{Mode: berth.GPUModeMIG, Instances: slices.Clone(n.Home)})
		gp.repartition(nil, n, at.gpu, berth.Cause{Code: berth.CauseLayout})
		gp.state.Freed(n)
	}
}

// BackAt is when a GPU may go back to its pool's layout; false: not as things stand.
func (gp *GPUs) BackAt(at GPUAt) (berth.Time, bool) {
	n := at.node
	if n.Home == nil || gp.Untouchable(n, at.gpu) || n.Closed() || n.Holds(at.gpu) || gp.wanted(n) {
		return 0, false
	}
	return gp.Changeable(n, at.gpu), true
}

// wanted reports whether anything waits that may use the node, or is to have it.
func (gp *GPUs) wanted(n *record.Node) bool {
	if slices.ContainsFunc(n.Reservations, (*record.Reservation).IsForGang) {
		return true
	}
	for s := range gp.backlog.Blocked.All() {
		gp.state.Compile(s)
		if slices.ContainsFunc(s.Minimum.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, n.Hardware()) }) {
			return true
		}
	}
	return false
}

// Changeable is when a GPU may be repartitioned, as far as the rates say.
func (gp *GPUs) Changeable(n *record.Node, gpu int) berth.Time {
	return max(gp.PoolChangeable(n), Rested(n, gpu))
}

// Rested is when a GPU may be repartitioned, as far as its own last change says.
func Rested(n *record.Node, gpu int) berth.Time {
	if s := n.GPUs[gpu].Get(); s.ChangedAt > 0 {
		return s.ChangedAt.Add(n.Geometry.Interval)
	}
	return 0
}

// PoolChangeable is when a GPU of the pool of a node may be repartitioned, as far as the changes of
// the pool say.
func (gp *GPUs) PoolChangeable(n *record.Node) berth.Time {
	if p := gp.catalogue.Pools[n.Spec.Pool]; p != nil {
		if over := len(p.Changes) - n.Geometry.PerHour; over >= 0 {
			return max(p.Changes[over].Add(berth.Hour), 0)
		}
	}
	return 0
}
