package nvmlsrc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

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
func hgx() *FakeMachine { return pretended("hgx-h100") }

func pretended(box string) *FakeMachine { return must(NewFakeMachine(box)) }

func (p *FakeMachine) source() *Source { return must(p.Open()) }

func reportOfProduct(name string) []mig.ReportedProfile {
	table, ok := mig.Lookup(name)
	if !ok {
		panic(name)
	}
	return reportOf(table)
}

// fail makes a query fail, on top of those that do.
func (g *pretendGPU) fail(query Query, err error) { g.failures[query] = err }

// divide puts a GPU in MIG mode with instances, possible or not, each of which has a MIG
// device.
func (g *pretendGPU) divide(instances ...instance) {
	g.migNow, g.migNext, g.existing = true, true, instances
	for _, i := range instances {
		g.devices = append(g.devices, migDevice{fmt.Sprintf("MIG-%d-%d", g.index, i.id), i.id})
	}
}

// bridged connects two GPUs directly with a number of links.
func (p *FakeMachine) bridged(i, j, links int) {
	for range links {
		p.gpus[i].links = append(p.gpus[i].links, link{active: true, end: endGPU, remote: p.gpus[j].at})
		p.gpus[j].links = append(p.gpus[j].links, link{active: true, end: endGPU, remote: p.gpus[i].at})
	}
}

// unlink takes all NVLinks out of the machine.
func (p *FakeMachine) unlink() *FakeMachine {
	for _, g := range p.gpus {
		g.links = nil
	}
	return p
}

// Every box can be opened, has no gaps, and makes a node that the core takes.
func TestBoxes(t *testing.T) {
	require.Equal(t, []string{"dgx-a100", "gb200", "hgx-h100", "mig-h100", "pcie"}, FakeMachines())
	for _, name := range FakeMachines() {
		v := inventoryOf(t, pretended(name))
		require.Empty(t, v.Gaps, name)
		node, err := v.Node("n1")
		require.NoError(t, err)
		require.NotNil(t, node.Links, name)
		require.NoError(t, accepted(t, node, v.Tables()...), name)
		require.Equal(t, v, inventoryOf(t, pretended(name)), "another is like it")
	}
	require.ErrorIs(t, pretended("pcie").Refuse(0, "nics", ErrNoPermission), ErrInvalid, "the machine is asked that, no GPU")
	_, err := NewFakeMachine("dgx-z9")
	require.ErrorIs(t, err, ErrUnknownMachine)
	require.EqualError(t, err, `nvmlsrc: machine: unknown machine: "dgx-z9"; there are dgx-a100, gb200, hgx-h100, mig-h100, pcie`)
}

// The tray's fabric spans machines, and its GPUs reach each other over it.
func TestGB200(t *testing.T) {
	v := inventoryOf(t, pretended("gb200"))
	require.Equal(t, "2b5c8017-6ad4-4e0f-9d31-7e52c806ba64.32766", v.GPUs[0].NVLink.Fabric)
	require.Equal(t, "0009:01:00.0", v.GPUs[1].PCI)
	node, err := v.Node("n1")
	require.NoError(t, err)
	require.Equal(t, v.GPUs[0].NVLink.Fabric, node.GPUs[3].Clique)
	require.Equal(t, "NVS18", node.Links[0][3])
	require.Len(t, node.NICs, 4)
}

// What befalls a pretended machine shows in the next inventory.
func TestWhatBefallsAMachine(t *testing.T) {
	p := pretended("mig-h100")
	v := inventoryOf(t, p)
	require.Equal(t, []int{41_001, 41_002}, v.GPUs[0].Processes)
	require.Equal(t, []int{41_002}, v.GPUs[0].MIG.Instances[2].Processes)
	require.NoError(t, p.Start(5, v.GPUs[1].MIG.Instances[3].UUIDs[0], v.GPUs[0].MIG.Instances[0].UUIDs[0]))
	p.End(41_001)
	v = inventoryOf(t, p)
	require.Equal(t, []int{5}, v.GPUs[1].MIG.Instances[3].Processes)
	require.Equal(t, []int{5, 41_002}, v.GPUs[0].Processes)

	require.NoError(t, p.Refuse(1, queryMIGInstances, ErrNoPermission))
	require.ErrorIs(t, inventoryOf(t, p).GPUs[1].Failure, ErrNoPermission)
	require.NoError(t, p.Refuse(1, queryMIGInstances, nil))
	require.Nil(t, inventoryOf(t, p).GPUs[1].Failure)

	require.NoError(t, p.Fail(0, "fell off the bus"))
	require.EqualError(t, inventoryOf(t, p).GPUs[0].Failure, "nvmlsrc: gpus[0]: device: lost: fell off the bus")
	require.NoError(t, p.Repair(0))
	v = inventoryOf(t, p)
	require.Empty(t, v.GPUs[0].Processes)
	require.Empty(t, v.GPUs[0].MIG.Instances, "a reset takes them away")
}

func TestWhatCannotBefallAMachine(t *testing.T) {
	p := pretended("pcie")
	for _, err := range []error{
		p.Fail(2, ""), p.Repair(-1), p.Raise(2, 79), p.Refuse(2, queryUUID, ErrLost), p.Start(1, "GPU-nobody"),
		p.SetActivity("MIG-nobody", 1), p.Partition(2),
	} {
		require.ErrorIs(t, err, ErrUnknownGPU)
	}
	require.ErrorIs(t, p.SetProcessActivity(7, 1), ErrInvalid)
	require.ErrorIs(t, p.Partition(0), ErrUnsupported)
	require.ErrorIs(t, hgx().Partition(0, mig.Placement{}), ErrUnsupported)
	require.Equal(t, hgx().gpus[0].existing, []instance(nil))
	require.NoError(t, p.SetActivity(p.gpus[0].uuidText(), 7_000))
	require.Equal(t, 1000, p.gpus[0].load(), "no more than all")

	// As a driver would answer, if it were asked.
	g := hgx().gpus[0]
	_, err := g.createInstance(19, mig.ReportedPlacement{Size: 1})
	require.ErrorIs(t, err, ErrUnsupported, "not in MIG mode")
	require.ErrorIs(t, g.createCompute(1), ErrUnsupported)
	require.ErrorIs(t, g.destroyInstance(1), ErrUnsupported)
	_, err = g.sample(4)
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = g.smActivity(nil, nil)
	require.Error(t, err)
	_, err = g.ancestor(nil)
	require.Error(t, err)
}

// A slow listener misses what is beyond the backlog, and nothing blocks.
func TestBacklog(t *testing.T) {
	p := hgx()
	w, err := p.watch()
	require.NoError(t, err)
	for range 2 * pretendBacklog {
		require.NoError(t, p.Raise(0, 31))
	}
	count := 0
	for {
		if _, some, _ := w.wait(0); !some {
			break
		}
		count++
	}
	require.Equal(t, pretendBacklog, count)
}
