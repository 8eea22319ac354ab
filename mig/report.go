package mig

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Report is what NVML tells of how one GPU divides. The caller that asks NVML fills it;
// this package does not link to NVML. Zero and nil mean that NVML did not say.
type Report struct {
	// Device is the answer of nvmlDeviceGetName, such as "NVIDIA H100 80GB HBM3".
	Device string `json:"device,omitempty"`
	// PCIDeviceID is pciDeviceId of nvmlDeviceGetPciInfo: the device in the upper 16
	// bits, the vendor in the lower.
	PCIDeviceID uint32 `json:"pciDeviceID,omitempty"`
	// GPUSMs are the SMs of the undivided GPU. NVML counts cores, of which an SM has
	// a number that depends on the architecture; CUDA counts SMs.
	GPUSMs int `json:"gpuSMs,omitempty"`
	// Profiles that the GPU supports, in any order: one for each constant that NVML
	// did not answer as not supported.
	Profiles []ReportedProfile `json:"profiles"`
}

// A ReportedProfile is the answer of nvmlDeviceGetGpuInstanceProfileInfo, or of
// its later form with V, for one profile, with that of
// nvmlDeviceGetGpuInstancePossiblePlacements.
type ReportedProfile struct {
	// NVMLIndex is the constant that was asked about.
	NVMLIndex int `json:"nvml"`
	// Name as later drivers tell it, "MIG 1g.10gb"; "MIG " may be missing.
	Name string `json:"name,omitempty"`
	ID   int    `json:"id"`
	// SliceCount is the number of compute slices.
	SliceCount int `json:"sliceCount"`
	// InstanceCount is how many the empty GPU takes.
	InstanceCount       int `json:"instanceCount,omitempty"`
	MultiprocessorCount int `json:"multiprocessorCount,omitempty"`
	CopyEngineCount     int `json:"copyEngineCount,omitempty"`
	DecoderCount        int `json:"decoderCount,omitempty"`
	EncoderCount        int `json:"encoderCount,omitempty"`
	JPEGCount           int `json:"jpegCount,omitempty"`
	OFACount            int `json:"ofaCount,omitempty"`
	// MemoryMiB is memorySizeMB.
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// Placements that are possible on the empty GPU, in any order.
	Placements []ReportedPlacement `json:"placements,omitempty"`
}

// A ReportedPlacement is a range of memory slices.
type ReportedPlacement struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

// ProductFromReport returns the product that a real GPU reports to be. What is reported
// wins: only the profiles in the report exist, with the starts, engines, SMs and
// memory in it, and the instance that takes the whole GPU gives the bounds. The
// package's table of the product, found by PCI device ID and else by name, adds
// what was not reported: names, which old drivers do not tell; starts and memory
// slices of a profile without placements; SMs, engines and memory where all of
// them are zero; and the bounds, if no reported profile is as wide as the GPU. A
// profile's Evidence is Measured for each fact that was reported.
//
// The product is named as its table or, if there is none, as the device. Its
// profiles are ordered as those of the tables: by compute slices, memory slices
// and ID.
//
// The error is an *Error with ErrInvalid, or ErrTooLarge as for NewLattice; it
// names the field of the report, such as profiles[2].placements, or, if the facts
// do not fit together, that of the product.
func ProductFromReport(report Report) (Product, error) {
	table, known := LookupPCI(report.PCIDeviceID)
	if !known {
		table, known = LookupDevice(report.Device)
	}
	if !known || table.Uniform {
		table = Product{Name: report.Device}
	}
	p := table.clone()
	p.PCIDeviceIDs, p.DeviceNames, p.Sources = nil, nil, []string{"reported by the driver of a GPU"}
	if report.PCIDeviceID != 0 {
		p.PCIDeviceIDs = []uint32{report.PCIDeviceID}
	}
	if report.Device != "" {
		p.DeviceNames = []string{report.Device}
	}
	profiles := make([]Profile, len(report.Profiles))
	for i := range report.Profiles {
		if err := report.profile(i, &profiles[i], &table); err != nil {
			return Product{}, err
		}
	}
	slices.SortStableFunc(profiles, func(a, b Profile) int {
		return cmp.Or(
			cmp.Compare(a.ComputeSlices, b.ComputeSlices),
			cmp.Compare(a.MemorySlices, b.MemorySlices),
			cmp.Compare(a.ID, b.ID),
		)
	})
	p = p.bound(profiles)
	p.GPUSMs = report.gpuSMs(&p, &table)
	if err := p.validate(); err != nil {
		return Product{}, err
	}
	return p, nil
}

// bound adds the profiles, and the bounds if one of them is as wide as the GPU.
func (p Product) bound(profiles []Profile) Product {
	widest := 0
	for i := range profiles {
		widest = max(widest, profiles[i].MemorySlices)
	}
	if widest < p.MemorySlices {
		p.Profiles = profiles
		return p
	}
	p.MemorySlices = 0
	return p.with(profiles)
}

// gpuSMs returns the SMs of the undivided GPU. Some tables are for several models,
// which differ in SMs: the table is believed only if it is right about those of
// the whole instance.
func (r *Report) gpuSMs(p, table *Product) int {
	if r.GPUSMs > 0 {
		return r.GPUSMs
	}
	if p.SMs == table.SMs {
		return table.GPUSMs
	}
	return 0
}

// profile fills in profile i of the report.
func (r *Report) profile(i int, to *Profile, table *Product) error {
	reported := &r.Profiles[i]
	refuse := func(field, reason string) error {
		return &Error{
			Product: r.Device, Field: "profiles[" + strconv.Itoa(i) + "]" + field, Reason: reason, Kind: ErrInvalid,
		}
	}
	for j := range i {
		if r.Profiles[j].ID == reported.ID {
			return refuse(".id", "is that of profiles["+strconv.Itoa(j)+"] too")
		}
		if r.Profiles[j].NVMLIndex == reported.NVMLIndex {
			return refuse(".nvml", "is that of profiles["+strconv.Itoa(j)+"] too")
		}
	}
	*to = table.profileOfNVML(reported.NVMLIndex)
	if reported.Name != "" {
		name, err := ParseProfileName(strings.TrimPrefix(reported.Name, "MIG "))
		if err != nil {
			return refuse(".name", "is "+quote(reported.Name)+", no profile name")
		}
		to.Name, to.Evidence.Name = name, ConfidenceMeasured
	} else if !to.Name.valid() {
		return refuse(".name", "is missing, and no table tells it")
	}
	to.ID, to.Evidence.ID, to.NVMLIndex = reported.ID, ConfidenceMeasured, reported.NVMLIndex
	to.ComputeSlices, to.MaxCount = reported.SliceCount, reported.InstanceCount
	if reported.MemoryMiB != 0 {
		to.MemoryMiB, to.Evidence.Memory = reported.MemoryMiB, ConfidenceMeasured
	}
	if reported.MultiprocessorCount != 0 {
		to.SMs, to.Evidence.SMs = reported.MultiprocessorCount, ConfidenceMeasured
	}
	if engines := reported.engines(); engines != (Engines{}) {
		to.Engines, to.Evidence.Engines = engines, ConfidenceMeasured
	}
	if len(reported.Placements) > 0 {
		to.Starts, to.Evidence.Starts = nil, ConfidenceMeasured
		to.MemorySlices = reported.Placements[0].Size
		for _, placement := range reported.Placements {
			if placement.Size != to.MemorySlices {
				return refuse(".placements", "differ in size")
			}
			to.Starts = append(to.Starts, placement.Start)
		}
		slices.Sort(to.Starts)
		to.Starts = slices.Compact(to.Starts)
	} else if len(to.Starts) == 0 {
		return refuse(".placements", "are missing, and no table tells them")
	}
	return nil
}

func (r *ReportedProfile) engines() Engines {
	return Engines{
		Copy: r.CopyEngineCount, NVDEC: r.DecoderCount, NVENC: r.EncoderCount, JPEG: r.JPEGCount, OFA: r.OFACount,
	}
}

// profileOfNVML returns a copy of the profile with that constant, or an empty one.
func (p *Product) profileOfNVML(constant int) Profile {
	for i := range p.Profiles {
		if p.Profiles[i].NVMLIndex == constant {
			return p.Profiles[i].clone()
		}
	}
	return Profile{}
}
