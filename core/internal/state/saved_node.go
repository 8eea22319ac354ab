package state

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// SaveNodes lists all nodes by ID, with what was told of them since they joined.
func (st *State) SaveNodes() []record.SavedNode {
	list := make([]record.SavedNode, 0, len(st.NodeByID))
	for _, id := range slices.Sorted(maps.Keys(st.NodeByID)) {
		n := st.NodeByID[id]
		list = append(list, record.SavedNode{Node: n.Spec.Full(), CordonPart: n.CordonPart, GPUs: n.SaveGPUs(), TrustPart: n.Trust})
	}
	return list
}

// RestoreFreed has the next pass look at the nodes that the next pass would have looked at, and
// at no others. From then on nothing that Restore does is news, and the turns begin.
func (st *State) RestoreFreed(list []record.SavedNode) *berth.Error {
	st.ClearFreed()
	for i := range list {
		if list[i].Freed {
			st.Freed(st.NodeByID[list[i].Node.ID])
		}
	}
	st.agenda.NextTurns()
	return nil
}
