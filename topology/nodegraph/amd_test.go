package nodegraph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/hostile"
)

// amdTopology is what amd-smi prints of GPUs with so many links between each two; 0: PCIe, and
// below 0 XGMI over several hops.
func amdTopology(n int, links func(a, b int) int) string {
	var nodes []string
	for a := range n {
		var list []string
		for b := range n {
			kind, weight, hops, bandwidth := "XGMI", 15, 1, fmt.Sprintf("50000-%d", 50_000*links(a, b))
			switch {
			case a == b:
				kind, weight, hops, bandwidth = "SELF", 0, 0, "N/A"
			case links(a, b) == 0:
				kind, weight, hops, bandwidth = "PCIE", 52, 3, "N/A"
			case links(a, b) < 0:
				weight, hops, bandwidth = 30, 2, "N/A"
			}
			list = append(list, fmt.Sprintf(`            {
                "gpu": %d,
                "bdf": "0000:%02x:00.0",
                "weight": %d,
                "link_status": "ENABLED",
                "link_type": %q,
                "num_hops": %d,
                "bandwidth": %q,
                "coherent": "NC",
                "atomics": "64,32",
                "dma": "T",
                "bi_dir": "T"
            }`, b, 5+b, weight, kind, hops, bandwidth))
		}
		nodes = append(nodes, fmt.Sprintf("    {\n        \"gpu\": %d,\n        \"bdf\": \"0000:%02x:00.0\",\n        \"links\": [\n%s\n        ]\n    }", a, 5+a, strings.Join(list, ",\n")))
	}
	return "[\n" + strings.Join(nodes, ",\n") + "\n]\n"
}

// amdGPUs is what amd-smi static prints of them, half of them on each NUMA node.
func amdGPUs(n int, product string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"gpu": %d, "asic": {"market_name": %q, "vendor_id": "0x1002", "oam_id": 0}, "bus": {"bdf": "0000:%02x:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}, "pcie_interface_version": "Gen 5", "slot_type": "OAM"},
 "vram": {"type": "HBM", "vendor": "N/A", "size": {"value": 196592, "unit": "MB"}}, "numa": {"node": %d, "affinity": 0}, "partition": {"compute_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0}}`, i, product, 5+i, 2*i/n))
	}
	return "[" + strings.Join(list, ",\n") + "]\n"
}

func mesh(int, int) int { return 1 }

func TestAMDTopology(t *testing.T) {
	spec, err := ParseAMDTopology("topo.json", amdTopology(8, mesh))
	require.NoError(t, err)
	require.Empty(t, spec.Skipped)
	require.Equal(t, "0000:05:00.0", spec.GPUs[0].Bus)
	gpus, skips, err := ParseAMDGPUs("static.json", amdGPUs(8, "AMD Instinct MI300X"))
	require.NoError(t, err)
	require.Empty(t, skips)
	require.Equal(t, AMDGPU{
		Index: 7, Bus: "0000:0c:00.0", Product: "AMD Instinct MI300X", NUMA: NUMANodeOf(1), PCIeMBps: 63_015, VRAMMiB: 196_592,
		ComputePartition: "SPX", MemoryPartition: "NPS1",
	}, gpus[7])
	spec, err = DescribeAMD(spec, gpus)
	require.NoError(t, err)
	g := graphOf(t, spec)
	require.Equal(t, Link{PathNVLink, 1}, g.Link(0, 7))
	require.Equal(t, int64(64_000), g.PathMBps(0, 7), "of the product, not the 50 GB/s of the driver")
	require.Equal(t, int64(384_000), g.AllReduceMBps(g.All()), "three rings, both ways")
	four, _ := g.Best(g.All(), 4)
	require.Equal(t, set(0, 1, 2, 3), four, "of one NUMA node")

	// The dies of MI250X: four links within a package, and one or two beyond it.
	beyond := func(a, b int) int {
		switch {
		case a/2 == b/2:
			return 4
		case a/4 == b/4 && a%2 == b%2:
			return 2
		case a%4 == b%4:
			return 1
		}
		return -1
	}
	spec, err = ParseAMDTopology("topo.json", amdTopology(8, beyond))
	require.NoError(t, err)
	require.Equal(t, []string{"none", "NV4", "NV2", "SYS", "NV1", "SYS", "SYS", "SYS"}, words(spec.Links[0]))
	require.True(t, told(spec, "XGMI over several hops joins no GPUs by itself"))
	spec.Product = "AMD Instinct MI250X"
	two, score := graphOf(t, spec).Best(set(1, 2, 3), 2)
	require.Equal(t, set(2, 3), two)
	require.Equal(t, int64(200_000), score.AllReduceMBps)

	// Cards without links: paths within a NUMA node are NODE once that is known.
	spec, err = ParseAMDTopology("topo.json", amdTopology(4, func(int, int) int { return 0 }))
	require.NoError(t, err)
	require.Equal(t, []string{"none", "SYS", "SYS", "SYS"}, words(spec.Links[0]))
	gpus, _, err = ParseAMDGPUs("", `{"gpu_data": `+amdGPUs(4, "AMD Instinct MI210")+`}`)
	require.NoError(t, err)
	with, err := DescribeAMD(spec, gpus)
	require.NoError(t, err)
	require.Equal(t, []string{"none", "NODE", "SYS", "SYS"}, words(with.Links[0]))
	require.Equal(t, "SYS", spec.Links[0][1].String(), "the one given stays")

	gpus[1].Bus = "0000:ff:00.0"
	_, err = DescribeAMD(spec, gpus)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = DescribeAMD(spec, gpus[:2])
	require.ErrorIs(t, err, ErrInvalid)
	gpus[1].Bus, gpus[1].Product = "", "AMD Instinct MI100"
	with, err = DescribeAMD(spec, gpus)
	require.NoError(t, err)
	require.True(t, told(with, "GPUs of another product than the first count as that"))
}

func words(links []Link) (list []string) {
	for _, l := range links {
		list = append(list, l.String())
	}
	return list
}

// What list prints, and partitions of a GPU.
func TestAMDList(t *testing.T) {
	gpus, told, err := ParseAMDGPUs("", `[{"gpu": 1, "bdf": "0000:05:00.1", "uuid": "x", "kfd_id": 7, "node_id": 3, "partition_id": 1}, {"gpu": 0, "bdf": "0000:05:00.0", "uuid": "N/A", "kfd_id": "N/A", "node_id": 2, "partition_id": "N/A", "new": 1}]`)
	require.NoError(t, err)
	require.Equal(t, []AMDGPU{{Bus: "0000:05:00.0"}, {Index: 1, Bus: "0000:05:00.1", UUID: "x", Partition: 1}}, gpus)
	require.Equal(t, []Skip{{Line: 1, Reason: "the key new of a GPU is not read", Count: 1}}, told)
}

func TestAMDTellsWhatItPassesOver(t *testing.T) {
	good := amdTopology(2, mesh)
	for _, c := range []struct{ from, to, says string }{
		{`"coherent"`, `"colour"`, "the key colour of a link is not read"},
		{`"num_hops": 1`, `"num_hops": 2`, "XGMI over several hops joins no GPUs by itself"},
		{`"ENABLED",` + "\n" + `                "link_type": "XGMI"`, `"DISABLED",` + "\n" + `                "link_type": "XGMI"`, "XGMI that is disabled joins no GPUs"},
		{`"ENABLED"`, `"RESTING"`, `a link_status that is not known counts as DISABLED: "RESTING"`},
		{`"XGMI"`, `"UNKNOWN"`, `a link_type that joins no GPUs counts as PCIE: "UNKNOWN"`},
		{`"50000-50000"`, `"N/A"`, "no bandwidth is told: XGMI counts as one link"},
		{`"50000-50000"`, `"50000-70000"`, `a bandwidth that is no multiple of one link's is not read: "50000-70000"`},
		{`"weight": 15`, `"weight": "many"`, `a word where a number is to be is not read: "many"`},
	} {
		spec, err := ParseAMDTopology("", strings.ReplaceAll(good, c.from, c.to))
		require.NoError(t, err, c.to)
		require.True(t, told(spec, c.says), "%s: %v", c.to, spec.Skipped)
	}
	spec, err := ParseAMDTopology("", strings.ReplaceAll(amdTopology(2, func(int, int) int { return -1 }), `"num_hops": 2,`, ``))
	require.NoError(t, err)
	require.Equal(t, "SYS", spec.Links[0][1].String(), "the weight tells the hops")
}

func TestAMDRefusals(t *testing.T) {
	good := amdTopology(2, mesh)
	for _, bad := range []struct {
		from, to string
		kind     error
	}{
		{good, "", ErrSyntax},
		{good, "[]", ErrInvalid},
		{good, "{}", ErrSyntax},
		{good, "[1]", ErrSyntax},
		{good, good + good, ErrSyntax},
		{`"gpu": 0`, `"gpu": 1`, ErrInvalid},
		{`"gpu": 0`, `"gpu": "zero"`, ErrSyntax},
		{`"gpu": 0`, `"gpu": 0, "gpu": 0`, ErrSyntax},
		{`"SELF"`, `"XGMI"`, ErrInvalid},
		{`"XGMI"`, `"SELF"`, ErrInvalid},
		{`"XGMI"`, `"PCIE"`, ErrInvalid},
		{"            {\n                \"gpu\": 1,\n                \"bdf\": \"0000:06:00.0\"", "            {\n                \"gpu\": 1,\n                \"bdf\": \"0000:07:00.0\"", ErrInvalid},
		{good, `[` + strings.Repeat(`{"gpu":0},`, maxGPUs) + `{"gpu":0}]`, ErrTooLarge},
		{good, `[{"gpu":0,"links":[` + strings.Repeat(`{"gpu":0},`, maxGPUs) + `{"gpu":0}]}]`, ErrTooLarge},
	} {
		text := strings.Replace(good, bad.from, bad.to, 1)
		require.NotEqual(t, good, text)
		spec, err := ParseAMDTopology("topo.json", text)
		require.ErrorIs(t, err, bad.kind, bad.to)
		require.Zero(t, spec)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.NotZero(t, typed.Line)
		require.Equal(t, "topo.json", typed.File)
	}
	for _, text := range []string{"", "{}", "[1]", `[{}]`, `[{"gpu":0},{"gpu":0}]`, `[{"gpu":0,"bus":{"max_pcie_speed":{"value":1,"unit":"GB/s"}}}]`, `[{"gpu":0,"numa":{"node":99999}}]`} {
		_, _, err := ParseAMDGPUs("static.json", text)
		var typed *Error
		require.ErrorAs(t, err, &typed, text)
	}
}

// What a reader of JSON allocates is bounded by the length of its text.
func TestJSONCostsWhatTheTextIsLong(t *testing.T) {
	const length = 1 << 20
	for _, element := range []string{"1", "{}", "[]", `{"gpu":0}`, `{"gpu":0,"links":[]}`, `""`, `{"x":1}`} {
		for _, around := range [][2]string{
			{"[", "]"}, {`{"gpu_data":[`, "]}"}, {`[{"gpu":0,"links":[`, "]}]"}, {`{"partitionInfo":[`, "]}"}, {`{"partitionInfo":[{"partitionId":0,"isActive":0,"numGpus":1,"gpuInfo":[`, "]}]}"},
		} {
			text := hostile.List(around[0], element, length/(len(element)+1), around[1])
			hostile.Bounded(t, around[0]+element, text, 1<<20, func(text string) {
				_, _ = ParseAMDTopology("", text)
				_, _, _ = ParseAMDGPUs("", text)
			})
			hostile.Bounded(t, around[0]+element, text, 1<<20, func(text string) { _, _, _ = ParseFabricPartitions("", text) })
		}
	}
}

func FuzzParseAMDTopology(f *testing.F) {
	f.Add(amdTopology(2, mesh))
	f.Add(amdTopology(3, func(a, b int) int { return a ^ b - 2 }))
	f.Fuzz(func(t *testing.T, text string) {
		requireParsed(t, text, ParseAMDTopology)
	})
}

func FuzzParseAMDGPUs(f *testing.F) {
	f.Add(amdGPUs(2, "AMD Instinct MI300A"))
	f.Fuzz(func(t *testing.T, text string) {
		gpus, _, err := ParseAMDGPUs("file", text)
		var typed *Error
		if err != nil {
			require.ErrorAs(t, err, &typed)
		}
		require.LessOrEqual(t, len(gpus), maxGPUs)
	})
}
