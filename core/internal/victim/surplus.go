package victim

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// Wholes lists the replicas that go as a whole.
func Wholes(list []record.Piece) []*record.Replica {
	var reps []*record.Replica
	for _, p := range list {
		if p.Whole() {
			reps = append(reps, p.Rep)
		}
	}
	return reps
}

// A surplus is what a victim search knows of the surplus of a group.
type surplus struct {
	record.Surplus
	// allowance is the place of its bound among the allowances of a search, from 1 on; 0: it has
	// none yet. taken is how many members the search would take.
	allowance, taken int
}

// MergeParts joins the pieces of each replica into one, in order of job and number. It sorts the
// list in place.
func MergeParts(list []record.Piece) []record.Piece {
	slices.SortStableFunc(list, func(a, b record.Piece) int { return record.CompareReplicas(a.Rep, b.Rep) })
	var merged []record.Piece
	for _, p := range list {
		if last := len(merged) - 1; last >= 0 && merged[last].Rep == p.Rep {
			merged[last].Flats = append(merged[last].Flats, p.Flats...)
		} else {
			merged = append(merged, record.Piece{Rep: p.Rep, Flats: slices.Clone(p.Flats)})
		}
	}
	for _, p := range merged {
		slices.Sort(p.Flats)
	}
	return merged
}

// arrange puts those units of a surplus first that are short of members, the shortest first, and of
// others those that lie where a request may have use for them: on nodes that it may use, there
// where the most could become free together. A unit counts at the node of its first member. Of
// equal units the later one goes first.
func (v *Victims) arrange(s *surplus, rep *record.Replica, r *gang.Request) {
	room := map[*record.Node]int64{}
	of := func(unit []int) *record.Node { return rep.Members[unit[0]].Node }
	for _, unit := range s.Units {
		n := of(unit)
		if _, known := room[n]; !known {
			usable := slices.ContainsFunc(r.Groups, func(g gang.Group) bool { return n.Suits(&g) })
			room[n] = -1
			if usable {
				room[n] = 1000 * int64(v.state.Fleet.Tree().Free(n.Index))
			}
		}
		if room[n] >= 0 {
			room[n] += record.Piece{Rep: rep, Flats: unit}.GPUMilli()
		}
	}
	slices.SortStableFunc(s.Units, func(a, b []int) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(room[of(b)], room[of(a)]), record.CompareNodes(of(b), of(a)), cmp.Compare(b[0], a[0]))
	})
}
