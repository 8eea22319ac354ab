package nvmlsrc

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

func at(t *testing.T, text string) mig.Placement {
	p, err := mig.ParsePlacement(text)
	require.NoError(t, err)
	return p
}

// Instances are listed by ID with placement, MIG devices and processes.
func TestInstances(t *testing.T) {
	b := hgx()
	g := b.gpus[1]
	g.divide(instance{7, 19, 0, 1}, instance{2, 9, 4, 4}, instance{5, 14, 2, 2})
	g.devices = append(g.devices[1:], migDevice{"MIG-second", 2}, migDevice{"MIG-of nobody", 99})
	g.running = []process{{30, 2}, {20, 2}, {20, 5}, {30, 2}}
	v := inventoryOf(t, b)
	require.Empty(t, v.Gaps)
	require.Nil(t, v.GPUs[1].Failure)
	require.Equal(t, []Instance{
		{ID: 2, Profile: 9, Start: 4, Size: 4, Placement: at(t, "3g.40gb@4:4"), UUIDs: []string{"MIG-1-2", "MIG-second"}, Processes: []int{20, 30}},
		{ID: 5, Profile: 14, Start: 2, Size: 2, Placement: at(t, "2g.20gb@2:2"), UUIDs: []string{"MIG-1-5"}, Processes: []int{20}},
		{ID: 7, Profile: 19, Start: 0, Size: 1, Placement: at(t, "1g.10gb@0:1")},
	}, v.GPUs[1].MIG.Instances)
	require.Equal(t, []int{20, 30}, v.GPUs[1].Processes)
	require.Empty(t, v.GPUs[0].MIG.Instances)
	require.NotContains(t, b.gpus[0].asked, queryMIGInstances, "a GPU that is not in MIG mode has none")

	found, ok := v.GPUs[1].Instance(at(t, "2g.20gb@2:2"))
	require.True(t, ok)
	require.Equal(t, 5, found.ID)
	_, ok = v.GPUs[1].Instance(at(t, "2g.20gb@0:2"))
	require.False(t, ok)
}

// A GPU in MIG mode beside others that are not: one node, one table, one clique. An
// A100 in MIG mode has its links down, and an ordinary user learns no memory of it.
func TestNodeWithSomeGPUsInMIGMode(t *testing.T) {
	b := hgx()
	b.gpus[0].divide(instance{2, 9, 4, 4}, instance{1, 19, 0, 1})
	b.gpus[0].links = nil
	b.gpus[0].fail(queryMemory, noPermission)
	b.gpus[6].divide()
	v := inventoryOf(t, b)
	require.Empty(t, v.Tables())
	node, err := v.Node("n1")
	require.NoError(t, err)
	for i, g := range node.GPUs {
		require.False(t, g.Failed)
		require.Equal(t, "H100-80GB", g.MIGTable)
		require.Equal(t, "n1.nvlink1", g.Clique)
		require.EqualValues(t, 81_559, g.MemoryMiB)
		require.Equal(t, i == 0 || i == 6, g.Mode == berth.GPUModeMIG)
	}
	require.Equal(t, []mig.Placement{at(t, "1g.10gb@0:1"), at(t, "3g.40gb@4:4")}, node.GPUs[0].Instances)
	require.Empty(t, node.GPUs[6].Instances)
	require.NoError(t, accepted(t, node))
}

// An agent that reads the inventory of a driver which reports another memory than the
// tables say tells the core the reported table, and the core places by it: onto the
// instance that exists, whose MIG device the inventory names.
func TestReportedTableAndInstanceAreUsed(t *testing.T) {
	b := hgx()
	for _, g := range b.gpus {
		g.profiled[0].MemoryMiB = 9_856
		g.divide(instance{3, 9, 0, 4}, instance{4, 14, 4, 2})
	}
	v := inventoryOf(t, b)
	tables := v.Tables()
	require.Len(t, tables, 1)
	require.Regexp(t, `^H100-80GB@550\.54\.15-[0-9a-f]{8}$`, tables[0].Name)
	node, err := v.Node("n1")
	require.NoError(t, err)

	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	for _, event := range []berth.Event{
		berth.MIGTableSet{Table: tables[0]},
		berth.NodeJoined{Node: node},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
		berth.JobSubmitted{Job: berth.Job{
			ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: "2g.20gb"}}},
		}},
	} {
		require.NoError(t, sched.Apply(0, event))
	}
	orders, err := sched.Schedule(0)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	bind, ok := orders[0].(berth.Bind)
	require.True(t, ok)
	require.Empty(t, bind.After, "nothing has to be created for it")
	member := bind.Members[0]
	gpu := bits.TrailingZeros64(uint64(member.GPUs))
	held, ok := v.GPUs[gpu].Instance(member.Instance)
	require.True(t, ok)
	require.Equal(t, []string{fmt.Sprintf("MIG-%d-4", gpu)}, held.UUIDs)

	require.ErrorIs(t, accepted(t, node), berth.ErrUnknown, "the core has to be told of the table first")
}

// What a table is named after is all that it says, so tables of one name are equal
// whichever GPU they are from, and whether or not its driver told the names.
func TestNamesOfReportedTables(t *testing.T) {
	table := func(change func(*FakeMachine)) mig.Product {
		b := hgx()
		for _, g := range b.gpus {
			g.profiled[0].MemoryMiB = 9_856
			g.divide()
		}
		change(b)
		tables := inventoryOf(t, b).Tables()
		require.Len(t, tables, 1)
		return tables[0]
	}
	first := table(func(*FakeMachine) {})
	require.Equal(t, first, table(func(b *FakeMachine) {
		for _, g := range b.gpus {
			g.name, g.pciDevice = "NVIDIA H100 PCIe", 0x233110DE
			for i := range g.profiled {
				g.profiled[i].Name = ""
			}
		}
	}))
	require.Equal(t, first, table(func(b *FakeMachine) { b.gpus[0].fail(queryPCI, noPermission) }))
	for name, change := range map[string]func(*FakeMachine){
		"driver": func(b *FakeMachine) { b.driver = "560.1" },
		"SMs":    func(b *FakeMachine) { each(b, func(g *pretendGPU) { g.profiled[2].MultiprocessorCount = 99 }) },
		"starts": func(b *FakeMachine) {
			each(b, func(g *pretendGPU) { g.profiled[2].Placements = g.profiled[2].Placements[1:] })
		},
		"fewer": func(b *FakeMachine) { each(b, func(g *pretendGPU) { g.profiled = g.profiled[:5] }) },
	} {
		other := table(change)
		require.NotEqual(t, first.Name, other.Name, name)
		require.NotEqual(t, first, other, name)
	}
	// Of a GH200 nobody has seen the names printed.
	gh200 := func(named int) func(*FakeMachine) {
		return func(b *FakeMachine) {
			each(b, func(g *pretendGPU) {
				g.name, g.pciDevice, g.profiled = "NVIDIA GH200 480GB", 0x234210DE, reportOfProduct("H100-96GB")
				for i := range g.profiled {
					g.profiled[i].MemoryMiB = 11_000 * int64(g.profiled[i].SliceCount)
					g.profiled[i].Name = strings.Repeat(g.profiled[i].Name, named)
				}
			})
		}
	}
	require.Equal(t, table(gh200(1)), table(gh200(0)))
	unnamed := table(func(b *FakeMachine) { b.driver = "" })
	require.Regexp(t, `^H100-80GB@[0-9a-f]{8}$`, unnamed.Name)
}

func each(b *FakeMachine, change func(*pretendGPU)) {
	for _, g := range b.gpus {
		change(g)
	}
}

// A product that package mig has never heard of divides as its driver reports; if
// the driver does not say enough it does not divide, and serves whole GPUs.
func TestUnknownProduct(t *testing.T) {
	unknown := func() *FakeMachine {
		b := hgx()
		for _, g := range b.gpus {
			g.name, g.pciDevice = "NVIDIA Z9", 0x999910DE
			g.profiled = reportOfProduct("A30")
		}
		return b
	}
	b := unknown()
	b.gpus[2].divide(instance{1, 5, 2, 2})
	v := inventoryOf(t, b)
	require.Empty(t, v.Gaps)
	tables := v.Tables()
	require.Len(t, tables, 1)
	require.Regexp(t, `^NVIDIA Z9@550\.54\.15-[0-9a-f]{8}$`, tables[0].Name)
	require.Equal(t, 4, tables[0].MemorySlices)
	node, err := v.Node("n1")
	require.NoError(t, err)
	require.Equal(t, []mig.Placement{at(t, "2g.12gb@2:2")}, node.GPUs[2].Instances)
	require.NoError(t, accepted(t, node, tables...))

	for reason, change := range map[string]func(*pretendGPU){
		"profiles[0].name":       func(g *pretendGPU) { g.profiled[0].Name = "" },
		"profiles[0].placements": func(g *pretendGPU) { g.fail(queryMIGPlacements, noPermission) },
		"":                       func(g *pretendGPU) { g.profiled = nil },
	} {
		b := unknown()
		b.gpus[2].divide(instance{1, 5, 2, 2})
		each(b, change)
		v := inventoryOf(t, b)
		require.Empty(t, v.Tables())
		require.NotNil(t, v.GPUs[2].Failure, "an instance is there, and nobody knows what it is")
		node, err := v.Node("n1")
		require.NoError(t, err)
		for i, g := range node.GPUs {
			require.Equal(t, i == 2, g.Failed)
			require.Empty(t, g.MIGTable)
			require.Equal(t, berth.GPUModeWhole, g.Mode)
		}
		require.NoError(t, accepted(t, node))
		texts := fmt.Sprint(v.Gaps)
		require.Contains(t, texts, reason)
	}
}

// Where the driver tells nothing outside MIG mode the table of package mig serves,
// found by the PCI device ID or by the name.
func TestTableOfPackageMIG(t *testing.T) {
	for _, forget := range []func(*pretendGPU){
		func(g *pretendGPU) { g.name = "a name that nobody knows" },
		func(g *pretendGPU) { g.pciDevice = 0 },
		func(g *pretendGPU) { g.fail(queryMIGProfiles, missing) },
	} {
		b := hgx()
		each(b, func(g *pretendGPU) { g.profiled = nil; forget(g) })
		v := inventoryOf(t, b)
		require.Empty(t, v.Tables())
		node, err := v.Node("n1")
		require.NoError(t, err)
		require.Equal(t, "H100-80GB", node.GPUs[3].MIGTable)
		require.NoError(t, accepted(t, node))
	}

	b := hgx()
	each(b, func(g *pretendGPU) { g.profiled[0].InstanceCount = 4 })
	require.Empty(t, inventoryOf(t, b).Tables(), "how many fit follows from the rest, and is told wrong of some products")

	b = hgx()
	each(b, func(g *pretendGPU) { g.fail(queryMIG, unsupported) })
	node, err := inventoryOf(t, b).Node("n1")
	require.NoError(t, err)
	require.Empty(t, node.GPUs[3].MIGTable, "a GPU that cannot do MIG does not divide")
}

// Each question about a GPU in MIG mode may go unanswered. Without the instances,
// and without the profiles to ask for, the GPU takes no work and says why; the rest
// is a gap.
func TestGapsInMIGMode(t *testing.T) {
	for query, fatal := range map[Query]Query{
		queryMIGProfiles: queryMIGInstances, queryMIGInstances: queryMIGInstances, queryMIGPlacements: "", queryMIGDevices: "", queryProcesses: "",
	} {
		for _, refusal := range []*Error{noPermission, missing} {
			b := hgx()
			each(b, func(g *pretendGPU) {
				g.divide(instance{3, 9, 0, 4})
				g.running = []process{{17, 3}}
			})
			b.gpus[4].fail(query, refusal)
			v := inventoryOf(t, b)
			require.Equal(t, &Error{GPU: 4, Query: query, Reason: refusal.Reason, Kind: refusal.Kind}, v.Gaps[0])
			node, err := v.Node("n1")
			require.NoError(t, err)
			require.NoError(t, accepted(t, node, v.Tables()...))
			require.Equal(t, berth.GPUModeMIG, node.GPUs[4].Mode)
			require.Equal(t, fatal != "", node.GPUs[4].Failed)
			require.Equal(t, fatal == "", len(node.GPUs[4].Instances) == 1)
			if fatal == "" {
				require.Nil(t, v.GPUs[4].Failure)
				held := v.GPUs[4].MIG.Instances[0]
				require.Equal(t, query == queryProcesses, len(held.Processes) == 0)
				require.Equal(t, query == queryMIGDevices, len(held.UUIDs) == 0)
				continue
			}
			require.Equal(t, fatal, v.GPUs[4].Failure.Query)
			require.Equal(t, v.GPUs[4].Failure, v.Gaps[len(v.Gaps)-1])
			require.Empty(t, v.GPUs[4].NVLink.Peers)
		}
	}
}

// A GPU in MIG mode that cannot be said in the words of the machine's table is out of
// work, and says why.
func TestInstancesThatDoNotFit(t *testing.T) {
	for reason, change := range map[string]func(*pretendGPU){
		"the instances make no layout":               func(g *pretendGPU) { g.existing = append(g.existing, instance{8, 19, 2, 1}) },
		"the GPU divides as H100-80GB@550.54.15-":    func(g *pretendGPU) { g.profiled[0].MemoryMiB++ },
		"instance 3 is of profile 9 at 300:4":        func(g *pretendGPU) { g.existing[0].start = 300 },
		"3g.40gb@1:4: the product has no such start": func(g *pretendGPU) { g.existing[0].start = 1 },
	} {
		b := hgx()
		each(b, func(g *pretendGPU) { g.divide(instance{3, 9, 0, 4}) })
		change(b.gpus[0])
		v := inventoryOf(t, b)
		require.Empty(t, v.Tables(), "seven of eight say so")
		require.Len(t, v.Gaps, 1, reason)
		require.Equal(t, v.Gaps[0], v.GPUs[0].Failure)
		require.Contains(t, v.Gaps[0].Error(), reason)
		node, err := v.Node("n1")
		require.NoError(t, err)
		require.True(t, node.GPUs[0].Failed)
		require.Empty(t, node.GPUs[0].Instances)
		require.False(t, node.GPUs[1].Failed)
		require.NoError(t, accepted(t, node))
	}
}

// A GPU that is not in MIG mode goes by the table of those that are.
func TestReportsInMIGModeWin(t *testing.T) {
	b := hgx()
	b.gpus[7].profiled[0].MemoryMiB = 9_856
	b.gpus[7].divide(instance{3, 9, 0, 4})
	v := inventoryOf(t, b)
	require.Len(t, v.Tables(), 1)
	require.Empty(t, v.Gaps)
	node, err := v.Node("n1")
	require.NoError(t, err)
	for _, g := range node.GPUs {
		require.False(t, g.Failed)
		require.Equal(t, v.Tables()[0].Name, g.MIGTable)
	}
	require.NoError(t, accepted(t, node, v.Tables()...))
}
