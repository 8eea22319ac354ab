package baseline

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
)

// LAS serves the job that had the least: the discretised two-dimensional least attained service of
// Tiresias (Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI
// 2019). What a job attained is its GPUs times the time that it had them, over all its lives.
// The level of a job is how many of the Thresholds that has reached; a lower level comes before
// a higher one, and within a level the job that was submitted first. A job that finds no place
// takes that of jobs of higher levels, the highest and latest first, and of these only of those
// that are in its way. It needs no run times.
//
// Departures: Tiresias decides once in an interval and orders a level by the first start;
// here every pass decides, and a job that never started comes at its submission. Its
// promotion of jobs that starve is left out, and its profiles of which models need their GPUs
// close together: all gangs prefer that.
type LAS struct {
	// Thresholds are GPU times, ascending, in GPU-milliseconds.
	Thresholds []int64
}

// NewLAS returns LAS with the levels up to one GPU-hour, up to sixteen, and above: the trace of
// Philly has half of its jobs in the first and most of its GPU time in the last. The paper
// leaves thresholds to the operator.
func NewLAS() LAS {
	return LAS{Thresholds: []int64{int64(berth.Hour), 16 * int64(berth.Hour)}}
}

// Pass implements Policy.
func (l LAS) Pass(p *Pass) {
	waiting := p.Waiting()
	if len(waiting) == 0 {
		return
	}
	now := p.Now()
	for _, j := range waiting {
		j.Mark = l.level(j.Served(now))
	}
	slices.SortStableFunc(waiting, func(a, b *Job) int { return cmp.Compare(a.Mark, b.Mark) })
	running := p.Running()
	for _, j := range running {
		j.Mark = l.level(j.Served(now))
		if served := j.Served(now); j.Mark < len(l.Thresholds) { // then others may come before it
			p.WakeAt(now.Add(berth.Duration(l.Thresholds[j.Mark]-served)/berth.Duration(j.GPUs) + 1))
		}
	}
	slices.SortStableFunc(running, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(b.Mark, a.Mark), cmp.Compare(b.order, a.order))
	})
	// stuck are the shapes for which nobody can make room at a level, nor at a later one.
	stuck := make([]bool, len(p.hopeless))
	for _, j := range waiting {
		if at := p.Place(j); at != nil {
			p.Start(j, at)
		} else if !stuck[j.shape] {
			stuck[j.shape] = !p.takeOver(j, running)
		}
	}
}

// level is how many thresholds a GPU time has reached.
func (l LAS) level(served int64) int {
	level, exact := slices.BinarySearch(l.Thresholds, served)
	if exact {
		level++
	}
	return level
}

// takeOver has those of the given jobs that come after one that waits make room for it, as far as
// they are in its way, and holds the place: what is free and what jobs on their way out
// leave. It reports whether there is such a place.
func (p *Pass) takeOver(j *Job, running []*Job) bool {
	space := slices.Clone(p.Free)
	for _, leaving := range p.Leaving() {
		if leaving.beneficiary == j { // what others leave is for others
			space.Add(leaving.At)
		}
	}
	var victims []*Job
	at := p.PlaceIn(j, space)
	room := newRoom(j, space)
	for _, victim := range running {
		if at != nil || victim.Mark <= j.Mark {
			break
		}
		if victim.phase != runs {
			continue
		}
		for _, spot := range victim.At {
			room.add(space, spot)
		}
		victims = append(victims, victim)
		if room.enough() {
			at = p.PlaceIn(j, space)
		}
	}
	if at == nil {
		return false
	}
	for _, victim := range victims {
		if victim.At.Overlaps(at) {
			p.Preempt(victim, j)
		}
	}
	p.Hold(at)
	return true
}
