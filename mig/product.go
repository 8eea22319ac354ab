package mig

import "github.com/berth-sched/berth/internal/enum"

// A Product is a GPU that divides, and how. The fields ComputeSlices, SMs and
// Engines are those of the instance that takes the whole GPU, and so the bound
// for all instances together.
type Product struct {
	// Name as in this package's tables, such as "H100-80GB".
	Name string `json:"name"`
	// Architecture and Die are the maker's names, such as Hopper and GH100.
	Architecture string `json:"architecture,omitempty"`
	Die          string `json:"die,omitempty"`
	// ComputeCapability is "9.0" and the like.
	ComputeCapability string `json:"computeCapability,omitempty"`
	// MemoryGB is the memory as sold.
	MemoryGB int `json:"memoryGB,omitempty"`
	// MemoryMiB is the memory of an instance that takes the whole GPU; zero: not
	// known.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// ComputeSlices to share out.
	ComputeSlices int `json:"computeSlices"`
	// MemorySlices is the length of the axis on which instances are placed. It is
	// not in proportion to ComputeSlices.
	MemorySlices int `json:"memorySlices"`
	// SMs to share out, on an AMD GPU the compute units; zero: not known, and then
	// not counted. A GPU has more SMs than MIG hands out: an A100 has 108, and 98
	// of them here.
	SMs int `json:"sms,omitempty"`
	// GPUSMs are the SMs of the GPU while it is not divided; zero: not known.
	GPUSMs int `json:"gpuSMs,omitempty"`
	// Uniform: all instances on a GPU are of one profile, as on a GPU that is
	// partitioned as a whole.
	Uniform bool `json:"uniform,omitempty"`
	// Engines to share out.
	Engines Engines `json:"engines"`
	// Profiles in the order of the maker's listings, smallest first.
	Profiles []Profile `json:"profiles"`
	// PCIDeviceIDs as NVML gives them: the device in the upper 16 bits, the vendor
	// in the lower.
	PCIDeviceIDs []uint32 `json:"pciDeviceIDs,omitempty"`
	// DeviceNames are what drivers call GPUs of this product, such as
	// "NVIDIA H100 80GB HBM3". Not all of them are known.
	DeviceNames []string `json:"deviceNames,omitempty"`
	// Notes say what a reader should know before relying on the table.
	Notes []string `json:"notes,omitempty"`
	// Sources of the facts.
	Sources []string `json:"sources,omitempty"`
}

// A Profile is a kind of instance that a product can be divided into.
type Profile struct {
	Name ProfileName `json:"name"`
	// ID is the profile's number in nvidia-smi: unique in the product, and not the
	// same size on every product.
	ID int `json:"id"`
	// NVMLIndex is the number behind the NVML_GPU_INSTANCE_PROFILE constant by which
	// NVML is asked about the profile. It is unique in the product. An AMD product
	// has neither; its profiles count from 0 in both.
	NVMLIndex int `json:"nvml"`
	// ComputeSlices and MemorySlices that an instance takes.
	ComputeSlices int `json:"computeSlices"`
	MemorySlices  int `json:"memorySlices"`
	// MemoryMiB that an instance has, which differs a little by driver; zero: not
	// known. Where partitions share a memory domain it is an equal part of that
	// domain, and nothing keeps the others from taking more.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// SMs that an instance has; zero: not known.
	SMs int `json:"sms,omitempty"`
	// Engines that an instance has to itself.
	Engines Engines `json:"engines"`
	// Starts are the memory slices at which an instance may begin, ascending.
	Starts []int `json:"starts"`
	// MaxCount is how many instances an empty GPU takes, as the driver reports it.
	// It follows from the rest and decides nothing here: NVML is known to report a
	// wrong one for the A30.
	MaxCount int `json:"maxCount"`
	// Evidence says how sure each fact is.
	Evidence Evidence `json:"evidence,omitzero"`
}

// Engines counts the units beside the SMs.
type Engines struct {
	// Copy engines move memory.
	Copy int `json:"copy,omitempty"`
	// NVDEC and NVENC decode and encode video.
	NVDEC int `json:"nvdec,omitempty"`
	NVENC int `json:"nvenc,omitempty"`
	// JPEG engines decode still pictures.
	JPEG int `json:"jpeg,omitempty"`
	// OFA engines compute optical flow.
	OFA int `json:"ofa,omitempty"`
}

// A Confidence says how sure a fact is. A greater one is surer.
type Confidence uint8

const (
	// ConfidenceUnknown: the fact is missing, or nothing was said about it.
	ConfidenceUnknown Confidence = iota
	// ConfidenceAnalogous: taken over from another product that ought to be alike.
	ConfidenceAnalogous
	// ConfidenceDerived: follows from a measured product with the same die.
	ConfidenceDerived
	// ConfidenceDocumented: published by the maker, and not seen on a GPU.
	ConfidenceDocumented
	// ConfidenceMeasured: printed by a GPU, in a public listing.
	ConfidenceMeasured

	confidences = iota
)

const confidenceNames enum.Names = "Confidence: unknown|analogous|derived|documented|measured"

// String returns "unknown", "analogous", "derived", "documented" or "measured".
func (c Confidence) String() string { return enum.Text(confidenceNames, c) }

func (c Confidence) MarshalText() ([]byte, error) {
	return enum.Marshal(confidenceNames, c, invalidText)
}

func (c *Confidence) UnmarshalText(b []byte) error {
	return enum.Unmarshal(confidenceNames, c, b, invalidText)
}

// Evidence is how sure the facts of a profile are, one by one.
type Evidence struct {
	Name    Confidence `json:"name,omitzero"`
	ID      Confidence `json:"id,omitzero"`
	Starts  Confidence `json:"starts,omitzero"`
	Memory  Confidence `json:"memory,omitzero"`
	SMs     Confidence `json:"sms,omitzero"`
	Engines Confidence `json:"engines,omitzero"`
}

// Confidence returns how sure it is which layouts of the product are valid: that
// of the weakest among the facts which decide it, the starts and the engines. The
// SMs are not among them: no known product has a layout that fails by its SMs
// alone.
func (p Product) Confidence() Confidence {
	if len(p.Profiles) == 0 {
		return ConfidenceUnknown
	}
	weakest := ConfidenceMeasured
	for i := range p.Profiles {
		weakest = min(weakest, p.Profiles[i].Evidence.Starts, p.Profiles[i].Evidence.Engines)
	}
	return weakest
}

// Profile returns the profile of that name.
func (p Product) Profile(name ProfileName) (Profile, bool) {
	for i := range p.Profiles {
		if p.Profiles[i].Name == name {
			return p.Profiles[i], true
		}
	}
	return Profile{}, false
}

// clone shares no memory with p, so that a change of one does not change the
// other.
func (p Product) clone() Product {
	p.Profiles = append([]Profile(nil), p.Profiles...)
	for i := range p.Profiles {
		p.Profiles[i] = p.Profiles[i].clone()
	}
	p.PCIDeviceIDs = append([]uint32(nil), p.PCIDeviceIDs...)
	p.DeviceNames = append([]string(nil), p.DeviceNames...)
	p.Notes = append([]string(nil), p.Notes...)
	p.Sources = append([]string(nil), p.Sources...)
	return p
}

func (p Profile) clone() Profile {
	p.Starts = append([]int(nil), p.Starts...)
	return p
}
