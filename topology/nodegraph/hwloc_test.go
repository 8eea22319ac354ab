package nodegraph

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/hostile"
)

// One processor and two GPUs on it, joined by two links of version 1, as version 3 writes it; each
// has links to the processor, too. NVML numbers the GPUs against the order of the file.
const hwlocPair = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1" gp_index="1" id="obj1">
    <object type="Package" os_index="0" cpuset="0x3" gp_index="2" id="obj2">
      <object type="NUMANode" os_index="8" gp_index="3" id="obj3" local_memory="68719476736"><page_type size="65536" count="0"/></object>
      <object type="NUMANode" os_index="255" subtype="GPUMemory" gp_index="4" id="obj4"/>
      <object type="Core" os_index="0" gp_index="5" id="obj5"/>
      <object type="Bridge" gp_index="6" id="obj6" bridge_type="0-1" depth="0" bridge_pci="0002:[00-01]">
        <object type="PCIDev" gp_index="7" id="obj7" pci_busid="0002:01:00.0" pci_type="0302 [10de:15f9] [10de:116b] a1 00" pci_link_speed="15.753846">
          <info name="PCIVendor" value="NVIDIA Corporation"/>
          <object type="OSDev" gp_index="20" id="obj20" name="cuda0" subtype="CUDA" osdev_type="12"/>
          <object type="OSDev" gp_index="21" id="obj21" name="nvml1" subtype="NVML" osdev_type="12"><info name="GPUModel" value="Tesla P100-SXM2-16GB"/></object>
        </object>
      </object>
      <object type="Bridge" gp_index="8" id="obj8" bridge_type="0-1" depth="0" bridge_pci="0003:[00-01]">
        <object type="PCIDev" gp_index="9" id="obj9" pci_busid="0003:01:00.0" pci_type="0302 [10de:15f9] [10de:116b] a1 00" pci_link_speed="3.938462">
          <object type="OSDev" gp_index="22" id="obj22" name="nvml0" subtype="NVML" osdev_type="12"><info name="GPUModel" value="Tesla P100-SXM2-16GB"/></object>
        </object>
      </object>
    </object>
    <object type="Bridge" gp_index="10" bridge_type="0-1" depth="0" bridge_pci="0004:[00-01]">
      <object type="PCIDev" gp_index="11" pci_busid="0004:01:00.0" pci_type="0200 [15b3:1013] [15b3:0000] 00 00" pci_link_speed="7.876923">
        <object type="OSDev" gp_index="23" name="ib0" osdev_type="16"/>
        <object type="OSDev" gp_index="24" name="mlx5_0" osdev_type="48"><info name="Port1State" value="4"/></object>
      </object>
      <object type="PCIDev" gp_index="12" pci_busid="0004:01:00.1" pci_type="0300 [1a03:2000] [1a03:2000] 00 00"><object type="OSDev" name="card0" osdev_type="4"/></object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os"><indexes length="6">8 255 </indexes><u64values length="12">10 80 80 10 </u64values></distances2>
  <distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth">
    <indexes length="20">OSDev:21 OSDev:22 </indexes>
    <indexes length="10">Package:2 </indexes>
    <u64values length="28">1000000 40000 40000 40000 </u64values>
    <u64values length="30">1000000 40000 40000 40000 1000000 </u64values>
  </distances2hetero>
  <info name="Backend" value="NVML"/>
</topology>
`

func TestHwloc(t *testing.T) {
	spec, err := ParseHwloc("node.xml", hwlocPair)
	require.NoError(t, err)
	require.Equal(t, Spec{
		Product: "Tesla P100-SXM2-16GB",
		GPUs: []GPUSpec{
			{Bus: "0003:01:00.0", NUMA: NUMANodeOf(8)},
			{Bus: "0002:01:00.0", NUMA: NUMANodeOf(8), PCIeMBps: 15_753},
		},
		Links: [][]Link{{{}, {PathNVLink, 2}}, {{PathNVLink, 2}, {}}},
		NICs:  []NICSpec{{Name: "mlx5_0", NUMA: NUMANodeOf(8), MBps: 7_876, Paths: []PathKind{PathNODE, PathNODE}}},
		Skipped: []Skip{
			{File: "node.xml", Line: 30, Reason: `the matrix "NUMALatency" is not read`, Count: 1},
			{File: "node.xml", Line: 17, Reason: "the PCIe link of a GPU, slower at the moment than its product's, counts as that", Count: 1},
			{File: "node.xml", Line: 31, Reason: "NVLinks to a CPU join no GPUs", Count: 2},
		},
	}, spec)
	require.Equal(t, int64(40_000), graphOf(t, spec).PathMBps(0, 1))

	// The same file by the names of version 3 alone, and without what nothing is taken of.
	for name, change := range map[string][]string{
		"by id":         {`gp_index="21" `, "", `gp_index="22" `, ""},
		"no link speed": {` pci_link_speed="15.753846"`, ""},
		"one line":      {"\n", " "},
	} {
		again, err := ParseHwloc("node.xml", strings.NewReplacer(change...).Replace(hwlocPair))
		require.NoError(t, err, name)
		require.Equal(t, spec.Links, again.Links, name)
		require.Equal(t, spec.NICs, again.NICs, name)
	}
}

// hwlocSwitches is a machine of two processors, each with a switch of PCIe that two GPUs and a NIC
// hang on, and of two switches of NVLink, with some links of each GPU to each, in version 2.
func hwlocSwitches(links ...int) string {
	var b strings.Builder
	b.WriteString("<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" gp_index=\"1\">\n")
	for cpu := range 2 {
		fmt.Fprintf(&b, `<object type="Package" os_index="%d" gp_index="%d"><object type="NUMANode" os_index="%[1]d" gp_index="%d"/>`, cpu, 10+cpu, 20+cpu)
		fmt.Fprintf(&b, `<object type="Bridge" bridge_type="0-1" bridge_pci="0000:[%x0-%[1]xf]"><object type="Bridge" bridge_type="1-1" pci_busid="0000:%[1]x0:00.0">`, 1+cpu)
		for device := range 3 {
			fmt.Fprintf(&b, "\n"+`<object type="Bridge" bridge_type="1-1" pci_busid="0000:%x1:%02x.0">`, 1+cpu, device)
			if gpu := 2*cpu + device; device < 2 {
				fmt.Fprintf(&b, `<object type="PCIDev" gp_index="%d" pci_busid="0000:%x%x:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="63.015385">`, 30+gpu, 1+cpu, 2+device)
				fmt.Fprintf(&b, `<object type="OSDev" gp_index="%d" name="nvml%d" osdev_type="1"><info name="Backend" value="NVML"/><info name="GPUModel" value="NVIDIA H100 80GB HBM3"/></object></object>`, 40+gpu, gpu)
			} else {
				fmt.Fprintf(&b, `<object type="PCIDev" pci_busid="0000:%x5:00.0" pci_type="0207 [15b3:1021] [15b3:0000] 00" pci_link_speed="63.015385">`, 1+cpu)
				fmt.Fprintf(&b, `<object type="OSDev" name="ib%d" osdev_type="2"/><object type="OSDev" name="mlx5_%[1]d" osdev_type="3"/></object>`, cpu)
			}
			b.WriteString(`</object>`)
		}
		b.WriteString("</object></object>\n</object>\n")
	}
	b.WriteString(`<object type="Bridge" bridge_type="0-1"><object type="PCIDev" gp_index="50" subtype="NVSwitch" pci_busid="0000:05:00.0" pci_type="0680 [10de:22a3] [10de:1796] a1"/>` +
		`<object type="PCIDev" gp_index="51" subtype="NVSwitch" pci_busid="0000:06:00.0" pci_type="0680 [10de:22a3] [10de:1796] a1"/></object></object>`)
	b.WriteString("\n" + `<distances2hetero nbobjs="6" kind="25" name="NVLinkBandwidth"><indexes length="">OSDev:40 OSDev:41 OSDev:42 OSDev:43 PCIDev:50 PCIDev:51 </indexes><u64values length="">`)
	for a := range 6 {
		for c := range 6 {
			value := 0
			switch {
			case a == c:
				value = 1_000_000
			case a < 4 && c >= 4:
				value = 25_000 * links[a]
			case c < 4 && a >= 4:
				value = 25_000 * links[c]
			}
			b.WriteString(strconv.Itoa(value) + " ")
		}
	}
	return b.String() + "</u64values></distances2hetero>\n</topology>\n"
}

// Between GPUs that hang on switches the matrix has zero: the switches join them.
func TestHwlocSwitchesJoin(t *testing.T) {
	spec, err := ParseHwloc("node.xml", hwlocSwitches(9, 9, 9, 8))
	require.NoError(t, err)
	require.Empty(t, spec.Skipped)
	require.Equal(t, "NVIDIA H100 80GB HBM3", spec.Product)
	g := graphOf(t, spec)
	require.Equal(t, Link{PathNVSwitch, 18}, g.Link(0, 2))
	require.Equal(t, Link{PathNVSwitch, 16}, g.Link(0, 3))
	require.Equal(t, NUMANodeOf(1), g.NUMA(2))
	require.Equal(t, []NICSpec{
		{Name: "mlx5_0", NUMA: NUMANodeOf(0), MBps: 63_015, Paths: []PathKind{PathPIX, PathPIX, PathSYS, PathSYS}},
		{Name: "mlx5_1", NUMA: NUMANodeOf(1), MBps: 63_015, Paths: []PathKind{PathSYS, PathSYS, PathPIX, PathPIX}},
	}, spec.NICs)
	two, _ := g.Best(set(1, 2, 3), 2)
	require.Equal(t, members(set(1, 2)), members(two), "the one with 16 links goes last")

	off, err := ParseHwloc("node.xml", hwlocSwitches(9, 0, 9, 9))
	require.NoError(t, err)
	require.Equal(t, Link{Kind: PathPIX}, off.Links[0][1], "the links of one are down")
}

// Without the libraries of NVIDIA, or where switches are on no PCI that it sees, lstopo has no
// matrix: that is not to say that there are no NVLinks.
func TestHwlocWithoutTheDriver(t *testing.T) {
	text := hwlocSwitches(0, 0, 0, 0)
	start, _, _ := strings.Cut(text, "<distances2hetero")
	for i := range 4 {
		start = strings.ReplaceAll(start, "nvml"+strconv.Itoa(i), "card"+strconv.Itoa(i))
	}
	spec, err := ParseHwloc("node.xml", start+"</topology>")
	require.NoError(t, err)
	require.True(t, spec.NVLinksUntold)
	require.Empty(t, spec.Product)
	require.Equal(t, "0000:12:00.0", spec.GPUs[0].Bus)
	require.Equal(t, [][]Link{
		{{}, {Kind: PathPIX}, {Kind: PathSYS}, {Kind: PathSYS}},
		{{Kind: PathPIX}, {}, {Kind: PathSYS}, {Kind: PathSYS}},
		{{Kind: PathSYS}, {Kind: PathSYS}, {}, {Kind: PathPIX}},
		{{Kind: PathSYS}, {Kind: PathSYS}, {Kind: PathPIX}, {}},
	}, spec.Links)
}

// A filter of lstopo takes the switches out of the matrix, in which the GPUs then have no link:
// that is not to say that there are no NVLinks.
func TestHwlocMatrixWithoutSwitches(t *testing.T) {
	text := regexp.MustCompile(`(?s)<distances2hetero.*</distances2hetero>`).ReplaceAllString(hwlocSwitches(9, 9, 9, 9),
		`<distances2hetero nbobjs="2" kind="25" name="NVLinkBandwidth"><indexes>OSDev:40 OSDev:41</indexes><u64values>1000000 0 0 1000000</u64values></distances2hetero>`)
	spec, err := ParseHwloc("node.xml", text)
	require.NoError(t, err)
	require.True(t, spec.NVLinksUntold)
	require.True(t, told(spec, "the matrix NVLinkBandwidth has no link in it: what links led to was left out of the file"))
}

// A kind of device is a number in version 2, and bits in version 3: 5 is a coprocessor, or a disk
// that is a GPU, and 3 an adapter of OpenFabrics, or memory that is a disk.
func TestHwlocKindsByVersion(t *testing.T) {
	spec, err := ParseHwloc("node.xml", strings.Replace(hwlocSwitches(9, 9, 9, 9), `version="2.0"`, `version="3.0"`, 1))
	require.NoError(t, err)
	require.Empty(t, spec.NICs)
}

// AMD's links: a way over several is no link. Two parts of one GPU are one.
func TestHwlocXGMI(t *testing.T) {
	text := "<topology version=\"2.4\"><object type=\"Machine\"><object type=\"NUMANode\" os_index=\"0\"/>\n"
	for i := range 3 {
		text += fmt.Sprintf(`<object type="PCIDev" pci_busid="0000:0%d:00.0" pci_type="1200 [1002:74a1] [1002:74a1] 00"><object type="OSDev" gp_index="%d" name="rsmi%d" osdev_type="1"/>`, 5-i, 10+i, 2*i)
		if i == 0 {
			text += "\n" + `<object type="OSDev" gp_index="20" name="rsmi1" osdev_type="1"/>`
		}
		text += "</object>\n"
	}
	const ends = ` type="OSDev" nbobjs="3" indexing="gp"><indexes>10 11 12</indexes><u64values>`
	text += `</object><distances2 name="XGMIBandwidth" kind="9"` + ends + "1000000 100000 100000 100000 1000000 100000 100000 100000 1000000</u64values></distances2>\n"
	spec, err := ParseHwloc("node.xml", text+`<distances2 name="XGMIHops" kind="5"`+ends+`0 1 2 1 0 1 2 1 0</u64values></distances2></topology>`)
	require.NoError(t, err)
	require.Equal(t, "0000:05:00.0", spec.GPUs[0].Bus, "by the numbers of ROCm SMI")
	require.Equal(t, [][]Link{
		{{}, {PathNVLink, 1}, {Kind: PathNODE}},
		{{PathNVLink, 1}, {}, {PathNVLink, 1}},
		{{Kind: PathNODE}, {PathNVLink, 1}, {}},
	}, spec.Links)
	require.Equal(t, []Skip{
		{File: "node.xml", Line: 3, Reason: "several parts of a GPU count as the GPU", Count: 1},
		{File: "node.xml", Line: 2, Reason: "a GPU below no bridge: its paths over PCIe are told by NUMA nodes alone", Count: 3},
		{File: "node.xml", Line: 6, Reason: "XGMI over several hops joins no GPUs by itself", Count: 2},
	}, spec.Skipped)
}

// The NUMA node is that of where a device hangs, and not known where several parts have their own.
func TestHwlocNUMA(t *testing.T) {
	const (
		gpu  = `<object type="PCIDev" pci_busid="0000:05:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1"/>`
		dram = `<object type="NUMANode" os_index="3"/>`
		hbm  = `<object type="MemCache"><object type="NUMANode" os_index="5" subtype="HBM"/></object>`
		own  = `<object type="NUMANode" os_index="1"><info name="PCIBusID" value="0000:05:00.0"/></object>`
	)
	for name, c := range map[string]struct {
		text string
		numa NUMANode
	}{
		"none":                      {gpu, NUMANode{}},
		"of the processor":          {`<object type="Package">` + dram + gpu + `</object>`, NUMANodeOf(3)},
		"of the only one":           {`<object type="Package">` + dram + `</object>` + gpu, NUMANodeOf(3)},
		"of what is around":         {`<object type="Package">` + dram + `<object type="Group">` + gpu + `</object></object>`, NUMANodeOf(3)},
		"first of several memories": {`<object type="Package">` + hbm + dram + gpu + `</object>`, NUMANodeOf(3)},
		"not the GPU's own":         {`<object type="Package">` + own + dram + gpu + `</object>`, NUMANodeOf(3)},
		"of neither":                {`<object type="Package">` + dram + `</object><object type="Package">` + hbm + `</object>` + gpu, NUMANode{}},
	} {
		spec, err := ParseHwloc("", `<topology version="2.0"><object type="Machine">`+c.text+`</object></topology>`)
		require.NoError(t, err, name)
		require.Equal(t, c.numa, spec.GPUs[0].NUMA, name)
	}
}

func told(spec Spec, reason string) bool {
	return slices.ContainsFunc(spec.Skipped, func(s Skip) bool { return s.Reason == reason })
}

// What is passed over is told.
func TestHwlocTellsWhatItPassesOver(t *testing.T) {
	for _, c := range []struct{ from, to, says string }{
		{`<info name="Backend"`, `<infos name="Backend"`, "the element infos in topology is not read"},
		{`<object type="Core"`, `<object type="Tile"`, `an object of the type "Tile" counts as a part of the processors`},
		{` pci_link_speed="7.876923"`, ` link_speed="7.876923"`, "the attribute link_speed of objects is not read"},
		{`name="nvml0"`, `name="dev0"`, "a GPU that its driver does not list is not read"},
		{`name="NVLinkBandwidth"`, `name="NVLinks"`, `the matrix "NVLinks" is not read`},
		{`kind="25" name`, `rank="1" kind="25" name`, "the attribute rank of matrices is not read"},
		{`OSDev:22 `, `OSDev:99 `, "the matrix NVLinkBandwidth does not list all GPUs"},
		{`OSDev:22 `, `OSDev:99 `, "NVLinks to an object that is not in the file"},
		{`osdev_type="48"`, `osdev_type="16"`, ""},
		{`<object type="OSDev" gp_index="23" name="ib0" osdev_type="16"/>`, ``, ""},
		{`pci_type="0300 [1a03:2000] [1a03:2000] 00 00"><object type="OSDev" name="card0" osdev_type="4"/>`, `pci_type="0200 [8086:1] [8086:0] 00"><object type="OSDev" name="eno1" osdev_type="16"/>`, "a network interface without RDMA is not read where others have it"},
		{`</topology>`, `WARNING</topology>`, "text between elements is not read"},
		{`NVIDIA Corporation"/>`, `NVIDIA Corporation"/><object type="OSDev" name="nvml7" osdev_type="12"/>`, "several parts of a GPU count as the GPU"},
		{`value="Tesla P100-SXM2-16GB"/></object>`, `value="Tesla V100"/></object>`, ""},
	} {
		text := strings.Replace(hwlocPair, c.from, c.to, 1)
		text = strings.Replace(text, "</infos>", "</infos>", 1)
		require.NotEqual(t, hwlocPair, text)
		spec, err := ParseHwloc("node.xml", text)
		require.NoError(t, err, c.to)
		require.True(t, c.says == "" || told(spec, c.says), "%s: %v", c.to, spec.Skipped)
	}
	virtual := strings.Replace(hwlocPair, `<object type="OSDev" gp_index="23"`, `<info name="PCIDevice" value="ConnectX Virtual Function"/><object type="OSDev" gp_index="23"`, 1)
	spec, err := ParseHwloc("", virtual)
	require.NoError(t, err)
	require.Len(t, spec.NICs, 1, "in a virtual machine there is no other")
	beside := strings.Replace(hwlocPair, `<object type="PCIDev" gp_index="12"`, `<object type="PCIDev" pci_busid="0004:01:00.2" pci_type="0207 [15b3:101e] [15b3:0] 00"><info name="PCIDevice" value="ConnectX Virtual Function"/><object type="OSDev" name="mlx5_1" osdev_type="48"/></object><object type="PCIDev" gp_index="12"`, 1)
	spec, err = ParseHwloc("", beside)
	require.NoError(t, err)
	require.Len(t, spec.NICs, 1)
	require.True(t, told(spec, "a virtual function is not read beside adapters"))
}

func TestHwlocRefusals(t *testing.T) {
	const (
		begin = `<topology version="2.0"><object type="Machine">`
		gpu   = `<object type="PCIDev" gp_index="7" pci_busid="0000:05:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1"><object type="OSDev" gp_index="8" name="nvml0" osdev_type="1"/></object>`
		peer  = `<object type="PCIDev" gp_index="9" pci_busid="0000:06:00.0"><object type="OSDev" gp_index="10" name="nvml1" osdev_type="1"/></object>`
		end   = `</object></topology>`
		both  = begin + gpu + peer + `</object><distances2 name="NVLinkBandwidth" type="OSDev" indexing="gp" kind="9" nbobjs="2"><indexes>8 10</indexes><u64values>0 25000 25000 0</u64values></distances2></topology>`
	)
	_, err := ParseHwloc("", both)
	require.NoError(t, err)
	change := func(from, to string) string {
		require.Contains(t, both, from)
		return strings.Replace(both, from, to, 1)
	}
	many := func(format string, n int) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + end
	}
	for _, bad := range []struct {
		text, field string
		kind        error
	}{
		{``, "", ErrSyntax},
		{`<topology version="2.0">`, "", ErrSyntax},
		{`<system/>`, "system", ErrSyntax},
		{`<topologydiff/>`, "topologydiff", ErrSyntax},
		{`<topology><object type="System"/></topology>`, "version", ErrHwlocVersion},
		{`<root><object type="System"/></root>`, "version", ErrHwlocVersion},
		{`<topology version="1.0"/>`, "version", ErrHwlocVersion},
		{`<topology version="4.0"/>`, "version", ErrHwlocVersion},
		{`<topology version="2.0"/>`, "topology", ErrInvalid},
		{`<topology version="2.0"/><topology version="2.0"/>`, "topology", ErrSyntax},
		{begin + `<indexes/>` + end, "indexes", ErrInvalid},
		{begin + `<object type="NUMANode"/>` + end, "NUMANode.os_index", ErrSyntax},
		{begin + `<object type="NUMANode" os_index="4096"/>` + end, "NUMANode.os_index", ErrSyntax},
		{begin + strings.Repeat(`<object type="NUMANode" os_index="1"/>`, 2) + end, "NUMANode.os_index", ErrInvalid},
		{begin + gpu + gpu + end, "PCIDev.pci_busid", ErrInvalid},
		{change(`0000:05:00.0`, `0000:05:00`), "PCIDev.pci_busid", ErrSyntax},
		{change(`pci_busid="0000:05:00.0"`, ``), "PCIDev.pci_busid", ErrSyntax},
		{change(`0302 [`, `[`), "PCIDev.pci_type", ErrSyntax},
		{change(`gp_index="7"`, `pci_link_speed="15,75"`), "PCIDev.pci_link_speed", ErrSyntax},
		{change(`gp_index="7"`, `gp_index="0"`), "object.gp_index", ErrSyntax},
		{change(`osdev_type="1"`, ``), "OSDev.osdev_type", ErrSyntax},
		{change(`name="nvml0" osdev_type="1"`, `osdev_type="3"`), "OSDev.name", ErrSyntax},
		{change(`kind="9"`, `kind="5"`), "NVLinkBandwidth.kind", ErrInvalid},
		{change(`nbobjs="2"`, `nbobjs="1"`), "NVLinkBandwidth.nbobjs", ErrSyntax},
		{change(`nbobjs="2"`, `nbobjs="4000"`), "NVLinkBandwidth.nbobjs", ErrTooLarge},
		{change(`indexing="gp"`, `indexing="os"`), "NVLinkBandwidth.indexing", ErrInvalid},
		{change(`type="OSDev" indexing`, `indexing`), "NVLinkBandwidth.type", ErrInvalid},
		{change(`8 10`, `8 ten`), "NVLinkBandwidth.indexes", ErrSyntax},
		{change(`8 10`, `8 8`), "NVLinkBandwidth.indexes", ErrInvalid},
		{change(`8 10`, `8 10 11`), "NVLinkBandwidth.indexes", ErrInvalid},
		{change(`gp_index="10"`, `gp_index="8"`), "NVLinkBandwidth.indexes", ErrInvalid},
		{change(`8 10`, `8`), "NVLinkBandwidth", ErrSyntax},
		{change(`0 25000 25000 0`, `0 25000 25000`), "NVLinkBandwidth", ErrSyntax},
		{change(`0 25000 25000 0`, `0 25000 50000 0`), "NVLinkBandwidth.u64values", ErrInvalid},
		{change(`0 25000 25000 0`, `0 25000 25000 0 0`), "NVLinkBandwidth.u64values", ErrInvalid},
		{change(`0 25000 25000 0`, `0 30000 30000 0`), "NVLinkBandwidth.u64values", ErrInvalid},
		{change(`0 25000 25000 0`, `0 99999999 99999999 0`), "NVLinkBandwidth.u64values", ErrSyntax},
		{change(`0 25000 25000 0`, `0 5000000 5000000 0`), "NVLinkBandwidth.u64values", ErrInvalid},
		{strings.Replace(both, `</topology>`, both[strings.Index(both, "<distances2"):], 1), "NVLinkBandwidth", ErrInvalid},
		{many(`<object type="PCIDev" pci_busid="0:%x:0.0" pci_type="0302 [10de:1] [10de:1] a1"/>`, maxGPUs+1), "topology", ErrTooLarge},
		{many(`<object type="PCIDev" pci_busid="0:%x:0.0"><object type="OSDev" name="cuda1" osdev_type="5"/></object>`, maxGPUs+1), "OSDev", ErrTooLarge},
		{begin + gpu + many(`<object type="PCIDev" pci_busid="1:%x:0.0"><object type="OSDev" name="mlx5_%[1]d" osdev_type="3"/></object>`, maxNICs+1)[len(begin):], "OSDev", ErrTooLarge},
		{begin + gpu + `<object type="PCIDev" pci_busid="1:0:0.0">` + strings.Repeat(`<object type="OSDev" name="mlx5_0" osdev_type="3"/>`, 2) + `</object>` + end, "OSDev.name", ErrInvalid},
	} {
		spec, err := ParseHwloc("node.xml", bad.text)
		require.Zero(t, spec)
		var typed *Error
		require.ErrorAs(t, err, &typed, bad.text)
		require.NotEmpty(t, typed.Reason)
		require.NotZero(t, typed.Line)
		require.ErrorIs(t, err, bad.kind, "%v: %.200s", err, bad.text)
		require.Equal(t, bad.field, typed.Field, bad.text)
	}
	_, err = ParseHwloc("node.xml", "<topology>\n</topology>")
	require.EqualError(t, err, "nodegraph: node.xml:1:1: version: version 1, which tells no NVLinks: write it anew with an lstopo of version 2 or 3")
}

// What a reader of XML allocates is bounded by the length of its text.
func TestXMLCostsWhatTheTextIsLong(t *testing.T) {
	const length = 1 << 20
	for _, part := range []string{
		`<a/>`, `a<a/>`, `<object a=""/>`, `<distances2 name="a"/>`, `<object/>`, `<object type="PU"/>`, `<object type="NUMANode" os_index="0"/>`, `<object type="Misc"/>`,
		`<object type="PCIDev" pci_busid="0:0:0.0"/>`, `<object type="OSDev" osdev_type="0"/>`, `<info/>`,
		`<distances2 name="XGMIHops" type="OSDev" indexing="gp" kind="1" nbobjs="500"><indexes>` + strings.Repeat("1 ", 500) + `</indexes><u64values>` + strings.Repeat("1 ", 200_000),
		`<cpu numaid="0"/>`, `<nic/>`, `<pci busid="0"/>`,
	} {
		text := `<topology version="3.0"><object type="Machine">` + strings.Repeat(part, max(length/len(part), 1))
		if strings.HasPrefix(part, "<dist") {
			text = `<topology version="3.0">` + part
		}
		hostile.Bounded(t, part, text, 8<<20, func(text string) { _, _ = ParseHwloc("", text) })
		text = `<system><cpu numaid="0">` + strings.Repeat(part, max(length/len(part), 1))
		hostile.Bounded(t, part, text, 8<<20, func(text string) { _, _ = ParseNCCL("", text) })
	}
}

func FuzzParseHwloc(f *testing.F) {
	f.Add(hwlocPair)
	f.Add(hwlocSwitches(9, 9, 9, 9))
	f.Add(`<topology version="3.0"><object type="Machine"><object type="PCIDev" pci_busid="0:1:0.0" pci_type="1200 [1002:74a1] [1002:0] 00"/></object></topology>`)
	f.Fuzz(func(t *testing.T, text string) {
		requireParsed(t, text, ParseHwloc)
	})
}
