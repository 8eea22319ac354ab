package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// Anew is what a member gets that is started again where it is: what its claim says. False: its
// node, or the instance that it has, does not serve the claim. The world may have begun its life
// there, or the node's labels have changed since.
func (st *State) Anew(m *record.Member, group *berth.Group) (gang.Hold, bool) {
	hold, cl := m.Hold, &group.Claim
	if !st.Classes.Admits(m.Node.Class, group) || !m.Node.MatchesLabels(record.LabelsOf(group)) {
		return hold, false
	}
	if cl.WantsInstance() {
		t := m.Node.Table
		p, known := t.Lattice.ProfileIndex(hold.Instance.Profile)
		return hold, known && slices.Contains(t.Profiles(cl), p)
	}
	switch {
	case cl.Borrow != nil:
		hold.Share.MemoryMiB = cl.Borrow.MemoryMiB
	case cl.Share != nil:
		hold.Share.MemoryMiB = m.Node.ShareMemory(cl.Share)
	}
	return hold, true
}
