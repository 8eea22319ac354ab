package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// Freed notes that something became free on a node, for the next pass.
func (st *State) Freed(n *record.Node) {
	st.Reopened(n)
	st.agenda.Changed(st.Now)
}

// NoteOpened notes that a window went off a node. Within a pass, the next one looks at it.
func (st *State) NoteOpened(n *record.Node) {
	if st.agenda.Placing {
		st.Opened = append(st.Opened, n)
	} else {
		st.Reopened(n)
	}
}

// Reopened is Freed for what was free before, but set aside for a gang.
func (st *State) Reopened(n *record.Node) {
	st.offersSpare(n)
	st.agenda.Reopened(!n.Freed, st.Now)
	if !n.Freed {
		n.Freed = true
		st.FreedNodes = append(st.FreedNodes, n)
	}
}

func (st *State) ClearFreed() {
	for _, n := range st.FreedNodes {
		n.Freed = false
	}
	clear(st.FreedNodes)
	st.FreedNodes = st.FreedNodes[:0]
	st.agenda.Woken()
}

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

// ReopenOpened has the next pass look at the nodes on which a window ended within this one.
func (st *State) ReopenOpened() {
	for _, n := range st.Opened {
		st.Reopened(n)
	}
	st.Opened = st.Opened[:0]
}

// SetClock turns the clock, back too where an event is refused.
func (st *State) SetClock(now berth.Time) { st.Now = now }

// SetPolicy puts a policy in force. Requests carry the locality.
func (st *State) SetPolicy(p berth.Policy) {
	st.Config.Policy = p
	st.Classes.Version++
}

// SetSpares says of which pools spares are kept, in order of name.
func (st *State) SetSpares(list []*record.SparePool) { st.Spares = list }
