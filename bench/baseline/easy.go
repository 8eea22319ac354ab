package baseline

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// EASY is first come, first served with backfill: Lifka, "The ANL/IBM SP Scheduling System",
// JSSPP 1995. The first job that finds no place gets a reservation: at the shadow time, which
// is when it will fit if all that runs ends as expected, on the GPUs that it would get then. A
// job that comes after it starts now if it is expected to end by the shadow time, or finds its
// place besides the reserved GPUs; so the first is not delayed, if nobody runs longer than he
// said.
//
// Lifka counts processors, which are all alike; here the reservation is of certain GPUs, as
// gangs want whole nodes. Jobs are backfilled in the order of their submission. Everything is
// computed anew in each pass, in O(running + waiting + nodes) where shapes that found no
// place are not tried again.
type EASY struct {
	// ByPriority has jobs of a higher priority go first, as Slurm's sched/backfill does.
	ByPriority bool
}

// Pass implements Policy.
func (e EASY) Pass(p *Pass) {
	list := p.Waiting()
	if e.ByPriority {
		slices.SortStableFunc(list, func(a, b *Job) int { return cmp.Compare(b.Spec.Priority, a.Spec.Priority) })
	}
	list = p.startInOrder(list)
	if len(list) < 2 || p.nothingFree() {
		return
	}
	shadow, reserved := p.shadow(list[0])
	// beside is what is free and not reserved.
	beside := slices.Clone(p.Free)
	beside.Take(reserved)
	hopeless := make([]bool, len(p.hopeless))
	start := func(j *Job, at Placement) {
		p.Start(j, at)
		beside.Take(at)
	}
	for _, j := range list[1:] {
		if p.hopeless[j.shape] {
			continue
		}
		if reserved == nil || p.Now().Add(j.Expected()) <= shadow {
			if at := p.Place(j); at != nil {
				start(j, at)
			}
			continue
		}
		if hopeless[j.shape] {
			continue
		}
		if at := p.PlaceIn(j, beside); at != nil {
			start(j, at)
		} else {
			hopeless[j.shape] = true
		}
	}
}

func (p *Pass) nothingFree() bool {
	return !slices.ContainsFunc(p.Free, func(g berth.GPUSet) bool { return g != 0 })
}

// shadow is when a job will fit, and where, if all that holds GPUs ends as expected; nil where
// it never will, as it asks for more than there is.
func (p *Pass) shadow(j *Job) (berth.Time, Placement) {
	ends := slices.Clone(p.s.holding)
	now := p.Now()
	slices.SortStableFunc(ends, func(a, b *Job) int { return int(a.End(now).Sub(b.End(now))) })
	space := slices.Clone(p.Free)
	room := newRoom(j, space)
	for i, end := range ends {
		for _, at := range end.At {
			room.add(space, at)
		}
		if i+1 < len(ends) && ends[i+1].End(now) == end.End(now) || !room.enough() {
			continue
		}
		if at := p.PlaceIn(j, space); at != nil {
			return end.End(now), at
		}
	}
	return 0, nil
}

// A room counts how many members of each size of a job a space may hold, so that a search is only
// made where it has a chance.
type room struct {
	sizes []size
	slots []int
}

func newRoom(j *Job, space Space) *room {
	r := &room{sizes: j.sizes, slots: make([]int, len(j.sizes))}
	for _, free := range space {
		r.count(free, 1)
	}
	return r
}

func (r *room) count(free berth.GPUSet, sign int) {
	for i, s := range r.sizes {
		r.slots[i] += sign * (free.Len() / s.gpus)
	}
}

// add frees a spot in the space.
func (r *room) add(space Space, at Spot) {
	r.count(space[at.Node], -1)
	space[at.Node] |= at.GPUs
	r.count(space[at.Node], 1)
}

func (r *room) enough() bool {
	for i, s := range r.sizes {
		if r.slots[i] < s.members {
			return false
		}
	}
	return true
}
