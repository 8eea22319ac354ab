package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// AddNode makes a node known.
func (st *State) AddNode(n *record.Node) {
	for int(n.Index) >= len(st.Nodes) {
		st.Nodes = append(st.Nodes, nil)
	}
	st.Nodes[n.Index] = n
	st.NodeByID[n.Spec.ID] = n
}

// RemoveNode undoes AddNode, and what was noted of the node for the next pass.
func (st *State) RemoveNode(n *record.Node) {
	if n.Freed {
		i := slices.Index(st.FreedNodes, n)
		st.FreedNodes = slices.Delete(st.FreedNodes, i, i+1)
		st.agenda.FreedGone()
	}
	st.Nodes[n.Index] = nil
	delete(st.NodeByID, n.Spec.ID)
	st.Classes.Drop(n.Class)
}

// SetClock turns the clock, back too where an event is refused.
func (st *State) SetClock(now berth.Time) { st.Now = now }

// SetPolicy puts a policy in force. Requests carry the locality.
func (st *State) SetPolicy(p berth.Policy) {
	st.Config.Policy = p
	st.Classes.Outdate()
}

// SetSpares says of which pools spares are kept, in order of name.
func (st *State) SetSpares(list []*record.SparePool) { st.Spares = list }
