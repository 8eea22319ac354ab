package nvmlsrc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A pretendGPU answers with its fields, unless it is lost or the question has a failure.
type pretendGPU struct {
	box *FakeMachine
	model
	place
	index int
	at    address
	links []link
	// brokenLink answers with an error; 0 breaks none.
	brokenLink int

	lost     error
	failures map[Query]error
	asked    map[Query]bool
	last     Query // that was asked for

	migNow, migNext bool
	profiled        []mig.ReportedProfile
	lattice         *mig.Lattice // nil: it cannot do MIG
	existing        []instance
	devices         []migDevice
	nextID          int

	running []process
	busy    map[string]int // thousandths, by UUID
	busyBy  map[int]int    // thousandths, by PID
	state   pretendState
}

// A pretendState is what changes with the health of a GPU.
type pretendState struct {
	recovery   RecoveryAction
	ecc        ECC
	rows       RemappedRows
	linkErrors uint64 // of each link
	clocks     ClockReasons
}

// queriesOfGPU are the questions that go through answer.
var queriesOfGPU = [...]Query{
	queryDevice, queryProduct, queryUUID, queryPCI, queryMemory, queryComputeCapability, queryMinor,
	queryMIG, queryMIGProfiles, queryMIGPlacements, queryMIGInstances, queryMIGDevices,
	queryMIGCreate, queryMIGCompute, queryMIGDestroy, queryNVLink, queryFabric, queryProcesses, queryAncestors,
	queryRecovery, queryECC, queryRows, queryNVLinkErrors, queryClocks,
	queryActivity, queryUtilization, queryProcessUse, queryTemperature, queryPower,
}

// answer answers a question, if it has an answer.
func answer[T any](g *pretendGPU, query Query, with func() (T, error)) (T, error) {
	g.box.mu.Lock()
	defer g.box.mu.Unlock()
	g.asked[query], g.last = true, query
	var nothing T
	if g.lost != nil {
		return nothing, g.lost
	}
	if err := g.failures[query]; err != nil {
		return nothing, err
	}
	return with()
}

// always is an answer that is not a failure.
func always[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }

// refusal is an answer in a driver's words.
func refusal(kind error, reason string) error { return &Error{GPU: NoGPU, Kind: kind, Reason: reason} }

func (g *pretendGPU) product() (string, error) { return answer(g, queryProduct, always(g.name)) }
func (g *pretendGPU) uuid() (string, error)    { return answer(g, queryUUID, always(g.uuidText())) }
func (g *pretendGPU) minor() (int, error)      { return answer(g, queryMinor, always(g.index)) }

func (g *pretendGPU) uuidText() string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%04x%08x", g.pciDevice, g.at.domain, g.at.bus)
}

func (g *pretendGPU) address() (address, uint32, error) {
	at, err := answer(g, queryPCI, always(g.at))
	return at, g.pciDevice, err
}

// memory in use is what a driver takes for itself, and a good part of the rest if
// somebody is at work.
func (g *pretendGPU) memory() (size, used uint64, err error) {
	size, err = answer(g, queryMemory, func() (uint64, error) {
		used = g.memoryMiB << 20 / 128
		if len(g.running) > 0 {
			used = g.memoryMiB << 20 / 4 * 3
		}
		return g.memoryMiB << 20, nil
	})
	return size, used, err
}

func (g *pretendGPU) computeCapability() (int, int, error) {
	major, err := answer(g, queryComputeCapability, always(g.computeMajor))
	return major, g.computeMinor, err
}

func (g *pretendGPU) mig() (current, pending bool, err error) {
	current, err = answer(g, queryMIG, func() (bool, error) {
		if g.lattice == nil {
			return false, refusal(ErrUnsupported, "not supported")
		}
		pending = g.migNext
		return g.migNow, nil
	})
	return current, pending, err
}

func (g *pretendGPU) link(i int) (link, error) {
	return answer(g, queryNVLink, func() (link, error) {
		switch {
		case i >= len(g.links):
			return link{}, refusal(ErrUnsupported, "not supported")
		case i == g.brokenLink && i > 0:
			return link{}, fmt.Errorf("link %d", i)
		}
		return g.links[i], nil
	})
}

func (g *pretendGPU) fabric() (fabric, error) {
	return answer(g, queryFabric, func() (fabric, error) {
		if g.computeMajor < 9 {
			return fabric{}, refusal(ErrUnsupported, "not supported")
		}
		return g.fab, nil
	})
}

func (g *pretendGPU) processes() ([]process, error) {
	return answer(g, queryProcesses, func() ([]process, error) { return slices.Clone(g.running), nil })
}

// ancestor goes by the places in sysfs, from which a driver has it too.
func (g *pretendGPU) ancestor(other device) (nodegraph.PathKind, error) {
	to, ours := other.(*pretendGPU)
	return answer(g, queryAncestors, func() (nodegraph.PathKind, error) {
		if !ours {
			return nodegraph.PathNone, errors.New("a device of another driver")
		}
		return between(g.pci(), to.pci()), nil
	})
}

// pci is where the GPU hangs, as sysfs says.
func (g *pretendGPU) pci() pciPlace {
	return pciPlace{path: splitPath(g.path + "/" + g.at.String()), numa: berth.OrdinalOf(g.numa)}
}

func (g *pretendGPU) recovery() (RecoveryAction, error) {
	return answer(g, queryRecovery, func() (RecoveryAction, error) { return g.state.recovery, nil })
}

func (g *pretendGPU) ecc() (ECC, error) {
	return answer(g, queryECC, func() (ECC, error) { return g.state.ecc, nil })
}

func (g *pretendGPU) rows() (RemappedRows, error) {
	return answer(g, queryRows, func() (RemappedRows, error) { return g.state.rows, nil })
}

func (g *pretendGPU) linkErrors(int) (uint64, error) {
	return answer(g, queryNVLinkErrors, func() (uint64, error) { return g.state.linkErrors, nil })
}

func (g *pretendGPU) clocks() (ClockReasons, error) {
	return answer(g, queryClocks, func() (ClockReasons, error) {
		if len(g.busy) == 0 && g.load() == 0 {
			return g.state.clocks | ClockReasonIdle, nil
		}
		return g.state.clocks, nil
	})
}

// utilization is told of whole GPUs alone.
func (g *pretendGPU) utilization() (int, error) {
	return answer(g, queryUtilization, func() (int, error) {
		if g.migNow {
			return 0, refusal(ErrUnsupported, "not supported")
		}
		return g.activity(g.uuidText(), noInstance), nil
	})
}

// activity is how busy the GPU or a MIG device is: as was said of it, and of the processes on it.
func (g *pretendGPU) activity(uuid string, on int) int {
	milli := g.busy[uuid]
	for _, p := range g.running {
		if p.instance == on {
			milli += g.busyBy[p.pid]
		}
	}
	return min(milli, 1000)
}

// processActivity has no clock: what processes do now they did since the reading before.
func (g *pretendGPU) processActivity(uint64) (busy []ProcessActivity, latest uint64, err error) {
	busy, err = answer(g, queryProcessUse, func() (list []ProcessActivity, err error) {
		if g.migNow {
			return nil, refusal(ErrUnsupported, "not supported")
		}
		for _, p := range g.running {
			if milli := g.busyBy[p.pid]; milli > 0 {
				list = append(list, ProcessActivity{PID: p.pid, Milli: milli})
			}
		}
		slices.SortFunc(list, func(a, b ProcessActivity) int { return a.PID - b.PID })
		return list, nil
	})
	return busy, 0, err
}

// A pretendSample is how busy a device was when it was taken.
type pretendSample int

func (pretendSample) free() {}

func (g *pretendGPU) sample(of int) (sample, error) {
	return answer(g, queryActivity, func() (sample, error) {
		if g.computeMajor < 9 {
			return nil, refusal(ErrUnsupported, "not supported")
		}
		if of == noInstance {
			return pretendSample(g.activity(g.uuidText(), noInstance)), nil
		}
		for _, d := range g.devices {
			if d.instance == of {
				return pretendSample(g.activity(d.uuid, of)), nil
			}
		}
		return nil, refusal(ErrUnsupported, "there is no such instance")
	})
}

func (g *pretendGPU) smActivity(_, to sample) (int, error) {
	now, ours := to.(pretendSample)
	return answer(g, queryActivity, func() (int, error) {
		if !ours {
			return 0, errors.New("a sample of another driver")
		}
		return int(now), nil
	})
}

func (g *pretendGPU) temperature() (int, error) {
	return answer(g, queryTemperature, func() (int, error) { return 31 + g.load()/25, nil })
}

func (g *pretendGPU) power() (int, error) {
	return answer(g, queryPower, func() (int, error) { return 1000*g.watts + 500*g.load(), nil })
}

// load is how busy the GPU is in all.
func (g *pretendGPU) load() int {
	if len(g.devices) == 0 {
		return g.activity(g.uuidText(), noInstance)
	}
	sum := 0
	for _, d := range g.devices {
		sum += g.activity(d.uuid, d.instance)
	}
	return sum / len(g.devices)
}
