package mig

// The AMD Instinct products. They are not divided instance by instance: a GPU is
// in one partition mode, which makes all its partitions at once.

// mi300x lays the eight accelerator dies (XCDs) on the axis that MIG has its
// memory slices on. Partition i of a mode that makes n of them has the 8/n dies
// from i*8/n on. The memory is divided alike: an eighth for each die.
func mi300x() Product {
	const dies, computeUnitsOfDie, memoryMiB = 8, 38, 196592
	sure := Evidence{
		Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDocumented, Memory: ConfidenceDerived, SMs: ConfidenceDocumented, Engines: ConfidenceDocumented,
	}
	var profiles []Profile
	for id, mode := range []struct {
		mode       PartitionMode
		partitions int
	}{
		{PartitionModeCPXNPS1, 8},
		{PartitionModeCPXNPS4, 8},
		{PartitionModeQPXNPS1, 4},
		{PartitionModeQPXNPS4, 4},
		{PartitionModeDPXNPS1, 2},
		{PartitionModeDPXNPS2, 2},
		{PartitionModeSPXNPS1, 1},
	} {
		size := dies / mode.partitions
		profile := Profile{
			Name: ProfileName{PartitionMode: mode.mode},
			ID:   id, NVMLIndex: id,
			ComputeSlices: size, MemorySlices: size,
			MemoryMiB: memoryMiB / int64(mode.partitions),
			SMs:       computeUnitsOfDie * size,
			MaxCount:  mode.partitions,
			Evidence:  sure,
		}
		for i := range mode.partitions {
			profile.Starts = append(profile.Starts, i*size)
		}
		profiles = append(profiles, profile)
	}
	profiles[len(profiles)-1].Evidence.Memory = ConfidenceMeasured
	return Product{
		Name:         "MI300X",
		Architecture: "CDNA 3",
		MemoryGB:     192,
		GPUSMs:       computeUnitsOfDie * dies,
		Uniform:      true,
		PCIDeviceIDs: []uint32{0x74A11002},
		DeviceNames:  []string{"AMD Instinct MI300X", "AMD Instinct MI300X OAM"},
		Notes: []string{
			"AMD's guides treat spx_nps1, dpx_nps2, cpx_nps1 and cpx_nps4; the others are accepted by the amdgpu driver",
			"the memory mode is that of all GPUs of a host: changing it reloads the driver, and all of them must be idle",
			"under NPS1 every partition can address all memory of the GPU; MemoryMiB is the equal share that the driver accounts",
			"under NPS4 the two partitions of cpx_nps4 on one base die share a memory domain of 48 GB",
			"media and DMA engines are not listed: they come with the accelerator dies and decide nothing",
		},
		Sources: []string{
			"AMD Instinct MI300X GPU Partitioning Overview and Quick Start Guide",
			"AMD SMI documentation on GPU partitioning",
			"validity of modes in the amdgpu kernel driver, for the modes that the guides leave out",
			"public rocm-smi listings of an MI300X, for the bytes of memory",
		},
	}.with(profiles)
}
