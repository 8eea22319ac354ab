package nvmlsrc

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/berth-sched/berth"
)

// A taker takes one inventory.
type taker struct {
	inventory Inventory
	sys       fs.FS
	addresses map[address]int // of GPUs, by index
	devices   []device        // by index; nil: it does not answer
	places    []pciPlace      // by index
	adapters  []adapter
	wires     []wiring  // by index
	running   []process // on the GPU that is being asked
}

// take asks the driver everything. Only a driver that does not count its GPUs
// fails it.
func take(d driver, sys fs.FS) (Inventory, error) {
	t := taker{sys: sys, addresses: map[address]int{}}
	if version, err := d.version(); !t.gap(err, NoGPU, queryDriver) {
		t.inventory.Driver = version
	}
	count, err := d.count()
	if err != nil {
		return Inventory{}, about(err, NoGPU, queryCount)
	}
	t.inventory.GPUs = make([]GPU, count)
	t.wires, t.devices, t.places = make([]wiring, count), make([]device, count), make([]pciPlace, count)
	for i := range count {
		t.gpu(d, i)
	}
	t.findLost()
	t.settle()
	t.connect()
	t.paths()
	t.nics()
	return t.inventory, nil
}

// gap notes that a question has no answer, and reports whether that is so; what
// came beside the error is then not to be used.
func (t *taker) gap(err error, gpu int, query Query) bool {
	if err == nil {
		return false
	}
	e := about(err, gpu, query)
	t.inventory.Gaps = append(t.inventory.Gaps, e)
	if gpu != NoGPU && errors.Is(err, ErrLost) && t.inventory.GPUs[gpu].Failure == nil {
		t.inventory.GPUs[gpu].Failure = e
	}
	return true
}

// gpu asks about one GPU. One that turns out to be lost is not asked further:
// each question could block for seconds.
func (t *taker) gpu(d driver, i int) {
	g := &t.inventory.GPUs[i]
	g.Index = i
	dev, err := d.device(i)
	if t.gap(err, i, queryDevice) {
		g.Failure = about(err, i, queryDevice)
		return
	}
	t.devices[i] = dev
	for _, ask := range questions {
		if ask(t, dev, g); g.Failure != nil {
			return
		}
	}
}

// questions are what each GPU is asked, in this order.
var questions = [...]func(*taker, device, *GPU){
	(*taker).product, (*taker).uuid, (*taker).address, (*taker).memory,
	(*taker).computeCapability, (*taker).minor, (*taker).mig, (*taker).nvlink,
	(*taker).fabric, (*taker).profiles, (*taker).processes, (*taker).instances, (*taker).migDevices,
}

func (t *taker) product(dev device, g *GPU) {
	if name, err := dev.product(); !t.gap(err, g.Index, queryProduct) {
		g.Product = name
	}
}

func (t *taker) uuid(dev device, g *GPU) {
	if uuid, err := dev.uuid(); !t.gap(err, g.Index, queryUUID) {
		g.UUID = uuid
	}
}

func (t *taker) address(dev device, g *GPU) {
	at, device, err := dev.address()
	if t.gap(err, g.Index, queryPCI) {
		return
	}
	g.PCI, g.PCIDeviceID = at.String(), device
	t.addresses[at] = g.Index
	t.locate(g)
}

func (t *taker) memory(dev device, g *GPU) {
	if bytes, _, err := dev.memory(); !t.gap(err, g.Index, queryMemory) {
		g.MemoryMiB = int64(bytes >> 20)
	}
}

func (t *taker) computeCapability(dev device, g *GPU) {
	if major, minor, err := dev.computeCapability(); !t.gap(err, g.Index, queryComputeCapability) {
		g.ComputeMajor, g.ComputeMinor = major, minor
	}
}

func (t *taker) minor(dev device, g *GPU) {
	if minor, err := dev.minor(); !t.gap(err, g.Index, queryMinor) {
		g.DeviceMinor = berth.OrdinalOf(minor)
	}
}

func (t *taker) mig(dev device, g *GPU) {
	current, pending, err := dev.mig()
	if errors.Is(err, ErrUnsupported) || t.gap(err, g.Index, queryMIG) {
		return
	}
	g.MIG = MIG{Capable: true, Enabled: current, Pending: pending}
}

func (t *taker) processes(dev device, g *GPU) {
	t.running = nil
	running, err := dev.processes()
	if t.gap(err, g.Index, queryProcesses) {
		return
	}
	t.running = running
	g.Processes = pids(running, func(process) bool { return true })
}

// pids returns the IDs of some processes in ascending order. A process has an entry
// for each MIG instance it uses.
func pids(running []process, wanted func(process) bool) []int {
	var ids []int
	for _, p := range running {
		if wanted(p) {
			ids = append(ids, p.pid)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
