package nvmlsrc

import (
	"fmt"
	"maps"
	"slices"
	"testing/fstest"

	"github.com/berth-sched/berth/mig"
)

// A box is a pretend driver: a machine with GPUs, each of which can be made to
// answer badly.
type box struct {
	driver   string
	gpus     []*fakeGPU
	countErr error
	closed   int
}

// A fakeGPU answers with its fields, unless a fact has a failure.
type fakeGPU struct {
	index   int
	name    string
	bytes   uint64
	major   int
	at      address
	numa    string
	migNow  bool
	migNext bool
	links   []link
	// brokenLink answers with an error; 0 breaks none.
	brokenLink int
	fab        fabric
	pids       []int
	failures   map[Fact]error
	pciDevice  uint32
	profiled   []mig.ReportedProfile
	existing   []instance
	migUUIDs   []migDevice
	onInstance []process
	asked      []Fact
}

// The refusals of a driver, as the binding words them.
var (
	unsupported  = &Error{GPU: NoGPU, Kind: ErrUnsupported, Reason: "not supported"}
	noPermission = &Error{GPU: NoGPU, Kind: ErrNoPermission, Reason: "the user may not ask this"}
	lost         = &Error{GPU: NoGPU, Kind: ErrLost, Reason: "the GPU fell off the bus or does not answer"}
	missing      = &Error{GPU: NoGPU, Kind: ErrMissingSymbol, Reason: "nvmlSomething"}
)

// hgxH100 is an HGX H100 board: eight GPUs of 81,559 MiB, each with 18 links to
// the board's four NVSwitches, four GPUs to a NUMA node, and a fabric that is
// registered but ends at the machine.
func hgxH100() *box {
	b := &box{driver: "550.54.15"}
	for i, bus := range []uint32{0x19, 0x3b, 0x4c, 0x5d, 0x9b, 0xbb, 0xcb, 0xdb} {
		b.gpus = append(b.gpus, &fakeGPU{
			index: i, name: "NVIDIA H100 80GB HBM3", pciDevice: 0x233010DE, profiled: profilesOf("H100-80GB"), bytes: 81_559<<20 + 12_345, major: 9,
			at: address{bus: bus}, numa: fmt.Sprintln(i / 4),
			links: slices.Repeat([]link{{active: true, end: endSwitch}}, 18),
			fab:   fabric{completed: true},
		})
	}
	return b
}

// profilesOf is what a driver reports of a product, if the table of package mig is
// right about it.
func profilesOf(product string) []mig.ReportedProfile {
	table, ok := mig.Lookup(product)
	if !ok {
		panic(product)
	}
	var reported []mig.ReportedProfile
	for _, p := range table.Profiles {
		r := mig.ReportedProfile{
			NVML: p.NVML, Name: "MIG " + p.Name.String(), ID: p.ID, SliceCount: p.ComputeSlices, InstanceCount: p.MaxCount,
			MultiprocessorCount: p.SMs, CopyEngineCount: p.Engines.Copy, DecoderCount: p.Engines.NVDEC,
			EncoderCount: p.Engines.NVENC, JPEGCount: p.Engines.JPEG, OFACount: p.Engines.OFA, MemoryMiB: p.MemoryMiB,
		}
		for _, start := range p.Starts {
			r.Placements = append(r.Placements, mig.ReportedPlacement{Start: start, Size: p.MemorySlices})
		}
		reported = append(reported, r)
	}
	slices.SortFunc(reported, func(a, b mig.ReportedProfile) int { return a.NVML - b.NVML })
	return reported
}

// divide puts a GPU in MIG mode with instances, each of which has a MIG device.
func (g *fakeGPU) divide(instances ...instance) {
	g.migNow, g.migNext, g.existing = true, true, instances
	for _, i := range instances {
		g.migUUIDs = append(g.migUUIDs, migDevice{fmt.Sprintf("MIG-%d-%d", g.index, i.id), i.id})
	}
}

// bridged connects two GPUs directly with a number of links.
func (b *box) bridged(i, j, links int) {
	for range links {
		b.gpus[i].links = append(b.gpus[i].links, link{active: true, end: endGPU, remote: b.gpus[j].at})
		b.gpus[j].links = append(b.gpus[j].links, link{active: true, end: endGPU, remote: b.gpus[i].at})
	}
}

// unlink takes all NVLinks out of the box.
func (b *box) unlink() *box {
	for _, g := range b.gpus {
		g.links = nil
	}
	return b
}

// sys is the part of sysfs that tells the NUMA nodes.
func (b *box) sys() fstest.MapFS {
	files := fstest.MapFS{}
	for _, g := range b.gpus {
		files["bus/pci/devices/"+g.at.String()+"/numa_node"] = &fstest.MapFile{Data: []byte(g.numa)}
	}
	return files
}

func (b *box) source() *Source { return &Source{driver: b, sys: b.sys()} }

func (b *box) version() (string, error) { return b.driver, nil }
func (b *box) count() (int, error)      { return len(b.gpus), b.countErr }
func (b *box) close() error             { b.closed++; return nil }

func (b *box) device(i int) (device, error) {
	return b.gpus[i], b.gpus[i].answer(FactDevice)
}

// fail makes a fact fail, on top of those that do.
func (g *fakeGPU) fail(fact Fact, err error) {
	g.failures = maps.Clone(g.failures)
	if g.failures == nil {
		g.failures = map[Fact]error{}
	}
	g.failures[fact] = err
}

func (g *fakeGPU) answer(fact Fact) error {
	g.asked = append(g.asked, fact)
	return g.failures[fact]
}

func (g *fakeGPU) product() (string, error) { return g.name, g.answer(FactProduct) }

func (g *fakeGPU) uuid() (string, error) {
	return fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", g.index), g.answer(FactUUID)
}

func (g *fakeGPU) address() (address, uint32, error) { return g.at, g.pciDevice, g.answer(FactPCI) }
func (g *fakeGPU) memory() (uint64, error)           { return g.bytes, g.answer(FactMemory) }

func (g *fakeGPU) computeCapability() (int, int, error) {
	return g.major, 0, g.answer(FactComputeCapability)
}

func (g *fakeGPU) minor() (int, error)      { return g.index, g.answer(FactMinor) }
func (g *fakeGPU) mig() (bool, bool, error) { return g.migNow, g.migNext, g.answer(FactMIG) }
func (g *fakeGPU) fabric() (fabric, error)  { return g.fab, g.answer(FactFabric) }

func (g *fakeGPU) processes() ([]process, error) {
	running := slices.Clone(g.onInstance)
	for _, pid := range g.pids {
		running = append(running, process{pid, noInstance})
	}
	return running, g.answer(FactProcesses)
}

func (g *fakeGPU) profile(constant int) (mig.ReportedProfile, error) {
	if err := g.answer(FactMIGProfiles); err != nil {
		return mig.ReportedProfile{}, err
	}
	for _, p := range g.profiled {
		if p.NVML == constant {
			p.Placements = nil
			return p, nil
		}
	}
	return mig.ReportedProfile{}, unsupported
}

func (g *fakeGPU) placements(profile int) ([]mig.ReportedPlacement, error) {
	if err := g.answer(FactMIGPlacements); err != nil {
		return nil, err
	}
	for _, p := range g.profiled {
		if p.ID == profile {
			return p.Placements, nil
		}
	}
	return nil, fmt.Errorf("no profile %d", profile)
}

func (g *fakeGPU) instances(profile int) ([]instance, error) {
	if err := g.answer(FactMIGInstances); err != nil {
		return nil, err
	}
	if !g.migNow {
		return nil, unsupported
	}
	var found []instance
	for _, i := range g.existing {
		if i.profile == profile {
			found = append(found, i)
		}
	}
	return found, nil
}

func (g *fakeGPU) migDevices() ([]migDevice, error) { return g.migUUIDs, g.answer(FactMIGDevices) }

func (g *fakeGPU) link(i int) (link, error) {
	if err := g.answer(FactNVLink); err != nil {
		return link{}, err
	}
	if i >= len(g.links) {
		return link{}, unsupported
	}
	if i == g.brokenLink && i > 0 {
		return link{}, fmt.Errorf("link %d", i)
	}
	return g.links[i], nil
}
