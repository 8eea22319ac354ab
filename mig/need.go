package mig

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Need is a request that states what it needs of an instance and leaves the
// profile open: "at least 30 SMs and 18 GiB". Zero asks for nothing.
type Need struct {
	// SMs at least; compute units of an AMD GPU.
	SMs int `json:"sms,omitempty"`
	// MemoryMiB at least.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
}

// servedBy tells whether an instance of the profile has what is needed. A fact that is
// not known serves no need that asks for it.
func (n Need) servedBy(profile *Profile) bool {
	return max(n.SMs, 0) <= profile.SMs && max(n.MemoryMiB, 0) <= profile.MemoryMiB
}

// AppendServing appends the indexes of the profiles that serve the need, cheapest
// first: the fewest memory slices, then the fewest compute slices, then the fewest
// engines in all, then plain before any other attribute, then the least index. It
// allocates only to grow the slice.
//
// A need says nothing of media engines, so a profile without any (-me) is cheaper
// than the plain one: it leaves the engines to others. A job that wants them asks
// for a profile by name.
// Complexity: one step for each profile.
func (l *Lattice) AppendServing(to []int, need Need) []int {
	for _, p := range l.cheapest {
		if need.servedBy(&l.product.Profiles[p]) {
			to = append(to, int(p))
		}
	}
	return to
}

// sortByCost lists the profiles in the order of AppendServing.
func (l *Lattice) sortByCost() {
	l.cheapest = make([]uint8, len(l.ofProfile))
	for p := range l.cheapest {
		l.cheapest[p] = uint8(p)
	}
	slices.SortFunc(l.cheapest, func(i, j uint8) int {
		a, b := &l.product.Profiles[i], &l.product.Profiles[j]
		return cmp.Or(
			cmp.Compare(a.MemorySlices, b.MemorySlices),
			cmp.Compare(a.ComputeSlices, b.ComputeSlices),
			cmp.Compare(a.Engines.sum(), b.Engines.sum()),
			cmp.Compare(a.Name.Attribute, b.Name.Attribute),
			cmp.Compare(i, j),
		)
	})
}

func (e Engines) sum() int { return e.Copy + e.NVDEC + e.NVENC + e.JPEG + e.OFA }

// GPUMilli returns what part of the GPU an instance of the profile counts as, in
// thousandths: its memory slices of all memory slices, rounded down. So the
// instances of a layout sum to no more than 1000. It is zero for a profile that
// the lattice does not have.
// Complexity: one division.
func (l *Lattice) GPUMilli(profile int) int {
	if uint(profile) >= uint(len(l.ofProfile)) {
		return 0
	}
	return l.product.Profiles[profile].MemorySlices * 1000 / l.product.MemorySlices
}

// MilliSMs returns what part of the undivided GPU's SMs an instance of the profile
// has, in thousandths, rounded down; zero if either number is not known.
//
// Beside Lattice.GPUMilli it tells the throughput tax of a division. SMs are not in
// proportion to slices: seven 1g.5gb of an A100 have 98 of its 108 SMs, two 3g.40gb
// of an H100 have 120 of its 132, and a 1g.10gb of an A100-40GB takes 250
// thousandths of the GPU with 129 thousandths of its SMs.
func (p Product) MilliSMs(profile Profile) int {
	if p.GPUSMs <= 0 || profile.SMs <= 0 {
		return 0
	}
	return thousandths(int64(profile.SMs), int64(p.GPUSMs))
}

// thousandths returns 1000*part/whole for positive numbers; more than a whole is a
// whole.
func thousandths(part, whole int64) int {
	if part >= whole {
		return 1000
	}
	high, low := bits.Mul64(uint64(part), 1000)
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int(quotient)
}
