package nvmlsrc

import (
	"fmt"

	"github.com/berth-sched/berth/mig"
)

// The refusals of a driver, as the binding words them.
var (
	unsupported  = &Error{GPU: NoGPU, Kind: ErrUnsupported, Reason: "not supported"}
	noPermission = &Error{GPU: NoGPU, Kind: ErrNoPermission, Reason: "the user may not ask this"}
	lost         = &Error{GPU: NoGPU, Kind: ErrLost, Reason: "the GPU fell off the bus or does not answer"}
	missing      = &Error{GPU: NoGPU, Kind: ErrMissingSymbol, Reason: "nvmlSomething"}
)

// hgx is an HGX H100 board that tests tamper with.
func hgx() *Pretend { return pretended("hgx-h100") }

func pretended(box string) *Pretend { return must(NewPretend(box)) }

func (p *Pretend) source() *Source { return must(p.Open()) }

func reportOfProduct(name string) []mig.ReportedProfile {
	table, ok := mig.Lookup(name)
	if !ok {
		panic(name)
	}
	return reportOf(table)
}

// fail makes a fact fail, on top of those that do.
func (g *pretendGPU) fail(fact Fact, err error) { g.failures[fact] = err }

// divide puts a GPU in MIG mode with instances, possible or not, each of which has a MIG
// device.
func (g *pretendGPU) divide(instances ...instance) {
	g.migNow, g.migNext, g.existing = true, true, instances
	for _, i := range instances {
		g.devices = append(g.devices, migDevice{fmt.Sprintf("MIG-%d-%d", g.index, i.id), i.id})
	}
}

// bridged connects two GPUs directly with a number of links.
func (p *Pretend) bridged(i, j, links int) {
	for range links {
		p.gpus[i].links = append(p.gpus[i].links, link{active: true, end: endGPU, remote: p.gpus[j].at})
		p.gpus[j].links = append(p.gpus[j].links, link{active: true, end: endGPU, remote: p.gpus[i].at})
	}
}

// unlink takes all NVLinks out of the machine.
func (p *Pretend) unlink() *Pretend {
	for _, g := range p.gpus {
		g.links = nil
	}
	return p
}
