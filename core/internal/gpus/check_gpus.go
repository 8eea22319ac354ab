package gpus

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
)

// CheckGPUs checks what is kept of GPUs: that descriptions, orders, the fleet and the counts
// agree.
func (gp *GPUs) CheckGPUs() error {
	out := 0
	if err := gp.state.EachNode(func(n *record.Node) error {
		for gpu := range n.GPUs {
			if err := gp.checkGPU(n, gpu); err != nil {
				return fmt.Errorf("GPU %d: %w", gpu, err)
			}
			if n.GPUs[gpu].Get().Order() != nil {
				out++
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return state.Agree(state.Tally{What: "orders for GPUs", Is: len(gp.Repartitions), Expected: out})
}

// CheckCatalogue counts anew what is used of the catalogue: owners by requests and by members that
// have shares, graphs and tables by nodes.
func (gp *GPUs) CheckCatalogue() error {
	owners, graphs, tables := map[gang.Owner]int{}, map[*catalogue.GraphEntry]int{}, map[*catalogue.Table]int{}
	for _, key := range slices.Sorted(maps.Keys(gp.state.Shapes)) {
		spec := &gp.state.Shapes[key].Spec
		for i := range spec.Groups {
			if key, some := catalogue.OwnerOf(spec.TrustDomain, &spec.Groups[i].Claim); some {
				owners[gp.catalogue.Owners.ByKey[key]]++
			}
		}
	}
	for _, n := range gp.state.Nodes {
		if n == nil {
			continue
		}
		if n.Graph != nil {
			graphs[n.Graph]++
		}
		if n.Table != nil {
			tables[n.Table]++
		}
		for _, at := range n.Members {
			m := &at.Rep.Members[at.Index]
			if share := m.Hold.Share; share.GPUMilli > 0 {
				owners[share.Owner]++
			}
			if m.Lent != 0 {
				owners[m.Lent]++
			}
		}
	}
	return gp.catalogue.Check(owners, graphs, tables)
}

// CheckGPUHolds checks that GPUs are held for replicas that wait.
func (gp *GPUs) CheckGPUHolds() error {
	for _, d := range gp.backlog.GPUHolds {
		if d.Rep.GPUHold != d || d.Node.GPUs[d.GPU].Get().GPUHold != d || d.Rep.State != berth.ReplicaPending || d.Rep.Entries == nil {
			return fmt.Errorf("a GPU is held for job %s, which does not wait for it", d.Rep.Job.Spec.ID)
		}
	}
	return gp.state.EachReplica(func(rep *record.Replica) error {
		if rep.GPUHold != nil && !slices.Contains(gp.backlog.GPUHolds, rep.GPUHold) {
			return fmt.Errorf("the GPU that is held for it is not in the list")
		}
		return nil
	})
}

func (gp *GPUs) checkGPU(n *record.Node, gpu int) error {
	g, s := &n.Spec.GPUs[gpu], n.GPUs[gpu].Get()
	astray := n.HasBase() && s.ChangedAt > 0 && !n.AtBase(gpu)
	switch {
	case s.Staged != nil:
		return fmt.Errorf("is staged after a pass")
	case s.GPUHold != nil && !slices.Contains(gp.backlog.GPUHolds, s.GPUHold):
		return fmt.Errorf("is held for no job")
	case s.Order() != nil && (gp.Repartitions[s.By.Order.ID] != s.By || s.By.Node != n || s.By.Order.GPU != gpu):
		return fmt.Errorf("its order is not in the index")
	case (s.Order() != nil || s.ChangedAt > 0) && !n.Altered:
		return fmt.Errorf("was changed, and its node was not")
	case (s.By != nil) != (s.Order() != nil || s.Overdue() != nil):
		return fmt.Errorf("is %s, and has an order: %t", s.Knowledge, s.By != nil)
	case slices.Contains(gp.Astray, GPUAt{n, gpu}) != astray || s.Astray != astray:
		return fmt.Errorf("is astray: %t, is in the list: %t", astray, !astray)
	}
	if err := gp.checkDivision(n, gpu); err != nil {
		return err
	}
	var err error
	n.MembersOn(gpu, func(m *record.Member, rep *record.Replica) {
		if mode := gp.ModeFor(&m.Hold); mode != g.Mode {
			err = fmt.Errorf("is in mode %s, and job %s holds it in mode %s", g.Mode, rep.Job.Spec.ID, mode)
		}
	})
	return err
}

// checkDivision checks that the fleet sees a GPU divided as it is described, and that the
// instances that are held on it exist.
func (gp *GPUs) checkDivision(n *record.Node, gpu int) error {
	g := &n.Spec.GPUs[gpu]
	division, exist, held := gp.state.Fleet.Partitioning(n.Index, gpu)
	want := gang.PartitioningNone
	if g.Mode == berth.GPUModeMIG {
		want = gang.PartitioningFixed
		if n.Geometry.Kind == berth.GeometryPerClaim {
			want = gang.PartitioningPerClaim
		}
	}
	if division != want {
		return fmt.Errorf("is %s, and should be %s", division, want)
	}
	if division == gang.PartitioningFixed {
		state, err := n.Table.Lattice.StateOf(g.Instances)
		if err != nil || state != exist {
			return fmt.Errorf("has the layout %v, and should have %v", n.Table.Lattice.Layout(exist), g.Instances)
		}
	}
	var err error
	n.MembersOn(gpu, func(m *record.Member, _ *record.Replica) {
		if err == nil && division != gang.PartitioningNone {
			_, err = n.Table.Lattice.Remove(held, m.Hold.Instance)
		}
	})
	return err
}
