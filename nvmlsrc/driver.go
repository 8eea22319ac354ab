package nvmlsrc

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A driver is what this package uses of NVML, so that tests can pretend to be a
// box with GPUs. Its errors are *Error values without GPU and query.
type driver interface {
	version() (string, error)
	count() (int, error)
	// device returns the GPU with the index, counted in the order of PCI
	// addresses.
	device(index int) (device, error)
	// watch registers for the critical Xids of all GPUs. The error is ErrUnsupported if
	// none reports any.
	watch() (watch, error)
	close() error
}

// A watch collects what the driver reports by itself, from its start on.
type watch interface {
	// wait returns the next event, or false if none came in time. It may be called by
	// one goroutine at a time, beside other questions to the driver.
	wait(atMost time.Duration) (event, bool, error)
	close() error
}

// An event is an Xid and the GPU that it is about; NoGPU if that is not known. Without
// an Xid, 0, it says that something about a GPU is worth a look.
type event struct{ gpu, xid int }

// A device is one GPU of a driver.
type device interface {
	product() (string, error)
	uuid() (string, error)
	// address returns also the PCI device ID: the device in the upper 16 bits, the
	// vendor in the lower.
	address() (address, uint32, error)
	// memory returns the size, and how much of it is in use, in bytes.
	memory() (size, used uint64, err error)
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

	// ancestor returns what the path to another GPU of the driver goes through.
	ancestor(other device) (nodegraph.PathKind, error)

	health
	meter
	divider
}

// A health is what a device says about how well it is.
type health interface {
	recovery() (RecoveryAction, error)
	ecc() (ECC, error)
	rows() (RemappedRows, error)
	// linkErrors returns how often a link had to send anew or to recover.
	linkErrors(i int) (uint64, error)
	clocks() (ClockReasons, error)
}

// A meter measures how busy a device is.
type meter interface {
	// utilization returns the part of the last moment in which a kernel ran, in
	// thousandths.
	utilization() (int, error)
	// sample takes a sample of the counters of the GPU, or of an instance of it. Devices
	// without such counters answer ErrUnsupported.
	sample(instance int) (sample, error)
	// smActivity returns the part of its SMs that were busy between two samples, in
	// thousandths.
	smActivity(from, to sample) (int, error)
	// processActivity returns how busy those processes kept the GPU that were at work after an
	// instant of the driver's clock, in order of PID, and the latest instant of which it tells. In
	// MIG mode it answers ErrUnsupported.
	processActivity(since uint64) (busy []ProcessActivity, latest uint64, err error)
	// temperature in degrees Celsius and power in milliwatts.
	temperature() (int, error)
	power() (int, error)
}

// A sample is a reading of a device's counters, to be freed when it is not needed any
// more.
type sample interface{ free() }

// A divider changes which instances a device in MIG mode has.
type divider interface {
	// createInstance creates a GPU instance and returns its ID.
	createInstance(profile int, at mig.ReportedPlacement) (int, error)
	// createCompute creates a compute instance that has all of a GPU instance.
	createCompute(instance int) error
	// destroyInstance destroys a GPU instance with its compute instances.
	destroyInstance(instance int) error
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

// An address is where a device sits on PCI. The function of a GPU is always 0.
type address struct{ domain, bus, device, function uint32 }

// String formats the address as sysfs does.
func (a address) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.domain, a.bus, a.device, a.function)
}

// parseAddress reads an address, and nothing behind it, with a domain of any length: that of
// nvidia-smi has eight digits.
func parseAddress(text string) (address, bool) {
	domain, rest, _ := strings.Cut(text, ":")
	bus, rest, _ := strings.Cut(rest, ":")
	slot, function, _ := strings.Cut(rest, ".")
	var a address
	for _, part := range []struct {
		text string
		bits int
		to   *uint32
	}{{domain, 32, &a.domain}, {bus, 8, &a.bus}, {slot, 5, &a.device}, {function, 3, &a.function}} {
		n, err := strconv.ParseUint(part.text, 16, part.bits)
		if err != nil {
			return address{}, false
		}
		*part.to = uint32(n)
	}
	return a, true
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
	// health is zero from drivers that do not tell it.
	health FabricHealth
}
