package nvmlsrc

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/berth-sched/berth/mig"
)

// A FakeMachine is a machine with GPUs that is not there: a driver and a sysfs that
// answer as those of a real machine would. With it everything that goes through a
// Source runs on a laptop and in tests. What befalls a machine can be made to befall
// it: GPUs fail and are repaired, Xids are raised, processes come and go. It lives in
// memory alone, and may be used from several goroutines.
type FakeMachine struct {
	mu     sync.Mutex
	driver string // version
	gpus   []*pretendGPU
	nics   []pretendNIC
	// watches are the subscribers to Xids.
	watches map[*pretendWatch]bool
	// countErr and watchErr make these questions fail.
	countErr, watchErr error
	closed             int // sessions that were ended
}

// NewFakeMachine returns one of [FakeMachines] as it is when it has just been switched on. The
// error is an *Error of the kind ErrUnknownMachine.
func NewFakeMachine(box string) (*FakeMachine, error) {
	for _, b := range boxes {
		if b.name == box {
			return b.build(), nil
		}
	}
	return nil, &Error{
		GPU: NoGPU, Query: queryFakeMachine, Kind: ErrUnknownMachine,
		Reason: fmt.Sprintf("%q; there are %s", box, strings.Join(FakeMachines(), ", ")),
	}
}

// FakeMachines lists the machines that NewFakeMachine knows, in alphabetic order:
//
//	dgx-a100  eight A100 40 GB behind NVSwitches, pairs of NICs below common PCIe switches
//	gb200     a tray of four GB200 in an NVLink domain that spans machines
//	hgx-h100  eight H100 80 GB behind NVSwitches, a NIC beside each GPU
//	mig-h100  two H100 PCIe in MIG mode, divided, with somebody at work
//	pcie      two L40S below one host bridge, without NVLink
func FakeMachines() []string {
	var names []string
	for _, b := range boxes {
		names = append(names, b.name)
	}
	slices.Sort(names)
	return names
}

// Open starts a session with the machine. There may be several.
func (p *FakeMachine) Open() (*Source, error) { return &Source{driver: p, sys: p.sysfs()}, nil }

// Fail makes a GPU fall off the bus: each question to it is answered with ErrLost,
// for the reason given.
func (p *FakeMachine) Fail(gpu int, reason string) error {
	return p.change(gpu, func(g *pretendGPU) error {
		g.lost = refusal(ErrLost, reason)
		return nil
	})
}

// Repair brings a GPU back as a reset does: without processes, instances and errors
// counted since the driver was loaded.
func (p *FakeMachine) Repair(gpu int) error {
	return p.change(gpu, func(g *pretendGPU) error {
		g.lost, g.running, g.existing, g.devices = nil, nil, nil, nil
		g.busyBy = map[int]int{}
		g.busy, g.state.recovery, g.state.ecc.Volatile, g.state.rows.Pending = map[string]int{}, RecoveryNone, 0, false
		return nil
	})
}

// Refuse leaves a question to a GPU without an answer, for a reason such as
// ErrNoPermission; nil has it answered again. The error is an *Error of the kind ErrInvalid if
// nobody asks a GPU that question.
func (p *FakeMachine) Refuse(gpu int, question Query, kind error) error {
	if !slices.Contains(queriesOfGPU[:], question) {
		return &Error{GPU: gpu, Query: question, Kind: ErrInvalid, Reason: "a GPU is not asked that"}
	}
	return p.change(gpu, func(g *pretendGPU) error {
		if kind == nil {
			delete(g.failures, question)
			return nil
		}
		g.failures[question] = refusal(kind, "so it was told")
		return nil
	})
}

// Raise makes the driver report an Xid to all present subscribers.
func (p *FakeMachine) Raise(gpu, xid int) error {
	return p.change(gpu, func(*pretendGPU) error {
		for w := range p.watches {
			w.raise(event{gpu: gpu, xid: xid})
		}
		return nil
	})
}

// SetActivity says how busy the GPU or the MIG device with the UUID is, in
// thousandths.
func (p *FakeMachine) SetActivity(uuid string, milli int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, _, err := p.find(uuid)
	if err == nil {
		g.busy[uuid] = min(max(milli, 0), 1000)
	}
	return err
}

// SetProcessActivity says how busy a process keeps each GPU and MIG device that it is on, in
// thousandths. They are as busy as all of their processes together, and as SetActivity says. The
// error is an *Error of the kind ErrInvalid if the process is on none.
func (p *FakeMachine) SetProcessActivity(pid, milli int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for _, g := range p.gpus {
		if slices.ContainsFunc(g.running, func(r process) bool { return r.pid == pid }) {
			g.busyBy[pid], found = min(max(milli, 0), 1000), true
		}
	}
	if !found {
		return &Error{GPU: NoGPU, Query: queryProcesses, Kind: ErrInvalid, Reason: fmt.Sprintf("no GPU has a process %d", pid)}
	}
	return nil
}

// Start puts a compute process onto GPUs and MIG devices with the UUIDs, as
// CUDA_VISIBLE_DEVICES lists them.
func (p *FakeMachine) Start(pid int, uuids ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, uuid := range uuids {
		if _, _, err := p.find(uuid); err != nil {
			return err
		}
	}
	for _, uuid := range uuids {
		g, on, _ := p.find(uuid)
		g.running = append(g.running, process{pid: pid, instance: on})
	}
	return nil
}

// End takes a process off all GPUs.
func (p *FakeMachine) End(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.gpus {
		g.running = slices.DeleteFunc(g.running, func(r process) bool { return r.pid == pid })
		delete(g.busyBy, pid)
	}
}

// Partition puts a GPU into MIG mode with just these instances, each of which has one MIG
// device. The error is an *Error of the kind ErrUnsupported if the GPU cannot do MIG,
// or cannot be divided so.
func (p *FakeMachine) Partition(gpu int, layout ...mig.Placement) error {
	return p.change(gpu, func(g *pretendGPU) error {
		if g.lattice == nil {
			return &Error{GPU: gpu, Query: queryMIG, Kind: ErrUnsupported, Reason: "the GPU cannot do MIG"}
		}
		if _, err := g.lattice.StateOf(layout); err != nil {
			return &Error{GPU: gpu, Query: queryMIGInstances, Kind: ErrUnsupported, Reason: err.Error()}
		}
		g.migNow, g.migNext, g.existing, g.devices, g.running = true, true, nil, nil, nil
		for _, at := range layout {
			id := g.add(g.profileID(at), int(at.Start), int(at.Size))
			g.compute(id)
		}
		return nil
	})
}

// change does something to a GPU.
func (p *FakeMachine) change(gpu int, what func(*pretendGPU) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gpu < 0 || gpu >= len(p.gpus) {
		return &Error{GPU: gpu, Query: queryDevice, Kind: ErrUnknownGPU, Reason: fmt.Sprintf("there are %d GPUs", len(p.gpus))}
	}
	return what(p.gpus[gpu])
}

// find returns the GPU with a UUID, or the one with a MIG device of that UUID and the
// instance that is on.
func (p *FakeMachine) find(uuid string) (*pretendGPU, int, error) {
	for _, g := range p.gpus {
		if g.uuidText() == uuid {
			return g, noInstance, nil
		}
		for _, d := range g.devices {
			if d.uuid == uuid {
				return g, d.instance, nil
			}
		}
	}
	return nil, 0, &Error{GPU: NoGPU, Query: queryUUID, Kind: ErrUnknownGPU, Reason: fmt.Sprintf("nothing has the UUID %q", uuid)}
}
