package nvmlsrc

import (
	"fmt"

	"github.com/berth-sched/berth/mig"
)

// A driver is what this package uses of NVML, so that tests can pretend to be a
// box with GPUs. Its errors are *Error values without GPU and fact.
type driver interface {
	version() (string, error)
	count() (int, error)
	// device returns the GPU with the index, counted in the order of PCI
	// addresses.
	device(index int) (device, error)
	close() error
}

// A device is one GPU of a driver.
type device interface {
	product() (string, error)
	uuid() (string, error)
	// address returns also the PCI device ID: the device in the upper 16 bits, the
	// vendor in the lower.
	address() (address, uint32, error)
	// memory returns the size in bytes.
	memory() (uint64, error)
	// computeCapability returns major and minor.
	computeCapability() (int, int, error)
	minor() (int, error)
	// mig returns the mode in force and the one after the next reset. A GPU that
	// cannot do MIG answers ErrUnsupported.
	mig() (current, pending bool, err error)
	// link describes one NVLink of the GPU, counted from 0.
	link(i int) (link, error)
	fabric() (fabric, error)
	// processes returns an entry for each compute context.
	processes() ([]process, error)

	// profile returns what the GPU instances of one profile have, all but the
	// placements, by the number behind NVML's constant. A GPU that does not have the
	// profile answers ErrUnsupported.
	profile(constant int) (mig.ReportedProfile, error)
	// placements returns where instances of the profile with the ID can be on an
	// empty GPU.
	placements(profile int) ([]mig.ReportedPlacement, error)
	// instances returns those of the profile with the ID that exist.
	instances(profile int) ([]instance, error)
	// migDevices returns what CUDA can open on the GPU.
	migDevices() ([]migDevice, error)
}

// maxLinks is how many NVLinks NVML numbers at most on one GPU.
const maxLinks = 36

// maxProfiles is how many constants of profiles are tried. NVML has 18; a GPU
// answers those that it does not know like those that it does not have.
const maxProfiles = 32

// noInstance is the GPU instance of what is on none.
const noInstance = -1

// A process is a compute context, and the GPU instance that it is on.
type process struct{ pid, instance int }

// An instance is a GPU instance by its ID, with the ID of its profile and its range
// of memory slices.
type instance struct{ id, profile, start, size int }

// A migDevice is a compute instance, and the GPU instance that it is in.
type migDevice struct {
	uuid     string
	instance int
}

// An address is where a GPU sits on PCI. Its function is always 0.
type address struct{ domain, bus, device uint32 }

// String formats the address as sysfs does.
func (a address) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.0", a.domain, a.bus, a.device)
}

// A link is one NVLink and what is at its other end.
type link struct {
	active bool
	end    linkEnd
	// remote is the GPU at the other end of a link with endGPU.
	remote address
}

type linkEnd int

const (
	endOther linkEnd = iota
	endGPU
	endSwitch
)

// A fabric is what a GPU says about its place on an NVSwitch fabric.
type fabric struct {
	// completed: the registration with the fabric manager is over, for better or
	// worse; status is its outcome, and what follows means nothing before.
	completed bool
	status    error
	// cluster is all zero on a fabric that ends at the machine.
	cluster [16]byte
	clique  uint32
}
