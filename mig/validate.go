package mig

import (
	"math"
	"slices"
	"strconv"
)

// Bounds on the products that a Lattice takes. The largest in the tables has
// twelve memory slices, 30 placements and 2,319 layouts.
const (
	// MaxMemorySlices is the longest axis of memory slices.
	MaxMemorySlices = 32
	// MaxProfiles is the most profiles of a product.
	MaxProfiles = 64
	// MaxPlacements is the most placements of a product, of all profiles together.
	MaxPlacements = 64
	// MaxStates is the most valid layouts of a product.
	MaxStates = math.MaxUint16
	// MaxUnits is the most compute slices, SMs or engines of a kind.
	MaxUnits = 1 << 20
)

// counters holds what instances take beside memory slices, in the order of
// counterName.
type counters [7]int

func (e Engines) counters(computeSlices, sms int) counters {
	return counters{computeSlices, sms, e.Copy, e.NVDEC, e.NVENC, e.JPEG, e.OFA}
}

func counterName(i int) string {
	return [len(counters{})]string{
		"compute slices", "SMs", "copy engines", "NVDEC engines", "NVENC engines", "JPEG engines", "OFA engines",
	}[i]
}

// limits returns the bounds for all instances together. Where the SMs of the GPU
// are not known they bound nothing.
func (p *Product) limits() counters {
	limits := p.Engines.counters(p.ComputeSlices, p.SMs)
	if p.SMs == 0 {
		limits[1] = math.MaxInt32
	}
	return limits
}

func (c counters) plus(d counters) counters {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// above returns the first counter of c that exceeds its bound.
func (c counters) above(limits counters) (int, bool) {
	for i := range c {
		if c[i] > limits[i] {
			return i, true
		}
	}
	return 0, false
}

// validate refuses a product from which no lattice can be built.
func (p *Product) validate() error {
	refuse := func(field, reason string) error {
		return &Error{Product: p.Name, Field: field, Reason: reason, Kind: ErrInvalid}
	}
	if p.Name == "" {
		return refuse("name", "is empty")
	}
	if p.MemorySlices < 1 || p.MemorySlices > MaxMemorySlices {
		return refuse("memorySlices", "is not from 1 to "+strconv.Itoa(MaxMemorySlices))
	}
	if p.ComputeSlices < 1 {
		return refuse("computeSlices", "is not positive")
	}
	if i, ok := p.Engines.counters(p.ComputeSlices, p.SMs).outside(); ok {
		return refuse(counterName(i), "are not from 0 to "+strconv.Itoa(MaxUnits))
	}
	if len(p.Profiles) == 0 || len(p.Profiles) > MaxProfiles {
		return refuse("profiles", "are not from 1 to "+strconv.Itoa(MaxProfiles))
	}
	placements := 0
	for i := range p.Profiles {
		path := "profiles[" + strconv.Itoa(i) + "]"
		if field, reason := p.refusal(&p.Profiles[i]); reason != "" {
			return refuse(path+"."+field, reason)
		}
		for j := range i {
			if p.Profiles[j].Name == p.Profiles[i].Name {
				return refuse(path+".name", "is that of profiles["+strconv.Itoa(j)+"] too")
			}
		}
		placements += len(p.Profiles[i].Starts)
	}
	if placements > MaxPlacements {
		return &Error{
			Product: p.Name, Field: "profiles", Kind: ErrTooLarge,
			Reason: "have " + strconv.Itoa(placements) + " starts in all, and the most is " + strconv.Itoa(MaxPlacements),
		}
	}
	return nil
}

// refusal returns the field of the profile that is wrong, and why; no reason when
// none is.
func (p *Product) refusal(profile *Profile) (field, reason string) {
	if !profile.Name.valid() {
		return "name", "names no profile"
	}
	if profile.MemorySlices < 1 || profile.MemorySlices > p.MemorySlices {
		return "memorySlices", "is not from 1 to the product's " + strconv.Itoa(p.MemorySlices)
	}
	if profile.MemoryMiB < 0 {
		return "memoryMiB", "is negative"
	}
	if profile.ComputeSlices < 1 {
		return "computeSlices", "is not positive"
	}
	units := profile.Engines.counters(profile.ComputeSlices, profile.SMs)
	if i, ok := units.outside(); ok {
		return counterName(i), "are not from 0 to " + strconv.Itoa(MaxUnits)
	}
	if i, ok := units.above(p.limits()); ok {
		return counterName(i), "are more than the product has"
	}
	if len(profile.Starts) == 0 {
		return "starts", "are missing"
	}
	for i, start := range profile.Starts {
		if start < 0 || start > p.MemorySlices-profile.MemorySlices {
			return "starts[" + strconv.Itoa(i) + "]", "does not leave room for " + strconv.Itoa(profile.MemorySlices) + " memory slices"
		}
	}
	if !slices.IsSorted(profile.Starts) || len(slices.Compact(slices.Clone(profile.Starts))) < len(profile.Starts) {
		return "starts", "are not ascending"
	}
	return "", ""
}

func (c counters) outside() (int, bool) {
	for i := range c {
		if c[i] < 0 || c[i] > MaxUnits {
			return i, true
		}
	}
	return 0, false
}
