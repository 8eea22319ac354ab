package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// A piece of a replica has to go: some of the members that it has above its minimum, and
// the gang goes on without them; or all of it.
//
// What is above the minimum is there for as long as nobody else needs the place. It goes
// without a checkpoint, as the gang does not lose its work with it, and whether or not the
// gang has run for its minimum run time. It goes in units, which are whole widest segments
// where there are any, so that what is left keeps its topology: no required level and no
// segment is broken by leaving one out, and what is spread or on aligned rails has nothing
// above its minimum.
type piece struct {
	rep *replica
	// flats are the members that go, by flat index, in order; nil: the whole replica.
	flats []int
}

func (p piece) whole() bool { return p.flats == nil }

// eachHold calls a function for everything that a part holds.
func (p piece) eachHold(use func(*gang.Hold, *node)) {
	if p.whole() {
		p.rep.eachHold(use)
		return
	}
	for _, flat := range p.flats {
		m := &p.rep.members[flat]
		use(&m.hold, m.node)
	}
}

// chargedOf is what a part is charged of GPUs, in thousandths.
func chargedOf(p piece) int64 {
	milli := int64(0)
	p.eachHold(func(h *gang.Hold, n *node) { milli += chargeOf(h, n).GPUMilli })
	return milli
}

// wholes lists the replicas that go as a whole.
func wholes(list []piece) []*replica {
	var reps []*replica
	for _, p := range list {
		if p.whole() {
			reps = append(reps, p.rep)
		}
	}
	return reps
}

// going is the part of a replica on its way out that goes: what is stopped of one that
// runs, and else all of it.
func (rep *replica) going() piece {
	p := piece{rep: rep}
	if rep.State == berth.Running && rep.yieldsTo == nil && !rep.leaves {
		p.flats = []int{}
		for flat := range rep.members {
			if rep.members[flat].state == memberStopping {
				p.flats = append(p.flats, flat)
			}
		}
	}
	return p
}

// isElastic reports whether some group of a job may run with less than all of it.
func (j *job) isElastic() bool {
	return slices.ContainsFunc(j.spec.Groups, func(g berth.Group) bool { return least(&g) < g.Replicas })
}

// A surplus is what a group of a gang that runs has above its minimum: units of which any may
// go, but only so many members in all.
type surplus struct {
	// units that run, those first that go first.
	units [][]int
	// most members may go and leave the minimum.
	most int
	// dues says by what those that may go together are due to their queue, and rest what is
	// left without them, where that was found out; lent counts those taken back together.
	dues []quota.Due
	rest quota.Due
	lent int
	// mayGo members may go in a trial; taken has it, in so many units gone.
	mayGo, taken, gone int
}

// surplus finds what a group has above its minimum. The later units go first.
func (rep *replica) surplus(group int) *surplus {
	g := &rep.job.spec.Groups[group]
	s := &surplus{most: -least(g)}
	if least(g) == g.Replicas {
		return s
	}
	first, end := rep.job.offsets[group], rep.job.offsets[group+1]
	for ; first < end; first += unitOf(g) {
		var unit []int
		for flat := first; flat < first+unitOf(g); flat++ {
			if m := &rep.members[flat]; m.state == memberRunning && !m.imagined {
				unit = append(unit, flat)
			}
		}
		if len(unit) > 0 {
			s.most += len(unit)
			s.units = append(s.units, unit)
		}
	}
	slices.Reverse(s.units)
	return s
}

// extras are the first units, as many as may go together.
func (s *surplus) extras() [][]int {
	left := s.most
	for i, unit := range s.units {
		if left -= len(unit); left < 0 {
			return s.units[:i]
		}
	}
	return s.units
}

// dueOf is by what the unit is due that goes after n others.
func (s *surplus) dueOf(n int) quota.Due {
	if n < len(s.dues) {
		return s.dues[n]
	}
	return s.rest
}

// mergeParts makes one part of all that go of one replica, in order of job and number.
func mergeParts(list []piece) []piece {
	slices.SortStableFunc(list, func(a, b piece) int { return compareReplicas(a.rep, b.rep) })
	var merged []piece
	for _, p := range list {
		if last := len(merged) - 1; last >= 0 && merged[last].rep == p.rep {
			merged[last].flats = append(merged[last].flats, p.flats...)
		} else {
			merged = append(merged, piece{p.rep, slices.Clone(p.flats)})
		}
	}
	for _, p := range merged {
		slices.Sort(p.flats)
	}
	return merged
}

// arrange puts those units of a surplus first that lie where a request may have use for them:
// on nodes that it may use, there where the most could become free together.
func (c *Core) arrange(s *surplus, rep *replica, r *gang.Request) {
	room := map[*node]int64{}
	of := func(unit []int) *node { return rep.members[unit[0]].node }
	for _, unit := range s.units {
		n := of(unit)
		if _, known := room[n]; !known {
			usable := slices.ContainsFunc(r.Groups, func(g gang.Group) bool { return n.suits(&g) })
			room[n] = -1
			if usable {
				room[n] = 1000 * int64(c.fleet.Tree().Free(n.index))
			}
		}
		if room[n] >= 0 {
			room[n] += chargedOf(piece{rep, unit})
		}
	}
	slices.SortStableFunc(s.units, func(a, b []int) int {
		return cmp.Or(cmp.Compare(room[of(b)], room[of(a)]), compareNodes(of(b), of(a)), cmp.Compare(b[0], a[0]))
	})
}
