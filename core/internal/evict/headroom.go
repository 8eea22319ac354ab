package evict

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// A headroom counts, for each number of GPUs up to some, for how many members of so many the fleet
// has room once some gangs are gone, and how many are to be placed then: a member of several times
// as many counts for several. What is to be placed needs no less, whatever the places, so that no
// place need be searched where there is less.
type headroom struct {
	r          *rearrangement
	room, need []int // by the number of GPUs, from 0
	free       map[*record.Node]int
}

// headroom begins one for the beneficiary alone, while all are in place.
func (r *rearrangement) headroom() *headroom {
	st, most := r.im.evict.state, 0
	for i := range r.Request.Groups {
		most = max(most, r.Request.Groups[i].Claim.GPUs)
	}
	h := &headroom{r: r, room: make([]int, most+1), need: make([]int, most+1), free: map[*record.Node]int{}}
	for each := 1; each <= most; each++ {
		for class := range st.Classes.List {
			h.room[each] += st.Fleet.Tree().Capacity(topology.RootDomain, topology.NodeClass(class), each)
		}
	}
	for i := range r.Request.Groups {
		h.add(r.Request.Groups[i].MinMembers, r.Request.Groups[i].Claim.GPUs)
	}
	return h
}

// add adds members that are to be placed.
func (h *headroom) add(members, gpus int) {
	for each := 1; each < len(h.need); each++ {
		h.need[each] += members * (gpus / each)
	}
}

// moves has a gang gone, and to be placed.
func (h *headroom) moves(rep *record.Replica) {
	tree := h.r.im.evict.state.Fleet.Tree()
	rep.EachHold(func(hold *gang.Hold, n *record.Node) {
		before, known := h.free[n]
		if !known {
			before = tree.Free(n.Index)
		}
		after := before + berth.GPUSet(hold.GPUs).Len()
		h.free[n] = after
		for each := 1; each < len(h.room); each++ {
			h.room[each] += after/each - before/each
		}
	})
	if d := h.r.displace(rep); d.enough() {
		for g, members := range d.members {
			h.add(members, rep.Job.Spec.Groups[g].Claim.GPUs)
		}
	}
}

// enough reports whether there may be room for all.
func (h *headroom) enough() bool {
	for each := 1; each < len(h.room); each++ {
		if h.room[each] < h.need[each] {
			return false
		}
	}
	return true
}
