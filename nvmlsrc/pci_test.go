package nvmlsrc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// What devices share in sysfs decides between the words of nvidia-smi.
func TestBetween(t *testing.T) {
	at := func(numa int, path string) pciPlace {
		return pciPlace{path: splitPath(path), numa: berth.OrdinalOf(numa)}
	}
	const port = "../../devices/pci0000:15/0000:15:01.0/"
	const inner = port + "0000:16:00.0/0000:17:00.0/"
	gpu := at(0, inner+"0000:18:00.0/0000:19:01.0/0000:1b:00.0")
	for _, c := range []struct {
		to   pciPlace
		want nodegraph.PathKind
	}{
		{at(0, inner+"0000:18:00.0/0000:19:00.0/0000:1a:00.0/infiniband/mlx5_0"), nodegraph.PathPIX},
		{at(0, inner+"0000:18:00.0/0000:19:01.0/0000:1b:00.1"), nodegraph.PathPIX},
		{at(0, port+"0000:16:00.0/0000:17:01.0/0000:20:00.0"), nodegraph.PathPXB},
		{at(0, inner+"0000:1c:00.0"), nodegraph.PathPXB},
		{at(0, "devices/pci0000:15/0000:15:02.0/0000:21:00.0"), nodegraph.PathPHB},
		{at(0, "devices/pci0000:4c/0000:4c:01.0/0000:4d:00.0"), nodegraph.PathNODE},
		{at(1, "devices/pci0000:97/0000:97:01.0/0000:98:00.0"), nodegraph.PathSYS},
		{at(0, "../../devices/virtual/infiniband/rxe0"), nodegraph.PathNone},
		{pciPlace{}, nodegraph.PathNone},
	} {
		require.Equal(t, c.want, between(gpu, c.to), c.to.path)
		require.Equal(t, c.want, between(c.to, gpu), c.to.path)
	}
	require.Equal(t,
		[]string{"pci0008:00", "0008:00:00.0", "0008:01:00.0"},
		splitPath("../../../devices/LNXSYSTM:00/VMBUS:01/pci0008:00/0008:00:00.0/0008:01:00.0/infiniband/mlx5_0"))
}

// The boxes are what nvidia-smi topo -m prints on such machines.
func TestBoxesAsListed(t *testing.T) {
	for box, file := range map[string]string{
		"dgx-a100": "dgx-a100.txt", "hgx-h100": "hgx-h100-80gb-sxm5.txt", "pcie": "2gpu-phb-no-nvlink.txt",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "topo", file))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the listings are not beside this checkout")
		}
		require.NoError(t, err)
		listed, err := nodegraph.ParseMatrix(file, string(text))
		require.NoError(t, err)
		v := inventoryOf(t, pretended(box))
		require.Empty(t, v.Gaps)
		spec := v.Spec()
		require.Len(t, spec.GPUs, len(listed.GPUs), box)
		for i := range listed.GPUs {
			require.Equal(t, listed.GPUs[i].NUMA, spec.GPUs[i].NUMA, "%s: GPU %d", box, i)
			for j := range listed.GPUs {
				require.Equal(t, listed.Links[i][j].Count, spec.Links[i][j].Count, "%s: GPUs %d and %d", box, i, j)
				if listed.Links[i][j].Count == 0 {
					require.Equal(t, listed.Links[i][j], spec.Links[i][j], "%s: GPUs %d and %d", box, i, j)
				}
			}
		}
		require.Len(t, spec.NICs, len(listed.NICs), box)
		for i := range listed.NICs {
			require.Equal(t, listed.NICs[i].Paths, spec.NICs[i].Paths, "%s: NIC %d", box, i)
		}
		require.Equal(t, strings.Count(string(text), v.GPUs[0].CPUs+"\t") > 0, true, box)
	}
}

// The NICs that GPUs use first are on rails in the order of these GPUs; those for storage
// are on none, and the core is told of the former alone.
func TestNICsAndRails(t *testing.T) {
	v := inventoryOf(t, pretended("hgx-h100"))
	require.Len(t, v.NICs, 12)
	var names []string
	var rails []string
	for _, nic := range v.NICs {
		names, rails = append(names, nic.Name), append(rails, nic.Rail.String())
	}
	require.Equal(t, "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7 mlx5_8 mlx5_9 mlx5_10 mlx5_11", strings.Join(names, " "))
	require.Equal(t, strings.Fields("0 1 2 3 unknown unknown 4 5 6 7 unknown unknown"), rails)
	require.Equal(t, NIC{
		Name: "mlx5_6", PCI: "0000:9c:00.0", NUMANode: berth.OrdinalOf(1), MbitPerSecond: 400_000, Active: true, Rail: berth.OrdinalOf(4),
		Paths: append(slices.Repeat([]nodegraph.PathKind{nodegraph.PathSYS}, 4), nodegraph.PathPIX, nodegraph.PathPXB, nodegraph.PathNODE, nodegraph.PathNODE),
		NICs: append(slices.Repeat([]nodegraph.PathKind{nodegraph.PathSYS}, 6),
			nodegraph.PathNone, nodegraph.PathPXB, nodegraph.PathNODE, nodegraph.PathNODE, nodegraph.PathNODE, nodegraph.PathNODE),
	}, v.NICs[6])
	require.Equal(t, nodegraph.PathPIX, v.NICs[11].NICs[10], "two ports of one adapter")
	require.Equal(t, nodegraph.PathPXB, v.PCIe[5][4], "beside the NVLinks")
	node, err := v.Node("n1")
	require.NoError(t, err)
	require.Len(t, node.NICs, 8)
	require.Equal(t, berth.NIC{Name: "mlx5_6", Rail: berth.OrdinalOf(4), MbitPerSecond: 400_000, NUMANode: berth.OrdinalOf(1)}, node.NICs[4])
	require.NoError(t, accepted(t, node))
}

// A NIC that is down keeps its rail from the others, and its node does not offer it.
func TestNICThatIsDown(t *testing.T) {
	p := hgx()
	files := p.sysfs()
	for name, file := range files {
		if strings.HasSuffix(name, "mlx5_3/ports/1/state") {
			file.Data = []byte("1: DOWN\n")
		}
	}
	v, err := (&Source{driver: p, sys: files}).Inventory()
	require.NoError(t, err)
	require.Equal(t, berth.OrdinalOf(3), v.NICs[3].Rail)
	require.False(t, v.NICs[3].Active)
	node, err := v.Node("n1")
	require.NoError(t, err)
	require.Len(t, node.NICs, 7)
	require.Equal(t, berth.OrdinalOf(4), node.NICs[3].Rail)
}

// What sysfs does not say about NICs makes gaps, and hides nothing else.
func TestGapsOfNICs(t *testing.T) {
	p := hgx()
	files := p.sysfs()
	files["class/infiniband/rxe0"] = &fstest.MapFile{Data: []byte("../../devices/virtual/infiniband/rxe0"), Mode: fs.ModeSymlink}
	files["class/infiniband/nobody"] = &fstest.MapFile{Data: []byte("no link")}
	for name, file := range files {
		switch {
		case strings.HasSuffix(name, "mlx5_0/ports/1/rate"):
			file.Data = []byte("as fast as it gets")
		case strings.HasSuffix(name, "mlx5_1/ports/1/state"), strings.HasSuffix(name, "mlx5_2/ports/1/rate"):
			delete(files, name)
		case strings.HasSuffix(name, "0000:60:00.0/numa_node"):
			delete(files, name)
		}
	}
	v, err := (&Source{driver: p, sys: files}).Inventory()
	require.NoError(t, err)
	require.Len(t, v.NICs, 12, "what software pretends is none, and neither is what is no link")
	require.Zero(t, v.NICs[0].MbitPerSecond)
	require.Equal(t, berth.Ordinal{}, v.NICs[3].NUMANode)
	require.Len(t, v.Gaps, 4)
	for _, gap := range v.Gaps {
		require.Equal(t, queryNICs, gap.Query)
		require.ErrorIs(t, gap, ErrSysfs)
		require.Equal(t, NoGPU, gap.GPU)
	}
	require.Empty(t, inventoryOf(t, pretended("pcie")).NICs, "no RDMA, and no gap")

	files = p.sysfs()
	for name := range p.sysfs() {
		if folder, port := strings.CutSuffix(name, "/infiniband/mlx5_5/ports/1/state"); port {
			symlink(files, folder+"/physfn", "devices/elsewhere")
			files["devices/elsewhere"] = &fstest.MapFile{}
		}
	}
	v, err = (&Source{driver: p, sys: files}).Inventory()
	require.NoError(t, err)
	require.Len(t, v.NICs, 11, "a virtual function is none")
}

func TestRates(t *testing.T) {
	for text, want := range map[string]int64{
		"400 Gb/sec (4X NDR)": 400_000, "2.5 Gb/sec (1X SDR)": 2_500, "": 0, "fast": 0, "-1 Gb/sec": 0, "NaN Gb/sec": 0, "1e9 Gb/sec": 0,
	} {
		require.Equal(t, want, mbitPerSecond(text), text)
	}
}

// Where the driver does not tell the path between two GPUs, sysfs does; where neither
// does it is unknown, and the core is told no links at all.
func TestPathsWithoutTheDriver(t *testing.T) {
	p := pretended("pcie")
	whole := inventoryOf(t, p).Links
	require.Equal(t, nodegraph.Link{Kind: nodegraph.PathPHB}, whole[0][1])
	for _, g := range p.gpus {
		g.fail(queryAncestors, missing)
	}
	v := inventoryOf(t, p)
	require.Equal(t, whole, v.Links)
	require.Empty(t, v.Gaps)

	files := p.sysfs()
	files["bus/pci/devices/0000:41:00.0"] = &fstest.MapFile{Mode: fs.ModeDir}
	files["bus/pci/devices/0000:41:00.0/numa_node"] = &fstest.MapFile{Data: []byte("0\n")}
	v, err := (&Source{driver: p, sys: files}).Inventory()
	require.NoError(t, err)
	require.Equal(t, nodegraph.Link{}, v.Links[1][0])
	require.Len(t, v.Gaps, 1)
	require.Equal(t, queryAncestors, v.Gaps[0].Query)
	node, err := v.Node("n1")
	require.NoError(t, err)
	require.Nil(t, node.Links)
	require.NoError(t, accepted(t, node))
}

// The core chooses GPUs by the links that were read: a bridged pair for two.
func TestCoreChoosesByLinks(t *testing.T) {
	p := hgx().unlink()
	p.bridged(1, 6, 12)
	p.bridged(2, 3, 4)
	node, err := inventoryOf(t, p).Node("n1")
	require.NoError(t, err)
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	for _, event := range []berth.Event{
		berth.NodeJoined{Node: node},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
		berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 2}}}}},
	} {
		require.NoError(t, sched.Apply(0, event))
	}
	orders, err := sched.Schedule(0)
	require.NoError(t, err)
	require.Equal(t, berth.GPUSetOf(1, 6), orders[0].(berth.Bind).Members[0].GPUs)
}

// A GPU that is out of work keeps its place at the switch, so that the node's links are
// right when it is back.
func TestLinksOfAFailedGPU(t *testing.T) {
	p := hgx()
	require.NoError(t, p.Fail(2, "fell off the bus"))
	v := inventoryOf(t, p)
	require.Equal(t, nodegraph.Link{Kind: nodegraph.PathNODE}, v.Links[2][0], "by sysfs alone")
	node, err := v.Node("n1")
	require.NoError(t, err)
	require.Equal(t, "NVS18", node.Links[2][0])

	p = hgx().unlink()
	require.NoError(t, p.Fail(2, "fell off the bus"))
	node, err = inventoryOf(t, p).Node("n1")
	require.NoError(t, err)
	require.Equal(t, []string{"X", "PXB", "NODE", "NODE"}, node.Links[0][:4])
	v, err = (&Source{driver: p, sys: fstest.MapFS{}}).Inventory()
	require.NoError(t, err)
	node, err = v.Node("n1")
	require.NoError(t, err)
	require.Equal(t, []string{"X", "PXB", "SYS", "NODE"}, node.Links[0][:4], "the worst, where nobody knows")
}

// GPUs that cannot say where they are keep their place in sysfs, so that the rails of the
// others are what they were. Where it is not clear which they are the rails are not known.
func TestLostGPUsAreFound(t *testing.T) {
	whole := inventoryOf(t, hgx())
	p := hgx()
	require.NoError(t, p.Fail(2, "fell off the bus"))
	p.gpus[5].fail(queryPCI, noPermission)
	v := inventoryOf(t, p)
	require.Len(t, v.Gaps, 2)
	require.Equal(t, whole.NICs, v.NICs)
	require.Equal(t, whole.PCIe, v.PCIe)
	require.Equal(t, "0000:52:00.0", v.GPUs[2].PCI)
	require.Equal(t, berth.OrdinalOf(1), v.GPUs[5].NUMANode)

	for name, change := range map[string]func(fstest.MapFS){
		"gone from the bus": func(files fstest.MapFS) { delete(files, "bus/pci/devices/0000:52:00.0") },
		"no folder":         func(files fstest.MapFS) { clear(files) },
		"another GPU": func(files fstest.MapFS) {
			place{numa: 0}.describe(files, address{bus: 0x88}, "0x10de", "0x030000")
		},
	} {
		files := p.sysfs()
		change(files)
		v, err := (&Source{driver: p, sys: files}).Inventory()
		require.NoError(t, err, name)
		require.Empty(t, v.GPUs[2].PCI, name)
		for _, nic := range v.NICs {
			require.Equal(t, berth.Ordinal{}, nic.Rail, name)
		}
		if len(v.NICs) > 0 {
			require.Equal(t, queryNICs, v.Gaps[len(v.Gaps)-1].Query)
		}
	}
}
