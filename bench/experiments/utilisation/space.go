package utilisation

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// This file is the arrangements that share space alone. Each has as many GPUs as it needs at its
// busiest, and no work but that of the service. A pod has to have the most memory that it takes
// at any time of the day, which no user knows beforehand: it is the best that could be done.

// A room is a GPU that may take several pods.
type room interface {
	// take has a pod come in, if it fits.
	take(p *pod) bool
	leave(p *pod)
}

// A shared is an arrangement of pods on GPUs.
type shared struct {
	gpus int            // the most that were held at once
	held berth.Duration // GPU time
	of   map[*pod]int   // the GPU of each pod
}

// arrange gives each pod that comes the first GPU on which it fits, the largest of an instant
// first.
func (d *day) arrange(newRoom func() room) *shared {
	s := &shared{of: map[*pod]int{}}
	pods := slices.Clone(d.pods)
	slices.SortStableFunc(pods, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.memoryMiB, a.memoryMiB))
	})
	var rooms []room
	var taken []int // pods on each
	for sample := range d.samples {
		for _, p := range d.pods {
			if p.until == sample {
				rooms[s.of[p]].leave(p)
				taken[s.of[p]]--
			}
		}
		for ; len(pods) > 0 && pods[0].from == sample; pods = pods[1:] {
			at := slices.IndexFunc(rooms, func(r room) bool { return r.take(pods[0]) })
			if at < 0 {
				at = len(rooms)
				rooms, taken = append(rooms, newRoom()), append(taken, 0)
				rooms[at].take(pods[0])
			}
			s.of[pods[0]] = at
			taken[at]++
		}
		held := 0
		for _, n := range taken {
			held += min(n, 1)
		}
		s.gpus = max(s.gpus, held)
		s.held += berth.Duration(held) * d.step
	}
	return s
}

// slowed is how many times as long requests of each pod take beside the others on its GPU.
func (s *shared) slowed(d *day) func(p *pod, sample int) float64 {
	beside := make([][]*pod, len(d.pods))
	for _, p := range d.pods {
		beside[s.of[p]] = append(beside[s.of[p]], p)
	}
	return func(p *pod, sample int) float64 {
		slow := 1.0
		for _, q := range beside[s.of[p]] {
			if q != p && q.from <= sample && sample < q.until {
				slow += float64(q.active[sample-q.from]) / 1000
			}
		}
		return slow
	}
}

// A byMemory is a GPU with so much memory left.
type byMemory struct {
	left, all int64
}

// take gives an empty GPU to a pod that needs more than all of its memory, as it had one.
func (r *byMemory) take(p *pod) bool {
	if p.memoryMiB > r.left && r.left < r.all {
		return false
	}
	r.left -= p.memoryMiB
	return true
}

func (r *byMemory) leave(p *pod) { r.left += p.memoryMiB }

// A divided is a GPU in MIG instances.
type divided struct {
	lattice *mig.Lattice
	state   mig.State
	places  map[*pod]mig.Placement
	whole   bool // not divided, for a pod that fits no instance
}

// profileFor is the cheapest profile with the memory for a pod, or -1.
func profileFor(l *mig.Lattice, p *pod) int {
	if serving := l.AppendServing(nil, mig.Need{MemoryMiB: p.memoryMiB}); len(serving) > 0 {
		return serving[0]
	}
	return -1
}

func (r *divided) take(p *pod) bool {
	profile := profileFor(r.lattice, p)
	if profile < 0 {
		free := !r.whole && len(r.places) == 0
		r.whole = r.whole || free
		return free
	}
	place, next, fits := r.lattice.Place(r.state, profile)
	if r.whole || !fits {
		return false
	}
	r.state, r.places[p] = next, place
	return true
}

func (r *divided) leave(p *pod) {
	place, has := r.places[p]
	if !has {
		r.whole = false
		return
	}
	delete(r.places, p)
	r.state, _ = r.lattice.Remove(r.state, place) // it was placed there
}

// instances is how many times as long requests of each pod take on the SMs of its instance.
func instances(l *mig.Lattice) func(p *pod, sample int) float64 {
	product := l.Product()
	return func(p *pod, _ int) float64 {
		profile, ok := l.Profile(profileFor(l, p))
		if !ok || profile.SMs == 0 {
			return 1
		}
		return float64(product.GPUSMs) / float64(profile.SMs)
	}
}
