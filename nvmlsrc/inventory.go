package nvmlsrc

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A Query names a question that a driver is asked, as texts do: "mig", "nics", "processes". What a
// program acts on is the kind of an [Error].
type Query string

// Questions of an inventory.
const (
	queryDriver            Query = "driver"
	queryCount             Query = "count"
	queryDevice            Query = "device"
	queryProduct           Query = "product"
	queryUUID              Query = "uuid"
	queryPCI               Query = "pci"
	queryMemory            Query = "memory"
	queryComputeCapability Query = "computeCapability"
	queryMinor             Query = "minor"
	queryNUMANode          Query = "numaNode"
	queryMIG               Query = "mig"
	queryMIGProfiles       Query = "migProfiles"
	queryMIGPlacements     Query = "migPlacements"
	queryMIGInstances      Query = "migInstances"
	queryMIGDevices        Query = "migDevices"
	queryNVLink            Query = "nvlink"
	queryFabric            Query = "fabric"
	queryProcesses         Query = "processes"
	queryAncestors         Query = "ancestors"
	queryNICs              Query = "nics"
)

// Questions of a Health.
const (
	queryRecovery     Query = "recoveryAction"
	queryECC          Query = "ecc"
	queryRows         Query = "remappedRows"
	queryPages        Query = "retiredPages"
	queryRepairs      Query = "repairs"
	queryNVLinkErrors Query = "nvlinkErrors"
	queryClocks       Query = "clockReasons"
	queryActivity     Query = "activity"
	queryUtilization  Query = "utilization"
	queryProcessUse   Query = "processActivity"
	queryTemperature  Query = "temperature"
	queryPower        Query = "power"
	queryXids         Query = "xids"
)

// What is asked for beside them.
const (
	queryMIGCreate   Query = "migCreate"
	queryMIGCompute  Query = "migCompute"
	queryMIGDestroy  Query = "migDestroy"
	queryFakeMachine Query = "machine"
)

// An Inventory is what a machine's driver said at one time.
type Inventory struct {
	// Driver is the version of the driver, such as "550.54.15".
	Driver string
	// GPUs in the driver's order, that of their PCI addresses. A GPU that the
	// driver does not list any more is absent, and those after it move up; the
	// UUIDs tell.
	GPUs []GPU
	// PCIe says for each GPU and each other what the path between them over PCIe goes
	// through; None where it is not known, and for a GPU and itself.
	PCIe [][]nodegraph.PathKind
	// Links has the best path from each GPU to each, the zero Link where it is not known
	// and from a GPU to itself. Links through NVSwitches count those of the GPU that
	// has fewer.
	Links [][]nodegraph.Link
	// NICs by name, mlx5_2 before mlx5_10.
	NICs []NIC
	// Gaps are the questions without an answer, in the order asked: those about
	// the machine, then GPU by GPU, then what does not fit together. That a GPU has
	// no MIG, no NVLink or no fabric is an answer.
	Gaps []*Error
}

// A GPU is one accelerator.
type GPU struct {
	// Index is the position in Inventory.GPUs and the driver's index.
	Index int
	// Failure says why the GPU takes no work; nil if it does. The other fields
	// hold what was learnt before it failed.
	Failure *Error
	// Product is the name in the driver's words, such as "NVIDIA H100 80GB HBM3".
	Product string
	UUID    string
	// PCI is the address in the words of sysfs, such as "0000:19:00.0". Of a GPU that cannot
	// tell its own it is from sysfs, if it is clear which one that is.
	PCI string
	// PCIDeviceID has the device in the upper 16 bits, the vendor in the lower, as
	// NVML gives it; 0 if unknown.
	PCIDeviceID uint32
	// MemoryMiB is the size of the device memory, rounded down.
	MemoryMiB int64
	// Major and Minor of the compute capability; both zero if unknown.
	ComputeMajor, ComputeMinor int
	// DeviceMinor is the number in /dev/nvidiaN, which need not be the index.
	DeviceMinor berth.Ordinal
	// NUMANode that the GPU's PCI bus is attached to, if the kernel says it.
	NUMANode berth.Ordinal
	// CPUs near to the GPU, in the words of the kernel, such as "0-55,112-167"; empty if
	// it does not say.
	CPUs   string
	MIG    MIG
	NVLink NVLink
	// Processes with a compute context on the GPU, in ascending order, by the
	// IDs that the driver's PID namespace gives them.
	Processes []int
}

// Instance returns the GPU instance at a placement, such as that of a member which
// the core has placed.
func (g GPU) Instance(at mig.Placement) (Instance, bool) {
	for _, instance := range g.MIG.Instances {
		if instance.Placement == at {
			return instance, true
		}
	}
	return Instance{}, false
}

// MIG is how a GPU can be and is partitioned.
type MIG struct {
	// Capable GPUs have the mode; the others leave all of MIG zero.
	Capable bool
	// Enabled is the mode in force; Pending the one after the next reset.
	Enabled, Pending bool
	// Report is what the driver tells of how the GPU divides. It has no profiles if
	// that is not known in full, as with some drivers outside MIG mode. Placements
	// need a privileged user; package mig adds them for the products that it knows.
	Report mig.Report
	// Instances that exist, in ascending order of their IDs. To list them takes a
	// privileged user.
	Instances []Instance
}

// An Instance is one GPU instance.
type Instance struct {
	// ID of the GPU instance, as nvidia-smi mig -lgi prints it.
	ID int
	// Profile is the ID of its profile, and Start and Size its memory slices.
	Profile, Start, Size int
	// Placement says the same in the words of package mig; zero if the profile is
	// not known.
	Placement mig.Placement
	// UUIDs of the MIG devices on the instance, in NVML's order: what to put into
	// CUDA_VISIBLE_DEVICES. Each is a compute instance. There is none until somebody
	// has created one, and there can be several, each with a part of the instance.
	UUIDs []string
	// Processes as in GPU, those on this instance.
	Processes []int
}

// NVLink is what a GPU reaches over NVLink.
type NVLink struct {
	// Peers are the indices of the other GPUs of this machine that the GPU
	// reaches, directly or through switches, in ascending order.
	Peers []int
	// Fabric is the partition of an NVLink fabric that spans machines, equal for
	// all GPUs on all machines that reach each other, such as
	// "9c6f5af3-53bf-49b5-a436-b66766c413c3.4026" (cluster and clique). Empty
	// where the links end at the machine, and while the fabric is not ready.
	Fabric string
	// Direct and Switched count the active links to GPUs and to switches, of those
	// that answered.
	Direct, Switched int
}
