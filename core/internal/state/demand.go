package state

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// NoteHolds tells a candidate on which nodes it holds something, and how much could be free
// there without it: every GPU of which it has a part.
func NoteHolds(candidate *preempt.Candidate, p record.Piece) {
	type onNode struct {
		node topology.NodeIndex
		gpus berth.GPUSet
	}
	list := make([]onNode, 0, 8) // not in the heap
	p.EachHold(func(h *gang.Hold, _ *record.Node) { list = append(list, onNode{h.Node, berth.GPUSet(h.GPUs)}) })
	slices.SortFunc(list, func(a, b onNode) int { return cmp.Compare(a.node, b.node) })
	for i := 0; i < len(list); {
		at, gpus := list[i].node, berth.GPUSet(0)
		for ; i < len(list) && list[i].node == at; i++ {
			gpus |= list[i].gpus
		}
		candidate.Domains = append(candidate.Domains, int32(at))
		candidate.HeldMilli = append(candidate.HeldMilli, 1000*int64(gpus.Len()))
	}
}

// ChargeOfRun is what the first of some members of a replica, those that are booked on one product,
// cost their queue together, and their number. A limit lets a queue have all of them if it lets it
// have the last, so that they are charged at once.
func (st *State) ChargeOfRun(rep *record.Replica, members []gang.Member) (sum quota.Charge, run int) {
	product := record.BookedOn(&members[0].Hold, st.Nodes[members[0].Hold.Node])
	sum = rep.ChargeOf(&members[0].Hold, st.Nodes[members[0].Hold.Node])
	for run = 1; run < len(members); run++ {
		n := st.Nodes[members[run].Hold.Node]
		if record.BookedOn(&members[run].Hold, n) != product {
			break
		}
		sum = sum.Plus(record.ChargeOf(&members[run].Hold, n))
	}
	return sum, run
}

// ProductOf is the product of the node of a placed member.
func (st *State) ProductOf(m *gang.Member) string {
	return st.Classes.List[st.Nodes[m.Hold.Node].Class].Key.Product
}
