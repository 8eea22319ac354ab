package mig

// The Ampere products, all of the die GA100.

func a30() Product {
	small := measured()
	small.Engines = ConfidenceDocumented
	profiles := []Profile{
		{ID: 14, NVMLIndex: 0, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0, 1, 2, 3}, MaxCount: 4},
		{
			Name: ProfileName{Attribute: AttributeMedia},
			ID:   21, NVMLIndex: 7, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0, 1, 2, 3}, MaxCount: 1,
		},
		{ID: 5, NVMLIndex: 1, ComputeSlices: 2, MemorySlices: 2, Starts: []int{0, 2}, MaxCount: 2},
		{
			Name: ProfileName{Attribute: AttributeMedia},
			ID:   6, NVMLIndex: 8, ComputeSlices: 2, MemorySlices: 2, Starts: []int{0, 2}, MaxCount: 1,
		},
		{ID: 0, NVMLIndex: 3, ComputeSlices: 4, MemorySlices: 4, Starts: []int{0}, MaxCount: 1},
	}
	for i, r := range []row{
		{6, 5952, 14, Engines{Copy: 1}, small},
		{6, 5952, 14, Engines{Copy: 1, NVDEC: 1, JPEG: 1, OFA: 1}, measured()},
		{12, 11968, 28, Engines{Copy: 2, NVDEC: 2}, measured()},
		{12, 11968, 28, Engines{Copy: 2, NVDEC: 2, JPEG: 1, OFA: 1}, measured()},
		{24, 24000, 56, Engines{Copy: 4, NVDEC: 4, JPEG: 1, OFA: 1}, measured()},
	} {
		profiles[i].fill(r)
	}
	return Product{
		Name:              "A30",
		Architecture:      "Ampere",
		Die:               "GA100",
		ComputeCapability: "8.0",
		MemoryGB:          24,
		GPUSMs:            56,
		PCIDeviceIDs:      []uint32{0x20B710DE},
		DeviceNames:       []string{"NVIDIA A30"},
		Notes: []string{
			"NVML reports wrong instance counts on the A30, so NVIDIA's mig-parted has its table built in",
			"one of 1g.6gb+me and 2g.12gb+me can exist: there is one JPEG and one OFA engine",
			"a listing prints one NVDEC for 1g.6gb; the MIG User Guide says none, and so does this table",
		},
		Sources: []string{"public nvidia-smi mig -lgip and -lgipp listings of an A30", "NVIDIA MIG User Guide"},
	}.with(profiles)
}

func a100With40GB() Product {
	return sevenSlices(Product{
		Name:              "A100-40GB",
		Architecture:      "Ampere",
		Die:               "GA100",
		ComputeCapability: "8.0",
		MemoryGB:          40,
		GPUSMs:            108,
		PCIDeviceIDs:      []uint32{0x20B010DE, 0x20B110DE, 0x20F110DE, 0x20F610DE},
		DeviceNames:       []string{"NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB"},
		Notes: []string{
			"MiB differ by driver: 4864, 9856, 19968 and 40192 here, 4864, 9984, 20096 and 40320 elsewhere",
			"1g.10gb needs driver R525, 1g.5gb+me needs R470",
		},
		Sources: []string{
			"nvidia-smi mig -lgip and -lgipp listings of an A100-SXM4-40GB in the NVIDIA MIG User Guide",
			"Kubernetes KEP-4815",
			"ResourceSlices captured from AWS p4d in aws/karpenter-provider-aws",
		},
	}, [7]row{
		{5, 4864, 14, Engines{Copy: 1}, measured()},
		{5, 4864, 14, Engines{Copy: 1, NVDEC: 1, JPEG: 1, OFA: 1}, measured()},
		{10, 9856, 14, Engines{Copy: 1, NVDEC: 1}, measured()},
		{10, 9856, 28, Engines{Copy: 2, NVDEC: 1}, measured()},
		{20, 19968, 42, Engines{Copy: 3, NVDEC: 2}, measured()},
		{20, 19968, 56, Engines{Copy: 4, NVDEC: 2}, measured()},
		{40, 40192, 98, Engines{Copy: 7, NVDEC: 5, JPEG: 1, OFA: 1}, measured()},
	})
}

func a100With80GB() Product {
	sure := Evidence{
		Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, Memory: ConfidenceDocumented, SMs: ConfidenceDerived, Engines: ConfidenceDerived,
	}
	return sevenSlices(Product{
		Name:              "A100-80GB",
		Architecture:      "Ampere",
		Die:               "GA100",
		ComputeCapability: "8.0",
		MemoryGB:          80,
		GPUSMs:            108,
		PCIDeviceIDs:      []uint32{0x20B210DE, 0x20B510DE, 0x20F310DE, 0x20F510DE},
		DeviceNames:       []string{"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"},
		Notes: []string{
			"all but the names and MiB as the A100-40GB, which has the same die",
			"other drivers print 9.50 or 9.75 GiB for 1g.10gb",
		},
		Sources: []string{"NVIDIA MIG User Guide", "mock A100 of NVIDIA/go-nvml, for the MiB"},
	}, [7]row{
		{10, 9856, 14, Engines{Copy: 1}, sure},
		{10, 9856, 14, Engines{Copy: 1, NVDEC: 1, JPEG: 1, OFA: 1}, sure},
		{20, 19968, 14, Engines{Copy: 1, NVDEC: 1}, sure},
		{20, 19968, 28, Engines{Copy: 2, NVDEC: 1}, sure},
		{40, 40192, 42, Engines{Copy: 3, NVDEC: 2}, sure},
		{40, 40192, 56, Engines{Copy: 4, NVDEC: 2}, sure},
		{80, 80384, 98, Engines{Copy: 7, NVDEC: 5, JPEG: 1, OFA: 1}, sure},
	})
}

func pg506With96GB() Product {
	named := Evidence{Name: ConfidenceDocumented, ID: ConfidenceDerived, Starts: ConfidenceDerived, Engines: ConfidenceAnalogous}
	return sevenSlices(Product{
		Name:              "PG506-96GB",
		Architecture:      "Ampere",
		Die:               "GA100",
		ComputeCapability: "8.0",
		MemoryGB:          96,
		GPUSMs:            124,
		PCIDeviceIDs:      []uint32{0x20B610DE},
		DeviceNames:       []string{"NVIDIA PG506-230", "NVIDIA PG506-232"},
		Notes: []string{
			"boards with 124 SMs; how many of them each profile has was not seen",
			"identifiers and starts as the A100-40GB, which has the same die; engines by analogy with it",
		},
		Sources: []string{
			"NVIDIA/mig-parted config-default.yaml, for names and counts",
			"public nvidia-smi -q listings of a PG506-230 and a PG506-232, for the GPU as a whole",
		},
	}, [7]row{
		{gigabytes: 12, engines: Engines{Copy: 1}, evidence: named},
		{gigabytes: 12, engines: Engines{Copy: 1, NVDEC: 1, JPEG: 1, OFA: 1}, evidence: named},
		{gigabytes: 24, engines: Engines{Copy: 1, NVDEC: 1}, evidence: named},
		{gigabytes: 24, engines: Engines{Copy: 2, NVDEC: 1}, evidence: named},
		{gigabytes: 48, engines: Engines{Copy: 3, NVDEC: 2}, evidence: named},
		{gigabytes: 48, engines: Engines{Copy: 4, NVDEC: 2}, evidence: named},
		{gigabytes: 96, engines: Engines{Copy: 7, NVDEC: 5, JPEG: 1, OFA: 1}, evidence: named},
	})
}
