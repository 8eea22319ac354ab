package mig

import "strings"

// catalogue lists the tables in the order of Products. Each is built anew when
// asked for, so that the package holds no state which a caller could change.
func catalogue() []func() Product {
	return []func() Product{
		a30, a100With40GB, a100With80GB, pg506With96GB,
		h100With80GB, h100With94GB, h100With96GB, h20With96GB, gh200With144GB, h200With141GB,
		b200With180GB, gb200With186GB, b300With269GB, gb300With278GB,
		rtxPro6000,
		mi300x,
	}
}

// Products returns the tables of all products whose placements are known. They
// are the caller's to change.
//
// Without a table are the RTX PRO 5000 and RTX PRO 4500 Blackwell and the Thor iGPU: the MIG User
// Guide (of driver 610) names their profiles, and neither identifiers nor placements of them were
// seen; those of the RTX PRO 5000 differ by driver. A table can be made of what such a GPU
// reports: package nvmlsrc does.
func Products() []Product {
	tables := catalogue()
	products := make([]Product, len(tables))
	for i, table := range tables {
		products[i] = table()
	}
	return products
}

// Lookup returns the table of a product by its Name, such as "H100-80GB". It is
// the caller's to change. Complexity: it builds the tables up to the one it
// finds, which is nothing to do at each decision.
func Lookup(name string) (Product, bool) {
	for _, table := range catalogue() {
		if product := table(); product.Name == name {
			return product, true
		}
	}
	return Product{}, false
}

// LookupPCI returns the table of the product that carries a PCI device ID, as
// NVML gives it: the device in the upper 16 bits, the vendor in the lower. It is
// otherwise as Lookup.
func LookupPCI(device uint32) (Product, bool) {
	for _, table := range catalogue() {
		product := table()
		for _, id := range product.PCIDeviceIDs {
			if id == device {
				return product, true
			}
		}
	}
	return Product{}, false
}

// LookupDevice returns the table of the product to which GPUs of that name belong,
// as NVML or amd-smi tell it: "NVIDIA A100-SXM4-40GB", say. The maker in front may
// be missing, as it is with old drivers. A name that is not in the tables is not
// guessed at. It is otherwise as Lookup.
func LookupDevice(device string) (Product, bool) {
	for _, table := range catalogue() {
		product := table()
		for _, name := range product.DeviceNames {
			_, bare, _ := strings.Cut(name, " ")
			if device == name || device == bare {
				return product, true
			}
		}
	}
	return Product{}, false
}

// A row is what the products of one shape do not have in common.
type row struct {
	gigabytes uint16
	memoryMiB int64
	sms       int
	engines   Engines
	evidence  Evidence
}

// sevenSlices completes the table of a product with seven compute slices and
// eight memory slices. The identifiers and starts are those printed by nvidia-smi
// mig -lgip and -lgipp of an A100-SXM4-40GB, an H100 80GB HBM3 and an H100 NVL,
// which agree; that a product belongs here, and how sure that is, its rows say.
// The last row is the whole GPU, and gives the bounds.
func sevenSlices(p Product, rows [7]row) Product {
	shape := [7]Profile{
		{ID: 19, NVMLIndex: 0, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0, 1, 2, 3, 4, 5, 6}, MaxCount: 7},
		{
			Name: ProfileName{Attribute: AttributeMedia},
			ID:   20, NVMLIndex: 7, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0, 1, 2, 3, 4, 5, 6}, MaxCount: 1,
		},
		{ID: 15, NVMLIndex: 9, ComputeSlices: 1, MemorySlices: 2, Starts: []int{0, 2, 4, 6}, MaxCount: 4},
		{ID: 14, NVMLIndex: 1, ComputeSlices: 2, MemorySlices: 2, Starts: []int{0, 2, 4}, MaxCount: 3},
		{ID: 9, NVMLIndex: 2, ComputeSlices: 3, MemorySlices: 4, Starts: []int{0, 4}, MaxCount: 2},
		{ID: 5, NVMLIndex: 3, ComputeSlices: 4, MemorySlices: 4, Starts: []int{0}, MaxCount: 1},
		{ID: 0, NVMLIndex: 4, ComputeSlices: 7, MemorySlices: 8, Starts: []int{0}, MaxCount: 1},
	}
	for i := range shape {
		shape[i].fill(rows[i])
	}
	return p.with(shape[:])
}

// fill adds a row to a profile of a shape.
func (p *Profile) fill(r row) {
	p.Name.ComputeSlices = uint8(p.ComputeSlices)
	p.Name.MemoryGB = r.gigabytes
	p.MemoryMiB = r.memoryMiB
	p.SMs = r.sms
	p.Engines = r.engines
	p.Evidence = r.evidence
}

// with adds the profiles and, from the one that takes the whole GPU, the bounds.
func (p Product) with(profiles []Profile) Product {
	p.Profiles = profiles
	for _, profile := range profiles {
		if profile.MemorySlices > p.MemorySlices {
			p.MemoryMiB = profile.MemoryMiB
			p.ComputeSlices = profile.ComputeSlices
			p.MemorySlices = profile.MemorySlices
			p.SMs = profile.SMs
			p.Engines = profile.Engines
		}
	}
	return p
}

// measured is the evidence of a profile that was printed whole by a GPU.
func measured() Evidence {
	return Evidence{
		Name: ConfidenceMeasured, ID: ConfidenceMeasured, Starts: ConfidenceMeasured, Memory: ConfidenceMeasured, SMs: ConfidenceMeasured, Engines: ConfidenceMeasured,
	}
}
