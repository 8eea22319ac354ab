package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// The part of preemption about gangs that run with fewer members than they want. Such a gang is a
// beneficiary like one that waits, by one rule of two: it takes back what its queue is guaranteed, at
// every level up to where the paths part. Nothing of its own queue goes for it: a member above the
// minimum is worth less than any job, and a gang of the highest priority would else hold all others
// of its queue at their minimums. And nothing goes for a fair share: two elastic gangs would pass
// members to and fro with every change of demand, a resize on either side each time.
//
// Exchanges end all the same, by the proof of package quota. What jobs fill is counted with the
// minimum of a gang as one job and each unit above it as another, so that growth is the start of
// some of these. With them the queue is within its guarantee, and so what it keeps is what it uses
// then: the first sum rises by what the new members are charged, and no queue that gives lets it
// fall. A gang that has grown so is no victim of the queue that it took from until something ends by
// itself, as its queue is within its guarantee.

// searchToGrow begins a search for so many further members of an entry that grows.
func (ev *Evict) searchToGrow(e *record.Entry, members int, avoid []berth.NodeID) *VictimSearch {
	s, rep := e.Bucket.Shape, e.Rep
	ev.state.Compile(s)
	request := s.Minimum
	request.Groups = slices.Clone(s.Minimum.Groups)
	units := members / request.Groups[0].Members
	request.Groups[0].Members, request.Groups[0].MinMembers = members, members
	end, exclusive := ev.state.EndIfPlaced(rep), s.Spec.Topology.Exclusive != ""
	return &VictimSearch{
		core: ev, rep: rep, grows: true, Queue: rep.Job.Queue, Asked: s.Least.Times(int64(units)),
		Request: ev.search.Avoiding(avoid, ev.state.Widen(s.Spec.Groups, &request, func(w *record.Reservation) bool {
			if w.IsPlanned() && w.Rep != rep {
				return !exclusive && w.Rep.Job.Spec.Topology.Exclusive == ""
			}
			return ev.backlog.Admits(w, rep, end) && !w.IsSpares()
		})),
	}
}

// seekToGrow is Seek for an entry that grows: by as many members as the guarantee of its queue leaves,
// or else by half as many, and so on down to the fewest that come together.
func (ev *Evict) seekToGrow(e *record.Entry, s Seeking, trials *int) (t *VictimSearch, victims []record.Piece, ok bool) {
	least := e.Bucket.Shape.Minimum.Groups[0].Members
	for members := ev.mostToGrow(e); ; members = max(least, members/2-members/2%least) {
		before := t
		if t = ev.searchToGrow(e, members, s.avoid); before != nil {
			t.ProtectedUntil, t.Limited = before.ProtectedUntil, before.Limited
		}
		t.partsOnly = s.partsOnly
		t.gatherLent()
		victims, ok = t.choose(s.Chooser, trials)
		if ok || t.Waits || members == least || *trials <= 0 {
			return t, victims, ok
		}
	}
}

// mostToGrow is how many of the members that an entry lacks the guarantee of its queue leaves, or the
// fewest that come together if it leaves less.
func (ev *Evict) mostToGrow(e *record.Entry) int {
	s := e.Bucket.Shape
	ev.state.Compile(s)
	least, all := s.Minimum.Groups[0].Members, s.Request.Groups[0].Members
	if s.Least.GPUMilli == 0 {
		return least
	}
	left := ev.books.Shares.Guaranteed(e.Rep.Job.Queue) - ev.state.Quota.Used(e.Rep.Job.Queue, quota.GPUMilli)
	return int(max(1, min(left/s.Least.GPUMilli, int64(all/least)))) * least
}

// WithinGuarantee reports whether what is asked is within the guarantee of the queue that asks.
func (t *VictimSearch) WithinGuarantee() bool { return t.withinGuarantee }

// asGroup has members that were found for an entry be of its group.
func asGroup(e *record.Entry, b *Bid) *Bid {
	if e.Grows {
		for i := range b.where {
			b.where[i].Group = e.Group
		}
	}
	return b
}

// mayBid reports whether an entry may preempt or cause moves, as far as that is known without a
// search, by what its queue may have at the cost of others, in all and of its guarantee.
func (ev *Evict) mayBid(e *record.Entry, share, guarantee int64, preempts bool) bool {
	ev.state.Compile(e.Bucket.Shape)
	asked := e.Bucket.Shape.Least.GPUMilli
	if e.Grows {
		return asked > 0 && asked <= guarantee
	}
	moves := ev.state.Config.Policy.Defragmentation.Mode == berth.DefragmentationOn
	return asked > 0 && asked <= share || preempts || moves && ev.search.InPieces(e)
}
