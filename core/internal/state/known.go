package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/limits"
)

// AddNode makes a node known.
func (st *State) AddNode(n *record.Node) {
	for int(n.Index) >= len(st.Nodes) {
		st.Nodes = append(st.Nodes, nil)
	}
	st.Nodes[n.Index] = n
	st.NoteChanged(n.Index)
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
	st.NoteChanged(n.Index)
	delete(st.NodeByID, n.Spec.ID)
	st.DropClass(n.Class)
}

// DropClass counts a node of a class no longer. A fleet of as many kinds of nodes as there may be
// has no room for more hot spares until one of the kinds is gone.
func (st *State) DropClass(class int) {
	full := len(st.Classes.ByKey) >= limits.MaxKinds
	if st.Classes.Drop(class); full && len(st.Spares) > 0 {
		st.agenda.WantSpares()
	}
}

// SetClock turns the clock, back too where an event is refused.
func (st *State) SetClock(now berth.Time) { st.Now = now }

// SetPolicy puts a policy in force. Requests carry the locality.
func (st *State) SetPolicy(p berth.Policy) {
	st.Config.Policy = p
	st.Runtimes.Keep(p.RuntimeSamples)
	st.Classes.Outdate()
}

// SetSpares says of which pools spares are kept, in order of name.
func (st *State) SetSpares(list []*record.SparePool) { st.Spares = list }
