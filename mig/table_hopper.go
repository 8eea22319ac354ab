package mig

// The Hopper products, all of the die GH100. Their SMs and engines are the same
// wherever both were seen.

// gh100Rows holds what the Hopper products have in common, in the order of
// sevenSlices. A 1g with two memory slices has more SMs than one with a single
// slice, but only through the compute instance profile made for it.
func gh100Rows(evidence Evidence) [7]row {
	return [7]row{
		{sms: 16, engines: Engines{Copy: 1, NVDEC: 1, JPEG: 1}, evidence: evidence},
		{sms: 16, engines: Engines{Copy: 1, NVDEC: 1, JPEG: 1, OFA: 1}, evidence: evidence},
		{sms: 26, engines: Engines{Copy: 1, NVDEC: 1, JPEG: 1}, evidence: evidence},
		{sms: 32, engines: Engines{Copy: 2, NVDEC: 2, JPEG: 2}, evidence: evidence},
		{sms: 60, engines: Engines{Copy: 3, NVDEC: 3, JPEG: 3}, evidence: evidence},
		{sms: 64, engines: Engines{Copy: 4, NVDEC: 4, JPEG: 4}, evidence: evidence},
		{sms: 132, engines: Engines{Copy: 8, NVDEC: 7, JPEG: 7, OFA: 1}, evidence: evidence},
	}
}

// memories sets the names' GB and the MiB of seven rows.
func memories(rows [7]row, gigabytes [7]uint16, memoryMiB [7]int64) [7]row {
	for i := range rows {
		rows[i].gigabytes = gigabytes[i]
		rows[i].memoryMiB = memoryMiB[i]
	}
	return rows
}

func h100With80GB() Product {
	return sevenSlices(Product{
		Name:              "H100-80GB",
		Architecture:      "Hopper",
		Die:               "GH100",
		ComputeCapability: "9.0",
		MemoryGB:          80,
		GPUSMs:            132,
		PCIDeviceIDs:      []uint32{0x233010DE, 0x233110DE, 0x232210DE, 0x232410DE},
		DeviceNames:       []string{"NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe"},
		Notes: []string{
			"SMs are those of the H100 SXM5, which has 132; the H100 PCIe has 114, and its profiles' SMs were not seen",
			"1g.20gb has 26 SMs, of which its first 1c compute instance profile has 16",
		},
		Sources: []string{
			"public nvidia-smi mig -lgip and -lgipp listings of an H100 80GB HBM3",
			"ResourceSlices captured from AWS p5 in aws/karpenter-provider-aws",
		},
	}, memories(gh100Rows(measured()),
		[7]uint16{10, 10, 20, 20, 40, 40, 80},
		[7]int64{9984, 9984, 20096, 20096, 40448, 40448, 81152}))
}

func h100With94GB() Product {
	return sevenSlices(Product{
		Name:              "H100-94GB",
		Architecture:      "Hopper",
		Die:               "GH100",
		ComputeCapability: "9.0",
		MemoryGB:          94,
		GPUSMs:            132,
		PCIDeviceIDs:      []uint32{0x232110DE, 0x233A10DE},
		DeviceNames:       []string{"NVIDIA H100 NVL"},
		Notes:             []string{"another driver prints 10.62, 21.50, 46.12 and 92.62 GiB"},
		Sources:           []string{"public nvidia-smi mig -lgip and -lgipp listings of an H100 NVL"},
	}, memories(gh100Rows(measured()),
		[7]uint16{12, 12, 24, 24, 47, 47, 94},
		[7]int64{11008, 11008, 22144, 22144, 47488, 47488, 95360}))
}

func h100With96GB() Product {
	sure := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, SMs: ConfidenceAnalogous, Engines: ConfidenceDerived}
	return sevenSlices(Product{
		Name:              "H100-96GB",
		Architecture:      "Hopper",
		Die:               "GH100",
		ComputeCapability: "9.0",
		MemoryGB:          96,
		GPUSMs:            132,
		PCIDeviceIDs:      []uint32{0x234210DE, 0x233D10DE},
		DeviceNames:       []string{"NVIDIA GH200 480GB"},
		Notes: []string{
			"the GH200 with 96 GB",
			"identifiers, starts and engines as the H100-80GB and H100-94GB, which have the same die",
		},
		Sources: []string{"NVIDIA MIG User Guide"},
	}, memories(gh100Rows(sure), [7]uint16{12, 12, 24, 24, 48, 48, 96}, [7]int64{}))
}

func h20With96GB() Product {
	named := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, Engines: ConfidenceAnalogous}
	rows := memories(gh100Rows(named), [7]uint16{12, 12, 24, 24, 48, 48, 96}, [7]int64{})
	for i := range rows {
		rows[i].sms = 0
	}
	return sevenSlices(Product{
		Name:              "H20-96GB",
		Architecture:      "Hopper",
		Die:               "GH100",
		ComputeCapability: "9.0",
		MemoryGB:          96,
		GPUSMs:            78,
		PCIDeviceIDs:      []uint32{0x232910DE},
		DeviceNames:       []string{"NVIDIA H20"},
		Notes: []string{
			"the H20 has 78 SMs; how many of them each profile has was not seen",
			"identifiers and starts as the H100-80GB, engines by analogy with it",
		},
		Sources: []string{"NVIDIA MIG User Guide", "NVIDIA/mig-parted config-default.yaml, for the names"},
	}, rows)
}

func gh200With144GB() Product {
	printed := measured()
	printed.Starts = ConfidenceDerived
	named := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, SMs: ConfidenceAnalogous, Engines: ConfidenceAnalogous}
	rows := gh100Rows(printed)
	for i := 4; i < 7; i++ {
		rows[i].evidence = named
	}
	return sevenSlices(Product{
		Name:              "GH200-144GB",
		Architecture:      "Hopper",
		Die:               "GH100",
		ComputeCapability: "9.0",
		MemoryGB:          144,
		GPUSMs:            132,
		PCIDeviceIDs:      []uint32{0x234810DE},
		DeviceNames:       []string{"NVIDIA GH200 144G HBM3e"},
		Notes:             []string{"the first four profiles were printed by a GPU; of the others the names are known"},
		Sources: []string{
			"NVIDIA/mig-parted pull request 139, nvidia-smi mig -lgip of a GH200 144G HBM3e",
			"NVIDIA/mig-parted config-default.yaml, for the names",
		},
	}, memories(rows,
		[7]uint16{18, 18, 36, 36, 72, 72, 144},
		[7]int64{17920, 17920, 36096, 36096, 0, 0, 0}))
}

func h200With141GB() Product {
	printed := measured()
	printed.Starts = ConfidenceDerived
	guide := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, SMs: ConfidenceAnalogous, Engines: ConfidenceDocumented}
	running := guide
	running.SMs = ConfidenceMeasured
	rows := gh100Rows(printed)
	rows[2].evidence = guide
	rows[4].evidence = running
	rows[5].evidence = guide
	return sevenSlices(Product{
		Name:              "H200-141GB",
		Architecture:      "Hopper",
		Die:               "GH100",
		ComputeCapability: "9.0",
		MemoryGB:          141,
		GPUSMs:            132,
		PCIDeviceIDs:      []uint32{0x233510DE, 0x233B10DE},
		DeviceNames:       []string{"NVIDIA H200", "NVIDIA H200 NVL"},
		Notes:             []string{"the SXM5 and the NVL share one table in the MIG User Guide"},
		Sources: []string{
			"NVIDIA MIG User Guide",
			"four rows of a public nvidia-smi mig -lgip listing of an H200",
		},
	}, memories(rows,
		[7]uint16{18, 18, 35, 35, 71, 71, 141},
		[7]int64{16384, 16384, 0, 33280, 0, 0, 143360}))
}
