package mig

// The Blackwell products: the dies GB100 and GB110 with seven compute slices, and
// the GB202 of the RTX PRO with four on an axis of twelve memory slices.

// gb100Rows holds what the seven-slice Blackwell products have in common: the
// engines, in the order of sevenSlices.
func gb100Rows(evidence Evidence) [7]row {
	return [7]row{
		{engines: Engines{Copy: 2, NVDEC: 1, JPEG: 1}, evidence: evidence},
		{engines: Engines{Copy: 2, NVDEC: 1, JPEG: 1, OFA: 1}, evidence: evidence},
		{engines: Engines{Copy: 2, NVDEC: 1, JPEG: 1}, evidence: evidence},
		{engines: Engines{Copy: 4, NVDEC: 2, JPEG: 2}, evidence: evidence},
		{engines: Engines{Copy: 6, NVDEC: 3, JPEG: 3}, evidence: evidence},
		{engines: Engines{Copy: 8, NVDEC: 4, JPEG: 4}, evidence: evidence},
		{engines: Engines{Copy: 16, NVDEC: 7, JPEG: 7, OFA: 1}, evidence: evidence},
	}
}

func b200With180GB() Product {
	rows := memories(gb100Rows(measured()),
		[7]uint16{23, 23, 45, 45, 90, 90, 180},
		[7]int64{20992, 20992, 45312, 45312, 91136, 91136, 182784})
	for i, sms := range [7]int{18, 18, 30, 36, 70, 72, 148} {
		rows[i].sms = sms
	}
	return sevenSlices(Product{
		Name:              "B200-180GB",
		Architecture:      "Blackwell",
		Die:               "GB100",
		ComputeCapability: "10.0",
		MemoryGB:          180,
		GPUSMs:            148,
		PCIDeviceIDs:      []uint32{0x290110DE},
		DeviceNames:       []string{"NVIDIA B200"},
		Notes: []string{
			"the MIG User Guide prints other engines, which disagree with what GPUs print; the latter stand here",
			"an early driver prints 22.00 GiB for 1g.23gb",
		},
		Sources: []string{
			"NVIDIA/mig-parted pull requests 166 and 187, nvidia-smi mig -lgip of a B200",
			"ResourceSlices captured from AWS p6-b200 in aws/karpenter-provider-aws",
			"NVIDIA MIG User Guide",
		},
	}, rows)
}

func gb200With186GB() Product {
	printed := measured()
	printed.Starts = ConfidenceDerived
	named := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, Engines: ConfidenceAnalogous}
	rows := memories(gb100Rows(printed),
		[7]uint16{23, 23, 47, 47, 93, 93, 186},
		[7]int64{22528, 22528, 46592, 46592, 0, 0, 0})
	for i, sms := range [4]int{18, 18, 32, 38} {
		rows[i].sms = sms
	}
	for i := 4; i < 7; i++ {
		rows[i].evidence = named
	}
	return sevenSlices(Product{
		Name:              "GB200-186GB",
		Architecture:      "Blackwell",
		Die:               "GB100",
		ComputeCapability: "10.0",
		MemoryGB:          186,
		PCIDeviceIDs:      []uint32{0x294110DE},
		DeviceNames:       []string{"NVIDIA GB200"},
		Notes: []string{
			"names differ by driver and model: 1g.24gb for 1g.23gb, and 3g.95gb, 4g.95gb and 7g.189gb",
			"starts as the B200, which has the same die; the SMs of the GPU as a whole were not seen",
		},
		Sources: []string{
			"NVIDIA/gpu-operator pull request 1303 and NVIDIA/mig-parted issue 227, nvidia-smi mig -lgip of a GB200",
			"NVIDIA/mig-parted config-default.yaml, for the names",
		},
	}, rows)
}

func b300With269GB() Product {
	named := Evidence{Name: ConfidenceDocumented, ID: ConfidenceAnalogous, Starts: ConfidenceAnalogous, Engines: ConfidenceAnalogous}
	rows := memories(gb100Rows(named), [7]uint16{34, 34, 67, 67, 135, 135, 269}, [7]int64{})
	// One report tells of a 1g.67gb with 30 SMs whose first compute instance
	// profile, as large as a 1g.34gb, has 18.
	for i, sms := range [3]int{18, 18, 30} {
		rows[i].sms = sms
		rows[i].evidence.SMs = ConfidenceDerived
	}
	rows[2].evidence.SMs = ConfidenceMeasured
	return sevenSlices(Product{
		Name:              "B300-269GB",
		Architecture:      "Blackwell Ultra",
		ComputeCapability: "10.3",
		MemoryGB:          269,
		GPUSMs:            148,
		PCIDeviceIDs:      []uint32{0x318210DE},
		DeviceNames:       []string{"NVIDIA B300 SXM6 AC"},
		Notes: []string{
			"no listing was seen: identifiers, starts and engines as the B200",
			"one running 1g.34gb reported 33.75 GiB",
		},
		Sources: []string{
			"NVIDIA/mig-parted config-default.yaml, for names and counts",
			"kubernetes-sigs/dra-driver-nvidia-gpu issue 1454, for the SMs of 1g.67gb",
		},
	}, rows)
}

func gb300With278GB() Product {
	named := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDocumented, Starts: ConfidenceAnalogous, Engines: ConfidenceAnalogous}
	return sevenSlices(Product{
		Name:              "GB300-278GB",
		Architecture:      "Blackwell Ultra",
		ComputeCapability: "10.3",
		MemoryGB:          278,
		PCIDeviceIDs:      []uint32{0x31C210DE},
		DeviceNames:       []string{"NVIDIA GB300"},
		Notes:             []string{"no listing was seen: starts and engines as the B200"},
		Sources: []string{
			"NVIDIA DGX Station playbook, for names and identifiers",
			"NVIDIA/mig-parted config-default.yaml, for counts",
		},
	}, memories(gb100Rows(named), [7]uint16{35, 35, 70, 70, 139, 139, 278}, [7]int64{}))
}

func rtxPro6000() Product {
	quarter, half, whole := []int{0, 3, 6, 9}, []int{0, 6}, []int{0}
	one := row{24, 24192, 46, Engines{Copy: 1, NVDEC: 1, NVENC: 1, JPEG: 1}, measured()}
	two := row{48, 48512, 94, Engines{Copy: 2, NVDEC: 2, NVENC: 2, JPEG: 2}, measured()}
	four := row{96, 97408, 188, Engines{Copy: 4, NVDEC: 4, NVENC: 4, JPEG: 4, OFA: 1}, measured()}
	profiles := profilesOf([]shape{
		{AttributePlain, 14, 0, 1, 3, quarter, 4, one},
		{AttributeMedia, 21, 7, 1, 3, quarter, 1, one.media(Engines{NVDEC: 1, NVENC: 1, JPEG: 1, OFA: 1})},
		{AttributeGraphics, 47, 10, 1, 3, quarter, 4, one},
		{AttributeMediaAll, 65, 15, 1, 3, quarter, 1, one.media(four.engines)},
		{AttributeNoMedia, 67, 13, 1, 3, quarter, 4, one.media(Engines{})},
		{AttributePlain, 5, 1, 2, 6, half, 2, two},
		{AttributeGraphics, 35, 11, 2, 6, half, 2, two},
		{AttributeMediaAll, 64, 16, 2, 6, half, 1, two.media(four.engines)},
		{AttributeNoMedia, 66, 14, 2, 6, half, 2, two.media(Engines{})},
		{AttributePlain, 0, 3, 4, 12, whole, 1, four},
		{AttributeGraphics, 32, 12, 4, 12, whole, 1, four},
	})
	return Product{
		Name:              "RTX PRO 6000",
		Architecture:      "Blackwell",
		Die:               "GB202",
		ComputeCapability: "12.0",
		MemoryGB:          96,
		GPUSMs:            188,
		PCIDeviceIDs:      []uint32{0x2BB510DE},
		DeviceNames: []string{
			"NVIDIA RTX PRO 6000 Blackwell Server Edition",
			"NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
			"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
		},
		Notes: []string{
			"the RTX PRO 6000 Blackwell as Server, Workstation and Max-Q Edition",
			"that +me.all leaves no media engine to others follows from the engine counts; it was not tried on a GPU",
			"a vGPU server prints 23.12, 46.50 and 93.38 GiB",
		},
		Sources: []string{
			"public nvidia-smi mig -lgip and -lgipp listings of an RTX PRO 6000 Blackwell Server Edition",
			"GoogleCloudPlatform/container-engine-accelerators pull request 564",
			"NVIDIA MIG User Guide",
		},
	}.with(profiles)
}

// A shape is a profile of which the name follows from its slices and its memory.
type shape struct {
	attribute    Attribute
	id, nvml     int
	compute      int
	memorySlices int
	starts       []int
	maxCount     int
	row          row
}

func profilesOf(shapes []shape) []Profile {
	profiles := make([]Profile, len(shapes))
	for i, s := range shapes {
		profiles[i] = Profile{
			Name: ProfileName{Attribute: s.attribute},
			ID:   s.id, NVMLIndex: s.nvml,
			ComputeSlices: s.compute, MemorySlices: s.memorySlices,
			Starts: append([]int(nil), s.starts...), MaxCount: s.maxCount,
		}
		profiles[i].fill(s.row)
	}
	return profiles
}

// media returns the row with other engines for media, and the copy engines it had.
func (r row) media(engines Engines) row {
	engines.Copy = r.engines.Copy
	r.engines = engines
	return r
}
