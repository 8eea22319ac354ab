package state

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// Freed notes that something became free on a node, for the next pass.
func (st *State) Freed(n *record.Node) {
	st.Reopened(n)
	st.agenda.Changed(st.Now)
}

// NoteOpened notes that a reservation went off a node. Within a pass, the next one looks at it if
// this one has begun to place, or a gang with a reservation of its own was tried before in vain.
func (st *State) NoteOpened(n *record.Node) {
	if st.agenda.Placing || st.agenda.TriedReserved {
		st.Opened = append(st.Opened, n)
	}
	if !st.agenda.Placing {
		st.Reopened(n)
	}
}

// Reopened is Freed for what was free before, but set aside for a gang.
func (st *State) Reopened(n *record.Node) {
	st.offersSpare(n)
	st.agenda.Reopened(!n.Freed, st.Now)
	if !n.Freed {
		n.MarkFreed(true)
		st.FreedNodes = append(st.FreedNodes, n)
	}
}

// ClearFreed notes that the pass has woken what it wakes for the nodes that were freed.
func (st *State) ClearFreed() {
	for _, n := range st.FreedNodes {
		n.MarkFreed(false)
	}
	clear(st.FreedNodes)
	st.FreedNodes = st.FreedNodes[:0]
	st.agenda.Woken()
}

// ReopenOpened has the next pass look at the nodes on which a reservation ended within this one.
func (st *State) ReopenOpened() {
	for _, n := range st.Opened {
		st.Reopened(n)
	}
	st.Opened = st.Opened[:0]
}
