package nvmlsrc

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/mig"
)

// reportOfH100 is what the driver of hgxH100 tells of each GPU.
var reportOfH100 = mig.Report{
	Device: "NVIDIA H100 80GB HBM3", PCIDeviceID: 0x233010DE, Profiles: reportOfProduct("H100-80GB"),
}

func inventoryOf(t require.TestingT, b *FakeMachine) Inventory {
	v, err := b.source().Inventory()
	require.NoError(t, err)
	return v
}

func TestInventoryOfHGXH100(t *testing.T) {
	b := hgx()
	b.gpus[3].running = []process{{4711, noInstance}, {17, noInstance}, {4711, noInstance}}
	v := inventoryOf(t, b)
	require.Equal(t, "550.54.15", v.Driver)
	require.Empty(t, v.Gaps)
	require.Len(t, v.GPUs, 8)
	require.Equal(t, GPU{
		Index: 3, Product: "NVIDIA H100 80GB HBM3", UUID: "GPU-233010de-0000-4000-8000-000000000061",
		PCI: "0000:61:00.0", PCIDeviceID: 0x233010DE, MemoryMiB: 81_559, ComputeMajor: 9, DeviceMinor: berth.OrdinalOf(3), NUMANode: berth.OrdinalOf(0), CPUs: "0-55,112-167",
		MIG:       MIG{Capable: true, Report: reportOfH100},
		NVLink:    NVLink{Peers: []int{0, 1, 2, 4, 5, 6, 7}, Switched: 18},
		Processes: []int{17, 4711},
	}, v.GPUs[3])
	require.Equal(t, berth.OrdinalOf(1), v.GPUs[4].NUMANode)
}

// A GPU that fell over keeps its place and is not asked again; the others do not
// count it as a peer.
func TestLostGPU(t *testing.T) {
	for _, query := range []Query{queryDevice, queryProduct, queryPCI, queryMemory, queryNVLink, queryFabric, queryMIGProfiles, queryMIGPlacements, queryProcesses} {
		b := hgx()
		b.gpus[2].fail(query, lost)
		v := inventoryOf(t, b)
		require.Len(t, v.GPUs, 8)
		require.ErrorIs(t, v.GPUs[2].Failure, ErrLost)
		require.Equal(t, query, b.gpus[2].last)
		require.Len(t, v.Gaps, 1)
		require.Equal(t, v.GPUs[2].Failure, v.Gaps[0])
		require.Empty(t, v.GPUs[2].NVLink.Peers)
		require.Equal(t, []int{1, 3, 4, 5, 6, 7}, v.GPUs[0].NVLink.Peers)
		require.Nil(t, v.GPUs[1].Failure)
	}
}

// A GPU that the user may not open is there, and takes no work.
func TestNoPermissionForAGPU(t *testing.T) {
	b := hgx()
	b.gpus[7].fail(queryDevice, noPermission)
	v := inventoryOf(t, b)
	require.ErrorIs(t, v.GPUs[7].Failure, ErrNoPermission)
	require.EqualError(t, v.Gaps[0], "nvmlsrc: gpus[7]: device: no permission: the user may not ask this")
}

// Every single question may go unanswered: that makes one gap, which names it,
// and leaves all other fields as they were.
func TestGaps(t *testing.T) {
	whole := inventoryOf(t, hgx())
	for query, forget := range map[Query]func(*GPU){
		queryProduct: func(g *GPU) { g.Product, g.MIG.Report.Device = "", "" },
		queryUUID:    func(g *GPU) { g.UUID = "" },
		queryPCI: func(g *GPU) {
			g.PCIDeviceID, g.MIG.Report.PCIDeviceID = 0, 0 // the kernel tells the address
		},
		queryMemory:            func(g *GPU) { g.MemoryMiB = 0 },
		queryComputeCapability: func(g *GPU) { g.ComputeMajor = 0 },
		queryMinor:             func(g *GPU) { g.DeviceMinor = berth.Ordinal{} },
		queryMIG:               func(g *GPU) { g.MIG = MIG{} },
		queryNVLink:            func(g *GPU) { g.NVLink = NVLink{} },
		queryFabric:            func(g *GPU) { g.NVLink.Peers = nil },
		queryProcesses:         func(g *GPU) { g.Processes = nil },
		queryMIGProfiles:       func(g *GPU) { g.MIG.Report = mig.Report{} },
		queryMIGPlacements: func(g *GPU) {
			g.MIG.Report.Profiles = slices.Clone(g.MIG.Report.Profiles)
			for i := range g.MIG.Report.Profiles {
				g.MIG.Report.Profiles[i].Placements = nil
			}
		},
	} {
		for _, refusal := range []*Error{noPermission, missing} {
			b := hgx()
			b.gpus[5].fail(query, refusal)
			v := inventoryOf(t, b)
			require.Equal(t, []*Error{{GPU: 5, Query: query, Reason: refusal.Reason, Kind: refusal.Kind}}, v.Gaps, query)
			want := whole.GPUs[5]
			forget(&want)
			require.Equal(t, want, v.GPUs[5], query)
		}
	}
}

// A broken link does not hide those that work.
func TestBrokenLink(t *testing.T) {
	b := hgx()
	b.gpus[1].brokenLink = 5
	v := inventoryOf(t, b)
	require.Equal(t, NVLink{Peers: []int{0, 2, 3, 4, 5, 6, 7}, Switched: 17}, v.GPUs[1].NVLink)
	require.Len(t, v.Gaps, 1)
	require.EqualError(t, v.Gaps[0], "nvmlsrc: gpus[1]: nvlink: driver failure: link 5")
}

func TestSysfs(t *testing.T) {
	b := hgx()
	files := b.sysfs()
	numa := func(i int) string { return b.gpus[i].path + "/" + b.gpus[i].at.String() + "/numa_node" }
	files[numa(0)] = &fstest.MapFile{Data: []byte("-1\n")}
	files[numa(1)] = &fstest.MapFile{Data: []byte("many")}
	delete(files, numa(2))
	files[numa(3)] = &fstest.MapFile{Data: []byte("-7\n")}
	v, err := (&Source{driver: b, sys: files}).Inventory()
	require.NoError(t, err)
	for i, g := range v.GPUs {
		require.Equal(t, berth.OrdinalOf([]int{-1, -1, -1, -1, 1, 1, 1, 1}[i]), g.NUMANode)
	}
	require.Len(t, v.Gaps, 2, "a platform without NUMA says so, which is an answer")
	for i, gap := range v.Gaps {
		require.ErrorIs(t, gap, ErrSysfs)
		require.Equal(t, i+1, gap.GPU)
		require.Equal(t, queryNUMANode, gap.Query)
	}
	for online, node := range map[string]int{"0\n": 0, "0-1\n": -1} {
		files["devices/system/node/online"] = &fstest.MapFile{Data: []byte(online)}
		v, err = (&Source{driver: b, sys: files}).Inventory()
		require.NoError(t, err)
		require.Equal(t, berth.OrdinalOf(node), v.GPUs[0].NUMANode, "one node has everything")
		require.Equal(t, berth.Ordinal{}, v.GPUs[1].NUMANode)
	}
}

func TestAddressAsInSysfs(t *testing.T) {
	require.Equal(t, "0000:19:00.0", address{bus: 0x19}.String())
	require.Equal(t, "0008:06:1f.0", address{domain: 8, bus: 6, device: 0x1f}.String())
	require.Equal(t, "10000:01:00.0", address{domain: 0x10000, bus: 1}.String())
}

func TestMIGMode(t *testing.T) {
	b := hgx()
	b.gpus[0].migNow = true
	b.gpus[1].migNext = true
	b.gpus[2].fail(queryMIG, unsupported)
	v := inventoryOf(t, b)
	require.Equal(t, MIG{Capable: true, Enabled: true, Report: reportOfH100}, v.GPUs[0].MIG)
	require.Equal(t, MIG{Capable: true, Pending: true, Report: reportOfH100}, v.GPUs[1].MIG)
	require.Equal(t, MIG{}, v.GPUs[2].MIG)
	require.Empty(t, v.Gaps, "that a GPU cannot do MIG is an answer")
}

func TestFabric(t *testing.T) {
	cluster := [16]byte{0x9c, 0x6f, 0x5a, 0xf3, 0x53, 0xbf, 0x49, 0xb5, 0xa4, 0x36, 0xb6, 0x67, 0x66, 0xc4, 0x13, 0xc3}
	spanning := fabric{completed: true, cluster: cluster, clique: 4026}
	for _, c := range []struct {
		name   string
		fabric fabric
		err    error
		want   string
		peers  int
		kind   error
	}{
		{name: "spans machines", fabric: spanning, want: "9c6f5af3-53bf-49b5-a436-b66766c413c3.4026", peers: 7},
		{name: "ends at the machine", fabric: fabric{completed: true, clique: 7}, peers: 7},
		{name: "not completed", fabric: fabric{cluster: cluster, clique: 4026}, kind: ErrNotReady},
		{name: "completed with an error", fabric: fabric{completed: true, status: lost, cluster: cluster}, kind: ErrNotReady},
		{name: "a generation that does not register", err: unsupported, peers: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := hgx()
			for _, g := range b.gpus {
				if g.fab = c.fabric; c.err != nil {
					g.fail(queryFabric, c.err)
				}
			}
			v := inventoryOf(t, b)
			for _, g := range v.GPUs {
				require.Equal(t, c.want, g.NVLink.Fabric)
				require.Len(t, g.NVLink.Peers, c.peers)
				if c.kind == nil {
					require.Nil(t, g.Failure)
				} else {
					require.ErrorIs(t, g.Failure, c.kind)
					require.NotErrorIs(t, g.Failure, ErrLost)
				}
			}
			require.Equal(t, c.kind != nil, len(v.Gaps) == 8)
		})
	}
}

// The fabric manager can split a board between tenants.
func TestFabricPartitions(t *testing.T) {
	b := hgx()
	for i, g := range b.gpus {
		g.fab.clique = uint32(i / 4)
	}
	v := inventoryOf(t, b)
	require.Equal(t, []int{1, 2, 3}, v.GPUs[0].NVLink.Peers)
	require.Equal(t, []int{4, 5, 6}, v.GPUs[7].NVLink.Peers)
}

func TestBridgedPairs(t *testing.T) {
	b := hgx().unlink()
	b.bridged(0, 1, 12)
	b.bridged(2, 3, 12)
	b.gpus[4].links = []link{{active: true, end: endGPU, remote: address{bus: 0xee}}, {end: endGPU, remote: b.gpus[5].at}}
	v := inventoryOf(t, b)
	require.Equal(t, NVLink{Peers: []int{1}, Direct: 12}, v.GPUs[0].NVLink)
	require.Equal(t, NVLink{Peers: []int{2}, Direct: 12}, v.GPUs[3].NVLink)
	require.Equal(t, NVLink{Direct: 1}, v.GPUs[4].NVLink, "the other end is not ours to see")
	require.Equal(t, NVLink{}, v.GPUs[5].NVLink, "an inactive link connects nothing")
	require.NotContains(t, b.gpus[5].asked, queryFabric)
}

func TestNoDriverCount(t *testing.T) {
	b := hgx()
	b.countErr = errors.New("boom")
	v, err := b.source().Inventory()
	require.Equal(t, Inventory{}, v)
	require.EqualError(t, err, "nvmlsrc: count: driver failure: boom")
}

func TestNoGPUs(t *testing.T) {
	v := inventoryOf(t, &FakeMachine{driver: "1"})
	require.Empty(t, v.GPUs)
	require.Empty(t, v.Gaps)
}

func TestClose(t *testing.T) {
	b := hgx()
	s := b.source()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, 1, b.closed)
	_, err := s.Inventory()
	require.ErrorIs(t, err, ErrClosed)
}

// Whatever a box answers: an inventory in which peers are mutual and never the
// GPU itself or a failed one, with a gap for each failed GPU, and the same one
// when asked again.
func TestAnyBox(t *testing.T) {
	facts := []Query{
		queryDevice, queryProduct, queryUUID, queryPCI, queryMemory, queryComputeCapability,
		queryMinor, queryMIG, queryNVLink, queryFabric, queryProcesses,
		queryMIGProfiles, queryMIGPlacements, queryMIGInstances, queryMIGDevices,
	}
	drawn.Check(t, func(t *rapid.T) {
		b := hgx()
		b.gpus = b.gpus[:rapid.IntRange(0, 8).Draw(t, "gpus")]
		for i, g := range b.gpus {
			g.fab = fabric{completed: rapid.Bool().Draw(t, "completed"), clique: rapid.Uint32Range(0, 1).Draw(t, "clique")}
			g.links = g.links[:rapid.IntRange(0, 2).Draw(t, "switched")]
			if rapid.Bool().Draw(t, "mig") {
				g.divide(rapid.SampledFrom([][]instance{
					nil, {{1, 9, 4, 4}}, {{1, 9, 4, 4}, {2, 19, 0, 1}}, {{1, 9, 4, 4}, {2, 19, 4, 1}}, {{1, 77, 0, 1}},
				}).Draw(t, "instances")...)
			}
			if rapid.Bool().Draw(t, "otherwise") {
				g.profiled = reportOfProduct(rapid.SampledFrom([]string{"A30", "H100-94GB"}).Draw(t, "profiles"))
			}
			for range rapid.IntRange(0, 2).Draw(t, "failures") {
				g.fail(rapid.SampledFrom(facts).Draw(t, "query"),
					rapid.SampledFrom([]error{lost, noPermission, unsupported, missing}).Draw(t, "error"))
			}
			if i > 0 && rapid.Bool().Draw(t, "bridge") {
				b.bridged(i, rapid.IntRange(0, i-1).Draw(t, "to"), 1)
			}
		}
		v := inventoryOf(t, b)
		require.Equal(t, v, inventoryOf(t, b))
		for i, g := range v.GPUs {
			require.Equal(t, i, g.Index)
			require.True(t, slices.IsSorted(g.NVLink.Peers))
			for _, j := range g.NVLink.Peers {
				require.NotEqual(t, i, j)
				require.Contains(t, v.GPUs[j].NVLink.Peers, i)
				require.Nil(t, v.GPUs[j].Failure)
			}
			if g.Failure != nil {
				require.Contains(t, v.Gaps, g.Failure)
				require.Empty(t, g.NVLink.Peers)
			}
		}
		checkNode(t, v)
	})
}

func TestErrorTexts(t *testing.T) {
	err := error(&Error{GPU: 3, Query: queryMemory, Reason: "why", Kind: ErrLost})
	require.Equal(t, "nvmlsrc: gpus[3]: memory: lost: why", err.Error())
	require.ErrorIs(t, ErrUnsupportedPlatform, ErrNoDriver)
	require.NotErrorIs(t, ErrNoDriver, ErrUnsupportedPlatform)
	require.False(t, strings.HasSuffix(err.Error(), "."))
}
