package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// PlacementOf describes a member that holds capacity.
func (st *State) PlacementOf(rep *record.Replica, flat int) berth.MemberPlacement {
	m := &rep.Members[flat]
	g := rep.Job.Group(flat)
	p := berth.MemberPlacement{
		Group: rep.Job.Spec.Groups[g].Name, Index: flat - rep.Job.Offset(g),
		Node: m.Node.Spec.ID, GPUs: berth.GPUSet(m.Hold.GPUs),
		ShareMilli: int(m.Hold.Share.GPUMilli), ShareMemoryMiB: m.Hold.Share.MemoryMiB,
		Instance: m.Hold.Instance, Borrowed: m.Hold.Share.Over,
	}
	if p.Borrowed { // of the compute, what the lender leaves
		p.ShareMilli = 0
	}
	return p
}

// Placements describes the members in one of the given states, by flat index.
func (st *State) Placements(rep *record.Replica, in ...record.MemberState) []berth.MemberPlacement {
	many := 0
	for flat := range rep.Members {
		if slices.Contains(in, rep.Members[flat].State) {
			many++
		}
	}
	if many == 0 {
		return nil
	}
	list := make([]berth.MemberPlacement, 0, many)
	for flat := range rep.Members {
		if slices.Contains(in, rep.Members[flat].State) {
			list = append(list, st.PlacementOf(rep, flat))
		}
	}
	return list
}
