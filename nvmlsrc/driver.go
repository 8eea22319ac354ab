package nvmlsrc

import "fmt"

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
	address() (address, error)
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
	// processes returns the IDs of the processes with a compute context.
	processes() ([]int, error)
}

// maxLinks is how many NVLinks NVML numbers at most on one GPU.
const maxLinks = 36

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
