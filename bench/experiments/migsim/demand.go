package migsim

import (
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth/mig"
)

// A Mix says how often each profile is asked for. The profiles are in six classes of
// equal width, smallest first, for the A100 has six that differ in size; a product
// with fewer or more is spread over the same classes.
type Mix struct {
	Name string
	// Percent of the requests by class.
	Percent [6]int
}

// Mixes returns the four that are compared. The names are the paper's; the shares had
// to be assumed.
func Mixes() []Mix {
	return []Mix{
		{"uniform", [6]int{1, 1, 1, 1, 1, 1}},
		{"skew-small", [6]int{30, 25, 20, 10, 10, 5}},
		{"skew-big", [6]int{5, 10, 10, 20, 25, 30}},
		{"bimodal", [6]int{30, 15, 5, 5, 15, 30}},
	}
}

// MixNamed returns one of the mixes.
func MixNamed(name string) (Mix, bool) {
	for _, m := range Mixes() {
		if m.Name == name {
			return m, true
		}
	}
	return Mix{}, false
}

// Weights returns the weight of each profile of a product that has so many. Each
// profile covers an equal part of the classes.
func (m Mix) Weights(profiles int) []uint32 {
	weights := make([]uint32, profiles)
	for part := range len(m.Percent) * profiles {
		weights[part/len(m.Percent)] += uint32(m.Percent[part/profiles])
	}
	return weights
}

// Plain returns the lattice of a product without the profiles that differ from another
// in media engines or graphics alone, smallest first. The error is that of
// mig.NewLattice.
func Plain(product mig.Product) (*mig.Lattice, error) {
	product.Profiles = slices.DeleteFunc(slices.Clone(product.Profiles), func(p mig.Profile) bool {
		return p.Name.Attribute != mig.AttributePlain
	})
	slices.SortStableFunc(product.Profiles, func(a, b mig.Profile) int { return a.Name.Compare(b.Name) })
	return mig.NewLattice(product)
}

// A Setup is a fleet and how hard it is pressed.
type Setup struct {
	Lattice *mig.Lattice
	GPUs    int
	Mix     Mix
	// LoadPercent is the mean of the memory slices that the requests of so many slots
	// as they last would hold if none were refused, in percent of those of the fleet.
	LoadPercent int
}

// A Request asks for an instance of a profile from the slot of its number on.
type Request struct {
	Profile, Slots int
}

// longest returns the longest duration, at least one slot. The mean is (longest + 1) /
// 2 slots, so the load is that times the mean slices of a request.
func (s Setup) longest() int {
	weights := s.Mix.Weights(s.Lattice.Profiles())
	total, slicesAsked := 0, 0
	for p, size := range sizes(s.Lattice) {
		total += int(weights[p])
		slicesAsked += int(weights[p]) * size
	}
	capacity := s.GPUs * s.Lattice.Product().MemorySlices
	return max(1, 2*capacity*s.LoadPercent*total/(100*slicesAsked)-1)
}

// Draw returns the requests of a run, one for each slot. The same seed gives the same.
func (s Setup) Draw(seed uint64) []Request {
	longest := s.longest()
	return s.DrawSlots(seed, 4*longest)
}

// DrawSlots is Draw for so many slots.
func (s Setup) DrawSlots(seed uint64, slots int) []Request {
	random := rand.New(rand.NewPCG(seed, uint64(s.LoadPercent)))
	weights := s.Mix.Weights(s.Lattice.Profiles())
	total := 0
	for _, w := range weights {
		total += int(w)
	}
	longest := s.longest()
	requests := make([]Request, slots)
	for i := range requests {
		at, p := random.IntN(total), 0
		for ; at >= int(weights[p]); p++ {
			at -= int(weights[p])
		}
		requests[i] = Request{Profile: p, Slots: 1 + random.IntN(longest)}
	}
	return requests
}

// sizes returns the memory slices of each profile.
func sizes(l *mig.Lattice) []int {
	list := make([]int, l.Profiles())
	for p, profile := range l.Product().Profiles {
		list[p] = profile.MemorySlices
	}
	return list
}
